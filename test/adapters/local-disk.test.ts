import { existsSync } from 'node:fs';
import {
  appendFile,
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LocalAdapter } from '../../packages/stowage/dist/adapters/local/adapter.js';
import {
  AlreadyExistsError,
  BusyError,
  NotFoundError,
  SourcePath,
  StorageUnavailableError,
  WrongKindError,
} from 'stowage/storage';
import {
  ScanThread,
  ScanThreadMissing,
  createLineLogger,
  createLocalFactory,
  createSilentLogger,
  openLocalAdapter,
} from '#internals';
import type { Entry, ListOptions } from '../../packages/stowage/dist/storage/adapter.js';

const at = (path: string) => SourcePath.parse(path);
const content = (value: string) => Readable.from([Buffer.from(value)], { objectMode: false });
const log = createSilentLogger();

// Many small files: in memory where there is such a place.
const PLACE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

let root: string;
let adapter: LocalAdapter;
beforeEach(async () => {
  root = await mkdtemp(join(PLACE, 'stowage-disk-'));
  adapter = await openLocalAdapter({ root, log });
});
afterEach(async () => {
  await adapter.close();
  await rm(root, { recursive: true, force: true });
});

/** What lies in the root, without the adapter's own folder, which stays as long as the store. */
const namesInRoot = async (): Promise<string[]> =>
  (await readdir(root)).filter((name) => name !== '.stowage-tmp');

const pagesOf = async (folder: string, options?: ListOptions): Promise<(readonly Entry[])[]> => {
  const pages: (readonly Entry[])[] = [];
  for await (const page of adapter.list(at(folder), options)) pages.push(page);
  return pages;
};

