import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import {
  behindExifMark,
  blankExif,
  blankLocationInResources,
  blankStructures,
  type FoundData,
  saysPosition,
} from './exif.ts';
import {
  encodeSegment,
  headOfJpeg,
  isMetadata,
  type JpegPicture,
  type JpegSegment,
  readHeader,
  readJpeg,
} from './jpeg.ts';
import { blankLocationInXmp } from './xmp-location.ts';

/**
 * The data of FLIR thermal cameras in a picture: a file of records, in several segments.
 *
 * @see https://exiftool.org/TagNames/FLIR.html
 */

const [VERSION, DIRECTORY, COUNT] = [0x14, 0x18, 0x1c];
const RECORD_BYTES = 0x20;
const POSITION_RECORD = 0x2b;

/** Removes the position record from such a file, in place. False when it cannot be parsed. */
const blankLocationInFlir = (file: Buffer, budget: ParseBudget): boolean => {
  if (file.length < COUNT + 4 || !/^[AF]FF\0/u.test(file.toString('latin1', 0, 4))) return false;
  const isBig = file.readUInt16BE(VERSION) === 0;
  const uint32 = (at: number): number => (isBig ? file.readUInt32BE(at) : file.readUInt32LE(at));
  const [start, count] = [uint32(DIRECTORY), uint32(COUNT)];
  if (start + count * RECORD_BYTES > file.length) return false;
  for (let at = start; at < start + count * RECORD_BYTES; at += RECORD_BYTES) {
    budget.spendItems();
    const kind = isBig ? file.readUInt16BE(at) : file.readUInt16LE(at);
    if (kind !== POSITION_RECORD) continue;
    const record = uint32(at + 0x0c);
    const data = file.subarray(record, record + uint32(at + 0x10));
    budget.spendBytes(data.length);
    data.fill(0);
    // Record type 0 means empty.
    file.fill(0, at, at + RECORD_BYTES);
  }
  return true;
};

const XMP_MARK = Buffer.from('http://ns.adobe.com/xap/1.0/\0', 'latin1');
/** Marker of extended XMP: the parts of a longer packet, each with a checksum, its length and offset. */
const MORE_XMP_MARK = Buffer.from('http://ns.adobe.com/xmp/extension/\0', 'latin1');
/** Header after the marker. */
const MORE_XMP_HEADER = 40;
const FLIR_MARK = Buffer.from('FLIR\0', 'latin1');
/** Header after the marker: a version, the number of the part, and that of the last. */
const FLIR_HEADER = 3;
const PHOTOSHOP_MARK = Buffer.from('Photoshop 3.0\0', 'latin1');
const PROFILE_MARK = Buffer.from('ICC_PROFILE\0', 'latin1');
const JFIF_MARK = Buffer.from('JFIF\0', 'latin1');

const [APP0, APP1, APP2, APP13, APP14, APP15, COMMENT] = [0xe0, 0xe1, 0xe2, 0xed, 0xee, 0xef, 0xfe];
/** Maximum number of consecutive pictures in a file: previews, a stereo picture, a gain map. */
const MAX_PICTURES = 16;

const MARKS = [
  ['xmp', APP1, XMP_MARK],
  ['more', APP1, MORE_XMP_MARK],
  ['flir', APP1, FLIR_MARK],
  ['resources', APP13, PHOTOSHOP_MARK],
  ['shown', APP0, JFIF_MARK],
  ['shown', APP2, PROFILE_MARK],
] as const;

const begins = (content: Buffer, mark: Buffer): boolean => content.subarray(0, mark.length).equals(mark);

/** Cleans data that may be split over segments as a whole, and zeroes it if `clean` returns false. */
const cleanJoined = (parts: readonly Buffer[], clean: (whole: Buffer) => boolean | void): void => {
  const whole = Buffer.concat(parts);
  if (clean(whole) === false) whole.fill(0);
  let at = 0;
  for (const part of parts) at += whole.copy(part, 0, at, at + part.length);
};

const inOrder = (segments: readonly Buffer[], headerBytes: number, numberOf: (segment: Buffer) => number) =>
  segments
    .filter((content) => content.length > headerBytes)
    .sort((one, other) => numberOf(one) - numberOf(other))
    .map((content) => content.subarray(headerBytes));

const dataOf = ({ marker, content }: JpegSegment): readonly [kind: string, data: Buffer] => {
  const exif = marker === APP1 ? behindExifMark(content) : undefined;
  if (exif !== undefined) return ['exif', exif];
  const marked = MARKS.find(([, of, mark]) => marker === of && begins(content, mark));
  // Manufacturers have their own segments, whose content readers can do without.
  return marked === undefined
    ? [`foreign ${String(marker)}`, content]
    : [marked[0], content.subarray(marked[2].length)];
};

