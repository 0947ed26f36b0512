/** An element of the document, reduced to what a converter needs. */
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
  /** Language of the page, and whether it is right-to-left. */
  readonly lang: string | undefined;
  readonly rtl: boolean;
  /** Style sheets in document order: the text of `style` elements, the URL of linked ones. */
  readonly sheets: readonly SheetReference[];
  /** `<base href>`, against which other URLs are resolved. */
  readonly base: string | undefined;
}

export type SheetReference = { readonly text: string } | { readonly href: string };
