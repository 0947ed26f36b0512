import type { BrowserContext, HTTPRequest, Page } from 'puppeteer-core';
import { boundedBytes } from '../../basics/content/parse-budget.ts';
import { DocumentLimitError } from '../../errors/errors.ts';
import type { DocumentResources } from '../document-resources.ts';
import { type PageSetup, pageSizeOf } from '../page-setup.ts';
import { MARGIN, pageStyle, textWidth } from './page-style.ts';

/** URL of the document. The name cannot exist (RFC 2606), so relative URLs lead nowhere. */
const DOCUMENT_URL = 'http://document.invalid/';

/** Content security policy of a page. Its sandbox disables scripts, forms and navigation once more. */
const POLICY = [
  "default-src 'none'",
  'img-src http: https: data:',
  "style-src 'unsafe-inline' http: https: data:",
  'font-src http: https: data:',
  "form-action 'none'",
  'sandbox',
].join('; ');

const LOADABLE: ReadonlySet<string> = new Set(['image', 'stylesheet', 'font']);
const ACCEPT: Readonly<Record<string, string>> = {
  image: 'image/avif,image/webp,image/*,*/*;q=0.8',
  stylesheet: 'text/css,*/*;q=0.1',
};

const WHOLE_PAGE = /<(?:!doctype|html)[\s>]/iu;
/**
 * The start of a fragment. Without a doctype, tables do not inherit size, colour and alignment of text, as they
 * do in editors; with it, paragraphs in cells have margins. In the first layer, every rule overrides that.
 */
const FRAGMENT = `<!DOCTYPE html><style>@layer { :is(body, td, th) > p:first-child { margin-top: 0 }
  :is(td, th) > p:last-child { margin-bottom: 0 } }</style>`;

/** The URL as written in the document: below the URL of the page it was only a path. */
const asWritten = (url: string): string =>
  url.startsWith(DOCUMENT_URL) ? url.slice(DOCUMENT_URL.length - 1) : url;

const sendResource = async (request: HTTPRequest, resources: DocumentResources): Promise<void> => {
  const url = asWritten(request.url());
  if (!LOADABLE.has(request.resourceType())) return request.abort('blockedbyclient');
  const resource = await resources.load(url, ACCEPT[request.resourceType()] ?? '*/*');
  if (resource === undefined) return request.abort('failed');
  return request.respond({
    status: 200,
    headers: {
      // Fonts need CORS permission; the page reaches servers only through this handler.
      'access-control-allow-origin': '*',
      ...(resource.contentType === undefined ? {} : { 'content-type': resource.contentType }),
    },
    body: resource.bytes,
  });
};

/**
 * Handles every request of a page: the first gets the document, images, styles and fonts come from the
 * loader, `data:` is left to the browser, and everything else is blocked.
 */
const guardPage = async (page: Page, html: string, resources: DocumentResources): Promise<void> => {
  let delivered = false;
  const respond = async (request: HTTPRequest): Promise<void> => {
    if (!delivered && request.isNavigationRequest() && request.url() === DOCUMENT_URL) {
      delivered = true;
      return request.respond({
        status: 200,
        contentType: 'text/html; charset=utf-8',
        headers: { 'content-security-policy': POLICY, 'referrer-policy': 'no-referrer' },
        body: Buffer.from(WHOLE_PAGE.test(html) ? html : FRAGMENT + html.replace(/^\uFEFF/u, '')),
      });
    }
    if (request.isNavigationRequest()) return request.abort('aborted');
    return request.url().startsWith('data:') ? request.continue() : sendResource(request, resources);
  };
  await page.setJavaScriptEnabled(false);
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    // Fails when the page is closed meanwhile: then no request waits for a response.
    respond(request).catch(() => undefined);
  });
};

/** The members of elements that are used here; DOM types are not part of this project's configuration. */
interface PageElement {
  readonly baseURI: string;
  readonly alt: string;
  readonly complete: boolean;
  readonly naturalWidth: number;
  readonly attributes: Iterable<{ readonly localName: string; value: string }>;
  readonly localName: string;
  readonly style: { setProperty(name: string, value: string, priority: string): void };
  contains(other: PageElement): boolean;
  getBoundingClientRect(): { readonly width: number; readonly height: number };
  removeAttributeNode(attribute: unknown): void;
  replaceWith(text: string): void;
}

/** Runs in the page. */
const tidyLinks = (links: readonly PageElement[], documentUrl: string): void => {
  for (const link of links) {
    for (const attribute of [...link.attributes].filter(({ localName }) => localName === 'href')) {
      const written = attribute.value.trim();
      if (written.startsWith('#')) continue;
      // Without a base URL the page did not choose http.
      if (written.startsWith('//') && link.baseURI === documentUrl) attribute.value = `https:${written}`;
      const url = URL.canParse(attribute.value, link.baseURI)
        ? new URL(attribute.value, link.baseURI)
        : undefined;
      const leads =
        url !== undefined &&
        ['http:', 'https:', 'mailto:', 'tel:'].includes(url.protocol) &&
        url.hostname !== new URL(documentUrl).hostname;
      if (!leads) link.removeAttributeNode(attribute);
    }
  }
};

