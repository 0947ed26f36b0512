import { pointsOf } from '../css/length.ts';
import { type Border, type Sides, sides, type Style } from '../css/style.ts';
import type { ElementNode } from '../html/nodes.ts';
import type { HeadingLevel, ListDefinition, ListPosition, ParagraphBlock } from './model.ts';

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
  /** The list below the last item, of an editor that writes lists flat. */
  inner: OpenList | undefined;
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

/** The context inside further lists. */
export const insideLists = (context: BlockContext, levels: number): BlockContext => ({
  ...context,
  indentStart: context.indentStart + levels * LIST_INDENT,
  width: Math.max(LIST_INDENT, context.width - levels * LIST_INDENT),
  listDepth: context.listDepth + levels,
});

/** The list this many levels below; lists below that one begin anew. */
export const listAt = (outer: OpenList | undefined, depth: number): OpenList => {
  let list: OpenList = outer ?? { step: 1, next: 1, written: undefined, inner: undefined };
  for (let level = 0; level < depth; level += 1)
    list = list.inner ??= { step: 1, next: 1, written: undefined, inner: undefined };
  list.inner = undefined;
  return list;
};

const NUMBERS = ['decimal', 'lower-alpha', 'lower-roman'] as const;
const FLAT: ReadonlyMap<string, string> = new Map([
  ['bullet', 'disc'],
  ['checked', '"☑"'],
  ['unchecked', '"☐"'],
]);

/** Quill writes all lists flat into `ol`: the level of an item is in its class, its kind in `data-list`. */
export const flatItem = ({
  attributes,
}: ElementNode): { readonly depth: number; readonly type: string | undefined } => {
  const depth = Number(/(?:^|\s)ql-indent-([1-8])(?:\s|$)/u.exec(attributes.get('class') ?? '')?.[1] ?? 0);
  const kind = attributes.get('data-list') ?? '';
  return { depth, type: kind === 'ordered' ? NUMBERS[depth % 3] : FLAT.get(kind) };
};

/** The context of a page, or of a table cell, of this width. */
export const topContext = (style: Style, width: number): BlockContext => ({
  style,
  indentStart: 0,
  indentEnd: 0,
  background: undefined,
  border: sides(undefined),
  padding: sides(0),
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

/** A paragraph in a context, with a marker if it is the first one of an item. */
export const paragraphIn = (
  { style, ...context }: BlockContext,
  inlines: ParagraphBlock['inlines'],
  item?: ListPosition,
): ParagraphBlock => ({
  kind: 'paragraph',
  inlines,
  format: {
    heading: context.heading,
    align: style.align,
    rtl: style.rtl,
    indentStart: context.indentStart,
    indentEnd: context.indentEnd,
    firstLine: item === undefined ? style.textIndent : -MARKER_INDENT,
    lineHeight: style.lineHeight,
    item,
    background: context.background,
    border: context.border,
    padding: context.padding,
    pageBreakBefore: false,
  },
  before: 0,
  after: 0,
});
