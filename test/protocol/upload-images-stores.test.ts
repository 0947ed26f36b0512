import { GetObjectCommand } from '@aws-sdk/client-s3';
import sharp from 'sharp';
import { createApp } from 'stowage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeBucket, optionsFor } from '../../tools/test-servers/bucket.ts';
import { FaultProxy } from '../../tools/test-servers/fault-proxy.ts';
import { radosgwMissing, startRadosgw } from '../../tools/test-servers/radosgw.ts';
import { S3Proxy } from '../../tools/test-servers/s3-proxy.ts';
import { login, programs, startApache } from '../../tools/test-servers/webdav.ts';
import { located } from '../pictures/located.ts';
import { colourAt, isNear, quarters, QUARTERS, turned } from '../pictures/pictures.ts';
import { formOf, silent } from './service.ts';

interface Store {
  readonly source: object;
  readonly proxy: FaultProxy;
  /** A file as the server has it, past the service. */
  readonly read: (path: string) => Promise<Buffer>;
  readonly write: (path: string, content: Buffer) => Promise<unknown>;
  readonly stop: () => Promise<unknown>;
}

const startS3 = async (): Promise<Store> => {
  const server = await startRadosgw();
  const bucket = await makeBucket(server);
  const proxy = await S3Proxy.start(server.endpoint);
  const { credentials } = server;
  return {
    source: { storageAdapter: 's3', s3: optionsFor({ endpoint: proxy.endpoint, credentials }, bucket.name) },
    proxy,
    read: async (Key) => {
      const { Body } = await bucket.client.send(new GetObjectCommand({ Bucket: bucket.name, Key }));
      return Buffer.from((await Body?.transformToByteArray()) ?? []);
    },
    write: (key, content) => bucket.put(key, content),
    stop: async () => {
      bucket.client.destroy();
      await proxy.close();
      await server.stop();
    },
  };
};

const startWebdav = async (): Promise<Store> => {
  const server = await startApache('basic');
  const proxy = await FaultProxy.start(server.url, ({ method = '' }) => method);
  const headers = {
    authorization: `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`,
  };
  const url = (path: string): string => `${server.url.replace(/\/$/u, '')}/${path}`;
  return {
    source: { storageAdapter: 'webdav', webdav: { url: `${proxy.endpoint}/dav`, ...login } },
    proxy,
    read: async (path) => Buffer.from(await (await fetch(url(path), { headers })).arrayBuffer()),
    write: (path, content) => fetch(url(path), { method: 'PUT', headers, body: new Uint8Array(content) }),
    stop: async () => {
      await proxy.close();
      await server.stop();
    },
  };
};

describe.each([
  {
    name: 'S3 (radosgw)',
    missing: radosgwMissing,
    start: startS3,
    uploading: { ListObjectsV2: 1, HeadObject: 1, PutObject: 2 },
    // Of the folder, and whether there are thumbnails and words.
    listing: { ListObjectsV2: 3, HeadObject: 1 },
  },
  {
    name: 'WebDAV (Apache)',
    missing: programs.apache ? undefined : 'not installed',
    start: startWebdav,
    uploading: { PROPFIND: 5, PUT: 2, MKCOL: 1, MOVE: 2, DELETE: 1 },
    listing: { PROPFIND: 4 },
  },
])('uploadImages on $name', ({ missing, start, uploading, listing }) => {
  describe.skipIf(missing !== undefined)(
    `with a server${missing === undefined ? '' : ` (${missing})`}`,
    () => {
      let store: Store;
      let app: ReturnType<typeof createApp>;

      beforeAll(async () => {
        store = await start();
        const files = { title: 'Files', baseurl: 'https://files.example/', ...store.source };
        const uploadImages = { maxWidth: 60, metadata: 'strip-location' } as const;
        app = createApp({ sources: { files }, uploadImages }, {}, { logger: silent });
      });
      afterAll(async () => {
        await app.close();
        await store.stop();
      });

      const upload = async (name: string, content: Buffer): Promise<unknown> => {
        const body = formOf([['files[0]', name, new Uint8Array(content)]]);
        const answer = await app.fetch(new Request('http://x/fileUpload', { method: 'POST', body }));
        const { data } = (await answer.json()) as { data: { items: unknown[] } };
        return data.items[0];
      };
      const list = async (): Promise<Map<unknown, Record<string, unknown>>> => {
        const answer = await app.fetch(new Request('http://x/files?mods[details]=true'));
        type Listed = { sources: { files: Record<string, unknown>[] }[] };
        const { data } = (await answer.json()) as { data: Listed };
        return new Map(data.sources[0]?.files.map((item) => [item['file'], item]));
      };

      it('stores what becomes of a photo on its side, without the position, and its thumbnail', async () => {
        await upload('first.png', await quarters().png().toBuffer());
        const lying = await turned(quarters(80, 40), 6);
        const photo = await located(lying).withMetadata({ orientation: 6 }).jpeg().toBuffer();
        store.proxy.reset();
        expect(await upload('a.jpg', photo)).toMatchObject({ width: 60, height: 30, mime: 'image/jpeg' });
        expect(store.proxy.counts()).toEqual(uploading);
        const stored = await store.read('a.jpg');
        const { width, height, orientation, exif } = await sharp(stored).metadata();
        expect([width, height, orientation ?? 1]).toEqual([60, 30, 1]);
        expect([stored.includes('51,30.5N'), exif === undefined]).toEqual([false, false]);
        expect(isNear(await colourAt(stored, 45, 7), QUARTERS.green, 32)).toBe(true);
        expect((await sharp(await store.read('_thumbs/a.jpg')).metadata()).width).toBe(60);
      });

      it('reads the beginning of each picture once for its size', async () => {
        const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
        const create = { width: 500, height: 400, channels: 3, background: '#888', noise } as const;
        const large = await sharp({ create }).jpeg({ quality: 95 }).toBuffer();
        expect(large.length).toBeGreaterThan(128 * 1024);
        await store.write('b.jpg', large);
        await store.write('c.jpg', large);
        await store.write('_thumbs/b.jpg', large);
        await store.write('_thumbs/c.jpg', large);
        store.proxy.reset();
        expect((await list()).get('b.jpg')).toMatchObject({ width: 500, height: 400, bytes: large.length });
        const { seen } = store.proxy;
        const read = seen.filter(
          ({ method, operation }) => method === 'GET' && operation !== 'ListObjectsV2',
        );
        const ranges = read.map(
          ({ url, range }) => `${/\w+\.(?:jpg|png)/u.exec(url)?.[0] ?? ''} ${range ?? ''}`,
        );
        expect(ranges.filter((range) => /^[bc]/u.test(range)).sort()).toEqual([
          'b.jpg bytes=0-65535',
          'c.jpg bytes=0-65535',
        ]);
        expect(ranges).toHaveLength(4);
        store.proxy.reset();
        expect((await list()).get('c.jpg')).toMatchObject({ width: 500, height: 400 });
        expect(store.proxy.counts()).toEqual(listing);
      });
    },
  );
});
