import { close, createReadStream, read } from 'node:fs';
import { addAbortSignal, Readable } from 'node:stream';
import { ChangedMeanwhileError, NotFoundError, WrongKindError } from '../../errors/errors.ts';
import type * as port from '../../storage/adapter.ts';
import { consumeContent } from '../../storage/content.ts';
import { fromSystemError } from '../../basics/files/system-errors.ts';
import { copyTree } from '../../storage/copy-tree.ts';
import { moveTree } from '../../storage/move-tree.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { TreeWalkOptions, WalkPage } from '../../storage/tree-walk.ts';
import { attempt, closeFile, etagOf, exactLstat, followedStat, statOf, openForReading } from './system.ts';
import { readWhole } from './file-content.ts';
import { makeFolder, moveFile, removeFile } from './file-operations.ts';
import { copyFolder, moveFolder, removeEmptyFolder, removeFolder } from './folder-operations.ts';
import { listFolder, statSeveral } from './listing.ts';
import { refuseTarget, stageChunks, stageCopy, stageFile } from './staged-temp.ts';
import { readSmallFiles, tallyFolder, walkFolders } from './by-thread.ts';
import type { LocalStore } from './local-store.ts';

/** Read-ahead for one file whose reader is paused, in addition to the chunk that is being sent. */
const READ_AHEAD_BYTES = 64 * 1024;

/** Reads an open file for a stream: converts errors, and fails when the file has become shorter. */
const READING = {
  read: (
    fd: number,
    into: Buffer,
    offset: number,
    length: number,
    at: number,
    done: (error: Error | null, bytesRead: number, buffer: Buffer) => void,
  ): void =>
    read(fd, into, offset, length, at, (error, count) => {
      const failure = error === null ? undefined : fromSystemError(error, 'read');
      done(failure ?? (count === 0 ? new ChangedMeanwhileError() : null), count, into);
    }),
  close,
};

/** Rejects an aborted read, and a version other than the requested one. */
const requireVersion = (stat: port.Stat, { signal, ifMatch }: port.ReadOptions): void => {
  signal?.throwIfAborted();
  if (ifMatch !== undefined && ifMatch !== stat.etag) throw new ChangedMeanwhileError();
};

const wholeFile = (stat: port.Stat, bytes: Uint8Array): port.ReadResult => ({
  stat,
  bytes,
  // Created on access: for a small file the stream would take most of the time.
  get stream() {
    return Readable.from([bytes], { objectMode: false });
  },
});

/**
 * A local folder as a store. Nothing in it leads out of the folder: links and special files are hidden and
 * never followed, even when they are swapped in during an operation. Writes are atomic, also in case of a
 * kill or a power failure.
 */
export class LocalAdapter implements port.StorageAdapter {
  readonly capabilities: port.StorageCapabilities;
  readonly identity: port.StoreIdentity;
  readonly foldsRecords: boolean;
  readonly #store: LocalStore;
  readonly #release: () => Promise<void>;
  #closing: Promise<void> | undefined;

  /** @param release releases resources that the store shares with others */
  constructor(
    store: LocalStore,
    {
      capabilities,
      identity,
      foldsRecords,
    }: Pick<LocalAdapter, 'capabilities' | 'identity' | 'foldsRecords'>,
    release: () => Promise<void>,
  ) {
    this.#store = store;
    this.capabilities = capabilities;
    this.identity = identity;
    this.foldsRecords = foldsRecords;
    this.#release = release;
  }

  stat(path: SourcePath, options: port.OperationOptions = {}): Promise<port.Stat> {
    const { walker } = this.#store;
    return attempt('stat', options, () =>
      walker.within(path.parent, { isOneCall: true }, async ({ folder }) => {
        const stats = path.isRoot
          ? await followedStat(folder.self)
          : await exactLstat(folder.at(await walker.diskName(folder, path.name)));
        const stat = statOf(path.name, stats);
        if (stat === undefined) throw new NotFoundError({ detail: 'neither a file nor a folder' });
        return stat;
      }),
    );
  }

