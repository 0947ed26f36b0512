import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { withFaults } from 'stowage/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  ChangedMeanwhileError,
  CorruptError,
  MovedInPartError,
  NotFoundError,
  SourcePath,
  StorageDeniedError,
  StorageUnavailableError,
  copyTree,
  moveTree,
} from 'stowage/storage';
import { MemoryAdapter, copyFileTo, moveFileTo } from '#internals';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { put } from '../pictures/gallery.ts';
import { replacing } from '../protocol/changing-store.ts';

const at = (path: string) => SourcePath.parse(path);
const textAt = async (storage: StorageAdapter, path: string) => text((await storage.read(at(path))).stream);

/** A store in which somebody does something right after a file has been copied. */
const afterCopying = (memory: MemoryAdapter, act: (copy: SourcePath) => Promise<unknown>): StorageAdapter =>
  replacing(memory, {
    copyFile: async (from, to, options) => {
      await memory.copyFile(from, to, options);
      await act(to);
    },
  });

describe('an original whose copy is not there as it was made', () => {
  const meanwhile = {
    replaced: (memory: MemoryAdapter) => (copy: SourcePath) =>
      put(memory, copy.toString(), Buffer.from('theirs, and longer')),
    removed: (memory: MemoryAdapter) => (copy: SourcePath) => memory.removeFile(copy),
  };

  it.each(['replaced', 'removed'] as const)('stays when its folder is moved: %s', async (what) => {
    const memory = new MemoryAdapter();
    await put(memory, 'tree/a.txt', Buffer.from('mine'));
    const storage = afterCopying(memory, meanwhile[what](memory));
    const moving = moveTree({ storage, path: at('tree') }, { storage, path: at('moved') });
    await expect(moving).rejects.toBeInstanceOf(MovedInPartError);
    expect(await textAt(memory, 'tree/a.txt')).toBe('mine');
    if (what === 'replaced') expect(await textAt(memory, 'moved/a.txt')).toBe('theirs, and longer');
  });

  it.each(['replaced', 'removed'] as const)('stays when it is moved by itself: %s', async (what) => {
    const memory = new MemoryAdapter();
    await put(memory, 'a.txt', Buffer.from('mine'));
    const storage = afterCopying(memory, meanwhile[what](memory));
    await expect(
      moveFileTo({ storage, path: at('a.txt') }, { storage, path: at('b.txt') }),
    ).rejects.toThrow();
    expect(await textAt(memory, 'a.txt')).toBe('mine');
    if (what === 'replaced') expect(await textAt(memory, 'b.txt')).toBe('theirs, and longer');
  });
});

it('says that a folder has changed when a subfolder leaves while it is listed for a copy', async () => {
  const memory = new MemoryAdapter();
  await put(memory, 'tree/sub/a.txt', Buffer.from('a'));
  const storage = replacing(memory, {
    list: async function* (path, options) {
      yield* memory.list(path, options);
      if (path.name === 'tree') await memory.moveFolder(at('tree/sub'), at('sub'));
    },
  });
  const copying = copyTree({ storage, path: at('tree') }, { storage, path: at('copy') });
  await expect(copying).rejects.toBeInstanceOf(ChangedMeanwhileError);
  const missing = copyTree({ storage, path: at('missing') }, { storage, path: at('copy') });
  await expect(missing).rejects.toBeInstanceOf(NotFoundError);
});

describe('an original whose copy is replaced by as many bytes before it goes', () => {
  const startReplacing = async (copy: string) => {
    const memory = new MemoryAdapter();
    await put(memory, 'tree/a.txt', Buffer.from('mine'));
    let looks = 0;
    const storage = replacing(memory, {
      stat: async (path, options) => {
        // The first look is that of the copying.
        if (path.toString() === copy && (looks += 1) === 2) await put(memory, copy, Buffer.from('hers'));
        return memory.stat(path, options);
      },
    });
    return { memory, storage };
  };

  it('stays when its folder is moved', async () => {
    const { memory, storage } = await startReplacing('moved/a.txt');
    const moving = moveTree({ storage, path: at('tree') }, { storage, path: at('moved') });
    await expect(moving).rejects.toBeInstanceOf(MovedInPartError);
    expect(await textAt(memory, 'tree/a.txt')).toBe('mine');
    expect(await textAt(memory, 'moved/a.txt')).toBe('hers');
  });

  it('stays when it is moved by itself', async () => {
    const { memory, storage } = await startReplacing('b.txt');
    const moving = moveFileTo({ storage, path: at('tree/a.txt') }, { storage, path: at('b.txt') });
    await expect(moving).rejects.toBeInstanceOf(ChangedMeanwhileError);
    expect(await textAt(memory, 'tree/a.txt')).toBe('mine');
    expect(await textAt(memory, 'b.txt')).toBe('hers');
  });
});

