import { randomUUID } from 'node:crypto';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { registerStorageAdapter } from 'stowage';
import { withFaults } from 'stowage/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  NotFoundError,
  SourcePath,
  StorageDeniedError,
  StorageFullError,
  StorageUnavailableError,
  walkFolder,
} from 'stowage/storage';
import { MemoryAdapter } from '#internals';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { bytesAt, put } from '../pictures/gallery.ts';
import { replacing, withCapabilities } from './changing-store.ts';
import { startService, type Service } from './service.ts';

const HOUR = 60 * 60_000;

const start = (storage: StorageAdapter, settings: object = {}): Promise<Service> => {
  const storageAdapter = `trash-faults-${randomUUID()}`;
  registerStorageAdapter(storageAdapter, { create: () => storage });
  const sources = { files: { storageAdapter } };
  return startService({ createThumb: false, trash: { keepReplaced: true }, ...settings, sources });
};

const itemsIn = async (service: Service): Promise<{ id: string; name: string }[]> =>
  (await service.call('trashList')).data['items'] as { id: string; name: string }[];

const namesIn = async (service: Service): Promise<string[]> =>
  (await itemsIn(service)).map(({ name }) => name);

const restoreAll = async (service: Service): Promise<void> => {
  for (const { id } of await itemsIn(service))
    expect((await service.call('trashRestore', { id })).status).toBe(200);
};

const filesIn = async (storage: StorageAdapter): Promise<string[]> => {
  const found: string[] = [];
  for await (const { path, entry } of walkFolder(storage, SourcePath.root))
    if (entry.kind === 'file') found.push(path.toString());
  return found;
};

const isItem = (path: SourcePath): boolean => path.toString().includes('/item/');
const isRecord = ({ name }: SourcePath): boolean => name === 'record.json';
const lost = (): StorageUnavailableError => new StorageUnavailableError();

describe('a store that loses sight of what is there', () => {
  it('erases nothing of which it does not show the record, sweep after sweep', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const memory = new MemoryAdapter();
    await put(memory, 'a.txt', 'only copy');
    let isBlind = false;
    const hide = (path: SourcePath): void => {
      if (isBlind && isRecord(path)) throw new NotFoundError();
    };
    const storage = replacing(memory, {
      stat: async (path, options) => {
        hide(path);
        return memory.stat(path, options);
      },
      read: async (path, options) => {
        hide(path);
        return memory.read(path, options);
      },
    });
    const service = await start(storage);
    expect((await service.call('fileRemove', { name: 'a.txt' })).status).toBe(200);
    isBlind = true;
    for (let hours = 0; hours < 6; hours += 1) {
      vi.setSystemTime(Date.now() + 2 * HOUR);
      expect(await namesIn(service)).toEqual([]);
    }
    isBlind = false;
    await restoreAll(service);
    expect((await bytesAt(memory, 'a.txt')).toString()).toBe('only copy');
  });

  it('keeps the old content of a file that it does not show when the file is replaced', async () => {
    const memory = new MemoryAdapter();
    await put(memory, 'a.txt', 'old');
    for (const call of [1, 2]) {
      const missing = { path: ({ name }: SourcePath) => name === 'a.txt', error: new NotFoundError() };
      const storage = withFaults(memory, [{ operation: 'stat', effect: 'fail-before', call, ...missing }]);
      const service = await start(storage, { saveSameFileNameStrategy: 'replace' });
      const before = (await namesIn(service)).length;
      expect((await service.upload([['files[0]', 'a.txt', `new ${String(call)}`]])).status).toBe(200);
      expect(await namesIn(service)).toHaveLength(before + 1);
    }
  });

  it('reports an outage of the trash as one, and not as an empty trash', async () => {
    const memory = new MemoryAdapter();
    await put(memory, 'a.txt', 'a');
    let isDown = false;
    const storage = replacing(memory, {
      list: (folder, options) => {
        if (isDown) throw lost();
        return memory.list(folder, options);
      },
    });
    const service = await start(storage);
    await service.call('fileRemove', { name: 'a.txt' });
    isDown = true;
    expect((await service.call('trashList')).status).toBe(500);
    expect((await service.call('trashEmpty')).status).toBe(500);
    isDown = false;
    expect(await namesIn(service)).toEqual(['a.txt']);
  });
});

