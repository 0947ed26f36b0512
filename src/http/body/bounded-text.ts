import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
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
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** Keeps what it is given, up to the limit. */
class Collector {
  readonly #chunks: Buffer[] = [];
  #length = 0;

  write(chunk: Buffer): boolean {
    this.#length += chunk.length;
    if (this.#length > TEXT_LIMIT) throw new BodyTooLargeError();
    this.#chunks.push(chunk);
    return true;
  }

  once(): void {
    // It never pauses and never fails by itself.
  }

  bytes(): Buffer {
    const [first] = this.#chunks;
    return first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
  }
}

const readDecompressed = async (
  body: Readable,
  create: () => ReturnType<typeof createGunzip>,
  { signal, times: { stallMs } }: BodyContext,
): Promise<Buffer> => {
  const collector = new Collector();
  const decompressor = create();
  const whole = pour(decompressor, collector, { signal, stallMs });
  let sent = 0;
  const fed = pour(body, decompressor, {
    signal,
    stallMs,
    // Compressed input is bounded too: it may be made of parts that come to nothing.
    onBytes: (length) => {
      sent += length;
      if (sent > TEXT_LIMIT) throw new BodyTooLargeError();
    },
  }).then(() => decompressor.end());
  try {
    await Promise.all([
      whole.catch((error: unknown) => {
        decompressor.destroy(error as Error);
        throw error;
      }),
      fed,
    ]);
  } catch (error) {
    decompressor.destroy();
    await Promise.allSettled([whole, fed]);
    throw error;
  }
  return collector.bytes();
};

const readBytes = async (body: Readable, context: BodyContext): Promise<Buffer> => {
  const { headers, signal, times } = context;
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity') {
    const create = decompressors.get(encoding);
    if (create === undefined) throw new BrokenBodyError('The encoding of the request body is not supported.');
    return readDecompressed(body, create, context);
  }
  const collector = new Collector();
  await pour(body, collector, { signal, stallMs: times.stallMs });
  return collector.bytes();
};

/**
 * Reads a JSON or urlencoded body as UTF-8 text. Compressed bodies (gzip, deflate, br) are read; the limit holds for the bytes
 * as sent and as decompressed, whatever `Content-Length` says.
 * @throws BodyTooLargeError as soon as the limit is passed, BrokenBodyError for a body that is cut off or no such text.
 */
export const readBoundedText = async (body: Readable, context: BodyContext): Promise<string> => {
  if (Number(context.headers['content-length']) > TEXT_LIMIT) throw new BodyTooLargeError();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new RequestTimeoutError()), context.times.textMs);
  const signal = AbortSignal.any([context.signal, late.signal]);
  try {
    const bytes = await readBytes(body, { ...context, signal });
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof StowageError || context.signal.aborted) throw error;
    throw new BrokenBodyError({ cause: error });
  } finally {
    clearTimeout(timer);
  }
};
