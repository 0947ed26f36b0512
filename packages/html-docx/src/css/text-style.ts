import { parseColor } from './color.ts';
import { parseLength, pointsOf, ROOT_SIZE } from './length.ts';
import type { Style, TextAlign } from './style.ts';
import { valueIn } from '../value-in.ts';

type Values = ReadonlyMap<string, string>;

const FONT_KEYWORDS: Readonly<Record<string, number>> = {
  'xx-small': 0.5625,
  'x-small': 0.625,
  small: 0.8125,
  medium: 1,
  large: 1.125,
  'x-large': 1.5,
  'xx-large': 2,
  'xxx-large': 3,
};
const ALIGNS: ReadonlySet<string> = new Set(['start', 'end', 'left', 'right', 'center', 'justify']);
const isAlign = (text: string): text is TextAlign => ALIGNS.has(text);

/** Computes the font size in points. */
export const fontSizeOf = (value: string | undefined, parent: number): number => {
  if (value === undefined) return parent;
  const text = value.toLowerCase();
  if (text === 'smaller') return parent / 1.2;
  if (text === 'larger') return parent * 1.2;
  const keyword = valueIn(FONT_KEYWORDS, text);
  const size = keyword === undefined ? pointsOf(parseLength(text, parent), parent) : keyword * ROOT_SIZE;
  // Word supports sizes up to 1638 points.
  return size === undefined || size <= 0 ? parent : Math.min(size, 1600);
};

const lineHeightOf = (
  value: string | undefined,
  size: number,
  parent: Style['lineHeight'],
): Style['lineHeight'] => {
  if (value === undefined) return parent;
  if (/^\d*\.?\d+$/u.test(value)) return { factor: Math.min(10, Number(value)) };
  const length = parseLength(value, size);
  if (length === undefined) return value === 'inherit' ? parent : undefined;
  return 'percent' in length ? { factor: length.percent / 100 } : { points: length.points };
};

const isBold = (value: string | undefined, parent: boolean): boolean => {
  if (value === undefined || value === 'inherit') return parent;
  return /^bold(?:er)?$/iu.test(value) || Number(value) >= 600;
};

const decorated = (values: Values, kind: RegExp, parent: boolean): boolean => {
  const value = values.get('text-decoration');
  // A decoration applies to all descendants; `none` removes only the element's own.
  return parent || (value !== undefined && kind.test(value));
};

/** A value of the element's own; `inherit` counts as none. */
const ownValue = (values: Values, property: string): string | undefined => {
  const value = values.get(property);
  return value === 'inherit' ? undefined : value;
};

/** Computes the character properties of an element. @param size its font size in points */
export const letterStyle = (values: Values, parent: Style, size: number) => {
  const color = ownValue(values, 'color');
  const spacing = ownValue(values, 'letter-spacing');
  const slant = ownValue(values, 'font-style') ?? (parent.italic ? 'italic' : 'normal');
  const variant = ownValue(values, 'font-variant') ?? (parent.smallCaps ? 'small-caps' : 'normal');
  const visibility = ownValue(values, 'visibility') ?? (parent.visible ? 'visible' : 'hidden');
  return {
    color: color === undefined ? parent.color : (parseColor(color) ?? parent.color),
    fontFamily: ownValue(values, 'font-family') ?? parent.fontFamily,
    bold: isBold(values.get('font-weight'), parent.bold),
    italic: /^(?:italic|oblique)/iu.test(slant),
    underline: decorated(values, /underline/iu, parent.underline),
    strike: decorated(values, /line-through/iu, parent.strike),
    smallCaps: variant.includes('small-caps'),
    transform: ownValue(values, 'text-transform')?.toLowerCase() ?? parent.transform,
    letterSpacing: spacing === undefined ? parent.letterSpacing : (pointsOf(parseLength(spacing, size)) ?? 0),
    visible: visibility.toLowerCase() === 'visible',
  };
};

/** `-webkit-center` and the like move tables too. */
const alignment = (value: string | undefined, parent: Style): Pick<Style, 'align' | 'movesTables'> => {
  const align = value?.toLowerCase().replace(/^-\w+-/u, '') ?? parent.align;
  const movesTables = value?.startsWith('-') ?? parent.movesTables;
  return { align: isAlign(align) ? align : parent.align, movesTables };
};

/** Computes the line properties of an element. @param size its font size in points */
export const lineStyle = (values: Values, parent: Style, size: number) => {
  const direction = ownValue(values, 'direction')?.toLowerCase() ?? '';
  const indent = ownValue(values, 'text-indent');
  return {
    lineHeight: lineHeightOf(ownValue(values, 'line-height'), size, parent.lineHeight),
    ...alignment(ownValue(values, 'text-align'), parent),
    rtl: direction === 'rtl' || (direction !== 'ltr' && parent.rtl),
    whiteSpace: ownValue(values, 'white-space')?.toLowerCase() ?? parent.whiteSpace,
    listType: ownValue(values, 'list-style-type')?.toLowerCase() ?? parent.listType,
    textIndent: indent === undefined ? parent.textIndent : (pointsOf(parseLength(indent, size)) ?? 0),
  };
};
