import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BrowserContext, ElementHandle, Page } from 'puppeteer-core';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRouter, type Logger, type Router } from 'stowage';
import {
  bundled,
  needsEditors,
  type Attributes,
  type Sample,
  samples,
  click,
  exampleOf,
  galleries,
} from './editor-samples.ts';
import { chromium, openChromium, needsChromium, PATIENCE } from './chromium.ts';
import { jpeg } from './pictures.ts';

const nothing = (): void => undefined;
const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

const form = { page: 'forms', html: 'field', area: '#picture' };

/** What is said below the pictures. */
const captions = { uploaded: 'The cat <b>of</b> the house', picked: 'A door & <b>its</b> frame' };

it.each([...samples, form])('$page: the example has at most ten lines besides imports', async ({ page }) => {
  const { js } = await exampleOf(page);
  const own = js.replaceAll(/^import .*$/gmu, '').split('\n');
  expect(own.filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(10);
});

describe.skipIf(chromium === undefined || needsEditors !== '')(
  `the examples of editors${needsChromium}${needsEditors}`,
  () => {
    let folder = '';
    let router: Router;
    let server: Server;
    let base = '';
    let browser: BrowserContext;
    let closeBrowser: () => Promise<void>;
    let opened: Page;
    let alerts: string[] = [];
    /** Gets the next upload, which is never answered then. */
    let hold: ((upload: IncomingMessage) => void) | undefined;
    /** Whether the connector rejects GET, as with `onlyPOST`. */
    let isPostOnly = false;
    /** By their paths: media type and text. */
    const served = new Map<string, readonly [type: string, text: string]>();

    const inPhotos = (...names: string[]): string => path.join(folder, 'photos', ...names);

    beforeAll(async () => {
      folder = await mkdtemp(path.join(tmpdir(), 'stowage-editors-'));
      const photos = {
        title: 'Photos',
        root: inPhotos(),
        serve: 'public' as const,
        extensions: ['jpg', 'png', 'pdf'],
      };
      router = createRouter(
        {
          sources: { photos },
          imagePresets: { half: { width: 320, height: 320, fit: 'inside' } },
          accessControl: [{ role: '*', path: '/closed', CHANGE: false }],
        },
        {},
        { basePath: '/connector', logger: silent },
      );
      await Promise.all(
        [...samples, form].map(async (sample) => {
          const { document, js } = await bundled(sample);
          served.set(`/${sample.page}`, ['text/html', document]);
          served.set(`/${sample.page}.js`, ['text/javascript', js]);
        }),
      );
      server = createServer((request, response) => {
        const url = request.url ?? '/';
        const [type, text] = served.get(url) ?? ['text/plain', ''];
        if (url === '/connector/fileUpload' && hold !== undefined) hold(request);
        else if (isPostOnly && request.method === 'GET' && url.startsWith('/connector/files'))
          response.writeHead(405).end();
        else if (url.startsWith('/connector')) void router.handler(request, response);
        else response.writeHead(200, { 'content-type': type }).end(text);
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      base = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
      ({ context: browser, close: closeBrowser } = await openChromium());
    });

    afterAll(async () => {
      await closeBrowser();
      server.close();
      server.closeAllConnections();
      await router.close();
      await rm(folder, { recursive: true, force: true });
    });

    beforeEach(async () => {
      hold = undefined;
      isPostOnly = false;
      await rm(inPhotos(), { recursive: true, force: true, maxRetries: 5 });
      await mkdir(inPhotos('closed'), { recursive: true });
      await writeFile(inPhotos('blue-door.jpg'), await jpeg(320, 240));
      const words = new URLSearchParams({ name: 'blue-door.jpg', caption: captions.picked });
      await fetch(`${base}/connector/fileDescribe`, { method: 'POST', body: words });
    });

    const open = async ({ page, area }: Pick<Sample, 'page' | 'area'>): Promise<void> => {
      for (const old of await browser.pages()) if (old.url() !== 'about:blank') await old.close();
      opened = await browser.newPage();
      opened.setDefaultTimeout(PATIENCE);
      alerts = [];
      opened.on('dialog', (dialog) => {
        alerts.push(dialog.message());
        void dialog.accept();
      });
      await opened.goto(`${base}/${page}`);
      await opened.waitForSelector(area);
    };

    /** The name of what has the focus. */
    const focus = (): Promise<string> =>
      opened.evaluate(() => {
        let active = document.activeElement;
        while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
        return active?.getAttribute('aria-label') ?? '';
      });

    /** Pastes a file where people type. */
    const paste = async (area: string, name: string, type: string, bytes: Buffer): Promise<void> => {
      const frame = await (await opened.$(area))?.contentFrame();
      const within = frame ?? opened;
      const target = frame === null || frame === undefined ? area : 'body';
      await within.waitForSelector(target);
      await within.focus(target);
      await within.$eval(
        target,
        (element, content, file, mime) => {
          const data = new DataTransfer();
          const all = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
          data.items.add(new File([all], file, { type: mime }));
          element.dispatchEvent(
            new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }),
          );
        },
        bytes.toString('base64'),
        name,
        type,
      );
    };

    /** Pastes or drops what is copied elsewhere, at a point of the text; then runs a script of the page. */
    const give = (
      kind: 'paste' | 'drop',
      area: string,
      {
        files,
        html,
        then = '',
      }: { files: readonly (readonly [string, Buffer])[]; html?: string; then?: string },
    ): Promise<unknown> =>
      opened.$eval(
        area,
        (text, names, contents, copied, script, isPaste) => {
          const data = new DataTransfer();
          for (const [index, name] of names.entries()) {
            const bytes = Uint8Array.from(atob(contents[index] ?? ''), (letter) => letter.charCodeAt(0));
            data.items.add(new File([bytes], name, { type: 'image/jpeg' }));
          }
          if (copied !== undefined) data.setData('text/html', copied);
          const init = { bubbles: true, cancelable: true };
          const { left: clientX, bottom } = (text.lastElementChild ?? text).getBoundingClientRect();
          (text.lastElementChild ?? text).dispatchEvent(
            isPaste
              ? new ClipboardEvent('paste', { ...init, clipboardData: data })
              : new DragEvent('drop', { ...init, dataTransfer: data, clientX, clientY: bottom - 2 }),
          );
          return void (0, eval)(script);
        },
        files.map(([name]) => name),
        files.map(([, bytes]) => bytes.toString('base64')),
        html,
        then,
        kind === 'paste',
      );

    const sampleOf = (name: string): Sample => {
      const sample = samples.find(({ page }) => page === name);
      if (sample === undefined) throw new Error(`There is no sample of ${name}.`);
      return sample;
    };

    /** The captions of the document, in its order. */
    const captionsIn = async (html: string): Promise<readonly string[]> =>
      opened.evaluate(async (expression) => {
        const template = document.createElement('template');
        template.innerHTML = String(await (0, eval)(expression));
        return [...template.content.querySelectorAll('figcaption, .fr-inner')].map((one) => one.textContent);
      }, html);

    /** The attributes of the pictures of the document, by the names of their files. */
    const pictures = async (html: string): Promise<Readonly<Record<string, Attributes>>> =>
      opened.evaluate(async (expression) => {
        const template = document.createElement('template');
        template.innerHTML = String(await (0, eval)(expression));
        return Object.fromEntries(
          [...template.content.querySelectorAll('img')].map((image) => [
            decodeURIComponent(image.getAttribute('src')?.split('/').pop() ?? ''),
            Object.fromEntries([...image.attributes].map(({ name, value }) => [name, value])),
          ]),
        );
      }, html);

    /** Picks `blue-door.jpg` in the picker that is about to open. */
    const pickDoor = async (): Promise<void> => {
      // The first entry of the list.
      await expect.poll(focus).toContain('closed');
      await opened.keyboard.press('b');
      await opened.keyboard.press('Enter');
      await opened.waitForSelector('stowage-picker', { hidden: true });
    };

    it.each(samples)('$page: uploads, picks, and says why a file is refused', async (sample) => {
      const {
        page,
        html,
        area,
        browse,
        confirm,
        said: tells,
        captions: kinds = [],
        kept = (all) => all,
      } = sample;
      await open(sample);
      const picture = sharp(await jpeg(640, 480));
      const bytes = await picture.withExif({ IFD0: { ImageDescription: captions.uploaded } }).toBuffer();
      await paste(area, 'red-cat.jpg', 'image/jpeg', bytes);
      const cat = kept({
        src: '/connector/file/photos/red-cat.jpg',
        alt: 'red cat',
        width: '640',
        height: '480',
      });
      await expect.poll(() => pictures(html), { message: page }).toMatchObject({ 'red-cat.jpg': cat });
      expect((await readFile(inPhotos('red-cat.jpg'))).equals(bytes)).toBe(true);

      const { srcset } = (await pictures(html))['red-cat.jpg'] ?? {};
      // Browsers show nothing that is not in the list.
      if (srcset !== undefined) expect(srcset).toMatch(/ 320w, \S*red-cat\.jpg 640w$/u);

      await browse(opened);
      await pickDoor();
      await confirm?.(opened);
      const door = kept({
        src: '/connector/file/photos/blue-door.jpg',
        alt: 'blue door',
        width: '320',
        height: '240',
      });
      await expect
        .poll(() => pictures(html), { message: page })
        .toMatchObject({ 'red-cat.jpg': cat, 'blue-door.jpg': door });
      const said = kinds.map((kind) => captions[kind]);
      await expect
        .poll(async () => [...(await captionsIn(html))].sort(), { message: page })
        .toEqual(said.sort());

      await paste(area, 'moving.gif', 'image/gif', Buffer.from('GIF89a'));
      const told = async (): Promise<string> =>
        tells === undefined
          ? alerts.join('\n')
          : (await opened.$$eval(tells, (all) => all.map((one) => one.textContent))).join('\n');
      await expect.poll(told, { message: page }).toContain('moving.gif');
      expect(await pictures(html)).not.toHaveProperty(['moving.gif']);
      expect((await readdir(inPhotos())).filter((name) => name.endsWith('.gif'))).toEqual([]);
    });

    it.each(['tiptap', 'summernote', 'froala', 'lexical', 'milkdown'])(
      '%s: rejects a file that is not a picture, and stores nothing',
      async (name) => {
        const { area, html } = sampleOf(name);
        await open(sampleOf(name));
        await paste(area, 'paper.pdf', 'application/pdf', Buffer.from('%PDF-1.4\n%%EOF'));
        await expect.poll(() => alerts.join('\n'), { message: name }).toContain('paper.pdf');
        expect(await pictures(html)).toEqual({});
        expect(await readdir(inPhotos())).not.toContain('paper.pdf');
      },
    );

    const three = (): Promise<(readonly [string, Buffer])[]> =>
      Promise.all(['one', 'two', 'three'].map(async (name) => [`${name}.jpg`, await jpeg(32, 24)] as const));

    it.each(['tiptap', 'quill', 'summernote', 'froala'])(
      '%s: inserts all pictures of a paste, in their order',
      async (name) => {
        const { area, html } = sampleOf(name);
        await open(sampleOf(name));
        await opened.click(area);
        await opened.keyboard.type('before after');
        for (let letter = 0; letter < 5; letter += 1) await opened.keyboard.press('ArrowLeft');
        await give('paste', area, { files: await three() });
        await expect
          .poll(async () => Object.keys(await pictures(html)), { message: name })
          .toEqual(['one.jpg', 'two.jpg', 'three.jpg']);
      },
    );

    it('suneditor: inserts all pictures of a paste into an empty document', async () => {
      const { area, html } = sampleOf('suneditor');
      await open(sampleOf('suneditor'));
      await give('paste', area, { files: await three() });
      // It asks for each by itself.
      await expect
        .poll(async () => Object.keys(await pictures(html)).sort())
        .toEqual(['one.jpg', 'three.jpg', 'two.jpg']);
    });

    it('tiptap: inserts a dropped picture where the cursor is, when the text was removed meanwhile', async () => {
      const { area, html } = sampleOf('tiptap');
      await open(sampleOf('tiptap'));
      await opened.evaluate('editor.commands.setContent("<p>A text of some words</p><p>and a second</p>")');
      const files = [['red-cat.jpg', await jpeg(64, 48)]] as const;
      await give('drop', area, { files, then: 'editor.commands.setContent("<p>A</p>")' });
      await expect.poll(async () => Object.keys(await pictures(html))).toEqual(['red-cat.jpg']);
    });

    it('tiptap: pastes the text of cells, without the picture of them', async () => {
      const { area, html } = sampleOf('tiptap');
      await open(sampleOf('tiptap'));
      const files = [['image.jpg', await jpeg(64, 48)]] as const;
      await give('paste', area, { files, html: '<table><tr><td>Oranges</td></tr></table>' });
      expect(await opened.evaluate('editor.getHTML()')).toBe('<p>Oranges</p>');
      // Uploads come in the order of the pastes.
      await give('paste', area, { files: [['last.jpg', await jpeg(64, 48)]] });
      await expect.poll(async () => Object.keys(await pictures(html))).toEqual(['last.jpg']);
      const stored = (await readdir(inPhotos())).filter((name) => name.endsWith('.jpg'));
      expect(stored.sort()).toEqual(['blue-door.jpg', 'last.jpg']);
    });

    it('quill: inserts a dropped picture where it is dropped', async () => {
      const { area } = sampleOf('quill');
      await open(sampleOf('quill'));
      await opened.evaluate('quill.setText("first\\nlast\\n"), quill.setSelection(0)');
      await give('drop', area, { files: [['red-cat.jpg', await jpeg(64, 48)]] });
      const text = (): Promise<unknown> =>
        opened.evaluate('quill.getContents().ops.map(({ insert }) => insert.image ?? insert).join("")');
      await expect.poll(text).toBe('first\n/connector/file/photos/red-cat.jpglast\n');
    });

    it('froala: uploads nothing more after it was destroyed', async () => {
      const { area } = sampleOf('froala');
      await open(sampleOf('froala'));
      const failures: string[] = [];
      opened.on('pageerror', (error) => failures.push(String(error)));
      const uploads: IncomingMessage[] = [];
      hold = (upload) => void uploads.push(upload);
      const files = [['red-cat.jpg', await jpeg(64, 48)]] as const;
      // An upload begins with it.
      const allowed = opened.waitForResponse((response) => response.url().endsWith('/connector/permissions'));
      await give('paste', area, { files, then: 'editor.destroy()' });
      await allowed;
      await opened.evaluate(async () => {
        for (let times = 0; times < 3; times += 1) await fetch('/connector/ping', { method: 'POST' });
      });
      expect([failures, alerts, uploads.length]).toEqual([[], [], 0]);
    });

    it.each([
      ['tinymce', 'tinymce.activeEditor.remove()'],
      ['ckeditor', 'editor.destroy()'],
    ])('%s: cancels an upload when its editor is removed', async (name, end) => {
      const { area } = sampleOf(name);
      await open(sampleOf(name));
      const failures: string[] = [];
      opened.on('pageerror', (error) => failures.push(String(error)));
      const held = new Promise<IncomingMessage>((resolve) => {
        hold = resolve;
      });
      await paste(area, 'red-cat.jpg', 'image/jpeg', await jpeg(64, 48));
      const { socket } = await held;
      const closed = once(socket, 'close');
      await opened.evaluate(`Promise.resolve(${end}).then(() => undefined)`);
      await closed;
      expect([failures, alerts], name).toEqual([[], []]);
    });

    it.each([
      ['tinymce', 'tinymce.activeEditor.remove()'],
      ['ckeditor', 'editor.destroy()'],
      ['froala', 'editor.destroy()'],
    ])('%s: the picker is closed when its editor is removed', async (name, end) => {
      const sample = sampleOf(name);
      await open(sample);
      await click(sample.area)(opened);
      await sample.browse(opened);
      await expect.poll(focus, { message: name }).toContain('closed');
      const failures: string[] = [];
      opened.on('pageerror', (error) => failures.push(String(error)));
      await opened.evaluate(`void ${end}`);
      await expect.poll(async () => (await opened.$$('>>> .picker')).length, { message: name }).toBe(0);
      expect(failures).toEqual([]);
    });

    it.each(galleries)('$page: its own browser of pictures lists and inserts', async (gallery) => {
      const sample = sampleOf(gallery.page);
      // That of SunEditor knows only GET.
      isPostOnly = gallery.page === 'froala';
      await writeFile(inPhotos('closed', 'not-here.jpg'), await jpeg(32, 24));
      await open(sample);
      await click(sample.area)(opened);
      for (const button of gallery.open) await click(button)(opened);
      const listed = (): Promise<string[]> =>
        opened.$$eval(gallery.listed, (all) => all.map(({ src }) => src.split('/').pop() ?? ''));
      await expect.poll(listed, { message: gallery.page }).toEqual(['blue-door.jpg']);
      await gallery.choose(opened);
      await expect
        .poll(() => pictures(sample.html), { message: gallery.page })
        .toMatchObject({ 'blue-door.jpg': { src: '/connector/file/photos/blue-door.jpg' } });
    });

    it('a form: its field gets the link of what is picked or uploaded', async () => {
      await open(form);
      const shown = (): Promise<(string | number)[]> =>
        opened.evaluate(() => {
          const { value } = document.querySelector<HTMLInputElement>('#picture') ?? {};
          const { alt, width, height } = document.querySelector<HTMLImageElement>('#preview') ?? {};
          return [value ?? '', alt ?? '', width ?? 0, height ?? 0];
        });
      await click('#browse')(opened);
      await pickDoor();
      await expect.poll(shown).toEqual(['/connector/file/photos/blue-door.jpg', 'blue door', 320, 240]);

      const local = path.join(folder, 'red-cat.jpg');
      await writeFile(local, await jpeg(640, 480));
      const input = await opened.waitForSelector('#file');
      await (input as ElementHandle<HTMLInputElement>).uploadFile(local);
      await expect.poll(shown).toEqual(['/connector/file/photos/red-cat.jpg', 'red cat', 640, 480]);
    });
  },
);
