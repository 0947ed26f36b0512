import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { storageConformance, withFaults, type ConformanceOptions, type StorePromises } from 'stowage/testing';
import { NotFoundError, SourcePath, StorageUnavailableError } from 'stowage/storage';
import { capabilitiesOf, MemoryAdapter } from '#internals';
import type {
  Entry,
  ListOptions,
  OperationOptions,
  PutOptions,
  ReadOptions,
  ReadResult,
  Stat,
  WriteOptions,
} from '../../packages/stowage/dist/storage/adapter.js';

const at = (text: string) => SourcePath.parse(text);
const content = (bytes: Buffer | string) => Readable.from([Buffer.from(bytes)], { objectMode: false });

/** Names of the cases that a store fails, as `theme: name`, among those whose names match. */
const failuresOf = async (
  open: ConformanceOptions['open'],
  names = /^/u,
  timeLimitMs = 30_000,
  promises: StorePromises = {},
): Promise<readonly string[]> => {
  const cases = storageConformance({ open, timeLimitMs, promises }).filter(
    (one) => one.skipReason === undefined && names.test(`${one.theme}: ${one.name}`),
  );
  const outcomes = await Promise.all(
    cases.map((one) =>
      one.run().then(
        () => [],
        () => [`${one.theme}: ${one.name}`],
      ),
    ),
  );
  return outcomes.flat();
};

// Stores that break one promise each, in the ways in which stores do.

class TellsExistenceFirst extends MemoryAdapter {
  /** Looks whether the name is free, then writes: two at once both find it free. */
  override async write(path: SourcePath, body: Readable, options: WriteOptions = {}): Promise<Stat> {
    if (options.createOnly !== true) return super.write(path, body, options);
    const bytes = await buffer(body);
    const taken = await this.stat(path).then(
      () => true,
      () => false,
    );
    await new Promise((resolve) => setTimeout(resolve, 1));
    return super.write(path, content(bytes), taken ? options : {});
  }
}

class KeepsHalves extends MemoryAdapter {
  /** Stores what has arrived when the content fails. */
  override async write(path: SourcePath, body: Readable, options: WriteOptions = {}): Promise<Stat> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of body) chunks.push(chunk as Buffer);
    } catch (error) {
      await super.write(path, content(Buffer.concat(chunks)), { createOnly: options.createOnly === true });
      throw error;
    }
    return super.write(path, content(Buffer.concat(chunks)), options);
  }
}

class IgnoresSize extends MemoryAdapter {
  override write(
    path: SourcePath,
    body: Readable,
    { size: _size, ...options }: WriteOptions = {},
  ): Promise<Stat> {
    return super.write(path, body, options);
  }
}

class IgnoresSignals extends MemoryAdapter {
  override removeFile(path: SourcePath): Promise<void> {
    return super.removeFile(path);
  }
}

class RemovesByPrefix extends MemoryAdapter {
  /** Takes everything whose name begins like the folder's. */
  override async removeFolder(path: SourcePath, options?: OperationOptions): Promise<void> {
    await super.removeFolder(path, options);
    for await (const page of this.list(path.parent)) {
      for (const entry of page.filter((one) => one.name.startsWith(path.name))) {
        await (entry.kind === 'file'
          ? this.removeFile(path.parent.child(entry.name))
          : super.removeFolder(path.parent.child(entry.name)));
      }
    }
  }
}

class RangeWithoutItsEnd extends MemoryAdapter {
  override read(path: SourcePath, options: ReadOptions = {}): Promise<ReadResult> {
    const { range } = options;
    return super.read(
      path,
      range === undefined
        ? options
        : { ...options, range: { start: range.start, end: Math.max(range.start, range.end - 1) } },
    );
  }
}

class ForgetsAPage extends MemoryAdapter {
  override async *list(
    folder: SourcePath,
    options?: ListOptions,
  ): AsyncGenerator<readonly Entry[], void, undefined> {
    for await (const page of super.list(folder, options)) yield page.slice(0, 100);
  }
}

