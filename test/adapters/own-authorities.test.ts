import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { SourcePath } from 'stowage/storage';
import { createS3Factory, createWebdavFactory } from '#internals';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import type { StorageFactory } from '../../packages/stowage/dist/storage/registry.js';
import { optionsFor } from '../../tools/test-servers/bucket.ts';
import { S3Stub } from '../../tools/test-servers/s3-stub.ts';
import { makeCertificate, opensslMissing, startTlsFront } from '../../tools/test-servers/tls-front.ts';
import { DavStub } from '../../tools/test-servers/webdav-stub.ts';

const nothing = (): void => undefined;
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

const openWith = async (factory: StorageFactory, given: object): Promise<StorageAdapter> => {
  const parsed = factory.parseOptions?.(given);
  if (parsed === undefined || 'problems' in parsed) throw new Error(JSON.stringify(parsed));
  return factory.create({ options: parsed.value, root: undefined, sourceName: 'a', log });
};

const kinds = [
  {
    kind: 's3',
    create: createS3Factory,
    start: async () => {
      const stub = await S3Stub.start();
      stub.put('f/a.txt', 'a');
      return { stub, url: stub.endpoint };
    },
    optionsAt: (origin: string) =>
      optionsFor({ endpoint: origin, credentials: { accessKeyId: 'a', secretAccessKey: 'b' } }, 'bucket'),
  },
  {
    kind: 'webdav',
    create: createWebdavFactory,
    start: async () => {
      const stub = await DavStub.start();
      stub.plant('f', undefined);
      stub.plant('f/a.txt', 'a');
      return { stub, url: stub.url };
    },
    optionsAt: (origin: string) => ({ url: `${origin}/dav/` }),
  },
] as const;

describe.skipIf(opensslMissing).each(kinds)(
  `a certificate of an authority of one's own ($kind)${opensslMissing ? ' (openssl is not installed)' : ''}`,
  ({ create, start, optionsAt }) => {
    let [one, other] = [
      { key: '', cert: '' },
      { key: '', cert: '' },
    ];
    beforeAll(async () => {
      [one, other] = await Promise.all([makeCertificate(), makeCertificate()]);
    });

    const openServer = async () => {
      const { stub, url } = await start();
      const front = await startTlsFront(one, url);
      onTestFinished(async () => {
        await front.close();
        await stub.close();
      });
      const factory = create();
      const open = async (options: object = {}) => {
        const store = await openWith(factory, { ...optionsAt(front.origin), ...options });
        onTestFinished(() => store.close?.());
        const look = () => store.stat(SourcePath.parse('f/a.txt'));
        return { store, look };
      };
      return { front, open };
    };

    it('is accepted where the options name the authority, and refused otherwise', async () => {
      const { open } = await openServer();
      await expect((await open()).look()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
      await expect((await open({ ca: other.cert })).look()).rejects.toMatchObject({
        code: 'STORAGE_UNAVAILABLE',
      });
      await expect((await open({ ca: one.cert })).look()).resolves.toMatchObject({ kind: 'file' });
      await expect((await open({ ca: other.cert + one.cert })).look()).resolves.toMatchObject({
        kind: 'file',
      });
    });

    it.each(['', 'ca.pem', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'])(
      'is not "%s"',
      (ca) => {
        expect(create().parseOptions?.({ ...optionsAt('https://127.0.0.1'), ca })).toEqual({
          problems: ['ca: must be certificates in PEM'],
        });
      },
    );

    it.runIf(create === createS3Factory)(
      'has connections that stores share, until the last one is closed',
      async () => {
        const { front, open } = await openServer();
        const stores = [await open({ ca: one.cert }), await open({ ca: one.cert })];
        for (const { look } of stores) await look();
        expect(front.made()).toBe(1);
        await stores[0]?.store.close?.();
        await stores[0]?.store.close?.();
        await stores[1]?.look();
        expect(front.made()).toBe(1);
        await stores[1]?.store.close?.();
        await expect.poll(front.open).toBe(0);
      },
    );
  },
);
