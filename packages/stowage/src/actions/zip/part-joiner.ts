/** What goes out at a time. */
const PIECE_BYTES = 128 * 1024;

/**
 * Joins the parts of a stream, such as headers and contents, to pieces that are worth sending. They are copied: the
 * memory of a part is free as soon as all pieces of `take` were taken. The first part is not held back: it
 * shows that the answer has begun. What `take` and `rest` yield is what goes out, in order.
 */
export class PartJoiner {
  #piece: Buffer | undefined;
  #used = 0;
  #most = 1;

  /** Takes the next part. */
  *take(part: Uint8Array): Generator<Uint8Array, void, undefined> {
    for (let from = 0; from < part.byteLength;) {
      const piece = (this.#piece ??= Buffer.allocUnsafeSlow(PIECE_BYTES));
      const bytes = Math.min(part.byteLength - from, PIECE_BYTES - this.#used);
      piece.set(bytes === part.byteLength ? part : part.subarray(from, from + bytes), this.#used);
      this.#used += bytes;
      from += bytes;
      if (this.#used >= this.#most) yield* this.rest();
    }
  }

  /** What is left. */
  *rest(): Generator<Uint8Array, void, undefined> {
    const piece = this.#piece;
    if (piece === undefined) return;
    const filled = piece.subarray(0, this.#used);
    this.#piece = undefined;
    this.#used = 0;
    this.#most = PIECE_BYTES;
    yield filled;
  }
}