describe('a removal whose answer is lost', () => {
  it.each([
    ['a file', 'fileRemove', { name: 'f.txt' }, 'f.txt'],
    ['a folder', 'folderRemove', { name: 'dir' }, 'dir/a.txt'],
  ])('of %s, which lands later, can be taken back', async (_what, action, fields, path) => {
    const memory = new MemoryAdapter();
    await put(memory, path, 'only copy');
    const late: Promise<void>[] = [];
    const land = (work: () => Promise<void>): never => {
      late.push(new Promise((resolve) => setTimeout(resolve, 50)).then(work));
      throw lost();
    };
    const storage = replacing(memory, {
      moveFile: async (from, to, options) => {
        if (!isItem(to)) return memory.moveFile(from, to, options);
        land(() => memory.moveFile(from, to, { ...options, signal: undefined }));
      },
      moveFolder: async (from, to, options) => {
        if (!isItem(to)) return memory.moveFolder(from, to, options);
        land(() => memory.moveFolder(from, to, { ...options, signal: undefined }));
      },
    });
    const service = await start(storage);
    expect((await service.call(action, fields)).status).toBe(500);
    await Promise.all(late);
    await restoreAll(service);
    expect((await bytesAt(memory, path)).toString()).toBe('only copy');
    expect(await filesIn(memory)).toEqual([path]);
  });

  it('keeps what has come where no look at it succeeds', async () => {
    const memory = new MemoryAdapter();
    await put(memory, 'f.txt', 'only copy');
    let isBlind = true;
    const storage = replacing(memory, {
      moveFile: async (from, to, options) => {
        await memory.moveFile(from, to, options);
        // A second attempt after a lost answer.
        if (isItem(to)) throw new NotFoundError();
      },
      stat: async (path, options) => {
        if (isBlind && isItem(path)) throw lost();
        return memory.stat(path, options);
      },
    });
    const service = await start(storage);
    expect((await service.call('fileRemove', { name: 'f.txt' })).status).toBe(404);
    isBlind = false;
    await restoreAll(service);
    expect((await bytesAt(memory, 'f.txt')).toString()).toBe('only copy');
  });

  it('leaves no record of what the store refuses to move', async () => {
    const memory = new MemoryAdapter();
    await put(memory, 'f.txt', 'stays');
    const refusal = { operation: 'moveFile', effect: 'fail-before', error: new StorageFullError() } as const;
    const service = await start(withFaults(memory, [refusal]));
    expect((await service.call('fileRemove', { name: 'f.txt' })).status).toBe(500);
    expect(await filesIn(memory)).toEqual(['f.txt']);
  });
});

describe('the old content of a file', () => {
  it.each(['fail-before', 'fail-after'] as const)(
    'stays in the trash when it is not known whether it was replaced: %s',
    async (effect) => {
      const memory = new MemoryAdapter();
      await put(memory, 'a.txt', 'old');
      const service = await start(withFaults(memory, [{ operation: 'commit', effect }]), {
        saveSameFileNameStrategy: 'replace',
      });
      expect((await service.upload([['files[0]', 'a.txt', 'new']])).status).toBe(500);
      const [kept] = (await filesIn(memory)).filter((path) => path.endsWith('/item/a.txt'));
      expect((await bytesAt(memory, kept ?? '')).toString()).toBe('old');
    },
  );

  it('is erased one by one where the whole trash cannot be moved, as one that is a volume of its own', async () => {
    const memory = new MemoryAdapter();
    for (const name of ['a.txt', 'b.txt']) await put(memory, name, name);
    const storage = replacing(memory, {
      moveFolder: async (from, to, options) => {
        if (from.toString() === '.stowage-trash') throw new StorageDeniedError();
        return memory.moveFolder(from, to, options);
      },
    });
    const service = await start(storage);
    for (const name of ['a.txt', 'b.txt']) await service.call('fileRemove', { name });
    const { status, data } = await service.call('trashEmpty');
    expect([status, data['removed']]).toEqual([200, 2]);
    expect(await filesIn(memory)).toEqual([]);
  });

  it('is erased one by one, or stays in the list, where it cannot be moved on after it was taken', async () => {
    const memory = new MemoryAdapter();
    let mayRemove = false;
    const storage = replacing(memory, {
      moveFolder: async (from, to, options) => {
        if (to.toString().includes('/doomed-')) throw new StorageDeniedError();
        return memory.moveFolder(from, to, options);
      },
      removeFolder: async (path, options) => {
        if (!mayRemove) throw new StorageDeniedError();
        return memory.removeFolder(path, options);
      },
      moveFile: async (from, to, options) => {
        if (!mayRemove && isRecord(from)) throw new StorageDeniedError();
        return memory.moveFile(from, to, options);
      },
    });
    const service = await start(storage);
    for (const name of ['a.txt', 'b.txt']) {
      await put(memory, name, name);
      await service.call('fileRemove', { name });
    }
    expect((await service.call('trashEmpty')).status).toBe(500);
    expect((await namesIn(service)).sort()).toEqual(['a.txt', 'b.txt']);
    mayRemove = true;
    const { status, data } = await service.call('trashEmpty');
    expect([status, data['removed']]).toEqual([200, 2]);
    expect(await filesIn(memory)).toEqual([]);
  });

  it('stays in the trash when a store refuses what it has done', async () => {
    const memory = new MemoryAdapter();
    await put(memory, 'a.txt', 'old');
    const refused = { operation: 'commit', effect: 'fail-after', error: new StorageFullError() } as const;
    const service = await start(withFaults(memory, [refused]), { saveSameFileNameStrategy: 'replace' });
    expect((await service.upload([['files[0]', 'a.txt', 'new']])).status).toBe(500);
    expect(await namesIn(service)).toEqual(['a.txt']);
  });
});

