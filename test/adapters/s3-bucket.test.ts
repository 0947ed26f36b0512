import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createApp, type Logger } from 'stowage';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SourcePath } from 'stowage/storage';
import { S3Adapter, parseS3Options } from '#internals';
import { runsEverything } from '../before-release.ts';
import { formOf } from '../protocol/service.ts';
import { startInstance, type Instance } from '../../tools/test-servers/instance.ts';
import { makeBucket, optionsFor, type PlainBucket } from '../../tools/test-servers/bucket.ts';
import { radosgwMissing, startRadosgw, type Radosgw } from '../../tools/test-servers/radosgw.ts';
import { S3Proxy } from '../../tools/test-servers/s3-proxy.ts';

const MB = 1024 * 1024;
const at = (text: string) => SourcePath.parse(text);
const nothing = (): void => undefined;
const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

const put = (adapter: S3Adapter, path: string, content: string | Buffer, options = {}) =>
  adapter.write(at(path), Readable.from([Buffer.from(content)], { objectMode: false }), options);

const namesIn = async (adapter: S3Adapter, folder: string): Promise<string[]> => {
  const names: string[] = [];
  for await (const page of adapter.list(at(folder))) {
    names.push(...page.map(({ name, kind }) => (kind === 'folder' ? `${name}/` : name)));
  }
  return names.sort();
};

const picture = (): Promise<Buffer> =>
  sharp({ create: { width: 40, height: 30, channels: 3, background: '#3366aa' } })
    .jpeg()
    .toBuffer();

interface Listing {
  readonly sources: readonly { readonly files: readonly Readonly<Record<string, unknown>>[] }[];
}

