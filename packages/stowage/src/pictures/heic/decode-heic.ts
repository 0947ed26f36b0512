import { BrokenImageError } from '../../errors/errors.ts';
import { requireInstalled } from '../../errors/optional-package.ts';
import { runInThread } from '../one-shot-thread.ts';
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

/**
 * Decodes a picture in a thread of its own. Resolves with a PNG.
 * @throws BrokenImageError for what does not decode, or takes too long or too much memory; the signal's
 * reason
 */
export const decodeHeic = async (
  job: HeicJob,
  signal: AbortSignal | undefined,
  seconds = MAX_SECONDS,
): Promise<Buffer> => {
  const program = new URL('./heic-thread.js', import.meta.url);
  const result = await runInThread<HeicAnswer>(program, job, { signal, seconds });
  if ('png' in result) return Buffer.from(result.png.buffer);
  throw new BrokenImageError({ detail: result.failure });
};
