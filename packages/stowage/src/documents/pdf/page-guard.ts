import type { HTTPRequest, Page } from 'puppeteer-core';
import type { DocumentResources } from '../document-resources.ts';

/**
 * The address that a document seems to have. The name cannot exist (RFC 2606), so nothing relative leads
 * anywhere.
 */
export const DOCUMENT_URL = 'http://document.invalid/';

/** What a page may use at all. The sandbox takes scripts, forms, frames and navigation away a second time. */
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

/** The address as the document has it: what leads to the page itself was only a path there. */
const asWritten = (url: string): string =>
  url.startsWith(DOCUMENT_URL) ? url.slice(DOCUMENT_URL.length - 1) : url;

const answerResource = async (request: HTTPRequest, resources: DocumentResources): Promise<void> => {
  const url = asWritten(request.url());
  if (!LOADABLE.has(request.resourceType())) return request.abort('blockedbyclient');
  const resource = await resources.load(url, ACCEPT[request.resourceType()] ?? '*/*');
  if (resource === undefined) return request.abort('failed');
  return request.respond({
    status: 200,
    headers: {
      // Fonts are only used when their server shares them; ours is the only way that the page has to any
      // server.
      'access-control-allow-origin': '*',
      ...(resource.contentType === undefined ? {} : { 'content-type': resource.contentType }),
    },
    body: resource.bytes,
  });
};

/**
 * Answers every request of a page ourselves: the first with the document, images, styles and fonts through
 * the guarded loader, `data:` by the browser, and nothing else at all.
 */
export const guardPage = async (page: Page, html: string, resources: DocumentResources): Promise<void> => {
  let delivered = false;
  const answer = async (request: HTTPRequest): Promise<void> => {
    if (!delivered && request.isNavigationRequest() && request.url() === DOCUMENT_URL) {
      delivered = true;
      return request.respond({
        status: 200,
        contentType: 'text/html; charset=utf-8',
        headers: { 'content-security-policy': POLICY, 'referrer-policy': 'no-referrer' },
        body: Buffer.from(html),
      });
    }
    if (request.isNavigationRequest()) return request.abort('aborted');
    return request.url().startsWith('data:') ? request.continue() : answerResource(request, resources);
  };
  await page.setJavaScriptEnabled(false);
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    // Fails when the page is closed meanwhile: then no request waits for an answer any more.
    answer(request).catch(() => undefined);
  });
};
