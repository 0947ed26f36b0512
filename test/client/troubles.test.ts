import { createServer, type RequestListener } from 'node:http';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import express, { type Express } from 'express';
import type { BrowserContext } from 'puppeteer-core';
import { createRouter, HttpError, type ConfigInput, type ConnectorHooks } from 'stowage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareOfDay, testInTurns } from '../before-release.ts';
import { chromium, openChromium, needsChromium, PATIENCE } from './chromium.ts';
import { eventually } from './client.ts';
import { EditorPage } from './editor-page.ts';
import { PickerPage } from './picker-page.ts';
import { jpeg } from './pictures.ts';

const jodit = path.join(import.meta.dirname, '../../node_modules/jodit/es2021');
const dist = path.join(import.meta.dirname, '../../packages/stowage/dist');

/** How the page makes its editor. */
interface PageOptions {
  /** By Jodit alone, as older pages do, with these options for its requests. */
  readonly plain?: { readonly method: 'GET' | 'POST' };
}

const pageFor = (url: string, { plain }: PageOptions): string => `<!doctype html>
  <title>Application</title>
  <link rel="stylesheet" href="/jodit/jodit.min.css">
  <link rel="stylesheet" href="/stowage/jodit.css">
  <button id="browse">Browse</button>
  <textarea id="editor"></textarea>
  <script src="/jodit/jodit.min.js"></script>
  <script src="/stowage/jodit.global.js"></script>
  <script>
    const url = ${JSON.stringify(url)};
    const plain = ${JSON.stringify(plain ?? null)};
    const editor = plain === null
      ? StowageJodit.connectJodit(Jodit, '#editor', { url })
      : Jodit.make('#editor', {
          filebrowser: { ajax: { url, ...plain } },
          uploader: { url, data: { action: 'fileUpload' } },
        });
    document.querySelector('#browse').onclick = () => editor.filebrowser.open();
  </script>`;

const withEditor = (app: Express): Express =>
  app.use('/jodit', express.static(jodit)).use('/stowage', express.static(dist));

const ends: (() => Promise<unknown>)[] = [];

const listen = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener).listen(0, 'localhost');
  await new Promise((resolve) => server.once('listening', resolve));
  ends.push(() => new Promise((resolve) => server.close(resolve).closeAllConnections()));
  return `http://localhost:${String((server.address() as AddressInfo).port)}`;
};

const warnings: string[] = [];

const routerWith = (config: ConfigInput, hooks?: ConnectorHooks) => {
  const memory = { title: 'Photos', storageAdapter: 'memory', serve: 'public' } as const;
  const logger = { debug() {}, info() {}, warn: (line: string) => void warnings.push(line), error() {} };
  const router = createRouter({ sources: { photos: memory }, ...config }, hooks, { logger });
  ends.push(() => router.close());
  return router;
};

/** An application with a page and a connector at `/connector`, and what a test puts before it. */
const host = async (
  config: ConfigInput,
  { hooks, before, ...page }: PageOptions & { hooks?: ConnectorHooks; before?: (app: Express) => void },
): Promise<string> => {
  const app = express();
  before?.(app);
  app.use('/connector', routerWith(config, hooks).handler);
  withEditor(app);
  app.get('/', (_request, response) => void response.send(pageFor('/connector/', page)));
  return listen(app);
};

const test = testInTurns(2);