describe('names that lie decomposed on the disk', () => {
  const composed = 'caf\u00e9';
  const decomposed = 'cafe\u0301';

  it('are shown composed and reached by every operation', async () => {
    await mkdir(join(root, decomposed));
    await writeFile(join(root, decomposed, `${decomposed}.txt`), 'coffee');
    expect((await pagesOf('')).flat().map((entry) => entry.name)).toEqual([composed]);
    const path = at(`${composed}/${composed}.txt`);
    expect((await adapter.stat(path)).name).toBe(`${composed}.txt`);
    expect(await text((await adapter.read(path)).stream)).toBe('coffee');
    expect((await adapter.statMany(at(composed), [`${composed}.txt`]))[0]?.size).toBe(6);
    await adapter.write(path, content('tea'));
    expect(await readdir(join(root, decomposed))).toEqual([`${decomposed}.txt`]);
    await expect(adapter.write(path, content('no'), { createOnly: true })).rejects.toBeInstanceOf(
      AlreadyExistsError,
    );
    await expect(adapter.makeFolder(at(composed))).rejects.toBeInstanceOf(AlreadyExistsError);
    await adapter.write(at(`${composed}/new.txt`), content('new'));
    expect((await readdir(join(root, decomposed))).sort()).toEqual([`${decomposed}.txt`, 'new.txt'].sort());
    await adapter.removeFile(path);
    await adapter.removeFolder(at(composed));
    expect(await namesInRoot()).toEqual([]);
  });

  it('are shown once when the composed name lies beside them, which is then the one', async () => {
    await writeFile(join(root, `${decomposed}.txt`), 'decomposed');
    await writeFile(join(root, `${composed}.txt`), 'composed');
    expect((await pagesOf('')).flat().map((entry) => entry.name)).toEqual([`${composed}.txt`]);
    expect(await text((await adapter.read(at(`${composed}.txt`))).stream)).toBe('composed');
  });

  it('are shown and reached when they are decomposed only in part', async () => {
    // As Vietnamese keyboards write: letters with their mark, tones apart.
    const raw = 'Nguy\u00ea\u0303n \u00d4\u0301t';
    const name = raw.normalize('NFC');
    expect([name, name.normalize('NFD')]).not.toContain(raw);
    await mkdir(join(root, raw));
    await writeFile(join(root, raw, `${raw}.txt`), 'soup');
    expect((await pagesOf('')).flat().map((entry) => entry.name)).toEqual([name]);
    const path = at(`${name}/${name}.txt`);
    for (const detail of ['names', 'full'] as const)
      expect((await pagesOf(name, { detail })).flat().map((entry) => entry.name)).toEqual([`${name}.txt`]);
    expect((await adapter.stat(path)).size).toBe(4);
    expect(await text((await adapter.read(path)).stream)).toBe('soup');
    const other = `${name}, ${name}.txt`;
    expect((await adapter.statMany(at(name), [other, `${name}.txt`])).map((entry) => entry?.size)).toEqual([
      undefined,
      4,
    ]);
    await adapter.write(path, content('more soup'));
    await expect(adapter.write(path, content('no'), { createOnly: true })).rejects.toBeInstanceOf(
      AlreadyExistsError,
    );
    expect(await readdir(join(root, raw))).toEqual([`${raw}.txt`]);
    await adapter.moveFile(path, at(`${name}/plain.txt`));
    expect(await readdir(join(root, raw))).toEqual(['plain.txt']);
    await adapter.copyFolder(at(name), at('copy'));
    await adapter.moveFolder(at(name), at('moved'));
    expect((await namesInRoot()).sort()).toEqual(['copy', 'moved']);
  });

  it('are shown once of several spellings: the composed one, then the decomposed one, then the first other', async () => {
    const name = '\u1ec5\u1ed1.txt';
    const others = ['\u1ec5\u00f4\u0301.txt', '\u00ea\u0303\u1ed1.txt'].sort();
    const spellings = [name, name.normalize('NFD'), ...others];
    for (const spelling of spellings) await writeFile(join(root, spelling), spelling);
    for (const spelling of spellings) {
      expect((await pagesOf('')).flat().map((entry) => entry.name)).toEqual([name]);
      expect(await text((await adapter.read(at(name))).stream)).toBe(spelling);
      expect((await adapter.statMany(at(''), [name]))[0]?.size).toBe(Buffer.byteLength(spelling));
      await adapter.removeFile(at(name));
    }
    expect((await pagesOf('')).flat()).toEqual([]);
  });

  it('are shown so in big folders too', async () => {
    const inPart = '\u00ea\u0301';
    const names = Array.from(
      { length: 600 },
      (_, index) => `${index % 2 ? decomposed : inPart}-${index}.txt`,
    );
    await Promise.all(names.map((name) => writeFile(join(root, name), '')));
    const expected = names.map((name) => name.normalize('NFC')).sort();
    for (const detail of ['names', 'full'] as const) {
      expect(
        (await pagesOf('', { detail }))
          .flat()
          .map((entry) => entry.name)
          .sort(),
      ).toEqual(expected);
    }
  });
});

describe('names of the disk that are no text', () => {
  it.each([3, 600])('are neither shown nor in the way, among %i others', async (count) => {
    await Promise.all(
      Array.from({ length: count }, (_, index) => writeFile(join(root, `${index}.txt`), 'x')),
    );
    await writeFile(
      Buffer.concat([Buffer.from(`${root}/latin-`), Buffer.from([0xe9]), Buffer.from('.txt')]),
      'x',
    );
    for (const detail of ['names', 'full'] as const)
      expect((await pagesOf('', { detail })).flat()).toHaveLength(count);
    await mkdir(join(root, 'folder'));
    await writeFile(Buffer.concat([Buffer.from(`${root}/folder/`), Buffer.from([0xff, 0xfe])]), 'x');
    await adapter.removeFolder(at('folder'));
    expect(await namesInRoot()).toHaveLength(count + 1);
  });
});

