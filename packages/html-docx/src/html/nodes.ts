/** An element of the document, without anything that a converter does not need. */
export interface ElementNode {
  readonly kind: 'element';
  /** Lower case. */
  readonly tag: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly HtmlNode[];
}

export interface TextNode {
  readonly kind: 'text';
  readonly text: string;
}

export type HtmlNode = ElementNode | TextNode;

/** A parsed page. */
export interface HtmlDocument {
  readonly body: ElementNode;
  readonly title: string | undefined;
  /** Language of the page, and whether it runs from right to left. */
  readonly lang: string | undefined;
  readonly rtl: boolean;
  /** Style sheets in the order of the document: the text of `style` elements, the address of linked ones. */
  readonly sheets: readonly SheetReference[];
  /** `<base href>`, with which other addresses are read. */
  readonly base: string | undefined;
}

export type SheetReference = { readonly text: string } | { readonly href: string };
