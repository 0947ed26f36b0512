import { valueIn } from '../value-in.ts';
import { parseColor } from './color.ts';

/** One `property: value`, the property in lower case. */
export interface Declaration {
  readonly property: string;
  readonly value: string;
  readonly important: boolean;
}

const SIDES = ['top', 'right', 'bottom', 'left'] as const;

/** Splits at a separator outside of quotes and brackets. */
export const splitOutside = (text: string, separator: RegExp): readonly string[] => {
  const parts: string[] = [];
  let depth = 0;
  let quote = '';
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '\\') at += 1;
    else if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (char === '(') depth += 1;
    else if (char === ')') depth = Math.max(0, depth - 1);
    else if (depth === 0 && separator.test(char)) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(text.slice(from));
  return parts;
};

const words = (value: string): readonly string[] => splitOutside(value, /\s/u).filter((word) => word !== '');

type Pair = readonly [property: string, value: string];

/** Expands `1px 2px` to four sides. */
const fourSides = (value: string, name: (side: string) => string): readonly Pair[] => {
  const [top = '', right = top, bottom = top, left = right] = words(value);
  const values = [top, right, bottom, left];
  return SIDES.map((side, index) => [name(side), values[index] ?? ''] as const);
};

const BORDER_STYLE = /^(?:none|hidden|solid|dotted|dashed|double|groove|ridge|inset|outset)$/iu;
const BORDER_WIDTH = /^(?:thin|medium|thick|[\d.]+[a-z]*)$/iu;

const borderOf = (value: string, side: string): readonly Pair[] => {
  let [style, width, color] = ['none', 'medium', 'currentcolor'];
  for (const word of words(value)) {
    if (BORDER_STYLE.test(word)) style = word;
    else if (BORDER_WIDTH.test(word)) width = word;
    else color = word;
  }
  return [
    [`border-${side}-style`, style],
    [`border-${side}-width`, width],
    [`border-${side}-color`, color],
  ];
};

const FONT_SIZE = /^(?:[\d.]+(?:[a-z]+|%)|(?:x{0,2}-)?(?:small|large)|medium|smaller|larger)(?:\/\S+)?$/iu;

/** Expands `italic bold 12px/1.5 Arial, serif`: the family is everything after the size. */
const fontOf = (value: string): readonly Pair[] => {
  // `12px / 1.5` is one word.
  const joined = value.split('/').map((part) => part.trim());
  const parts = words(joined.join('/'));
  const at = parts.findIndex((word) => FONT_SIZE.test(word));
  if (at === -1 || at + 1 >= parts.length) return [];
  const [size = '', lineHeight = 'normal'] = parts[at]?.split('/', 2) ?? [];
  const before = parts.slice(0, at);
  const said = (keyword: RegExp): string => before.find((word) => keyword.test(word)) ?? 'normal';
  return [
    ['font-style', said(/^(?:italic|oblique)$/iu) === 'normal' ? 'normal' : 'italic'],
    ['font-variant', said(/^small-caps$/iu) === 'normal' ? 'normal' : 'small-caps'],
    ['font-weight', said(/^(?:bold|bolder|lighter|[1-9]00)$/iu)],
    ['font-size', size],
    ['line-height', lineHeight],
    ['font-family', parts.slice(at + 1).join(' ')],
  ];
};

/** The first colour of a gradient. Without a background, light text on it would be invisible. */
const gradientOf = (value: string): readonly Pair[] => {
  const start = value.search(/gradient\(/iu);
  const stops = start === -1 ? '' : value.slice(start + 'gradient('.length, value.lastIndexOf(')'));
  const color = splitOutside(stops, /[\s,]/u).find((word) => parseColor(word) !== undefined);
  return color ? [['background-color', color]] : [];
};

const backgroundOf = (value: string): readonly Pair[] => {
  // Background pictures are not supported; the colour is the word that is neither a picture nor one of its
  // options.
  const color = words(value).find((word) =>
    /^(?:#|rgba?\(|hsla?\(|oklch\(|var\(|(?!no-repeat|repeat|scroll|fixed|center|left|right|top|bottom|none|cover|contain)[a-z]+$)/iu.test(
      word,
    ),
  );
  return [['background-color', color ?? 'transparent'], ...gradientOf(value)];
};

/** Older names of values of `white-space` and `white-space-collapse`. */
const OLDER: Readonly<Record<string, string>> = {
  preserve: 'pre-wrap',
  'preserve-breaks': 'pre-line',
  'break-spaces': 'pre-wrap',
};
const whiteSpaceOf = (value: string): readonly Pair[] => [
  ['white-space', valueIn(OLDER, value.toLowerCase()) ?? value],
];

const shorthands: Readonly<Record<string, (value: string) => readonly Pair[]>> = {
  margin: (value) => fourSides(value, (side) => `margin-${side}`),
  padding: (value) => fourSides(value, (side) => `padding-${side}`),
  'border-width': (value) => fourSides(value, (side) => `border-${side}-width`),
  'border-style': (value) => fourSides(value, (side) => `border-${side}-style`),
  'border-color': (value) => fourSides(value, (side) => `border-${side}-color`),
  border: (value) => SIDES.flatMap((side) => borderOf(value, side)),
  'border-top': (value) => borderOf(value, 'top'),
  'border-right': (value) => borderOf(value, 'right'),
  'border-bottom': (value) => borderOf(value, 'bottom'),
  'border-left': (value) => borderOf(value, 'left'),
  font: fontOf,
  background: backgroundOf,
  'background-image': gradientOf,
  'text-decoration-line': (value) => [['text-decoration', value]],
  'white-space': whiteSpaceOf,
  'white-space-collapse': whiteSpaceOf,
  'page-break-before': (value) => [['break-before', value]],
  'page-break-after': (value) => [['break-after', value]],
  'list-style': (value) =>
    words(value)
      .filter((word) => !/^(?:inside|outside|url\(.*)$/iu.test(word))
      .map((word) => ['list-style-type', word] as const),
};

/** Colours that are not supported: as in older browsers, an earlier declaration applies. */
const isNewColor = (property: string, value: string): boolean =>
  /^(?:color|background(?:-color)?)$/u.test(property) &&
  /^(?:color(?:-mix)?|light-dark|hwb|(?:ok)?lab|lch)\(/iu.test(value);

/**
 * Parses the content of a rule or a `style` attribute. Invalid declarations are skipped; shorthands are
 * expanded.
 */
export const parseDeclarations = (text: string): readonly Declaration[] =>
  splitOutside(text.replaceAll(/\/\*[\s\S]*?(?:\*\/|$)/gu, ' '), /;/u).flatMap((part) => {
    const colon = part.indexOf(':');
    const property = part.slice(0, Math.max(0, colon)).trim().toLowerCase();
    const raw = part.slice(colon + 1).trim();
    const important = /!\s*important$/iu.test(raw);
    const value = important ? raw.slice(0, raw.lastIndexOf('!')).trim() : raw;
    if (!/^(?:-?[a-z][a-z-]*|--[\w-]+)$/u.test(property) || value === '' || isNewColor(property, value))
      return [];
    const expand = valueIn(shorthands, property);
    const pairs = expand === undefined ? [[property, value] as const] : expand(value);
    return pairs.map(([name, text]) => ({ property: name, value: text, important }));
  });

/** The value of each property: the last one, or the last important one. */
export const winningValues = (declarations: readonly Declaration[]): ReadonlyMap<string, string> => {
  const values = new Map<string, string>();
  for (const { property, value } of declarations) values.set(property, value);
  for (const { property, value, important } of declarations) if (important) values.set(property, value);
  return values;
};
