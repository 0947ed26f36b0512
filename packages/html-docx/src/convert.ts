import type { Located } from './css/selector.ts';
import { initialStyle } from './css/style.ts';
import { computeStyle } from './css/cascade.ts';
import { pageLayout, type PageWishes } from './css/page-style.ts';
import { readSheet, StyleRules } from './css/stylesheet.ts';
import { elementsOf, readAnchors } from './flow/links.ts';
import { topContext } from './flow/block-context.ts';
import { FlowBuilder } from './flow/flow-builder.ts';
import { ListRegistry } from './flow/flow-parts.ts';
import type { Flow, ParagraphBlock, Picture } from './flow/model.ts';
import { pageLine, TAKEN, type PageLine } from './flow/page-line.ts';
import type { ElementNode, HtmlDocument, SheetReference } from './html/nodes.ts';
import { parseHtml } from './html/parse-html.ts';
import { writeDocx } from './write/write-docx.ts';
import { withoutInvalid } from './xml-text.ts';

export type { Picture, PictureType } from './flow/model.ts';
export { DocxLimitError } from './html/parse-html.ts';

/** Maximum depth of imports in style sheets. */
const MAX_IMPORT_DEPTH = 3;
/** Maximum number of different pictures. */
const MAX_PICTURES = 300;
const MAX_SHEETS = 50;

/** Loads the resources of a document. Undefined: the resource is left out. */
export interface ConverterLoader {
  /** Loads a picture from its `http`, `https` or `data` URL. */
  picture(url: string): Promise<Picture | undefined>;
  sheet(url: string): Promise<string | undefined>;
}

/** Page settings of the caller: size and margins in points, header and footer. */
export interface DocxPage extends PageWishes {
  readonly header?: PageLine | undefined;
  readonly footer?: PageLine | undefined;
}

/** A path without a host may belong to a source of the request. */
const absolute = (href: string, base: string | undefined): string | undefined => {
  const address = href.startsWith('//') ? `https:${href}` : href;
  try {
    return new URL(address, base).href;
  } catch {
    return /^\/(?!\/)/u.test(href) ? href : undefined;
  }
};

/** Adds the rules of all style sheets in their order; imported sheets precede the importing one. */
class SheetReader {
  readonly rules = new StyleRules();
  readonly #loader: ConverterLoader;
  #left = MAX_SHEETS;

  constructor(loader: ConverterLoader) {
    this.#loader = loader;
  }

  async add(reference: SheetReference, base: string | undefined, depth = 0): Promise<void> {
    if ('text' in reference) {
      await this.#addText(reference.text, base, depth);
      return;
    }
    const url = absolute(reference.href, base);
    if (url === undefined || this.#left <= 0) return;
    this.#left -= 1;
    const text = await this.#loader.sheet(url);
    if (text !== undefined) await this.#addText(text, url, depth);
  }

  async #addText(text: string, base: string | undefined, depth: number): Promise<void> {
    const sheet = readSheet(withoutInvalid(text));
    if (depth < MAX_IMPORT_DEPTH) {
      for (const href of sheet.imports) await this.add({ href }, base, depth + 1);
    }
    this.rules.add(sheet);
  }
}

/** The URLs of the pictures, by element. A picture may be shown many times. */
const pictureSources = ({ body, base }: HtmlDocument): ReadonlyMap<ElementNode, string> => {
  const sources = new Map<ElementNode, string>();
  const urls = new Set<string>();
  for (const node of elementsOf(body)) {
    const source = node.tag === 'img' || node.tag === 'svg' ? node.attributes.get('src')?.trim() : undefined;
    const url = source === undefined ? undefined : absolute(source, base);
    if (url !== undefined && (urls.has(url) || urls.size < MAX_PICTURES)) {
      urls.add(url);
      sources.set(node, url);
    }
  }
  return sources;
};

const loadPictures = async (
  page: HtmlDocument,
  loader: ConverterLoader,
): Promise<(node: ElementNode) => Picture | undefined> => {
  const sources = pictureSources(page);
  const urls = [...new Set(sources.values())];
  const pictures = await Promise.all(urls.map((url) => loader.picture(url)));
  const byUrl = new Map(urls.map((url, index) => [url, pictures[index]]));
  return (node) => byUrl.get(sources.get(node) ?? '');
};

const buildFlow = async (html: string, loader: ConverterLoader, wishes: DocxPage): Promise<Flow> => {
  const page = parseHtml(html);
  const sheets = new SheetReader(loader);
  for (const reference of page.sheets) await sheets.add(reference, page.base);
  const pictureOf = await loadPictures(page, loader);
  const lists = new ListRegistry();
  const anchors = readAnchors(page.body);
  const { rules } = sheets;
  const layout = pageLayout(rules.pages, wishes);
  const { width, height, margin } = layout;
  const taken = (side: number, wish: PageLine | undefined): number =>
    wish === undefined ? side : Math.max(side, TAKEN);
  const pageHeight = height - taken(margin.top, wishes.header) - taken(margin.bottom, wishes.footer);
  const { base, title, lang } = page;
  const builder = new FlowBuilder({ rules, lists, base, pageHeight, pictureOf, anchors, marked: new Set() });
  const body: Located = { node: page.body, parent: undefined, index: 0, siblings: [page.body] };
  const style = computeStyle(body, { ...initialStyle, lang: page.lang, rtl: page.rtl }, sheets.rules);
  const context = topContext(style, width - margin.left - margin.right);
  builder.addContent(body, style, context);
  const line = (wish: PageLine | undefined): ParagraphBlock | undefined => wish && pageLine(wish, title);
  const [header, footer] = [line(wishes.header), line(wishes.footer)];
  const blocks = builder.finish(context);
  return { page: layout, header, footer, title, lang, blocks, lists: lists.definitions };
};

/**
 * Converts a page into the bytes of a DOCX file. Runs without a time limit, so it should run in its own
 * thread.
 * @throws DocxLimitError when the page has too many parts or is nested too deeply
 */
export const convertToDocx = async (
  html: string,
  loader: ConverterLoader,
  page: DocxPage = {},
): Promise<Uint8Array> => writeDocx(await buildFlow(html, loader, page));
