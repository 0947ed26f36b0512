import type { Page } from 'puppeteer-core';
import { DOCUMENT_URL } from './page-guard.ts';

/** As much of an element as is used here. The types of the DOM are those of browsers, not of this service. */
interface PageElement {
  readonly baseURI: string;
  readonly alt: string;
  readonly complete: boolean;
  readonly naturalWidth: number;
  readonly attributes: Iterable<{ readonly localName: string; value: string }>;
  removeAttributeNode(attribute: unknown): void;
  replaceWith(text: string): void;
}

/** Runs in the page. */
const tidyLinks = (links: readonly PageElement[], documentUrl: string): void => {
  for (const link of links) {
    for (const attribute of [...link.attributes].filter(({ localName }) => localName === 'href')) {
      const written = attribute.value.trim();
      if (written.startsWith('#')) continue;
      // Without a base the page has not said http.
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
 * Prepares a loaded page for paper: links that lead nowhere outside of it become plain text, and a picture
 * that could not be had becomes its alternative text. Scripts of the document never ran, so nothing in the
 * page can have changed what these functions call.
 */
export const tidyPage = async (page: Page): Promise<void> => {
  await page.$$eval('a, area', tidyLinks, DOCUMENT_URL);
  await page.$$eval('img', replaceMissing);
};
