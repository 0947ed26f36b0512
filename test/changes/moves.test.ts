import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { registerStorageAdapter } from 'stowage';
import { describe, expect, it } from 'vitest';
import { NotFoundError, SourcePath, walkFolder } from 'stowage/storage';
import { withFaults } from 'stowage/testing';
import { MemoryAdapter } from '#internals';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { put } from '../pictures/gallery.ts';
import { photo } from '../pictures/pictures.ts';
import { replacing } from '../protocol/changing-store.ts';
import { formOf, startService, type Answer, type Fields, type Service } from '../protocol/service.js';

// Far more than the other request needs for all that it does.
const TURNS = 300;

const NAME = '0.txt'.length;
const FILES = ['0.txt', '1.txt', '2.txt', 'deep/3.txt', 'deep/4.txt'];

/** A store that moves folders by copying, and removes nothing before `mayRemove`. */
const slow = (mayRemove: Promise<void>): StorageAdapter => {
  const memory = new MemoryAdapter();
  const removeFile: StorageAdapter['removeFile'] = async (path, options) => {
    await mayRemove;
    for (let turns = 0; turns < TURNS; turns += 1) await turn();
    await memory.removeFile(path, options);
  };
  return new Proxy<StorageAdapter>(memory, {
    get: (target, key) => {
      if (key === 'copyFolder' || key === 'moveFolder') return undefined;
      const value: unknown = key === 'removeFile' ? removeFile : Reflect.get(target, key);
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });
};

/** A service whose store removes originals only when two requests have come. */
const startMeeting = async (): Promise<{ readonly service: Service; readonly storage: StorageAdapter }> => {
  let open = (): void => undefined;
  const storage = slow(new Promise((resolve) => (open = resolve)));
  const name = `moves-${randomUUID()}`;
  registerStorageAdapter(name, { create: () => storage });
  for (const file of FILES) await put(storage, `tree/${file}`, Buffer.from(file));
  for (const folder of ['a', 'b']) await storage.makeFolder(SourcePath.parse(folder));
  let requests = 0;
  const service = await startService(
    {
      extensions: ['txt'],
      sources: { files: { storageAdapter: name }, other: { extensions: ['txt'] } },
    },
    {
      checkAuthentication: () => {
        requests += 1;
        if (requests === 2) open();
        return 'guest';
      },
    },
  );
  return { service, storage };
};

const filesOf = async (storage: StorageAdapter): Promise<string[]> => {
  const files: string[] = [];
  for await (const { path, entry } of walkFolder(storage, SourcePath.root)) {
    if (entry.kind === 'file') files.push(path.toString());
  }
  return files.sort();
};

const moveTree = (service: Service) =>
  service.call('folderMove', { source: 'files', path: 'a', from: 'tree' });

/** Answers are a success or an error of the request, not of the service. */
const requireClear = (answers: readonly Answer[]): void => {
  const statuses = answers.map(({ status }) => status);
  expect(statuses).toContain(200);
  expect(statuses.filter((status) => status !== 200 && (status < 400 || status >= 500))).toEqual([]);
};

describe('a folder that is being moved by copying', () => {
  const meetings: readonly [title: string, action: string, fields: Fields][] = [
    ['moved once more', 'folderMove', { source: 'files', path: 'b', from: 'tree' }],
    ['renamed', 'folderRename', { source: 'files', path: '', name: 'tree', newname: 'b2' }],
    ['moved into another source', 'folderMove', { source: 'other', fromSource: 'files', from: 'tree' }],
    ['left by a folder in it', 'folderMove', { source: 'files', path: 'b', from: 'tree/deep' }],
    ['left by a file in it', 'fileMove', { source: 'files', path: 'b', from: 'tree/0.txt' }],
  ];
  it.each(meetings)(
    'and %s at the same moment arrives once, with all it holds',
    async (_title, action, fields) => {
      const { service, storage } = await startMeeting();
      requireClear(await Promise.all([moveTree(service), service.call(action, fields)]));
      const inOther = (await service.source('other').paths()).filter((path) => !path.endsWith('/'));
      const found = [...(await filesOf(storage)), ...inOther].map((path) => path.slice(-NAME));
      expect(found.sort()).toEqual(FILES.map((path) => path.slice(-NAME)).sort());
    },
  );

  it.each<[string, (service: Service) => Promise<Answer>]>([
    [
      'an upload',
      (service) => service.upload([['files[0]', 'new.txt', '']], { source: 'files', path: 'tree/deep' }),
    ],
    [
      'a folder',
      (service) => service.call('folderCreate', { source: 'files', path: 'tree/deep', name: 'new' }),
    ],
    [
      'a copy',
      (service) => service.call('fileCopy', { source: 'files', path: 'tree/deep', from: 'tree/0.txt' }),
    ],
  ])('lets %s into it before or after, not into what is left of it', async (_title, enter) => {
    const { service, storage } = await startMeeting();
    const [moving, entering] = await Promise.all([moveTree(service), enter(service)]);
    expect([moving.status, moving.messages]).toEqual([200, []]);
    expect([200, 404]).toContain(entering.status);
    await expect(storage.stat(SourcePath.parse('tree'))).rejects.toThrow(NotFoundError);
    let entered = 0;
    for await (const _one of walkFolder(storage, SourcePath.parse('a/tree'))) entered += 1;
    expect(entered).toBe(FILES.length + 1 + (entering.status === 200 ? 1 : 0));
  });

  it.each([
    ['the folder', 'folderRemove', { source: 'files', path: '', name: 'tree' }, ''],
    ['a file in it', 'fileRemove', { source: 'files', path: 'tree', name: '0.txt' }, '0.txt'],
  ])('never keeps what was removed meanwhile: %s', async (_title, action, fields, gone) => {
    const { service, storage } = await startMeeting();
    const [moving, removing] = await Promise.all([moveTree(service), service.call(action, fields)]);
    requireClear([moving, removing]);
    const left =
      removing.status === 200 ? (await filesOf(storage)).filter((path) => path.endsWith(gone)) : [];
    expect(left).toEqual([]);
  });
});

/** A service whose store copies folders file by file, and no file before `mayCopy` is called. */
const startCopying = async () => {
  let [begun, mayCopy] = [(): void => undefined, (): void => undefined];
  const isCopying = new Promise<void>((resolve) => (begun = resolve));
  const isAllowed = new Promise<void>((resolve) => (mayCopy = resolve));
  const memory = new MemoryAdapter();
  const copyFile: StorageAdapter['copyFile'] = async (...given) => {
    begun();
    await isAllowed;
    await memory.copyFile(...given);
  };
  const storage = withFaults(replacing(memory, { copyFile }), [], { hide: ['copyFolder'] });
  const storageAdapter = `copies-${randomUUID()}`;
  registerStorageAdapter(storageAdapter, { create: () => storage });
  for (const file of FILES) await put(storage, `all/tree/${file}`, Buffer.from(file));
  await storage.makeFolder(SourcePath.parse('all/a'));
  const service = await startService({ extensions: ['txt'], sources: { files: { storageAdapter } } });
  return { service, storage, isCopying, mayCopy };
};

describe('a folder that is being copied', () => {
  it.each([
    ['rename of the copy', 'folderRename', 'all/a', FILES.map((path) => `all/a/renamed/${path}`)],
    ['removal of the copy', 'folderRemove', 'all/a', []],
    ['rename of the folder', 'folderRename', 'all', FILES.map((path) => `all/a/tree/${path}`)],
    ['removal of the folder', 'folderRemove', 'all', FILES.map((path) => `all/a/tree/${path}`)],
  ])('arrives whole before a %s', async (_title, action, path, wanted) => {
    const { service, storage, isCopying, mayCopy } = await startCopying();
    const copying = service.call('folderCopy', { path: 'all/a', from: 'all/tree' });
    await isCopying;
    const changing = service.call(action, { path, name: 'tree', newname: 'renamed' });
    for (let turns = 0; turns < TURNS; turns += 1) await turn();
    mayCopy();
    expect([(await copying).status, (await changing).status]).toEqual([200, 200]);
    const found = await filesOf(storage);
    expect(found.filter((file) => file.startsWith('all/a/'))).toEqual(wanted);
  });

  it('takes in uploads at both ends', async () => {
    const { service, isCopying, mayCopy } = await startCopying();
    const copying = service.call('folderCopy', { path: 'all/a', from: 'all/tree' });
    await isCopying;
    for (const path of ['all/tree/deep', 'all/a/tree']) {
      const uploaded = await service.upload([['files[0]', 'new.txt', '']], { path });
      expect([uploaded.status, uploaded.data['files']]).toEqual([200, [`${path}/new.txt`]]);
    }
    mayCopy();
    expect((await copying).status).toBe(200);
  });
});

it('a folder that moves away between two files of a move does not come again for the second', async () => {
  const memory = new MemoryAdapter();
  let rename: (() => Promise<unknown>) | undefined;
  const stat: StorageAdapter['stat'] = async (path, options) => {
    const once = path.name === 'b.txt' ? rename : undefined;
    if (once !== undefined) rename = undefined;
    await once?.();
    return memory.stat(path, options);
  };
  const storageAdapter = `leaves-${randomUUID()}`;
  registerStorageAdapter(storageAdapter, { create: () => replacing(memory, { stat }) });
  for (const path of ['a.txt', 'b.txt', 'to/old.txt']) await put(memory, path, path);
  const service = await startService({ extensions: ['txt'], sources: { files: { storageAdapter } } });
  rename = async () => {
    for (let found: unknown; found === undefined; await turn())
      found = await memory.stat(SourcePath.parse('to/a.txt')).catch(() => undefined);
    expect((await service.call('folderRename', { name: 'to', newname: 'gone' })).status).toBe(200);
  };
  await service.call('fileMove', { path: 'to', 'froms[0]': 'a.txt', 'froms[1]': 'b.txt' });
  expect(await filesOf(memory)).toEqual(['b.txt', 'gone/a.txt', 'gone/old.txt']);
});

it('a folder that moves away before a picture in it is replaced does not come again for its original', async () => {
  let renames = 0;
  const service = await startService(
    {
      sources: { files: { createThumb: false, uploadImages: { maxWidth: 20, keepOriginal: '_originals' } } },
    },
    {
      beforeEvent: async ({ type }) => {
        if (type !== 'file.replaced') return;
        renames += 1;
        await service.call('folderRename', { name: 'a', newname: 'b' });
      },
    },
  );
  const picture = await photo(40, 30);
  await service.source('files').put({ 'a/p.jpg': picture });
  const body = formOf([['files[0]', 'p.jpg', new Uint8Array(picture)]], { path: 'a', name: 'p.jpg' });
  const replaced = await fetch(`${service.url}/fileReplace`, { method: 'POST', body });
  expect([renames, replaced.status]).toEqual([1, 404]);
  expect(await service.source('files').paths()).toEqual(['b/', 'b/p.jpg']);
});

it('a folder whose rename waits for a removal lets the hook of that copy into it', async () => {
  let renaming: Promise<Answer> | undefined;
  let copied: Answer | undefined;
  const service = await startService(
    { extensions: ['txt'] },
    {
      beforeEvent: async ({ type }) => {
        if (type !== 'file.removed') return;
        renaming = service.call('folderRename', { name: 'all', newname: 'gone' });
        for (let turns = 0; turns < TURNS; turns += 1) await turn();
        copied = await service.call('fileCopy', { path: 'all/backup', from: 'all/tree/0.txt' });
      },
    },
  );
  await service.source('files').put({ 'all/tree/0.txt': 'content', 'all/backup/': '' });
  const removed = await service.call('fileRemove', { path: 'all/tree', name: '0.txt' });
  expect([removed.status, copied?.status, (await renaming)?.status]).toEqual([200, 200, 200]);
  expect(await service.source('files').paths()).toEqual([
    'gone/',
    'gone/backup/',
    'gone/backup/0.txt',
    'gone/tree/',
  ]);
});

it('a folder stays until the texts about a copy have come', async () => {
  const memory = new MemoryAdapter();
  let renaming: Promise<Answer> | undefined;
  const write: StorageAdapter['write'] = async (path, ...rest) => {
    if (path.segments[0] === 'to') {
      renaming ??= service.call('folderRename', { name: 'to', newname: 'gone' });
      for (let turns = 0; turns < TURNS; turns += 1) await turn();
    }
    return memory.write(path, ...rest);
  };
  const storageAdapter = `texts-${randomUUID()}`;
  registerStorageAdapter(storageAdapter, { create: () => replacing(memory, { write }) });
  await put(memory, 'a.txt', 'a');
  await memory.makeFolder(SourcePath.parse('to'));
  const service = await startService({ extensions: ['txt'], sources: { files: { storageAdapter } } });
  await service.call('fileDescribe', { name: 'a.txt', alt: 'about it' });
  expect((await service.call('fileCopy', { path: 'to', from: 'a.txt' })).status).toBe(200);
  expect((await renaming)?.status).toBe(200);
  const found = await filesOf(memory);
  expect(found.filter((path) => path.startsWith('to/'))).toEqual([]);
  expect(found.filter((path) => path.startsWith('gone/'))).toHaveLength(2);
});

it('a folder into which uploads follow one another is renamed between them', async () => {
  const memory = new MemoryAdapter();
  const write: StorageAdapter['write'] = async (...parameters) => {
    for (let turns = 0; turns < TURNS; turns += 1) await turn();
    return memory.write(...parameters);
  };
  const storage = new Proxy<StorageAdapter>(memory, {
    get: (target, key) => {
      if (key === 'stage') return undefined;
      const value: unknown = key === 'write' ? write : Reflect.get(target, key);
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });
  const name = `busy-${randomUUID()}`;
  registerStorageAdapter(name, { create: () => storage });
  await storage.makeFolder(SourcePath.parse('busy'));
  const service = await startService({ extensions: ['txt'], sources: { files: { storageAdapter: name } } });
  const statuses: number[] = [];
  const uploading = async (): Promise<void> => {
    for (let count = 0; count < 12 && statuses.at(-1) !== 404; count += 1)
      statuses.push((await service.upload([['files[0]', 'a.txt', 'x']], { path: 'busy' })).status);
  };
  const uploads = Promise.all(Array.from({ length: 4 }, uploading));
  await expect.poll(() => statuses.length).toBeGreaterThan(3);
  expect(await service.call('folderRename', { name: 'busy', newname: 'calm' })).toMatchObject({
    status: 200,
  });
  await uploads;
  expect(statuses).toContain(404);
  let stored = 0;
  for await (const _one of walkFolder(storage, SourcePath.parse('calm'))) stored += 1;
  expect(stored).toBe(statuses.filter((status) => status === 200).length);
});
