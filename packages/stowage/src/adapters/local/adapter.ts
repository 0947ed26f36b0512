import { close, createReadStream, read } from 'node:fs';
import { addAbortSignal, Readable } from 'node:stream';
import { ChangedMeanwhileError, NotFoundError, WrongKindError } from '../../errors/errors.ts';
import type * as port from '../../storage/adapter.ts';
import { consumeContent, streamOf } from '../../storage/content.ts';
import { fromSystemError } from '../../basics/files/system-errors.ts';
import { copyTree } from '../../storage/copy-tree.ts';
import { moveTree } from '../../storage/move-tree.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { attempt, closeFile, exactLstat, followedStat, statOf, openForReading } from './system.ts';
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
    return streamOf(bytes);
  },
});

/** Opens an existing file for reading. @throws NotFoundError, WrongKindError */
const openFile = async ({ walker }: LocalStore, path: SourcePath) => {
  if (path.isRoot) throw new WrongKindError();
  let opened: number | undefined;
  try {
    return await walker.within(path.parent, { isOneCall: true }, async ({ folder }) => {
      const { fd, stats } = await openForReading(folder.at(await walker.diskName(folder, path.name)));
      opened = fd;
      const stat = statOf(path.name, stats);
      if (stat === undefined) throw new NotFoundError({ detail: 'neither a file nor a folder' });
      if (stat.kind === 'folder') throw new WrongKindError();
      return { fd, stat };
    });
  } catch (error) {
    if (opened !== undefined) await closeFile(opened);
    throw error;
  }
};

const readFile = async (store: LocalStore, path: SourcePath, options: port.ReadOptions) => {
  const { fd, stat } = await openFile(store, path);
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
};

const readOperations = (store: LocalStore) =>
  ({
    stat: (path, options = {}) =>
      attempt('stat', options, () =>
        store.walker.within(path.parent, { isOneCall: true }, async ({ folder }) => {
          const stats = path.isRoot
            ? await followedStat(folder.self)
            : await exactLstat(folder.at(await store.walker.diskName(folder, path.name)));
          const stat = statOf(path.name, stats);
          if (stat === undefined) throw new NotFoundError({ detail: 'neither a file nor a folder' });
          return stat;
        }),
      ),
    list: (folder, options = {}) => listFolder(store, folder, options),
    walk: (folder, options) => walkFolders(store, folder, options),
    tally: (folder, options) => tallyFolder(store, folder, options),
    read: (path, options = {}) => attempt('read', options, () => readFile(store, path, options)),
    readMany: (paths, options) => readSmallFiles(store, paths, options),
    statMany: (path, names, options = {}) =>
      attempt('statMany', options, () =>
        store.walker.within(path, { file: 'wrong-kind' }, ({ folder }) =>
          statSeveral(folder, names, store.walker.spellings, options.signal),
        ),
      ),
  }) satisfies Partial<port.StorageAdapter>;

const commit = async (staged: port.StagedFile, path: SourcePath, options: port.WriteOptions) => {
  try {
    return await staged.commit(path, options);
  } finally {
    await staged.discard();
  }
};

const changes = (store: LocalStore) =>
  ({
    write: (path, content, options = {}) =>
      consumeContent(content, options, async (chunks) => {
        refuseTarget(path, options);
        return commit(await stageChunks(store, chunks, { ...options, near: path.parent }), path, options);
      }),
    adopt: (path, file, options = {}) =>
      attempt('adopt', options, async () => {
        refuseTarget(path, options);
        const near = path.parent;
        return commit(await stageFile(store, file, { near, signal: options.signal }), path, options);
      }),
    stage: (content, options = {}) =>
      consumeContent(content, options, (chunks) => stageChunks(store, chunks, { near: options.near })),
    makeFolder: (path, options = {}) =>
      attempt('makeFolder', options, () => makeFolder(store, path, options)),
    removeFile: (path, options = {}) =>
      attempt('removeFile', options, () => removeFile(store, path, options)),
    removeFolder: (path, options = {}) =>
      attempt('removeFolder', options, () => removeFolder(store, path, options)),
    removeEmptyFolder: (path, options = {}) =>
      attempt('removeEmptyFolder', options, () => removeEmptyFolder(store, path, options)),
    copyFile: (from, to, options = {}) =>
      attempt('copyFile', options, async () => {
        const { fd } = await openFile(store, from);
        try {
          refuseTarget(to, options);
          await commit(await stageCopy(store, fd, { near: to.parent, ...options }), to, options);
        } finally {
          await closeFile(fd);
        }
      }),
    moveFile: (from, to, options = {}) =>
      attempt('moveFile', options, () => moveFile(store, from, to, options)),
  }) satisfies Partial<port.StorageAdapter>;

/**
 * A local folder as a store. Nothing in it leads out of the folder: links and special files are hidden and
 * never followed, even when they are swapped in during an operation. Writes are atomic, also in case of a
 * kill or a power failure.
 * @param release releases resources that the store shares with others
 */
export const createLocalAdapter = (
  store: LocalStore,
  facts: Pick<port.StorageAdapter, 'capabilities' | 'identity' | 'foldsRecords'>,
  release: () => Promise<void>,
) => {
  let closing: Promise<void> | undefined;
  const at = (path: SourcePath) => ({ storage: adapter, path });
  const adapter = {
    ...facts,
    ...readOperations(store),
    ...changes(store),
    copyFolder: (from, to, options = {}) =>
      attempt('copyFolder', options, async () => {
        const outcome = await copyFolder(store, from, to, options);
        if (outcome === 'across') await copyTree(at(from), at(to), options);
      }),
    moveFolder: (from, to, options = {}) =>
      attempt('moveFolder', options, async () => {
        const outcome = await moveFolder(store, from, to, options);
        if (outcome === 'across') await moveTree(at(from), at(to), { ...options, missesAreCertain: true });
      }),
    // Only once: shared resources count their users.
    close: () => (closing ??= store.areas.close().then(release)),
  } satisfies port.StorageAdapter;
  return adapter;
};

export type LocalAdapter = ReturnType<typeof createLocalAdapter>;