it('an item whose record the store refuses to read keeps no other from being listed', async () => {
  const memory = new MemoryAdapter();
  let archived = 'none';
  const storage = replacing(memory, {
    read: async (path, options) => {
      // As S3 does with an object in an archive.
      if (isRecord(path) && path.toString().includes(archived)) throw new StorageDeniedError();
      return memory.read(path, options);
    },
  });
  const service = await start(storage);
  for (const name of ['a.txt', 'b.txt']) {
    await put(memory, name, name);
    await service.call('fileRemove', { name });
  }
  archived = (await itemsIn(service)).find(({ name }) => name === 'a.txt')?.id ?? '';
  // Remembers no record.
  const restarted = await start(storage);
  expect(await namesIn(restarted)).toEqual(['b.txt']);
  archived = '.stowage-trash/';
  expect((await (await start(storage)).call('trashList')).status).toBe(500);
});

it('an item that comes back has its words before its record goes', async () => {
  const memory = new MemoryAdapter();
  let seen: (words: unknown) => void = () => undefined;
  const words = new Promise<unknown>((resolve) => (seen = resolve));
  const wordsOf = async (service: Service): Promise<unknown> =>
    (await service.call('files', { 'mods[details]': '1' })).data['sources'];
  const storage = replacing(memory, {
    removeFile: async (path, options) => {
      // What a process that dies here leaves.
      if (isRecord(path)) seen(await wordsOf(await start(memory)));
      return memory.removeFile(path, options);
    },
  });
  const service = await start(storage);
  await put(memory, 'a.txt', 'a');
  await service.call('fileDescribe', { name: 'a.txt', title: 'Only copy' });
  await service.call('fileRemove', { name: 'a.txt' });
  await restoreAll(service);
  expect(JSON.stringify(await words)).toContain('Only copy');
});

it('an item that comes back never takes the name of what has come meanwhile', async () => {
  const memory = new MemoryAdapter();
  await put(memory, 'a.txt', 'removed');
  let isMeeting = false;
  const storage = replacing(memory, {
    moveFile: async (from, to, options) => {
      if (isMeeting) await put(memory, 'a.txt', 'theirs');
      isMeeting = false;
      await memory.moveFile(from, to, options);
    },
  });
  const service = await start(storage);
  await service.call('fileRemove', { name: 'a.txt' });
  isMeeting = true;
  await restoreAll(service);
  expect((await bytesAt(memory, 'a.txt')).toString()).toBe('theirs');
  expect((await bytesAt(memory, 'a (1).txt')).toString()).toBe('removed');
});

it('what an erasing has left is listed no more, and goes with a later sweep', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const memory = new MemoryAdapter();
  await put(memory, 'dir/a.txt', 'a');
  const service = await start(
    withFaults(memory, [{ operation: 'removeFolder', call: 1, effect: 'fail-before' }]),
  );
  await service.call('folderRemove', { name: 'dir' });
  const [item] = await itemsIn(service);
  expect((await service.call('trashRemove', { id: item?.id ?? '' })).status).toBe(500);
  expect(await namesIn(service)).toEqual([]);
  expect((await filesIn(memory)).filter((path) => path.endsWith('dir/a.txt'))).toHaveLength(1);
  vi.setSystemTime(Date.now() + 2 * HOUR);
  await service.call('trashList');
  await expect.poll(() => filesIn(memory)).toEqual([]);
});

it('an item that two instances erase together is erased, and leaves no folder', async () => {
  const memory = new MemoryAdapter();
  const storage = replacing(memory, {
    // The other instance erases everything, and this one, as over WebDAV, creates the parent of its target anew.
    moveFile: async (from, to, options) => {
      if (!isRecord(from)) return memory.moveFile(from, to, options);
      await memory.removeFolder(from.parent);
      throw new NotFoundError();
    },
    write: async (path, content, options) => {
      if (path.name !== 'erased.json') return memory.write(path, content, options);
      content.destroy();
      await memory.makeFolder(path.parent);
      throw new NotFoundError();
    },
  });
  const service = await start(storage);
  await put(memory, 'a.txt', 'a');
  await service.call('fileRemove', { name: 'a.txt' });
  const [item] = await itemsIn(service);
  expect((await service.call('trashRemove', { id: item?.id ?? '' })).status).toBe(200);
  const left: string[] = [];
  for await (const { path } of walkFolder(memory, SourcePath.root)) left.push(path.toString());
  expect(left).toEqual(['.stowage-trash']);
});

