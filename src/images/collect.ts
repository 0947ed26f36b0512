import { addAbortSignal, type Readable } from 'node:stream';
import { BrokenImageError } from '../errors/errors.ts';

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
  return Buffer.concat(chunks, length);
};
