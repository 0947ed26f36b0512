/**
 * The segments of a JPEG file, without a look at its pixels.
 *
 * @see https://www.w3.org/Graphics/JPEG/itu-t81.pdf Annex B
 */

/** A segment between the start of the file and its pixels. */
export interface JpegSegment {
  /** The second byte of its marker: 0xe1 for APP1. */
  readonly marker: number;
  /** The segment with marker and length. */
  readonly start: number;
  readonly end: number;
  /** What it holds. */
  readonly content: Buffer;
}

const START_OF_SCAN = 0xda;
const END_OF_IMAGE = 0xd9;
/** Most bytes that a segment holds beside its marker and length. */
export const MAX_SEGMENT_BYTES = 0xffff - 2;

/** Whether a marker has no length: a filler, a 0xff of the pixels, a restart. */
const isBare = (marker: number): boolean =>
  marker <= 1 || marker === 0xff || (marker >= 0xd0 && marker <= 0xd8);

/**
 * The segments up to the first scan, in their order; undefined when the file does not go on to a scan.
 * `start`: where the picture begins in the file. Stray bytes between segments are passed over, as decoders do.
 */
export const segmentsOf = (file: Buffer, start = 0): readonly JpegSegment[] | undefined => {
  const segments: JpegSegment[] = [];
  for (let at = start + 2; at + 4 <= file.length;) {
    const marker = file[at] === 0xff ? (file[at + 1] ?? 0) : undefined;
    if (marker === undefined || isBare(marker)) {
      at += marker === undefined || marker === 0xff ? 1 : 2;
      continue;
    }
    if (marker === START_OF_SCAN) return segments;
    const end = at + 2 + file.readUInt16BE(at + 2);
    if (end < at + 4 || end > file.length) return undefined;
    segments.push({ marker, start: at, end, content: file.subarray(at + 4, end) });
    at = end;
  }
  return undefined;
};

/**
 * Where the picture that begins at `start` ends, behind its end mark; undefined when it has none. Looks at
 * every 0xff of its pixels.
 */
export const endOfPicture = (file: Buffer, start = 0): number | undefined => {
  const segments = segmentsOf(file, start);
  if (segments === undefined) return undefined;
  let at = file.indexOf(0xff, segments.at(-1)?.end ?? start + 2);
  while (at >= 0 && at + 1 < file.length) {
    const marker = file[at + 1] ?? 0;
    if (marker === END_OF_IMAGE) return at + 2;
    if (isBare(marker)) at += marker === 0xff ? 1 : 2;
    else if (at + 4 > file.length) return undefined;
    else at += 2 + file.readUInt16BE(at + 2);
    at = file.indexOf(0xff, at);
  }
  return undefined;
};

/** A segment as it stands in a file. */
export const encodeSegment = (marker: number, content: Buffer): Buffer => {
  const header = Buffer.from([0xff, marker, 0, 0]);
  header.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([header, content]);
};
