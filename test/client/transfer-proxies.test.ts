import type { ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, open, readFile, rm, stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server as TcpServer,
} from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Browser, ElementHandle } from 'puppeteer-core';
import { createRouter, type Router } from 'stowage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endProcess, freePort } from '../../tools/test-servers/server-processes.ts';
import { hasNginx, needsNginx, startNginx } from '../docs/nginx-process.ts';
import { silent } from '../protocol/service.ts';
import { chromium, openChromium, needsChromium, PATIENCE } from './chromium.ts';

const root = path.join(import.meta.dirname, '../..');
const MB = 1024 * 1024;

const page = `<!doctype html><html lang="en"><title>Page</title><button id="browse">Browse</button>
  <script type="module">
    import { pickFiles } from '/picker.js';
    document.querySelector('#browse').onclick = () => pickFiles({ url: '/connector' });
    document.body.classList.add('ready');
  </script></html>`;

const digestOf = async (file: string): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
};

/** Slows a stream down: bytes a second, in steps of 50 ms. */
const throttle = (bytesPerSecond: number): Transform =>
  new Transform({
    transform(chunk: Buffer, _encoding, done) {
      setTimeout(() => done(null, chunk), (chunk.length / bytesPerSecond) * 1000);
    },
  });

/** How fast the slow line is, and after how long its requests are cut: 4 MB fit through one. */
const SLOW = { bytesPerSecond: 4 * MB, cutAfterMs: 1000 };

/**
 * A slow line whose connections are cut when a request takes too long: a new one begins when bytes come after an
 * answer.
 */
const startSlowLine = async (port: number): Promise<TcpServer> => {
  const server = createTcpServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    const end = (): void => {
      clearTimeout(timer);
      client.destroy();
      upstream.destroy();
    };
    let timer: NodeJS.Timeout | undefined;
    const line = throttle(SLOW.bytesPerSecond);
    client.on('data', () => {
      timer ??= setTimeout(end, SLOW.cutAfterMs);
    });
    upstream.on('data', () => {
      clearTimeout(timer);
      timer = undefined;
    });
    client.on('error', end).on('close', end);
    upstream.on('error', end).on('close', end);
    client.pipe(line).pipe(upstream);
    upstream.pipe(client);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
};

const isPossible = chromium !== undefined && hasNginx;

describe.skipIf(!isPossible)(`uploads of the picker${needsChromium}${needsNginx}`, () => {
  let folder: string;
  let router: Router;
  let server: Server;
  let nginx: ChildProcess;
  let slow: TcpServer;
  let browser: Browser;
  let closeBrowser: () => Promise<void>;
  const ports = { plain: 0, slow: 0, blocking: 0, denying: 0 };
  let methods: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'stowage-proxies-'));
    await mkdir(path.join(folder, 'files'));
    router = createRouter(
      {
        sources: { files: { title: 'Files', root: path.join(folder, 'files'), serve: 'public' } },
        stateDirectory: path.join(folder, 'state'),
        extensions: ['bin'],
        maxUploadFileSize: '400mb',
      },
      {},
      { basePath: '/connector', logger: silent },
    );
    server = createServer((request, response) => {
      const { url = '/', method = '' } = request;
      if (/^\/[\w-]+\.js$/u.test(url)) {
        response.writeHead(200, { 'content-type': 'text/javascript' });
        void readFile(path.join(root, 'packages/browser/dist', url)).then((code) => response.end(code));
      } else if (url.startsWith('/connector')) {
        methods.push(method);
        void router.handler(request, response);
      } else response.writeHead(200, { 'content-type': 'text/html' }).end(page);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const to = `proxy_pass http://127.0.0.1:${String((server.address() as AddressInfo).port)};`;
    for (const name of ['plain', 'blocking', 'denying'] as const) ports[name] = await freePort();
    const tuned = await freePort();
    const listen = (port: number): string => `listen 127.0.0.1:${String(port)};`;
    const http = `
      server { ${listen(ports.plain)} location / { ${to} } }
      server { ${listen(tuned)} client_max_body_size 0; location / { ${to} proxy_request_buffering off; } }
      server { ${listen(ports.blocking)} client_max_body_size 0;
        location / { if ($request_method !~ ^(GET|POST)$) { return 405; } ${to} } }
      server { ${listen(ports.denying)}
        location / { if ($request_method !~ ^(GET|POST)$) { return 403; } ${to} } }`;
    nginx = await startNginx(folder, http, () => fetch(`http://127.0.0.1:${String(ports.plain)}/`));
    slow = await startSlowLine(tuned);
    ports.slow = (slow.address() as AddressInfo).port;
    ({ browser, close: closeBrowser } = await openChromium());
  });

  afterAll(async () => {
    await closeBrowser();
    slow.close();
    await endProcess(nginx, 'SIGQUIT');
    server.close();
    server.closeAllConnections();
    await router.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** A file of noise, so that no part is like another. */
  const makeFile = async (name: string, bytes: number): Promise<string> => {
    const file = path.join(folder, name);
    const handle = await open(file, 'w');
    for (let left = bytes; left > 0; left -= MB) await handle.write(randomBytes(Math.min(MB, left)));
    await handle.close();
    return file;
  };

  const sizes = [
    ['1 KB', 1024],
    ['5 MB', 5 * MB],
    ['20 MB', 20 * MB],
  ] as const;
  const ways = ['plain', 'slow', 'blocking', 'denying'] as const;

  // What fits into one request passes each of them like the first.
  const uploads = ways.flatMap((way, index) =>
    sizes.slice(index === 0 ? 0 : 1).map(([size, bytes]) => [way, size, bytes] as const),
  );

  it.each(uploads)('arrive through the proxy "%s": %s', async (way, _, bytes) => {
    const name = `${way}-${String(bytes)}.bin`;
    const file = await makeFile(name, bytes);
    methods = [];
    const context = await browser.createBrowserContext();
    try {
      const opened = await context.newPage();
      opened.setDefaultTimeout(PATIENCE);
      await opened.goto(`http://127.0.0.1:${String(ports[way])}/`);
      await opened.waitForSelector('.ready');
      await opened.click('#browse');
      await opened.waitForSelector('>>> .picker');
      const field = await opened.waitForSelector('>>> input[type="file"]');
      await (field as ElementHandle<HTMLInputElement>).uploadFile(file);
      const stored = path.join(folder, 'files', name);
      const sizeOf = (): Promise<number> =>
        stat(stored).then(
          ({ size }) => size,
          () => -1,
        );
      await expect.poll(sizeOf, { timeout: 3 * PATIENCE, interval: 100 }).toBe(bytes);
      expect(await digestOf(stored)).toBe(await digestOf(file));
      if (way === 'blocking' || way === 'denying')
        expect(methods.filter((method) => method !== 'GET' && method !== 'POST')).toEqual([]);
      await rm(stored);
    } finally {
      await context.close();
      await rm(file);
    }
  });
});