it('an item that the store does not remove stays, and none of the older ones for it', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const memory = new MemoryAdapter();
  const held = (path: SourcePath): boolean =>
    path.toString().includes('/item') && path.toString().includes(kept);
  let kept = 'none';
  const storage = replacing(memory, {
    removeFolder: async (path, options) => {
      if (held(path)) throw new StorageDeniedError();
      return memory.removeFolder(path, options);
    },
  });
  const service = await start(storage, { trash: { retentionDays: 1 } });
  for (const name of ['older.txt', 'held.txt']) {
    await put(memory, name, name);
    await service.call('fileRemove', { name });
    vi.setSystemTime(Date.now() + 1000);
  }
  kept = (await itemsIn(service)).find(({ name }) => name === 'held.txt')?.id ?? '';
  vi.setSystemTime(Date.now() + 48 * HOUR);
  await service.call('trashList');
  const itemsLeft = async () => (await filesIn(memory)).filter((path) => path.includes('/item/'));
  await expect.poll(itemsLeft).toEqual([`.stowage-trash/${kept}/item/held.txt`]);
});

it('what is left of an emptied trash that the store does not remove keeps nothing else', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const memory = new MemoryAdapter();
  const storage = replacing(memory, {
    removeFolder: async (path, options) => {
      if (path.toString().includes('/doomed-')) throw new StorageDeniedError();
      return memory.removeFolder(path, options);
    },
  });
  const service = await start(storage, { trash: { retentionDays: 1 } });
  await put(memory, 'held.txt', 'held');
  await service.call('fileRemove', { name: 'held.txt' });
  expect((await service.call('trashEmpty')).data['removed']).toBe(1);
  await put(memory, 'older.txt', 'older');
  await service.call('fileRemove', { name: 'older.txt' });
  vi.setSystemTime(Date.now() + 48 * HOUR);
  await service.call('trashList');
  const inTrash = async () => (await filesIn(memory)).filter((path) => path.startsWith('.stowage-trash/'));
  await expect.poll(inTrash).toEqual([]);
});

it.each([
  ['on a full disk, where no folder can be created', new StorageFullError()],
  ['while the folder into which it moves goes with the one emptied before', new NotFoundError()],
])('a trash is emptied %s', async (_when, error) => {
  const memory = new MemoryAdapter();
  const storage = replacing(memory, { moveFolder: () => Promise.reject(error) });
  const service = await start(storage);
  for (const name of ['a.txt', 'b.txt']) {
    await put(memory, name, name);
    await service.call('fileRemove', { name });
  }
  expect((await service.call('trashEmpty')).data).toEqual({ code: 220, removed: 2 });
  expect(await filesIn(memory)).toEqual([]);
});

it('a trash is emptied but for the item that the store does not remove, which fails the request', async () => {
  const memory = new MemoryAdapter();
  let held = 'none';
  const storage = replacing(withCapabilities(memory, { atomicFolderMove: false }), {
    removeFolder: async (path, options) => {
      if (path.toString().includes(held)) throw new StorageDeniedError();
      return memory.removeFolder(path, options);
    },
  });
  const service = await start(storage);
  const names = Array.from({ length: 20 }, (_, index) => `f${String(index)}.txt`);
  for (const name of names) {
    await put(memory, name, name);
    await service.call('fileRemove', { name });
  }
  held = (await itemsIn(service))[0]?.id ?? '';
  const answer = await service.call('trashEmpty');
  expect([answer.status, answer.data['error']]).toEqual([500, 'STORAGE_DENIED']);
  const itemsLeft = async () => (await filesIn(memory)).filter((path) => path.includes('/item/'));
  expect(await itemsLeft()).toEqual([expect.stringContaining(held)]);
});

describe('a trash that an administrator has replaced by a link', () => {
  it('takes nothing, and is not reported as a missing file', async () => {
    const service = await startService({ trash: {} });
    const files = service.source('files');
    await files.put({ 'a.txt': 'a' });
    await service.outside.put({ 'elsewhere/': '' });
    await symlink(join(service.outside.root, 'elsewhere'), join(files.root, '.stowage-trash'));
    const { status, data } = await service.call('fileRemove', { name: 'a.txt' });
    expect([status, data['error']]).toEqual([500, 'STORAGE_DENIED']);
    expect(await files.text('a.txt')).toBe('a');
    expect(await service.outside.paths()).toContain('elsewhere/');
  });
});
