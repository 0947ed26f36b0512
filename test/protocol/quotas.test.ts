import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createApp, registerStorageAdapter, type ServiceEvent } from 'stowage';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  SourcePath,
  StorageDeniedError,
  StorageTimeoutError,
  StorageUnavailableError,
  UnsupportedError,
} from 'stowage/storage';
import { withFaults } from 'stowage/testing';
import { createEmbeddedState, Quotas, MemoryAdapter, memoryFactory } from '#internals';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { put } from '../pictures/gallery.ts';
import { photo } from '../pictures/pictures.ts';
import { startSite } from '../network/loopback.ts';
import { replacing } from './changing-store.ts';
import { formOf, silent, startService, type Answer, type Service, type ServiceOptions } from './service.ts';

const text = (bytes: number): string => 'x'.repeat(bytes);

const start = (quota: object, options: ServiceOptions = {}): Promise<Service> =>
  startService({ createThumb: false, quota, maxUploadFileSize: '8mb', ...options });

const upload = (service: Service, name: string, bytes: number, fields = {}): Promise<Answer> =>
  service.upload([['files[0]', name, text(bytes)]], fields);

/** Another service over the folder of the first, which counts for itself. */
const createSecond = (service: Service, quota: object): Promise<Service> =>
  start(quota, { sources: { files: { root: service.source('files').root } }, trash: {} });

const quotaOf = async (service: Service, source = ''): Promise<unknown> =>
  (await service.call('permissions', { source })).data['quota'];

/** A promise, and what resolves it. */
const gateOf = (): readonly [Promise<void>, () => void] => {
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  return [gate, open];
};

const isThereNow = async (storage: StorageAdapter, path: SourcePath): Promise<boolean> => {
  for await (const page of storage.list(path.parent))
    if (page.some(({ name }) => name === path.name)) return true;
  return false;
};

const refused = ({ status, data }: Answer): unknown[] => [status, data['error']];
const QUOTA = [413, 'QUOTA_EXCEEDED'];

