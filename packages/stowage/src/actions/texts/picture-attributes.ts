import { hasShapeOf, type PictureSize, sizeWithin } from '../../pictures/engine.ts';
import { variantSizesOf } from '../../pictures/kept/sizes.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Item } from '../../view/folder-view.ts';
import { below } from '../../view/links.ts';
import type { ActionServices } from '../action.ts';
import type { Tag } from './link-attributes.ts';
import { linkLike, mayName, opensForAll, type OwnLink, type OwnLinks } from './own-links.ts';

/** Further changes that renewing a text makes, besides new signatures. */
export interface PictureOptions {
  /** Lifetime of signed links, in seconds (default: `signedUrlLifetime` of the source). */
  readonly lifetime?: number | undefined;
  /** Adds missing `width`, `height` and `loading="lazy"` to own pictures, except of `protected` sources. */
  readonly sizes?: boolean | undefined;
  /** Adds a `srcset` of these `imagePresets` to own pictures without one, if they keep the aspect ratio. */
  readonly srcset?: readonly string[] | undefined;
}

export interface PictureServices extends Pick<ActionServices, 'thumbnails' | 'links' | 'pictureSizes'> {
  readonly signal: AbortSignal;
}

interface TextPicture {
  readonly own: OwnLinks;
  readonly link: OwnLink;
  readonly tag: Tag;
}

type Attributes = Readonly<Record<string, string>>;

const PIXELS = /^\s*(\d+)(?:px)?\s*$/iu;
const SIZED_BY_STYLE = /(?:^|[;\s])(?:width|height|aspect-ratio)\s*:/iu;

/**
 * Missing width and height. If one is given, the other is computed from the aspect ratio; a picture with a
 * size in its style, or in per cent, gets neither.
 */
const sizeAttributes = ({ attributes }: Tag, { width, height }: PictureSize): Attributes => {
  if (SIZED_BY_STYLE.test(attributes.get('style')?.value ?? '')) return {};
  const [givenWidth, givenHeight] = [attributes.get('width')?.value, attributes.get('height')?.value];
  const scaled = (given: string, own: number, other: number): string | undefined => {
    const pixels = Number(PIXELS.exec(given)?.[1]);
    return pixels > 0 ? String(Math.max(1, Math.round((pixels * other) / own))) : undefined;
  };
  if (givenWidth === undefined && givenHeight === undefined)
    return { width: String(width), height: String(height) };
  if (givenWidth !== undefined && givenHeight !== undefined) return {};
  const missing =
    givenWidth === undefined
      ? { width: scaled(givenHeight ?? '', height, width) }
      : { height: scaled(givenWidth, width, height) };
  return Object.fromEntries(
    Object.entries(missing).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
};

const shownSize = ({ kind, preset = '' }: OwnLink, item: Item, size: PictureSize) => {
  const { imagePresets, thumbSize } = item.source.settings;
  if (kind === 'file') return size;
  if (kind === 'thumbnail') return sizeWithin({ width: thumbSize, height: thumbSize, fit: 'inside' }, size);
  return variantSizesOf(imagePresets, { [preset]: '' }, size)?.[preset];
};

/** A blank would end an address of a `srcset`, and a trailing comma too. */
const inSrcset = (url: string): string => url.replaceAll(/[\s,]/gu, encodeURIComponent);

interface SizedItem {
  readonly item: Item;
  readonly size: PictureSize;
}

/** Links to smaller variants with the aspect ratio of the picture, and to the picture itself, by width. */
const linksByWidth = async (
  { thumbnails, links, signal }: PictureServices,
  link: OwnLink,
  { item, size }: SizedItem,
  { srcset: wanted = [], lifetime }: PictureOptions,
): Promise<ReadonlyMap<number, string>> => {
  const { source, folder, path, stat } = item;
  const { imagePresets: presets } = source.settings;
  const byWidth = new Map<number, string>();
  if (!wanted.some((preset) => Object.hasOwn(presets, preset))) return byWidth;
  const urlOf = (target: SourcePath): string => {
    const query = links.queryFor(source, target, lifetime);
    return inSrcset(linkLike(link, source, target) + (query === '' ? '' : `?${query}`));
  };
  const [variants = {}] = await thumbnails.variants(source, folder, [stat], signal);
  for (const [preset, shown] of Object.entries(variantSizesOf(presets, variants, size) ?? {})) {
    const keepsShape = presets[preset]?.fit === 'inside' || hasShapeOf(shown, size);
    const relative = variants[preset];
    if (relative !== undefined && wanted.includes(preset) && keepsShape && shown.width < size.width)
      byWidth.set(shown.width, urlOf(below(folder, relative)));
  }
  return byWidth.size === 0 ? byWidth : byWidth.set(size.width, urlOf(path));
};

const srcsetAttributes = async (
  services: PictureServices,
  { link, tag }: TextPicture,
  sized: SizedItem,
  options: PictureOptions,
): Promise<Attributes> => {
  const { attributes } = tag;
  if (link.kind !== 'file' || attributes.has('srcset')) return {};
  const byWidth = await linksByWidth(services, link, sized, options);
  if (byWidth.size === 0) return {};
  const ordered = [...byWidth].sort(([one], [other]) => one - other);
  // A picture with only a height gets the width of its aspect ratio.
  const width = attributes.get('width')?.value ?? sizeAttributes(tag, sized.size)['width'];
  const given = Number(PIXELS.exec(width ?? '')?.[1]);
  const shown = String(given > 0 ? given : sized.size.width);
  return {
    srcset: ordered.map(([width, url]) => `${url} ${String(width)}w`).join(', '),
    ...(attributes.has('sizes') ? {} : { sizes: `(max-width: ${shown}px) 100vw, ${shown}px` }),
  };
};

/** The requested attributes that a picture of a text lacks. */
export const pictureAttributes = async (
  services: PictureServices,
  picture: TextPicture,
  options: PictureOptions,
): Promise<Attributes> => {
  const { own, link, tag } = picture;
  if ((options.sizes !== true && options.srcset === undefined) || !opensForAll(link)) return {};
  const target = await own.target(link);
  if (target?.item.kind !== 'file' || (target.isMoved && !mayName(link, target.item))) return {};
  const { item } = target;
  const [size] = await services.pictureSizes.of(item.source, item.folder, [item.stat], services.signal);
  const shown = size && shownSize(link, item, size);
  const lazy = tag.attributes.has('loading') ? {} : { loading: 'lazy' };
  return {
    ...(options.sizes !== true ? {} : { ...(shown && sizeAttributes(tag, shown)), ...lazy }),
    ...(size && (await own.asked(() => srcsetAttributes(services, picture, { item, size }, options)))),
  };
};