  list(folder: SourcePath, options: port.ListOptions = {}): AsyncIterable<readonly port.Entry[]> {
    return listFolder(this.#store, folder, options);
  }

  walk(folder: SourcePath, options: TreeWalkOptions): AsyncIterable<WalkPage> {
    return walkFolders(this.#store, folder, options);
  }

  tally(folder: SourcePath, options: port.TallyOptions): Promise<port.Tally> {
    return tallyFolder(this.#store, folder, options);
  }

  read(path: SourcePath, options: port.ReadOptions = {}): Promise<port.ReadResult> {
    return attempt('read', options, async () => {
      const { fd, stat } = await this.#openFile(path);
      try {
        requireVersion(stat, options);
      } catch (error) {
        await closeFile(fd);
        throw error;
      }
      if (stat.size === 0) {
        await closeFile(fd);
        return { stat, stream: Readable.from([]) };
      }
      // Only up to the reported size: a file that another program is appending to must not yield more.
      const range = options.range ?? { start: 0, end: (stat.size ?? 0) - 1 };
      if (range.end - range.start < (options.bytesUpTo ?? 0))
        return wholeFile(stat, await readWhole(fd, range, options.signal));
      const stream = createReadStream('', { fd, ...range, fs: READING, highWaterMark: READ_AHEAD_BYTES });
      return { stat, stream: options.signal === undefined ? stream : addAbortSignal(options.signal, stream) };
    });
  }

  readMany(
    paths: readonly SourcePath[],
    options: port.ReadManyOptions,
  ): Promise<readonly (port.WholeFile | undefined)[]> {
    return readSmallFiles(this.#store, paths, options);
  }

  write(path: SourcePath, content: Readable, options: port.WriteOptions = {}): Promise<port.Stat> {
    return consumeContent(content, options, async (chunks) => {
      refuseTarget(path, options);
      const near = path.parent;
      return this.#commit(await stageChunks(this.#store, chunks, { ...options, near }), path, options);
    });
  }

  adopt(path: SourcePath, file: port.LocalFile, options: port.WriteOptions = {}): Promise<port.Stat> {
    return attempt('adopt', options, async () => {
      refuseTarget(path, options);
      const { signal } = options;
      return this.#commit(await stageFile(this.#store, file, { near: path.parent, signal }), path, options);
    });
  }

  stage(content: Readable, options: port.StageOptions = {}): Promise<port.StagedFile> {
    const { near } = options;
    return consumeContent(content, options, (chunks) => stageChunks(this.#store, chunks, { near }));
  }

  makeFolder(path: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    return attempt('makeFolder', options, () => makeFolder(this.#store, path, options));
  }

  removeFile(path: SourcePath, options: port.RemoveFileOptions = {}): Promise<void> {
    return attempt('removeFile', options, () => removeFile(this.#store, path, options));
  }

  removeFolder(path: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    return attempt('removeFolder', options, () => removeFolder(this.#store, path, options));
  }

  removeEmptyFolder(path: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    return attempt('removeEmptyFolder', options, () => removeEmptyFolder(this.#store, path, options));
  }

  copyFile(from: SourcePath, to: SourcePath, options: port.PutOptions = {}): Promise<void> {
    return attempt('copyFile', options, async () => {
      const { fd } = await this.#openFile(from);
      try {
        refuseTarget(to, options);
        await this.#commit(await stageCopy(this.#store, fd, { near: to.parent, ...options }), to, options);
      } finally {
        await closeFile(fd);
      }
    });
  }

  moveFile(from: SourcePath, to: SourcePath, options: port.PutOptions = {}): Promise<void> {
    return attempt('moveFile', options, () => moveFile(this.#store, from, to, options));
  }

  copyFolder(from: SourcePath, to: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    return attempt('copyFolder', options, async () => {
      const outcome = await copyFolder(this.#store, from, to, options);
      if (outcome === 'across')
        await copyTree({ storage: this, path: from }, { storage: this, path: to }, options);
    });
  }

  moveFolder(from: SourcePath, to: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    return attempt('moveFolder', options, async () => {
      if ((await moveFolder(this.#store, from, to, options)) === 'done') return;
      const [source, target] = [
        { storage: this, path: from },
        { storage: this, path: to },
      ];
      await moveTree(source, target, { ...options, missesAreCertain: true });
    });
  }

  statMany(
    path: SourcePath,
    names: readonly string[],
    options: port.OperationOptions = {},
  ): Promise<readonly (port.Entry | undefined)[]> {
    return attempt('statMany', options, () =>
      this.#store.walker.within(path, { file: 'wrong-kind' }, ({ folder }) =>
        statSeveral(folder, names, this.#store.walker.spellings, options.signal),
      ),
    );
  }

  async close(): Promise<void> {
    // Only once: shared resources count their users.
    this.#closing ??= this.#store.areas.close().then(this.#release);
    await this.#closing;
  }

  async #commit(staged: port.StagedFile, path: SourcePath, options: port.WriteOptions): Promise<port.Stat> {
    try {
      return await staged.commit(path, options);
    } finally {
      await staged.discard();
    }
  }

  async #openFile(
    path: SourcePath,
  ): Promise<{ readonly fd: number; readonly stat: port.Stat & { readonly etag: string } }> {
    if (path.isRoot) throw new WrongKindError();
    const { walker } = this.#store;
    let opened: number | undefined;
    try {
      return await walker.within(path.parent, { isOneCall: true }, async ({ folder }) => {
        const { fd, stats } = await openForReading(folder.at(await walker.diskName(folder, path.name)));
        opened = fd;
        const stat = statOf(path.name, stats);
        if (stat === undefined) throw new NotFoundError({ detail: 'neither a file nor a folder' });
        if (stat.kind === 'folder') throw new WrongKindError();
        return { fd, stat: { ...stat, etag: etagOf(stats) } };
      });
    } catch (error) {
      if (opened !== undefined) await closeFile(opened);
      throw error;
    }
  }
}