describe('quota', () => {
  it('counts what is there, hidden files too, and reports it', async () => {
    const service = await start({ bytes: '1kb', files: 10 });
    await service.source('files').put({ 'a.txt': text(100), 'deep/er/b.txt': text(50), '.hidden': text(5) });
    expect(await quotaOf(service)).toEqual({ bytes: 1024, usedBytes: 155, files: 10, usedFiles: 3 });
    const without = await startService();
    expect(await quotaOf(without)).toBeUndefined();
  });

  it('refuses an upload that would pass it, and lets in what fits', async () => {
    const service = await start({ bytes: 1000 });
    expect((await upload(service, 'a.txt', 600)).status).toBe(200);
    expect(refused(await upload(service, 'b.txt', 401))).toEqual(QUOTA);
    expect((await upload(service, 'b.txt', 400)).status).toBe(200);
    expect(refused(await upload(service, 'c.txt', 1))).toEqual(QUOTA);
    expect(await service.source('files').paths()).toEqual(['a.txt', 'b.txt']);
    expect(await quotaOf(service)).toMatchObject({ usedBytes: 1000, usedFiles: 2 });
  });

  it('is counted once, whatever changes meanwhile', async () => {
    let begun = 0;
    let goOn = (): void => undefined;
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    registerStorageAdapter('held-while-counted', {
      create: async (context) => {
        const memory = await memoryFactory.create({ ...context, options: undefined });
        // Nothing but a count lists the root here.
        const list: StorageAdapter['list'] = async function* (folder, options) {
          if (folder.isRoot) {
            begun += 1;
            await gate;
          }
          yield* memory.list(folder, options);
        };
        return new Proxy(memory, {
          get: (target, key) => {
            const value: unknown = key === 'list' ? list : Reflect.get(target, key);
            return typeof value === 'function' ? (value.bind(target) as unknown) : value;
          },
        });
      },
    });
    const source = { storageAdapter: 'held-while-counted', root: undefined };
    const service = await start({ bytes: 1000 }, { sources: { files: source } });
    const uploads = Promise.all([upload(service, 'a.txt', 100), upload(service, 'b.txt', 50)]);
    try {
      await expect.poll(() => begun, { timeout: 10_000 }).toBe(1);
      for (const name of ['a', 'b', 'c'])
        expect((await service.call('folderCreate', { name })).status).toBe(200);
      for (const name of ['a', 'b']) expect((await service.call('folderRemove', { name })).status).toBe(200);
      expect(begun).toBe(1);
    } finally {
      goOn();
    }
    expect((await uploads).map(({ status }) => status)).toEqual([200, 200]);
    expect(await quotaOf(service)).toMatchObject({ usedBytes: 150, usedFiles: 2 });
    expect(begun).toBe(1);
  });

  it.each(['before', 'during'])(
    'still counts what moved behind the walk of a count, when the move begins %s it',
    async (begins) => {
      const storage = new MemoryAdapter();
      const [from, to] = ['a/1.txt', 'z/1.txt'].map((path) => SourcePath.parse(path));
      if (from === undefined || to === undefined) throw new Error('There are two paths.');
      await storage.makeFolder(from.parent);
      await storage.makeFolder(to.parent);
      await storage.write(from, Readable.from([text(100)]));
      const [isThere, arrived] = gateOf();
      const [gate, goOn] = gateOf();
      const [isMoved, moved] = gateOf();
      let isHeld = false;
      const list: StorageAdapter['list'] = async function* (folder, options) {
        if (isHeld && folder.equals(from.parent)) {
          arrived();
          await gate;
        }
        yield* storage.list(folder, options);
      };
      const held: StorageAdapter = Object.create(storage, {
        list: { value: list },
        makeFolder: { value: storage.makeFolder.bind(storage) },
      });
      const quotas = new Quotas(createEmbeddedState('').records, silent);
      const limits = { bytes: 1000 };
      const none = { derivedName: undefined, ignores: /^$./u, hold: () => () => undefined };
      const target = { key: 'files', storage: held, limits, ...none };
      const { signal } = new AbortController();
      expect(await quotas.usage(target, signal)).toEqual({ bytes: 100, files: 1 });
      await quotas.forget('files');
      isHeld = true;
      const move = (): Promise<void> =>
        quotas.moving('files', async () => {
          await isThere;
          await storage.moveFile(from, to);
          if (begins === 'before') await isMoved;
        });
      const early = begins === 'before' ? move() : undefined;
      await quotas.usage(target, signal);
      await isThere;
      if (early === undefined) await move();
      else await expect.poll(() => isThereNow(storage, to)).toBe(true);
      goOn();
      // What does not fit in waits for the count.
      const more = { bytes: 1000, files: 1 };
      expect(await quotas.usage(target, signal, more)).toEqual({ bytes: 100, files: 1 });
      moved();
      await early;
      expect(await quotas.usage(target, signal, more)).toEqual({ bytes: 100, files: 1 });
      await quotas.close();
    },
  );

  const small = SourcePath.root.child('b.txt');
  /** A store with files of 900 and 50 bytes, whose listings go through `list`. */
  const storeOf = async (list: StorageAdapter['list']): Promise<StorageAdapter> => {
    const storage = new MemoryAdapter();
    await storage.write(SourcePath.root.child('a.txt'), Readable.from([text(900)]));
    await storage.write(small, Readable.from([text(50)]));
    return Object.create(storage, {
      list: {
        async *value(...asked: Parameters<StorageAdapter['list']>) {
          yield* list(...asked);
          yield* storage.list(...asked);
        },
      },
      makeFolder: { value: storage.makeFolder.bind(storage) },
      write: { value: storage.write.bind(storage) },
      removeFile: { value: storage.removeFile.bind(storage) },
    }) as StorageAdapter;
  };
  const targetOf = (storage: StorageAdapter) => ({
    key: 'files',
    storage,
    limits: { bytes: 1000 },
    derivedName: undefined,
    ignores: /^$./u,
    hold: () => () => undefined,
  });
  const unending = new AbortController().signal;

  it('takes a count that failed for no count', async () => {
    let failures = 1;
    const storage = await storeOf(async function* () {
      if (failures > 0) {
        failures -= 1;
        throw new Error('the store has failed');
      }
    });
    const quotas = new Quotas(createEmbeddedState('').records, silent);
    const stored: number[] = [];
    const need = { bytes: 500, files: 1 };
    for (let round = 0; round < 2; round += 1) {
      const stores = quotas.withRoom(targetOf(storage), need, { signal: unending }, async () =>
        stored.push(round),
      );
      await expect(stores).rejects.toThrow();
    }
    expect(stored).toEqual([]);
    expect(await quotas.usage(targetOf(storage), unending)).toEqual({ bytes: 950, files: 2 });
    await quotas.close();
  });

  it('takes what leaves during a count off once', async () => {
    let arrived = (): void => undefined;
    let goOn = (): void => undefined;
    const isThere = new Promise<void>((resolve) => (arrived = resolve));
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    let isHeld = false;
    const folder = SourcePath.root.child('z');
    const storage = await storeOf(async function* (listed) {
      if (!isHeld || !listed.equals(folder)) return;
      arrived();
      await gate;
    });
    const old = folder.child('old.txt');
    await storage.makeFolder(folder);
    await storage.write(old, Readable.from([text(40)]));
    const quotas = new Quotas(createEmbeddedState('').records, silent);
    const target = { ...targetOf(storage), limits: { bytes: 5000 } };
    expect(await quotas.usage(target, unending)).toEqual({ bytes: 990, files: 3 });
    await quotas.forget('files');
    isHeld = true;
    await quotas.usage(target, unending);
    await isThere;
    // The count has listed the root before, and lists the folder after.
    const need = { bytes: 60, files: 1 };
    await quotas.withRoom(target, need, { signal: unending }, () =>
      storage.write(SourcePath.root.child('new.txt'), Readable.from([text(60)])),
    );
    await quotas.freeing('files', 'old', { bytes: 40, files: 1 }, () => storage.removeFile(old));
    goOn();
    const counted = await quotas.usage(target, unending, { bytes: 5000, files: 1 });
    expect(counted).toEqual({ bytes: 1010, files: 3 });
    await quotas.close();
  });

  it.each(['at once', 'later'])(
    'counts a file of which the store does not say whether it has it, and which arrives %s',
    async (arrives) => {
      vi.useFakeTimers({ toFake: ['Date'] });
      onTestFinished(() => void vi.useRealTimers());
      const memory = new MemoryAdapter();
      const write: StorageAdapter['write'] = async (path, content, options) => {
        if (arrives === 'later') content.resume();
        else await memory.write(path, content, options);
        throw new StorageTimeoutError();
      };
      const [hasListed, listed] = gateOf();
      const [gate, goOn] = gateOf();
      let isHeld = false;
      const list: StorageAdapter['list'] = async function* (...asked) {
        yield* memory.list(...asked);
        if (!isHeld) return;
        listed();
        await gate;
      };
      const storage = withFaults(replacing(memory, { write, list }), [], { hide: ['stage'] });
      registerStorageAdapter(`silent, ${arrives}`, { create: () => storage });
      const source = { storageAdapter: `silent, ${arrives}`, root: undefined };
      const service = await start({ files: 1 }, { sources: { files: source } });
      expect(await quotaOf(service)).toMatchObject({ usedFiles: 0 });
      if (arrives === 'at once') {
        // A count is running, which has seen the folder without the file.
        isHeld = true;
        vi.setSystemTime(Date.now() + 16 * 60_000);
        await quotaOf(service);
        await hasListed;
      }
      const uploadAgain = async () => refused(await upload(service, 'b.txt', 1));
      expect((await upload(service, 'a.txt', 1)).status).toBe(500);
      expect(await quotaOf(service)).toMatchObject({ usedFiles: 1 });
      goOn();
      expect(await uploadAgain()).toEqual(QUOTA);
      if (arrives === 'later') await put(memory, 'a.txt', 'a');
      vi.setSystemTime(Date.now() + 61_000);
      // Counted again.
      expect(await uploadAgain()).toEqual(QUOTA);
      await memory.removeFile(SourcePath.root.child('a.txt'));
      vi.setSystemTime(Date.now() + 16 * 60_000);
      expect(await uploadAgain()).toEqual([500, 'STORAGE_TIMEOUT']);
    },
  );

  it('counts again where two instances free the same room', async () => {
    const storage = new MemoryAdapter();
    for (const name of ['a.txt', 'b.txt']) await put(storage, `dir/${name}`, text(100));
    await put(storage, 'c.txt', text(100));
    const { records } = createEmbeddedState('');
    const [one, other] = [new Quotas(records, silent), new Quotas(records, silent)];
    const target = { ...targetOf(storage), limits: { bytes: 1000 } };
    expect(await one.usage(target, unending)).toEqual({ bytes: 300, files: 3 });
    const [bothRemove, begin] = gateOf();
    const dir = SourcePath.root.child('dir');
    // In a store of objects it is no failure that others have removed them.
    const remove = async (): Promise<void> => {
      await bothRemove;
      await storage.removeFolder(dir).catch(() => undefined);
    };
    const removals = [
      one.freeing('files', 'dir', { bytes: 200, files: 2 }, remove),
      other.freeing('files', 'dir/a.txt', { bytes: 100, files: 1 }, remove),
    ];
    begin();
    await Promise.all(removals);
    const need = { bytes: 950, files: 1 };
    await expect(other.withRoom(target, need, { signal: unending }, async () => undefined)).rejects.toThrow();
    expect(await one.usage(target, unending)).toEqual({ bytes: 100, files: 1 });
    await Promise.all([one.close(), other.close()]);
  });

  it('is not counted again as long as two unfinished uploads want the same name', async () => {
    const storage = new MemoryAdapter();
    await put(storage, 'a.txt', text(100));
    const { records } = createEmbeddedState('');
    const [one, other] = [new Quotas(records, silent), new Quotas(records, silent)];
    const target = { ...targetOf(storage), limits: { bytes: 1000 } };
    const need = { bytes: 10, files: 0, at: 'a.txt' };
    const rooms = [
      await one.keep(target, 'first', need, unending),
      await one.keep(target, 'second', need, unending),
    ];
    // The last count has ended.
    const usage = async (quotas: typeof one): Promise<unknown> => {
      await quotas.usage(target, unending);
      await vi.waitFor(async () => {
        const isRunning = await records.change<{ counting?: object }, boolean>('quota:files', (account) => [
          account ?? {},
          account?.counting !== undefined,
        ]);
        expect(isRunning).toBe(false);
      });
      return quotas.usage(target, unending);
    };
    expect(await usage(one)).toEqual({ bytes: 120, files: 1 });
    await put(storage, 'unseen.txt', text(100));
    // Renews them, as their process does four times a minute.
    other.restoreFrom(async () => rooms);
    expect(await usage(other)).toEqual({ bytes: 120, files: 1 });
    await Promise.all([one.close(), other.close()]);
  });

  it('is waited for a second by permissions, whatever the garbage collector does', async () => {
    registerStorageAdapter('never-counted', {
      create: async (context) => {
        const memory = await memoryFactory.create({ ...context, options: undefined });
        const list: StorageAdapter['list'] = async function* (_folder, options) {
          await new Promise((_resolve, reject) => {
            const signal = options?.signal;
            signal?.addEventListener('abort', () => reject(signal.reason as Error));
          });
        };
        return Object.create(memory, { list: { value: list } }) as StorageAdapter;
      },
    });
    const source = { storageAdapter: 'never-counted', root: undefined };
    const service = await start({ bytes: 1000 }, { sources: { files: source } });
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const collecting = setInterval(collect, 50);
    try {
      expect(await quotaOf(service)).toEqual({ bytes: 1000 });
    } finally {
      clearInterval(collecting);
    }
  });

  it('counts files', async () => {
    const service = await start({ files: 2 });
    const three = ['a.txt', 'b.txt', 'c.txt'].map((name) => ['files[]', name, 'x'] as const);
    expect(refused(await service.upload(three))).toEqual(QUOTA);
    expect(await service.source('files').paths()).toEqual([]);
    expect((await service.upload(three.slice(1))).status).toBe(200);
    expect(await quotaOf(service)).toMatchObject({ files: 2, usedFiles: 2 });
  });

  it('refuses a document that is to be saved before it is made, when nothing more fits in', async () => {
    for (const quota of [{ bytes: 1000 }, { files: 1 }]) {
      const made: string[] = [];
      const service = await startService(
        { createThumb: false, quota, saveSameFileNameStrategy: 'replace' },
        { beforeEvent: ({ type }) => void made.push(type) },
      );
      await service.source('files').put({ 'a.docx': text(1000) });
      const save = (name: string): Promise<Answer> =>
        service.call('generateDocx', { source: 'files', html: '<p>x</p>', name });
      expect(refused(await save('b'))).toEqual(QUOTA);
      expect(made).toEqual([]);
      // What replaces another takes only the difference, which nobody knows before.
      await save('a');
      expect(made).toContain('document.made');
    }
  });

  it('lets one of many uploads take the last room', async () => {
    const service = await start({ bytes: 1000 });
    const names = Array.from({ length: 8 }, (_, index) => `${String(index)}.txt`);
    const answers = await Promise.all(names.map((name) => upload(service, name, 400)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
    expect(answers.filter(({ status }) => status === 413)).toHaveLength(6);
    expect(await service.source('files').paths()).toHaveLength(2);
  });

  it('refuses by the length of the request, before its bytes have come, and cuts off where none is said', async () => {
    const service = await start({ bytes: 1000 });
    const form = new Response(formOf([['files[0]', 'a.txt', text(3_000_000)]]));
    const head = { method: 'POST', headers: { 'content-type': form.headers.get('content-type') ?? '' } };
    const bytes = new Uint8Array(await form.arrayBuffer());
    const whole = await fetch(`${service.url}/fileUpload`, { ...head, body: bytes });
    expect(whole.status).toBe(413);
    const body = new ReadableStream({
      start: (controller) => {
        controller.enqueue(bytes);
        controller.close();
      },
    });
    const unknown = await fetch(`${service.url}/fileUpload`, {
      ...head,
      body,
      duplex: 'half',
    } as RequestInit);
    expect(((await unknown.json()) as { data: { error: string } }).data.error).toBe('QUOTA_EXCEEDED');
    expect(await service.source('files').paths()).toEqual([]);
  });

  it('stops what is larger than the whole quota, whatever it may replace', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'stowage-quota-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const service = await start(
      { bytes: 1000 },
      { saveSameFileNameStrategy: 'replace', maxUploadFileSize: '100mb', tus: { directory } },
    );
    const head = `--b\r\ncontent-disposition: form-data; name="files[0]"; filename="a.txt"\r\n\r\n`;
    let sent = 0;
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(Buffer.from(head)),
      pull: (controller) => {
        sent += 1;
        controller.enqueue(Buffer.alloc(64 * 1024));
        if (sent > 1000) controller.close();
      },
    });
    const headers = { 'content-type': 'multipart/form-data; boundary=b' };
    const options = { method: 'POST', headers, body, duplex: 'half' } as const;
    const answer = await fetch(`${service.url}/fileUpload`, options);
    expect(((await answer.json()) as { data: { error: string } }).data.error).toBe('QUOTA_EXCEEDED');
    expect(sent).toBeLessThan(500);
    const begin = (bytes: number): Promise<Response> =>
      fetch(`${service.url}/tus`, {
        method: 'POST',
        headers: {
          'tus-resumable': '1.0.0',
          'upload-length': String(bytes),
          'upload-metadata': `filename ${Buffer.from('a.txt').toString('base64')}`,
        },
      });
    expect((await begin(1001)).status).toBe(413);
    expect((await begin(1000)).status).toBe(201);
  });

  it('takes only the difference where a file is replaced, and frees what is removed', async () => {
    const service = await start({ bytes: 1000 }, { saveSameFileNameStrategy: 'replace' });
    await upload(service, 'a.txt', 900);
    expect((await upload(service, 'a.txt', 1000)).status).toBe(200);
    expect((await upload(service, 'a.txt', 200)).status).toBe(200);
    expect(await quotaOf(service)).toMatchObject({ usedBytes: 200, usedFiles: 1 });
    await service.call('folderCreate', { name: 'f' });
    await upload(service, 'b.txt', 800, { path: 'f' });
    expect(refused(await upload(service, 'c.txt', 1))).toEqual(QUOTA);
    await service.call('folderRemove', { name: 'f' });
    await service.call('fileRemove', { name: 'a.txt' });
    expect(await quotaOf(service)).toMatchObject({ usedBytes: 0, usedFiles: 0 });
  });

  it('counts again what is left of a folder of which the store refuses to remove a part', async () => {
    const memory = new MemoryAdapter();
    const storageAdapter = 'removes-in-part';
    const storage = replacing(memory, {
      removeFolder: async (path) => {
        await memory.removeFile(path.child('a.txt'));
        throw new StorageDeniedError();
      },
    });
    registerStorageAdapter(storageAdapter, { create: () => storage });
    const service = await start({ files: 2 }, { sources: { files: { storageAdapter, root: undefined } } });
    for (const name of ['a.txt', 'b.txt']) await put(memory, `dir/${name}`, 'x');
    expect(await quotaOf(service)).toMatchObject({ usedFiles: 2 });
    expect((await service.call('folderRemove', { name: 'dir' })).status).toBe(500);
    expect((await upload(service, 'c.txt', 1)).status).toBe(200);
    expect(refused(await upload(service, 'd.txt', 1))).toEqual(QUOTA);
  });

  it('counts again what a move by copying has left at both places', async () => {
    const memory = new MemoryAdapter();
    const storageAdapter = 'moves-in-part';
    const storage = replacing(memory, {
      moveFolder: () => Promise.reject(new UnsupportedError()),
      removeFile: async (path, options) => {
        if (path.toString() === 'dir/b.txt') throw new StorageUnavailableError();
        await memory.removeFile(path, options);
      },
    });
    registerStorageAdapter(storageAdapter, { create: () => storage });
    const service = await start({ files: 4 }, { sources: { files: { storageAdapter, root: undefined } } });
    for (const name of ['a.txt', 'b.txt']) await put(memory, `dir/${name}`, 'x');
    expect(await quotaOf(service)).toMatchObject({ usedFiles: 2 });
    const rename = service.call('folderRename', { name: 'dir', newname: 'other' });
    expect(refused(await rename)).toEqual([500, 'MOVED_IN_PART']);
    expect((await upload(service, 'c.txt', 1)).status).toBe(200);
    expect(refused(await upload(service, 'd.txt', 1))).toEqual(QUOTA);
  });

  it('holds for copies, inside a source and into another one, and for moves', async () => {
    const service = await start({ bytes: 1000 }, { sources: { files: {}, other: {} } });
    await service.source('files').put({ 'f/a.txt': text(300), 'f/b.txt': text(300) });
    expect(refused(await service.call('folderCopy', { from: 'f' }))).toEqual(QUOTA);
    expect((await service.call('fileCopy', { from: 'f/a.txt' })).status).toBe(200);
    await service.source('other').put({ 'c.txt': text(500) });
    const across = { source: 'other', fromSource: 'files', from: 'f' };
    expect(refused(await service.call('folderCopy', across))).toEqual(QUOTA);
    expect(refused(await service.call('folderMove', across))).toEqual(QUOTA);
    expect((await service.call('fileMove', { ...across, from: 'f/b.txt' })).status).toBe(200);
    expect(await quotaOf(service)).toMatchObject({ usedBytes: 600, usedFiles: 2 });
    expect(await quotaOf(service, 'other')).toMatchObject({ usedBytes: 800, usedFiles: 2 });
    expect((await service.source('other').paths()).sort()).toEqual(['b.txt', 'c.txt']);
  });

  it('counts what enters a folder while the store copies it', async () => {
    const memory = new MemoryAdapter();
    const copyFolder = async (from: SourcePath, to: SourcePath): Promise<void> => {
      await upload(service, 'b.txt', 100, { path: 'f' });
      await memory.makeFolder(to);
      for (const name of ['a.txt', 'b.txt']) await memory.copyFile(from.child(name), to.child(name));
    };
    registerStorageAdapter('enters', { create: () => replacing(memory, { copyFolder }) });
    await put(memory, 'f/a.txt', Buffer.from(text(300)));
    const service = await start({ bytes: 2000 }, { sources: { files: { storageAdapter: 'enters' } } });
    expect(await quotaOf(service)).toMatchObject({ usedBytes: 300, usedFiles: 1 });
    expect((await service.call('folderCopy', { from: 'f' })).status).toBe(200);
    expect(await quotaOf(service)).toMatchObject({ usedBytes: 800, usedFiles: 4 });
  });

  it('holds for edited pictures and for remote files', async () => {
    const picture = await photo(200, 200);
    const service = await start({ bytes: picture.length + 10 }, { allowPrivateNetworkUploads: true });
    await service.source('files').put({ 'a.jpg': picture });
    const box = { 'box[w]': '150', 'box[h]': '150' };
    expect(refused(await service.call('imageResize', { name: 'a.jpg', newname: 'b', ...box }))).toEqual(
      QUOTA,
    );
    const form = formOf([['files[0]', 'x.jpg', new Uint8Array(await photo(100, 100))]], { newname: 'c.jpg' });
    expect((await fetch(`${service.url}/imageSave`, { method: 'POST', body: form })).status).toBe(413);
    const host = createServer((_, response) => response.end(text(100)));
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void host.close());
    const url = `http://127.0.0.1:${String((host.address() as AddressInfo).port)}/d.txt`;
    expect(refused(await service.call('fileUploadRemote', { url }))).toEqual(QUOTA);
    expect(await service.source('files').paths()).toEqual(['a.jpg']);
    expect(
      (await service.call('imageResize', { name: 'a.jpg', 'box[w]': '20', 'box[h]': '20' })).status,
    ).toBe(200);
    expect((await service.call('fileUploadRemote', { url })).status).toBe(200);
  });

  it('counts the trash until its items are removed for good', async () => {
    const service = await start({ bytes: 1000 }, { trash: {} });
    await upload(service, 'a.txt', 900);
    await service.call('fileRemove', { name: 'a.txt' });
    expect(refused(await upload(service, 'b.txt', 200))).toEqual(QUOTA);
    await service.call('trashEmpty');
    // What is due to be counted again is counted before anything is refused.
    expect((await upload(service, 'b.txt', 200)).status).toBe(200);
    expect(await quotaOf(service)).toMatchObject({ usedBytes: 200, usedFiles: 1 });
  });

  it('counts what comes into the trash while that is emptied', async () => {
    const memory = new MemoryAdapter();
    let arrives: (() => Promise<unknown>) | undefined;
    let listings = 0;
    const arrive = async (isNow: boolean): Promise<void> => {
      const once = isNow ? arrives : undefined;
      if (once !== undefined) arrives = undefined;
      await once?.();
    };
    const isTrash = (path: SourcePath): boolean => path.toString() === '.stowage-trash';
    const list: StorageAdapter['list'] = async function* (folder, options) {
      if (arrives !== undefined && isTrash(folder)) listings += 1;
      // The third one would measure what is removed.
      await arrive(isTrash(folder) && listings === 3);
      yield* memory.list(folder, options);
    };
    const moveFolder: StorageAdapter['moveFolder'] = async (from, ...input) => {
      await arrive(isTrash(from));
      await memory.moveFolder(from, ...input);
    };
    registerStorageAdapter('emptied', { create: () => replacing(memory, { list, moveFolder }) });
    const sources = { files: { storageAdapter: 'emptied' } };
    const service = await start({ bytes: 1000 }, { trash: {}, sources });
    for (const name of ['a.txt', 'b.txt']) await upload(service, name, 100);
    await service.call('fileRemove', { name: 'a.txt' });
    expect(await quotaOf(service)).toMatchObject({ usedBytes: 200, usedFiles: 2 });
    arrives = () => service.call('fileRemove', { name: 'b.txt' });
    await service.call('trashEmpty');
    expect(arrives).toBeUndefined();
    expect(await quotaOf(service)).toMatchObject({ usedBytes: 100, usedFiles: 1 });
  });

  it('frees once what is removed with the trash during a count', async () => {
    const memory = new MemoryAdapter();
    let isCounting = false;
    let emptying: Promise<unknown> | undefined;
    const [[taken, take], [counted, end]] = [gateOf(), gateOf()];
    const list: StorageAdapter['list'] = async function* (folder, options) {
      if (isCounting && emptying === undefined && folder.toString() === '.stowage-trash') {
        emptying = service.call('trashEmpty');
        await taken;
      }
      // The trash is measured after the count, which has not seen it.
      if (/doomed-[^/]*$/u.test(folder.toString())) await counted;
      yield* memory.list(folder, options);
    };
    const moveFolder: StorageAdapter['moveFolder'] = async (from, to, options) => {
      await memory.moveFolder(from, to, options);
      if (to.name.startsWith('doomed-')) take();
    };
    registerStorageAdapter('emptied-while-counted', {
      create: () => replacing(memory, { list, moveFolder }),
    });
    const sources = { files: { storageAdapter: 'emptied-while-counted' } };
    const service = await start({ bytes: 1000 }, { trash: {}, sources });
    for (const name of ['a.txt', 'b.txt']) await put(memory, name, Buffer.from(text(100)));
    await service.call('fileRemove', { name: 'a.txt' });
    isCounting = true;
    await quotaOf(service);
    end();
    await emptying;
    expect(await quotaOf(service)).toMatchObject({ usedBytes: 100, usedFiles: 1 });
  });

  it('frees what the trash itself gives up, and does not count its records', async () => {
    const service = await start({ bytes: 1000, files: 1 }, { trash: { maxBytes: 500 } });
    expect((await upload(service, 'a.txt', 400)).status).toBe(200);
    await service.call('fileRemove', { name: 'a.txt' });
    const again = await createSecond(service, { bytes: 1000, files: 1 });
    expect(await quotaOf(again)).toMatchObject({ usedBytes: 400, usedFiles: 1 });
    await service.call('trashEmpty');
    expect((await upload(service, 'large.txt', 900)).status).toBe(200);
    await service.call('fileRemove', { name: 'large.txt' });
    // The trash says so behind what it has removed.
    await expect.poll(() => quotaOf(service)).toMatchObject({ usedBytes: 0, usedFiles: 0 });
    expect((await upload(service, 'b.txt', 900)).status).toBe(200);
  });

  it('counts a file once that several replace at the same moment, also from another server', async () => {
    const service = await start(
      { bytes: 1000 },
      { saveSameFileNameStrategy: 'replace', allowPrivateNetworkUploads: true },
    );
    await upload(service, 'a.txt', 10);
    const answers = await Promise.all(Array.from({ length: 6 }, () => upload(service, 'a.txt', 600)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(await quotaOf(service)).toMatchObject({ usedBytes: 600, usedFiles: 1 });
    const site = await startSite((_request, response) => response.end(text(700)));
    onTestFinished(() => site.close());
    expect((await service.call('fileUploadRemote', { url: `${site.origin}/a.txt` })).status).toBe(200);
    expect(await quotaOf(service)).toMatchObject({ usedBytes: 700, usedFiles: 1 });
  });

  it('counts of a picture what is stored, not what was sent', async () => {
    const large = await photo(2400, 2400);
    const service = await start({ bytes: 20_000 }, { uploadImages: { maxWidth: 20 } });
    expect(large.length).toBeGreaterThan(40_000);
    const answer = await service.upload([['files[0]', 'a.jpg', new Uint8Array(large)]]);
    expect(answer.status).toBe(200);
    const [{ bytes } = { bytes: 0 }] = answer.data['items'] as { bytes: number }[];
    expect(await quotaOf(service)).toMatchObject({ usedBytes: bytes, usedFiles: 1 });
  });

  it('counts what a source holds of what came from another one, and reports it, not what was there', async () => {
    const events: ServiceEvent[] = [];
    const pictures = { createThumb: false, quota: { bytes: '1mb' }, uploadImages: { maxWidth: 60 } };
    const service = await startService(
      { sources: { files: pictures, other: { extensions: ['jpg', 'svg'] } } },
      { onEvent: (event) => events.push(event) },
    );
    const drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="5" height="5"/>';
    await service.source('other').put({ 'a.jpg': await photo(240, 160) });
    await service
      .source('other')
      .put({ 'f/b.jpg': await photo(240, 160), 'f/c.svg': drawing, 'f/d.iso': 'x' });
    expect(await quotaOf(service, 'files')).toMatchObject({ usedBytes: 0 });
    const from = { source: 'files', fromSource: 'other' };
    expect((await service.call('fileMove', { ...from, from: 'a.jpg' })).status).toBe(200);
    expect((await service.call('folderCopy', { ...from, from: 'f' })).status).toBe(200);
    const stored = ['a.jpg', 'f/b.jpg', 'f/c.svg'];
    const sizes = await Promise.all(
      stored.map(async (path) => (await stat(join(service.source('files').root, path))).size),
    );
    expect(await quotaOf(service, 'files')).toMatchObject({
      usedBytes: sizes.reduce((sum, size) => sum + size, 0),
    });
    expect(events.map(({ bytes }) => bytes)).toEqual([sizes[0], undefined]);
  });

  it('leaves nothing of a form that does not fit in as a whole, and names the file', async () => {
    const picture = new Uint8Array(await photo(200, 100));
    const uploadImages = { maxWidth: 20, keepOriginal: '_originals' };
    const service = await start({ files: 3 }, { uploadImages });
    const answer = await service.upload([
      ['files[0]', 'a.jpg', picture],
      ['files[1]', 'b.jpg', picture],
    ]);
    expect(refused(answer)).toEqual(QUOTA);
    expect(answer.messages).toEqual([
      'There is not enough room left here.',
      // They are stored together: either may be the one that does not fit in.
      expect.stringMatching(/^Nothing was uploaded because of "[ab]\.jpg"\.$/u),
    ]);
    expect((await service.source('files').paths()).filter((path) => !path.endsWith('/'))).toEqual([]);
    expect(await quotaOf(service)).toMatchObject({ usedFiles: 0 });
  });

  it.each(['fileUpload', 'fileReplace', 'imageSave'])(
    'leaves the older file where a picture fits in and its original does not: %s',
    async (action) => {
      const uploadImages = { maxWidth: 20, keepOriginal: '_originals' };
      const service = await start({ files: 1 }, { uploadImages, saveSameFileNameStrategy: 'replace' });
      const files = service.source('files');
      const older = await photo(10, 10);
      await files.put({ 'a.jpg': older });
      const picture = new Uint8Array(await photo(200, 100));
      const body = formOf([['files[0]', 'a.jpg', picture]], { name: 'a.jpg' });
      const response = await fetch(`${service.url}/${action}`, { method: 'POST', body });
      expect(response.status).toBe(413);
      expect((await files.bytes('a.jpg')).equals(older)).toBe(true);
      expect((await files.paths()).filter((path) => !path.endsWith('/'))).toEqual(['a.jpg']);
      expect(await quotaOf(service)).toMatchObject({ usedFiles: 1 });
    },
  );

  it('is counted again after an hour of use: then it is right, whatever other programs have done', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const service = await start({ bytes: 1000 });
    const used = async (): Promise<unknown> => ((await quotaOf(service)) as { usedBytes?: number }).usedBytes;
    expect((await upload(service, 'a.txt', 100)).status).toBe(200);
    // The first count was disturbed by that upload; what does not fit in waits for the next one.
    vi.setSystemTime(Date.now() + 6 * 60_000);
    expect(refused(await upload(service, 'b.txt', 901))).toEqual(QUOTA);
    expect(await used()).toBe(100);
    await service.source('files').put({ 'b.txt': text(800) });
    vi.setSystemTime(Date.now() + 50 * 60_000);
    expect(await used()).toBe(100);
    vi.setSystemTime(Date.now() + 11 * 60_000);
    await expect.poll(used).toBe(900);
    await rm(join(service.source('files').root, 'b.txt'));
    expect(refused(await upload(service, 'c.txt', 900))).toEqual(QUOTA);
    vi.setSystemTime(Date.now() + 61 * 60_000);
    // What is due is counted before anything is refused.
    expect((await upload(service, 'c.txt', 900)).status).toBe(200);
    expect(await used()).toBe(1000);
  });

  it('is counted again also when the clock is set back', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const service = await start({ files: 10 });
    vi.setSystemTime(Date.now() + 24 * 60 * 60_000);
    await expect.poll(() => quotaOf(service)).toMatchObject({ usedFiles: 0 });
    vi.setSystemTime(Date.now() - 24 * 60 * 60_000);
    await service.source('files').put({ 'a.txt': 'a' });
    await expect.poll(() => quotaOf(service)).toMatchObject({ usedFiles: 1 });
  });

  it('does not count thumbnails', async () => {
    const service = await startService({ quota: { files: 1 } });
    await service.source('files').put({ 'a.jpg': await photo(20, 20) });
    await service.call('files');
    expect(await service.source('files').paths()).toContain('_thumbs/a.jpg');
    await expect.poll(() => quotaOf(service)).toMatchObject({ usedFiles: 1 });
  });

  it.each(['user', 'tenant'])(
    'is one for each tenant, also when it comes again: an id for each %s',
    async (each) => {
      const base = await mkdtemp(join(tmpdir(), 'stowage-quota-tenants-'));
      onTestFinished(() => rm(base, { recursive: true, force: true }));
      const room: Readonly<Record<string, number>> = { anna: 1000, bob: 300 };
      const roots = new Map<string, string>();
      for (const name of Object.keys(room)) {
        roots.set(name, join(base, name));
        await mkdir(join(base, name));
      }
      // One tenant is kept at a time: each comes again with every change of the user.
      const app = createApp(
        { createThumb: false, sources: {}, dynamicSourcesCache: { max: 1 } },
        {
          resolveSources: ({ headers }) => {
            const user = String(headers['x-user']);
            const files = {
              title: 'Files',
              baseurl: `https://files.example/${user}/`,
              root: roots.get(user),
            };
            const id = each === 'user' ? user : each;
            return { id, sources: { files: { ...files, quota: { bytes: room[user] ?? 0 } } } };
          },
        },
        { logger: silent },
      );
      onTestFinished(() => app.close());
      const { port } = await app.listen(0, '127.0.0.1');
      const ask = async (user: string, action: string, body?: FormData): Promise<Answer['data']> => {
        const url = `http://127.0.0.1:${String(port)}/${action}`;
        const answer = await fetch(url, {
          headers: { 'x-user': user },
          ...(body && { method: 'POST', body }),
        });
        return ((await answer.json()) as Answer).data;
      };
      const send = (user: string, name: string, bytes: number) =>
        ask(user, 'fileUpload', formOf([['files[0]', name, text(bytes)]]));
      const both = ['anna', 'bob'].flatMap((user) =>
        [0, 1, 2, 3].map((index) => [user, String(index)] as const),
      );
      const answers = await Promise.all(both.map(([user, name]) => send(user, `${name}.txt`, 200)));
      const stored = (user: string): number =>
        answers.filter((answer, index) => both[index]?.[0] === user && answer['error'] === undefined).length;
      expect([stored('anna'), stored('bob')]).toEqual([4, 1]);
      expect((await send('anna', 'more.txt', 201))['error']).toBe('QUOTA_EXCEEDED');
      expect((await send('bob', 'more.txt', 101))['error']).toBe('QUOTA_EXCEEDED');
      expect((await send('bob', 'last.txt', 100))['error']).toBeUndefined();
      expect((await ask('anna', 'permissions'))['quota']).toMatchObject({
        bytes: 1000,
        usedBytes: 800,
        usedFiles: 4,
      });
      expect((await ask('bob', 'permissions'))['quota']).toMatchObject({
        bytes: 300,
        usedBytes: 300,
        usedFiles: 2,
      });
    },
  );
});
