import { SpillFile, planTree, type TreePlan } from './tree-plan.ts';
import { createLimiter } from '../basics/concurrency/queues.ts';
import * as errors from '../errors/errors.ts';
import type { StorageAdapter } from './adapter.ts';
import {
  copyFileTo,
  copyPlanned,
  isGone,
  withdrawCopy,
  withdrawFile,
  type CopiedFile,
  type CopiedTree,
  type CopyFileOptions,
  type CopyTreeOptions,
} from './copy-tree.ts';
import { countOf, type DerivedFrom, messageOf, removeFolders, type Stayed } from './emptied-folders.ts';
import type { StoreLocation } from './location.ts';
import { isSameVersion } from './entry.ts';

const PARALLEL_REMOVALS = 8;

export interface MoveTreeOptions extends CopyTreeOptions {
  /** Derived files are removed after their items have moved; other files of their folder stay. Default: none. */
  readonly derivedFrom?: DerivedFrom | undefined;
  /**
   * Whether a removal and a following stat that both find nothing prove that another writer has taken the
   * original, so that the copy is withdrawn. Default: false, because after a lost response to a removal a
   * store may find nothing either.
   */
  readonly missesAreCertain?: boolean;
}

/** Outcome of a removal, with the store's error if it was rejected or its outcome is unknown. */
interface Removal {
  readonly outcome: 'removed' | 'missed' | 'changed' | 'refused' | 'unknown';
  readonly error?: unknown;
}

/** Removes the original if the copy exists and neither has changed. No signal: the move must be completed. */
const removeOriginal = async (
  from: StorageAdapter,
  to: StorageAdapter,
  file: CopiedFile,
): Promise<Removal> => {
  try {
    const found = await to.stat(file.to);
    if (file.copy === undefined || found.kind !== 'file' || !isSameVersion(file.copy, found))
      return { outcome: 'changed' };
  } catch (error) {
    return error instanceof errors.NotFoundError ? { outcome: 'changed' } : { outcome: 'refused', error };
  }
  try {
    await from.removeFile(file.from, { ifUnchanged: file.source });
    return { outcome: 'removed' };
  } catch (error) {
    if (error instanceof errors.NotFoundError) return { outcome: 'missed' };
    if (error instanceof errors.ChangedMeanwhileError) return { outcome: 'changed' };
    return { outcome: errors.isRefusal(error) ? 'refused' : 'unknown', error };
  }
};

/**
 * Whether the store shows the original, so that its copy can be removed. After a removal with a lost response
 * the store may reject a second attempt: the copy is then the only file left.
 */
const isSeen = ({ storage, path }: StoreLocation): Promise<boolean> =>
  storage.stat(path).then(
    ({ kind }) => kind === 'file',
    () => false,
  );

/** The error of a move for which it is unknown whether the original was removed. */
export const originalMayStay = (cause: unknown): errors.MovedInPartError =>
  new errors.MovedInPartError({
    message: 'The file was copied, but its original may not have been removed.',
    cause,
  });

/**
 * Moves one file by copying, inside a store or into another one. Removes the original only if it is unchanged
 * and the copy exists. A move that fails earlier leaves no copy; once the removal has begun the signal is
 * ignored.
 * @throws as copyFileTo; ChangedMeanwhileError; MovedInPartError when the original may still exist beside the
 * copy
 */
export const moveFileTo = async (
  from: StoreLocation,
  to: StoreLocation,
  options: CopyFileOptions = {},
): Promise<void> => {
  const file = await copyFileTo(from, to, options);
  try {
    const found = await from.storage.stat(from.path, { signal: options.signal });
    if (!isSameVersion(file.source, found)) throw new errors.ChangedMeanwhileError();
    options.signal?.throwIfAborted();
  } catch (error) {
    await withdrawFile(to.storage, file);
    throw error;
  }
  const { outcome, error } = await removeOriginal(from.storage, to.storage, file);
  if (outcome === 'removed') return;
  const isStill = await isSeen(from);
  if (outcome === 'missed' && !isStill) return;
  const isRefused = outcome === 'changed' || outcome === 'refused';
  if (!isRefused || !isStill) throw originalMayStay(error);
  await withdrawFile(to.storage, file);
  throw (error ?? new errors.ChangedMeanwhileError()) as Error;
};

