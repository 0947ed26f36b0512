/** Parts of this size are sent as they are: to join them would cost more than to send them. */
const LARGE_PART = 16 * 1024;
const JOINED_BYTES = 64 * 1024;

/**
 * Joins small parts of a stream, such as headers and small files, to pieces that are worth sending. The first
 * part is not held back: it shows that the answer has begun. What `take` and `rest` yield is what goes out,
 * in order.
 */
export class PartJoiner {
  readonly #parts: Uint8Array[] = [];
  #bytes = 0;
  #most = 1;

  /** Takes the next part. */
  *take(part: Uint8Array): Generator<Uint8Array, void, undefined> {
    if (part.byteLength >= LARGE_PART) {
      yield* this.rest();
      yield part;
      return;
    }
    this.#parts.push(part);
    this.#bytes += part.byteLength;
    if (this.#bytes >= this.#most) yield* this.rest();
  }

  /** What is left. */
  *rest(): Generator<Uint8Array, void, undefined> {
    if (this.#bytes === 0) return;
    const piece = Buffer.concat(this.#parts.splice(0), this.#bytes);
    this.#bytes = 0;
    this.#most = JOINED_BYTES;
    yield piece;
  }
}
