import type { PictureSize } from '../engine.ts';
import { createStrictParser, SVG_NAMESPACE, textOf, xmlBudget } from './strict-xml.ts';

const PIXELS: Readonly<Record<string, number>> = {
  '': 1,
  px: 1,
  pt: 4 / 3,
  pc: 16,
  in: 96,
  cm: 96 / 2.54,
  mm: 96 / 25.4,
  q: 96 / 101.6,
};

/** Characters that are parsed between checks whether the root has been reached. */
const PORTION = 4096;

type Attributes = Readonly<Record<string, { readonly value: string }>>;

/** Pixels; undefined for lengths that depend on the page (`100%`, `10em`), and for invalid ones. */
const lengthOf = (text = ''): number | undefined => {
  const [, number = '', unit = ''] = /^\s*\+?([\d.]+(?:e[+-]?\d+)?)([a-z]*)\s*$/iu.exec(text) ?? [];
  const pixels = Number.parseFloat(number) * (PIXELS[unit.toLowerCase()] ?? Number.NaN);
  return pixels > 0 && pixels < Number.MAX_SAFE_INTEGER ? pixels : undefined;
};

const boxOf = (text = ''): PictureSize | undefined => {
  const [, , width = 0, height = 0] = text
    .trim()
    .split(/[\s,]+/u, 5)
    .map(Number);
  return width > 0 && height > 0 ? { width, height } : undefined;
};

const sizeOf = (attributes: Attributes): PictureSize | undefined => {
  const width = lengthOf(attributes['width']?.value);
  const height = lengthOf(attributes['height']?.value);
  if (width !== undefined && height !== undefined) return { width, height };
  const box = boxOf(attributes['viewBox']?.value);
  if (box === undefined) return undefined;
  if (width !== undefined) return { width, height: (width * box.height) / box.width };
  return height === undefined ? undefined : { width: (height * box.width) / box.height, height };
};

/** The attributes of the drawing's root; undefined when the text does not begin with one. */
const rootOf = (text: string): Attributes | undefined => {
  let root: Attributes | undefined;
  let isRoot = true;
  const parser = createStrictParser(xmlBudget({ items: 1, bytes: text.length }));
  parser.on('opentag', ({ uri, local, attributes }) => {
    if (isRoot && uri === SVG_NAMESPACE && local === 'svg') root = attributes;
    isRoot = false;
  });
  try {
    for (let at = 0; at < text.length && isRoot; at += PORTION) parser.write(text.slice(at, at + PORTION));
  } catch {
    // Text after the root in the same portion is ignored.
  }
  return root;
};

/**
 * The size of a drawing in whole pixels: by `width` and `height` of its root, where one may follow from the
 * aspect ratio of its `viewBox`. Undefined when the beginning of the file does not contain it, or the page
 * decides. Never throws.
 */
export const svgSize = (beginning: Buffer): PictureSize | undefined => {
  const text = textOf(beginning);
  const root = text === undefined ? undefined : rootOf(text);
  const size = root === undefined ? undefined : sizeOf(root);
  if (size === undefined) return undefined;
  return { width: Math.max(1, Math.round(size.width)), height: Math.max(1, Math.round(size.height)) };
};
