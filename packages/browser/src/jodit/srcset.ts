import { type Calls, isRecord } from './calls.ts';
import type { Location } from './trash.ts';

interface Variant {
  readonly url: string;
  readonly width: number;
  readonly height: number;
}

/** A picture and its variants, as a listing has them. */
interface Listed {
  readonly width: number;
  readonly height: number;
  readonly variants: Readonly<Record<string, Variant>>;
}

const isSize = (value: unknown): value is { readonly width: number; readonly height: number } =>
  isRecord(value) && typeof value['width'] === 'number' && typeof value['height'] === 'number';

const partsOf = (path: string): readonly string[] => path.split('/').filter((part) => part !== '');

/** A blank ends a URL of a srcset, a comma may. */
const inSrcset = (url: string): string => url.replaceAll(/[\s,]/gu, encodeURIComponent);

/**
 * What an answer to `files` says of a picture; undefined where its links would expire, or nothing is said.
 */
const listedIn = (data: Readonly<Record<string, unknown>>, name: string): Listed | undefined => {
  const [source] = Array.isArray(data['sources']) ? (data['sources'] as readonly unknown[]) : [];
  if (!isRecord(source) || !Array.isArray(source['files'])) return undefined;
  const { baseurl = '', path = '' } = source as { readonly baseurl?: string; readonly path?: string };
  const item = source['files'].filter(isRecord).find((file) => file['name'] === name);
  if (item === undefined) return undefined;
  const { variants: links, variantSizes: sizes, fileIsAbsolute } = item;
  if (fileIsAbsolute === true || !isSize(item) || !isRecord(links) || !isRecord(sizes)) return undefined;
  const folder = [baseurl.replace(/\/+$/u, ''), ...partsOf(path).map(encodeURIComponent)].join('/');
  const variants = Object.entries(links).flatMap(([preset, link]): [string, Variant][] => {
    const size = sizes[preset];
    if (typeof link !== 'string' || !isSize(size)) return [];
    return [[preset, { url: inSrcset(`${folder}/${link}`), width: size.width, height: size.height }]];
  });
  return { width: item.width, height: item.height, variants: Object.fromEntries(variants) };
};

/** Whether a variant shows the whole picture in its own shape, but for what rounding takes. */
const keepsShape = ({ width, height }: Variant, picture: Listed): boolean =>
  Math.abs(width * picture.height - height * picture.width) <= Math.max(picture.width, picture.height);

/**
 * The `srcset` of a picture: its variants of the wanted presets, each with the width that it really has.
 * Undefined where none is smaller than the picture. Links that expire are not written into documents.
 * @throws Error when the connector cannot be asked
 */
export const srcsetOf = async (
  calls: Calls,
  { source, path, name }: Location,
  wanted: true | readonly string[],
): Promise<{ readonly srcset: string; readonly width: number } | undefined> => {
  const data = await calls.ask({
    action: 'files',
    source,
    path,
    'mods[details]': '1',
    'mods[variants]': '1',
    'mods[onlyImages]': '1',
    'mods[filterWord]': name,
    'mods[limit]': '1000',
  });
  const picture = listedIn(data, name);
  if (picture === undefined) return undefined;
  const fitting = Object.entries(picture.variants)
    .filter(([preset]) => wanted === true || wanted.includes(preset))
    .map(([, variant]) => variant)
    .filter((variant) => variant.width <= picture.width && keepsShape(variant, picture));
  const byWidth = new Map(fitting.map((variant) => [variant.width, variant]));
  const variants = [...byWidth.values()].sort((one, other) => one.width - other.width);
  if ((variants[0]?.width ?? picture.width) >= picture.width) return undefined;
  const srcset = variants.map(({ url, width }) => `${url} ${String(width)}w`).join(', ');
  return { srcset, width: picture.width };
};

/** How wide a picture is shown: its width, on narrow pages the page's. */
export const sizesFor = (image: HTMLImageElement, natural: number): string => {
  const wanted = image.getAttribute('width') ?? '';
  if (wanted.endsWith('%')) return `${String(Number.parseFloat(wanted))}vw`;
  const width = `${String(Math.round(Number.parseFloat(wanted)) || natural)}px`;
  return `(max-width: ${width}) 100vw, ${width}`;
};
