import type { BrowserContext, Page } from 'puppeteer-core';
import { DocumentLimitError } from '../../errors/errors.ts';
import type { DocumentResources } from '../document-resources.ts';
import { DOCUMENT_URL, guardPage } from './page-guard.ts';
import { pageSizeOf, type PageSetup } from '../page-setup.ts';
import { MARGIN, pageStyle } from './page-style.ts';
import { tidyPage } from './tidy-page.ts';

/** Pixels of a point: the library takes numbers as pixels. */
const PIXELS = 96 / 72;

/** One document on its way to paper. */
export interface PrintJob {
  readonly html: string;
  readonly page: PageSetup;
  readonly resources: DocumentResources;
  readonly maxPdfBytes: number;
  /** Waits for a slot, for the part of the work that keeps the browser busy. */
  readonly inSlot: (work: () => Promise<Uint8Array>) => Promise<Uint8Array>;
}

const collect = async (stream: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > maxBytes) throw new DocumentLimitError();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
};

const printLoaded = async (page: Page, job: PrintJob): Promise<Uint8Array> => {
  const { width, height } = pageSizeOf(job.page);
  // Style sheets from elsewhere may hold such rules too.
  const mayChooseSize = /@page|@import|<link/iu.test(job.html);
  const content = pageStyle(job.page, { title: await page.title(), mayChooseSize });
  if (content !== '') await page.addStyleTag({ content });
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
  return collect(pdf, job.maxPdfBytes);
};

/**
 * Loads the document into a page of its own and prints it.
 * @throws DocumentLimitError when the page breaks down, or the file grows too large
 */
export const printDocument = async (context: BrowserContext, job: PrintJob): Promise<Uint8Array> => {
  const page = await context.newPage();
  const crash = new Promise<never>((_resolve, reject) => {
    page.once('error', (cause) => reject(new DocumentLimitError({ cause })));
  });
  const print = async (): Promise<Uint8Array> => {
    await guardPage(page, job.html, job.resources);
    await page.goto(DOCUMENT_URL, { waitUntil: 'load', timeout: 0 });
    return job.inSlot(async () => {
      await tidyPage(page);
      return printLoaded(page, job);
    });
  };
  return Promise.race([print(), crash]);
};
