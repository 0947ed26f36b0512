import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { build } from 'esbuild';
import type { BrowserContext, Page } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRouter, type Router } from 'stowage';
import { chromium, openChromium, needsChromium, PATIENCE } from './chromium.ts';
import { eventually } from './client.ts';
import { EditorPage } from './editor-page.ts';
import { png } from './pictures.ts';

const root = path.join(import.meta.dirname, '../..');
const jodit = path.join(root, 'node_modules/jodit');

/** What the pages of these tests are made of, by their addresses. */
const files: Readonly<Record<string, string>> = {
  '/jodit.min.js': path.join(jodit, 'es2021/jodit.min.js'),
  '/jodit.min.css': path.join(jodit, 'es2021/jodit.min.css'),
  '/stowage.css': path.join(root, 'packages/browser/dist/jodit.css'),
  '/stowage.js': path.join(root, 'packages/browser/dist/jodit.js'),
  '/stowage.global.js': path.join(root, 'packages/browser/dist/jodit.global.js'),
};

const page = (script: string, html = '<html lang="en">'): string =>
  `<!doctype html>${html}<meta charset="utf-8"><link rel="stylesheet" href="/jodit.min.css"><link rel="stylesheet" href="/stowage.css">
  <button id="browse">Browse</button><textarea id="editor"></textarea>${script}</html>`;

const open = `window.editor = editor; document.querySelector('#browse').onclick = () => editor.filebrowser.open();
  document.body.classList.add('ready');`;

/** Pages by their addresses: a script tag, a module beside an import map, and what only a bundler resolves. */
const pages: Readonly<Record<string, string>> = {
  '/global': page(`<script src="/jodit.min.js"></script><script src="/stowage.global.js"></script>
    <script>const editor = StowageJodit.connectJodit(Jodit, '#editor', { url: '/connector' }, { minHeight: 321 }); ${open}</script>`),
  '/module': page(`<script src="/jodit.min.js"></script>
    <script type="importmap">{ "imports": { "stowage/jodit": "/stowage.js" } }</script>
    <script type="module">import { joditConfig } from 'stowage/jodit';
    const config = joditConfig({ url: '/connector', headers: async () => ({ 'X-Token': 'secret' }), pictures: { size: false } },
      { events: { afterInit: () => document.body.classList.add('own') } });
    const editor = Jodit.make('#editor', config); ${open}</script>`),
  '/arabic': page(
    `<script src="/jodit.min.js"></script><script src="/stowage.global.js"></script>
    <script>const editor = StowageJodit.connectJodit(Jodit, '#editor', { url: '/connector' }); ${open}</script>`,
    '<html lang="ar" dir="rtl">',
  ),
  '/folder': page(`<script src="/jodit.min.js"></script><script src="/stowage.global.js"></script>
    <script>const editor = StowageJodit.connectJodit(Jodit, '#editor', { url: '/connector' },
      { uploader: { data: { source: 'more', path: 'news' } } }); ${open}</script>`),
  // As `v-model` of Vue does.
  '/bound': page(`<script src="/jodit.min.js"></script><script src="/stowage.global.js"></script>
    <script>const editor = StowageJodit.connectJodit(Jodit, '#editor', { url: '/connector' });
    let html = ''; const write = () => { if (editor.value !== html) editor.value = html; };
    editor.events.on('change', (changed) => { html = changed; queueMicrotask(write); }); ${open}</script>`),
  '/two':
    page(`<textarea id="other"></textarea><script src="/jodit.min.js"></script><script src="/stowage.global.js"></script>
    <script>window.editors = ['#editor', '#other'].map((id) => StowageJodit.connectJodit(Jodit, id, { url: '/connector' }));
    document.body.classList.add('ready');</script>`),
  '/bundle': page('<script src="/bundle.js"></script>'),
};

const bundle = `import { Jodit } from 'jodit'; import { connectJodit } from 'stowage/jodit';
  for (const id of ['#editor', document.body.appendChild(document.createElement('textarea'))]) connectJodit(Jodit, id, { url: '/connector' });
  document.body.classList.add('ready');`;

