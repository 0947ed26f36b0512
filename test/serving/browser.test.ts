import type { AddressInfo } from 'node:net';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext } from 'puppeteer-core';
import sharp from 'sharp';
import { createRouter } from 'stowage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareOfDay } from '../before-release.ts';
import { chromium, openChromium, needsChromium } from '../client/chromium.ts';
import { quiet } from '../http/hosts.ts';

/** Reports that it has run, and the cookies that it can read. */
const script = "fetch('/ran?'+encodeURIComponent(document.cookie));new Image().src='/ran?image'";
const html = `<!DOCTYPE html><title>x</title><script>${script}</script><img src=x onerror="${script}">`;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="${script}"><script>${script}</script></svg>`;
const xml = `<?xml version="1.0"?><x:script xmlns:x="http://www.w3.org/1999/xhtml">${script}</x:script>`;
const pdf = `%PDF-1.4\n1 0 obj<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert\\(1\\))>>>>endobj\ntrailer<</Root 1 0 R>>`;

/** Served names and what lies under them: pages, pages under other names, and both at once. */
const contents: Readonly<Record<string, string>> = {
  'page.html': html,
  'page.htm': html,
  'drawing.svg': svg,
  'feed.xml': xml,
  'program.js': script,
  'letter.pdf': pdf,
  'note.txt': html,
  'photo.jpg': html,
  'photo.gif': `GIF89a/*${html}*/`,
  'sound.mp3': html,
  'style.css': html,
  'data.json': html,
  'table.csv': html,
  'text.md': html,
  'page.html.jpg': html,
};

describe.skipIf(chromium === undefined)(`served files in a browser${needsChromium}`, () => {
  let browser: BrowserContext;
  let close: () => Promise<void>;
  let url: string;
  const ran: string[] = [];
  const endings: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    ({ context: browser, close } = await openChromium());
    const router = createRouter(
      {
        sanitizeSvg: false,
        sources: { files: { title: 'Files', storageAdapter: 'memory', serve: 'protected' } },
      },
      {},
      quiet,
    );
    const server = createServer((request, response) => {
      if (request.url?.startsWith('/ran')) ran.push(decodeURIComponent(request.url));
      if (request.url?.startsWith('/file/') || request.method === 'POST')
        return void router.handler(request, response);
      response.setHeader('set-cookie', 'session=secret; SameSite=Lax');
      response.setHeader('content-type', 'text/html');
      response.end(request.url === '/control' ? html : '<!DOCTYPE html><title>host</title>');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    const form = new FormData();
    const all = {
      ...contents,
      'real.jpg': await sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } })
        .jpeg()
        .toBuffer(),
    };
    for (const [index, [name, content]] of Object.entries(all).entries())
      form.append(`files[${String(index)}]`, new Blob([content]), name);
    const stored = await fetch(`${url}/fileUpload`, { method: 'POST', body: form });
    expect(stored.status).toBe(200);
    endings.push(
      () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
      () => router.close(),
    );
  });
  afterAll(async () => {
    await close?.();
    for (const end of endings) await end();
  });

  it('a page of the host runs, so that the others are seen not to', async () => {
    const page = await browser.newPage();
    ran.length = 0;
    await page.goto(`${url}/control`);
    await expect.poll(() => ran).toContain('/ran?session=secret');
    await page.close();
  });

  it.each(shareOfDay(3, Object.keys(contents)))(
    '%s runs nothing, opened by itself, framed or embedded',
    async (name) => {
      const page = await browser.newPage();
      ran.length = 0;
      page.on('dialog', (dialog) => {
        ran.push(`dialog ${dialog.message()}`);
        void dialog.dismiss();
      });
      try {
        await page.goto(url);
        const file = `${url}/file/files/${name}`;
        await page.evaluate((address) => {
          for (const [tag, attribute] of [
            ['iframe', 'src'],
            ['embed', 'src'],
            ['object', 'data'],
            ['img', 'src'],
          ] as const) {
            const element = document.createElement(tag);
            element.setAttribute(attribute, address);
            document.body.append(element);
          }
        }, file);
        // A download ends the navigation with an error; there is nothing to open then.
        await page.goto(file).catch(() => undefined);
        await sleep(300);
        expect(ran).toEqual([]);
      } finally {
        await page.close();
      }
    },
  );

  it('pictures are shown in a page and by themselves', async () => {
    const page = await browser.newPage();
    await page.goto(url);
    const size = await page.evaluate(async (address) => {
      const image = new Image();
      image.src = address;
      await image.decode();
      return [image.naturalWidth, image.naturalHeight];
    }, `${url}/file/files/real.jpg`);
    expect(size).toEqual([30, 20]);
    await page.goto(`${url}/file/files/real.jpg`);
    expect(await page.evaluate(() => document.images[0]?.naturalWidth)).toBe(30);
    await page.close();
  });
});
