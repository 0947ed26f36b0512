import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import type { Rotation } from '../engine.ts';
import { encodeSegment, MAX_SEGMENT_BYTES, readJpeg } from './jpeg.ts';
import { blankDirectory, openTiff, readDirectory, withShortEntry } from './tiff.ts';

/**
 * What the EXIF orientations do to stored pixels: mirror them from left to right or not, then rotate them
 * clockwise by a number of quarters.
 */
const ORIENTATIONS: readonly (readonly [orientation: number, mirrored: boolean, quarters: number])[] = [
  [1, false, 0],
  [2, true, 0],
  [3, false, 2],
  [4, true, 2],
  [5, true, 3],
  [6, false, 1],
  [7, true, 1],
  [8, false, 3],
];

/**
 * The EXIF orientation, 1 to 8, that shows a picture rotated which is shown by `orientation` now; what is none
 * counts as 1.
 */
export const rotatedOrientation = (orientation: number, { angle, flip }: Rotation): number => {
  const [, mirrored, quarters] = ORIENTATIONS[orientation - 1] ?? [1, false, 0];
  const rotated = quarters + angle / 90;
  const isFlipped = flip !== undefined;
  const result = isFlipped ? (flip === 'vertical' ? 2 : 0) - rotated : rotated;
  const found = ORIENTATIONS.find(
    ([, isMirrored, count]) => isMirrored === (mirrored !== isFlipped) && count === (result + 8) % 4,
  );
  return found?.[0] ?? 1;
};

const APP0 = 0xe0;
const APP1 = 0xe1;
/** How an APP1 segment with EXIF data begins. */
export const EXIF_MARK = Buffer.from('Exif\0\0', 'latin1');
const ORIENTATION = 0x0112;
const SHORT = 3;

/** EXIF data that says nothing yet: a directory without entries. */
const EMPTY_EXIF = Buffer.from('MM\0*\0\0\0\x08\0\0\0\0\0\0', 'latin1');

/**
 * EXIF data with this orientation: in place where it has one, else with an entry more. Undefined where that
 * cannot be done.
 */
export const exifWithOrientation = (exif: Buffer, orientation: number): Buffer | undefined => {
  const copy = Buffer.from(exif);
  const tiff = openTiff(copy);
  const entries = tiff === undefined ? undefined : readDirectory(tiff, tiff.uint32(4));
  if (tiff === undefined || entries === undefined) return undefined;
  const present = entries.find(({ tag }) => tag === ORIENTATION);
  if (present === undefined) return withShortEntry(exif, ORIENTATION, orientation);
  if (present.type !== SHORT || present.count !== 1) return undefined;
  tiff.setUint16(orientation, present.at + 8);
  return copy;
};

const PREVIEW_OFFSET = 0x0201;
const PREVIEW_LENGTH = 0x0202;

/** Takes the preview out of EXIF data, in place: the second directory, and the picture that it names. */
const blankPreview = (exif: Buffer, budget: ParseBudget): void => {
  const tiff = openTiff(exif);
  const first = tiff === undefined ? undefined : readDirectory(tiff, tiff.uint32(4));
  if (tiff === undefined || first === undefined) return;
  const link = tiff.uint32(4) + 2 + first.length * 12;
  if (link + 4 > exif.length) return;
  const at = tiff.uint32(link);
  const entries = readDirectory(tiff, at);
  tiff.setUint32(0, link);
  if (entries === undefined) return;
  const valueOf = (wanted: number): number => {
    const entry = entries.find(({ tag }) => tag === wanted);
    return entry?.value === undefined ? 0 : tiff.uint32(entry.at + 8);
  };
  const start = Math.min(valueOf(PREVIEW_OFFSET), exif.length);
  // Behind the header of the structure.
  if (start >= 8) exif.fill(0, start, Math.min(start + valueOf(PREVIEW_LENGTH), exif.length));
  blankDirectory(tiff, { at, entries, reachedBy: undefined }, budget);
};

/** A JPEG file without the preview in its EXIF data, its pixels untouched. */
export const jpegWithoutPreview = (original: Buffer, budget: ParseBudget): Buffer => {
  const file = Buffer.from(original);
  for (const { marker, content } of readJpeg(file, budget)?.header ?? []) {
    const isExif = marker === APP1 && content.subarray(0, EXIF_MARK.length).equals(EXIF_MARK);
    if (isExif) blankPreview(content.subarray(EXIF_MARK.length), budget);
  }
  return file;
};

/**
 * A JPEG file whose EXIF data says this orientation, its pixels untouched. Undefined where the EXIF data
 * cannot be read, or has no room left in its segment.
 */
export const jpegWithOrientation = (
  file: Buffer,
  orientation: number,
  budget: ParseBudget,
): Buffer | undefined => {
  const segments = readJpeg(file, budget)?.header;
  if (segments === undefined) return undefined;
  const present = segments.find(
    ({ marker, content }) => marker === APP1 && content.subarray(0, EXIF_MARK.length).equals(EXIF_MARK),
  );
  const exif = exifWithOrientation(present?.content.subarray(EXIF_MARK.length) ?? EMPTY_EXIF, orientation);
  if (exif === undefined || exif.length + EXIF_MARK.length > MAX_SEGMENT_BYTES) return undefined;
  const first = segments[0];
  // A JFIF file begins with its own segment.
  const start = present?.start ?? (first?.marker === APP0 ? first.end : 2);
  const segment = encodeSegment(APP1, Buffer.concat([EXIF_MARK, exif]));
  return Buffer.concat([file.subarray(0, start), segment, file.subarray(present?.end ?? start)]);
};
