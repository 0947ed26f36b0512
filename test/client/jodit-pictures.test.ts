import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { HTTPRequest } from 'puppeteer-core';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { testInTurns } from '../before-release.ts';
import { chromium, needsChromium } from './chromium.ts';
import { eventually, inShadow } from './client.ts';
import type { EditorPage } from './editor-page.ts';
import { type JoinedPage, joinPage } from './joined-page.ts';
import { jpeg, png, writeFiles } from './pictures.ts';

const presets = {
  card: { width: 100, height: 100, fit: 'cover' },
  small: { width: 480, format: 'webp' },
  medium: { width: 1200, height: 1200, format: 'webp' },
} as const;

const test = testInTurns(2);

describe.skipIf(chromium === undefined)(`Pictures that Jodit inserts and uploads${needsChromium}`, () => {
  let joined: JoinedPage;
  let editor: EditorPage;

  beforeAll(async () => {
    const files = {
      'wide, at sea.jpg': await jpeg(1600, 900),
      'tall.jpg': await jpeg(600, 900),
      'tiny.jpg': await jpeg(300, 200),
    };
    joined = await joinPage(files, (root) => ({
      imagePresets: presets,
      signingSecret: 'a secret of at least thirty-two bytes',
      sources: {
        photos: { title: 'Photos', root, serve: 'public' },
        signed: { title: 'Signed', root, serve: 'signed' },
      },
    }));
    editor = await joined.visit({
      connection: { pictures: { srcset: true } },
      jodit: { imageDefaultWidth: 420 },
    });
  });
  afterEach(() => joined.putInFront());
  afterAll(() => joined.close());

  const insert = async (name: string, source = 'photos'): Promise<void> => {
    await editor.write('<p id="start"><br></p><p id="after">The text below.</p>');
    await editor.page.locator('#start').click();
    const picker = await editor.browse();
    await (await picker.branch(source === 'photos' ? 'Photos' : 'Signed')).click();
    await eventually(async () => (await picker.way())[0]).toBe(source === 'photos' ? 'Photos' : 'Signed');
    await (await picker.cell(name)).click({ count: 2 });
    await eventually(() => editor.picturesInText()).toHaveLength(1);
  };
  const parts = async (): Promise<Readonly<Record<string, string | null>>> =>
    editor.page.$eval('.jodit-wysiwyg img', (image) =>
      Object.fromEntries(
        ['srcset', 'sizes', 'width', 'height'].map((name) => [name, image.getAttribute(name)]),
      ),
    );

  /** What moves on a page with this text, on which the pictures arrive after it was painted. */
  const shifts = async (html: string): Promise<readonly number[]> => {
    const tab = await editor.page.browser().newPage();
    await tab.setCacheEnabled(false);
    await tab.goto(new URL('/stowage.css', editor.page.url()).href);
    const waiting: HTTPRequest[] = [];
    await tab.setRequestInterception(true);
    tab.on('request', (request) => waiting.push(request));
    await tab.evaluate((content) => {
      document.body.innerHTML = `<style>img { max-width: 100%; height: auto }</style>${content}`;
    }, html);
    const frames = () =>
      tab.evaluate(
        () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
      );
    await frames();
    await tab.evaluate(() => {
      const seen: number[] = [];
      Object.assign(window, { seen });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) seen.push((entry as unknown as { value: number }).value);
      }).observe({ type: 'layout-shift' });
    });
    await eventually(() => waiting.length).toBeGreaterThan(0);
    tab.off('request').on('request', (request) => void request.continue());
    for (const request of waiting) await request.continue();
    await tab.waitForFunction(() => [...document.images].every(({ naturalWidth }) => naturalWidth > 0));
    await frames();
    await frames();
    const seen = await tab.evaluate(() => (window as unknown as { seen: number[] }).seen);
    await tab.close();
    return seen;
  };

  test('give inserted pictures a srcset whose widths are real, and the page does not move', async () => {
    const { page } = editor;
    await insert('wide, at sea.jpg');
    const folder = '/connector/file/photos/_thumbs';
    await eventually(parts).toEqual({
      srcset: `${folder}/small/wide%2C%20at%20sea.jpg 480w, ${folder}/medium/wide%2C%20at%20sea.jpg 1200w`,
      sizes: '(max-width: 420px) 100vw, 420px',
      width: '420',
      height: '236',
    });
    expect(await editor.html()).toContain('srcset="');
    for (const candidate of (await parts())['srcset']?.split(', ') ?? []) {
      const [url = '', width = ''] = candidate.split(' ');
      const answer = await fetch(new URL(url, page.url()));
      expect((await sharp(Buffer.from(await answer.arrayBuffer())).metadata()).width).toBe(
        Number.parseInt(width, 10),
      );
    }
    await eventually(() =>
      page.$eval('.jodit-wysiwyg img', ({ complete, currentSrc }) => complete && currentSrc),
    ).toContain('/_thumbs/small/');
    const html = await editor.html();
    expect(await shifts(html)).toEqual([]);
    // The measure sees what would move without them.
    expect(await shifts(html.replaceAll(/ (?:width|height)="\d+"/gu, ''))).not.toEqual([]);
  });

  test('name no variant that is larger than the picture, and none that expires', async () => {
    await insert('tall.jpg');
    await eventually(async () => (await parts())['srcset']).toMatch(
      /small\/tall\.jpg 480w, \S*medium\/tall\.jpg 600w$/u,
    );
    joined.actions.length = 0;
    for (const [name, source] of [
      ['tiny.jpg', 'photos'],
      ['wide, at sea.jpg', 'signed'],
    ] as const) {
      await insert(name, source);
      // The last is the question for the variants.
      await eventually(() => joined.actions.at(-1)).toBe('files');
      expect((await parts())['srcset']).toBeNull();
    }
  });

  /** What has broken off, and the button that sends it again. */
  const broken = '>>> .uploads li.failure';
  const again = '.uploads li.failure .buttons > button:first-child';
  const press = async (selector: string): Promise<void> =>
    (await inShadow(editor.page, selector)).evaluate((button) => button.click());
  const upload = async (files: Readonly<Record<string, Buffer>>): Promise<void> => {
    const desktop = path.join(joined.photos, '../desktop');
    await writeFiles(desktop, files);
    await editor.drop('.jodit-wysiwyg', ...Object.keys(files).map((name) => path.join(desktop, name)));
  };

  test('get the words about them, picked and uploaded, or those of their names', async () => {
    const words = new URLSearchParams({ name: 'tiny.jpg', alt: 'A "tiny" door' });
    await fetch(new URL('/connector/fileDescribe', editor.page.url()), { method: 'POST', body: words });
    await insert('tiny.jpg');
    await eventually(() => editor.html()).toContain('alt="A &quot;tiny&quot; door"');
    await upload({ 'red-cat.jpg': await jpeg(64, 48), 'image.png': await png(60, 40) });
    const alts = (): Promise<string[]> =>
      editor.page.$$eval('.jodit-wysiwyg img', (all) => all.map(({ alt }) => alt));
    await eventually(alts).toHaveLength(3);
    await eventually(async () => (await alts()).sort()).toEqual(['', 'A "tiny" door', 'red cat']);
    expect(await editor.html()).toMatch(/\/image-\d{4}-\d\d-\d\d-\d{6}\.png"/u);
  });

  test('are sent again by one key when the connection was cut, and only those that did not arrive', async () => {
    const { page } = editor;
    const [one, two] = [await jpeg(640, 480, '#27ae60'), await jpeg(500, 400, '#8e44ad')];
    await editor.write('<p><br></p>');
    joined.putInFront(({ action }, response) => {
      if (action === 'fileUpload') response.destroy();
      return action === 'fileUpload';
    });
    await upload({ 'first.jpg': one, 'second.jpg': two });
    await eventually(async () => (await page.$$(broken)).length).toBe(2);
    const reason = await page.$(broken);
    expect(await reason?.evaluate((row) => row.textContent)).toContain('cannot be reached');
    // The first one has arrived, but its answer got lost.
    await writeFiles(joined.photos, { 'first.jpg': one });
    let release: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => (release = resolve));
    joined.putInFront(() => reached.then(() => false));
    joined.actions.length = 0;
    const names = async (): Promise<unknown> => (await editor.picturesInText()).map(({ name }) => name);
    await (await inShadow(page, again)).focus();
    await page.keyboard.press('Enter');
    await (await inShadow(page, again)).focus();
    release();
    // It is inserted while the user is at the other one.
    await eventually(names).toEqual(['first.jpg']);
    await page.keyboard.press('Enter');
    await eventually(names).toEqual(['first.jpg', 'second.jpg']);
    const stored = (await readdir(joined.photos)).filter((name) => /^(?:first|second)/u.test(name));
    expect(stored.sort()).toEqual(['first.jpg', 'second.jpg']);
    expect(await readFile(path.join(joined.photos, 'second.jpg'))).toEqual(two);
    expect(joined.actions.filter((action) => action === 'fileUpload')).toHaveLength(1);
    expect(await page.$$(broken)).toHaveLength(0);
  });

  test('leave the focus at a failed one when the others of its drop are inserted', async () => {
    const { page } = editor;
    await editor.write('<p><br></p>');
    let release: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => (release = resolve));
    joined.putInFront(async ({ action, body }, response) => {
      if (action !== 'fileUpload') return false;
      if (body.includes('sent.jpg')) await reached;
      else response.destroy();
      return !body.includes('sent.jpg');
    });
    await upload({ 'lost.jpg': await jpeg(64, 48), 'sent.jpg': await jpeg(80, 60) });
    await eventually(async () => (await page.$$(broken)).length).toBe(1);
    await (await inShadow(page, again)).focus();
    release();
    await eventually(async () => (await editor.picturesInText()).length).toBe(1);
    await eventually(() => page.$$('.stowage-notices:focus-within')).toHaveLength(1);
    joined.putInFront();
    await page.keyboard.press('Enter');
    await eventually(async () => (await editor.picturesInText()).length).toBe(2);
  });

  test('are not stored twice when they were stored under other names and the answer got lost', async () => {
    const { page } = editor;
    const others = await jpeg(70, 50, '#123456');
    await writeFiles(joined.photos, { 'scan.jpg': others });
    await editor.write('<p><br></p>');
    joined.actions.length = 0;
    joined.putInFront(({ action }, response) => {
      // A proxy that did not wait for the answer.
      const answer = response.writeHead.bind(response);
      const end = response.end.bind(response);
      if (action === 'fileUpload') {
        response.writeHead = () => answer(504, 'Gateway Timeout');
        response.end = () => end('<html></html>');
      }
      return false;
    });
    await upload({ 'scan.jpg': await jpeg(80, 50), 'plan #2; 50%.v1.jpg': await jpeg(90, 50) });
    await eventually(async () => (await page.$$(broken)).length).toBe(2);
    joined.putInFront();
    await press(again);
    await press(again);
    await eventually(async () => (await editor.picturesInText()).map(({ name }) => name).sort()).toEqual([
      'plan _2_ 50_.v1.jpg',
      'scan-1.jpg',
    ]);
    const stored = (await readdir(joined.photos)).filter((name) => /^(?:scan|plan)/u.test(name));
    expect(stored.sort()).toEqual(['plan _2_ 50_.v1.jpg', 'scan-1.jpg', 'scan.jpg']);
    expect(joined.actions.filter((action) => action === 'fileUpload')).toHaveLength(2);
    expect(await readFile(path.join(joined.photos, 'scan.jpg'))).toEqual(others);
  });

  test('are sent again where another file of the same name and length lies in the folder', async () => {
    const { page } = editor;
    const mine = await jpeg(64, 64, '#c0392b');
    const others = Buffer.from(mine);
    others[others.length - 3] = (others.at(-3) ?? 0) ^ 1;
    await writeFiles(joined.photos, { 'same.jpg': others });
    await editor.write('<p><br></p>');
    joined.putInFront(({ action }, response) => {
      if (action === 'fileUpload') response.writeHead(504, 'Gateway Timeout').end('<html></html>');
      return action === 'fileUpload';
    });
    await upload({ 'same.jpg': mine });
    await inShadow(page, '.uploads li.failure');
    joined.putInFront();
    await press(again);
    await eventually(async () => (await editor.picturesInText()).map(({ name }) => name)).toEqual([
      'same-1.jpg',
    ]);
    expect(await readFile(path.join(joined.photos, 'same-1.jpg'))).toEqual(mine);
    expect(await readFile(path.join(joined.photos, 'same.jpg'))).toEqual(others);
  });

  test('are sent again after 503 of a proxy, which is named, or given up', async () => {
    const { page } = editor;
    await editor.write('<p><br></p>');
    joined.putInFront(({ action }, response) => {
      if (action === 'fileUpload') response.writeHead(503, 'Service Unavailable').end('<html></html>');
      return action === 'fileUpload';
    });
    await upload({ 'third.jpg': await jpeg(90, 90) });
    await press(again);
    await eventually(() => page.$eval(broken, ({ textContent }) => textContent)).toContain(
      '503 Service Unavailable',
    );
    await press('.uploads [aria-label="Close"]');
    await eventually(async () => (await page.$$(broken)).length).toBe(0);
    expect(await readdir(joined.photos)).not.toContain('third.jpg');
    expect(await editor.picturesInText()).toEqual([]);
  });
});