class CopiesOverFolders extends MemoryAdapter {
  override async copyFile(from: SourcePath, to: SourcePath, options?: PutOptions): Promise<void> {
    const kind = await this.stat(to).then(
      (stat) => stat.kind,
      () => undefined,
    );
    if (kind === 'folder' && (await this.stat(from)).kind === 'file') await this.removeFolder(to);
    await super.copyFile(from, to, options);
  }
}

class LosesOnSelfMove extends MemoryAdapter {
  override async moveFile(from: SourcePath, to: SourcePath, options?: PutOptions): Promise<void> {
    if (!from.equals(to) || options?.createOnly === true) return super.moveFile(from, to, options);
    await this.removeFile(from);
  }
}

class ThrowsItsOwnErrors extends MemoryAdapter {
  override async stat(path: SourcePath, options?: OperationOptions): Promise<Stat> {
    try {
      return await super.stat(path, options);
    } catch (error) {
      if (options?.signal?.aborted === true) throw error;
      throw Object.assign(new Error(`ENOENT: no such file, stat '/srv/files/${path.toString()}'`), {
        code: 'ENOENT',
      });
    }
  }
}

class TellsSeconds extends MemoryAdapter {
  constructor() {
    super({}, () => Math.floor(Date.now() / 1000));
  }
}

class DecodesNames extends MemoryAdapter {
  override write(path: SourcePath, body: Readable, options?: WriteOptions): Promise<Stat> {
    const decoded = path.toString().replaceAll('%20', ' ').replaceAll('+', ' ');
    return super.write(SourcePath.parse(decoded), body, options);
  }
}

class CommitsTwice extends MemoryAdapter {
  override async stage(body: Readable, options?: OperationOptions) {
    const bytes = await buffer(body);
    options?.signal?.throwIfAborted();
    return {
      size: bytes.length,
      open: () => content(bytes),
      commit: (target: SourcePath, commitOptions?: WriteOptions) =>
        this.write(target, content(bytes), commitOptions),
      discard: async () => undefined,
    };
  }
}

class KeepsPartsOfCopies extends MemoryAdapter {
  constructor() {
    super();
    // Seems to clear away when a copy has failed, and does not.
    this.removeEmptyFolder = async (path, options) => {
      if (path.name !== 'target') await MemoryAdapter.prototype.removeEmptyFolder.call(this, path, options);
    };
  }
}

class IgnoresConditions extends MemoryAdapter {
  override removeFile(path: SourcePath, { signal }: OperationOptions = {}): Promise<void> {
    return super.removeFile(path, { signal });
  }
}

class EmptiesFolders extends MemoryAdapter {
  override removeEmptyFolder(path: SourcePath, options?: OperationOptions): Promise<void> {
    return this.removeFolder(path, options);
  }
}

class RenamesInTwoSteps extends MemoryAdapter {
  override async moveFile(from: SourcePath, to: SourcePath, options: PutOptions = {}): Promise<void> {
    await this.copyFile(from, to, options);
    await new Promise((resolve) => setTimeout(resolve, 1));
    await this.removeFile(from);
  }
}

