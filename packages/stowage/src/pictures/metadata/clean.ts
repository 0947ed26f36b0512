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
 * The PNG files inside an icon file, each once: entries may name the same one.
 * @throws BrokenImageError when they overlap, so that one would be cleaned again and again, or inside of another
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

/** Cleans a file; the same bytes when there is nothing to clean. */
type Clean = (file: Buffer, budget: ParseBudget) => Buffer;

/**
 * An icon file whose pictures are cleaned where they lie. A PNG file ends with its end mark, whatever follows.
 */
const cleanedIcon = (original: Buffer, budget: ParseBudget, clean: Clean): Buffer => {
  const file = Buffer.from(original);
  for (const data of pngsOf(file)) {
    const cleaned = clean(data, budget);
    // Longer where something was unpacked.
    const fitting = cleaned.length > data.length ? pngWithoutMetadata(data, budget) : cleaned;
    data.fill(0, Buffer.from(fitting).copy(data));
  }
  return file.equals(original) ? original : file;
};

/** Undefined where it cannot be done for this file. */
type Cleaner = (file: Buffer, budget: ParseBudget, found: FoundMetadata) => Buffer | undefined;

/** Cleans in place, in a copy. `blank`: false where that cannot be done. */
const inCopy =
  (blank: (copy: Buffer, budget: ParseBudget, found: FoundMetadata) => boolean): Cleaner =>
  (file, budget, found) => {
    const copy = Buffer.from(file);
    if (!blank(copy, budget, found)) return undefined;
    return copy.equals(file) ? file : copy;
  };

const inIcon =
  (clean: Clean): Cleaner =>
  (file, budget) =>
    cleanedIcon(file, budget, clean);

/**
 * By format, what takes something out of a file; the same bytes when there is nothing of it. `location`: the
 * position that EXIF and XMP data names, the rest and all pixels stay. `metadata`: all but pixels, frames, and
 * what their colours mean; the orientation is lost.
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
  /** What the library has found in it. */
  readonly metadata: FoundMetadata | undefined;
  readonly what: 'location' | 'metadata';
}

/** What the thread is to clean, once in its life. Buffers arrive as plain bytes. */
export type CleaningJob =
  | { readonly kind: 'picture'; readonly picture: PictureJob }
  | { readonly kind: 'drawing'; readonly file: Uint8Array };

/** What the thread answers before it ends; no bytes: there is nothing to clean, or that cannot be done. */
export type CleaningAnswer =
  | { readonly result: 'cleaned'; readonly bytes: Uint8Array; readonly isReduced: boolean }
  | { readonly result: 'unchanged' }
  | { readonly result: 'impossible' }
  /** What its BrokenImageError said, or its failure. */
  | { readonly result: 'broken'; readonly messages: readonly string[]; readonly detail: string };

/**
 * Cleans a picture in one go; the same bytes when there is nothing to clean, undefined when only drawing it
 * anew does it.
 * @throws BrokenImageError when reading it takes too much
 */
export const cleanNow = ({ file, format, metadata = {}, what }: PictureJob): Buffer | undefined =>
  CLEANERS[format][what](file, pictureBudget(file), metadata);

/** A file of the largest size takes some. */
const MAX_SECONDS = 30;

/**
 * Cleans a file in a thread of its own: what takes a tenth of a second or more must not hold up other requests.
 * @throws BrokenImageError as the cleaning itself; the signal's reason
 */
export const cleanInThread = async (
  job: CleaningJob,
  signal?: AbortSignal,
): Promise<Exclude<CleaningAnswer, { result: 'broken' }>> => {
  const program = new URL('./cleaning-thread.js', import.meta.url);
  const answer = await runInThread<CleaningAnswer>(program, job, { signal, seconds: MAX_SECONDS });
  if (answer.result !== 'broken') return answer;
  throw new BrokenImageError({ messages: answer.messages, detail: answer.detail });
};

/** Smaller files are cleaned in some milliseconds, whatever they are made of; a thread takes longer to start. */
const MAX_BYTES_NOW = 1024 * 1024;

/**
 * A picture without what is to go: the same buffer when there is nothing to take out. Undefined when only
 * drawing it anew does that.
 * @throws BrokenImageError when reading it takes too much
 */
export const cleanPicture = async (job: PictureJob): Promise<Buffer | undefined> => {
  const { file, format, metadata = {}, what } = job;
  if (file.length <= MAX_BYTES_NOW) return cleanNow(job);
  const { exif, xmp, iptc } = metadata;
  const picture = { file, format, metadata: { exif, xmp, iptc }, what };
  const answer = await cleanInThread({ kind: 'picture', picture });
  if (answer.result === 'impossible') return undefined;
  return answer.result === 'unchanged' ? file : Buffer.from(answer.bytes.buffer);
};
