import * as z from 'zod';
import { extensionOf, mediaTypeOf } from '../../basics/content/file-type.ts';
import { humanSize } from '../../basics/content/message-values.ts';
import type { ThumbnailPaths, Variants } from '../../pictures/kept/thumbnails.ts';
import { type About, aboutSchema } from '../../storage/about/about.ts';
import type { Entry, Entries } from '../../storage/entry.ts';
import type { FolderView, Item } from '../../view/folder-view.ts';
import type { Links } from '../../view/links.ts';
import type { PictureSizes } from '../../pictures/kept/sizes.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Source } from '../../sources/source.ts';

type Part = (date: Date) => string;

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const WEEKDAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

const two = (value: number): string => (value < 10 ? `0${String(value)}` : String(value));

const fourDigitYear = (date: Date): string => {
  const year = date.getFullYear();
  const digits = String(Math.abs(year)).padStart(4, '0');
  return year < 0 ? `-${digits}` : digits;
};

/** Hour of a twelve-hour clock: 12, 1, 2 … 11. */
const clockHour = (date: Date): number => date.getHours() % 12 || 12;

const monthName = (date: Date): string => MONTHS[date.getMonth()] ?? '';
const weekdayName = (date: Date): string => WEEKDAYS[date.getDay()] ?? '';
const halfOfDay = (date: Date): string => (date.getHours() < 12 ? 'AM' : 'PM');

const offset = (date: Date, separator: string): string => {
  const minutesWest = date.getTimezoneOffset();
  const minutes = Math.trunc(Math.abs(minutesWest));
  return `${minutesWest > 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}${separator}${two(minutes % 60)}`;
};

const tokens: Readonly<Record<string, Part>> = {
  YYYY: fourDigitYear,
  YY: (date) => fourDigitYear(date).slice(-2),
  MMMM: monthName,
  MMM: (date) => monthName(date).slice(0, 3),
  MM: (date) => two(date.getMonth() + 1),
  M: (date) => String(date.getMonth() + 1),
  DD: (date) => two(date.getDate()),
  D: (date) => String(date.getDate()),
  dddd: weekdayName,
  ddd: (date) => weekdayName(date).slice(0, 3),
  dd: (date) => weekdayName(date).slice(0, 2),
  d: (date) => String(date.getDay()),
  HH: (date) => two(date.getHours()),
  H: (date) => String(date.getHours()),
  hh: (date) => two(clockHour(date)),
  h: (date) => String(clockHour(date)),
  mm: (date) => two(date.getMinutes()),
  m: (date) => String(date.getMinutes()),
  ss: (date) => two(date.getSeconds()),
  s: (date) => String(date.getSeconds()),
  SSS: (date) => String(date.getMilliseconds()).padStart(3, '0'),
  A: halfOfDay,
  a: (date) => halfOfDay(date).toLowerCase(),
  ZZ: (date) => offset(date, ''),
  Z: (date) => offset(date, ':'),
};

const PIECE = /\[([^\]]+)\]|YYYY|YY|M{1,4}|DD?|d{1,4}|HH?|hh?|mm?|ss?|SSS|A|a|ZZ?|[^]/gu;

const compile = (format: string): readonly Part[] => {
  const parts: Part[] = [];
  let literal = '';
  const endLiteral = (): void => {
    const text = literal;
    if (text !== '') parts.push(() => text);
    literal = '';
  };
  for (const [piece, escaped] of format.matchAll(PIECE)) {
    const token = escaped === undefined ? tokens[piece] : undefined;
    if (token === undefined) {
      literal += escaped ?? piece;
      continue;
    }
    endLiteral();
    parts.push(token);
  }
  endLiteral();
  return parts;
};

/**
 * Compiles a date format into a function from milliseconds since 1970 to text: YYYY YY M MM MMM MMMM D DD d
 * dd ddd dddd H HH h hh m mm s ss SSS A a Z ZZ; text in square brackets and everything else is copied. Names
 * are English, times are in the server's time zone at that moment. A formatted date costs about 0.3 µs. The
 * function returns undefined for a time outside the range of dates.
 */
export const compileDateFormat = (format: string): ((milliseconds: number) => string | undefined) => {
  const parts = compile(format);
  return (milliseconds) => {
    // Engines cache the local fields of a Date: reading seven of them costs little more than one.
    const date = new Date(milliseconds);
    if (Number.isNaN(date.getTime())) return undefined;
    let text = '';
    for (const part of parts) text += part(date);
    return text;
  };
};

/** In signed sources links are complete URLs, because each has its own signature. */
const absoluteShape = {
  fileIsAbsolute: z.boolean().optional().describe('True: `file` is a complete link.'),
  thumbIsAbsolute: z.boolean().optional().describe('True: `thumb` is a complete link.'),
};

/** Fields that `mods[details]` adds to an item, each where the store reports it. */
const detailsShape = {
  bytes: z.int().optional().describe('With `mods[details]`.'),
  modified: z.string().optional().describe('With `mods[details]`: ISO 8601, in UTC.'),
  mime: z.string().optional().describe('With `mods[details]`: media type by the extension.'),
  etag: z.string().optional().describe('With `mods[details]`.'),
  width: z.int().optional().describe('With `mods[details]`: of an image, after EXIF orientation.'),
  height: z.int().optional().describe('With `mods[details]`: of an image, after EXIF orientation.'),
};

export type Details = z.output<z.ZodObject<typeof detailsShape>>;

const NONE: Details = {};