class KeepsReadersOut extends MemoryAdapter {
  #failed = 0;
  /** Its connections are used up by reads that fail. */
  override async read(path: SourcePath, options?: ReadOptions): Promise<ReadResult> {
    if (this.#failed >= 48) throw new StorageUnavailableError();
    try {
      return await super.read(path, options);
    } catch (error) {
      this.#failed += 1;
      throw error;
    }
  }
}

describe('the conformance suite', () => {
  it('finds nothing wrong with a store that keeps its promises', async () => {
    expect(await failuresOf(() => ({ adapter: new MemoryAdapter() }))).toEqual([]);
  });

  it.each([
    [TellsExistenceFirst, /write: of 20 writers/u],
    [KeepsHalves, /write: a content that fails/u],
    [IgnoresSize, /write: a content of another length/u],
    [IgnoresSignals, /abort: removeFile/u],
    [RemovesByPrefix, /folders: a removed folder/u],
    [RangeWithoutItsEnd, /read: a range/u],
    [ForgetsAPage, /list: every page/u],
    [CopiesOverFolders, /copy: a copy onto a folder/u],
    [LosesOnSelfMove, /move: a move of a file onto itself/u],
    [ThrowsItsOwnErrors, /stat: nothing there/u],
    [TellsSeconds, /stat: the time of a new file/u],
    [DecodesNames, /names: an encoded name/u],
    [CommitsTwice, /stage: content is used up/u],
    [IgnoresConditions, /removal: a file that was replaced is not/u],
    [EmptiesFolders, /removal: a folder that holds a file or a folder/u],
    [RenamesInTwoSteps, /meanwhile: of a file that is renamed/u],
    [IgnoresConditions, /meanwhile: what others put into or replace in a folder that is moved/u],
    [KeepsReadersOut, /read: a read works after/u],
    [KeepsPartsOfCopies, /faults: copying or moving a folder while/u],
  ])('finds out %o', async (Store, expected) => {
    // Some of them never answer.
    expect(await failuresOf(() => ({ adapter: new Store() }), expected, 5000)).not.toEqual([]);
  });

  /** A store without each promise that memory keeps. */
  class KeepsFewPromises extends MemoryAdapter {
    override async stat(path: SourcePath, options?: OperationOptions): Promise<Stat> {
      return { ...(await super.stat(path, options)), etag: undefined };
    }

    /** Removes the old file first. */
    override async write(path: SourcePath, body: Readable, options?: WriteOptions): Promise<Stat> {
      const bytes = await buffer(body);
      await super.removeFile(path).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 1));
      return super.write(path, content(bytes), options);
    }

    override async moveFile(from: SourcePath, to: SourcePath, options: PutOptions = {}): Promise<void> {
      await this.copyFile(from, to, options);
      await this.removeFile(from);
    }

    override async moveFolder(from: SourcePath, to: SourcePath): Promise<void> {
      await this.makeFolder(to);
      for await (const page of this.list(from)) {
        for (const { name } of page) {
          await this.moveFile(from.child(name), to.child(name));
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      }
      await this.removeFolder(from);
    }

    override async removeFile(path: SourcePath, options?: OperationOptions): Promise<void> {
      await super.removeFile(path, options);
      await super.removeEmptyFolder(path.parent).catch(() => undefined);
    }
  }

  it.each([
    ['versions', /stat: the version stays/u],
    ['atomicReplace', /capabilities: while a file is replaced/u],
    ['atomicFolderMove', /capabilities: a folder that moves/u],
    ['keepsTimes', /capabilities: a file that is moved/u],
    ['emptyFolders', /folders: a folder whose last file/u],
  ] as const)('finds out that %s is declared and not true', async (name, expected) => {
    const failures = (promises: StorePromises) =>
      failuresOf(() => ({ adapter: new KeepsFewPromises() }), expected, 5000, promises);
    expect(await failures({ [name]: true })).toHaveLength(1);
    expect(await failures({ [name]: false })).toEqual([]);
  });

  it.each(['walk', 'temporaryUrls'] as const)(
    'finds out that memory does not have what is declared by %s',
    async (name) => {
      const failures = await failuresOf(
        () => ({ adapter: new MemoryAdapter() }),
        /^capabilities: operations that are promised/u,
        5000,
        { [name]: true },
      );
      expect(failures).toHaveLength(1);
    },
  );

  it('finds out that a store says another thing of itself than is declared for it', async () => {
    for (const name of ['atomicCreate', 'ifMatch', 'caseSensitive', 'stableReads'] as const) {
      const promises = { ...capabilitiesOf('memory'), [name]: false };
      const failures = await failuresOf(
        () => ({ adapter: new MemoryAdapter() }),
        /^capabilities/u,
        5000,
        promises,
      );
      expect(failures).toEqual(['capabilities: the store says of itself what is promised for it']);
    }
  });

  it('runs each case with a store of its own and clears it away, also after a failure', async () => {
    let open = 0;
    let opened = 0;
    const failures = await failuresOf(() => {
      open += 1;
      opened += 1;
      return { adapter: new IgnoresSize(), cleanup: () => void (open -= 1) };
    });
    expect(failures.length).toBeGreaterThan(0);
    expect([opened, open]).toEqual([
      storageConformance({ open: () => ({ adapter: new MemoryAdapter() }) }).filter(
        ({ skipReason }) => skipReason === undefined,
      ).length,
      0,
    ]);
  });

  it('leaves out what is to be skipped, with the reason, and refuses a skip without reason or of nothing', () => {
    const openStore = () => ({ adapter: new MemoryAdapter() });
    const test = 'read: an empty file is an empty stream';
    const cases = storageConformance({
      open: openStore,
      skip: [{ test, reason: 'the service has no empty files' }],
    });
    expect(cases.find((one) => `${one.theme}: ${one.name}` === test)?.skipReason).toBe(
      'the service has no empty files',
    );
    expect(() => storageConformance({ open: openStore, skip: [{ test, reason: ' ' }] })).toThrow(
      /needs a reason/u,
    );
    expect(() =>
      storageConformance({ open: openStore, skip: [{ test: 'read: no such case', reason: 'x' }] }),
    ).toThrow(/no case/u);
  });
});

