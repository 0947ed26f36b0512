import { addAbortSignal, type Readable } from 'node:stream';
import { BrokenImageError } from '../errors/errors.ts';
import type { ReadResult } from '../storage/readable.ts';

/** A stored or uploaded picture. */
export interface PictureFile {
  /** Bytes; undefined where the store does not report it. */
  readonly size: number | undefined;
  /** Opens it from the start; called at most once unless a method says otherwise. */
  readonly open: () => Readable | Promise<Readable>;
}

const tooLarge = (): Error => new BrokenImageError('The image file is too large.');

/**
 * Reads a picture's stream into memory, at most `limit` bytes; the stream is destroyed on every way out.
 * @throws BrokenImageError when it is longer, or the error that `refuse` makes
 */
export const collect = async (
  stream: Readable,
  limit: number,
  signal?: AbortSignal,
  refuse: () => Error = tooLarge,
): Promise<Buffer> => {
  if (signal) addAbortSignal(signal, stream);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limit) throw refuse();
    chunks.push(chunk);
  }
  const [first] = chunks;
  return first?.length === length ? first : Buffer.concat(chunks, length);
};

/**
 * What a store has opened for reading, in memory: at most `limit` bytes.
 * @throws as `collect`
 */
export const inMemory = async (
  read: Pick<ReadResult, 'bytes' | 'stream'>,
  limit: number,
  signal: AbortSignal,
): Promise<Buffer> => {
  const { bytes } = read;
  // The stream of what has been read is made when it is asked for.
  return bytes === undefined
    ? collect(read.stream, limit, signal)
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
};

/**
 * The beginning of a file, until `isEnough` says so, `most` bytes have come or the file ends; the stream is
 * destroyed.
 */
export const beginningOf = async (
  stream: Readable,
  most: number,
  isEnough: (beginning: Buffer) => boolean = () => false,
): Promise<Buffer> => {
  let beginning = Buffer.alloc(0);
  let chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    // Joined when it has doubled: each byte is copied a few times at most.
    if (length < 2 * beginning.length && length < most) continue;
    beginning = Buffer.concat(chunks, length);
    chunks = [beginning];
    if (length >= most || isEnough(beginning)) return beginning;
  }
  return Buffer.concat(chunks, length);
};
