import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, ElementHandle, Page, Viewport } from 'puppeteer-core';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRouter, type Router } from 'stowage';
import { chromium, launchChromium, needsChromium, PATIENCE } from './chromium.ts';
import { jpeg } from './pictures.ts';

const root = path.join(import.meta.dirname, '../..');
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

const page = `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Page</title>
  <main><button id="browse">Browse</button><input id="field" aria-label="Address"><pre id="out"></pre></main>
  <script type="module">
    import { pickFiles, pickInto } from '/picker.js';
    const options = (more) => ({ url: '/connector', ...more, ...window.more });
    document.querySelector('#browse').onclick = async () => {
      window.picked = undefined;
      window.picked = await pickFiles(options({ several: true }));
    };
    document.querySelector('#field').onfocus = () => {};
    window.fill = () => pickInto(document.querySelector('#field'), options());
    document.body.classList.add('ready');
  </script></html>`;

/** What stands in front of the connector; true: it has answered by itself. */
type Proxy = (request: IncomingMessage, response: ServerResponse) => boolean;

describe.skipIf(chromium === undefined)(`the picker${needsChromium}`, () => {
  let folder = '';
  let router: Router;
  let server: Server;
  let browser: Browser;
  let closeBrowser: () => Promise<void>;
  let opened: Page;
  let proxy: Proxy | undefined;
  let requests: string[] = [];

  const inPhotos = (...names: string[]): string => path.join(folder, 'photos', ...names);
  const namesIn = async (...names: string[]): Promise<string[]> =>
    (await readdir(inPhotos(...names))).filter((name) => !/^(?:\.|_thumbs)/u.test(name)).sort();

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'stowage-picker-'));
    const source = (title: string, name: string) => ({
      title,
      root: path.join(folder, name),
      serve: 'public' as const,
      trash: { keepReplaced: true },
    });
    router = createRouter(
      {
        sources: {
          photos: source('Photos', 'photos'),
          papers: source('Papers', 'papers'),
          many: source('Many', 'many'),
        },
        imagePresets: { half: { width: 200, height: 200, fit: 'inside' } },
        stateDirectory: path.join(folder, 'state'),
        tus: {},
        accessControl: [{ role: '*', path: '/closed', CHANGE: false }],
        maxUploadFileSize: '20mb',
      },
      {},
      { basePath: '/connector' },
    );
    server = createServer((request, response) => {
      const url = request.url ?? '/';
      if (/^\/[\w-]+\.js$/u.test(url)) {
        response.writeHead(200, { 'content-type': 'text/javascript' });
        void readFile(path.join(root, 'packages/browser/dist', url)).then((code) => response.end(code));
      } else if (url.startsWith('/connector')) {
        if (request.method === 'POST') requests.push(url.slice('/connector/'.length));
        if (proxy?.(request, response) !== true) void router.handler(request, response);
      } else response.writeHead(200, { 'content-type': 'text/html' }).end(page);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ browser, close: closeBrowser } = await launchChromium());
  });

  afterAll(async () => {
    await closeBrowser();
    server.close();
    server.closeAllConnections();
    await router.close();
    await rm(folder, { recursive: true, force: true });
  });

  beforeEach(async () => {
    proxy = undefined;
    // A thumbnail may still be on its way there.
    await rm(path.join(folder, 'photos'), { recursive: true, force: true, maxRetries: 5 });
    await mkdir(inPhotos('pets'), { recursive: true });
    await mkdir(inPhotos('closed'), { recursive: true });
    await mkdir(path.join(folder, 'papers'), { recursive: true });
    await mkdir(path.join(folder, 'many'), { recursive: true });
    await writeFile(inPhotos('one.jpg'), await jpeg(640, 480));
    await writeFile(inPhotos('two.jpg'), await jpeg(320, 240));
    await writeFile(inPhotos('closed', 'kept.jpg'), await jpeg(32, 24));
  });

  /** Opens the page, and the picker by the keyboard. */
  const open = async (
    more: object = {},
    viewport: Viewport = { width: 1200, height: 800 },
  ): Promise<void> => {
    for (const old of await browser.pages()) if (old.url() !== 'about:blank') await old.close();
    opened = await browser.newPage();
    opened.setDefaultTimeout(PATIENCE);
    await opened.setViewport(viewport);
    await opened.goto(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`);
    await opened.waitForSelector('.ready');
    await opened.evaluate((options) => {
      (window as unknown as { more: object }).more = options;
    }, more);
    await opened.focus('#browse');
    await opened.keyboard.press('Enter');
    await opened.waitForSelector('>>> .picker');
    if (proxy === undefined)
      await focused((text) => text !== '' && !text.startsWith('Browse') && !text.startsWith('Files'));
  };

  const deep = (selector: string): Promise<ElementHandle[]> => opened.$$(`>>> ${selector}`);
  const textsOf = async (selector: string): Promise<string[]> =>
    Promise.all(
      (await deep(selector)).map((one) =>
        one.evaluate((element) => element.textContent.replaceAll(/[\u2066-\u2069]/gu, '')),
      ),
    );
  const first = async (selector: string): Promise<ElementHandle> => {
    const found = await opened.waitForSelector(`>>> ${selector}`);
    if (found === null) throw new Error(`${selector} is not there.`);
    return found;
  };

  /** The name of what has the focus. */
  const focus = (): Promise<string> =>
    opened.evaluate(() => {
      let active = document.activeElement;
      while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
      return active?.getAttribute('aria-label') ?? active?.textContent ?? '';
    });
  const focused = async (test: (text: string) => boolean): Promise<void> => {
    await expect.poll(async () => test(await focus())).toBe(true);
  };
  const onFile = (name: string): Promise<void> => focused((text) => text.startsWith(name));
  const press = async (...keys: string[]): Promise<void> => {
    for (const key of keys) {
      const parts = key.split('+');
      const last = parts.pop() ?? '';
      for (const part of parts) await opened.keyboard.down(part as 'Control');
      await opened.keyboard.press(last as 'Enter');
      for (const part of parts) await opened.keyboard.up(part as 'Control');
    }
  };
  const says = async (text: string): Promise<void> => {
    await expect.poll(async () => (await textsOf('.notice')).join('\n')).toContain(text);
  };
  /** Goes on by Tab until something of this name has the focus. */
  const tabTo = async (name: string): Promise<void> => {
    for (let steps = 0; steps < 40; steps += 1) {
      if ((await focus()).startsWith(name)) return;
      await press('Tab');
    }
    throw new Error(`Tab does not lead to ${name}.`);
  };
  const undo = async (): Promise<void> => {
    await tabTo('Undo');
    await press('Enter');
    await says('Undone.');
  };
  const shownNames = (): Promise<string[]> => textsOf('.cell .name');

  it('picks a picture by keys, with its size and its smaller variants, and gives the focus back', async () => {
    await open();
    expect(await focus()).toBe('closed Folder');
    await press('End');
    await onFile('two.jpg');
    await press('ArrowLeft', 'Enter');
    await expect
      .poll(() => opened.evaluate('window.picked'))
      .toMatchObject([
        {
          source: 'photos',
          path: '',
          name: 'one.jpg',
          isImage: true,
          width: 640,
          height: 480,
          mime: 'image/jpeg',
        },
      ]);
    const [{ url, srcset }] = (await opened.evaluate('window.picked')) as [{ url: string; srcset?: string }];
    expect(url).toBe('/connector/file/photos/one.jpg');
    const shown = await fetch(new URL(url, opened.url()));
    expect(Buffer.from(await shown.arrayBuffer()).equals(await readFile(inPhotos('one.jpg')))).toBe(true);
    for (const part of srcset?.split(', ') ?? []) {
      const [variant = '', width] = part.split(' ');
      const answer = await fetch(new URL(variant, opened.url()));
      expect(`${String((await sharp(await answer.arrayBuffer()).metadata()).width)}w`).toBe(width);
    }
    expect(await focus()).toBe('Browse');
  });

  it('answers nothing when it is closed, and fills a field of a form', async () => {
    await open();
    await press('Escape');
    await expect.poll(() => opened.evaluate('window.picked')).toEqual([]);
    await opened.evaluate('void window.fill()');
    await focused((text) => text.startsWith('closed'));
    await press('End', 'Enter');
    await expect
      .poll(() => opened.$eval('#field', (field) => (field as HTMLInputElement).value))
      .toBe('/connector/file/photos/two.jpg');
  });

  it('renames, removes, moves and copies by keys, and takes each back', async () => {
    await open();
    await press('End', 'F2');
    await expect.poll(() => textsOf('dialog h2')).toEqual(['Rename: two.jpg']);
    // The part before the extension is selected.
    await opened.keyboard.type('second');
    await press('Enter');
    await says('two.jpg is called second.jpg now.');
    await onFile('second.jpg');
    expect(await namesIn()).toEqual(['closed', 'one.jpg', 'pets', 'second.jpg']);
    await undo();
    expect(await namesIn()).toEqual(['closed', 'one.jpg', 'pets', 'two.jpg']);

    // The message has given the focus back to the list.
    await press('End');
    await onFile('two.jpg');
    await press('Delete');
    await expect.poll(() => textsOf('dialog h2')).toEqual(['Delete two.jpg?']);
    await press('Enter');
    await says('two.jpg was deleted.');
    expect(await namesIn()).toEqual(['closed', 'one.jpg', 'pets']);
    await undo();
    await expect.poll(() => namesIn()).toEqual(['closed', 'one.jpg', 'pets', 'two.jpg']);

    await expect.poll(shownNames).toEqual(['closed', 'pets', 'one.jpg', 'two.jpg']);
    await press('End', 'Control+x', 'Home', 'ArrowRight');
    await onFile('pets');
    await press('Enter');
    await expect.poll(() => textsOf('.step')).toEqual(['Photos', 'pets']);
    await focused((text) => text.startsWith('Files in'));
    await press('Control+v');
    await says('two.jpg was moved to pets.');
    expect([await namesIn(), await namesIn('pets')]).toEqual([['closed', 'one.jpg', 'pets'], ['two.jpg']]);
    await undo();
    await expect.poll(() => namesIn('pets')).toEqual([]);
    expect(await namesIn()).toContain('two.jpg');
  });

  it('makes a folder and copies into another source by keys, from the toolbar', async () => {
    await open();
    await tabTo('Upload');
    await press('ArrowRight');
    expect(await focus()).toBe('New folder');
    await press('Enter');
    await expect.poll(() => textsOf('dialog h2')).toEqual(['New folder']);
    await opened.keyboard.type('summer');
    await press('Enter');
    await says('The folder summer was created.');
    await onFile('summer');
    await press('End', ' ');
    await tabTo('Copy to…').catch(async () => {
      await (await first('[data-deed="copy"]')).focus();
    });
    await press('Enter');
    await expect.poll(() => textsOf('dialog h2')).toEqual(['Copy two.jpg to']);
    await focused((text) => text === 'Photos');
    await press('ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'End');
    await press('ArrowUp', 'Enter');
    await tabTo('Choose this folder');
    await press('Enter');
    await says('two.jpg was copied to Papers.');
    expect(await readdir(path.join(folder, 'papers'))).toContain('two.jpg');
    await undo();
    await expect
      .poll(async () => (await readdir(path.join(folder, 'papers'))).includes('two.jpg'))
      .toBe(false);
  });

  it('cuts and scales a picture by numbers, and asks for nothing when nothing is changed', async () => {
    await open();
    await press('End', 'ArrowLeft', ' ');
    const edit = async (): Promise<void> => {
      await (await first('[data-deed="edit"]')).evaluate((button) => (button as HTMLElement).click());
      await expect.poll(() => textsOf('dialog h2')).toEqual(['Edit one.jpg']);
    };
    await edit();
    requests = [];
    await tabTo('Save');
    // The first of this name saves as a new file.
    await press('Tab', 'Enter');
    await expect.poll(() => textsOf('dialog h2')).toEqual([]);
    expect(requests.filter((action) => action.startsWith('image'))).toEqual([]);
    await edit();
    const [, , width] = await deep('dialog .fields input');
    await width?.click({ count: 3 });
    await opened.keyboard.type('200');
    await press('Enter');
    await says('one.jpg was changed.');
    expect(await sharp(await readFile(inPhotos('one.jpg'))).metadata()).toMatchObject({
      width: 200,
      height: 480,
    });
    await undo();
    await expect
      .poll(async () => (await sharp(await readFile(inPhotos('one.jpg'))).metadata()).width)
      .toBe(640);
  });

  it('shows names as text', async () => {
    const name = '<img src=x onerror=alert(1)>&amp;.txt';
    await writeFile(inPhotos(name), 'text');
    await open();
    await expect.poll(shownNames).toContain(name);
    expect(await deep('.name img')).toEqual([]);
  });

  it('offers nothing that is denied', async () => {
    await open();
    await press('Enter');
    await expect.poll(shownNames).toEqual(['kept.jpg']);
    await press('Home', ' ');
    await expect.poll(() => textsOf('.chosen')).toEqual(['kept.jpg selected']);
    const offered = (await deep('[data-deed]')).map((button) =>
      button.evaluate((element) =>
        (element as HTMLElement).hidden ? '' : (element.getAttribute('data-deed') ?? ''),
      ),
    );
    expect((await Promise.all(offered)).filter((deed) => deed !== '')).toEqual([
      'download',
      'details',
      'trash',
    ]);
    await press('Delete', 'F2');
    expect(await deep('dialog.dialog')).toEqual([]);
  });

  it('keeps ten thousand entries out of the document, and shows the last', async () => {
    await Promise.all(
      Array.from({ length: 10_000 }, (_, index) =>
        writeFile(path.join(folder, 'many', `${String(index).padStart(5, '0')}.txt`), ''),
      ),
    );
    await open({ sources: ['many'] });
    await expect.poll(() => textsOf('.count')).toEqual(['10,000 items']);
    await press('End');
    await onFile('09999.txt');
    expect((await deep('.cell')).length).toBeLessThan(120);
    await rm(path.join(folder, 'many'), { recursive: true });
  });

  it('searches, and ends the search by Escape without closing', async () => {
    await writeFile(inPhotos('pets', 'one more.jpg'), await jpeg(20, 20));
    await open();
    await (await first('input[type="search"]')).focus();
    await opened.keyboard.type('one');
    await expect.poll(() => textsOf('.count')).toEqual(['2 results']);
    expect((await shownNames()).sort()).toEqual(['one more.jpg', 'one.jpg']);
    await press('Escape');
    await expect.poll(() => textsOf('.count')).toEqual(['4 items']);
  });

  it('searches all sources from any folder, and opens the folder of a result', async () => {
    const cellOf = async (name: string): Promise<ElementHandle> => {
      await expect.poll(shownNames).toContain(name);
      const cells = await deep('.cell');
      const cell = cells[(await shownNames()).indexOf(name)];
      if (cell === undefined) throw new Error(`${name} is not shown.`);
      return cell;
    };
    await writeFile(inPhotos('pets', 'one more.jpg'), await jpeg(20, 20));
    await open();
    await (await cellOf('pets')).click({ count: 2 });
    await cellOf('one more.jpg');
    await (await first('input[type="search"]')).focus();
    await opened.keyboard.type('one');
    await expect.poll(() => textsOf('.count')).toEqual(['1 result']);
    await (await first('select[part~="scope"]')).select('everywhere');
    await (await cellOf('one.jpg')).click({ button: 'right' });
    const items = await deep('[role="menuitem"]');
    const labels = await textsOf('[role="menuitem"]');
    await items[labels.indexOf('Open its folder')]?.click();
    await onFile('one.jpg');
    await expect.poll(() => textsOf('.count')).toEqual(['4 items']);
  });

  it('uploads what a proxy lets pass in small parts alone', async () => {
    const limit = 1024 * 1024;
    proxy = (request, response) => {
      if (Number(request.headers['content-length'] ?? 0) <= limit) return false;
      request.resume();
      response.writeHead(413, { 'content-type': 'text/html' }).end('<h1>413 Request Entity Too Large</h1>');
      return true;
    };
    const noise = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => (index * 7919) % 251));
    await writeFile(path.join(folder, 'large.txt'), noise);
    await open();
    const field = (await first('input[type="file"]')) as ElementHandle<HTMLInputElement>;
    await field.uploadFile(path.join(folder, 'large.txt'));
    await says('large.txt was uploaded.');
    expect((await readFile(inPhotos('large.txt'))).equals(noise)).toBe(true);
  });

  it('refuses before it sends what the folder does not take', async () => {
    await writeFile(path.join(folder, 'program.exe'), 'x');
    await open();
    requests = [];
    const field = (await first('input[type="file"]')) as ElementHandle<HTMLInputElement>;
    await field.uploadFile(path.join(folder, 'program.exe'));
    await says('program.exe: files of this type are not allowed here.');
    expect(requests.filter((action) => action.startsWith('fileUpload'))).toEqual([]);
  });

  it('says what is wrong when something else answers, and goes on when the connector is back', async () => {
    proxy = (request, response) => {
      request.resume();
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
      return true;
    };
    await open();
    await expect.poll(() => textsOf('.state p')).toEqual(['The server answered: 502 Bad Gateway']);
    proxy = undefined;
    await (await first('.state button')).evaluate((button) => (button as HTMLElement).click());
    await expect.poll(shownNames).toEqual(['closed', 'pets', 'one.jpg', 'two.jpg']);
  });

  it('works where the window is narrow: folders behind a button, a menu on each entry', async () => {
    await open({}, { width: 390, height: 844, isMobile: true, hasTouch: true });
    const drawer = await first('nav.folders');
    expect(await drawer.isVisible()).toBe(false);
    await (await first('.fold')).tap();
    expect(await drawer.isVisible()).toBe(true);
    const menus = await deep('.cell .item-menu');
    await menus.at(-1)?.tap();
    await expect.poll(() => textsOf('[role="menuitem"]')).toContain('Rename');
    await press('Escape');
    expect(await opened.evaluate(() => document.documentElement.scrollWidth <= 390)).toBe(true);
  });

  it('has nothing serious for a check of accessibility, in any state', async () => {
    await open();
    const check = async (state: string): Promise<void> => {
      await opened.addScriptTag({ path: axe });
      const found = await opened.evaluate(async () => {
        const { axe: checker } = window as unknown as {
          axe: {
            run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
          };
        };
        const { violations } = await checker.run();
        return violations
          .filter(({ impact }) => impact === 'serious' || impact === 'critical')
          .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' ')}`);
      });
      expect(found, state).toEqual([]);
    };
    await check('folder');
    await press('End', ' ');
    await check('selection');
    await (await first('[data-view="list"]')).evaluate((button) => (button as HTMLElement).click());
    await check('list');
    await press('F2');
    await check('question');
    await press('Escape');
    await (await first('[data-deed="edit"]')).evaluate((button) => (button as HTMLElement).click());
    await check('editor');
    await press('Escape');
    await (await first('[data-deed="trash"]')).evaluate((button) => (button as HTMLElement).click());
    await expect.poll(() => textsOf('dialog h2')).toEqual(['Trash of Photos']);
    await check('trash');
    await press('Escape');
    await opened.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
    await check('dark');
  });
});