describe.skipIf(chromium === undefined)(`What people read when something is wrong${needsChromium}`, () => {
  let browser: BrowserContext;
  let guide: string;

  beforeAll(async () => {
    const { context: launched, close } = await openChromium();
    browser = launched;
    ends.push(close);
    guide = await readFile(path.join(import.meta.dirname, '../../docs/trouble.md'), 'utf8');
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });

  /** Opens the page and its file browser; what it says then has to be a heading of the guide. */
  const open = async (url: string): Promise<EditorPage> => {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE);
    await page.setViewport({ width: 1280, height: 900 });
    await page.goto(url);
    await page.locator('#browse').click();
    return new EditorPage(page);
  };
  const expectToRead = async (editor: EditorPage, text: string, heading = text): Promise<void> => {
    const read = (): Promise<string> =>
      editor.page.$$eval('.jodit-ui-message, >>> :is(.notice, .state, .uploads li)', (boxes) =>
        boxes.map((box) => box.textContent.replaceAll(/[\u2068\u2069]/gu, '')).join('\n'),
      );
    await eventually(read).toContain(text);
    expect(guide).toContain(`## ${heading}`);
    await editor.page.close();
  };
  const upload = async (editor: EditorPage, name: string, content: Buffer | string): Promise<void> => {
    await new PickerPage(editor.page).opened();
    const field = await editor.page.waitForSelector('>>> input[type="file"]');
    await field?.evaluate(
      (input, fileName, text) => {
        const data = new DataTransfer();
        data.items.add(new File([Uint8Array.from(atob(text), (char) => char.charCodeAt(0))], fileName));
        input.files = data.files;
        input.dispatchEvent(new Event('change', { bubbles: true }));
      },
      name,
      Buffer.from(content).toString('base64'),
    );
  };

  it.each(
    shareOfDay(2, [
      ['by connectJodit', {}, 'The file service cannot be reached.'],
      ['by Jodit alone', { plain: { method: 'POST' } }, 'Connection error'],
    ] as const),
  )('a page of another origin, %s', async (_title, options, text) => {
    const other = express();
    other.use(routerWith({}).handler);
    const connector = await listen(other);
    const app = withEditor(express());
    app.get('/', (_request, response) => void response.send(pageFor(`${connector}/`, options)));
    const page = await listen(app);
    warnings.length = 0;
    await expectToRead(await open(page), text, 'Connection error, "The file service cannot be reached.');
    expect(warnings).toEqual([expect.stringContaining(`${page} asked; cross-origin`)]);
  });

  it.each(
    shareOfDay(2, [
      ['by connectJodit', {}, 'The server answered: Application'],
      ['by Jodit alone', { plain: { method: 'POST' } }, "Unexpected token '<'"],
    ] as const),
  )('a connector that is not there, %s', async (_title, options, text) => {
    const app = withEditor(express());
    // As applications of one page do: whatever is asked for, they answer with the page.
    app.use((_request, response) => void response.send(pageFor('/conector/', options)));
    await expectToRead(
      await open(await listen(app)),
      text,
      '"Unexpected token \'<\'", "The server answered: …',
    );
  });

  test('an upload that the proxy refuses', async () => {
    const refuse = (app: Express): void => {
      app.post('/connector/fileUpload', (request, response, next) => {
        if (!/multipart/u.test(request.headers['content-type'] ?? '')) return next();
        request.resume();
        response.status(413).type('html').send('<html>413 Request Entity Too Large</html>');
      });
    };
    const editor = await open(await host({}, { before: refuse }));
    await upload(editor, 'a.txt', 'hello');
    await expectToRead(editor, '413 Payload Too Large', '413');
  });

  test('a user who is not logged in', async () => {
    const hooks: ConnectorHooks = {
      checkAuthentication: () => {
        throw new HttpError(401, 'Please log in.');
      },
    };
    await expectToRead(await open(await host({}, { hooks })), 'Please log in.', '"Please log in."');
  });

  test('a rule that denies', async () => {
    const editor = await open(await host({ accessControl: [{ extensions: 'txt', FILE_UPLOAD: false }] }, {}));
    await upload(editor, 'a.txt', 'hello');
    await expectToRead(editor, 'Access denied.', '"Access denied."');
  });

  test('a file of another type, or too large', async () => {
    const url = await host({ extensions: ['jpg'], maxUploadFileSize: '1kb' }, {});
    const exe = await open(url);
    await upload(exe, 'a.exe', 'hello');
    await expectToRead(exe, 'files of this type are not allowed here', '"… this file type is not allowed."');
    const large = await open(url);
    await upload(large, 'a.jpg', await jpeg(400, 400));
    await expectToRead(large, 'is too large: at most 1 KB are allowed', '"… is too large');
  });

  test('GET with onlyPOST', async () => {
    const editor = await open(await host({ onlyPOST: true }, { plain: { method: 'GET' } }));
    await expectToRead(editor, 'This method is not allowed', '"This method is not allowed."');
  });

  test('a form that another parser has read', async () => {
    const readAll = (app: Express): void => {
      app.use((request, _response, next) => void request.resume().once('end', next));
    };
    const editor = await open(await host({}, { before: readAll }));
    await upload(editor, 'a.txt', 'hello');
    await expectToRead(editor, 'has read the body before', '"Something in this server has read the body');
  });

  test('a page that must not use the service', async () => {
    const editor = await open(
      await host(
        { allowCrossOrigin: true, allowedOrigins: ['https://www.example.com'], refuseCrossSite: true },
        {
          before: (app) => {
            // As a proxy that keeps the name of the host to itself, in a browser that reports nothing more.
            app.use((request, _response, next) => {
              delete request.headers['sec-fetch-site'];
              request.headers.host = '127.0.0.1:8081';
              next();
            });
          },
        },
      ),
    );
    await expectToRead(editor, 'This origin is not allowed.', '"This origin is not allowed."');
  });

  test('pictures whose address leads nowhere', async () => {
    const url = await host(
      {
        sources: {
          photos: { title: 'Photos', storageAdapter: 'memory', baseurl: '/nowhere/' },
        },
      },
      {},
    );
    const editor = await open(url);
    await upload(editor, 'a.jpg', await jpeg());
    const picker = new PickerPage(editor.page);
    await eventually(() => picker.names()).toEqual(['a.jpg']);
    const shown = await picker.thumbnails();
    expect(shown.map(({ width }) => width)).toEqual([0]);
    expect(guide).toContain('## Broken pictures');
    await editor.page.close();
  });
});
