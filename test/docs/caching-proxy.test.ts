import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createApp, type App } from 'stowage';
import { SourcePath, type StorageAdapter } from 'stowage/storage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memoryFactory } from '#internals';
import { nginxPurge, purging } from '../../examples/purging.ts';
import { quiet } from '../http/hosts.ts';
import { endProcess } from '../../tools/test-servers/server-processes.ts';
import { hasNginx, needsNginx, startNginx } from './nginx-process.ts';

/** A store that makes a new URL every time, as buckets do. */
const linkingStore = () => {
  let links = 0;
  return {
    create: async (): Promise<StorageAdapter> => {
      const context = { options: undefined, root: undefined, sourceName: 'store', log: quiet.logger };
      const store: StorageAdapter = await memoryFactory.create(context);
      await store.write(SourcePath.parse('a.txt'), Readable.from([Buffer.from('one')]));
      store.temporaryUrl = () => {
        links += 1;
        return Promise.resolve(`https://store.test/a.txt?signature=${String(links)}`);
      };
      return store;
    },
  };
};

describe.skipIf(!hasNginx)(`a proxy that caches what it may${needsNginx}`, () => {
  let folder: string;
  let root: string;
  let app: App;
  let nginx: ChildProcess;

  const ask = async (path: string, method = 'GET', headers = {}) => {
    const outgoing = request({ socketPath: join(folder, 'nginx.sock'), path, method, headers });
    outgoing.end();
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    const { 'x-cache': cache, location } = answer.headers;
    return { status: answer.statusCode, cache, location, body: await text(answer) };
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'stowage-cache-'));
    root = await mkdtemp(join(tmpdir(), 'stowage-cached-'));
    await writeFile(join(root, 'a.txt'), 'one');
    app = createApp(
      {
        signingSecret: 'k'.repeat(32),
        allowCrossOrigin: true,
        sources: {
          open: { title: 'Open', root, serve: 'public' },
          kept: { title: 'Kept', root, serve: 'public', serveCacheControl: 'public, max-age=86400' },
          signed: { title: 'Signed', root, serve: 'signed' },
          store: { title: 'Store', storageAdapter: 'linking', serve: 'public', delivery: 'redirect' },
        },
      },
      { onEvent: purging(nginxPurge(join(folder, 'long')), { most: 10, origin: 'https://www.example.com' }) },
      { ...quiet, storageAdapters: { linking: linkingStore() } },
    );
    const { port } = await app.listen(0, '127.0.0.1');
    const http = `
      proxy_cache_path ${join(folder, 'cache')} keys_zone=files:1m;
      proxy_cache_path ${join(folder, 'long')} levels=1:2 keys_zone=long:1m;
      server {
        listen unix:${join(folder, 'nginx.sock')};
        location /file/kept/ {
          proxy_pass http://127.0.0.1:${String(port)};
          proxy_cache long;
          proxy_cache_key $uri;
          proxy_ignore_headers Vary;
          proxy_set_header Origin "";
          add_header X-Cache $upstream_cache_status always;
        }
        location / {
          proxy_pass http://127.0.0.1:${String(port)};
          proxy_cache files;
          proxy_cache_revalidate on;
          add_header X-Cache $upstream_cache_status always;
        }
      }`;
    nginx = await startNginx(folder, http, () => ask('/ping'));
  });

  afterAll(async () => {
    await endProcess(nginx, 'SIGQUIT');
    await app.close();
    await Promise.all([folder, root].map((path) => rm(path, { recursive: true, force: true })));
  });

  it('keeps no redirect to a URL that expires', async () => {
    const [one, two] = [await ask('/file/store/a.txt'), await ask('/file/store/a.txt')];
    expect([one.status, two.status, one.cache, two.cache]).toEqual([302, 302, 'MISS', 'MISS']);
    expect(one.location).not.toBe(two.location);
  });

  it('keeps no file that only a signed link opens', async () => {
    const link = app.urlFor('signed', 'a.txt');
    expect((await ask(link)).body).toBe('one');
    expect((await ask(link)).cache).toBe('MISS');
    expect((await ask(link.replace(/signature=.{4}/u, 'signature=AAAA'))).status).toBe(403);
    expect((await ask('/file/signed/a.txt')).status).toBe(403);
  });

  it('shows what a public file holds now, whatever stands behind its name', async () => {
    expect((await ask('/file/open/a.txt')).body).toBe('one');
    await writeFile(join(root, 'a.txt'), 'two, longer');
    expect((await ask('/file/open/a.txt')).body).toBe('two, longer');
    for (const query of ['?x=1', '?expires=1&signature=2', '?path=b.txt&action=files']) {
      expect((await ask(`/file/open/a.txt${query}`)).body).toBe('two, longer');
    }
    await rm(join(root, 'a.txt'));
    expect((await ask('/file/open/a.txt')).status).toBe(404);
    await writeFile(join(root, 'a.txt'), 'one');
  });

  it('forgets what events say has changed', async () => {
    const change = async (action: string, fields: Record<string, string>): Promise<void> => {
      const query = new URLSearchParams({ source: 'kept', ...fields }).toString();
      expect(await ask(`/${action}?${query}`, 'POST')).toMatchObject({ status: 200 });
    };
    const kept = async (path: string, headers = {}) => {
      const { status, cache, body } = await ask(`/file/kept/${path}`, 'GET', headers);
      return [cache, status === 200 ? body : status];
    };
    await mkdir(join(root, 'f'));
    for (const name of ['a+b ü.txt', 'f/c.txt']) await writeFile(join(root, name), name);
    for (const cache of ['MISS', 'HIT']) {
      expect(await kept('a%2Bb%20%C3%BC.txt')).toEqual([cache, 'a+b ü.txt']);
      expect(await kept('f/c.txt')).toEqual([cache, 'f/c.txt']);
    }
    expect(await kept('a+b%20%C3%BC.txt')).toEqual(['HIT', 'a+b ü.txt']);
    const elsewhere = { origin: 'https://app.example.com' };
    await kept('a+b%20%C3%BC.txt', elsewhere);
    await change('fileRemove', { name: 'a+b ü.txt' });
    await expect.poll(() => kept('a+b%20%C3%BC.txt'), { timeout: 20_000 }).toEqual(['MISS', 404]);
    await writeFile(join(root, 'a+b ü.txt'), 'new');
    expect(await kept('a+b%20%C3%BC.txt')).toEqual(['MISS', 'new']);
    expect(await kept('a+b%20%C3%BC.txt', elsewhere)).toEqual(['HIT', 'new']);
    expect(await kept('f/c.txt')).toEqual(['HIT', 'f/c.txt']);
    await change('folderRename', { name: 'f', newname: 'g' });
    await expect.poll(() => kept('f/c.txt'), { timeout: 20_000 }).toEqual(['MISS', 404]);
    await expect.poll(() => kept('g/c.txt')).toEqual(['HIT', 'f/c.txt']);
  });
});
