/** Takes a content in pieces of the size that the reader wants. */
export class ContentReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array | undefined;
  #ended = false;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Fills the buffer. Returns the number of bytes; fewer than there is room for mean the end. */
  async fill(into: Buffer): Promise<number> {
    let at = 0;
    while (at < into.length) {
      const chunk = await this.#peek();
      if (chunk === undefined) break;
      const piece = chunk.subarray(0, into.length - at);
      into.set(piece, at);
      at += piece.length;
      this.#rest = chunk.subarray(piece.length);
    }
    return at;
  }

  /** At most `limit` bytes, in a buffer that grows with them. */
  async upTo(limit: number): Promise<Buffer> {
    let buffer = Buffer.allocUnsafe(Math.min(limit, 256 * 1024));
    let filled = await this.fill(buffer);
    while (filled === buffer.length && buffer.length < limit) {
      const larger = Buffer.allocUnsafe(Math.min(limit, buffer.length * 2));
      buffer.copy(larger);
      filled += await this.fill(larger.subarray(filled));
      buffer = larger;
    }
    return buffer.subarray(0, filled);
  }

  /** Whether nothing is left. Waits for the next chunk to know. */
  async isAtEnd(): Promise<boolean> {
    return (await this.#peek()) === undefined;
  }

  /** The rest in chunks. */
  async *remaining(): AsyncGenerator<Uint8Array, void, undefined> {
    for (let chunk = await this.#peek(); chunk !== undefined; chunk = await this.#peek()) {
      this.#rest = undefined;
      yield chunk;
    }
  }

  async #peek(): Promise<Uint8Array | undefined> {
    while (!this.#ended && (this.#rest === undefined || this.#rest.length === 0)) {
      const next = await this.#chunks.next();
      if (next.done === true) this.#ended = true;
      else this.#rest = next.value;
    }
    return this.#rest !== undefined && this.#rest.length > 0 ? this.#rest : undefined;
  }
}
