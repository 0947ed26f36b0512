import type { PageLayout } from '../css/page-style.ts';
import type { Border, Sides, TextAlign } from '../css/style.ts';

/** How letters look. Lengths are points, colours six hexadecimal digits. */
export interface TextFormat {
  readonly size: number;
  readonly family: string | undefined;
  readonly color: string | undefined;
  readonly background: string | undefined;
  readonly bold: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
  readonly strike: boolean;
  readonly smallCaps: boolean;
  readonly caps: boolean;
  readonly script: 'sub' | 'super' | undefined;
  readonly spacing: number;
  readonly lang: string | undefined;
}

export interface TextInline {
  readonly kind: 'text';
  /** May hold tabs, no line breaks. */
  readonly text: string;
  readonly format: TextFormat;
  /** An address, or `#` and the name of a bookmark. */
  readonly link: string | undefined;
}

/** A place that links lead to. */
export interface MarkInline {
  readonly kind: 'mark';
  /** Of the bookmark. */
  readonly name: string;
}

/** A number that the word processor knows. */
export interface NumberInline {
  readonly kind: 'number';
  readonly of: 'page' | 'pages';
  readonly format: TextFormat;
}

export interface BreakInline {
  readonly kind: 'break';
}

/** Formats that word processors show. */
export type PictureType = 'png' | 'jpg' | 'gif';

/** A picture ready to be put into a document. */
export interface Picture {
  readonly type: PictureType;
  readonly bytes: Uint8Array;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
}

export interface PictureInline {
  readonly kind: 'picture';
  readonly picture: Picture;
  /** Points. */
  readonly width: number;
  readonly height: number;
  readonly float: 'left' | 'right' | undefined;
  readonly alt: string;
  readonly link: string | undefined;
}

export type Inline = TextInline | BreakInline | PictureInline | MarkInline | NumberInline;

export type HeadingLevel = 1 | 2 | 3 | 4 | 5 | 6;

/** A position in a list: which one, and how deep in it. */
export interface ListPosition {
  readonly list: number;
  readonly level: number;
}

/** How a paragraph is set. Lengths are points. */
export interface ParagraphFormat {
  readonly heading: HeadingLevel | undefined;
  readonly align: TextAlign;
  readonly rtl: boolean;
  /** From the edge where lines begin, and from the one where they end. */
  readonly indentStart: number;
  readonly indentEnd: number;
  readonly firstLine: number;
  readonly lineHeight: { readonly factor: number } | { readonly points: number } | undefined;
  /** Numbered or marked as the item of a list. */
  readonly item: ListPosition | undefined;
  readonly background: string | undefined;
  readonly border: Sides<Border | undefined>;
  readonly padding: Sides<number>;
  readonly pageBreakBefore: boolean;
}

export interface ParagraphBlock {
  readonly kind: 'paragraph';
  readonly inlines: readonly Inline[];
  readonly format: ParagraphFormat;
  /** Space to the blocks before and after, in points. */
  before: number;
  after: number;
}

/** One cell; `row` and `column` are its upper start corner in the grid. */
export interface TableCell {
  readonly row: number;
  readonly column: number;
  readonly rowSpan: number;
  readonly columnSpan: number;
  readonly blocks: readonly Block[];
  readonly background: string | undefined;
  readonly border: Sides<Border | undefined>;
  readonly padding: Sides<number>;
  readonly verticalAlign: 'top' | 'center' | 'bottom';
}

export interface TableRow {
  readonly isHeader: boolean;
  /** Whether it may go on on the next page. */
  readonly splits: boolean;
  /** Points, a minimum. */
  readonly height: number | undefined;
}

export interface TableBlock {
  readonly kind: 'table';
  readonly rows: readonly TableRow[];
  readonly cells: readonly TableCell[];
  /** Points of each column of the grid. */
  readonly columnWidths: readonly number[];
  readonly border: Sides<Border | undefined>;
  readonly align: 'left' | 'center' | 'right';
  readonly rtl: boolean;
  readonly indentStart: number;
}

export type Block = ParagraphBlock | TableBlock;

/** How the items of one list are marked. */
export interface ListDefinition {
  /** As `list-style-type`. */
  readonly type: string;
  readonly start: number;
  readonly level: number;
}

/** A document before it is written. */
export interface Flow {
  readonly page: PageLayout;
  readonly header: ParagraphBlock | undefined;
  readonly footer: ParagraphBlock | undefined;
  readonly title: string | undefined;
  readonly lang: string | undefined;
  readonly blocks: readonly Block[];
  /** By the number in `ListPosition`. */
  readonly lists: readonly ListDefinition[];
}
