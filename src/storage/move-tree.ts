import { createLimiter } from '../concurrency/limiter.ts';
import {
  ChangedMeanwhileError,
  ContentsConflictError,
  MovedInPartError,
  NotEmptyError,
  NotFoundError,
  StorageDeniedError,
  UnsupportedError,
} from '../errors/errors.ts';
import type { Entry, StorageAdapter } from './adapter.ts';
import {
  copyFileTo,
  copyPlanned,
  planTree,
  withdrawCopy,
  type CopiedFile,
  type CopiedTree,
  type CopyFileOptions,
  type CopyTreeOptions,
} from './copy-tree.ts';
import type { StoreLocation } from './location.ts';
import { isSameVersion } from './same-version.ts';
import type { SourcePath } from './source-path.ts';

const PARALLEL_REMOVALS = 8;

/** How a folder is moved. */
export interface MoveTreeOptions extends CopyTreeOptions {
  /**
   * Whether a folder that does not go along is derived from what does (thumbnails): its files are removed
   * with the folder that holds it. Default: none, whatever does not go along stays.
   */
  readonly isDerived?: ((folder: SourcePath, entry: Entry) => boolean) | undefined;
  /**
   * Whether a removal that finds nothing proves that somebody else has taken the original, so that the copy
   * is withdrawn. Default: false, since a store whose first answer was lost may find nothing when it is asked
   * again.
   */
  readonly missesAreCertain?: boolean;
}

/** What a removal came to. `unknown`: the store may have removed the file although it reported an error. */
type Removal =
  'removed' | 'missed' | 'changed' | { readonly refusal: unknown } | { readonly unknown: unknown };

/** A store that refuses has not removed; after any other failure nobody knows. */
const isRefusal = (error: unknown): boolean =>
  error instanceof StorageDeniedError || error instanceof UnsupportedError;

/**
 * Removes the original if the copy is still there and neither has changed. No signal: whoever began to remove
 * goes on.
 */
const removeOriginal = async (
  from: StorageAdapter,
  to: StorageAdapter,
  file: CopiedFile,
): Promise<Removal> => {
  try {
    const found = await to.stat(file.to);
    if (file.copy === undefined || found.kind !== 'file' || !isSameVersion(file.copy, found))
      return 'changed';
  } catch (error) {
    return error instanceof NotFoundError ? 'changed' : { refusal: error };
  }
  try {
    await from.removeFile(file.from, { ifUnchanged: file.source });
    return 'removed';
  } catch (error) {
    if (error instanceof NotFoundError) return 'missed';
    if (error instanceof ChangedMeanwhileError) return 'changed';
    return isRefusal(error) ? { refusal: error } : { unknown: error };
  }
};

const failureOf = (removal: Removal): Error | undefined => {
  if (typeof removal === 'string') return undefined;
  return ('refusal' in removal ? removal.refusal : removal.unknown) as Error;
};

/**
 * Moves one file by copying, inside a store or into another one. The original is removed only if it is
 * unchanged and the copy is there. A move that fails before leaves no copy; once the removal has begun the
 * signal no longer counts.
 * @throws as copyFileTo; ChangedMeanwhileError; MovedInPartError when the original may still be there beside
 *   the copy
 */
export const moveFileTo = async (
  from: StoreLocation,
  to: StoreLocation,
  options: CopyFileOptions = {},
): Promise<void> => {
  const file = await copyFileTo(from, to, options);
  const withdraw = (): Promise<void> => withdrawCopy(to.storage, { folders: [], files: [file] });
  try {
    const found = await from.storage.stat(from.path, { signal: options.signal });
    if (!isSameVersion(file.source, found)) throw new ChangedMeanwhileError();
    options.signal?.throwIfAborted();
  } catch (error) {
    await withdraw();
    throw error;
  }
  const removal = await removeOriginal(from.storage, to.storage, file);
  if (removal === 'removed' || removal === 'missed') return;
  if (removal === 'changed' || 'refusal' in removal) {
    await withdraw();
    throw failureOf(removal) ?? new ChangedMeanwhileError();
  }
  throw new MovedInPartError({
    message: 'The file was copied, but its original may not have been removed.',
    cause: removal.unknown,
  });
};

/** What stays at the source, for the message. */
interface Stayed {
  changed: number;
  omitted: number;
  refused: number;
  cause: unknown;
}

const messageOf = ({ changed, omitted, refused }: Stayed): string => {
  const reasons = [
    ...(changed > 0 ? [`${changed} changed or added meanwhile`] : []),
    ...(omitted > 0 ? [`${omitted} with names that this service cannot use`] : []),
    ...(refused > 0 ? [`${refused} that could not be removed`] : []),
  ];
  const count = changed + omitted + refused;
  const what = count === 1 ? '1 item stays where it was' : `${count} items stay where they were`;
  return `The folder was moved, but not all of it: ${what} (${reasons.join(', ')}).`;
};

/**
 * Removes the originals, until one removal fails: the rest then stays in both locations.
 * @returns the refusal of the store, if it came before anything was removed, so that the copy can be
 *   withdrawn
 */
