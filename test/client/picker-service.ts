import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Viewport } from 'puppeteer-core';
import { createRouter, type ConfigInput, type ConnectorHooks, type Logger, type Router } from 'stowage';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { openChromium, type OpenedChromium, PATIENCE } from './chromium.ts';
import { PickerPage } from './picker-page.ts';
import { jpeg } from './pictures.ts';

const dist = path.join(import.meta.dirname, '../../packages/browser/dist');

const html = `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Page</title>
  <main><button id="browse">Browse</button><input id="field" aria-label="Address"></main>
  <script type="module">
    import { pickFiles, pickInto } from '/picker.js';
    const options = (more) => ({ url: '/connector', ...more, ...window.more });
    document.querySelector('#browse').onclick = async () => {
      window.picked = undefined;
      window.picked = await pickFiles(options({ several: true }));
    };
    window.fill = () => pickInto(document.querySelector('#field'), options());
    document.body.classList.add('ready');
  </script></html>`;

/** A service worker that sends every request by itself. */
const worker = 'onfetch = (event) => event.respondWith(fetch(event.request));';

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** What stands in front of the connector; true: it answers by itself, or never. */
type Proxy = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A page whose button opens the picker, in front of a service with three sources. */
export class PickerService {
  /** Holds `photos` (with `closed/kept.jpg`, `pets`, `one.jpg` and `two.jpg`), `papers` and `many`. */
  readonly folder: string;
  proxy: Proxy | undefined;
  /** Headers of the page, besides its type. */
  pageHeaders: Readonly<Record<string, string>> = {};
  /** The actions that were asked for. */
  requests: string[] = [];
  readonly #router: Router;
  readonly #server: Server;
  readonly #chromium: OpenedChromium;

  constructor(folder: string, chromium: OpenedChromium, config: ConfigInput, hooks: ConnectorHooks) {
    this.folder = folder;
    this.#chromium = chromium;
    const source = (title: string, name: string) => ({
      ...{ title, root: this.at(name), serve: 'public' as const, trash: { keepReplaced: true } },
    });
    this.#router = createRouter(
      {
        sources: {
          photos: source('Photos', 'photos'),
          papers: { ...source('Papers', 'papers'), serve: 'signed' },
          many: source('Many', 'many'),
        },
        imagePresets: { half: { width: 200, height: 200, fit: 'inside' } },
        stateDirectory: this.at('state'),
        signingSecret: 'a secret of the tests, and of nothing else',
        tus: {},
        accessControl: [{ role: '*', path: '/closed', CHANGE: false }],
        maxUploadFileSize: '20mb',
        ...config,
      },
      hooks,
      { basePath: '/connector', logger: silent },
    );
    this.#server = createServer((request, response) => void this.#respond(request, response));
  }

  async listen(): Promise<void> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
  }

  async close(): Promise<void> {
    await this.#chromium.close();
    this.#server.close();
    this.#server.closeAllConnections();
    await this.#router.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  at(...names: string[]): string {
    return path.join(this.folder, ...names);
  }

  inPhotos(...names: string[]): string {
    return this.at('photos', ...names);
  }

  async namesIn(...names: string[]): Promise<string[]> {
    const all = await readdir(this.inPhotos(...names));
    return all.filter((name) => !/^(?:\.|_thumbs)/u.test(name)).sort();
  }

  async reset(): Promise<void> {
    this.proxy = undefined;
    this.pageHeaders = {};
    this.requests = [];
    // A thumbnail may still be on its way there.
    await rm(this.at('photos'), { recursive: true, force: true, maxRetries: 5 });
    for (const name of ['photos/pets', 'photos/closed', 'papers', 'many'])
      await mkdir(this.at(name), { recursive: true });
    await writeFile(this.inPhotos('one.jpg'), await jpeg(640, 480));
    await writeFile(this.inPhotos('two.jpg'), await jpeg(320, 240));
    await writeFile(this.inPhotos('closed', 'kept.jpg'), await jpeg(32, 24));
  }

  /** Opens the page, and by the keyboard the picker. Of an answering service, the first entry has the focus then. */
  async open(more: object = {}, viewport: Viewport = { width: 1200, height: 800 }): Promise<PickerPage> {
    const page = await this.#chromium.context.newPage();
    page.setDefaultTimeout(PATIENCE);
    await page.setViewport(viewport);
    await page.goto(this.url);
    await page.waitForSelector('.ready');
    await page.evaluate((options) => {
      (window as unknown as { more: object }).more = options;
    }, more);
    await page.focus('#browse');
    await page.keyboard.press('Enter');
    const picker = new PickerPage(page);
    await picker.first('.picker');
    if (this.proxy === undefined) await picker.focused(() => picker.isOnEntry());
    return picker;
  }

  /** Lets the connector respond to a request that the proxy has held. */
  pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    return this.#router.handler(request, response);
  }

  async closePages(): Promise<void> {
    for (const page of await this.#chromium.context.pages()) {
      if (page.url() === 'about:blank') continue;
      // The next test begins as a new visitor.
      await page.evaluate(async () => {
        localStorage.clear();
        for (const one of await navigator.serviceWorker.getRegistrations()) await one.unregister();
      });
      await page.close();
    }
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? '/';
    if (url.startsWith('/connector')) {
      if (request.method === 'POST') this.requests.push(url.slice('/connector/'.length));
      if (this.proxy?.(request, response) !== true) await this.pass(request, response);
    } else if (url === '/worker.js')
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(worker);
    else if (/^\/[\w-]+\.js$/u.test(url)) {
      response.writeHead(200, { 'content-type': 'text/javascript' });
      response.end(await readFile(path.join(dist, url)));
    } else response.writeHead(200, { 'content-type': 'text/html', ...this.pageHeaders }).end(html);
  }
}

/** Prepares the service for the tests of the calling file, with settings beside its own. The function gives it. */
export const usePickerService = (
  config: ConfigInput = {},
  hooks: ConnectorHooks = {},
): (() => PickerService) => {
  let service: PickerService | undefined;
  const ready = (): PickerService => {
    if (service === undefined) throw new Error('The service is ready only inside a test.');
    return service;
  };
  beforeAll(async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'stowage-picker-'));
    service = new PickerService(folder, await openChromium(), config, hooks);
    await service.listen();
  });
  beforeEach(() => ready().reset());
  afterEach(() => ready().closePages());
  afterAll(() => service?.close());
  return ready;
};
