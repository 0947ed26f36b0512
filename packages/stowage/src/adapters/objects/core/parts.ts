import { createLimiter } from '../../../basics/concurrency/limiter.ts';
import type { Slots } from '../../../basics/concurrency/slots.ts';
import type { ContentReader } from './content-reader.ts';
import { PART_BYTES } from './objects.ts';

const MB = 1024 * 1024;
// A content of unknown length: parts double after so many of them, so that the most that services take reach
// far beyond the size of their objects.
const PARTS_OF_ONE_SIZE = 2000;

/**
 * Bytes of a part, by the size of the whole, as far as known, the number of parts before, and the most parts
 * that the service takes.
 */
export const partBytes = (size: number | undefined, before: number, mostParts: number): number =>
  size === undefined
    ? PART_BYTES * 2 ** Math.floor(before / PARTS_OF_ONE_SIZE)
    : Math.max(PART_BYTES, Math.ceil(size / mostParts / MB) * MB);

/** Bytes in memory, and what gives the memory back. */
export interface HeldBytes {
  readonly bytes: Buffer;
  readonly free: () => void;
}

/** A content that goes in parts. */
export interface PartedContent {
  readonly reader: ContentReader;
  readonly size: number | undefined;
  /** What has been read of it before. */
  readonly first: HeldBytes | undefined;
  /** Each part in memory takes one. */
  readonly memory: Slots;
}

/** How a service takes parts. */
export interface PartLimits {
  readonly mostParts: number;
  readonly atOnce: number;
}

/** One part, counted from 1. */
export interface Part {
  readonly number: number;
  readonly bytes: Buffer;
}

/**
 * Sends a content as parts, some at a time. Resolves with the bytes of them all, and rejects only when no part
 * is on its way any more. Memory: one part more than are sent at once.
 */
export const sendParts = async (
  { reader, size, first, memory }: PartedContent,
  { mostParts, atOnce }: PartLimits,
  signal: AbortSignal | undefined,
  send: (part: Part) => Promise<void>,
): Promise<number> => {
  const limiter = createLimiter(atOnce);
  let sent = 0;
  let count = 0;
  const enqueue = async ({ bytes, free }: HeldBytes): Promise<void> => {
    sent += bytes.length;
    count += 1;
    const number = count;
    await limiter.add(async () => {
      try {
        await send({ number, bytes });
      } finally {
        free();
      }
    });
  };
  try {
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
  } finally {
    // Also after a failure: a part that lands after the upload was aborted would stay.
    await limiter.drain();
  }
  return sent;
};