/** Metadata before the pixels. */
export const jpegData = (beginning: Buffer): FoundData => {
  const found: Record<string, Buffer[]> = { exif: [], xmp: [], resources: [] };
  for (const segment of headOfJpeg(beginning).segments) {
    const [kind, data] = dataOf({ ...segment, start: 0, end: 0 });
    found[kind]?.push(data);
  }
  const { exif = [], xmp = [], resources = [] } = found;
  return { exif, xmp, iptc: resources.length === 0 ? [] : [Buffer.concat(resources)] };
};

const blankPicture = ({ header, between }: JpegPicture, budget: ParseBudget): void => {
  const kinds = new Map<string, Buffer[]>();
  for (const segment of [...header, ...between].filter(({ marker }) => isMetadata(marker))) {
    const [kind, data] = dataOf(segment);
    const known = kinds.get(kind);
    if (known === undefined) kinds.set(kind, [data]);
    else known.push(data);
  }
  const { exif = [], xmp = [], more = [], flir = [], resources = [], ...others } = Object.fromEntries(kinds);
  delete others['shown'];
  cleanJoined(exif, (whole) => blankExif(whole, budget));
  for (const packet of xmp) blankLocationInXmp(packet);
  cleanJoined(
    inOrder(more, MORE_XMP_HEADER, (content) => content.readUInt32BE(MORE_XMP_HEADER - 4)),
    blankLocationInXmp,
  );
  cleanJoined(
    inOrder(flir, FLIR_HEADER, (content) => content[1] ?? 0),
    (whole) => blankLocationInFlir(whole, budget) && blankStructures(whole, budget),
  );
  cleanJoined(resources, (whole) =>
    blankLocationInResources(whole, (data) => blankStructures(data, budget), budget),
  );
  for (const parts of Object.values(others)) cleanJoined(parts, (whole) => !saysPosition(whole, budget));
};

/**
 * A JPEG file without the position in its EXIF and XMP data; the same bytes when there is none. Pixels and
 * all other metadata stay; so do further pictures after the first, which are cleaned too. Other appended data
 * (video, data of the manufacturer) is cut off: it may contain the position in unknown formats.
 */
export const jpegWithoutLocation = (original: Buffer, budget: ParseBudget): Buffer => {
  const file = Buffer.from(original);
  let end = 0;
  for (let count = 0; count < MAX_PICTURES; count += 1) {
    const next = file.indexOf('ffd8ff', end, 'hex');
    const picture = next < 0 ? undefined : readJpeg(file, budget, next);
    if (picture === undefined || (count > 0 && picture.end === undefined)) break;
    blankPicture(picture, budget);
    file.fill(0, end, next);
    end = picture.end ?? file.length;
  }
  const whole = file.subarray(0, end === 0 ? file.length : end);
  return whole.equals(original) ? original : whole;
};

/** Adds the comments of another JPEG file, which the library does not preserve. */
export const jpegWithComments = (file: Buffer, other: Buffer, budget: ParseBudget): Buffer => {
  const comments = (readHeader(other, budget)?.header ?? []).filter(({ marker }) => marker === COMMENT);
  const last = readHeader(file, budget)?.header.findLast(({ marker }) => marker >= APP0 && marker <= APP15);
  if (comments.length === 0 || last === undefined) return file;
  const segments = comments.map(({ content }) => encodeSegment(COMMENT, content));
  return Buffer.concat([file.subarray(0, last.end), ...segments, file.subarray(last.end)]);
};

/** A JPEG file with only pixels and colours, without orientation; the same bytes if that is all. */
export const jpegWithoutMetadata = (original: Buffer, budget: ParseBudget): Buffer => {
  const file = Buffer.from(original);
  const picture = readJpeg(file, budget);
  const first = picture?.header[0];
  if (picture === undefined || first === undefined) return original;
  const isKept = (segment: JpegSegment): boolean =>
    !isMetadata(segment.marker) || segment.marker === APP14 || dataOf(segment)[0] === 'shown';
  for (const segment of picture.between) if (!isKept(segment)) segment.content.fill(0);
  const kept = picture.header.filter(isKept);
  const result = Buffer.concat([
    file.subarray(0, 2),
    ...kept.map(({ marker, content }) => encodeSegment(marker, content)),
    file.subarray(picture.header.at(-1)?.end, picture.end),
  ]);
  return result.equals(original) ? original : result;
};
