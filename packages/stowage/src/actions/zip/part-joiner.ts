/** What goes out at a time. */
const PIECE_BYTES = 128 * 1024;
/** Pieces that have come back: one is sent, one waits, one is filled. */
const MOST_SPARE = 3;

/**
 * Joins the parts of a stream, such as headers and contents, to pieces that are worth sending. They are copied: the
 * memory of a part is free as soon as all pieces of `take` were taken. The first part is not held back: it
 * shows that the answer has begun. What `take` and `rest` yield is what goes out, in order.
 */
export class PartJoiner {
  readonly #spare: Buffer[] = [];
  /** Pieces that went out. Those that never come back are not held. */
  readonly #lent = new WeakMap<ArrayBufferLike, Buffer>();
  #piece: Buffer | undefined;
  #used = 0;
  #most = 1;

  /** Takes the next part. */
  *take(part: Uint8Array): Generator<Uint8Array, void, undefined> {
    for (let from = 0; from < part.byteLength;) {
      const piece = (this.#piece ??= this.#spare.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES));
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
    this.#lent.set(piece.buffer, piece);
    this.#piece = undefined;
    this.#used = 0;
    this.#most = PIECE_BYTES;
    yield filled;
  }

  /** Takes back a piece that was sent. */
  recycle({ buffer }: Uint8Array): void {
    const piece = this.#lent.get(buffer);
    if (piece === undefined) return;
    this.#lent.delete(buffer);
    if (this.#spare.length < MOST_SPARE) this.#spare.push(piece);
  }
}
