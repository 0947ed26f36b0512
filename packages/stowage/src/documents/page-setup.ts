/** Portrait sizes in points, as in CSS. */
const MM = 72 / 25.4;
const paperSizes = {
  A4: [210 * MM, 297 * MM],
  A3: [297 * MM, 420 * MM],
  Letter: [8.5 * 72, 11 * 72],
  Legal: [8.5 * 72, 14 * 72],
  Tabloid: [11 * 72, 17 * 72],
} as const satisfies Record<string, readonly [width: number, height: number]>;

export type PaperFormat = keyof typeof paperSizes;
export const paperFormats = Object.keys(paperSizes) as [PaperFormat, ...PaperFormat[]];

export const orientations = ['portrait', 'landscape'] as const;
export type Orientation = (typeof orientations)[number];

/** Points. */
export interface PageSize {
  readonly width: number;
  readonly height: number;
}

/** Points. */
export interface Margins {
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  readonly left: number;
}

/** A part of a header or footer: text, or a field with a value of the document. */
export type LinePart = string | { readonly field: 'page' | 'pages' | 'title' };

export const alignments = ['left', 'center', 'right'] as const;

/** A header or footer of every page. */
export interface PageLine {
  readonly parts: readonly LinePart[];
  readonly align: (typeof alignments)[number];
}

/** Requested page settings. The document's own `@page` rules may set undefined ones. */
export interface PageSetup {
  readonly format?: PaperFormat | undefined;
  readonly orientation?: Orientation | undefined;
  readonly margin?: Margins | undefined;
  readonly header?: PageLine | undefined;
  readonly footer?: PageLine | undefined;
}

/** The size of a page, by default A4 in portrait. */
export const pageSizeOf = ({ format, orientation }: PageSetup): PageSize => {
  const [short, long] = paperSizes[format ?? 'A4'];
  return orientation === 'landscape' ? { width: long, height: short } : { width: short, height: long };
};

/** Whether the request has chosen the size, so that `@page { size }` of the document is ignored. */
export const isSizeChosen = ({ format, orientation }: PageSetup): boolean =>
  format !== undefined || orientation !== undefined;

const UNITS: Readonly<Record<string, number>> = { mm: MM, cm: 10 * MM, in: 72, pt: 1, px: 0.75 };

const pointsOf = (text: string): number | undefined => {
  if (text === '0') return 0;
  const [, number = '', unit = ''] = /^(\d{1,6}(?:\.\d{1,6})?)(mm|cm|in|pt|px)$/iu.exec(text) ?? [];
  const factor = UNITS[unit.toLowerCase()];
  return factor === undefined ? undefined : Number(number) * factor;
};

/** Parses one to four lengths for top, right, bottom and left like CSS; undefined when they are invalid. */
export const readMargin = (text: string): Margins | undefined => {
  const lengths = text.trim().split(/\s+/u, 5).map(pointsOf);
  const [top, right = top, bottom = top, left = right] = lengths;
  if (lengths.length > 4 || lengths.includes(undefined)) return undefined;
  return { top: top ?? 0, right: right ?? 0, bottom: bottom ?? 0, left: left ?? 0 };
};

/** Minimum width and height of the text area in points: 2 cm, with a tolerance for rounding. */
const LEAST_ROOM = 19.9 * MM;

export const leavesRoom = ({ width, height }: PageSize, { top, right, bottom, left }: Margins): boolean =>
  Math.max(left, right) <= width / 2 &&
  Math.max(top, bottom) <= height / 2 &&
  width - left - right >= LEAST_ROOM &&
  height - top - bottom >= LEAST_ROOM;

/** Parses a header or footer with placeholders: `{page}`, `{pages}`, `{title}`, `{date}` (2026-01-31). */
export const readLine = (text: string, day: Date): readonly LinePart[] =>
  text
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .replaceAll('{date}', day.toISOString().slice(0, 10))
    .split(/(\{(?:page|pages|title)\})/u)
    .filter((part) => part !== '')
    .map((part) => {
      const field = (['page', 'pages', 'title'] as const).find((name) => part === `{${name}}`);
      return field === undefined ? part : { field };
    });
