import { ChangedMeanwhileError, CorruptError, NotFoundError } from '../errors/errors.ts';
import type { Entry, OperationOptions, Stat, StorageAdapter } from './adapter.ts';
import { walkFolder, type WalkedEntry } from './folders.ts';
import { createLimiter } from './limiter.ts';
import { isSameVersion } from './same-version.ts';
import type { SourcePath } from './source-path.ts';

/** Each file in transfer holds a stream of both stores. */
const PARALLEL_TRANSFERS = 4;

/** A place in a store. */
export interface StoredPlace {
  readonly storage: StorageAdapter;
  readonly path: SourcePath;
}

export interface TransferOptions extends OperationOptions {
  /** Whether an entry below the folder goes along; a folder that does not takes all it holds with it. */
  readonly includes: (path: SourcePath, entry: Entry) => boolean;
}

/**
 * Copies a file from one store into another: streamed, create-only, whole or not at all. Returns what was read.
 * @throws AlreadyExistsError, NotFoundError, WrongKindError, CorruptError when the target does not have the length of the source
 */
export const transferFile = async (
  from: StoredPlace,
  to: StoredPlace,
  { signal }: OperationOptions = {},
): Promise<Stat> => {
  const { stat, stream } = await from.storage.read(from.path, { signal });
  const written = await to.storage.write(to.path, stream, { createOnly: true, size: stat.size, signal });
  if (stat.size === undefined || written.size === undefined || written.size === stat.size) return stat;
  await to.storage.removeFile(to.path);
  throw new CorruptError({ detail: `wrote ${String(written.size)} of ${String(stat.size)} bytes` });
};

/** Copies a file into another store and then removes it, unless it has changed meanwhile: then the copy goes and the file stays. */
export const moveFileAcross = async (
  from: StoredPlace,
  to: StoredPlace,
  options: OperationOptions = {},
): Promise<void> => {
  const read = await transferFile(from, to, options);
  if (!isSameVersion(read, await from.storage.stat(from.path, options))) {
    await to.storage.removeFile(to.path);
    throw new ChangedMeanwhileError();
  }
  await from.storage.removeFile(from.path);
};

/** What lies below a folder and goes along, each folder before what it holds. */
async function* included(
  { storage, path: folder }: StoredPlace,
  { signal, includes }: TransferOptions,
): AsyncGenerator<WalkedEntry, void, undefined> {
  let left: SourcePath | undefined;
  for await (const walked of walkFolder(storage, folder, { detail: 'names', signal })) {
    if (left?.contains(walked.path) === true) continue;
    if (includes(walked.path, walked.entry)) yield walked;
    else left = walked.path;
  }
}

/** The files as they were read, by their paths. */
type Versions = ReadonlyMap<string, Stat>;

const transferContents = async (
  from: StoredPlace,
  to: StoredPlace,
  options: TransferOptions,
): Promise<Versions> => {
  const { signal } = options;
  const read = new Map<string, Stat>();
  const limiter = createLimiter(PARALLEL_TRANSFERS);
  try {
    for await (const { path, entry } of included(from, options)) {
      const target = { storage: to.storage, path: to.path.join(from.path.relative(path)) };
      if (entry.kind === 'folder') await to.storage.makeFolder(target.path, { signal });
      else
        await limiter.add(async () => {
          read.set(path.toString(), await transferFile({ storage: from.storage, path }, target, { signal }));
        });
    }
  } finally {
    // Also after a failure: nothing may still be writing when the caller clears away.
    await limiter.drain();
  }
  return read;
};

/**
 * Copies a folder into another store, a few files at a time. Create-only: making the target folder decides who has the name. When anything
 * fails nothing of the target remains. Returns what was read; memory grows with the number of files.
 * @throws AlreadyExistsError, NotFoundError, WrongKindError (a file)
 */
export const transferFolder = async (
  from: StoredPlace,
  to: StoredPlace,
  options: TransferOptions,
): Promise<Versions> => {
  // Before the target is made: a missing source must not leave an empty folder, not even for a moment.
  const { signal } = options;
  for await (const _page of from.storage.list(from.path, { detail: 'names', signal })) break;
  await to.storage.makeFolder(to.path, { signal });
  try {
    return await transferContents(from, to, options);
  } catch (error) {
    // Without the signal: an aborted transfer must be cleared away as well.
    await to.storage.removeFolder(to.path).catch(() => undefined);
    throw error;
  }
};

/** Whether the target holds the file, and the source still has what was read. */
const hasArrived = async (
  source: StoredPlace,
  target: StoredPlace,
  read: Stat | undefined,
  options: OperationOptions,
): Promise<boolean> => {
  const found = await target.storage.stat(target.path, options).catch((error: unknown) => {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  });
  if (read === undefined || found?.kind !== 'file' || found.size !== read.size) return false;
  return isSameVersion(read, await source.storage.stat(source.path, options));
};

/** Removes the folder unless something that belongs to it has appeared there. */
const removeIfEmptied = async (
  { storage, path }: StoredPlace,
  { signal, includes }: TransferOptions,
): Promise<void> => {
  for await (const page of storage.list(path, { detail: 'names', signal })) {
    if (page.some((entry) => includes(path.child(entry.name), entry))) return;
  }
  await storage.removeFolder(path, { signal });
};

/**
 * Moves a folder into another store: copies it, and then removes file by file what the target is seen to hold. What was put into the
 * source meanwhile stays there, so that nothing is lost; what `includes` leaves out is removed with its folder.
 * @throws as transferFolder; when only the removal fails, the target is whole and the source still there in part
 */
export const moveFolderAcross = async (
  from: StoredPlace,
  to: StoredPlace,
  options: TransferOptions,
): Promise<void> => {
  const read = await transferFolder(from, to, options);
  const { signal } = options;
  const folders = [from.path];
  for await (const { path, entry } of included(from, options)) {
    if (entry.kind === 'folder') {
      folders.push(path);
      continue;
    }
    const source = { storage: from.storage, path };
    const target = { storage: to.storage, path: to.path.join(from.path.relative(path)) };
    const version = read.get(path.toString());
    const isMoved = await hasArrived(source, target, version, { signal });
    if (isMoved) await from.storage.removeFile(path, { signal });
  }
  for (const path of folders.reverse()) await removeIfEmptied({ storage: from.storage, path }, options);
};
