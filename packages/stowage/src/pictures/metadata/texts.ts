import { orUndefined } from '../../errors/errors.ts';
import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import {
  type About,
  isNothing,
  MOST_TAG,
  MOST_TAGS,
  MOST_TEXT,
  plainText,
} from '../../storage/about/about.ts';
import { MAX_PICTURE_BYTES } from '../engine.ts';
import {
  pictureBudget,
  type PictureFormat,
  sniffPicture,
  beginningOf,
  collect,
  type PictureFile,
} from '../picture-file.ts';
import { type FoundData, iptcIn, KEYWORD } from './exif.ts';
import { gifData, webpData } from './gif-webp.ts';
import { heifData } from './heif.ts';
import { jpegData } from './jpeg-metadata.ts';
import { headOfJpeg } from './jpeg.ts';
import { pngData } from './png.ts';
import { openTiff, readDirectory } from './tiff.ts';

/**
 * Texts in IPTC data.
 *
 * @see https://www.iptc.org/std/IIM/4.2/specification/IIMV4.2.pdf
 */

const MARKER = 0x1c;
/** Bit of an extended length: the rest is the number of its bytes. */
const EXTENDED = 0x8000;
const CHARSET = '1:90';
const UTF_8 = '\u001b%G';

/**
 * Decodes text of unknown encoding: as UTF-8 if valid, else as Windows-1252. Without `stream` Node 20 decodes
 * that as ISO 8859-1, without its quotes and dashes.
 */
export const decodedText = (bytes: Uint8Array): string =>
  orUndefined(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes)) ??
  new TextDecoder('windows-1252').decode(bytes, { stream: true });

/** The values of IPTC data by record and number, `2:120`; each may be repeated. */
export const iptcTexts = (data: Buffer, budget: ParseBudget): ReadonlyMap<string, readonly string[]> => {
  const found = new Map<string, Buffer[]>();
  for (let at = 0; at + 5 <= data.length && data[at] === MARKER;) {
    budget.spendItems();
    const key = `${String(data[at + 1])}:${String(data[at + 2])}`;
    let [start, size] = [at + 5, data.readUInt16BE(at + 3)];
    if (size >= EXTENDED) {
      const digits = size - EXTENDED;
      if (digits < 1 || digits > 4 || start + digits > data.length) break;
      size = data.readUIntBE(start, digits);
      start += digits;
    }
    const values = found.get(key) ?? [];
    found.set(key, values);
    values.push(data.subarray(start, start + size));
    at = start + size;
  }
  const isUtf8 = found.get(CHARSET)?.[0]?.toString('latin1').startsWith(UTF_8) === true;
  // Drops a last letter that a program has cut at the limit of its field.
  const asUtf8 = (bytes: Buffer): string | undefined =>
    orUndefined(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true }));
  // Programs also declare UTF-8 for texts that others wrote in their own encoding.
  const decode = (bytes: Buffer): string => (isUtf8 ? asUtf8(bytes) : undefined) ?? decodedText(bytes);
  return new Map([...found].map(([key, values]) => [key, values.map(decode)]));
};

const [DESCRIPTION, MAKE, XMP, IPTC, RESOURCES] = [0x010e, 0x010f, 0x02bc, 0x83bb, 0x8649];

const valuesOf = (data: Buffer, tags: readonly number[]): readonly Buffer[] => {
  const tiff = openTiff(data);
  const entries = tiff === undefined ? undefined : readDirectory(tiff, tiff.uint32(4));
  return (entries ?? []).flatMap(({ tag, value }) =>
    tags.includes(tag) && value !== undefined ? [data.subarray(value.start, value.end)] : [],
  );
};

const dataOf = (file: Buffer, format: PictureFormat, budget: ParseBudget): FoundData | undefined => {
  if (format === 'jpeg') return jpegData(file);
  if (format === 'png') return pngData(file, budget);
  if (format === 'webp') return webpData(file, budget);
  if (format === 'gif') return gifData(file, budget);
  if (format === 'heif' || format === 'heic') return heifData(file, budget);
  return format === 'tiff' ? { exif: [file], xmp: [], iptc: [] } : undefined;
};

/** A text within the limit, without position keywords; undefined if nothing is left. */
const bounded = (text: string | undefined, most: number): string | undefined => {
  const plain = plainText(text ?? '')
    .replaceAll(KEYWORD, '')
    .trim();
  // Twice as many units hold as many characters of any kind.
  const short =
    plain.length <= most
      ? plain
      : Array.from(plain.slice(0, 2 * most))
          .slice(0, most)
          .join('')
          .trim();
  return short === '' ? undefined : short;
};

/** Descriptions that cameras write into every picture. */
const CAMERA_WORDS =
  /^(?:(?:[A-Z]+ )*DIGITAL (?:STILL )?CAMERA|SONY DSC|Exif_JPEG_PICTURE|default|DCIM[/\\][\w/\\.]*)$/u;

