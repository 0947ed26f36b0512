import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import type { Browser, Page } from 'puppeteer-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRouter, type Logger, type Router } from 'stowage';
import { chromium, launchChromium, needsChromium, PATIENCE } from './chromium.ts';
import { jpeg } from './pictures.ts';

const root = path.join(import.meta.dirname, '../..');

const nothing = (): void => undefined;
const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** The packages behind `ckeditor5`, which has 100 MB more that no example needs. */
const CKEDITOR = ['editor-classic', 'essentials', 'paragraph', 'image', 'link', 'ui'];

interface Sample {
  /** The page in `docs/editors`. */
  readonly page: string;
  /** An expression of the page for the document as HTML. */
  readonly html: string;
  /** Where people type. */
  readonly area: string;
  readonly browse: (page: Page) => Promise<void>;
  /** Ends the dialog of the editor after a file was picked. */
  readonly confirm?: (page: Page) => Promise<void>;
  /** What the editor says of a file that is refused; where absent it is in an alert. */
  readonly said?: string;
}

const click =
  (selector: string) =>
  async (page: Page): Promise<void> =>
    (await page.waitForSelector(selector))?.click();

const samples: readonly Sample[] = [
  {
    page: 'tinymce',
    html: 'tinymce.activeEditor.getContent()',
    area: '#editor_ifr',
    browse: async (page) => {
      await click('button[data-mce-name="image"]')(page);
      await click('.tox-dialog .tox-browse-url')(page);
    },
    confirm: async (page) => {
      await page.waitForFunction('document.querySelector(".tox-dialog input").value !== ""');
      await click('.tox-dialog button[data-mce-name="Save"]')(page);
    },
    said: '.tox-notification',
  },
  {
    page: 'ckeditor',
    html: 'editor.getData()',
    area: '.ck-content',
    browse: async (page) => {
      // Behind the picture, which is selected.
      await page.keyboard.press('Enter');
      await click('button[data-cke-tooltip-text="Choose files"]')(page);
    },
  },
  { page: 'tiptap', html: 'editor.getHTML()', area: '.tiptap', browse: click('#browse') },
  { page: 'quill', html: 'quill.root.innerHTML', area: '.ql-editor', browse: click('button.ql-image') },
  {
    page: 'summernote',
    html: 'editor.summernote("code")',
    area: '.note-editable',
    browse: click('button.browse'),
  },
];

/** The first example of a page: its program, and what of HTML it needs. */
const exampleOf = async (name: string): Promise<{ readonly js: string; readonly html: string }> => {
  const text = await readFile(path.join(root, 'docs/editors', `${name}.md`), 'utf8');
  const block = (language: string): string =>
    new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'msu').exec(text)?.[1] ?? '';
  return { js: block('js'), html: block('html') };
};

/** The page with its styles, and its program. */
const bundled = async ({
  page,
  html,
}: Sample): Promise<{ readonly document: string; readonly js: string }> => {
  const example = await exampleOf(page);
  const [instance = ''] = html.split('.');
  const { outputFiles } = await build({
    stdin: { contents: `${example.js}\nglobalThis.${instance} = ${instance};`, resolveDir: root },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    outdir: '/',
    logLevel: 'error',
    external: ['*.eot', '*.eot?#iefix', '*.woff', '*.woff2', '*.ttf'],
    plugins: [
      {
        name: 'ckeditor',
        setup: (building) => {
          building.onResolve({ filter: /^ckeditor5/ }, ({ path: name }) => ({
            path: name,
            namespace: 'ckeditor',
          }));
          building.onLoad({ filter: /./, namespace: 'ckeditor' }, ({ path: name }) => ({
            contents: name.endsWith('.css')
              ? ''
              : CKEDITOR.map((part) => `export * from '@ckeditor/ckeditor5-${part}';`).join('\n'),
            resolveDir: root,
          }));
        },
      },
    ],
  });
  const textOf = (ending: string): string =>
    outputFiles.find(({ path: name }) => name.endsWith(ending))?.text ?? '';
  const head = `<!doctype html><meta charset="utf-8"><style>${textOf('.css')}</style>`;
  const document = `${head}${example.html}<script type="module" src="/${page}.js"></script>`;
  return { document, js: textOf('.js') };
};