it.each([
  ['refuses the second attempt', new StorageDeniedError()],
  ['says that another version is there', new ChangedMeanwhileError()],
])('a copy stays when the store has removed its original and %s', async (_title, error) => {
  for (const source of ['a.txt', 'tree']) {
    const memory = new MemoryAdapter();
    await put(memory, source === 'tree' ? 'tree/a.txt' : 'a.txt', Buffer.from('mine'));
    const storage = withFaults(memory, [{ operation: 'removeFile', effect: 'fail-after', error }]);
    const [from, to] = [
      { storage, path: at(source) },
      { storage, path: at('to') },
    ];
    await (source === 'tree' ? moveTree(from, to) : moveFileTo(from, to)).catch(() => undefined);
    expect(await textAt(memory, source === 'tree' ? 'to/a.txt' : 'to')).toBe('mine');
  }
});

it('a copy stays when only one of two looks finds no original, also where misses are certain', async () => {
  const memory = new MemoryAdapter();
  await put(memory, 'tree/a.txt', Buffer.from('mine'));
  const error = new NotFoundError();
  const storage = withFaults(memory, [{ operation: 'removeFile', effect: 'fail-before', error }]);
  const moving = moveTree(
    { storage, path: at('tree') },
    { storage, path: at('to') },
    { missesAreCertain: true },
  );
  await expect(moving).rejects.toBeInstanceOf(MovedInPartError);
  expect(await textAt(memory, 'to/a.txt')).toBe('mine');
  expect(await textAt(memory, 'tree/a.txt')).toBe('mine');
});

it.each([
  ['misses it', new NotFoundError()],
  ['keeps silent', new StorageUnavailableError()],
])('no copy stays of what its store refuses to remove, when the other one once %s', async (_title, error) => {
  for (const moved of ['tree', 'tree/a.txt']) {
    const [from, to] = [new MemoryAdapter(), new MemoryAdapter()];
    await put(from, 'tree/a.txt', Buffer.from('mine'));
    const refusal = new StorageDeniedError();
    const source = withFaults(from, [{ operation: 'removeFile', effect: 'fail-before', error: refusal }]);
    const target = withFaults(to, [{ operation: 'removeFile', effect: 'fail-before', call: 1, error }]);
    const move = moved === 'tree' ? moveTree : moveFileTo;
    const moving = move({ storage: source, path: at(moved) }, { storage: target, path: at('moved') });
    await expect(moving).rejects.toBeInstanceOf(StorageDeniedError);
    await expect(to.stat(at('moved'))).rejects.toBeInstanceOf(NotFoundError);
    expect(await textAt(from, 'tree/a.txt')).toBe('mine');
  }
});

describe('a folder that is copied in part', () => {
  const startTwoFiles = async () => {
    const memory = new MemoryAdapter();
    for (const name of ['a', 'b']) await put(memory, `tree/${name}.txt`, Buffer.from('mine'));
    return memory;
  };
  const copyIn = (storage: StorageAdapter) =>
    copyTree({ storage, path: at('tree') }, { storage, path: at('copy') });

  it('is not refused when the answer about another file of it was lost, whose copy may stay', async () => {
    const memory = await startTwoFiles();
    const storage = withFaults(memory, [
      { operation: 'copyFile', call: 1, effect: 'fail-before', error: new NotFoundError() },
      { operation: 'copyFile', call: 2, effect: 'fail-after', error: new StorageUnavailableError() },
    ]);
    await expect(copyIn(storage)).rejects.toBeInstanceOf(StorageUnavailableError);
  });

  it.each([
    ['does not show a copy or a folder at once', new NotFoundError()],
    ['does not answer a look at a copy', new StorageUnavailableError()],
  ])('leaves nothing when the store %s', async (_, failure) => {
    const memory = await startTwoFiles();
    let looks = 0;
    const storage = replacing(memory, {
      stat: async (path, options) => {
        if (path.toString() === 'copy/a.txt' && (looks += 1) === 1) throw failure;
        return memory.stat(path, options);
      },
      copyFile: async (from, to, options) => {
        if (to.name === 'b.txt') throw new StorageDeniedError();
        return memory.copyFile(from, to, options);
      },
    });
    const faulty = withFaults(storage, [
      { operation: 'removeEmptyFolder', call: 1, effect: 'fail-before', error: new NotFoundError() },
    ]);
    await expect(copyIn(faulty)).rejects.toBeInstanceOf(StorageDeniedError);
    await expect(memory.stat(at('copy'))).rejects.toBeInstanceOf(NotFoundError);
  });
});

it('what arrives in a folder of which nothing seemed to be left stays', async () => {
  const memory = new MemoryAdapter();
  await put(memory, 'tree/a.txt', Buffer.from('mine'));
  const storage = replacing(memory, {
    list: async function* (folder, options) {
      yield* memory.list(folder, options);
      // The look before the folder is removed.
      if (options?.detail === 'names') await put(memory, 'tree/late.txt', Buffer.from('late'));
    },
  });
  const moving = moveTree({ storage, path: at('tree') }, { storage, path: at('moved') });
  await expect(moving).rejects.toBeInstanceOf(MovedInPartError);
  expect(await textAt(memory, 'tree/late.txt')).toBe('late');
  expect(await textAt(memory, 'moved/a.txt')).toBe('mine');
});