describe('a store with faults', () => {
  const prepare = async (): Promise<MemoryAdapter> => {
    const adapter = new MemoryAdapter();
    await adapter.write(at('a.txt'), content('0123456789'));
    return adapter;
  };

  it('fails before: the store is not reached; after: it has done its work', async () => {
    const inner = await prepare();
    const store = withFaults(inner, [
      { operation: 'removeFile', effect: 'fail-before', call: 1 },
      { operation: 'removeFile', effect: 'fail-after', call: 2, error: new NotFoundError('lost') },
    ]);
    await expect(store.removeFile(at('a.txt'))).rejects.toBeInstanceOf(StorageUnavailableError);
    expect((await inner.stat(at('a.txt'))).size).toBe(10);
    await expect(store.removeFile(at('a.txt'))).rejects.toThrow('lost');
    await expect(inner.stat(at('a.txt'))).rejects.toBeInstanceOf(NotFoundError);
  });

  it('counts only the calls that match', async () => {
    const store = withFaults(await prepare(), [
      { operation: 'stat', effect: 'fail-before', call: 2, path: (path) => path.name === 'a.txt' },
    ]);
    await store.stat(at(''));
    await store.stat(at('a.txt'));
    await store.stat(at(''));
    await expect(store.stat(at('a.txt'))).rejects.toBeInstanceOf(StorageUnavailableError);
    await store.stat(at('a.txt'));
  });

  it('cuts streams with an error, or ends them early without one', async () => {
    const inner = await prepare();
    const cut = await withFaults(inner, [{ operation: 'read', effect: 'cut', bytes: 4 }]).read(at('a.txt'));
    await expect(buffer(cut.stream)).rejects.toBeInstanceOf(StorageUnavailableError);
    const short = await withFaults(inner, [{ operation: 'read', effect: 'short', bytes: 4 }]).read(
      at('a.txt'),
    );
    expect((await buffer(short.stream)).toString()).toBe('0123');
    const store = withFaults(inner, [{ operation: 'write', effect: 'short', bytes: 3 }]);
    await store.write(at('b.txt'), content('abcdef'));
    expect((await inner.stat(at('b.txt'))).size).toBe(3);
  });

  it('stalls until the signal', async () => {
    const store = withFaults(await prepare(), [{ operation: 'list', effect: 'stall' }]);
    const abort = new AbortController();
    const listing = store.list(at(''), { signal: abort.signal })[Symbol.asyncIterator]().next();
    abort.abort(new Error('enough'));
    await expect(listing).rejects.toThrow('enough');
  });

  it('has the optional operations of the store, unless they are hidden', async () => {
    const inner = await prepare();
    const optional = (store: object): string[] =>
      ['copyFolder', 'moveFolder', 'stage', 'statMany'].filter((name) => name in store);
    expect(optional(withFaults(inner, []))).toEqual(['moveFolder', 'stage', 'statMany']);
    expect(optional(withFaults(inner, [], { hide: ['moveFolder', 'stage'] }))).toEqual(['statMany']);
  });
});
