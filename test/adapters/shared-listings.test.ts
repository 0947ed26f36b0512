import { Readable } from 'node:stream';
import { createApp, type Logger } from 'stowage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SourcePath, copyTree } from 'stowage/storage';
import { MemoryAdapter, SharedListings } from '#internals';
import type { ListOptions, StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { optionsFor } from '../../tools/test-servers/bucket.ts';
import { S3Stub } from '../../tools/test-servers/s3-stub.ts';
import { DavStub } from '../../tools/test-servers/webdav-stub.ts';

const at = (text: string) => SourcePath.parse(text);
const nothing = (): void => undefined;
const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const put = (storage: StorageAdapter, path: string, text = 'x') =>
  storage.write(at(path), Readable.from([Buffer.from(text)]));

/** What a file browser asks for when it opens a folder, each answered with success. */
const openFolder = async (app: { fetch(request: Request): Promise<Response> }): Promise<void> => {
  const asked = ['files?path=f', 'files?path=f&mods[offset]=100', 'folders?path=f'].map(async (query) => {
    const answer = await app.fetch(new Request(`http://localhost/${query}`));
    expect(answer.status).toBe(200);
    await answer.text();
  });
  await Promise.all(asked);
};

describe('a folder that is asked for several times at the same time', () => {
  it('is listed once in a bucket', async () => {
    const stub = await S3Stub.start();
    for (let index = 0; index < 20_000; index += 1) stub.put(`f/${String(index)}.txt`, 'x');
    const options = optionsFor(
      { endpoint: stub.endpoint, credentials: { accessKeyId: 'a', secretAccessKey: 'b' } },
      'bucket',
    );
    const app = createApp(
      { sources: { a: { title: 'a', baseurl: 'https://a.example/', storageAdapter: 's3', s3: options } } },
      {},
      { logger: silent },
    );
    onTestFinished(async () => {
      await app.close();
      await stub.close();
    });
    await openFolder(app);
    expect(stub.requests.filter(({ path }) => /prefix=f%2F(?:&|$)/u.test(path))).toHaveLength(20);
  });

  it('is listed once on a WebDAV server', async () => {
    const stub = await DavStub.start();
    stub.plant('f', undefined);
    stub.plant('f/a.txt', 'a');
    const app = createApp(
      {
        sources: {
          a: {
            title: 'a',
            baseurl: 'https://a.example/',
            storageAdapter: 'webdav',
            webdav: { url: stub.url },
          },
        },
      },
      {},
      { logger: silent },
    );
    onTestFinished(async () => {
      await app.close();
      await stub.close();
    });
    await openFolder(app);
    const listings = stub.seen.filter(({ path, headers }) => path === '/dav/f/' && headers['depth'] === '1');
    expect(listings).toHaveLength(1);
  });
});

const LISTED = { kind: 'file', size: 1, modifiedAt: 1 } as const;

/** A store whose listings wait for `open` after their first entry, and are counted. */
const openStore = (listings = new SharedListings(), most = 0) => {
  const memory = new MemoryAdapter();
  const gates: (() => void)[] = [];
  let count = 0;
  const inner = new Proxy<StorageAdapter>(memory, {
    get: (target, key) => {
      const member: unknown = Reflect.get(target, key, target);
      if (key === 'identity') return { backend: 'test', root: [] };
      if (key !== 'list') return typeof member === 'function' ? (member.bind(target) as unknown) : member;
      return async function* (folder: SourcePath, options: ListOptions) {
        count += 1;
        const pages = [];
        for await (const page of memory.list(folder, options)) pages.push(page);
        yield Array.from({ length: most }, (_, index) => ({ ...LISTED, name: String(index) }));
        await new Promise<void>((resolve) => gates.push(resolve));
        options.signal?.throwIfAborted();
        options.onOmitted?.(2);
        yield* pages;
      };
    },
  });
  const storage = listings.shareIn(inner);
  const names = async (options: ListOptions = {}, folder = 'f'): Promise<readonly string[]> => {
    const found: string[] = [];
    for await (const page of storage.list(at(folder), { mayJoin: true, ...options }))
      found.push(...page.map(({ name }) => name));
    return found.sort();
  };
  const release = async (waiting = 1): Promise<void> => {
    await expect.poll(() => gates.length).toBe(waiting);
    for (const open of gates.splice(0)) open();
  };
  return { inner, storage, names, release, started: () => count };
};

describe('a listing under way', () => {
  it('is joined, and shows the same to all', async () => {
    const { storage, names, release, started } = openStore();
    await put(storage, 'f/a.txt');
    const omitted: number[] = [];
    const onOmitted = (count: number) => void omitted.push(count);
    const both = Promise.all([names({ onOmitted }), names({ onOmitted })]);
    await release();
    expect(await both).toEqual([['a.txt'], ['a.txt']]);
    expect(omitted).toEqual([2, 2]);
    expect(started()).toBe(1);
  });

  it.each<
    readonly [what: string, change: (storage: StorageAdapter) => Promise<unknown>, shown: readonly string[]]
  >([
    ['writes', (storage) => put(storage, 'f/b.txt'), ['a.txt', 'b.txt']],
    ['removes', (storage) => storage.removeFile(at('f/a.txt')), []],
    ['moves', (storage) => storage.moveFile(at('f/a.txt'), at('c.txt')), []],
    ['makes a folder', (storage) => storage.makeFolder(at('f/g/h')), ['a.txt', 'g']],
    [
      'commits',
      async (storage) => (await storage.stage?.(Readable.from([Buffer.from('x')])))?.commit(at('f/b.txt')),
      ['a.txt', 'b.txt'],
    ],
  ])('is not joined by who %s before', async (_what, change, shown) => {
    const { storage, names, release, started } = openStore();
    await put(storage, 'f/a.txt');
    const first = names();
    await expect.poll(started).toBe(1);
    await change(storage);
    const next = names();
    await expect.poll(started).toBe(2);
    await release(2);
    expect(await first).toEqual(['a.txt']);
    expect(await next).toEqual(shown);
  });

  it('is not joined after the folder above was removed', async () => {
    const { storage, names, release, started } = openStore();
    await put(storage, 'f/g/a.txt');
    const first = names({}, 'f/g');
    await expect.poll(started).toBe(1);
    await storage.removeFolder(at('f'));
    await expect(names({}, 'f/g')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await release();
    await first;
  });

  it('is not joined after a change by another store of the same connector, nor by that store', async () => {
    const listings = new SharedListings();
    const [one, other] = [openStore(listings), openStore(listings)];
    await put(one.storage, 'f/a.txt');
    await put(other.storage, 'f/b.txt');
    const shown = [one.names(), other.names()];
    await expect.poll(other.started).toBe(1);
    await put(other.storage, 'f/c.txt');
    shown.push(one.names());
    await expect.poll(one.started).toBe(2);
    await one.release(2);
    await other.release();
    expect(await Promise.all(shown)).toEqual([['a.txt'], ['b.txt'], ['a.txt']]);
  });

  it('goes on for the others when its first reader leaves', async () => {
    const { storage, names, release, started } = openStore();
    await put(storage, 'f/a.txt');
    const abort = new AbortController();
    const reason = new Error('left');
    const first = expect(names({ signal: abort.signal })).rejects.toBe(reason);
    const others = Promise.all([names(), names()]);
    abort.abort(reason);
    await release();
    await first;
    await release();
    expect(await others).toEqual([['a.txt'], ['a.txt']]);
    expect(started()).toBe(2);
  });

  it('fails for all', async () => {
    const { names, started } = openStore();
    const outcomes = await Promise.allSettled([names(), names()]);
    expect(outcomes).toMatchObject([{ reason: { code: 'NOT_FOUND' } }, { reason: { code: 'NOT_FOUND' } }]);
    expect(started()).toBe(1);
  });

  it('of too many entries is left to its first reader', async () => {
    const { storage, names, release, started } = openStore(new SharedListings(), 100_001);
    await put(storage, 'f/a.txt');
    const both = Promise.all([names(), names()]);
    await expect.poll(started).toBe(2);
    await release(2);
    expect((await both).map(({ length }) => length)).toEqual([100_002, 100_002]);
  });

  it('may be as large as ever after others have ended', async () => {
    const { storage, names, release, started } = openStore(new SharedListings(), 60_000);
    await put(storage, 'f/a.txt');
    const first = names();
    await release();
    await first;
    const both = Promise.all([names(), names()]);
    await release();
    expect((await both).map(({ length }) => length)).toEqual([60_001, 60_001]);
    expect(started()).toBe(2);
  });

  it('is not joined by a copy, which needs all that is there when it begins', async () => {
    const { storage, names, release, started } = openStore();
    await put(storage, 'f/a.txt');
    const listing = names();
    const copying = copyTree({ storage, path: at('f') }, { storage, path: at('g') });
    await expect.poll(started).toBe(2);
    await release(2);
    await Promise.all([listing, copying]);
  });
});
