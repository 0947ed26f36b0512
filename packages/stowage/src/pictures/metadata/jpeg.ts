import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import type { Rotation } from '../engine.ts';
import { blankDirectory, openTiff, readDirectory, withShortEntry } from './tiff.ts';

/**
 * The segments of a JPEG file, with any encoding of its pixels.
 *
 * @see https://www.w3.org/Graphics/JPEG/itu-t81.pdf Annex B
 */

/** A segment between the start and the end of a picture. */
export interface JpegSegment {
  /** The second byte of its marker: 0xe1 for APP1. */
  readonly marker: number;
  /** Offset of the marker. */
  readonly start: number;
  readonly end: number;
  readonly content: Buffer;
}

export interface JpegPicture {
  /** The segments up to the first scan, in their order. */
  readonly header: readonly JpegSegment[];
  /** Segments between scans: usually tables. */
  readonly between: readonly JpegSegment[];
  /** Offset after its end marker; undefined without one. */
  readonly end: number | undefined;
}

const START_OF_SCAN = 0xda;
const END_OF_IMAGE = 0xd9;
/** Maximum number of content bytes in a segment. */
const MAX_SEGMENT_BYTES = 0xffff - 2;

/** Whether a marker has no length: a fill byte, a 0xff in the pixels, a restart. */
const isBare = (marker: number): boolean =>
  marker <= 1 || marker === 0xff || (marker >= 0xd0 && marker <= 0xd8);

const nextMarker = (file: Buffer, from: number): number | undefined => {
  // Byte by byte: where half of the bytes are 0xff, separate searches take ten times as long.
  for (let at = from; at + 1 < file.length; at += 1) {
    if (file[at] === 0xff && !isBare(file[at + 1] ?? 0)) return at;
  }
  return undefined;
};

/** The end of the segment at `at`; undefined when it is not inside the file. */
const endOfSegment = (file: Buffer, at: number): number | undefined => {
  const end = at + 4 <= file.length ? at + 2 + file.readUInt16BE(at + 2) : 0;
  return end < at + 4 || end > file.length ? undefined : end;
};

/**
 * The segments before the first scan, where decoders stop reading the header, and the offset of the scan;
 * undefined where one of them is malformed. Does not read the pixels, which may be megabytes. Stray bytes
 * between the segments of the first picture of a file are skipped, as decoders do; in later ones they mean that
 * other data merely looks like a picture.
 */
export const readHeader = (
  file: Buffer,
  budget: ParseBudget,
  start = 0,
): (Pick<JpegPicture, 'header'> & { readonly scan: number }) | undefined => {
  const header: JpegSegment[] = [];
  let end: number | undefined = start + 2;
  for (let at = nextMarker(file, end); at !== undefined; at = nextMarker(file, end)) {
    if (start > 0 && file[end] !== 0xff) return undefined;
    const marker = file[at + 1] ?? 0;
    if (marker === START_OF_SCAN) return { header, scan: at };
    budget.spendItems();
    end = endOfSegment(file, at);
    if (end === undefined || marker === END_OF_IMAGE) return undefined;
    header.push({ marker, start: at, end, content: file.subarray(at + 4, end) });
  }
  return undefined;
};

/** The picture that begins at `start`; undefined when it has no scan. */
export const readJpeg = (file: Buffer, budget: ParseBudget, start = 0): JpegPicture | undefined => {
  const { header, scan = 0 } = readHeader(file, budget, start) ?? {};
  let end = endOfSegment(file, scan);
  if (header === undefined || end === undefined) return undefined;
  const between: JpegSegment[] = [];
  for (let at = nextMarker(file, end); at !== undefined; at = nextMarker(file, end)) {
    budget.spendItems();
    const marker = file[at + 1] ?? 0;
    if (marker === END_OF_IMAGE) return { header, between, end: at + 2 };
    end = endOfSegment(file, at);
    if (end === undefined) break;
    if (marker !== START_OF_SCAN)
      between.push({ marker, start: at, end, content: file.subarray(at + 4, end) });
  }
  return { header, between, end: undefined };
};

export const encodeSegment = (marker: number, content: Buffer): Buffer => {
  const header = Buffer.from([0xff, marker, 0, 0]);
  header.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([header, content]);
};

/** Reads a part of a file; shorter at its end. */
export type ReadPart = (start: number, length: number) => Promise<Buffer>;

const MARKER_BYTES = 4;
/** Size and maximum number of further parts: together more metadata than cameras write. */
const PART_BYTES = 256 * 1024;
const MAX_PARTS = 8;
/** Maximum number of segments before the pixels; cameras and programs write some hundreds. */
const MAX_SEGMENTS = 10_000;

/** Whether a segment has free content, unlike tables, frames and scans. */
export const isMetadata = (marker: number): boolean => (marker >= 0xe0 && marker <= 0xef) || marker === 0xfe;

const isExif = (segment: Buffer): boolean => segment.toString('latin1', MARKER_BYTES, 8) === 'Exif';

interface Segment {
  readonly marker: number;
  /** Offset after its last byte, which may be beyond the part. */
  readonly end: number;
}