it.each(['tree/sub', 'tree'])(
  'a move that leaves an empty folder behind says so: %s is not shown once',
  async (hidden) => {
    const memory = new MemoryAdapter();
    await put(memory, 'tree/sub/a.txt', Buffer.from('mine'));
    let isHidden = true;
    const storage = replacing(memory, {
      list: (folder, options) => {
        if (!isHidden || options?.detail !== 'names' || folder.toString() !== hidden)
          return memory.list(folder, options);
        isHidden = false;
        throw new NotFoundError();
      },
    });
    const moving = moveTree({ storage, path: at('tree') }, { storage, path: at('moved') });
    await expect(moving).rejects.toThrow('1 item stays where it was');
    expect(await textAt(memory, 'moved/sub/a.txt')).toBe('mine');
  },
);

it('a copy that the other store keeps only in part is damaged, and goes', async () => {
  const [from, to] = [new MemoryAdapter(), new MemoryAdapter()];
  await put(from, 'a.txt', Buffer.from('all of it'));
  const half = replacing(to, {
    write: async (path, content, { signal } = {}) => {
      const bytes = Buffer.concat((await content.toArray()) as Buffer[]);
      const cut = Readable.from([bytes.subarray(0, 3)], { objectMode: false });
      return to.write(path, cut, { createOnly: true, signal });
    },
  });
  await expect(
    copyFileTo({ storage: from, path: at('a.txt') }, { storage: half, path: at('a.txt') }),
  ).rejects.toBeInstanceOf(CorruptError);
  await expect(to.stat(at('a.txt'))).rejects.toBeInstanceOf(NotFoundError);
});

it('many copies listen to one signal without a warning of Node', async () => {
  const memory = new MemoryAdapter();
  for (let index = 0; index < 20; index += 1) await put(memory, `tree/${index}.txt`, Buffer.from('mine'));
  const storage = replacing(memory, {
    copyFile: async (from, to, options) => {
      const leave = (): void => undefined;
      options?.signal?.addEventListener('abort', leave);
      await nextTurn();
      options?.signal?.removeEventListener('abort', leave);
      return memory.copyFile(from, to, options);
    },
  });
  const warnings: string[] = [];
  const note = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  const { signal } = new AbortController();
  await copyTree({ storage, path: at('tree') }, { storage, path: at('copy') }, { signal });
  await nextTurn();
  expect(warnings).toEqual([]);
});

describe('a folder of more files than are held in memory', () => {
  const FILES = 11_000;
  const nameOf = (index: number) => `a picture with a usual name ${String(index)}.jpg`;

  /** A store whose files are only numbers: those that are there. */
  const startGenerated = () => {
    const copies = new Set<number>();
    const originals = new Set(Array.from({ length: FILES }, (_, index) => index));
    const [indexOf, setOf] = [
      (path: SourcePath) => Number(/ (\d+)\.jpg$/u.exec(path.name)?.[1]),
      (path: SourcePath) => (path.segments[0] === 'to' ? copies : originals),
    ];
    const storage = replacing(new MemoryAdapter(), {
      list: async function* (folder) {
        for (let at = 0; at < FILES; at += 1000) {
          const page = Array.from({ length: 1000 }, (_, index) => at + index).filter((index) =>
            setOf(folder).has(index),
          );
          yield page.map((index) => ({
            name: nameOf(index),
            kind: 'file' as const,
            size: 1,
            modifiedAt: undefined,
          }));
        }
      },
      stat: async (path) => ({
        name: path.name,
        kind: 'file',
        size: 1,
        modifiedAt: 1e12,
        etag: `"${path.toString()}"`,
      }),
      copyFile: async (_from, to) => void copies.add(indexOf(to)),
      removeFile: async (path) => {
        if (!setOf(path).delete(indexOf(path))) throw new NotFoundError();
      },
      removeEmptyFolder: async () => undefined,
    });
    return { storage, copies, originals };
  };

  it('is moved whole, in a memory that does not grow with them', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const { storage, copies, originals } = startGenerated();
    const heap = (): number => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = heap();
    let most = 0;
    const watched = replacing(storage, {
      copyFile: async (from, to, options) => {
        await storage.copyFile(from, to, options);
        if (copies.size === FILES) most = heap();
      },
    });
    await moveTree({ storage: watched, path: at('from') }, { storage: watched, path: at('to') });
    expect([copies.size, originals.size]).toEqual([FILES, 0]);
    expect(most).toBeGreaterThan(before);
    expect(most - before).toBeLessThan(6_000_000);
  });

  it('leaves no copy when one of the last fails', async () => {
    const { storage, copies, originals } = startGenerated();
    const failing = replacing(storage, {
      copyFile: async (from, to, options) => {
        if (copies.size > FILES - 100) throw new StorageDeniedError();
        await storage.copyFile(from, to, options);
      },
    });
    const moving = moveTree({ storage: failing, path: at('from') }, { storage: failing, path: at('to') });
    await expect(moving).rejects.toBeInstanceOf(StorageDeniedError);
    expect([copies.size, originals.size]).toEqual([0, FILES]);
  });
});
