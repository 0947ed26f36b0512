import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import {
  BodyTooLargeError,
  BrokenBodyError,
  RequestTimeoutError,
  StowageError,
} from '../../errors/errors.ts';
import { pour, type BodyTimes } from './pour.ts';

/** Largest JSON or urlencoded body in bytes, as sent and after decompression. */
const TEXT_LIMIT = 102_400;

/** What the headers say of a body, and who waits for it. */
export interface BodyContext {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly times: BodyTimes;
}

const decompressors = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** The body as it was sent. @throws BodyTooLargeError as soon as the limit is passed */
const collect = async (body: Readable, signal: AbortSignal, times: BodyTimes): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let length = 0;
  await pour(body, {
    signal,
    times,
    write: (chunk) => {
      length += chunk.length;
      if (length > TEXT_LIMIT) throw new BodyTooLargeError();
      chunks.push(chunk);
      return undefined;
    },
  });
  return Buffer.concat(chunks);
};

const decompressed = async (bytes: Buffer, encoding: string): Promise<Buffer> => {
  const decompress = decompressors.get(encoding);
  if (decompress === undefined)
    throw new BrokenBodyError('The encoding of the request body is not supported.');
  try {
    return await decompress(bytes, { maxOutputLength: TEXT_LIMIT });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? new BodyTooLargeError() : error;
  }
};

/**
 * Reads a JSON or urlencoded body as UTF-8 text. Compressed bodies (gzip, deflate, br) are read; the limit
 * holds for the bytes as sent and as decompressed, whatever `Content-Length` says.
 * @throws BodyTooLargeError; BrokenBodyError for a body that is cut off or is not such a text;
 *   RequestTimeoutError
 */
export const readBoundedText = async (
  body: Readable,
  { headers, signal, times }: BodyContext,
): Promise<string> => {
  if (Number(headers['content-length']) > TEXT_LIMIT) throw new BodyTooLargeError();
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  const isPlain = encoding === '' || encoding === 'identity';
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new RequestTimeoutError()), times.textMs);
  try {
    const sent = await collect(body, AbortSignal.any([signal, late.signal]), times);
    const bytes = isPlain ? sent : await decompressed(sent, encoding);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof StowageError || signal.aborted) throw error;
    throw new BrokenBodyError({ cause: error });
  } finally {
    clearTimeout(timer);
  }
};