const folderItemSchema = z.object({
  file: z.string(),
  name: z.string(),
  type: z.literal('folder'),
  thumb: z.string().optional(),
  thumbIsAbsolute: absoluteShape.thumbIsAbsolute,
  modified: detailsShape.modified,
});

const fileItemSchema = z.object({
  file: z.string().describe('Name relative to baseurl + path.'),
  name: z.string(),
  type: z.enum(['image', 'file']),
  isImage: z.boolean(),
  size: z.string().optional().describe('Readable size: `117.74MB`. Absent if the store does not report it.'),
  changed: z
    .string()
    .optional()
    .describe('In the format of the setting datetimeFormat. Absent if the store does not report it.'),
  thumb: z
    .string()
    .optional()
    .describe('Relative to baseurl + path. Absent if the limit of new thumbnails is used up.'),
  variants: z
    .record(z.string(), z.string())
    .optional()
    .describe(
      'With `mods[variants]`: the variants by preset, in the form of `thumb`. Variants that do not exist ' +
        'yet are omitted.',
    ),
  about: aboutSchema.optional(),
  variantSizes: z
    .record(z.string(), z.object({ width: z.int(), height: z.int() }))
    .optional()
    .describe('With `mods[variants]` and `mods[details]`: the size of each variant in pixels.'),
  ...absoluteShape,
  ...detailsShape,
});

export const listingItemSchema = z.union([folderItemSchema, fileItemSchema]);

export const listingItemSchemaWith = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.union([folderItemSchema.extend(shape), fileItemSchema.extend(shape)]);

export type ListingItem = z.output<typeof listingItemSchema>;

type VariantSizes = Readonly<Record<string, { readonly width: number; readonly height: number }>>;

interface ItemOptions {
  readonly links: Links;
  readonly details?: ((entry: Entry, index: number) => Details) | undefined;
  /** Indexed like the entries, as `variants` and `variantSizes`. */
  readonly abouts?: readonly (About | undefined)[] | undefined;
  readonly variants?: readonly (Variants | undefined)[] | undefined;
  readonly variantSizes?: readonly (VariantSizes | undefined)[] | undefined;
}

/**
 * The items of a page, created while they are iterated: a page of 100,000 needs no second copy in memory and
 * does not block the event loop. May be iterated several times.
 */
export const listingItems = (
  folder: FolderView,
  entries: Iterable<Entry>,
  thumbs: ThumbnailPaths,
  { links, details, abouts, variants, variantSizes }: ItemOptions,
): Iterable<ListingItem> => {
  const { serve, ...settings } = folder.source.settings;
  const images = new Set(settings.imageExtensions);
  const format = compileDateFormat(settings.datetimeFormat);

  const isWhole = serve === 'signed' ? true : undefined;

  // One literal for all items, undefined members included (JSON omits them): creating and serializing objects
  // of one shape is twice as fast as of many.
  const fileItem = (item: Item<Entry>, index: number): ListingItem => {
    const { name, size, modifiedAt } = item.stat;
    const link = links.listed(item);
    const thumb = links.thumb(item, thumbs(item.stat, index));
    const more = details?.(item.stat, index) ?? NONE;
    const paths = variants?.[index] && links.variants(item, variants[index]);
    const isImage = images.has(extensionOf(name) ?? '');
    return {
      file: link ?? name,
      name,
      type: isImage ? 'image' : 'file',
      isImage,
      size: size === undefined ? undefined : humanSize(size),
      changed: modifiedAt === undefined ? undefined : format(modifiedAt),
      thumb,
      fileIsAbsolute: link === undefined ? undefined : isWhole,
      thumbIsAbsolute: thumb === undefined ? undefined : isWhole,
      bytes: more.bytes,
      modified: more.modified,
      mime: more.mime,
      etag: more.etag,
      width: more.width,
      height: more.height,
      about: abouts?.[index],
      variants: paths,
      variantSizes: paths && variantSizes?.[index],
    };
  };

  const folderItem = (item: Item<Entry>, index: number): ListingItem => {
    const thumb = links.thumb(item, thumbs(item.stat, index));
    const { name } = item.stat;
    return {
      file: name,
      name,
      type: 'folder',
      thumb,
      thumbIsAbsolute: thumb === undefined ? undefined : isWhole,
      modified: details?.(item.stat, index).modified,
    };
  };

  return {
    *[Symbol.iterator]() {
      let index = 0;
      for (const entry of entries) {
        yield (entry.kind === 'folder' ? folderItem : fileItem)(folder.item(entry), index);
        index += 1;
      }
    },
  };
};

/** ISO 8601 in UTC; undefined for a time outside the range of dates. */
const isoTime = (milliseconds: number | undefined): string | undefined => {
  const date = new Date(milliseconds ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
};

/** Details of entries. Reads the headers of pictures and no other content. */
export const detailsOf = async (
  sizes: PictureSizes,
  source: Source,
  folder: SourcePath,
  entries: Entries,
  signal: AbortSignal,
) => {
  const seen = await sizes.of(source, folder, entries, signal);
  return {
    /** The sizes of pictures, in the order of the entries. */
    seen,
    /** Details of an entry by its index, created on demand. */
    of: ({ name, kind, size, modifiedAt, etag }: Entry, index: number): Details =>
      kind === 'folder'
        ? { modified: isoTime(modifiedAt) }
        : {
            bytes: size,
            modified: isoTime(modifiedAt),
            mime: mediaTypeOf(name),
            etag,
            width: seen[index]?.width,
            height: seen[index]?.height,
          },
  };
};
