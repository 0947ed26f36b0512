import { createHash } from 'node:crypto';
import { extensionOf } from '../../basics/content/extension.ts';
import type { Settings } from '../../config/settings.ts';
import type { ThumbnailFormat } from '../engine.ts';

/** Formats that a thumbnail keeps, by the extension of the image; all others become JPEG. */
const KEPT: Readonly<Record<string, ThumbnailFormat>> = {
  jpg: 'jpeg',
  jpeg: 'jpeg',
  png: 'png',
  gif: 'gif',
  webp: 'webp',
};

/** Room for `.jpg` and for what stores put around a temporary name, inside the 255 bytes of a name. */
const MAX_PLAIN_LENGTH = 200;
const MAX_STEM_LENGTH = 80;

/** ASCII without what the client, which joins names into URLs and HTML as they are, would stumble over. */
const PLAIN = /^[ !$&'()*+,\-.0-9:;=@A-Z[\]^_`a-z{|}~]+$/u;
/** How hashed names end: names that look like one are hashed too, so that no two images share a thumbnail. */
const HASHED = /~[0-9a-f]{10}\.[0-9a-z]+$/iu;

/** Ten hexadecimal digits that stand for a text. */
export const shortHash = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 10);

/** Letters, digits and a few signs of ASCII that resemble the text; for names that people may read. */
export const asciiForm = (text: string): string => {
  const form = text
    .normalize('NFKD')
    .replaceAll(/\p{Mark}+/gu, '')
    .replaceAll(/[^0-9A-Za-z._-]+/gu, '-')
    .replaceAll(/^[-.]+|[-.]+$/gu, '')
    .slice(0, MAX_STEM_LENGTH);
  return form === '' ? 'item' : form;
};

const isPlain = (name: string): boolean =>
  name.length <= MAX_PLAIN_LENGTH && PLAIN.test(name) && !HASHED.test(name);

/** Whether the name is that of the thumbnail of another image: `a.bmp.jpg` is what `a.bmp` gets. */
const takesAnothersName = (stem: string, suffix: string, imageExtensions: readonly string[]): boolean => {
  const other = extensionOf(stem);
  if (other === undefined || suffix.toLowerCase() !== '.jpg') return false;
  return KEPT[other] === undefined && other !== 'svg' && imageExtensions.includes(other);
};

/** Whether a source keeps a folder of thumbnails and variants. */
export const hasThumbnailFolder = ({
  createThumb,
  imagePresets,
}: Pick<Settings, 'createThumb' | 'imagePresets'>): boolean =>
  createThumb || Object.keys(imagePresets).length > 0;

/** The name and format of an image's thumbnail. */
export interface ThumbnailName {
  readonly name: string;
  readonly format: ThumbnailFormat;
}

/**
 * Where the thumbnail of an image lies in the thumbnail folder: JPEG, PNG, GIF and WebP keep their name
 * (`cat.jpg`), others get `.jpg` after it (`a.bmp.jpg`). Names outside ASCII, very long ones and those that
 * would meet another image's thumbnail (a JPEG that is itself called `a.bmp.jpg`) become an ASCII form with a
 * hash. Depends on nothing but the name, so every listing finds it again.
 */
export const thumbnailNameOf = (name: string, imageExtensions: readonly string[]): ThumbnailName => {
  const extension = extensionOf(name) ?? '';
  const format = KEPT[extension];
  // False when dots or blanks follow the extension.
  const ends = name.toLowerCase().endsWith(`.${extension}`);
  const stem = format !== undefined && ends ? name.slice(0, -extension.length - 1) : name;
  const suffix = format === undefined ? '.jpg' : ends ? name.slice(stem.length) : `.${extension}`;
  const taken = format !== undefined && takesAnothersName(stem, suffix, imageExtensions);
  const plain = ends && isPlain(stem + suffix) && !taken;
  return {
    name: plain ? stem + suffix : `${asciiForm(stem)}~${shortHash(name)}${suffix.toLowerCase()}`,
    format: format ?? 'jpeg',
  };
};

/**
 * Where the picture lies that a program has drawn of a file. No thumbnail of an image has such a name, also
 * of an image that is called so.
 */
export const previewNameOf = (name: string): ThumbnailName => ({
  name: `${asciiForm(name)}~${shortHash(name)}.jpg`,
  format: 'jpeg',
});

const EXTENSIONS: Readonly<Record<ThumbnailFormat, string>> = {
  jpeg: 'jpg',
  png: 'png',
  gif: 'gif',
  webp: 'webp',
  avif: 'avif',
};

/**
 * Where the variant of an image lies in the folder of its preset: as a thumbnail when it has no format of its
 * own, else `cat.jpg.webp`. Depends on the names alone.
 */
export const variantNameOf = (
  name: string,
  format: ThumbnailFormat | undefined,
  imageExtensions: readonly string[],
): ThumbnailName => {
  if (format === undefined) return thumbnailNameOf(name, imageExtensions);
  const extension = EXTENSIONS[format];
  const plain = `${name}.${extension}`;
  return { name: isPlain(plain) ? plain : `${asciiForm(name)}~${shortHash(name)}.${extension}`, format };
};
