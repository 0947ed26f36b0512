import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import { BrokenImageError } from '../../errors/errors.ts';
import { readIco } from '../ico.ts';
import { runInThread } from '../one-shot-thread.ts';
import { pictureBudget, type WritableFormat } from '../picture-file.ts';
import { blankLocationInExif } from './exif.ts';
import {
  gifWithoutLocation,
  gifWithoutMetadata,
  webpWithoutLocation,
  webpWithoutMetadata,
} from './gif-webp.ts';
import { blankLocationInHeif, type FoundMetadata, heifWithoutMetadata } from './heif.ts';
import { jpegWithoutLocation, jpegWithoutMetadata } from './jpeg-metadata.ts';
import { pngWithoutLocation, pngWithoutMetadata } from './png.ts';
import { tiffWithoutMetadata } from './tiff.ts';

/**
 * The PNG files inside an icon file, each once: several entries may refer to the same one.
 * @throws BrokenImageError when they overlap: each would be cleaned repeatedly, or inside another one
 */
const pngsOf = (file: Buffer): readonly Buffer[] => {
  const pngs = readIco(file)
    .filter(({ kind }) => kind === 'png')
    .map(({ data }) => data)
    .sort((one, other) => one.byteOffset - other.byteOffset || one.length - other.length)
    .filter((data, index, all) => {
      const before = all[index - 1];
      return before?.byteOffset !== data.byteOffset || before.length !== data.length;
    });
  for (const [index, data] of pngs.entries()) {
    const next = pngs[index + 1];
    if (next === undefined || data.byteOffset + data.length <= next.byteOffset) continue;
    throw new BrokenImageError({ detail: 'an icon of pictures that overlap' });
  }
  return pngs;
};

/** Undefined for files that cannot be cleaned this way. */
type Cleaner = (file: Buffer, budget: ParseBudget, found: FoundMetadata) => Buffer | undefined;

/** Cleans a copy in place. `blank` returns false when that is not possible. */
const inCopy =
  (blank: (copy: Buffer, budget: ParseBudget, found: FoundMetadata) => boolean): Cleaner =>
  (file, budget, found) => {
    const copy = Buffer.from(file);
    if (!blank(copy, budget, found)) return undefined;
    return copy.equals(file) ? file : copy;
  };

/** Cleans the pictures of an icon file in place. Bytes after the end marker of a PNG file are ignored. */
const inIcon =
  (clean: (file: Buffer, budget: ParseBudget) => Buffer): Cleaner =>
  (original, budget) => {
    const file = Buffer.from(original);
    for (const data of pngsOf(file)) {
      const cleaned = clean(data, budget);
      // The result may be longer because a text was decompressed.
      const fitting = cleaned.length > data.length ? pngWithoutMetadata(data, budget) : cleaned;
      data.fill(0, Buffer.from(fitting).copy(data));
    }
    return file.equals(original) ? original : file;
  };

/**
 * Cleaners by format; they return the same bytes when there is nothing to remove. `location` removes the
 * position in EXIF and XMP data; other metadata and all pixels stay. `metadata` removes everything but
 * pixels, frames and their colour description; the orientation is lost.
 */
const CLEANERS: Readonly<Record<WritableFormat, Readonly<Record<PictureJob['what'], Cleaner>>>> = {
  jpeg: { location: jpegWithoutLocation, metadata: jpegWithoutMetadata },
  png: { location: pngWithoutLocation, metadata: pngWithoutMetadata },
  webp: { location: webpWithoutLocation, metadata: webpWithoutMetadata },
  gif: { location: gifWithoutLocation, metadata: gifWithoutMetadata },
  bmp: { location: (file) => file, metadata: (file) => file },
  ico: { location: inIcon(pngWithoutLocation), metadata: inIcon(pngWithoutMetadata) },
  heif: { location: inCopy(blankLocationInHeif), metadata: heifWithoutMetadata },
  tiff: { location: inCopy(blankLocationInExif), metadata: tiffWithoutMetadata },
};

interface PictureJob {
  readonly file: Buffer;
  readonly format: WritableFormat;
  /** Metadata that the library has found in the file. */
  readonly metadata: FoundMetadata | undefined;
  readonly what: 'location' | 'metadata';
}

/** The single job of a cleaning thread. Buffers arrive as plain bytes. */
export type CleaningJob =
  | { readonly kind: 'picture'; readonly picture: PictureJob }
  | { readonly kind: 'drawing'; readonly file: Uint8Array };

/** The message of the thread before it ends; no bytes: there is nothing to clean, or it is not possible. */
export type CleaningOutcome =
  | { readonly result: 'cleaned'; readonly bytes: Uint8Array; readonly isReduced: boolean }
  | { readonly result: 'unchanged' }
  | { readonly result: 'impossible' }
  /** Contents of its BrokenImageError, or of another failure. */
  | { readonly result: 'broken'; readonly messages: readonly string[]; readonly detail: string };

/**
 * Cleans a picture synchronously; the same bytes when there is nothing to clean, undefined when it has to be
 * encoded again instead.
 * @throws BrokenImageError when parsing exceeds the budget
 */
export const cleanNow = ({ file, format, metadata = {}, what }: PictureJob): Buffer | undefined =>
  CLEANERS[format][what](file, pictureBudget(file), metadata);

/** Time limit; a file of the maximum size takes some seconds. */
const MAX_SECONDS = 30;

/**
 * Cleans a file in its own thread: work of a tenth of a second or more must not block other requests.
 * @throws BrokenImageError of the cleaning; the signal's reason
 */
export const cleanInThread = async (
  job: CleaningJob,
  signal?: AbortSignal,
): Promise<Exclude<CleaningOutcome, { result: 'broken' }>> => {
  const program = new URL('./cleaning-thread.js', import.meta.url);
  const outcome = await runInThread<CleaningOutcome>(program, job, { signal, seconds: MAX_SECONDS });
  if (outcome.result !== 'broken') return outcome;
  throw new BrokenImageError({ messages: outcome.messages, detail: outcome.detail });
};

/** Smaller files are cleaned within some milliseconds; a thread takes longer to start. */
const MAX_BYTES_NOW = 1024 * 1024;

/**
 * Removes metadata from a picture: the same buffer when there is nothing to remove. Undefined when the
 * picture has to be encoded again instead.
 * @throws BrokenImageError when parsing exceeds the budget
 */
export const cleanPicture = async (job: PictureJob): Promise<Buffer | undefined> => {
  const { file, format, metadata = {}, what } = job;
  if (file.length <= MAX_BYTES_NOW) return cleanNow(job);
  const { exif, xmp, iptc } = metadata;
  const picture = { file, format, metadata: { exif, xmp, iptc }, what };
  const outcome = await cleanInThread({ kind: 'picture', picture });
  if (outcome.result === 'impossible') return undefined;
  return outcome.result === 'unchanged' ? file : Buffer.from(outcome.bytes.buffer);
};
