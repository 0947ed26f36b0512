import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutBucketPolicyCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import sharp from 'sharp';
import { createApp, type Logger } from 'stowage';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SourcePath } from 'stowage/storage';
import { S3Adapter, parseS3Options } from '#internals';
import { makeBucket, optionsFor, type PlainBucket } from '../../tools/test-servers/bucket.ts';
import { radosgwMissing, startRadosgw, type Keys, type Radosgw } from '../../tools/test-servers/radosgw.ts';
import { S3Proxy } from '../../tools/test-servers/s3-proxy.ts';

const MB = 1024 * 1024;
const at = (path: string) => SourcePath.parse(path);
const nothing = (): void => undefined;
const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const digest = (content: string): string => createHash('md5').update(content).digest('hex');

/** What the specification says about a bucket, as far as no other test of the adapter is about it. */
describe.skipIf(radosgwMissing !== undefined)(
  `the layout of a bucket${radosgwMissing === undefined ? '' : ` (skipped: ${radosgwMissing})`}`,
  () => {
    let server: Radosgw;
    let bucket: PlainBucket;
    let proxy: S3Proxy;
    let limited: Keys;
    const endings: (() => Promise<unknown>)[] = [];

    beforeAll(async () => {
      server = await startRadosgw();
      bucket = await makeBucket(server);
      proxy = await S3Proxy.start(server.endpoint);
      limited = await server.addUser('limited');
    });
    afterEach(async () => {
      for (const end of endings.splice(0)) await end();
      proxy.reset();
    });
    afterAll(async () => {
      await proxy?.close();
      bucket?.client.destroy();
      await server?.stop();
    });

    const options = (prefix: string, credentials = server.credentials) =>
      optionsFor({ endpoint: proxy.endpoint, credentials }, bucket.name, { prefix });

    const openStore = (prefix: string = randomUUID(), credentials = server.credentials) => {
      const parsed = parseS3Options(options(prefix, credentials));
      if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
      const adapter = new S3Adapter(parsed.value);
      endings.push(() => adapter.close());
      const put = (path: string, content: string, more = {}) =>
        adapter.write(at(path), Readable.from([Buffer.from(content)], { objectMode: false }), more);
      const read = async (path: string) => text((await adapter.read(at(path))).stream);
      return { adapter, prefix, put, read, keys: () => bucket.keys(`${prefix}/`) };
    };

    const openService = (settings: Readonly<Record<string, unknown>>) => {
      const prefix = randomUUID();
      const source = {
        title: 'Bucket',
        baseurl: 'https://files.example/',
        storageAdapter: 's3',
        s3: options(prefix),
      };
      const app = createApp({ ...settings, sources: { bucket: source } }, {}, { logger: silent });
      endings.push(() => app.close());
      const ask = async (path: string) => {
        const answer = await app.fetch(new Request(`http://service/${path}`));
        return (await answer.json()) as { data: Record<string, unknown> };
      };
      return { prefix, ask, keys: () => bucket.keys(`${prefix}/`) };
    };

    it('what other tools have stored is shown when its extension is allowed, thumbnails never', async () => {
      const { prefix, ask } = openService({ extensions: ['txt'], imageExtensions: [] });
      for (const key of ['photos/a.txt', 'photos/a.exe', 'photos/none', 'photos/deep/b.txt'])
        await bucket.put(`${prefix}/${key}`, 'x');
      const listing = 'files?path=photos&mods[withFolders]=true&mods[sortBy]=name-asc';
      await ask(listing);
      expect(await bucket.keys(`${prefix}/photos/_thumbs/`)).not.toEqual([]);
      expect(await ask(listing)).toMatchObject({
        data: { sources: [{ files: [{ name: 'a.txt' }, { name: 'deep', type: 'folder' }] }] },
      });
      expect(await ask('files?path=photos/_thumbs')).toMatchObject({ data: { code: 404 } });
      expect(await ask('fileRemove?path=photos&name=a.exe')).toMatchObject({ data: { code: 404 } });
    });

    it('a folder is moved 16 objects at a time, and nothing is removed before the last copy', async () => {
      const { adapter, put, keys } = openStore();
      await adapter.makeFolder(at('f'));
      for (let index = 0; index < 40; index += 1) await put(`f/${index}.txt`, String(index));
      proxy.reset();
      let waiting = 0;
      let most = 0;
      let open = nothing;
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      for (let number = 1; number <= 40; number += 1) {
        proxy.before('CopyObject', number, async () => {
          waiting += 1;
          most = Math.max(most, waiting);
          await gate;
          waiting -= 1;
        });
      }
      const moving = adapter.moveFolder(at('f'), at('g'));
      await expect.poll(() => waiting).toBe(16);
      // A seventeenth would be here by now.
      await sleep(200);
      open();
      await moving;
      expect(most).toBe(16);
      const operations = proxy.seen.map(({ operation }) => operation);
      expect(operations.indexOf('DeleteObjects')).toBeGreaterThan(operations.lastIndexOf('CopyObject'));
      expect(operations.filter((operation) => operation === 'CopyObject')).toHaveLength(40);
      expect(await keys()).toHaveLength(41);
    });

    it('above 8 MB an object is copied in parts, and all that it was stored with is kept', async () => {
      const { adapter, prefix, read } = openStore();
      await adapter.makeFolder(at('f'));
      const own = {
        ContentType: 'application/x-own',
        ContentDisposition: 'attachment',
        ContentLanguage: 'de',
        ContentEncoding: 'identity',
        CacheControl: 'max-age=5',
        Expires: new Date('2031-01-02T03:04:05Z'),
        Metadata: { author: 'somebody' },
      };
      for (const [name, size, copies] of [
        ['exact.bin', 8 * MB, { CopyObject: 1 }],
        ['above.bin', 8 * MB + 1, { UploadPartCopy: 1 }],
      ] as const) {
        const Body = 'abcdefg'.repeat(2 * MB).slice(0, size);
        const Key = `${prefix}/${name}`;
        await bucket.client.send(new PutObjectCommand({ Bucket: bucket.name, Key, Body, ...own }));
        proxy.reset();
        await adapter.moveFile(at(name), at(`moved-${name}`), { createOnly: true });
        const { CopyObject, UploadPartCopy } = proxy.counts();
        expect({ CopyObject, UploadPartCopy }).toMatchObject(copies);
        const { Expires: _date, ...kept } = own;
        expect(await bucket.head(`${prefix}/moved-${name}`)).toMatchObject({
          ...kept,
          ContentLength: size,
          ExpiresString: own.Expires.toUTCString(),
        });
        expect(digest(await read(`moved-${name}`))).toBe(digest(Body));
      }
    });

    it('keeps the attributes of an object whose content is replaced or edited in place, without more requests', async () => {
      const prefix = randomUUID();
      const s3 = { ...options(prefix), cacheControl: 'max-age=60' };
      const source = { title: 'Files', baseurl: 'https://f.test/', maxUploadFileSize: '20mb' };
      const app = createApp(
        { sources: { files: { ...source, storageAdapter: 's3', s3 } } },
        {},
        { logger: silent },
      );
      endings.push(() => app.close());
      const own = {
        CacheControl: 'max-age=5',
        ContentDisposition: 'attachment',
        ContentLanguage: 'de',
        Metadata: { author: 'somebody' },
      };
      const picture = await sharp({ create: { width: 80, height: 60, channels: 3, background: '#36c' } })
        .png()
        .toBuffer();
      const act = async (query: string, content?: Uint8Array): Promise<Record<string, number>> => {
        const body = new FormData();
        if (content !== undefined) body.set('files[0]', new Blob([new Uint8Array(content)]), 'sent.png');
        const Key = `${prefix}/a.png`;
        await bucket.client.send(new PutObjectCommand({ Bucket: bucket.name, Key, Body: picture, ...own }));
        proxy.reset();
        const sent = content === undefined ? {} : { method: 'POST', body };
        expect((await app.fetch(new Request(`http://service/${query}`, sent))).status).toBe(200);
        const counts = proxy.counts();
        expect(await bucket.head(Key)).toMatchObject({ ...own, ContentType: 'image/png' });
        return counts;
      };
      // The first conditional write of a process tries what the service supports.
      await act('imageCrop?name=a.png&box[x]=1&box[y]=1&box[w]=20&box[h]=20');
      const put = { PutObject: 1, HeadObject: 1, ListObjectsV2: 2, DeleteObject: 1 };
      const crop = await act('imageCrop?name=a.png&box[x]=1&box[y]=1&box[w]=20&box[h]=20');
      expect(crop).toEqual({ ...put, GetObject: 1 });
      expect(await act('fileReplace?name=a.png', picture)).toEqual(put);
      const large = await act('fileReplace?name=a.png', Buffer.concat([picture, Buffer.alloc(9 * MB)]));
      const parts = { CreateMultipartUpload: 1, UploadPart: 2, CompleteMultipartUpload: 1 };
      expect(large).toMatchObject({ ...parts, HeadObject: 2 });
    });

    it('above 8 MB a copy keeps texts that are not in English, as browsers are told names of files', async () => {
      const { adapter, prefix, read } = openStore();
      const content = 'abcdefg'.repeat(2 * MB).slice(0, 9 * MB);
      const disposition = Buffer.from('attachment; filename="Übersicht.pdf"').toString('latin1');
      const put = new PutObjectCommand({ Bucket: bucket.name, Key: `${prefix}/a.pdf` });
      const url = await getSignedUrl(bucket.client, put);
      const headers = { 'content-disposition': disposition, 'content-length': String(content.length) };
      const putting = request(url, { method: 'PUT', headers }).end(content);
      const [{ statusCode }] = (await once(putting, 'response')) as [IncomingMessage];
      expect(statusCode).toBe(200);
      await adapter.moveFile(at('a.pdf'), at('b.pdf'), { createOnly: true });
      expect(await bucket.head(`${prefix}/b.pdf`)).toMatchObject({ ContentDisposition: disposition });
      expect(digest(await read('b.pdf'))).toBe(digest(content));
    });

    it('a remote file is stored as far as maxUploadFileSize allows', async () => {
      const remote = createServer((request, response) => {
        response.end(Buffer.alloc(request.url === '/small.txt' ? 1000 : 3000, 'x'));
      });
      remote.listen(0, '127.0.0.1');
      await once(remote, 'listening');
      endings.push(async () => remote.close());
      const { ask, keys } = openService({ maxUploadFileSize: '2kb', allowPrivateNetworkUploads: true });
      const from = `http://127.0.0.1:${(remote.address() as AddressInfo).port}`;
      expect(await ask(`fileUploadRemote?url=${from}/small.txt`)).toMatchObject({
        data: { newfilename: 'small.txt' },
      });
      expect(await ask(`fileUploadRemote?url=${from}/large.txt`)).toMatchObject({ data: { code: 403 } });
      expect(await keys()).toEqual(['small.txt']);
    });

    it('the permissions of the specification are enough: list below the prefix, and get, put, delete there', async () => {
      const prefix = `media-${randomUUID()}`;
      const Principal = { AWS: ['arn:aws:iam:::user/limited'] };
      const Resource = `arn:aws:s3:::${bucket.name}`;
      const Statement = [
        {
          Effect: 'Allow',
          Principal,
          Action: 's3:ListBucket',
          Resource,
          Condition: { StringLike: { 's3:prefix': `${prefix}/*` } },
        },
        {
          Effect: 'Allow',
          Principal,
          Action: ['s3:GetObject', 's3:PutObject', 's3:DeleteObject'],
          Resource: `${Resource}/${prefix}/*`,
        },
      ];
      const Policy = JSON.stringify({ Version: '2012-10-17', Statement });
      await bucket.client.send(new PutBucketPolicyCommand({ Bucket: bucket.name, Policy }));
      const { adapter, put, read, keys } = openStore(prefix, limited);
      const missing = { code: 'NOT_FOUND' };
      await put('f/a.txt', 'a', { createOnly: true });
      await expect(put('f/a.txt', 'b', { createOnly: true })).rejects.toMatchObject({
        code: 'ALREADY_EXISTS',
      });
      await expect(adapter.stat(at('none.txt'))).rejects.toMatchObject(missing);
      await expect(adapter.read(at('none.txt'))).rejects.toMatchObject(missing);
      await expect(adapter.read(at('f'))).rejects.toMatchObject({ code: 'WRONG_KIND' });
      await expect(adapter.removeFile(at('none.txt'))).rejects.toMatchObject(missing);
      await expect(adapter.copyFile(at('none.txt'), at('b.txt'))).rejects.toMatchObject(missing);
      const late = adapter.moveFile(at('f/none.txt'), at('f/b.txt'), { createOnly: true });
      await expect(late).rejects.toMatchObject(missing);
      await adapter.copyFile(at('f/a.txt'), at('f/b.txt'), { createOnly: true });
      await put('f/large.bin', 'x'.repeat(9 * MB));
      await adapter.moveFile(at('f/large.bin'), at('f/l.bin'), { createOnly: true });
      await adapter.makeFolder(at('empty'));
      await adapter.moveFolder(at('f'), at('g'));
      expect(await keys()).toEqual(['empty/', 'g/', 'g/a.txt', 'g/b.txt', 'g/l.bin']);
      expect(await read('g/b.txt')).toBe('a');
      await adapter.removeFolder(at('g'));
      await adapter.removeFolder(at('empty'));
      expect(await keys()).toEqual([]);
      // Beside the prefix this user may do nothing, and is told so.
      const beside = openStore(`${prefix}-2`, limited);
      await expect(beside.put('a.txt', 'a')).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
      await expect(beside.adapter.stat(at('a.txt'))).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
    });
  },
);
