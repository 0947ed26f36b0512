import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { AlreadyExistsError, SourcePath } from 'stowage/storage';
import {
  createShareNumbers,
  createLocationLocks,
  createSilentLogger,
  copyNames,
  memoryFactory,
  takeFreeName,
  uploadNames,
} from '#internals';
import type { NameSearch } from '../../packages/stowage/dist/changes/names.js';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { replacing } from '../protocol/changing-store.ts';

const openStore = async (names: readonly string[] = []): Promise<StorageAdapter> => {
  const storage = await memoryFactory.create({
    options: undefined,
    root: undefined,
    sourceName: 'memory',
    log: createSilentLogger(),
  });
  for (const name of names) await storage.write(SourcePath.parse(name), Readable.from(['old']));
  return storage;
};

const searchIn = (storage: StorageAdapter, name: string, others: Partial<NameSearch> = {}): NameSearch => ({
  storage,
  folder: SourcePath.root,
  names: uploadNames(name),
  isReserved: () => false,
  shareNumbers: createShareNumbers(),
  locations: createLocationLocks(),
  signal: new AbortController().signal,
  ...others,
});

const take = (search: NameSearch): Promise<string> =>
  takeFreeName(search, async (target) => {
    await search.storage.write(target, Readable.from(['new']), { createOnly: true });
    return target.toString();
  });

const withResolver = (): { readonly promise: Promise<void>; readonly resolve: () => void } => {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
};

const manyNames = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => (index === 0 ? 'a.txt' : `a-${String(index)}.txt`));

describe('the search for a free name', () => {
  it('gives 300 racers among thousands of taken names the next 300, with one listing', async () => {
    const storage = await openStore(manyNames(2000));
    const listed: string[] = [];
    const list = storage.list.bind(storage);
    storage.list = (folder, options) => {
      listed.push(folder.toString());
      return list(folder, options);
    };
    const search = searchIn(storage, 'a.txt');
    const names = await Promise.all(Array.from({ length: 300 }, () => take(search)));
    expect([...names].sort()).toEqual(manyNames(2300).slice(2000).sort());
    expect(listed).toHaveLength(1);
  });

  it('passes over reserved names and names that look alike', async () => {
    const storage = await openStore(['a.txt', 'a-01.txt', 'a-1.png', 'a-2.txt.txt', 'A-1.txt']);
    expect(await take(searchIn(storage, 'a.txt'))).toBe('a-1.txt');
    const isReserved = (name: string): boolean => name === 'a-2.txt';
    expect(await take(searchIn(storage, 'a.txt', { isReserved }))).toBe('a-3.txt');
  });

  it('goes on alone when the request whose listing it shared is given up', async () => {
    const storage = await openStore(manyNames(50));
    const shared = { shareNumbers: createShareNumbers(), locations: createLocationLocks() };
    const abandoned = new AbortController();
    const list = storage.list.bind(storage);
    let listings = 0;
    const isListed = withResolver();
    storage.list = async function* (folder, options = {}) {
      listings += 1;
      if (listings === 1) {
        isListed.resolve();
        // The store answers nothing until the first request is given up, when the second one waits for it as
        // well.
        await new Promise((resolve) => options.signal?.addEventListener('abort', resolve));
        throw options.signal?.reason;
      }
      yield* list(folder, options);
    };
    const first = take(searchIn(storage, 'a.txt', { ...shared, signal: abandoned.signal }));
    const second = take(searchIn(storage, 'a.txt', shared));
    const third = take(searchIn(storage, 'a.txt', shared));
    await isListed.promise;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(listings).toBe(1);
    abandoned.abort(new Error('given up'));
    await expect(first).rejects.toThrow('given up');
    expect([await second, await third].sort()).toEqual(['a-50.txt', 'a-51.txt']);
  });

  it('ends after a few attempts when the store refuses every name for a reason of its own', async () => {
    const storage = await openStore();
    let attempts = 0;
    const refused = takeFreeName(searchIn(storage, 'a'), async () => {
      attempts += 1;
      throw new AlreadyExistsError('Something inside exists already.');
    });
    await expect(refused).rejects.toThrow(AlreadyExistsError);
    expect(attempts).toBeLessThan(50);
  });

  it('finds the first free name behind more taken ones than it may lose', async () => {
    const storage = await openStore(manyNames(500));
    storage.list = async function* () {
      // Another service has stored them since.
      yield [];
    };
    expect(await take(searchIn(storage, 'a.txt'))).toBe('a-500.txt');
  });

  it('frees the names of requests that fail', async () => {
    const storage = await openStore();
    const search = searchIn(storage, 'a.txt');
    const failing = takeFreeName(search, () => Promise.reject(new Error('no room')));
    await expect(failing).rejects.toThrow('no room');
    expect(await take(search)).toBe('a.txt');
  });

  it('frees a name when its store has learned meanwhile that letter case makes another', async () => {
    const storage = await openStore();
    let caseSensitive = false;
    const learning = replacing(storage, {
      get capabilities() {
        return { ...storage.capabilities, caseSensitive };
      },
      write: (...given) => {
        caseSensitive = true;
        return storage.write(...given);
      },
    });
    const search = searchIn(learning, 'photo.jpg');
    expect(await take(search)).toBe('photo.jpg');
    expect(await take({ ...search, names: uploadNames('PHOTO.JPG') })).toBe('PHOTO.JPG');
  });
});

describe('numbered names', () => {
  it('tell their number, and only theirs', () => {
    const upload = uploadNames('a.tar.gz');
    expect([0, 1, 10].map((number) => upload.at(number))).toEqual(['a.tar.gz', 'a.tar-1.gz', 'a.tar-10.gz']);
    expect(upload.numberOf('a.tar-10.gz', false)).toBe(10);
    for (const name of ['a.tar-010.gz', 'a.tar-1.GZ', 'b.tar-1.gz', 'a.tar-.gz', 'a.tar-99999999999.gz']) {
      expect(upload.numberOf(name, false), name).toBeUndefined();
    }
    expect(upload.numberOf('A.TAR-1.GZ', true)).toBe(1);
  });

  it('of copies keep the extension of files and the dots of folders', () => {
    expect(copyNames('a.b.txt', 'file').at(2)).toBe('a.b (2).txt');
    expect(copyNames('a.b.txt', 'file').numberOf('a.b (2).txt', false)).toBe(2);
    expect(copyNames('v1.2', 'folder').at(2)).toBe('v1.2 (2)');
    expect(copyNames('v1.2', 'folder').numberOf('v1.2 (2)', false)).toBe(2);
  });

  it('stay names of 255 bytes, and are found again', () => {
    const names = uploadNames(`${'é'.repeat(125)}.jpeg`);
    for (const number of [0, 9, 10, 99, 100, 12_345]) {
      expect(Buffer.byteLength(names.at(number))).toBeLessThanOrEqual(255);
      expect(names.numberOf(names.at(number), false)).toBe(number);
    }
  });
});
