import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createApp,
  registerStorageAdapter,
  type ConnectorHooks,
  type Logger,
  type SourcesInput,
} from 'stowage';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { memoryFactory } from '#internals';
import { optionsFor } from '../../tools/test-servers/bucket.ts';
import { S3Stub } from '../../tools/test-servers/s3-stub.ts';
import { login, programs, startApache, type DavServer } from '../../tools/test-servers/webdav.ts';
import { openCountedPort, type CountedPort } from './counted-port.ts';

const MB = 1024 * 1024;
const nothing = (): void => undefined;
const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const credentials = { accessKeyId: 'testkey', secretAccessKey: 'testsecret' };
const TENANTS = ['ann', 'bob', 'cy', 'dan'] as const;

interface Envelope {
  readonly success: boolean;
  readonly data: {
    readonly code: number;
    readonly messages?: readonly string[];
    readonly sources?: readonly {
      readonly name: string;
      readonly files: readonly { readonly name: string }[];
    }[];
  };
}

type App = ReturnType<typeof createApp>;

const ask = async (app: App, tenant: string, path = 'files'): Promise<Envelope> => {
  const request = new Request(`http://service/${path}`, { headers: { 'x-tenant': tenant } });
  return (await (await app.fetch(request)).json()) as Envelope;
};

/** `source/file` of everything that a listing of all sources shows. */
const shown = async (app: App, tenant: string): Promise<readonly string[]> => {
  const { data } = await ask(app, tenant);
  return (data.sources ?? []).flatMap(({ name, files }) => files.map((file) => `${name}/${file.name}`));
};

const tenantOf = (request: Parameters<NonNullable<ConnectorHooks['resolveSources']>>[0]): string =>
  String(request.headers['x-tenant']);

const common = { title: 'Files', baseurl: 'https://files.example/' };

