import { randomUUID } from 'node:crypto';
import { ContainerSASPermissions } from '@azure/storage-blob';
import { createApp, type App, type StorageAdapterOptions } from 'stowage';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { AzureAdapter, parseAzureOptions } from '#internals';
import { at, callIn, itIsAnObjectService, MB, openServiceWith } from './object-service.ts';
import { inPieces } from './outcomes.ts';
import { silent } from '../protocol/service.ts';
import {
  azuriteMissing,
  makeContainer,
  startAzurite,
  startAzuriteProxy,
  type Azurite,
  type PlainContainer,
} from '../../tools/test-servers/azurite.ts';
import type { FaultProxy } from '../../tools/test-servers/fault-proxy.ts';

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

    const openApp = (azure: Options, more: object = {}): App => openServiceWith('azure', azure, more);

    /** A store behind the proxy. */
    const openStore = (prefix: string, readTimeout = 2): AzureAdapter => {
      const { pathname } = new URL(server.accountUrl);
      const accountUrl = new URL(pathname, proxy.endpoint).href;
      const parsed = parseAzureOptions({ ...optionsOf({ accountUrl, readTimeout }), prefix });
      if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
      const adapter = new AzureAdapter(parsed.value);
      onTestFinished(() => adapter.close());
      return adapter;
    };

    itIsAnObjectService(() => ({
      storageAdapter: 'azure',
      storing: { options: { cacheControl: 'max-age=3600', accessTier: 'Cool' }, storageClass: 'Cool' },
      optionsOf: (prefix) => ({ ...optionsOf(), prefix }),
      kept: async (key) => {
        const { contentType, cacheControl, accessTier: storageClass } = await container.head(key);
        const content = await container.client.getBlobClient(key).downloadToBuffer();
        return { content, contentType, cacheControl, storageClass };
      },
      put: (key, content) => container.put(key, content),
      setAttributes: async (key, { cacheControl, contentDisposition, contentLanguage, metadata }) => {
        const blob = container.client.getBlobClient(key);
        await blob.setMetadata(metadata);
        await blob.setHTTPHeaders({
          blobCacheControl: cacheControl,
          blobContentDisposition: contentDisposition,
          blobContentLanguage: contentLanguage,
        });
      },
      attributes: (key) => container.head(key),
      keys: (prefix) => container.keys(prefix),
      openStore,
      proxy,
      operations: { look: 'HEAD', download: 'GET' },
      secrets: [server.accountKey, container.name],
      expectEnd: ({ searchParams }) => {
        const lifetime = Date.parse(searchParams.get('se') ?? '') - Date.now();
        expect(lifetime).toBeGreaterThan(240_000);
        expect(lifetime).toBeLessThanOrEqual(300_000);
      },
    }));

    it('recognises its own writes and copies whose answers were lost', async () => {
      const adapter = openStore(randomUUID());
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

    it('stores a large file under a name whose upload by another tool has ended early', async () => {
      const prefix = randomUUID();
      const theirs = container.client.getBlockBlobClient(`${prefix}/a.zip`);
      // The length that the libraries of Azure and AzCopy use.
      await theirs.stageBlock(Buffer.alloc(48, 'a').toString('base64'), 'begun', 5);
      const content = Buffer.alloc(9 * MB, 7);
      await openStore(prefix).write(at('a.zip'), inPieces(content), { createOnly: true });
      expect((await theirs.downloadToBuffer()).equals(content)).toBe(true);
    });

    it('moves nothing that a hold for court keeps where it is', async () => {
      const prefix = randomUUID();
      const adapter = openStore(prefix);
      await adapter.write(at('a.txt'), inPieces(Buffer.from('a')));
      const headers = { 'x-ms-error-code': 'BlobImmutableDueToLegalHold' };
      proxy.fail({ operation: 'DELETE', effect: { kind: 'answer', status: 409, headers }, times: 1 });
      const moving = adapter.moveFile(at('a.txt'), at('b.txt'), { createOnly: true });
      await expect(moving).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
      expect(await container.keys(`${prefix}/`)).toEqual(['a.txt']);
    });

    it('ends a copy that is not made, with its request', async () => {
      const adapter = openStore(randomUUID());
      await adapter.write(at('a.txt'), inPieces(Buffer.from('a')));
      const pending = { 'x-ms-copy-id': randomUUID(), 'x-ms-copy-status': 'pending', etag: '"1"' };
      const answer = (status: number) => ({ kind: 'answer', status, headers: pending }) as const;
      proxy.fail(
        { operation: 'COPY', effect: answer(202) },
        { operation: 'HEAD', effect: answer(200), from: 2 },
      );
      const abort = new AbortController();
      // The third look is the second one at the copy.
      proxy.before('HEAD', 3, async () => abort.abort(new Error('gone')));
      const copying = adapter.copyFile(at('a.txt'), at('b.txt'), { signal: abort.signal });
      await expect(copying).rejects.toThrow('gone');
      expect(proxy.counts()).toMatchObject({ COPY: 1, 'PUT copy': 1 });
    });

    it('removes the source of a move only when a copy that takes time is made, whatever answers get lost', async () => {
      const adapter = openStore(randomUUID());
      await adapter.write(at('a.txt'), inPieces(Buffer.from('a')));
      const pending = { kind: 'headers', headers: { 'x-ms-copy-status': 'pending' } } as const;
      proxy.reset();
      proxy.fail(
        { operation: 'COPY', effect: pending, times: 1 },
        // The first look is at the source.
        { operation: 'HEAD', effect: { kind: 'answer', status: 503 }, from: 2, times: 1 },
        { operation: 'HEAD', effect: pending, from: 2, times: 3 },
      );
      await adapter.moveFile(at('a.txt'), at('b.txt'), { createOnly: true });
      const looks = proxy.seen.map(({ operation }) => operation).lastIndexOf('HEAD');
      expect(proxy.counts()).toMatchObject({ COPY: 1, HEAD: 6, DELETE: 1 });
      expect(proxy.seen.at(looks + 1)?.operation).toBe('DELETE');
    });

    describe('removes many files with few requests', () => {
      const NAMES = Array.from({ length: 257 }, (_, number) => `ü & ${String(number)}%.txt`);

      const filled = async (names = NAMES) => {
        const prefix = randomUUID();
        const put = (name: string, text: string) => container.put(`${prefix}/many/${name}`, text);
        await Promise.all(names.map((name) => put(name, 'old')));
        return { store: openStore(prefix, 60), put, left: () => container.keys(`${prefix}/many/`) };
      };

      it('of a folder', async () => {
        const { store, left } = await filled();
        proxy.reset();
        await store.removeFolder(at('many'));
        expect(proxy.counts()).toMatchObject({ 'POST batch': 2 });
        expect(proxy.counts()).not.toHaveProperty('DELETE');
        expect(await left()).toEqual([]);
      });

      it('at the same time, but none that was replaced meanwhile', async () => {
        const few = NAMES.slice(0, 20);
        const { store, put, left } = await filled(few);
        proxy.before('POST batch', 1, () => put(few[7] ?? '', 'newer'));
        const seen = await Promise.all(few.map((name) => store.stat(at(`many/${name}`))));
        const removed = await Promise.allSettled(
          seen.map((stat) => store.removeFile(at(`many/${stat.name}`), { seen: stat })),
        );
        const failed = removed.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
        expect(failed).toMatchObject([{ code: 'CHANGED_MEANWHILE' }]);
        expect(await left()).toEqual([few[7]]);
      });

      it.each([
        ['the answer of a batch is lost', { kind: 'lose' }, 1],
        ['there are no batches', { kind: 'answer', status: 405 }, 9],
        ['batches are denied', { kind: 'answer', status: 403 }, 9],
      ] as const)('also when %s', async (_what, effect, times) => {
        const { store, left } = await filled(NAMES.slice(0, 20));
        proxy.fail({ operation: 'POST batch', effect, times });
        await store.removeFolder(at('many'));
        expect(await left()).toEqual([]);
      });
    });

    it('denies what is denied also under names with dots at their ends, which Azure drops', async () => {
      const sasToken = new URL(
        await container.client.generateSasUrl({
          permissions: ContainerSASPermissions.parse('racwdl'),
          expiresOn: new Date(Date.now() + 600_000),
        }),
      ).search;
      const accountUrl = new URL(new URL(server.accountUrl).pathname, proxy.endpoint).href;
      const options = optionsOf({ accountUrl, accountKey: undefined, sasToken });
      await container.put(`${options.prefix}/private/a.txt`, 'secret');
      await container.put(`${options.prefix}/open.txt`, 'open');
      const denied = { FILE_DOWNLOAD: false, FILE_UPLOAD: false, FILE_REMOVE: false };
      const files = { title: 'Files', baseurl: 'https://f.test/', storageAdapter: 'azure', azure: options };
      const config = { sources: { files }, accessControl: [{ path: '/private', ...denied }] };
      const app = createApp(config, {}, { logger: silent });
      onTestFinished(() => app.close());
      const statusOf = async (action: string, path: string, name: string): Promise<number> =>
        (await app.fetch(new Request(`http://service/${action}?path=${path}&name=${name}`))).status;
      expect(await statusOf('fileDownload', '', 'open.txt')).toBe(200);
      for (const action of ['fileDownload', 'fileRemove']) {
        expect(await statusOf(action, 'private', 'a.txt')).toBe(403);
        for (const path of ['private.', 'private...'])
          expect(await statusOf(action, path, 'a.txt')).toBe(404);
      }
      const form = new FormData();
      form.set('files[0]', new Blob(['other']), 'b.txt');
      form.set('path', 'private.');
      expect((await callIn(app, '/fileUpload', form)).status).toBeGreaterThanOrEqual(400);
      expect(await container.keys(`${options.prefix}/private/`)).toEqual(['a.txt']);
    });

    it('reveals nothing of the account when the key is wrong or the service does not respond', async () => {
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
          permissions: ContainerSASPermissions.parse('racwdl'),
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
        expect((await callIn(app, '/fileUpload', form)).status).toBe(200);
        expect((await callIn(app, '/fileCopy?from=a.txt')).status).toBe(200);
        const answer = await app.fetch(new Request('http://service/file/files/a%20(1).txt'));
        // A signature cannot sign others: the service sends the bytes then.
        const { status } = answer;
        expect(status).toBe(
          'connectionString' in login && login.connectionString.includes('AccountKey=') ? 302 : 200,
        );
        if (status === 200) expect(await answer.text()).toBe('text');
      }
    });
  },
);
