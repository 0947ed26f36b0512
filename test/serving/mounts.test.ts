import { getRequestListener } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { createRouter, HttpError, type HookRequest } from 'stowage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hosts, listening, quiet } from '../http/hosts.ts';

const withPhoto = async (): Promise<string> => {
  const root = await mkdtemp(join(tmpdir(), 'stowage-serving-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await writeFile(join(root, 'a b.txt'), 'hello');
  return root;
};

const configOf = async (more: object = {}) => ({
  ...more,
  sources: { 'my photos': { title: 'Photos', root: await withPhoto(), serve: 'public' as const } },
});

/** The base of a listing, asked for as the editor does: the action in the body, at the mount itself. */
const baseOf = async (url: string, action = ''): Promise<string> => {
  const body = new URLSearchParams({ action: 'files' });
  const response = await fetch(url + action, { method: 'POST', body });
  const { data } = (await response.json()) as { data: { sources: { baseurl: string }[] } };
  return data.sources[0]?.baseurl ?? '';
};

/** Files are served at the path that listings name, however the mount is written. */
const expectServed = async (url: string): Promise<void> => {
  for (const action of ['', '/', '/files']) {
    const base = await baseOf(url, action);
    const file = await fetch(new URL(`${base}a%20b.txt`, url));
    expect([action, file.status, await file.text()]).toEqual([action, 200, 'hello']);
  }
  const posted = await fetch(new URL(`${await baseOf(url)}a%20b.txt`, url), { method: 'POST' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
};

const serve = async (listener: RequestListener): Promise<string> => {
  const host = await listening(createServer(listener));
  onTestFinished(() => host.close());
  return host.url;
};

describe('files below a mount', () => {
  it('take no POST, which says nothing about protected ones; actions do, also below such a prefix', async () => {
    const sources = { members: { title: 'Members', root: await withPhoto(), serve: 'protected' as const } };
    const checkAuthentication = ({ headers }: HookRequest): string => {
      if (headers['x-user'] === undefined) throw new HttpError(401, 'Log in.');
      return 'user';
    };
    const router = createRouter({ sources }, { checkAuthentication }, quiet);
    onTestFinished(() => router.close());
    const send = async (path: string, headers: Record<string, string>, fields = {}) => {
      const init = { method: 'POST', headers, body: new URLSearchParams(fields) };
      const { status, headers: sent } = await router.fetch(
        new Request(`http://host/unknown/file/${path}`, init),
      );
      return [status, sent.get('allow')];
    };
    for (const path of ['members/a%20b.txt', 'members/missing.txt', 'nothing/a.txt']) {
      expect(await send(path, {})).toEqual([401, null]);
      expect(await send(path, { 'x-user': 'ann' })).toEqual([405, 'GET, HEAD, OPTIONS']);
      expect(await send(path, { 'x-user': 'ann' }, { action: 'files' })).toEqual([200, null]);
    }
  });

  // A host that cuts the prefix by itself keeps it to itself.
  const knowing = Object.entries(hosts).filter(([name]) => name !== 'node:http');
  it.each(knowing)('%s: listings name the path that the file is served at', async (_name, { start }) => {
    const host = await start(await configOf(), {});
    onTestFinished(() => host.close());
    await expectServed(host.url);
  });

  it('a host that cuts the prefix and keeps the whole URL, as Connect, Vite, Polka and h3 do', async () => {
    const { handler } = createRouter(await configOf(), {}, quiet);
    const url = await serve((request: IncomingMessage & { originalUrl?: string | undefined }, response) => {
      request.originalUrl = request.url;
      request.url = (request.url ?? '').replace(/^\/fb\/?/u, '/');
      void handler(request, response);
    });
    await expectServed(url);
    // Nuxt removes its base path, and leaves that of the route.
    await expectServed(`${url}/connector`);
  });

  it('a host that itself sends what is piped into its response, as h3 2.0.1-rc.2 in Nitro 3.0.0 does', async () => {
    const root = await withPhoto();
    const content = randomBytes(300_000);
    await writeFile(join(root, 'large.txt'), content);
    const sources = { photos: { title: 'Photos', root, serve: 'public' as const } };
    const { handler } = createRouter({ sources }, {}, quiet);
    const url = await serve((request, response) => {
      response.once('pipe', (stream: Readable) => void stream.on('data', (part) => response.write(part)));
      void handler(request, response);
    });
    for (const path of ['file/photos/large.txt', 'fileDownload?name=large.txt']) {
      const response = await fetch(new URL(`/${path}`, url));
      expect(content.equals(new Uint8Array(await response.arrayBuffer())), path).toBe(true);
    }
  });

  it('a host that cuts the prefix without a trace, with the base path', async () => {
    const config = await configOf();
    const { fetch: answer, handler } = createRouter(config, {}, { ...quiet, basePath: '/fb' });
    const hono = getRequestListener(new Hono().mount('/fb', answer).fetch);
    await expectServed(await serve((request, response) => void hono(request, response)));
    const cut: RequestListener = (request, response) => {
      request.url = (request.url ?? '').replace(/^\/fb\/?/u, '/');
      void handler(request, response);
    };
    await expectServed(await serve(cut));
  });

  it('a base path and a public URL say what a request cannot', async () => {
    const withBase = createRouter(await configOf(), {}, { ...quiet, basePath: '/api/connector' });
    const asked = await withBase.fetch(new Request('http://host/api/connector/files'));
    const { data } = (await asked.json()) as { data: { sources: { baseurl: string }[] } };
    expect(data.sources[0]?.baseurl).toBe('/api/connector/file/my%20photos/');
    const file = await withBase.fetch(new Request('http://host/api/connector/file/my%20photos/a%20b.txt'));
    expect([file.status, await file.text()]).toEqual([200, 'hello']);
    expect(withBase.urlFor('my photos', '/a b.txt')).toBe('/api/connector/file/my%20photos/a%20b.txt');

    const publicUrl = 'https://www.example.com/fb';
    const known = createRouter(await configOf({ publicUrl }), {}, quiet);
    const { data: seen } = (await (
      await known.fetch(new Request('http://inside/files'))
    ).json()) as typeof asked & {
      data: { sources: { baseurl: string }[] };
    };
    expect(seen.sources[0]?.baseurl).toBe(`${publicUrl}/file/my%20photos/`);
    expect(known.urlFor('my photos', 'a b.txt')).toBe(`${publicUrl}/file/my%20photos/a%20b.txt`);
    await Promise.all([withBase.close(), known.close()]);
  });

  it('links outside of requests have the public URL, else the base path, as those of listings do', async () => {
    const publicUrl = 'https://www.example.com/fb';
    const link = '/file/my%20photos/a%20b.txt';
    for (const [settings, expected] of [
      [{ publicUrl }, publicUrl],
      [{}, '/api/connector'],
    ] as const) {
      const options = { ...quiet, basePath: '/api/connector' };
      const router = createRouter(await configOf(settings), {}, options);
      const asked = await router.fetch(new Request('http://host/api/connector/files'));
      const { data } = (await asked.json()) as { data: { sources: { baseurl: string }[] } };
      expect(data.sources[0]?.baseurl).toBe(`${expected}/file/my%20photos/`);
      expect(router.urlFor('my photos', 'a b.txt', { base: undefined })).toBe(expected + link);
      expect(router.urlFor('my photos', 'a b.txt', { base: '/other/' })).toBe(`/other${link}`);
      const text = [expected, '/api/connector', '/other']
        .map((mount) => `<a href="${mount}${link}">`)
        .join('');
      expect(await router.linksIn(text, { base: undefined })).toHaveLength(2);
      expect(await router.linksIn(text, { base: '/other' })).toHaveLength(3);
      await router.close();
    }
  });

  it('links of files open at servers that decode only a part of an address, and at stores that read a plus as a space', async () => {
    const name = 'Smith & Sons, 2 @ $5 = 1:1.txt';
    const root = await withPhoto();
    await writeFile(join(root, name), 'hello');
    const off = { title: 'Static', root, serve: 'off' as const, baseurl: '/media/' };
    const router = createRouter(
      { sources: { off, own: { title: 'Own', root, serve: 'public' } } },
      {},
      quiet,
    );
    // Leaves the escapes of `decodeURI`, as sirv, @fastify/static and Astro 5 do.
    const files = serveStatic({
      root: relative(process.cwd(), root),
      rewriteRequestPath: (path) => path.replace(/^\/media/u, ''),
    });
    const app = new Hono().use('/media/*', files).mount('/', router.fetch);
    const listener = getRequestListener(app.fetch);
    const { origin } = new URL(await serve((request, response) => void listener(request, response)));
    for (const source of ['off', 'own']) {
      const response = await fetch(origin + router.urlFor(source, name));
      expect([source, response.status, await response.text()]).toEqual([source, 200, 'hello']);
    }
    // Links that were encoded by others still open.
    const encoded = await fetch(`${origin}/file/own/${encodeURIComponent(name)}`);
    expect(await encoded.text()).toBe('hello');
    expect(router.urlFor('off', 'a+b.txt')).toBe('/media/a%2Bb.txt');
    await router.close();
  });

  it('links in code are made for whole seconds, and for no others', async () => {
    const router = createRouter(await configOf(), {}, quiet);
    for (const lifetime of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => router.urlFor('my photos', 'a b.txt', { lifetime })).toThrow(/lifetime/u);
    }
    expect(router.urlFor('my photos', 'a b.txt', { lifetime: 1 })).toBe('/file/my%20photos/a%20b.txt');
    await router.close();
  });

  it.each([{ onlyPOST: false }, { onlyPOST: true }])(
    'names of protected sources stay unknown below an unknown prefix, with %o',
    async (settings) => {
      const secret = { title: 'Secret', root: await withPhoto(), serve: 'protected' as const };
      const deny = () => {
        throw new HttpError(401, 'Log in.');
      };
      const hooks = { checkAuthentication: deny };
      const open = { title: 'Open', root: await withPhoto(), serve: 'public' as const };
      const router = createRouter({ ...settings, sources: { secret, open } }, hooks, quiet);
      for (const method of ['GET', 'HEAD', 'POST', 'PUT']) {
        for (const rest of [
          '/',
          '/a%20b.txt',
          '/ping',
          '/files',
          '?action=files',
          '/a%20b.txt?action=files',
          '/file/open/a%20b.txt',
        ]) {
          const answers = ['secret', 'other'].map(async (name) => {
            const response = await router.fetch(
              new Request(`http://host/fb/file/${name}${rest}`, { method }),
            );
            const headers = Object.fromEntries(response.headers);
            return [response.status, await response.text(), { ...headers, 'x-request-id': '' }];
          });
          const [known, unknown] = await Promise.all(answers);
          expect(known, `${method} ${rest}`).toEqual(unknown);
        }
      }
      await router.close();
    },
  );

  it('a prefix with a segment "file" is no file, with actions and uploads in parts below it', async () => {
    const stateDirectory = await withPhoto();
    const router = createRouter(await configOf({ stateDirectory }), {}, quiet);
    const send = (url: string, init: RequestInit = {}) =>
      router.fetch(new Request(new URL(url, 'http://host/'), init));
    const tus = { 'tus-resumable': '1.0.0' };
    const headers = { ...tus, 'upload-length': '5', 'upload-metadata': `filename ${btoa('b.txt')}` };
    const created = await send('/api/file/tus', { method: 'POST', headers });
    const upload = new URL(created.headers.get('location') ?? '', 'http://host/api/file/tus').pathname;
    expect([created.status, upload]).toEqual([
      201,
      expect.stringMatching(/^\/api\/file\/tus\/[0-9a-f]{40}$/u),
    ]);
    expect((await send(upload, { method: 'HEAD', headers: tus })).headers.get('upload-offset')).toBe('0');
    const urls = ['/api/file/manager/files', '/api/file/manager/?action=files', '/api/file/ping'];
    for (const url of urls) expect([url, (await send(url)).status]).toEqual([url, 200]);
    const base = '/api/file/manager/file/my%20photos/';
    expect(await (await send(`${base}a%20b.txt`)).text()).toBe('hello');
    await router.close();
  });

  it('hosts in headers change nothing', async () => {
    const router = createRouter(await configOf(), {}, quiet);
    const headers = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-prefix': '/evil',
    };
    const text = await (await router.fetch(new Request('http://host/fb/files', { headers }))).text();
    expect(text).not.toContain('evil');
    await router.close();
  });
});
