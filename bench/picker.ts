import { link, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { launch, type Page } from 'puppeteer-core';
import sharp from 'sharp';
import { median, type Measurement } from './measurement.ts';
import { withScratch } from './scratch.ts';
import { withService } from './service.ts';

const ITEMS = 10_000;
const ROUNDS = 3;
/** Frames of one scroll through the list. */
const FRAMES = 400;
/** Pixels per frame at which names are still readable: half a screen at most. */
const READABLE = 250;
/** Maximum duration of a frame in milliseconds: longer ones are visible as stutter. */
const MOST_MS = 50;

const PAGE = `<!doctype html><html lang="en"><title>Picker</title><style>html, body { margin: 0 }</style>
  <stowage-picker url="/" style="height: 800px"></stowage-picker>
  <script src="/picker.global.js"></script><script>StowagePicker.definePicker();</script></html>`;

/** Opens the picker in a page of the service's own origin. */
const openPicker = async (page: Page, url: string): Promise<void> => {
  const script = await readFile(join(import.meta.dirname, '../packages/browser/dist/picker.global.js'));
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    if (request.url() === `${url}/picker.html`)
      void request.respond({ contentType: 'text/html', body: PAGE });
    else if (request.url() === `${url}/picker.global.js`)
      void request.respond({ contentType: 'text/javascript', body: script });
    else void request.continue();
  });
  await page.setViewport({ width: 1200, height: 800 });
  await page.goto(`${url}/picker.html`);
  await page.waitForFunction(() => {
    const root = document.querySelector('stowage-picker')?.shadowRoot;
    return root?.querySelector('.count')?.textContent.startsWith('10,000') === true;
  });
};

/**
 * Scrolls from the first row to the last, or by steps; returns the longest frame, and the maximum number of
 * cells in the page.
 */
const scroll = (page: Page, by?: number): Promise<{ readonly longest: number; readonly cells: number }> =>
  page.evaluate(
    async (frames, pixels) => {
      const scroller = document.querySelector('stowage-picker')?.shadowRoot?.querySelector('.scroller');
      if (scroller === null || scroller === undefined) throw new Error('The list is not there.');
      scroller.scrollTop = 0;
      const step = pixels ?? (scroller.scrollHeight - scroller.clientHeight) / frames;
      let [longest, cells] = [0, 0];
      let before = await new Promise<number>(requestAnimationFrame);
      for (let count = 1; count <= frames; count += 1) {
        scroller.scrollTop = step * count;
        const now = await new Promise<number>(requestAnimationFrame);
        longest = Math.max(longest, now - before);
        cells = Math.max(cells, scroller.querySelectorAll('.cell').length);
        before = now;
      }
      return { longest, cells };
    },
    FRAMES,
    by,
  );

/**
 * Smoothness of scrolling a long list of pictures, whose pages and thumbnails load meanwhile. Needs Chromium.
 */
export const picker: Measurement = {
  name: 'picker',
  run: () =>
    withScratch(async (scratch) => {
      const root = join(scratch, 'files');
      await mkdir(root);
      const first = join(root, '00000.jpg');
      await sharp({ create: { width: 640, height: 480, channels: 3, background: '#2e86c1' } }).toFile(first);
      for (let index = 1; index < ITEMS; index += 1)
        await link(first, join(root, `${String(index).padStart(5, '0')}.jpg`));
      const sources = { files: { title: 'Files', root, serve: 'public' } };
      return withService(
        scratch,
        root,
        async ({ url }) => {
          const browser = await launch({
            executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium-headless-shell',
            headless: 'shell',
            args: ['--no-sandbox'],
          });
          try {
            const page = await browser.newPage();
            await openPicker(page, url);
            const rounds: Awaited<ReturnType<typeof scroll>>[] = [];
            const read: typeof rounds = [];
            for (let round = 0; round < ROUNDS; round += 1) {
              rounds.push(await scroll(page));
              read.push(await scroll(page, READABLE));
            }
            const frames = { name: 'allowed', value: MOST_MS };
            return [
              {
                what: 'longest frame while 10,000 pictures scroll by',
                ...{ unit: 'ms', ours: median(rounds.map(({ longest }) => longest)) },
                ...{ reference: frames, aim: { atMost: 1 } },
              },
              {
                what: `longest frame at ${String(READABLE)} pixels a frame, at which they are read`,
                ...{ unit: 'ms', ours: median(read.map(({ longest }) => longest)) },
                ...{ reference: frames, aim: { atMost: 1 } },
              },
              {
                what: 'their cells in the page, at most',
                ...{ unit: '', ours: Math.max(...rounds.map(({ cells }) => cells)) },
                ...{ reference: { name: 'items', value: ITEMS }, aim: { atMost: 0.02 } },
              },
            ];
          } finally {
            await browser.close();
          }
        },
        { sources },
      );
    }),
};
