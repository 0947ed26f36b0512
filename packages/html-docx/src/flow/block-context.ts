import { pointsOf } from '../css/length.ts';
import type { Border, Sides, Style } from '../css/style.ts';
import type { HeadingLevel, ListDefinition } from './model.ts';

/** A list item, which as a list would start with its number. Its first paragraph gets the marker. */
export interface OpenItem extends ListDefinition {
  readonly list: OpenList;
  marked: boolean;
}

/** An open list of the page. */
export interface OpenList {
  readonly step: 1 | -1;
  /** The number of the next item. */
  next: number;
  /** The list of the document that the last marker belongs to, and the number that would follow there. */
  written: { readonly id: number; readonly type: string; next: number } | undefined;
}

/** Properties that blocks pass to the paragraphs inside. Lengths are in points. */
export interface BlockContext {
  readonly style: Style;
  readonly indentStart: number;
  readonly indentEnd: number;
  readonly background: string | undefined;
  readonly border: Sides<Border | undefined>;
  readonly padding: Sides<number>;
  readonly heading: HeadingLevel | undefined;
  /** Number of open lists. */
  readonly listDepth: number;
  /** The innermost open list. */
  readonly list: OpenList | undefined;
  readonly item: OpenItem | undefined;
  /** Width of a line. */
  readonly width: number;
}

/** Indent per level of a list, and the distance of the marker before the text. */
export const LIST_INDENT = 36;
export const MARKER_INDENT = 18;

const nothing = { top: 0, right: 0, bottom: 0, left: 0 };
const noBorder = { top: undefined, right: undefined, bottom: undefined, left: undefined };

/** The context of a page, or of a table cell, of this width. */
export const topContext = (style: Style, width: number): BlockContext => ({
  style,
  indentStart: 0,
  indentEnd: 0,
  background: undefined,
  border: noBorder,
  padding: nothing,
  heading: undefined,
  listDepth: 0,
  list: undefined,
  item: undefined,
  width,
});

const hasFrame = ({ border, background }: Style): boolean =>
  background !== undefined || Object.values(border).some((side) => side !== undefined);

const headingOf = (tag: string): HeadingLevel | undefined => {
  const level = /^h([1-6])$/u.exec(tag)?.[1];
  return level === undefined ? undefined : (Number(level) as HeadingLevel);
};

/** Minimum width of lines, whatever the boxes around them specify. */
const MIN_WIDTH = 36;

/**
 * The context inside a block. Its frame is set on the paragraphs in it, which word processors draw as one
 * box.
 */
export const insideBlock = (outer: BlockContext, tag: string, style: Style): BlockContext => {
  const framed = hasFrame(style);
  // Word draws frames outside of the lines, so the lines are shortened by padding and frame.
  const side = (name: 'left' | 'right'): number =>
    Math.max(0, style.margin[name] + style.padding[name] + (style.border[name]?.width ?? 0));
  const [left, right] = [side('left'), side('right')];
  const [start, end] = style.rtl ? [right, left] : [left, right];
  const room = Math.max(MIN_WIDTH, outer.width - left - right);
  const scale = room === MIN_WIDTH ? 0 : 1;
  // Text is not narrowed by it, but pictures and tables are.
  const [width = room, maxWidth = room] = [style.width, style.maxWidth].map((one) =>
    pointsOf(one, outer.width),
  );
  return {
    ...outer,
    style,
    indentStart: outer.indentStart + start * scale,
    indentEnd: outer.indentEnd + end * scale,
    background: style.background ?? outer.background,
    border: framed ? { ...outer.border, ...definedSides(style.border) } : outer.border,
    padding: framed ? style.padding : outer.padding,
    heading: headingOf(tag) ?? outer.heading,
    width: Math.max(MIN_WIDTH, Math.min(room, width, maxWidth)),
  };
};

const definedSides = (border: Sides<Border | undefined>): Partial<Sides<Border>> =>
  Object.fromEntries(Object.entries(border).filter(([, side]) => side !== undefined));