describe.skipIf(chromium === undefined)(`stowage/jodit in pages of its own${needsChromium}`, () => {
  let router: Router;
  let server: Server;
  let browser: BrowserContext;
  let closeBrowser: () => Promise<void>;
  let base = '';
  /** What stands in front of the connector and answers itself, for one request. */
  let proxy: { readonly status: number; readonly reason: string; readonly body: string } | undefined;
  const tokens: (string | undefined)[] = [];

  const sendFile = async (url: string): Promise<string | Buffer | undefined> => {
    if (url === '/bundle.js') {
      const { outputFiles } = await build({
        stdin: { contents: bundle, resolveDir: root },
        bundle: true,
        write: false,
        format: 'iife',
        loader: { '.svg': 'text' },
      });
      return outputFiles[0]?.text;
    }
    const file = /^\/(?:texts\/\w+\.json|\w+-[A-Z0-9]{8}\.js)$/u.test(url)
      ? path.join(root, 'packages/browser/dist', url)
      : files[url];
    return pages[url] ?? (file === undefined ? undefined : readFile(file).catch(() => undefined));
  };

  beforeAll(async () => {
    const trash = { retentionDays: 1 };
    const writable = { title: 'Bilder', storageAdapter: 'memory', serve: 'public', trash } as const;
    const sources = { pictures: writable, more: { ...writable, title: 'Mehr' } };
    router = createRouter({ sources }, {}, { basePath: '/connector' });
    server = createServer((request, response) => {
      const url = request.url ?? '/';
      if (!url.startsWith('/connector')) {
        const type = url.endsWith('.css')
          ? 'text/css'
          : url.endsWith('.js')
            ? 'text/javascript'
            : 'text/html';
        void sendFile(url).then((content) =>
          response.writeHead(content === undefined ? 404 : 200, { 'content-type': type }).end(content),
        );
        return;
      }
      if (request.method === 'POST') tokens.push(request.headers['x-token'] as string | undefined);
      if (proxy !== undefined && request.method === 'POST') {
        const { status, reason, body } = proxy;
        request.resume().on('end', () => {
          response.writeHead(status, reason, { 'content-type': 'text/html' }).end(body);
        });
        return;
      }
      void router.handler(request, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    base = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    const form = new FormData();
    form.append('files[0]', new Blob([new Uint8Array(await png(300, 200))]), 'one.png');
    const stored = await fetch(`${base}/connector/fileUpload`, { method: 'POST', body: form });
    expect(stored.status).toBe(200);
    ({ context: browser, close: closeBrowser } = await openChromium());
  });
  afterAll(async () => {
    await closeBrowser();
    server.close();
    server.closeAllConnections();
    await router.close();
  });

  const visit = async (url: string, before?: (page: Page) => void): Promise<EditorPage> => {
    const opened = await browser.newPage();
    opened.setDefaultTimeout(PATIENCE);
    await opened.setViewport({ width: 1200, height: 800 });
    before?.(opened);
    await opened.goto(`${base}${url}`);
    await opened.waitForSelector('body.ready');
    return new EditorPage(opened);
  };

  test('works by a script tag, with options of the page beside ours', async () => {
    const editor = await visit('/global');
    const picker = await editor.browse();
    await (await picker.cell('one.png')).click({ count: 2 });
    await eventually(() => editor.html()).toMatch(
      /<img src="\/connector\/file\/pictures\/one\.png" width="300" height="200" alt="one">/u,
    );
    expect(await editor.page.$eval('.jodit-container', (box) => (box as HTMLElement).style.minHeight)).toBe(
      '321px',
    );
    await editor.page.close();
  });

  test('completes pictures in an editor to which the page writes back each change', async () => {
    const editor = await visit('/bound');
    const picker = await editor.browse();
    await (await picker.cell('one.png')).click({ count: 2 });
    await eventually(() => editor.html()).toMatch(/<img [^>]* width="300" height="200" alt="one">/u);
    await editor.page.close();
  });

  test('works as a module with joditConfig, asynchronous headers and an event of the page', async () => {
    tokens.length = 0;
    const editor = await visit('/module');
    const picker = await editor.browse();
    expect(await editor.page.$('body.own')).not.toBeNull();
    expect(new Set(tokens)).toEqual(new Set(['secret']));
    await (await picker.cell('one.png')).click({ count: 2 });
    await eventually(() => editor.html()).toMatch(/<img src="[^"]+" width="300" alt="one">/u);
    await editor.page.close();
  });

  test("shows the reason of an answer that is not the connector's, and nothing of JSON", async () => {
    const editor = await visit('/global');
    const picker = await editor.browse();
    const refusals = [
      { status: 413, reason: 'Request Entity Too Large', body: '<html><title>413</title></html>' },
      { status: 502, reason: 'Bad Gateway', body: '<html><title>502 Bad Gateway</title></html>' },
      { status: 200, reason: 'OK', body: '<!doctype html><title>Please log in</title>' },
      { status: 429, reason: '', body: '{"message":"Too fast"}' },
      { status: 200, reason: 'OK', body: '{"success":tr' },
    ];
    const words = [
      'The server answered: 413 Request Entity Too Large',
      'The server answered: 502 Bad Gateway',
      'The server answered: Please log in',
      'The server answered: Too fast',
      'The response of the server cannot be read.',
    ];
    for (const [index, refusal] of refusals.entries()) {
      proxy = refusal;
      await picker.click('.step');
      await eventually(() => picker.texts('.state p')).toEqual([words[index]]);
    }
    await picker.press('Escape');
    for (const [index, refusal] of refusals.entries()) {
      proxy = refusal;
      await editor.drop('.jodit-wysiwyg', files['/jodit.min.css'] ?? '');
      const failure = '.uploads li.failure';
      await eventually(() => picker.texts(`${failure} .line`)).toEqual([
        `jodit.min.css was not uploaded. ${words[index] ?? ''}`,
      ]);
      await picker.click(`${failure} [aria-label="Close"]`);
      await eventually(() => picker.texts(failure)).toEqual([]);
    }
    proxy = undefined;
    await editor.page.close();
  });

  test('uploads into the folder that `data` of the uploader names', async () => {
    const folder = new URLSearchParams({ source: 'more', name: 'news' });
    await fetch(`${base}/connector/folderCreate`, { method: 'POST', body: folder });
    const editor = await visit('/folder');
    await editor.drop('.jodit-wysiwyg', files['/jodit.min.css'] ?? '');
    await eventually(() => editor.html()).toContain('href="/connector/file/more/news/jodit.min.css"');
    await editor.page.close();
  });

  test('shows the messages of two editors one below the other', async () => {
    const editor = await visit('/two');
    await editor.page.evaluate(() => {
      const { editors } = window as unknown as { editors: { message: { info(text: string): void } }[] };
      editors.forEach(({ message }, index) => message.info(`Message ${String(index)}`));
    });
    await eventually(() => editor.messages()).toEqual(['info: Message 0', 'info: Message 1']);
    // They slide to their places.
    await eventually(async () => {
      const [one, other] = await Promise.all(
        (await editor.page.$$('>>> .notice')).map((notice) => notice.boundingBox()),
      );
      return (one?.y ?? 0) + (one?.height ?? 0) <= (other?.y ?? 0);
    }).toBe(true);
    await editor.page.close();
  });

  test('is written from right to left in Arabic, and asks the connector for that language', async () => {
    const languages = new Set<string | undefined>();
    // Of this page alone: the server may still get requests of the one before.
    const editor = await visit('/arabic', (opened) =>
      opened.on('request', (request) => {
        if (request.method() === 'POST') languages.add(request.headers()['accept-language']);
      }),
    );
    // In other languages than English Jodit is ready a moment later.
    await editor.page.waitForSelector('.stowage-notices');
    const picker = await editor.browse();
    const direction = (selector: string): Promise<string> =>
      editor.page.$eval(selector, (element) => getComputedStyle(element).direction);
    for (const part of ['>>> .picker', '>>> .edge', '.jodit-wysiwyg'])
      expect([part, await direction(part)]).toEqual([part, 'rtl']);
    const [tree, list] = await Promise.all(
      ['.folders', '.content'].map(async (part) => (await (await picker.first(part)).boundingBox())?.x ?? 0),
    );
    expect(tree).toBeGreaterThan(list ?? Infinity);
    expect([...languages]).toEqual(['ar']);
    await editor.page.close();
  });

  test('warns once when a bundler has left plugins out, and names the import', async () => {
    const warnings: string[] = [];
    const editor = await visit('/bundle', (opened) =>
      opened.on('console', (message) => {
        if (message.text().includes('stowage/jodit')) warnings.push(message.text());
      }),
    );
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("import 'jodit/esm/plugins/all.js'");
    await editor.page.close();
  });
});