describe.skipIf(radosgwMissing !== undefined)(
  `what the s3 adapter does in a bucket${radosgwMissing === undefined ? '' : ` (skipped: ${radosgwMissing})`}`,
  () => {
    let server: Radosgw;
    let bucket: PlainBucket;
    let proxy: S3Proxy;
    const endings: (() => Promise<unknown>)[] = [];
    /** Three processes, each with these sources; a start of one takes longer than most cases. */
    let trio: readonly Instance[];
    const [moving, racing] = [randomUUID(), randomUUID()];

    beforeAll(async () => {
      server = await startRadosgw();
      bucket = await makeBucket(server);
      proxy = await S3Proxy.start(server.endpoint);
      const sourceAt = (prefix: string) => ({
        title: 'Bucket',
        baseurl: 'https://files.example/',
        storageAdapter: 's3',
        s3: optionsFor(server, bucket.name, { prefix }),
      });
      const config = {
        createThumb: false,
        sources: { moving: sourceAt(moving), racing: sourceAt(racing) },
      };
      trio = await Promise.all([1, 2, 3].map(() => startInstance(config)));
    });
    afterEach(async () => {
      for (const end of endings.splice(0)) await end();
      proxy.reset();
    });
    afterAll(async () => {
      await Promise.all((trio ?? []).map((instance) => instance.stop()));
      await proxy?.close();
      bucket?.client.destroy();
      await server?.stop();
    });

    const optionsThroughProxy = (more: Readonly<Record<string, unknown>>) =>
      optionsFor({ ...server, endpoint: proxy.endpoint }, bucket.name, more);

    const openStore = (more: Readonly<Record<string, unknown>> = {}, root?: string) => {
      const prefix = randomUUID();
      const parsed = parseS3Options(optionsThroughProxy({ prefix, ...more }));
      if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
      const adapter = new S3Adapter(parsed.value, root);
      endings.push(() => adapter.close());
      const { prefix: used } = parsed.value;
      return { adapter, prefix: used, keys: () => bucket.keys(`${used}/`) };
    };

    /** A service with one source in the bucket. */
    const openService = (settings: Readonly<Record<string, unknown>> = {}) => {
      const prefix = randomUUID();
      const source = {
        title: 'Bucket',
        baseurl: 'https://files.example/',
        storageAdapter: 's3',
        s3: optionsThroughProxy({ prefix }),
      };
      const app = createApp({ ...settings, sources: { bucket: source } }, {}, { logger: silent });
      endings.push(() => app.close());
      const call = async (action: string, fields: Readonly<Record<string, string>> = {}) => {
        const body = new URLSearchParams(fields);
        const answer = await app.fetch(new Request(`http://localhost/${action}`, { method: 'POST', body }));
        const { success, data } = (await answer.json()) as { success: boolean; data: unknown };
        expect({ success, data }).toMatchObject({ success: true });
        return data as Listing;
      };
      return { app, prefix, call, keys: () => bucket.keys(`${prefix}/`) };
    };

    it('a path is a key below the prefix and the root of the source, in any spelling of them', async () => {
      const base = randomUUID();
      const { adapter } = openStore({ prefix: `/${base}/tenants/` }, '/one/');
      await put(adapter, 'photos/cat.jpg', 'cat');
      expect(await bucket.keys(`${base}/`)).toEqual(['tenants/one/photos/cat.jpg']);
    });

    it('a source never sees, moves or removes what lies beside its prefix', async () => {
      const { adapter, prefix } = openStore();
      await bucket.put(`${prefix}-2/a.txt`, 'neighbour');
      await bucket.put(`${prefix}`, 'neighbour');
      await put(adapter, 'f/a.txt', 'a');
      await put(adapter, 'f-2/a.txt', 'a');
      await put(adapter, 'f.txt', 'a');
      expect(await namesIn(adapter, '')).toEqual(['f-2/', 'f.txt', 'f/']);
      await adapter.moveFolder(at('f'), at('g'));
      await adapter.removeFolder(at('g'));
      expect(await bucket.keys(prefix)).toEqual(['', '-2/a.txt', '/f-2/a.txt', '/f.txt']);
    });

    it('a created folder is an empty object, and one that other tools only imply is listed too', async () => {
      const { adapter, prefix, keys } = openStore();
      await adapter.makeFolder(at('made'));
      expect(await keys()).toEqual(['made/']);
      expect(await bucket.head(`${prefix}/made/`)).toMatchObject({ ContentLength: 0 });
      await bucket.put(`${prefix}/implied/deep/a.txt`, 'a');
      expect(await namesIn(adapter, '')).toEqual(['implied/', 'made/']);
      expect(await namesIn(adapter, 'implied')).toEqual(['deep/']);
    });

    it('objects carry the type of their name and what the options say, and parts keep what the source had', async () => {
      const { adapter, prefix } = openStore({ cacheControl: 'max-age=60' });
      await put(adapter, 'a.jpg', 'a');
      expect(await bucket.head(`${prefix}/a.jpg`)).toMatchObject({
        ContentType: 'image/jpeg',
        CacheControl: 'max-age=60',
      });
      const large = Buffer.alloc(9 * MB, 'abcdefg');
      await put(adapter, 'large.mp4', large);
      proxy.reset();
      await adapter.copyFile(at('large.mp4'), at('copy.bin'));
      expect(proxy.counts()).toMatchObject({ UploadPartCopy: 1, CompleteMultipartUpload: 1 });
      expect(proxy.counts()['CopyObject']).toBeUndefined();
      expect(await bucket.head(`${prefix}/copy.bin`)).toMatchObject({
        ContentType: 'video/mp4',
        CacheControl: 'max-age=60',
      });
      expect((await buffer((await adapter.read(at('copy.bin'))).stream)).equals(large)).toBe(true);
      await adapter.copyFile(at('a.jpg'), at('b.bin'));
      expect(await bucket.head(`${prefix}/b.bin`)).toMatchObject({ ContentType: 'image/jpeg' });
    });

    it.each([
      ['known length', { size: 20 * MB }],
      ['unknown length', {}],
      ['known length, create-only', { size: 20 * MB, createOnly: true }],
      ['unknown length, create-only', { createOnly: true }],
    ])('a large file of %s arrives whole, and a taken name is refused', async (_what, options) => {
      const { adapter, prefix } = openStore();
      const bytes = Buffer.alloc(
        20 * MB,
        Uint8Array.from({ length: 4099 }, (_, index) => index & 255),
      );
      const pieces = Array.from({ length: 320 }, (_, index) =>
        bytes.subarray(index * 65_536, (index + 1) * 65_536),
      );
      await adapter.write(at('a.bin'), Readable.from(pieces, { objectMode: false }), options);
      expect((await buffer((await adapter.read(at('a.bin'))).stream)).equals(bytes)).toBe(true);
      const again = adapter.write(at('a.bin'), Readable.from(pieces, { objectMode: false }), {
        ...options,
        createOnly: true,
      });
      await expect(again).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
      expect(await bucket.uploads(prefix)).toEqual([]);
    });

    it('a rename of one object is one copy and one delete, and before them a small object that reserves the name, which the service does not decide by itself; and two questions: a listing shows the file and that the name is free; and whether there are words, when it has moved', async () => {
      const { call, prefix, keys } = openService({ createThumb: false });
      await call('folderCreate', { name: 'f' });
      await bucket.put(`${prefix}/a.txt`, 'a');
      proxy.reset();
      await call('fileRename', { name: 'a.txt', newname: 'b.txt' });
      expect(proxy.counts()).toEqual({ PutObject: 1, ListObjectsV2: 2, CopyObject: 1, DeleteObject: 1 });
      expect(await keys()).toEqual(['b.txt', 'f/']);
    });

    it.runIf(runsEverything)('a folder of 1,100 objects is removed with one request per 1,000', async () => {
      const { adapter, prefix, keys } = openStore();
      const names = Array.from({ length: 1100 }, (_, index) => `f/${index}.txt`);
      for (let start = 0; start < names.length; start += 50) {
        await Promise.all(names.slice(start, start + 50).map((name) => bucket.put(`${prefix}/${name}`, 'x')));
      }
      proxy.reset();
      await adapter.removeFolder(at('f'));
      expect(proxy.counts()).toEqual({ ListObjectsV2: 2, DeleteObjects: 2 });
      expect(await keys()).toEqual([]);
    });

    it('no request sets an ACL or signs a URL', async () => {
      const { adapter } = openStore();
      await put(adapter, 'a.txt', 'a');
      await adapter.copyFile(at('a.txt'), at('b.txt'));
      expect(adapter.publicUrl(at('ä b.txt'))).toMatch(/\/%C3%A4%20b\.txt$/u);
      expect(proxy.seen.some(({ url }) => /[?&](?:acl|X-Amz-Signature)/iu.test(url))).toBe(false);
    });

    it('the first listing reads each image once and stores its thumbnail beside it, the next only lists', async () => {
      const { call, prefix, keys } = openService();
      const image = await picture();
      for (const name of ['a.jpg', 'b.jpg', 'c.jpg']) await bucket.put(`${prefix}/photos/${name}`, image);
      await call('files', { path: 'photos' });
      // A listing of the folder, one of its thumbnails, which are not there yet, and a last look at each image.
      expect(proxy.counts()).toEqual({ ListObjectsV2: 2, HeadObject: 4, GetObject: 3, PutObject: 3 });
      expect(await keys()).toEqual(
        ['a.jpg', 'b.jpg', 'c.jpg'].flatMap((name) => [`photos/_thumbs/${name}`, `photos/${name}`]).sort(),
      );
      proxy.reset();
      const { sources } = await call('files', { path: 'photos' });
      expect(sources[0]?.files.map(({ thumb }) => thumb)).toEqual(expect.arrayContaining(['_thumbs/a.jpg']));
      expect(proxy.counts()).toEqual({ ListObjectsV2: expect.any(Number) as number });
    });

    it('a process killed in the middle of a folder move leaves the source or the target whole', async () => {
      const prefix = randomUUID();
      const config = {
        createThumb: false,
        sources: {
          bucket: {
            title: 'Bucket',
            baseurl: 'https://files.example/',
            storageAdapter: 's3',
            s3: optionsThroughProxy({ prefix }),
          },
        },
      };
      const names = Array.from({ length: 60 }, (_, index) => `deep/${String(index)}.txt`).sort();
      for (const name of names) await bucket.put(`${prefix}/f/${name}`, name);
      const below = async (folder: string): Promise<string[]> =>
        (await bucket.keys(`${prefix}/${folder}/`)).filter((key) => key !== '');
      const fields = () => new URLSearchParams({ name: 'f', newname: 'g' });
      // In the copies, and in the removals.
      for (const [operation, from] of [
        ['CopyObject', 20],
        ['DeleteObjects', 1],
      ] as const) {
        const instance = await startInstance(config);
        proxy.fail({ operation, effect: { kind: 'stall' }, from });
        proxy.seen.length = 0;
        const moving = fetch(`${instance.url}/folderRename`, { method: 'POST', body: fields() }).catch(
          () => undefined,
        );
        await expect
          .poll(() => proxy.counts()[operation] ?? 0, { timeout: 20_000 })
          .toBeGreaterThanOrEqual(from);
        await instance.kill();
        await moving;
        proxy.reset();
        const whole = [await below('f'), await below('g')].filter((keys) => keys.join() === names.join());
        expect(whole.length).toBeGreaterThanOrEqual(1);
        const { adapter } = openStore({ prefix });
        await adapter.removeFolder(at('g'));
      }
    }, 120_000);

    it.runIf(runsEverything)(
      'files that two processes upload into a folder while a third one moves it are lost nowhere',
      async () => {
        const prefix = moving;
        const [mover, ...uploaders] = trio;
        if (mover === undefined) throw new Error('no instance');
        const expected: Record<string, string> = {};
        for (let index = 0; index < 30; index += 1) {
          expected[`old-${index}.txt`] = `old ${index}`;
          await bucket.put(`${prefix}/f/old-${index}.txt`, `old ${index}`);
        }
        const upload = async ({ url }: Instance, name: string): Promise<boolean> => {
          const body = formOf([['files[0]', name, `content of ${name}`]], { source: 'moving', path: 'f' });
          const answer = await fetch(`${url}/fileUpload`, { method: 'POST', body });
          if (answer.ok) expected[name] = `content of ${name}`;
          return answer.status !== 404;
        };
        const uploadUntilGone = async (instance: Instance, who: number): Promise<void> => {
          for (let index = 1; index < 40; index += 1) {
            if (!(await upload(instance, `new-${who}-${index}.txt`))) return;
          }
        };
        for (const [who, instance] of uploaders.entries()) await upload(instance, `new-${who}-0.txt`);
        const uploading = uploaders.map((instance, who) => uploadUntilGone(instance, who));
        const moved = await fetch(`${mover.url}/folderRename?source=moving&name=f&newname=g`);
        // All has moved, or the answer reports how much has stayed.
        const { success, data } = (await moved.json()) as { success: boolean; data: { messages?: string[] } };
        if (!success) expect(data.messages?.[0]).toMatch(/stayed in the old folder/u);
        await Promise.all(uploading);
        const found: Record<string, string> = {};
        const { adapter } = openStore({ prefix });
        for (const key of await bucket.keys(`${prefix}/`)) {
          if (key.endsWith('/')) continue;
          const { stream } = await adapter.read(at(key));
          found[key.slice('f/'.length)] = (await buffer(stream)).toString();
        }
        expect(found).toEqual(expected);
        expect(Object.keys(expected).length).toBeGreaterThanOrEqual(32);
      },
      60_000,
    );

    it('three processes that upload files of one name store as many distinct whole files', async () => {
      const count = runsEverything ? 45 : 24;
      const prefix = racing;
      const contentOf = (index: number): string => `upload ${String(index)};`.repeat(500);
      const paths = await Promise.all(
        Array.from({ length: count }, async (_, index) => {
          const { url } = trio[index % 3] ?? { url: '' };
          const body = formOf([['files[0]', 'a.txt', contentOf(index)]], { source: 'racing' });
          const answer = await fetch(`${url}/fileUpload`, { method: 'POST', body });
          const { data } = (await answer.json()) as { data: { files?: string[]; messages?: string[] } };
          expect(data.messages).toHaveLength(1);
          return [index, data.files?.[0] ?? ''] as const;
        }),
      );
      expect(new Set(paths.map(([, path]) => path)).size).toBe(count);
      expect(await bucket.keys(`${prefix}/`)).toEqual(paths.map(([, path]) => path).sort());
      const parsed = parseS3Options(optionsFor(server, bucket.name, { prefix }));
      if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
      const adapter = new S3Adapter(parsed.value);
      endings.push(() => adapter.close());
      for (const [index, path] of paths) {
        const { stream } = await adapter.read(at(path));
        expect((await buffer(stream)).toString()).toBe(contentOf(index));
      }
    }, 120_000);
  },
);
