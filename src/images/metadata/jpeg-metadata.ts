import { behindExifMark, blankLocationInExif } from './exif-location.ts';
import { encodeSegment, endOfPicture, type JpegSegment, segmentsOf } from './jpeg.ts';
import { blankLocationInResources } from './photoshop.ts';
import { blankLocationInXmp } from './xmp-location.ts';

const XMP_MARK = Buffer.from('http://ns.adobe.com/xap/1.0/\0', 'latin1');
/**
 * A packet that one segment cannot hold goes on in others, each with a checksum, its length and an offset.
 */
const MORE_XMP_MARK = Buffer.from('http://ns.adobe.com/xmp/extension/\0', 'latin1');
/** Behind the mark. */
const MORE_XMP_HEADER = 40;
const PHOTOSHOP_MARK = Buffer.from('Photoshop 3.0\0', 'latin1');
const PROFILE_MARK = Buffer.from('ICC_PROFILE\0', 'latin1');
const MENTIONED = /gps/iu;

const [APP0, APP1, APP2, APP13, APP14, APP15, COMMENT] = [0xe0, 0xe1, 0xe2, 0xed, 0xee, 0xef, 0xfe];
/** Pictures that one file may hold, one behind the other: previews, the other eye, a gain map. */
const MAX_PICTURES = 16;

const MARKS = [
  ['xmp', APP1, XMP_MARK],
  ['more', APP1, MORE_XMP_MARK],
  ['resources', APP13, PHOTOSHOP_MARK],
] as const;

const begins = (content: Buffer, mark: Buffer): boolean => content.subarray(0, mark.length).equals(mark);

/** Data that may go on in the next segment: blanked as one. */
const blankJoined = (parts: readonly Buffer[], blank: (whole: Buffer) => boolean): boolean => {
  const whole = Buffer.concat(parts);
  if (!blank(whole)) return false;
  let at = 0;
  for (const part of parts) at += whole.copy(part, 0, at, at + part.length);
  return true;
};

const blankExif = (exif: Buffer): boolean => {
  const found = blankLocationInExif(exif);
  if (found === 'unreadable') exif.fill(0);
  return found !== false;
};

const blankMentioned = (data: Buffer): boolean => {
  if (!MENTIONED.test(data.toString('latin1'))) return false;
  data.fill(0);
  return true;
};

/** The parts of a long packet, in their order. */
const partsOfMoreXmp = (segments: readonly Buffer[]): readonly Buffer[] =>
  segments
    .filter((content) => content.length > MORE_XMP_HEADER)
    .map((content) => ({
      offset: content.readUInt32BE(MORE_XMP_HEADER - 4),
      text: content.subarray(MORE_XMP_HEADER),
    }))
    .sort((one, other) => one.offset - other.offset)
    .map(({ text }) => text);

/** Makers of cameras have segments of their own, of which no reader needs to know the inside. */
const isForeign = (marker: number): boolean =>
  marker >= APP1 && marker <= APP15 && marker !== APP2 && marker !== APP14;

/** Which data a segment has, and where it begins; undefined for what says no position. */
const dataOf = ({ marker, content }: JpegSegment): readonly [kind: string, data: Buffer] | undefined => {
  const exif = marker === APP1 ? behindExifMark(content) : undefined;
  if (exif !== undefined) return ['exif', exif];
  const marked = MARKS.find(([, of, mark]) => marker === of && begins(content, mark));
  if (marked !== undefined) return [marked[0], content.subarray(marked[2].length)];
  return isForeign(marker) ? [`foreign ${String(marker)}`, content] : undefined;
};

/** Takes the position out of the picture that begins at `start`, in place. */
const blankPicture = (file: Buffer, start: number): boolean => {
  const kinds = new Map<string, Buffer[]>();
  for (const segment of segmentsOf(file, start) ?? []) {
    const [kind, data] = dataOf(segment) ?? [];
    if (kind === undefined || data === undefined) continue;
    const known = kinds.get(kind);
    if (known === undefined) kinds.set(kind, [data]);
    else known.push(data);
  }
  const { exif = [], xmp = [], more = [], resources = [], ...foreign } = Object.fromEntries(kinds);
  return [
    ...exif.map(blankExif),
    ...xmp.map(blankLocationInXmp),
    blankJoined(partsOfMoreXmp(more), blankLocationInXmp),
    blankJoined(resources, (whole) => blankLocationInResources(whole, blankExif)),
    ...Object.values(foreign).map((parts) => blankJoined(parts, blankMentioned)),
  ].includes(true);
};

/**
 * A JPEG file without the position in its EXIF and XMP data; the same bytes when there is none. Pixels and
 * all else stay; so do more pictures behind the first, cleaned as it is. What else follows (a film, the
 * maker's own data) is cut off: it may say the position in ways of its own.
 */
export const jpegWithoutLocation = (original: Buffer): Buffer => {
  const file = Buffer.from(original);
  let isChanged = blankPicture(file, 0);
  let end = endOfPicture(file) ?? file.length;
  for (let count = 1; count < MAX_PICTURES; count += 1) {
    const next = file.indexOf('ffd8ff', end, 'hex');
    const nextEnd = next < 0 ? undefined : endOfPicture(file, next);
    if (nextEnd === undefined) break;
    isChanged = blankPicture(file, next) || isChanged;
    isChanged ||= file.subarray(end, next).some((byte) => byte !== 0);
    file.fill(0, end, next);
    end = nextEnd;
  }
  if (end < file.length) return file.subarray(0, end);
  return isChanged ? file : original;
};

/**
 * A JPEG file with nothing but its pixels and what their colours mean; the same bytes when there is nothing
 * else. Its EXIF orientation is lost.
 */
export const jpegWithoutMetadata = (file: Buffer): Buffer => {
  const segments = segmentsOf(file);
  const first = segments?.[0];
  if (segments === undefined || first === undefined) return file;
  const isKept = ({ marker, content }: JpegSegment): boolean => {
    if (marker === APP2) return begins(content, PROFILE_MARK);
    return marker === APP0 || marker === APP14 || (marker !== COMMENT && (marker < APP0 || marker > APP15));
  };
  const end = endOfPicture(file) ?? file.length;
  const kept = segments.filter(isKept);
  if (kept.length === segments.length && end === file.length) return file;
  const pixels = file.subarray(segments.at(-1)?.end, end);
  return Buffer.concat([
    file.subarray(0, 2),
    ...kept.map(({ marker, content }) => encodeSegment(marker, content)),
    pixels,
  ]);
};
