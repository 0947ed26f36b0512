import type { ParseBudget } from '../../basics/content/parse-budget.ts';

/**
 * The segments of a JPEG file, whatever its pixels are.
 *
 * @see https://www.w3.org/Graphics/JPEG/itu-t81.pdf Annex B
 */

/** A segment between the start of a picture and its end. */
export interface JpegSegment {
  /** The second byte of its marker: 0xe1 for APP1. */
  readonly marker: number;
  /** The segment with marker and length. */
  readonly start: number;
  readonly end: number;
  /** What it holds. */
  readonly content: Buffer;
}

/** A picture in a JPEG file. */
export interface JpegPicture {
  /** The segments up to the first scan, in their order. */
  readonly header: readonly JpegSegment[];
  /** Those between scans: tables, as a rule. */
  readonly between: readonly JpegSegment[];
  /** Where it ends, behind its end mark; undefined when it has none. */
  readonly end: number | undefined;
}

const START_OF_SCAN = 0xda;
const END_OF_IMAGE = 0xd9;
/** Most bytes that a segment holds beside its marker and length. */
export const MAX_SEGMENT_BYTES = 0xffff - 2;

/** Whether a marker has no length: a filler, a 0xff of the pixels, a restart. */
const isBare = (marker: number): boolean =>
  marker <= 1 || marker === 0xff || (marker >= 0xd0 && marker <= 0xd8);

/** Where the next marker stands, from `from` on, that is not bare; undefined when there is none. */
const nextMarker = (file: Buffer, from: number): number | undefined => {
  // Byte by byte: where half of the bytes are 0xff, a search for each takes ten times as long.
  for (let at = from; at + 1 < file.length; at += 1) {
    if (file[at] === 0xff && !isBare(file[at + 1] ?? 0)) return at;
  }
  return undefined;
};

/** Where the segment ends that begins at `at`; undefined when that is not inside of the file. */
const endOfSegment = (file: Buffer, at: number): number | undefined => {
  const end = at + 4 <= file.length ? at + 2 + file.readUInt16BE(at + 2) : 0;
  return end < at + 4 || end > file.length ? undefined : end;
};

/**
 * The picture that begins at `start`; undefined when it does not go on to a scan. Stray bytes between the
 * segments of the first picture of a file are passed over, as decoders do; elsewhere they mean that bytes of
 * something else look like a picture.
 */
export const readJpeg = (file: Buffer, budget: ParseBudget, start = 0): JpegPicture | undefined => {
  const header: JpegSegment[] = [];
  const between: JpegSegment[] = [];
  let isScanned = false;
  let end: number | undefined = start + 2;
  for (let at = nextMarker(file, end); at !== undefined; at = nextMarker(file, end)) {
    if (start > 0 && !isScanned && file[end] !== 0xff) return undefined;
    budget.spendItems();
    const marker = file[at + 1] ?? 0;
    if (marker === END_OF_IMAGE) return isScanned ? { header, between, end: at + 2 } : undefined;
    end = endOfSegment(file, at);
    if (end === undefined) break;
    if (marker === START_OF_SCAN) isScanned = true;
    else (isScanned ? between : header).push({ marker, start: at, end, content: file.subarray(at + 4, end) });
  }
  return isScanned ? { header, between, end: undefined } : undefined;
};

/** A segment as it stands in a file. */
export const encodeSegment = (marker: number, content: Buffer): Buffer => {
  const header = Buffer.from([0xff, marker, 0, 0]);
  header.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([header, content]);
};

/** Reads part of a file; less where it ends. */
export type ReadPart = (start: number, length: number) => Promise<Buffer>;

const MARKER_BYTES = 4;
/** Of each further part, and how many: together more metadata than cameras write. */
const PART_BYTES = 256 * 1024;
const MAX_PARTS = 8;

const isMetadata = (marker: number): boolean => (marker >= 0xe0 && marker <= 0xef) || marker === 0xfe;

const isExif = (segment: Buffer): boolean => segment.toString('latin1', MARKER_BYTES, 8) === 'Exif';

interface Segment {
  readonly marker: number;
  /** Behind its last byte, which may lie behind the end of the part. */
  readonly end: number;
}

/** The segment at `at`; undefined when its head is not in the part, or is none. */
const segmentAt = (part: Buffer, at: number): Segment | undefined =>
  at + MARKER_BYTES > part.length || part[at] !== 0xff
    ? undefined
    : { marker: part[at + 1] ?? 0, end: at + 2 + part.readUInt16BE(at + 2) };

/**
 * The beginning of a JPEG file as it were with nothing but EXIF data before its frame, which says how large
 * the picture is: other metadata, such as previews and colour profiles, may take megabytes. Undefined for
 * other files, and where the frame does not come.
 */
export const withoutLongMetadata = async (beginning: Buffer, read: ReadPart): Promise<Buffer | undefined> => {
  if (beginning.length < MARKER_BYTES || beginning.readUInt16BE(0) !== 0xffd8) return undefined;
  const kept = [beginning.subarray(0, 2)];
  let [part, start, at] = [beginning, 0, 2];
  for (let parts = 0; parts <= MAX_PARTS;) {
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
