import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import sharp from 'sharp';
import { createApp, type App, type StorageAdapterOptions } from 'stowage';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { AzureAdapter, SourcePath, parseAzureOptions } from '../../dist/internals.js';
import { silent } from '../protocol/service.ts';
import { inPieces, outcomeOf } from './outcomes.ts';
import {
  azuriteMissing,
  makeContainer,
  startAzurite,
  startAzuriteProxy,
  type Azurite,
  type PlainContainer,
} from './servers/azurite.ts';
import type { FaultProxy } from './servers/fault-proxy.ts';

const MB = 1024 * 1024;
const at = (text: string) => SourcePath.parse(text);

type Options = NonNullable<StorageAdapterOptions['azure']>;

describe.skipIf(azuriteMissing !== undefined)(
  `a source in a container of Azure${azuriteMissing === undefined ? '' : ` (skipped: ${azuriteMissing})`}`,
  () => {
    let server: Azurite;
    let container: PlainContainer;
    let proxy: FaultProxy;

    beforeAll(async () => {
      server = await startAzurite();
      container = await makeContainer(server);
      proxy = await startAzuriteProxy(server);
    });
    afterEach(() => proxy.reset());
    afterAll(async () => {
      await proxy?.close();
      await server?.stop();
    });

    const optionsOf = (more: Partial<Options> = {}) => ({
      container: container.name,
      accountUrl: server.accountUrl,
      accountKey: server.accountKey,
      ...more,
      prefix: randomUUID(),
    });

    const openApp = (azure: Options, more: object = {}): App => {
      const source = { title: 'Files', baseurl: 'https://f.test/', storageAdapter: 'azure', azure, ...more };
      const app = createApp({ sources: { files: source } }, {}, { logger: silent });
      onTestFinished(() => app.close());
      return app;
    };

    const call = async (app: App, path: string, body?: FormData) => {
      const init = body === undefined ? {} : { method: 'POST', body };
      const answer = await app.fetch(new Request(`http://service${path}`, init));
      const { data } = (await answer.json()) as { data: Record<string, unknown> };
      return { status: answer.status, ...data };
    };

    /** A store behind the proxy. */
    const openStore = (more: Partial<Options> = {}) => {
      const { pathname } = new URL(server.accountUrl);
      const options = optionsOf({ accountUrl: new URL(pathname, proxy.endpoint).href, ...more });
      const parsed = parseAzureOptions(options);
      if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
      const adapter = new AzureAdapter(parsed.value);
      onTestFinished(() => adapter.close());
      return { adapter, prefix: `${options.prefix}/` };
    };

    it('uploads, lists with thumbnails, downloads, renames, copies, moves and removes', async () => {
      const options = optionsOf({ cacheControl: 'max-age=60', accessTier: 'Cool' });
      const app = openApp(options);
      const key = (name: string) => `${options.prefix}/${name}`;
      const picture = await sharp({ create: { width: 800, height: 600, channels: 3, background: '#36c' } })
        .jpeg()
        .toBuffer();
      const form = new FormData();
      form.set('files[0]', new Blob([new Uint8Array(picture)]), 'blau ü.jpg');
      form.set('files[1]', new Blob(['text']), 'notes.txt');
      expect(await call(app, '/fileUpload', form)).toMatchObject({
        status: 200,
        files: ['blau ü.jpg', 'notes.txt'],
      });
      const { contentType, cacheControl, accessTier } = await container.head(key('blau ü.jpg'));
      expect([contentType, cacheControl, accessTier]).toEqual(['image/jpeg', 'max-age=60', 'Cool']);

      const listing = (await call(app, '/files?mods[sortBy]=name-asc')) as unknown as {
        sources: { files: { thumb: string }[] }[];
      };
      const thumb = await container.client
        .getBlobClient(key(listing.sources[0]?.files[0]?.thumb ?? ''))
        .downloadToBuffer();
      expect((await sharp(thumb).metadata()).width).toBe(250);
      const download = await app.fetch(
        new Request(`http://service/fileDownload?name=${encodeURIComponent('blau ü.jpg')}`),
      );
      expect(Buffer.from(await download.arrayBuffer())).toEqual(picture);

      expect((await call(app, '/folderCreate?name=sub')).status).toBe(200);
      expect((await call(app, '/fileRename?name=notes.txt&newname=renamed')).status).toBe(200);
      expect((await call(app, '/fileCopy?from=renamed.txt')).status).toBe(200);
      expect((await call(app, '/fileMove?from=renamed.txt&path=sub')).status).toBe(200);
      expect(await container.keys(key('sub/'))).toEqual(['', 'renamed.txt']);
      const copied = await container.head(key('sub/renamed.txt'));
      expect([copied.contentType, copied.cacheControl, copied.accessTier]).toEqual([
        'text/plain; charset=utf-8',
        'max-age=60',
        'Cool',
      ]);
      expect((await call(app, '/folderRename?name=sub&newname=moved')).status).toBe(200);
      expect((await call(app, '/folderRemove?name=moved')).status).toBe(200);
      const left = (await container.keys(key(''))).filter((name) => !name.startsWith('_thumbs'));
      expect(left).toEqual(['blau ü.jpg', 'renamed (1).txt']);
    });

    it('gives a name to one of many writers, whatever their sizes', async () => {
      const options = optionsOf();
      const stores = [0, 1].map(() => {
        const parsed = parseAzureOptions(options);
        if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
        const adapter = new AzureAdapter(parsed.value);
        onTestFinished(() => adapter.close());
        return adapter;
      });
      const sizes = [1, 9 * MB, 2, 9 * MB + 1];
      const writes = sizes.map((size, index) =>
        outcomeOf(
          (stores[index % 2] ?? stores[0])?.write(at('one.bin'), inPieces(Buffer.alloc(size, index)), {
            createOnly: true,
          }) ?? Promise.reject(new Error('no store')),
          [],
        ),
      );
      const outcomes = await Promise.all(writes);
      const won = outcomes.findIndex((outcome) => outcome === 'succeeded');
      expect(outcomes.toSorted()).toEqual([
        'ALREADY_EXISTS',
        'ALREADY_EXISTS',
        'ALREADY_EXISTS',
        'succeeded',
      ]);
      expect((await container.head(`${options.prefix}/one.bin`)).contentLength).toBe(sizes[won]);
    });

    it('keeps nothing of an upload that is cut off, and the old file under its name', async () => {
      const { adapter, prefix } = openStore();
      await adapter.write(at('old.bin'), inPieces(Buffer.from('old')));
      const abort = new AbortController();
      const endless = (): Readable =>
        Readable.from(
          (async function* () {
            for (let sent = 0; sent < 20; sent += 1) {
              yield Buffer.alloc(MB);
              await turn();
            }
            abort.abort(new Error('gone'));
            yield Buffer.alloc(MB);
          })(),
          { objectMode: false },
        );
      const write = adapter.write(at('old.bin'), endless(), { signal: abort.signal });
      await expect(write).rejects.toThrow('gone');
      const failing = Readable.from(
        (async function* () {
          for (let sent = 0; sent < 20; sent += 1) yield Buffer.alloc(MB);
          await turn();
          throw new Error('broken');
        })(),
        { objectMode: false },
      );
      await expect(adapter.write(at('new.bin'), failing)).rejects.toThrow('broken');
      expect(await container.keys(prefix)).toEqual(['old.bin']);
      expect(String(await buffer((await adapter.read(at('old.bin'))).stream))).toBe('old');
    });

    it('recognises its own writes and copies whose answers were lost', async () => {
      const { adapter } = openStore();
      for (const [operation, size] of [
        ['PUT', 5],
        ['PUT blocklist', 9 * MB],
      ] as const) {
        proxy.fail({ operation, effect: { kind: 'lose' }, times: 1 });
        const path = at(`${String(size)}.bin`);
        const { etag } = await adapter.write(path, inPieces(Buffer.alloc(size, 7)), { createOnly: true });
        expect((await adapter.stat(path)).etag).toBe(etag);
        proxy.reset();
      }
      proxy.fail({ operation: 'COPY', effect: { kind: 'lose' }, times: 1 });
      await adapter.copyFile(at('5.bin'), at('copy.bin'), { createOnly: true });
      expect((await adapter.stat(at('copy.bin'))).size).toBe(5);
      await expect(adapter.copyFile(at('5.bin'), at('copy.bin'), { createOnly: true })).rejects.toMatchObject(
        {
          code: 'ALREADY_EXISTS',
        },
      );
    });

    it('goes on after the server is silent or away for a moment, and ends with the signal', async () => {
      const { adapter } = openStore({ readTimeout: 2 });
      await adapter.write(at('a.bin'), inPieces(Buffer.alloc(3 * MB, 1)));
      proxy.fail({ operation: 'HEAD', effect: { kind: 'stall' }, times: 1 });
      expect((await adapter.stat(at('a.bin'))).size).toBe(3 * MB);
      proxy.reset();
      proxy.fail({ operation: 'HEAD', effect: { kind: 'answer', status: 503 }, times: 2 });
      expect((await adapter.stat(at('a.bin'))).size).toBe(3 * MB);
      proxy.reset();
      proxy.fail({ operation: 'GET', effect: { kind: 'cut' } });
      const { stream } = await adapter.read(at('a.bin'));
      expect(await outcomeOf(buffer(stream), [server.accountKey, container.name])).toMatch(
        /^STORAGE_|^CORRUPT/u,
      );
      proxy.reset();
      proxy.fail({ operation: 'HEAD', effect: { kind: 'stall' } });
      const abort = new AbortController();
      const waiting = adapter.stat(at('a.bin'), { signal: abort.signal });
      abort.abort(new Error('enough'));
      await expect(waiting).rejects.toThrow('enough');
    });

    it('says nothing of the account when the key is wrong or nobody answers', async () => {
      const accountKey = Buffer.from('wrong').toString('base64');
      const secrets = [accountKey, 'stowagetests', container.name, '127.0.0.1'];
      for (const [more, status] of [
        [{ accountKey }, 403],
        [{ container: 'missing-container' }, 503],
        [{ accountUrl: 'http://127.0.0.1:9/stowagetests', maxAttempts: 1 }, 503],
      ] as const) {
        const app = openApp(optionsOf(more));
        for (const path of ['/files?source=files', '/folderCreate?source=files&name=a']) {
          const answer = await app.fetch(new Request(`http://service${path}`));
          const text = await answer.text();
          expect([answer.status >= 400 && answer.status !== 404, path, status]).toEqual([true, path, status]);
          for (const secret of secrets) expect(text).not.toContain(secret);
        }
      }
    });

    it('is reached with a connection string and with signatures of any spelling', async () => {
      const { accountUrl, accountKey } = server;
      const address = `DefaultEndpointsProtocol=http;AccountName=stowagetests;BlobEndpoint=${accountUrl};`;
      const sas = new URL(
        await container.client.generateSasUrl({
          permissions: (await import('@azure/storage-blob')).ContainerSASPermissions.parse('racwdl'),
          expiresOn: new Date(Date.now() + 600_000),
        }),
      ).search;
      for (const login of [
        {
          accountUrl: undefined,
          accountKey: undefined,
          connectionString: `${address}AccountKey=${accountKey}`,
        },
        { accountKey: undefined, sasToken: sas },
        { accountKey: undefined, sasToken: sas.slice(1) },
        {
          accountUrl: undefined,
          accountKey: undefined,
          connectionString: `BlobEndpoint=${accountUrl};SharedAccessSignature=${sas.slice(1)}`,
        },
      ]) {
        const app = openApp(optionsOf(login), { serve: 'public', delivery: 'redirect' });
        const form = new FormData();
        form.set('files[0]', new Blob(['text']), 'a.txt');
        expect((await call(app, '/fileUpload', form)).status).toBe(200);
        expect((await call(app, '/fileCopy?from=a.txt')).status).toBe(200);
        const answer = await app.fetch(new Request('http://service/file/files/a%20(1).txt'));
        // A signature cannot sign others: the service sends the bytes then.
        const { status } = answer;
        expect(status).toBe(
          'connectionString' in login && login.connectionString.includes('AccountKey=') ? 302 : 200,
        );
        if (status === 200) expect(await answer.text()).toBe('text');
      }
    });

    it('sends readers to a URL of the private container that expires', async () => {
      const options = optionsOf();
      const app = openApp(options, { serve: 'public', delivery: 'redirect' });
      await container.put(`${options.prefix}/trip/Köln 1.html`, '<script>alert(1)</script>');
      const answer = await app.fetch(new Request('http://service/file/files/trip/K%C3%B6ln%201.html'));
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([302, 'private, max-age=240']);
      const location = answer.headers.get('location') ?? '';
      const expires = Date.parse(new URL(location).searchParams.get('se') ?? '') - Date.now();
      expect(expires).toBeGreaterThan(240_000);
      expect(expires).toBeLessThanOrEqual(300_000);
      const file = await fetch(location, { headers: { range: 'bytes=1-6' } });
      expect([file.status, await file.text()]).toEqual([206, 'script']);
      expect(file.headers.get('content-disposition')).toMatch(/^attachment;/u);
      expect((await fetch(location, { method: 'DELETE' })).status).toBe(403);
      expect((await fetch(location.split('?')[0] ?? '')).ok).toBe(false);
    });
  },
);