/** The segment at `at`; undefined when its header is not in the part, or not valid. */
const segmentAt = (part: Buffer, at: number): Segment | undefined =>
  at + MARKER_BYTES > part.length || part[at] !== 0xff
    ? undefined
    : { marker: part[at + 1] ?? 0, end: at + 2 + part.readUInt16BE(at + 2) };

/**
 * The segments before the first scan, from the beginning of a file. `isWhole`: more bytes are not needed,
 * because the scan has been reached, or the file is malformed or has too many segments.
 */
export const headOfJpeg = (
  beginning: Buffer,
): { readonly segments: readonly Pick<JpegSegment, 'marker' | 'content'>[]; readonly isWhole: boolean } => {
  const segments: Pick<JpegSegment, 'marker' | 'content'>[] = [];
  for (let at = 2; ;) {
    const segment = segmentAt(beginning, at);
    if (segment === undefined) return { segments, isWhole: at + MARKER_BYTES <= beginning.length };
    if (segment.marker === START_OF_SCAN) return { segments, isWhole: true };
    if (segment.end > beginning.length) return { segments, isWhole: false };
    if (segments.length === MAX_SEGMENTS) return { segments, isWhole: true };
    segments.push({ marker: segment.marker, content: beginning.subarray(at + MARKER_BYTES, segment.end) });
    at = segment.end;
  }
};

/**
 * The beginning of a JPEG file reduced to EXIF data before its frame header, which contains the size: other
 * metadata, such as previews and colour profiles, may take megabytes. Undefined for other files, and when
 * there is no frame header.
 */
export const withoutLongMetadata = async (beginning: Buffer, read: ReadPart): Promise<Buffer | undefined> => {
  if (beginning.length < MARKER_BYTES || beginning.readUInt16BE(0) !== 0xffd8) return undefined;
  const kept = [beginning.subarray(0, 2)];
  let [part, start, at] = [beginning, 0, 2];
  for (let parts = 0, segments = 0; parts <= MAX_PARTS && segments < MAX_SEGMENTS; segments += 1) {
    const segment = segmentAt(part, at);
    if (segment !== undefined && !isMetadata(segment.marker))
      return Buffer.concat([...kept, part.subarray(at)]);
    if (segment !== undefined && segment.end <= part.length) {
      const content = part.subarray(at, segment.end);
      if (isExif(content)) kept.push(content);
      at = segment.end;
      continue;
    }
    parts += 1;
    start += at;
    part = await read(start, PART_BYTES);
    at = 0;
    if (segmentAt(part, 0) === undefined) return undefined;
  }
  return undefined;
};

/** The EXIF orientations: stored pixels are mirrored or not, then rotated clockwise by quarters. */
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

/** The EXIF orientation (1 to 8) that shows a picture rotated; an invalid `orientation` counts as 1. */
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
/** First bytes of an APP1 segment with EXIF data. */
export const EXIF_MARK = Buffer.from('Exif\0\0', 'latin1');
const ORIENTATION = 0x0112;
const SHORT = 3;

/** Empty EXIF data: a directory without entries. */
const EMPTY_EXIF = Buffer.from('MM\0*\0\0\0\x08\0\0\0\0\0\0', 'latin1');

/** EXIF data with this orientation, replaced in place or added; undefined when that is not possible. */
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

/** Removes the preview from EXIF data, in place: the second directory, and the picture that it refers to. */
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
  // Outside the header of the structure.
  if (start >= 8) exif.fill(0, start, Math.min(start + valueOf(PREVIEW_LENGTH), exif.length));
  blankDirectory(tiff, { at, entries, reachedBy: undefined }, budget);
};

/** The EXIF data of a segment; undefined if it has none. */
const exifOf = ({ marker, content }: JpegSegment): Buffer | undefined =>
  marker === APP1 && content.subarray(0, EXIF_MARK.length).equals(EXIF_MARK)
    ? content.subarray(EXIF_MARK.length)
    : undefined;

/** A JPEG file without the preview in its EXIF data; its pixels are unchanged. */
export const jpegWithoutPreview = (original: Buffer, budget: ParseBudget): Buffer => {
  const file = Buffer.from(original);
  for (const segment of readHeader(file, budget)?.header ?? []) {
    const exif = exifOf(segment);
    if (exif !== undefined) blankPreview(exif, budget);
  }
  return file;
};

/** A JPEG file with this orientation and unchanged pixels; undefined for invalid or full EXIF data. */
export const jpegWithOrientation = (
  file: Buffer,
  orientation: number,
  budget: ParseBudget,
): Buffer | undefined => {
  const segments = readHeader(file, budget)?.header;
  if (segments === undefined) return undefined;
  const present = segments.find((segment) => exifOf(segment) !== undefined);
  const exif = exifWithOrientation((present && exifOf(present)) ?? EMPTY_EXIF, orientation);
  if (exif === undefined || exif.length + EXIF_MARK.length > MAX_SEGMENT_BYTES) return undefined;
  const first = segments[0];
  // A JFIF file begins with its own segment.
  const start = present?.start ?? (first?.marker === APP0 ? first.end : 2);
  const segment = encodeSegment(APP1, Buffer.concat([EXIF_MARK, exif]));
  return Buffer.concat([file.subarray(0, start), segment, file.subarray(present?.end ?? start)]);
};
