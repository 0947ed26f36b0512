import { Worker } from 'node:worker_threads';
import { BrokenImageError } from '../../errors/errors.ts';
import { requireInstalled } from '../../errors/optional-package.ts';
import type { PngExtras } from './pixel-png.ts';

/** What the thread is to decode, once in its life. */
export interface HeicJob {
  readonly file: Uint8Array;
  /** Which of the pictures in the file. */
  readonly index: number;
  /** As the header gives it; a decoded picture of another size is refused. */
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
  /** Bytes that the decoder's memory may grow to. */
  readonly memory: number;
  /** What the PNG says of the pixels. */
  readonly chunks: PngExtras;
}

/** What the thread answers before it ends: a PNG, or why there is none, for the log. */
export type HeicAnswer = { readonly png: Uint8Array } | { readonly failure: string };

/** A photo of 48 megapixels takes a few. */
const MAX_SECONDS = 30;

/** @throws UnsupportedError when the optional package that reads HEIC is not installed */
export const requireHeicDecoder = (): void => {
  requireInstalled('Reading HEIC pictures', ['heic-decode'], (name) => import.meta.resolve(name));
};

const answerOf = (worker: Worker): Promise<HeicAnswer> =>
  new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('The thread ended.')));
  });

/**
 * Decodes a picture in a thread of its own, which ends with it: nothing else stops the decoder, nor frees its
 * memory. Resolves with a PNG.
 * @throws BrokenImageError for what does not decode, or takes too long or too much memory; the signal's
 * reason
 */
export const decodeHeic = async (
  job: HeicJob,
  signal: AbortSignal | undefined,
  seconds = MAX_SECONDS,
): Promise<Buffer> => {
  signal?.throwIfAborted();
  const worker = new Worker(new URL('./heic-thread.js', import.meta.url), {
    workerData: job,
    env: {},
    // The decoder writes there what it does not like of a file.
    stdout: true,
    stderr: true,
  });
  const answer = answerOf(worker);
  const limit = AbortSignal.timeout(seconds * 1000);
  const end = (): void => void worker.terminate();
  for (const one of [signal, limit]) one?.addEventListener('abort', end);
  try {
    const result = await answer;
    if ('png' in result) return Buffer.from(result.png.buffer);
    throw new BrokenImageError({ detail: result.failure });
  } catch (error) {
    signal?.throwIfAborted();
    if (limit.aborted) throw new BrokenImageError({ message: 'The image takes too long to decode.' });
    throw error instanceof BrokenImageError ? error : new BrokenImageError({ cause: error });
  } finally {
    for (const one of [signal, limit]) one?.removeEventListener('abort', end);
    await worker.terminate();
  }
};