/** Runs in the page. */
const replaceMissing = (pictures: readonly PageElement[]): void => {
  for (const picture of pictures) {
    if (picture.complete && picture.naturalWidth === 0) picture.replaceWith(picture.alt);
  }
};

/**
 * Runs in the page. Chromium prints the whole document smaller, at most by a third, where something is wider
 * a page, and cuts off the rest. Pictures are scaled down instead; tables may use those two widths. Elements
 * in wide ones are measured again once these fit: a layout for each element would take seconds.
 */
const fitWide = (elements: readonly PageElement[], pageWidth: number): void => {
  for (let rest = elements; rest.length > 0;) {
    const sizes = rest.map((element) => [element, element.getBoundingClientRect()] as const);
    let outer: PageElement | undefined;
    const inner: PageElement[] = [];
    for (const [element, { width, height }] of sizes) {
      const isTable = element.localName === 'table';
      const room = isTable ? 1.5 * pageWidth : pageWidth;
      if (width <= room) continue;
      if (outer?.contains(element) === true) {
        inner.push(element);
        continue;
      }
      outer = element;
      const fitting = isTable
        ? { width: `${room}px`, 'overflow-wrap': 'anywhere' }
        : { 'max-width': '100%', height: 'auto', 'aspect-ratio': `${width} / ${height}` };
      for (const [name, value] of Object.entries(fitting))
        element.style.setProperty(name, value, 'important');
    }
    rest = inner;
  }
};

interface PageRoot {
  readonly ownerDocument: {
    adoptedStyleSheets: readonly unknown[];
    readonly defaultView: { readonly CSSStyleSheet: new () => { replaceSync(css: string): void } };
  };
}

/** Runs in the page. A content policy in the document blocks `style` elements, but not this sheet. */
const adoptSheet = ({ ownerDocument: page }: PageRoot, css: string): void => {
  const sheet = new page.defaultView.CSSStyleSheet();
  sheet.replaceSync(css);
  page.adoptedStyleSheets = [sheet];
};

/**
 * Prepares a loaded page for printing: links without an external target become plain text, missing pictures
 * are replaced by their alternative text, and wide ones fit on the page. Scripts of the document never ran,
 * so the page cannot have changed the functions called here.
 */
const tidyPage = async (page: Page, width: number): Promise<void> => {
  await page.$$eval('a, area', tidyLinks, DOCUMENT_URL);
  await page.$$eval('img', replaceMissing);
  await page.$$eval('img, svg, video, canvas, table', fitWide, width);
};

/** Pixels per point: the library takes numbers as pixels. */
const PIXELS = 96 / 72;

interface PrintJob {
  readonly html: string;
  readonly page: PageSetup;
  readonly resources: DocumentResources;
  readonly maxPdfBytes: number;
  /** Waits for a slot, for the part of the work that occupies the browser. */
  readonly inSlot: (work: () => Promise<Uint8Array>) => Promise<Uint8Array>;
}

const printLoaded = async (page: Page, job: PrintJob): Promise<Uint8Array> => {
  const { width, height } = pageSizeOf(job.page);
  // External style sheets may contain such rules too.
  const mayChooseSize = /@page|@import|<link/iu.test(job.html);
  const content = pageStyle(job.page, { title: await page.title(), mayChooseSize });
  await page.$eval('html', adoptSheet, content);
  const margin = MARGIN * PIXELS;
  const pdf = await page.createPDFStream({
    width: width * PIXELS,
    height: height * PIXELS,
    margin: { top: margin, right: margin, bottom: margin, left: margin },
    printBackground: true,
    outline: true,
    preferCSSPageSize: true,
    timeout: 0,
  });
  return boundedBytes(pdf, job.maxPdfBytes, () => new DocumentLimitError());
};

/** Loads the document into its own page and prints it. @throws DocumentLimitError */
export const printDocument = async (context: BrowserContext, job: PrintJob): Promise<Uint8Array> => {
  const page = await context.newPage();
  const crash = new Promise<never>((_resolve, reject) => {
    page.once('error', (cause) => reject(new DocumentLimitError({ cause })));
  });
  const print = async (): Promise<Uint8Array> => {
    const width = Math.floor(textWidth(job.page) * PIXELS);
    await page.setViewport({ width, height: Math.ceil(1.5 * width) });
    await guardPage(page, job.html, job.resources);
    await page.goto(DOCUMENT_URL, { waitUntil: 'load', timeout: 0 });
    return job.inSlot(async () => {
      await tidyPage(page, width);
      return printLoaded(page, job);
    });
  };
  return Promise.race([print(), crash]);
};