describe.skipIf(chromium === undefined)(`the examples of editors${needsChromium}`, () => {
  let folder = '';
  let router: Router;
  let server: Server;
  let base = '';
  let browser: Browser;
  let closeBrowser: () => Promise<void>;
  let opened: Page;
  let alerts: string[] = [];
  /** By their paths: media type and text. */
  const served = new Map<string, readonly [type: string, text: string]>();

  const inPhotos = (...names: string[]): string => path.join(folder, 'photos', ...names);

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'stowage-editors-'));
    const photos = {
      title: 'Photos',
      root: inPhotos(),
      serve: 'public' as const,
      extensions: ['jpg', 'png'],
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
    for (const sample of samples) {
      const { document, js } = await bundled(sample);
      served.set(`/${sample.page}`, ['text/html', document]);
      served.set(`/${sample.page}.js`, ['text/javascript', js]);
    }
    server = createServer((request, response) => {
      const url = request.url ?? '/';
      const [type, text] = served.get(url) ?? ['text/plain', ''];
      if (url.startsWith('/connector')) void router.handler(request, response);
      else response.writeHead(200, { 'content-type': type }).end(text);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    base = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
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
    await rm(inPhotos(), { recursive: true, force: true, maxRetries: 5 });
    await mkdir(inPhotos('closed'), { recursive: true });
    await writeFile(inPhotos('blue-door.jpg'), await jpeg(320, 240));
  });

  const open = async ({ page, area }: Sample): Promise<void> => {
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

  /** The attributes of the pictures of the document, by the names of their files. */
  const pictures = async (html: string): Promise<Readonly<Record<string, Record<string, string>>>> =>
    opened.evaluate((expression) => {
      const template = document.createElement('template');
      template.innerHTML = String((0, eval)(expression));
      return Object.fromEntries(
        [...template.content.querySelectorAll('img')].map((image) => [
          decodeURIComponent(image.getAttribute('src')?.split('/').pop() ?? ''),
          Object.fromEntries([...image.attributes].map(({ name, value }) => [name, value])),
        ]),
      );
    }, html);

  it.each(samples)('$page: uploads, picks, and says why a file is refused', async (sample) => {
    const { page, html, area, browse, confirm, said } = sample;
    await open(sample);
    const bytes = await jpeg(640, 480);
    await paste(area, 'red-cat.jpg', 'image/jpeg', bytes);
    const cat = { src: '/connector/file/photos/red-cat.jpg', alt: 'red cat', width: '640', height: '480' };
    await expect.poll(() => pictures(html), { message: page }).toMatchObject({ 'red-cat.jpg': cat });
    expect((await readFile(inPhotos('red-cat.jpg'))).equals(bytes)).toBe(true);

    const { srcset } = (await pictures(html))['red-cat.jpg'] ?? {};
    // Browsers show nothing that is not in the list.
    if (srcset !== undefined) expect(srcset).toMatch(/ 320w, \S*red-cat\.jpg 640w$/u);

    await browse(opened);
    // The first entry of the list.
    await expect.poll(focus, { message: page }).toContain('closed');
    await opened.keyboard.press('b');
    await opened.keyboard.press('Enter');
    await opened.waitForSelector('stowage-picker', { hidden: true });
    await confirm?.(opened);
    const door = {
      src: '/connector/file/photos/blue-door.jpg',
      alt: 'blue door',
      width: '320',
      height: '240',
    };
    await expect
      .poll(() => pictures(html), { message: page })
      .toMatchObject({ 'red-cat.jpg': cat, 'blue-door.jpg': door });

    await paste(area, 'moving.gif', 'image/gif', Buffer.from('GIF89a'));
    const told = async (): Promise<string> =>
      said === undefined
        ? alerts.join('\n')
        : (await opened.$$eval(said, (all) => all.map((one) => one.textContent))).join('\n');
    await expect.poll(told, { message: page }).toContain('moving.gif');
    expect(await pictures(html)).not.toHaveProperty(['moving.gif']);
    expect((await readdir(inPhotos())).filter((name) => name.endsWith('.gif'))).toEqual([]);
  });
});