/** Phones of these makers describe each photo by its mode: `oznor`, `cof`, `hdr`. */
const MODE_WRITERS = /^(?:HUAWEI|HONOR)/iu;
const MODE = /^[_a-z]\w*$/u;

const captionOf = (text: string | undefined): string | undefined => {
  const caption = bounded(text, MOST_TEXT);
  return caption === undefined || CAMERA_WORDS.test(caption) ? undefined : caption;
};

const cameraCaption = (description: Buffer | undefined, make: Buffer | undefined): string | undefined => {
  const caption = captionOf(description && decodedText(description).split('\0')[0]);
  const isMode = MODE_WRITERS.test(make?.toString('latin1') ?? '') && MODE.test(caption ?? '');
  return isMode ? undefined : caption;
};

/** A text of IPTC data, or that of XMP data where it begins alike and the IPTC field of so many bytes is full. */
const wholeOf = (iptc: string | undefined, xmp: string | undefined, mostBytes: number) => {
  // A letter that did not fit is missing, and spaces at the end are.
  const isFull = Buffer.byteLength(iptc ?? '') > mostBytes - 6;
  return iptc === undefined || (isFull && xmp?.startsWith(iptc) === true) ? xmp : iptc;
};

const boundedTags = (tags: readonly string[] | undefined): string[] | undefined => {
  const short = (tags ?? []).slice(0, 20 * MOST_TAGS).flatMap((tag) => bounded(tag, MOST_TAG) ?? []);
  return short.length === 0 ? undefined : [...new Set(short)].slice(0, MOST_TAGS);
};

/**
 * Descriptive texts in a picture, field by field: from IPTC data, else XMP, else EXIF; never its position. A
 * JPEG file may be truncated at its first scan. Undefined without any text.
 * @throws errors of the budget
 */
export const textsOf = async (
  file: Buffer,
  format: PictureFormat,
  budget: ParseBudget,
): Promise<About | undefined> => {
  const found = dataOf(file, format, budget);
  if (found === undefined) return undefined;
  const inExif = (tags: readonly number[]): readonly Buffer[] =>
    found.exif.flatMap((data) => valuesOf(data, tags));
  const iptc = [...found.iptc, ...inExif([IPTC, RESOURCES])].map((data) => iptcIn(data, budget));
  const [records] = iptc.flatMap((data) => (data === undefined ? [] : [iptcTexts(data, budget)]));
  const [packet] = [...found.xmp, ...inExif([XMP])];
  // The XML parser is loaded with the first such picture, so that the service starts faster.
  const xmp = packet === undefined ? {} : (await import('./xmp-texts.ts')).xmpTexts(packet);
  const [description, make] = [DESCRIPTION, MAKE].map((tag) => inExif([tag])[0]);
  const plain = (text: string | undefined): string | undefined => bounded(text, MOST_TEXT);
  const first = (key: string): string | undefined => records?.get(key)?.[0];
  const about: About = {
    alt: plain(xmp.alt),
    title: wholeOf(plain(first('2:5')), plain(xmp.title), 64),
    caption:
      wholeOf(captionOf(first('2:120')), captionOf(xmp.caption), 2000) ?? cameraCaption(description, make),
    credit: wholeOf(plain(first('2:110')), plain(xmp.credit), 32),
    tags: boundedTags(records?.get('2:25')) ?? boundedTags(xmp.tags),
  };
  return isNothing(about) ? undefined : about;
};

const SIGNATURE_BYTES = 16;
/** Maximum bytes before the pixels of a JPEG file; cameras and programs write less than a megabyte. */
const MOST_HEAD_BYTES = 8 * 1024 * 1024;

/**
 * Reads the descriptive texts in a picture. Of a JPEG file only the bytes before its pixels are read, of PNG,
 * WebP, GIF, TIFF, AVIF and HEIC all of them; undefined for other formats and unreadable files. `open` is
 * called twice.
 * @throws the signal's reason
 */
export const readTexts = async (
  hold: <Result>(
    kind: 'edits',
    bytes: number | undefined,
    work: () => Promise<Result>,
    signal: AbortSignal,
  ) => Promise<Result>,
  picture: PictureFile,
  signal: AbortSignal,
): Promise<About | undefined> => {
  try {
    const format = sniffPicture(await beginningOf(await picture.open(), SIGNATURE_BYTES));
    if (format === undefined) return undefined;
    const isHead = format === 'jpeg';
    const read = async (): Promise<About | undefined> => {
      const stream = await picture.open();
      const file = isHead
        ? await beginningOf(stream, MOST_HEAD_BYTES, (beginning) => headOfJpeg(beginning).isWhole)
        : await collect(stream, MAX_PICTURE_BYTES, signal);
      return textsOf(file, format, pictureBudget(file));
    };
    const bytes = isHead ? Math.min(picture.size ?? MOST_HEAD_BYTES, MOST_HEAD_BYTES) : picture.size;
    return await hold('edits', bytes, read, signal);
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
};