describe('big folders', () => {
  // More than one page.
  const COUNT = 2500;

  beforeEach(async () => {
    await mkdir(join(root, 'big'));
    for (let start = 0; start < COUNT; start += 500) {
      await Promise.all(
        Array.from({ length: 500 }, (_, index) =>
          writeFile(join(root, `big/${start + index}.txt`), 'x'.repeat((start + index) % 7)),
        ),
      );
    }
    await Promise.all(Array.from({ length: 10 }, (_, index) => mkdir(join(root, `big/folder-${index}`))));
  });

  it('come in pages, with what the disk tells', async () => {
    const time = new Date(1_600_000_000_000);
    await utimes(join(root, 'big/77.txt'), time, time);
    const pages = await pagesOf('big');
    expect(pages.length).toBeGreaterThan(1);
    const entries = pages.flat();
    expect(entries).toHaveLength(COUNT + 10);
    expect(entries.find((entry) => entry.name === '77.txt')).toEqual({
      name: '77.txt',
      kind: 'file',
      size: 0,
      modifiedAt: time.getTime(),
      changedAt: expect.any(Number) as number,
    });
    for (const entry of entries) {
      const isFile = entry.name.endsWith('.txt');
      expect([entry.kind, entry.size]).toEqual(
        isFile ? ['file', Number.parseInt(entry.name, 10) % 7] : ['folder', undefined],
      );
    }
  });

  it('come with their versions when those are asked for', async () => {
    const entries = (await pagesOf('big', { detail: 'versions' })).flat();
    const names = ['1.txt', '2499.txt', 'folder-3'];
    const found = names.map((name) => entries.find((entry) => entry.name === name));
    expect(found).toEqual(await adapter.statMany?.(at('big'), names));
    expect(new Set(entries.map(({ etag }) => etag)).size).toBe(COUNT + 1);
  });

  it('come with names and kinds alone when no more is asked for', async () => {
    const entries = (await pagesOf('big', { detail: 'names' })).flat();
    expect(entries).toHaveLength(COUNT + 10);
    expect(entries.filter((entry) => entry.kind === 'folder')).toHaveLength(10);
  });

  it('are listed for many at once, each getting all', async () => {
    const listings = await Promise.all(Array.from({ length: 12 }, () => pagesOf('big')));
    for (const pages of listings) expect(pages.flat()).toHaveLength(COUNT + 10);
  });

  it('can be left half-way, aborted, and listed again', async () => {
    for (let round = 0; round < 20; round += 1) {
      for await (const _page of adapter.list(at('big'))) break;
      const abort = new AbortController();
      const reason = new Error('enough');
      const listing = (async () => {
        for await (const _page of adapter.list(at('big'), { signal: abort.signal })) abort.abort(reason);
      })();
      await expect(listing).rejects.toBe(reason);
    }
    expect((await pagesOf('big')).flat()).toHaveLength(COUNT + 10);
  });

  it('are listed again after the thread was closed with the last store of its factory', async () => {
    const factory = createLocalFactory();
    for (let round = 0; round < 2; round += 1) {
      const store = await factory.create({ root, log, sourceName: 'files', options: undefined });
      let seen = 0;
      for await (const page of store.list(at('big'))) seen += page.length;
      expect(seen).toBe(COUNT + 10);
      await store.close?.();
    }
  });

  it('end with an error when their thread goes away half-way, and the next listing has another', async () => {
    const thread = new ScanThread();
    const target = {
      root,
      diskNames: ['big'],
      detail: 'full' as const,
      handles: process.platform === 'linux',
    };
    const listing = (async () => {
      for await (const _page of thread.scan(target, {})) await thread.close();
    })();
    await expect(listing).rejects.toBeInstanceOf(StorageUnavailableError);
    let seen = 0;
    for await (const page of thread.scan(target, {})) seen += page.length;
    expect(seen).toBe(COUNT + 10);
    await thread.close();
  });

  it('leave nothing in the signal of their thread, however many wait for it', async () => {
    const any = vi.spyOn(AbortSignal, 'any');
    const listings = Array.from({ length: 60 }, async () => {
      const { signal } = new AbortController();
      let seen = 0;
      for await (const page of adapter.list(at('big'), { detail: 'names', signal })) seen += page.length;
      return seen;
    });
    expect(new Set(await Promise.all(listings))).toEqual(new Set([COUNT + 10]));
    const signals = any.mock.calls.flatMap(([given]) => [...given]);
    any.mockRestore();
    expect(signals).toHaveLength(new Set(signals).size);
  });

  it('are listed by the main thread where no other one can be started', async () => {
    class NoThread extends ScanThread {
      override async *scan(): AsyncGenerator<readonly Entry[], void, undefined> {
        throw new ScanThreadMissing({ detail: 'this system starts no threads' });
      }
    }
    const store = await openLocalAdapter({
      root,
      log,
      scans: { thread: new NoThread(), release: async () => undefined },
    });
    for (const detail of ['full', 'names'] as const) {
      const entries: Entry[] = [];
      for await (const page of store.list(at('big'), { detail })) entries.push(...page);
      expect(entries).toHaveLength(COUNT + 10);
      expect(entries.filter((entry) => entry.kind === 'folder')).toHaveLength(10);
    }
    await store.close();
  });

  it('have a thread started for them only when it is worth its start', async () => {
    const threads = async (): Promise<number> => (await readdir('/proc/self/task')).length;
    await mkdir(join(root, 'small'), { recursive: true });
    const store = await openLocalAdapter({ root, log });
    const list = async (times: number): Promise<void> => {
      for (let time = 0; time < times; time += 1) for await (const _page of store.list(at('small')));
    };
    await list(1);
    const before = await threads();
    await list(20);
    expect(await threads()).toBe(before);
    await list(20);
    expect(await threads()).toBeGreaterThan(before);
    await store.close();
  });

  it('do not wait for a thread that is still at a listing whose client has left', async () => {
    const thread = new ScanThread();
    const target = {
      root,
      diskNames: ['big'],
      detail: 'full' as const,
      handles: process.platform === 'linux',
    };
    for await (const _page of thread.scan(target, {}));
    expect(thread.isFree).toBe(true);
    const client = new AbortController();
    const listing = thread.scan(target, { signal: client.signal }).next();
    client.abort(new Error('the client has left'));
    await expect(listing).rejects.toThrow('the client has left');
    expect(thread.isFree).toBe(false);
    await expect.poll(() => thread.isFree).toBe(true);
    await thread.close();
  });

  it('do not keep the store open while their thread hangs', async () => {
    const thread = new ScanThread();
    await mkdir(join(root, `${'a'.repeat(60)}!`));
    // As on a disk that does not respond: this takes for ever to be compared with the folder's name.
    const never = /^(?:a+)+$/u;
    const target = { root, diskNames: [], handles: process.platform === 'linux' };
    const request = { ...target, namesOnly: true, after: undefined, words: [], never, most: 1 };
    const client = new AbortController();
    const walk = thread.pages('walk', root, request, client.signal).next();
    client.abort(new Error('the client has left'));
    await expect(walk).rejects.toThrow('the client has left');
    await thread.close();
    expect(thread.isFree).toBe(false);
    await thread.close();
  });

  it('are refused when more listings wait than a thread can bear, instead of filling the memory', async () => {
    const thread = new ScanThread();
    const target = { root, diskNames: [], detail: 'names' as const, handles: process.platform === 'linux' };
    const many = Array.from({ length: 300 }, async () => {
      for await (const _page of thread.scan(target, {}));
    });
    const outcomes = await Promise.allSettled(many);
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(128 + 12);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(BusyError);
    await thread.close();
  });

  it('leave slots to another root while their clients take their time', async () => {
    const thread = new ScanThread();
    const target = { root, diskNames: ['big'], detail: 'full' as const, handles: true };
    // Open, and not read on: their clients take their time.
    const paused = Array.from({ length: 40 }, () => thread.scan(target, {}));
    const opened = paused.map((listing) => listing.next().catch(() => undefined));
    const pages = [];
    for await (const page of thread.scan({ ...target, root: join(root, 'big'), diskNames: [] }, {}))
      pages.push(page);
    expect(pages.flat()).toHaveLength(COUNT + 10);
    await thread.close();
    await Promise.all(opened);
    await Promise.all(paused.map((listing) => listing.return()));
  });

  it('that wait when the store is closed end with an error, and leave nothing open', async () => {
    const thread = new ScanThread();
    const target = { root, diskNames: ['big'], detail: 'full' as const, handles: true };
    const read = async (): Promise<void> => {
      for await (const _page of thread.scan(target, {}));
    };
    const before = (await readdir('/proc/self/fd')).length;
    const outcomes = Promise.allSettled(Array.from({ length: 60 }, read));
    await thread.scan(target, {}).next();
    await thread.close();
    expect((await readdir('/proc/self/fd')).length).toBeLessThanOrEqual(before);
    for (const outcome of await outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(StorageUnavailableError);
    expect((await readdir('/proc/self/fd')).length).toBeLessThanOrEqual(before);
  });

  it('are removed and copied with all they hold', async () => {
    await adapter.copyFolder(at('big'), at('copy'));
    expect(await readdir(join(root, 'copy'))).toHaveLength(COUNT + 10);
    await adapter.removeFolder(at('big'));
    expect(await namesInRoot()).toEqual(['copy']);
  }, 60_000);
});

describe('what lies on the disk', () => {
  it('has the modes that the umask leaves', async () => {
    const umask = process.umask();
    await adapter.write(at('f/a.txt'), content('a'));
    await adapter.copyFile(at('f/a.txt'), at('f/b.txt'));
    await adapter.makeFolder(at('g'));
    await adapter.copyFolder(at('f'), at('h'));
    for (const path of ['f/a.txt', 'f/b.txt', 'h/a.txt']) {
      expect((await stat(join(root, path))).mode & 0o777, path).toBe(0o666 & ~umask);
    }
    for (const path of ['f', 'g', 'h'])
      expect((await stat(join(root, path))).mode & 0o777, path).toBe(0o777 & ~umask);
  });

  it('has the rights of the file that it replaces, and stays readable and writable for us', async () => {
    for (const [mode, expected] of [
      [0o640, 0o640],
      [0o660, 0o660],
      [0o444, 0o644],
      [0o600, 0o600],
    ] as const) {
      await writeFile(join(root, 'a.txt'), 'old');
      await chmod(join(root, 'a.txt'), mode);
      await adapter.write(at('a.txt'), content('new'));
      expect((await stat(join(root, 'a.txt'))).mode & 0o777).toBe(expected);
      expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('new');
      await rm(join(root, 'a.txt'));
    }
  });

  it('keeps its time through a move, and gets a new one by a copy', async () => {
    const time = new Date(1_600_000_000_000);
    await adapter.write(at('a.txt'), content('a'));
    await utimes(join(root, 'a.txt'), time, time);
    await adapter.copyFile(at('a.txt'), at('b.txt'));
    await adapter.moveFile(at('a.txt'), at('c.txt'), { createOnly: true });
    await adapter.moveFile(at('c.txt'), at('d.txt'));
    expect((await adapter.stat(at('d.txt'))).modifiedAt).toBe(time.getTime());
    expect((await adapter.stat(at('b.txt'))).modifiedAt).toBeGreaterThan(time.getTime() + 1000);
  });

  it('has one name after a move between two names of one file', async () => {
    await adapter.write(at('a.txt'), content('twin'));
    await link(join(root, 'a.txt'), join(root, 'b.txt'));
    await adapter.moveFile(at('a.txt'), at('b.txt'));
    expect(await namesInRoot()).toEqual(['b.txt']);
    expect(await readFile(join(root, 'b.txt'), 'utf8')).toBe('twin');
  });

  it('yields no more than its size when somebody appends to it while it is read', async () => {
    await writeFile(join(root, 'growing.log'), 'first ');
    const { stat: seen, stream } = await adapter.read(at('growing.log'));
    await appendFile(join(root, 'growing.log'), 'second');
    expect(await text(stream)).toBe('first ');
    expect(seen.size).toBe(6);
  });

  it('is told apart by version even when size and second are the same', async () => {
    const versions = new Set<string | undefined>();
    for (let round = 0; round < 20; round += 1)
      versions.add((await adapter.write(at('a.txt'), content('same'))).etag);
    expect(versions.size).toBe(20);
  });

  it('is never both made by two stores of one root', async () => {
    const other = await openLocalAdapter({ root, log });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? adapter : other).write(at('prize.txt'), content(String(index)), {
          createOnly: true,
        }),
      ),
    );
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
    await other.close();
  });

  it('stays when a move finds its file gone or taken by another move', async () => {
    await adapter.write(at('a.txt'), content('one'));
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) =>
        adapter.moveFile(at('a.txt'), at(`to-${index}.txt`), { createOnly: true }),
      ),
    );
    const names = await namesInRoot();
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(names.length);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(NotFoundError);
    expect(names).toHaveLength(1);
  });

  it('is not replaced by a file when it is a link, and not by a folder when it is a file', async () => {
    await writeFile(join(root, 'target.txt'), 'target');
    await symlink('target.txt', join(root, 'link.txt'));
    await expect(adapter.write(at('link.txt'), content('x'))).rejects.toBeInstanceOf(WrongKindError);
    await adapter.makeFolder(at('folder'));
    await expect(adapter.moveFolder(at('folder'), at('target.txt'))).rejects.toBeInstanceOf(
      AlreadyExistsError,
    );
    expect((await lstat(join(root, 'link.txt'))).isSymbolicLink()).toBe(true);
    expect(await readFile(join(root, 'target.txt'), 'utf8')).toBe('target');
  });
});

