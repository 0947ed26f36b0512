import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { launch, type Browser } from 'puppeteer-core';
import { vi } from 'vitest';

/**
 * Milliseconds that a test waits for a page at most: what it waits for comes or does not, and a page takes ten times as long where
 * others use the machine too. What fails by it has failed, however long that takes.
 */
export const PATIENCE = 30_000;

// A test waits several times.
vi.setConfig({ testTimeout: 4 * PATIENCE, hookTimeout: 4 * PATIENCE });

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

/** Goes into the title of what needs the browser, so that a run without it says what it left out. */
export const needsChromium =
  chromium === undefined ? ' [left out: install the Debian package chromium-headless-shell]' : '';

// Without these a browser asks its maker's servers for updates and rests on services that a test machine
// lacks. One process renders all pages of a browser: each test has a page, and a process of its own for it costs
// more than most tests do there.
const quiet =
  '--disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update ' +
  '--disable-sync --renderer-process-limit=1';

/** A headless browser with a profile of its own, which goes away with it. */
export const launchChromium = async (): Promise<{ browser: Browser; close: () => Promise<void> }> => {
  if (chromium === undefined) throw new Error('There is no Chromium on this machine.');
  const profile = await mkdtemp(path.join(tmpdir(), 'stowage-chromium-'));
  const root = process.getuid?.() === 0;
  const browser = await launch({
    executablePath: chromium,
    headless: 'shell',
    userDataDir: profile,
    // The sandbox of the browser cannot be set up by root.
    args: [...quiet.split(' '), ...(root ? ['--no-sandbox'] : [])],
  });
  return {
    browser,
    close: async () => {
      await browser.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 3 });
    },
  };
};