const removeOriginals = async (
  from: StorageAdapter,
  to: StorageAdapter,
  files: readonly CopiedFile[],
  { stayed, missed }: { readonly stayed: Stayed; readonly missed: CopiedFile[] },
): Promise<{ readonly refusal: unknown } | undefined> => {
  const limiter = createLimiter(PARALLEL_REMOVALS);
  let done = 0;
  const remove = async (file: CopiedFile): Promise<Removal> => {
    const removal = await removeOriginal(from, to, file);
    stayed.cause ??= failureOf(removal);
    if (typeof removal === 'string') done += 1;
    if (removal === 'missed') missed.push(file);
    return removal;
  };
  for (const [index, file] of files.entries()) {
    if (stayed.cause !== undefined) break;
    if (index > 0) await limiter.add(async () => void (await remove(file)));
    else {
      // By itself: a store that lets nobody remove anything shows it here, with nothing lost.
      const removal = await remove(file);
      if (typeof removal === 'object' && 'refusal' in removal) return removal;
    }
  }
  await limiter.drain();
  stayed.refused = files.length - done;
  return undefined;
};

const ignoreMissing = (error: unknown): void => {
  if (!(error instanceof NotFoundError)) throw error;
};

/**
 * Removes the files of a derived folder and then the folder. @throws NotEmptyError when something else is in
 * it
 */
const removeDerived = async (storage: StorageAdapter, folder: SourcePath): Promise<void> => {
  const names: string[] = [];
  for await (const page of storage.list(folder, { detail: 'names' })) {
    for (const entry of page) if (entry.kind === 'file') names.push(entry.name);
  }
  for (const name of names) await storage.removeFile(folder.below(name)).catch(ignoreMissing);
  await storage.removeEmptyFolder(folder).catch(ignoreMissing);
};

/**
 * Removes a folder that was emptied. What is still in it is counted: it was changed, added, or cannot be
 * listed.
 */
const removeEmptied = async (
  storage: StorageAdapter,
  folder: SourcePath,
  isMoved: (path: SourcePath) => boolean,
  isDerived: NonNullable<MoveTreeOptions['isDerived']>,
  stayed: Stayed,
): Promise<void> => {
  let [left, counted, omitted] = [0, 0, 0];
  const derived: SourcePath[] = [];
  const onOmitted = (count: number): void => void (omitted += count);
  for await (const page of storage.list(folder, { detail: 'names', onOmitted })) {
    for (const entry of page) {
      const path = folder.below(entry.name);
      if (entry.kind === 'folder' && isDerived(folder, entry)) derived.push(path);
      // What keeps a folder inside this one has been counted there.
      else if (entry.kind === 'folder' && isMoved(path)) counted += 1;
      else left += 1;
    }
  }
  stayed.omitted += omitted;
  stayed.changed += left;
  if (left + omitted + counted > 0) return;
  try {
    for (const path of derived) await removeDerived(storage, path);
    await storage.removeEmptyFolder(folder);
  } catch (error) {
    if (!(error instanceof NotEmptyError)) throw error;
    stayed.changed += 1;
  }
};

const removeFolders = async (
  storage: StorageAdapter,
  folders: readonly SourcePath[],
  isDerived: NonNullable<MoveTreeOptions['isDerived']>,
  stayed: Stayed,
): Promise<void> => {
  const moved = new Set(folders.map(String));
  const isMoved = (path: SourcePath): boolean => moved.has(path.toString());
  for (const folder of folders.toReversed()) {
    try {
      await removeEmptied(storage, folder, isMoved, isDerived, stayed);
    } catch (error) {
      if (error instanceof NotFoundError) continue;
      stayed.refused += 1;
      stayed.cause = error;
      return;
    }
  }
};

const refuseOmitted = (omitted: number): void => {
  if (omitted === 0) return;
  const what = omitted === 1 ? '1 item in it has a name' : `${omitted} items in it have names`;
  throw new ContentsConflictError(`The folder cannot be moved: ${what} that this service cannot use.`);
};

/**
 * Moves a folder by copying it, inside a store or into another one: copies all, and then removes file by file
 * what is unchanged and seen at the target, and folder by folder what is empty. Nothing is removed that was
 * not copied. A folder that holds entries which listings leave out is refused before anything happens. A move
 * that fails before the first removal leaves no copy; after it the signal no longer counts, and what was
 * changed or added meanwhile stays where it was.
 *
 * Costs as `copyTree`, and for each file a `stat` and a removal, for each folder a listing and a removal.
 * @throws as copyTree; MovedInPartError, whose message says how many items stayed and why
 */
export const moveTree = async (
  from: StoreLocation,
  to: StoreLocation,
  options: MoveTreeOptions = {},
): Promise<void> => {
  const plan = await planTree(from, to.path, options);
  refuseOmitted(plan.omitted);
  const copied: CopiedTree = await copyPlanned(from, to, plan, options);
  const stayed: Stayed = { changed: 0, omitted: 0, refused: 0, cause: undefined };
  const missed: CopiedFile[] = [];
  const refused = await removeOriginals(from.storage, to.storage, copied.files, { stayed, missed });
  if (refused !== undefined) {
    await withdrawCopy(to.storage, copied);
    throw refused.refusal as Error;
  }
  if (options.missesAreCertain === true && missed.length > 0) {
    const isAll = missed.length === copied.files.length;
    await withdrawCopy(to.storage, { folders: isAll ? copied.folders : [], files: missed });
    if (isAll) throw new ChangedMeanwhileError({ detail: 'somebody else took everything in the folder' });
  }
  if (stayed.cause === undefined) {
    const folders = plan.folders.map((folder) => folder.from);
    await removeFolders(from.storage, folders, options.isDerived ?? (() => false), stayed);
  }
  if (stayed.changed + stayed.omitted + stayed.refused > 0) {
    throw new MovedInPartError({ message: messageOf(stayed), cause: stayed.cause });
  }
};
