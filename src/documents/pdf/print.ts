import type { BrowserContext, Page } from 'puppeteer-core';
import { DocumentLimitError } from '../../errors/errors.ts';
import type { DocumentResources } from '../document-resources.ts';
import { DOCUMENT_URL, guardPage } from './page-guard.ts';
import { isChosen, pageSizeOf, type Paper } from './paper.ts';
import { tidyPage } from './tidy-page.ts';

/** White space around the text where the document's `@page` rules do not say otherwise. */
const MARGIN = '15mm';

/** One document on its way to paper. */
export interface PrintJob {
  readonly html: string;
  readonly paper: Paper;
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

const printLoaded = async (page: Page, { paper, maxPdfBytes }: PrintJob): Promise<Uint8Array> => {
  const { width, height } = pageSizeOf(paper);
  if (isChosen(paper)) await page.addStyleTag({ content: `@page { size: ${width} ${height} !important }` });
  const pdf = await page.createPDFStream({
    width,
    height,
    margin: { top: MARGIN, right: MARGIN, bottom: MARGIN, left: MARGIN },
    printBackground: true,
    outline: true,
    preferCSSPageSize: true,
    timeout: 0,
  });
  return collect(pdf, maxPdfBytes);
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
