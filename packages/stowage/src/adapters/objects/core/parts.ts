import { inParallel, type Slots } from '../../../basics/concurrency/queues.ts';
import { PART_BYTES } from './objects.ts';

/** Reads a content in pieces of the requested size. */
export class ContentReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array | undefined;
  #ended = false;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Fills the buffer. Returns the number of bytes; less than its length means the end of the content. */
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

  /** Whether the content is at its end. Waits for the next chunk. */
  async isAtEnd(): Promise<boolean> {
    return (await this.#peek()) === undefined;
  }

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

const MB = 1024 * 1024;
// For a content of unknown length the part size doubles after this number of parts, so that the limit of
// parts is not reached before the limit of object sizes.
const PARTS_OF_ONE_SIZE = 2000;

/** Bytes of a part, by the total size if known, the number of previous parts, and the limit of parts. */
export const partBytes = (size: number | undefined, before: number, mostParts: number): number =>
  size === undefined
    ? PART_BYTES * 2 ** Math.floor(before / PARTS_OF_ONE_SIZE)
    : Math.max(PART_BYTES, Math.ceil(size / mostParts / MB) * MB);

/** Bytes in memory, and the function that releases the memory. */
export interface HeldBytes {
  readonly bytes: Buffer;
  readonly free: () => void;
}

interface PartedContent {
  readonly reader: ContentReader;
  readonly size: number | undefined;
  /** The beginning, which has been read before. */
  readonly first: HeldBytes | undefined;
  /** Each part in memory takes one slot. */
  readonly memory: Slots;
}

export interface PartLimits {
  readonly mostParts: number;
  readonly atOnce: number;
}

/** One part, counted from 1. `start`: total bytes of the previous ones. */
export interface Part {
  readonly number: number;
  readonly start: number;
  readonly bytes: Buffer;
}

/**
 * Sends a content as parts, some of them concurrently. Resolves with their number and the total bytes;
 * settles only when no part is being sent any more. Memory: one part more than are sent concurrently.
 */
export const sendParts = async (
  { reader, size, first, memory }: PartedContent,
  { mostParts, atOnce }: PartLimits,
  signal: AbortSignal | undefined,
  send: (part: Part) => Promise<void>,
): Promise<{ readonly parts: number; readonly size: number }> => {
  let sent = 0;
  let count = 0;
  // Also after a failure it waits for running parts: one that arrives after the upload was aborted would remain.
  await inParallel(atOnce, async (add) => {
    const enqueue = async ({ bytes, free }: HeldBytes): Promise<void> => {
      const part = { number: count + 1, start: sent, bytes };
      count += 1;
      sent += bytes.length;
      await add(async () => {
        try {
          await send(part);
        } finally {
          free();
        }
      });
    };
    if (first !== undefined) await enqueue(first);
    while (!(await reader.isAtEnd())) {
      const free = await memory.take(signal);
      try {
        const buffer = Buffer.allocUnsafe(partBytes(size, count, mostParts));
        await enqueue({ bytes: buffer.subarray(0, await reader.fill(buffer)), free });
      } catch (error) {
        free();
        throw error;
      }
    }
  });
  return { parts: count, size: sent };
};
