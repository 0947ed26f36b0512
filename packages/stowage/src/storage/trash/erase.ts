import {
  AlreadyExistsError,
  ifMissing,
  ifOnly,
  isRefusal,
  MovedInPartError,
  NotEmptyError,
  NotFoundError,
} from '../../errors/errors.ts';
import type { OperationOptions, StorageAdapter, Entry } from '../adapter.ts';
import { streamOf } from '../content.ts';
import type { SourcePath } from '../source-path.ts';
import { trashPaths, type TrashId, isTrashId, newTrashId, timeOf } from './trash-folder.ts';
import { moveFolder } from '../folders.ts';

/** Whether an erasing was cut off: its mark is there, and what it has left is listed no more. */
export const isHalfErased = async (
  storage: StorageAdapter,
  id: TrashId,
  options: OperationOptions,
): Promise<boolean> => (await storage.stat(trashPaths.erased(id), options).catch(ifMissing)) !== undefined;

/** Marks an id as erased: its record becomes the mark, or where it is not there, a file of its own. */
const mark = async (storage: StorageAdapter, id: TrashId): Promise<void> => {
  try {
    await storage.moveFile(trashPaths.record(id), trashPaths.erased(id), { isNoFolder: true });
  } catch (error) {
    if (error instanceof MovedInPartError) return;
    if (!(error instanceof NotFoundError)) throw error;
    const options = { size: 2, createOnly: true, isNoFolder: true };
    await storage
      .write(trashPaths.erased(id), streamOf(Buffer.from('{}')), options)
      .catch(ifOnly(AlreadyExistsError));
  }
};

/**
 * Removes what belongs to an id for good. The record becomes a mark before the first byte goes: what a crash
 * leaves is listed no more, and a sweep knows it by the mark.
 */
export const eraseId = async (storage: StorageAdapter, id: TrashId): Promise<void> => {
  await mark(storage, id);
  // Made by the trash under a name that cannot be guessed: what is in it belongs to the id.
  await storage.removeFolder(trashPaths.items(id)).catch(ifMissing);
  // The mark goes last, with what a store may have brought late.
  await storage.removeFolder(trashPaths.of(id)).catch(ifMissing);
};

/** Removes an empty folder. False where none is, or not any more: stores without folders have none. */
const removeIfThere = async (storage: StorageAdapter, path: SourcePath): Promise<boolean> => {
  try {
    await storage.removeEmptyFolder(path, { mayMiss: true });
    return true;
  } catch (error) {
    ifMissing(error);
    return false;
  }
};

/** Removes the record of an id whose item has certainly left it. */
export const forgetRecord = async (storage: StorageAdapter, id: TrashId): Promise<void> => {
  await storage.removeFile(trashPaths.record(id), { mayMiss: true }).catch(ifMissing);
  if (await removeIfThere(storage, trashPaths.items(id))) await removeIfThere(storage, trashPaths.of(id));
};

/**
 * Removes the record of an id whose item has left it, or never came. Where something lies all the same, which
 * a store may have brought late, it keeps its record.
 */
export const forgetId = async (storage: StorageAdapter, id: TrashId): Promise<void> => {
  try {
    await removeIfThere(storage, trashPaths.items(id));
  } catch (error) {
    if (error instanceof NotEmptyError) return;
    throw error;
  }
  await storage.removeFile(trashPaths.record(id), { mayMiss: true }).catch(ifMissing);
  await removeIfThere(storage, trashPaths.of(id));
};

/** Another process is done with what it has taken away by then. */
const LONGEST_MS = 60 * 60 * 1000;
const NAME = /^(taken|doomed)-(.*)$/u;

/** Moves an entry of a trash that was taken away back into the trash. */
const bringBack = async (
  storage: StorageAdapter,
  taken: SourcePath,
  { kind, name }: Entry,
): Promise<void> => {
  const [from, to] = [taken.child(name), trashPaths.all.child(name)];
  if (kind === 'file') return storage.moveFile(from, to, { createOnly: true });
  try {
    await moveFolder(storage, from, to);
  } catch (error) {
    if (!(error instanceof AlreadyExistsError) || !isTrashId(name)) throw error;
    // Its item is arriving, and has made the folder anew.
    const record = trashPaths.record(name);
    await storage.moveFile(from.child(record.name), record, { createOnly: true });
  }
};

const bringBackFrom = async (
  storage: StorageAdapter,
  taken: SourcePath,
  isWanted: (name: string) => boolean,
): Promise<void> => {
  for await (const page of storage.list(taken, { detail: 'names' }))
    for (const entry of page) if (isWanted(entry.name)) await bringBack(storage, taken, entry);
};

/**
 * Takes all out of the trash in one step, for stores that move folders so. What has come into it since `ids` were
 * listed goes back. The folder that is left is for the caller to remove; a sweep does it after a crash.
 * @throws NotFoundError when there is no trash
 */
export const takeAll = async (
  storage: StorageAdapter,
  ids: ReadonlySet<string>,
  options: OperationOptions,
): Promise<SourcePath> => {
  const id = newTrashId();
  const taken = trashPaths.taken(id);
  await moveFolder(storage, trashPaths.all, taken, options);
  await bringBackFrom(storage, taken, (name) => !ids.has(name));
  const doomed = trashPaths.doomed(id);
  await moveFolder(storage, taken, doomed);
  return doomed;
};

/** The folder of emptied trashes goes with the last of them. */
const removeParent = (storage: StorageAdapter, options: OperationOptions): Promise<void> =>
  storage.removeEmptyFolder(trashPaths.emptied, options).catch((error: unknown) => {
    if (!(error instanceof NotEmptyError)) ifMissing(error);
  });

/** Removes a trash that was taken away. */
export const removeEmptied = async (
  storage: StorageAdapter,
  folder: SourcePath,
  { signal }: OperationOptions,
): Promise<void> => {
  // A sweep may be faster.
  await storage.removeFolder(folder, { signal }).catch(ifMissing);
  await removeParent(storage, { signal });
};

/** Removes an entry of the folder of emptied trashes, or brings back what it holds. */
const sweepOne = async (storage: StorageAdapter, name: string, options: OperationOptions): Promise<void> => {
  const [, state, id = ''] = NAME.exec(name) ?? [];
  if (!isTrashId(id)) return;
  if (state === 'taken') {
    if (Date.now() - timeOf(id) < LONGEST_MS) return;
    await bringBackFrom(storage, trashPaths.taken(id), () => true);
  }
  await removeEmptied(storage, trashPaths.emptied.child(name), options);
};

/**
 * Removes what emptying has left behind: after a crash or a failure. Of a trash that was taken away by a process that
 * did not come to compare it, all goes back. What the store does not remove stays until the next sweep.
 * @returns the first refusal of the store
 */
export const sweepEmptied = async (storage: StorageAdapter, options: OperationOptions): Promise<unknown> => {
  let refusal: unknown;
  try {
    for await (const page of storage.list(trashPaths.emptied, { detail: 'names', ...options }))
      for (const { name } of page) {
        options.signal?.throwIfAborted();
        try {
          await sweepOne(storage, name, options);
        } catch (error) {
          if (!isRefusal(error)) throw error;
          // Another instance may be faster.
          if (!(error instanceof NotFoundError)) refusal ??= error;
        }
      }
  } catch (error) {
    // Nothing was emptied.
    return ifMissing(error);
  }
  await removeParent(storage, options);
  return refusal;
};
