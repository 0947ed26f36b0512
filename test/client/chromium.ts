import type { Page } from 'puppeteer-core';
import { vi } from 'vitest';
import { chromium } from '../../tools/test-servers/chromium.ts';

export { chromium, openChromium, type OpenedChromium } from '../../tools/test-servers/chromium.ts';

/**
 * Milliseconds that a test waits for a page at most: what it waits for comes or does not, and a page takes ten times as long where
 * others use the machine too. What fails by it has failed, however long that takes.
 */
export const PATIENCE = 30_000;

// A test waits several times.
vi.setConfig({ testTimeout: 4 * PATIENCE, hookTimeout: 4 * PATIENCE });

/** Goes into the title of what needs the browser, so that a run without it says what it left out. */
export const needsChromium =
  chromium === undefined ? ' [left out: install the Debian package chromium-headless-shell]' : '';

/** Lets the browser save what is downloaded, without asking, into a folder. */
export const keepDownloads = async (page: Page, downloadPath: string): Promise<void> => {
  const session = await page.createCDPSession();
  const { id } = page.browserContext();
  const context = id === undefined ? {} : { browserContextId: id };
  await session.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath, ...context });
};