describe('the root', () => {
  it('is made with its parents when it is missing, which the log tells once', async () => {
    const lines: string[] = [];
    const deep = join(root, 'not/there/yet');
    for (let round = 0; round < 2; round += 1) {
      const store = await openLocalAdapter({ root: deep, log: createLineLogger((line) => lines.push(line)) });
      await store.write(at('a.txt'), content('a'));
      await store.close();
    }
    expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(['info']);
    expect(await readdir(deep)).toEqual(['a.txt']);
  });

  it('is refused when it is a file, with an error of ours', async () => {
    await writeFile(join(root, 'file'), 'x');
    await expect(openLocalAdapter({ root: join(root, 'file'), log })).rejects.toMatchObject({
      name: /Error$/u,
      code: /^[A-Z_]+$/u,
    });
  });

  it('is not made again under a running service, whose disk may be away: that is a failure, not an empty folder', async () => {
    await rm(root, { recursive: true });
    for (const operate of [
      () => adapter.stat(at('')),
      () => pagesOf(''),
      () => adapter.write(at('a.txt'), content('a')),
      () => adapter.removeFolder(at('f')),
    ]) {
      await expect(operate()).rejects.toBeInstanceOf(StorageUnavailableError);
    }
    await mkdir(root);
    await adapter.write(at('a.txt'), content('a'));
    expect(await namesInRoot()).toEqual(['a.txt']);
  });

  it('is case sensitive or not, as the disk says', async () => {
    await writeFile(join(root, 'probe'), 'x');
    const sees = await stat(join(root, 'PROBE')).then(
      () => true,
      () => false,
    );
    expect(adapter.capabilities.caseSensitive).toBe(!sees);
  });
});
