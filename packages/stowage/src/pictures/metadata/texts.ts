import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import {
  type About,
  isNothing,
  MOST_TAG,
  MOST_TAGS,
  MOST_TEXT,
  plainText,
} from '../../storage/about/about.ts';
import type { PictureFormat } from '../picture-format.ts';
import { iptcIn, KEYWORD } from './exif.ts';
import { webpData } from './gif-webp.ts';
import { decodedText, type FoundData, iptcTexts } from './iptc.ts';
import { jpegData } from './jpeg-metadata.ts';
import { pngData } from './png.ts';
import { openTiff, readDirectory } from './tiff.ts';

const [DESCRIPTION, XMP, IPTC, RESOURCES] = [0x010e, 0x02bc, 0x83bb, 0x8649];

/** The values of some tags in the first directory of EXIF data, or of a TIFF file. */
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
  return format === 'tiff' ? { exif: [file], xmp: [], iptc: [] } : undefined;
};

/** A text within the bounds, without what says where a picture was taken; undefined where nothing is left. */
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

const boundedTags = (tags: readonly string[] | undefined): string[] | undefined => {
  const short = (tags ?? []).slice(0, 20 * MOST_TAGS).flatMap((tag) => bounded(tag, MOST_TAG) ?? []);
  return short.length === 0 ? undefined : [...new Set(short)].slice(0, MOST_TAGS);
};

/**
 * What a picture says about itself, field by field: by its IPTC data, else by XMP, else by EXIF, and nothing of where
 * it was taken. A JPEG file may end before its first scan. Undefined where it says nothing.
 * @throws what the budget throws
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
  // The parser of XML is loaded with the first such picture: a service starts without it.
  const xmp = packet === undefined ? {} : (await import('./xmp-texts.ts')).xmpTexts(packet);
  const [description] = inExif([DESCRIPTION]);
  const first = (key: string): string | undefined => bounded(records?.get(key)?.[0], MOST_TEXT);
  const about: About = {
    alt: bounded(xmp.alt, MOST_TEXT),
    title: first('2:5') ?? bounded(xmp.title, MOST_TEXT),
    caption:
      first('2:120') ??
      bounded(xmp.caption, MOST_TEXT) ??
      bounded(description && decodedText(description).split('\0')[0], MOST_TEXT),
    credit: first('2:110') ?? bounded(xmp.credit, MOST_TEXT),
    tags: boundedTags(records?.get('2:25')) ?? boundedTags(xmp.tags),
  };
  return isNothing(about) ? undefined : about;
};