describe.skipIf(!programs.apache)(
  `tenants with stores in buckets and on WebDAV${programs.apache ? '' : ' (apache2 is not installed)'}`,
  () => {
    let stub: S3Stub;
    let dav: DavServer;
    let s3Port: CountedPort;
    let davPort: CountedPort;
    const apps: App[] = [];

    beforeAll(async () => {
      [stub, dav] = await Promise.all([S3Stub.start(), startApache('basic', 'KeepAliveTimeout 60')]);
      [s3Port, davPort] = await Promise.all([openCountedPort(stub.endpoint), openCountedPort(dav.url)]);
      for (const tenant of [...TENANTS, 'other']) {
        stub.put(`${tenant}/in-bucket-of-${tenant}.txt`, tenant);
        await mkdir(join(dav.data, tenant));
        await writeFile(join(dav.data, tenant, `on-dav-of-${tenant}.txt`), tenant);
      }
      stub.put('ann/large.zip', Buffer.alloc(24 * MB, 'large'));
    });
    afterEach(async () => {
      s3Port.setDown(false);
      davPort.setDown(false);
      await Promise.all(apps.splice(0).map((app) => app.close()));
      await expect.poll(() => s3Port.open() + davPort.open()).toBe(0);
    });
    afterAll(async () => {
      await Promise.all([s3Port?.close(), davPort?.close()]);
      await Promise.all([stub?.close(), dav?.stop()]);
    });

    const sourcesOf = (folder: string): SourcesInput => ({
      bucket: {
        ...common,
        storageAdapter: 's3',
        s3: optionsFor({ endpoint: s3Port.url, credentials }, 'bucket', { prefix: folder, maxAttempts: 1 }),
      },
      dav: { ...common, storageAdapter: 'webdav', webdav: { url: `${davPort.url}${folder}/`, ...login } },
    });

    const openApp = (
      resolveSources: NonNullable<ConnectorHooks['resolveSources']>,
      dynamicSourcesCache = { max: 2, ttlMs: 60_000 },
    ): App => {
      const app = createApp(
        { createThumb: false, dynamicSourcesCache, sources: {} },
        { resolveSources },
        { logger: silent },
      );
      apps.push(app);
      return app;
    };

    const ownFolder: NonNullable<ConnectorHooks['resolveSources']> = (request) => {
      const id = tenantOf(request);
      return { id, sources: sourcesOf(id) };
    };
    const filesOf = (folder: string) => [
      ...(folder === 'ann'
        ? ['bucket/in-bucket-of-ann.txt', 'bucket/large.zip']
        : [`bucket/in-bucket-of-${folder}.txt`]),
      `dav/on-dav-of-${folder}.txt`,
    ];

    it('the connections of tenants that have left the cache are closed, and buckets share theirs', async () => {
      const app = openApp(ownFolder);
      await shown(app, 'ann');
      const [ofBucket, ofDav] = [s3Port.open(), davPort.open()];
      expect(Math.min(ofBucket, ofDav)).toBeGreaterThan(0);
      for (const tenant of TENANTS) {
        expect((await shown(app, tenant)).toSorted()).toEqual(filesOf(tenant));
      }
      await expect.poll(() => [s3Port.open(), davPort.open()]).toEqual([ofBucket, 2 * ofDav]);
    });

    it('the connections of tenants whose time is over are closed without anybody asking', async () => {
      const app = openApp(ownFolder, { max: 10, ttlMs: 300 });
      await shown(app, 'ann');
      await expect.poll(() => s3Port.open() + davPort.open()).toBe(0);
    });

    it('a tenant that leaves the cache while a file is downloaded is closed after the last byte', async () => {
      const app = openApp(ownFolder);
      const url = 'http://service/fileDownload?source=bucket&name=large.zip';
      const answer = await app.fetch(new Request(url, { headers: { 'x-tenant': 'ann' } }));
      const reader = (answer.body ?? new ReadableStream<Uint8Array>()).getReader();
      let length = (await reader.read()).value?.length ?? 0;
      for (const tenant of ['bob', 'cy']) await shown(app, tenant);
      // The download's, and the one that all other tenants share.
      await expect.poll(() => s3Port.open()).toBe(2);
      for (let part = await reader.read(); !part.done; part = await reader.read())
        length += part.value.length;
      expect(length).toBe(24 * MB);
    });

    it('requests that come side by side are each served from their own tenant', async () => {
      const app = openApp(ownFolder, { max: 1, ttlMs: 60_000 });
      const order = Array.from({ length: 40 }, (_, index) => TENANTS[(index * 7) % TENANTS.length] ?? 'ann');
      const answers = await Promise.all(order.map((tenant) => shown(app, tenant)));
      for (const [index, tenant] of order.entries()) {
        expect(answers[index]?.toSorted()).toEqual(filesOf(tenant));
      }
    });

    it('a failed build is not remembered, and neither is a store that was down', async () => {
      let broken = true;
      const app = openApp((request) => {
        const id = tenantOf(request);
        return { id, sources: broken ? { bucket: { ...common, storageAdapter: 's3' } } : sourcesOf(id) };
      });
      expect(await ask(app, 'ann')).toMatchObject({ success: false, data: { code: 500 } });
      broken = false;
      expect(await ask(app, 'ann')).toMatchObject({ success: true });
      s3Port.setDown(true);
      davPort.setDown(true);
      expect(await ask(app, 'ann')).toMatchObject({ success: false, data: { code: 500 } });
      expect(await ask(app, 'bob')).toMatchObject({ success: false, data: { code: 500 } });
      s3Port.setDown(false);
      davPort.setDown(false);
      for (const tenant of ['ann', 'bob']) expect(await ask(app, tenant)).toMatchObject({ success: true });
    });

    it('two connectors in one process never mix tenants of one name, and closing one leaves the other alone', async () => {
      const first = openApp(ownFolder);
      const second = openApp(() => ({ id: 'ann', sources: sourcesOf('other') }));
      const answers = await Promise.all([shown(first, 'ann'), shown(second, 'ann'), shown(first, 'ann')]);
      expect(answers.map((files) => files.toSorted())).toEqual([
        filesOf('ann'),
        filesOf('other'),
        filesOf('ann'),
      ]);
      const before = [s3Port.open(), davPort.open()];
      await first.close();
      await expect
        .poll(() => s3Port.open() < (before[0] ?? 0) && davPort.open() < (before[1] ?? 0))
        .toBe(true);
      expect(Math.min(s3Port.open(), davPort.open())).toBeGreaterThan(0);
      expect((await shown(second, 'ann')).toSorted()).toEqual(filesOf('other'));
    });
  },
);

describe('tenants that many requests ask for at once', () => {
  it('are built once, their stores opened once and closed once', async () => {
    const counts = { created: 0, closed: 0 };
    registerStorageAdapter('counted-memory', {
      ...memoryFactory,
      create: async (context) => {
        counts.created += 1;
        const adapter = await memoryFactory.create(context);
        return Object.assign(adapter, {
          close: async () => {
            counts.closed += 1;
          },
        });
      },
    });
    const source = { ...common, storageAdapter: 'counted-memory' };
    const resolveSources = async (request: Parameters<typeof tenantOf>[0]) => {
      await new Promise((resolve) => setImmediate(resolve));
      return { id: tenantOf(request), sources: { files: source } };
    };
    const settings = { createThumb: false, sources: {}, dynamicSourcesCache: { max: 1, ttlMs: 60_000 } };
    const app = createApp(settings, { resolveSources }, { logger: silent });
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask(app, 'ann')));
    expect(answers.every(({ success }) => success)).toBe(true);
    expect(counts).toEqual({ created: 1, closed: 0 });
    await ask(app, 'bob');
    await expect.poll(() => counts).toEqual({ created: 2, closed: 1 });
    await app.close();
    expect(counts).toEqual({ created: 2, closed: 2 });
  });
});
