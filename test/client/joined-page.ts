import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRouter, type ConfigInput, type Logger } from 'stowage';
import { openChromium, PATIENCE } from './chromium.ts';
import { EditorPage } from './editor-page.ts';
import { type Files, writeFiles } from './pictures.ts';

const root = path.join(import.meta.dirname, '../..');
const jodit = path.join(root, 'node_modules/jodit/es2021');

const parts: Readonly<Record<string, readonly [type: string, file: string]>> = {
  '/jodit.min.js': ['text/javascript', path.join(jodit, 'jodit.min.js')],
  '/jodit.min.css': ['text/css', path.join(jodit, 'jodit.min.css')],
  '/stowage.css': ['text/css', path.join(root, 'packages/browser/dist/jodit.css')],
  '/stowage.js': ['text/javascript', path.join(root, 'packages/browser/dist/jodit.global.js')],
};

/** The options of a page, as its script has them. */
export interface PageOptions {
  readonly language?: string;
  readonly connection?: object;
  readonly jodit?: object;
}

const pageOf = ({ language = 'en', connection = {}, jodit: options = {} }: PageOptions): string =>
  `<!doctype html><html lang="${language}"><meta charset="utf-8"><link rel="stylesheet" href="/jodit.min.css">
  <link rel="stylesheet" href="/stowage.css"><button id="browse">Browse</button><textarea id="editor"></textarea>
  <script src="/jodit.min.js"></script><script src="/stowage.js"></script><script>
  const editor = StowageJodit.connectJodit(Jodit, '#editor', ${JSON.stringify({ url: '/connector', ...connection })}, ${JSON.stringify(options)});
  document.querySelector('#browse').onclick = () => StowageJodit.browseFiles(editor); document.body.classList.add('ready');</script></html>`;

const nothing = (): void => undefined;
const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/**
 * What stands in front of the connector: true when it has answered, or cut the connection, itself. It may keep a request
 * back.
 */
export type Front = (
  sent: { action: string; body: Buffer },
  response: ServerResponse,
) => boolean | Promise<boolean>;

/** A page with an editor, and a connector behind a front that counts its requests. */
export interface JoinedPage {
  /** Holds the files of the source `photos`. */
  readonly photos: string;
  /** The actions that were asked for, in their order. */
  readonly actions: string[];
  /** Puts something in front of the connector; nothing without an argument. */
  putInFront(front?: Front): void;
  /** The methods of requests of uploads in parts, in their order; those go past the front. */
  readonly uploads: string[];
  /** Has the answers of the next so many parts lost, with their connections. */
  loseAnswers(parts: number): void;
  visit(options?: PageOptions): Promise<EditorPage>;
  close(): Promise<void>;
}

const actionOf = (url: string, body: Buffer): string => {
  const [, named] = /^\/connector\/(\w+)/u.exec(url) ?? [];
  if (named !== undefined) return named;
  const text = body.subarray(0, 100_000).toString('latin1');
  return /(?:name="action"\r\n\r\n|(?:^|&)action=)(\w+)/u.exec(text)?.[1] ?? '';
};

const handOn = async (
  to: string,
  { method = 'GET', url = '/', headers }: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): Promise<void> => {
  const { 'content-type': type = 'text/plain' } = headers;
  const answer = await fetch(to + url, {
    method,
    // Handed on as it is: fetch would unpack it, and its headers would say otherwise.
    headers: { 'accept-encoding': 'identity', ...(method === 'POST' ? { 'content-type': type } : {}) },
    ...(method === 'POST' ? { body: new Uint8Array(body) } : {}),
  });
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.end(Buffer.from(await answer.arrayBuffer()));
};

const listen = async (server: ReturnType<typeof createServer>): Promise<string> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
};

/** Starts the browser, the front and the connector with one source, `photos`, that serves its files. */
export const joinPage = async (files: Files, config: (root: string) => ConfigInput): Promise<JoinedPage> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'stowage-joined-'));
  const photos = path.join(folder, 'photos');
  await writeFiles(photos, files);
  const router = createRouter(config(photos), {}, { basePath: '/connector', logger: silent });
  const inner = createServer((request, response) => void router.handler(request, response));
  const innerUrl = await listen(inner);
  const actions: string[] = [];
  let front: Front | undefined;
  let options: PageOptions = {};
  const uploads: string[] = [];
  let lost = 0;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = request.url ?? '/';
    const part = parts[url];
    if (part !== undefined) {
      response.writeHead(200, { 'content-type': part[0] }).end(await readFile(part[1]));
      return;
    }
    if (!url.startsWith('/connector')) {
      response.writeHead(200, { 'content-type': 'text/html' }).end(pageOf(options));
      return;
    }
    if (url.startsWith('/connector/tus')) {
      uploads.push(request.method ?? '');
      // The service stores what has come, and nobody hears of it.
      if (request.method === 'PATCH' && lost-- > 0) response.writeHead = () => response.destroy();
      await router.handler(request, response);
      return;
    }
    const body = Buffer.concat(await request.toArray());
    const action = actionOf(url, body);
    if (request.method === 'POST') actions.push(action);
    if ((await front?.({ action, body }, response)) !== true) await handOn(innerUrl, request, body, response);
  };
  const outer = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const base = await listen(outer);
  const { context: browser, close } = await openChromium();
  return {
    photos,
    actions,
    putInFront: (wanted) => {
      front = wanted;
    },
    uploads,
    loseAnswers: (parts) => {
      lost = parts;
    },
    visit: async (wanted = {}) => {
      options = wanted;
      const page = await browser.newPage();
      page.setDefaultTimeout(PATIENCE);
      await page.setViewport({ width: 1280, height: 900 });
      await page.goto(base);
      await page.waitForSelector('body.ready');
      return new EditorPage(page);
    },
    close: async () => {
      await close();
      for (const server of [outer, inner]) {
        server.close();
        server.closeAllConnections();
      }
      await router.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