interface RemovedOriginals {
  /** The store's rejection, if it came before anything was removed, so that the copy can be withdrawn. */
  readonly refusal?: unknown;
  /** Another writer took every file, and no copy is left. */
  readonly isAllTaken: boolean;
}

/** Removes the originals until one removal fails; the remaining files then exist at both locations. */
const removeOriginals = async (
  from: StorageAdapter,
  to: StorageAdapter,
  copied: CopiedTree,
  { stayed, missesAreCertain }: { readonly stayed: Stayed; readonly missesAreCertain: boolean },
): Promise<RemovedOriginals> => {
  const limiter = createLimiter(PARALLEL_REMOVALS);
  let [done, taken, isFirst] = [0, 0, true];
  const remove = async (file: CopiedFile): Promise<Removal> => {
    const removal = await removeOriginal(from, to, file);
    stayed.cause ??= removal.error;
    if (removal.error === undefined) done += 1;
    const isMissed = removal.outcome === 'missed' && missesAreCertain;
    if (isMissed && (await isGone({ storage: from, path: file.from }))) {
      taken += 1;
      await withdrawFile(to, file);
    }
    return removal;
  };
  try {
    for await (const file of copied.files()) {
      if (stayed.cause !== undefined) break;
      if (!isFirst) await limiter.add(async () => void (await remove(file)));
      else {
        isFirst = false;
        // The first removal runs alone: a store that rejects all removals shows it before anything is lost.
        const { outcome, error } = await remove(file);
        if (outcome === 'refused' && (await isSeen({ storage: from, path: file.from })))
          return { refusal: error, isAllTaken: false };
      }
    }
  } catch (error) {
    // The list cannot be read: its files stay.
    stayed.cause ??= error;
  } finally {
    await limiter.drain();
  }
  stayed.refused = copied.count - done;
  return { isAllTaken: taken > 0 && taken === copied.count };
};

const refuseOmitted = (omitted: number): void => {
  if (omitted === 0) return;
  const what = omitted === 1 ? '1 item in it has a name' : `${omitted} items in it have names`;
  throw new errors.ContentsConflictError(`The folder cannot be moved: ${what} that this service cannot use.`);
};

/**
 * Moves a folder by copying it, inside a store or into another one: copies everything, then removes each file
 * that is unchanged and present at the target, and each folder that is empty. Removes nothing that was not
 * copied. A folder with entries that listings leave out is rejected at the start. A move that fails before
 * the first removal leaves no copy; afterwards the signal is ignored, and items that were changed or added in
 * the meantime stay.
 *
 * Costs as `copyTree`, and for each file a `stat` and a removal, for each folder a listing and a removal.
 * @throws as copyTree; MovedInPartError, whose message says how many items stayed and why
 */
export const moveTree = async (
  from: StoreLocation,
  to: StoreLocation,
  options: MoveTreeOptions = {},
): Promise<void> => {
  const spill = new SpillFile();
  try {
    const plan = await planTree(from, to.path, spill, options);
    refuseOmitted(plan.omitted);
    await removeCopied(from, to, plan, await copyPlanned(from, to, plan, spill, options), options);
  } finally {
    await spill.close();
  }
};

const removeCopied = async (
  from: StoreLocation,
  to: StoreLocation,
  plan: TreePlan,
  copied: CopiedTree,
  { derivedFrom, missesAreCertain = false, onCopied }: MoveTreeOptions,
): Promise<void> => {
  const stayed: Stayed = { changed: 0, omitted: 0, hidden: 0, refused: 0, cause: undefined };
  const removed = await removeOriginals(from.storage, to.storage, copied, { stayed, missesAreCertain });
  if (removed.refusal !== undefined) {
    await withdrawCopy(to.storage, copied);
    throw removed.refusal as Error;
  }
  if (removed.isAllTaken) {
    await withdrawCopy(to.storage, { folders: copied.folders, files: () => [] });
    throw new errors.ChangedMeanwhileError({ detail: 'another writer took everything in the folder' });
  }
  try {
    await onCopied?.(copied.files);
  } catch (error) {
    stayed.refused += 1;
    stayed.cause ??= error;
  }
  if (stayed.cause === undefined) await removeFolders(from.storage, plan, derivedFrom, stayed);
  if (countOf(stayed) > 0)
    throw new errors.MovedInPartError({ message: messageOf(stayed), cause: stayed.cause });
};
