import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, launch, type Browser, type BrowserContext } from 'puppeteer-core';
import { sharedServer } from './shared.ts';

// The headless shell is the same engine without the parts that no page sees, at three quarters of the work.
const places = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
];

/** The browser that the tests drive; undefined on a machine that has none. */
export const chromium: string | undefined = places.find((place) => existsSync(place));

// Without these a browser asks its maker's servers for updates and rests on services that a test machine
// lacks. One process renders all pages of a context: each test has a page, and a process of its own for it
// costs more than most tests do there.
const quiet =
  '--disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update ' +
  '--disable-sync --renderer-process-limit=1';

/** Starts a headless browser with a profile of its own, which goes away with it. */
export const startOwnChromium = async (): Promise<{ endpoint: string; stop: () => Promise<void> }> => {
  if (chromium === undefined) throw new Error('There is no Chromium on this machine.');
  const profile = await mkdtemp(join(tmpdir(), 'stowage-chromium-'));
  const root = process.getuid?.() === 0;
  const browser = await launch({
    executablePath: chromium,
    headless: 'shell',
    userDataDir: profile,
    // The sandbox of the browser cannot be set up by root.
    args: [...quiet.split(' '), ...(root ? ['--no-sandbox'] : [])],
  });
  return {
    endpoint: browser.wsEndpoint(),
    stop: async () => {
      await browser.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 3 });
    },
  };
};

/**
 * The browser of a test file. Pages of `context` share no cookies, storage and cache with those of other
 * files.
 */
export interface OpenedChromium {
  readonly browser: Browser;
  readonly context: BrowserContext;
  readonly close: () => Promise<void>;
}

/** Opens a context in the browser that the test files of a run share; outside of a run in a new one. */
export const openChromium = async (): Promise<OpenedChromium> => {
  const shared = (await sharedServer('chromium')) as { endpoint: string } | undefined;
  const own = shared === undefined ? await startOwnChromium() : undefined;
  const browser = await connect({ browserWSEndpoint: (shared ?? own)?.endpoint ?? '' });
  const context = await browser.createBrowserContext();
  // As long as a page is open, the process that renders stays for the next one.
  await context.newPage();
  return {
    browser,
    context,
    close: async () => {
      await context.close();
      await browser.disconnect();
      await own?.stop();
    },
  };
};
