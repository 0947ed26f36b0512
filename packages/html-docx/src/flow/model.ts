import type { PageLayout } from '../css/page-style.ts';
import type { Border, Sides, TextAlign } from '../css/style.ts';

/** Format of text. Lengths are in points, colours six hexadecimal digits. */
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
  /** May contain tabs, but no line breaks. */
  readonly text: string;
  readonly format: TextFormat;
  /** A URL, or `#` and the name of a bookmark. */
  readonly link: string | undefined;
}

/** A bookmark. */
export interface MarkInline {
  readonly kind: 'mark';
  /** Name of the bookmark. */
  readonly name: string;
}

/** A number that the word processor computes. */
export interface NumberInline {
  readonly kind: 'number';
  readonly of: 'page' | 'pages';
  readonly format: TextFormat;
}

export interface BreakInline {
  readonly kind: 'break';
}

/** Formats that word processors support. */
export type PictureType = 'png' | 'jpg' | 'gif';

/** A picture that can be embedded in a document. */
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

/** The list of an item, and its level. */
export interface ListPosition {
  readonly list: number;
  readonly level: number;
}

/** Format of a paragraph. Lengths are in points. */
export interface ParagraphFormat {
  readonly heading: HeadingLevel | undefined;
  readonly align: TextAlign;
  readonly rtl: boolean;
  /** Indents from the start and the end edge of lines. */
  readonly indentStart: number;
  readonly indentEnd: number;
  readonly firstLine: number;
  readonly lineHeight: { readonly factor: number } | { readonly points: number } | undefined;
  /** Set for a list item: the paragraph gets its number or bullet. */
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
  /** Space before and after the paragraph, in points. */
  before: number;
  after: number;
}

/** One cell; `row` and `column` are the position of its first corner in the grid. */
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
  /** Whether a page break may split it. */
  readonly splits: boolean;
  /** Minimum height in points. */
  readonly height: number | undefined;
}

export interface TableBlock {
  readonly kind: 'table';
  readonly rows: readonly TableRow[];
  readonly cells: readonly TableCell[];
  /** Width of each column of the grid in points. */
  readonly columnWidths: readonly number[];
  readonly border: Sides<Border | undefined>;
  readonly align: 'left' | 'center' | 'right';
  readonly rtl: boolean;
  readonly indentStart: number;
}

export type Block = ParagraphBlock | TableBlock;

/** Markers of the items of one list. */
export interface ListDefinition {
  /** A value of `list-style-type`. */
  readonly type: string;
  readonly start: number;
  readonly level: number;
}

/** The model of a document before it is written. */
export interface Flow {
  readonly page: PageLayout;
  readonly header: ParagraphBlock | undefined;
  readonly footer: ParagraphBlock | undefined;
  readonly title: string | undefined;
  readonly lang: string | undefined;
  readonly blocks: readonly Block[];
  /** Indexed by the number in `ListPosition`. */
  readonly lists: readonly ListDefinition[];
}
