import * as errors from '../../errors/errors.ts';
import type { OperationOptions, StorageAdapter, Entry } from '../adapter.ts';
import { streamOf } from '../content.ts';
import type { SourcePath } from '../source-path.ts';
import { trashPaths, type TrashId, isTrashId, newTrashId, timeOf } from './trash-folder.ts';
import { moveFolder } from '../folders.ts';

/** Whether erasing an item was interrupted: its mark exists, and the leftovers are no longer listed. */
export const isHalfErased = async (
  storage: StorageAdapter,
  id: TrashId,
  options: OperationOptions,
): Promise<boolean> =>
  (await storage.stat(trashPaths.erased(id), options).catch(errors.ifMissing)) !== undefined;

/** Marks an id as erased: renames its record to the mark, or writes the mark where there is no record. */
const mark = async (storage: StorageAdapter, id: TrashId): Promise<void> => {
  try {
    await storage.moveFile(trashPaths.record(id), trashPaths.erased(id), { isNoFolder: true });
  } catch (error) {
    if (error instanceof errors.MovedInPartError) return;
    if (!(error instanceof errors.NotFoundError)) throw error;
    const options = { size: 2, createOnly: true, isNoFolder: true };
    await storage
      .write(trashPaths.erased(id), streamOf(Buffer.from('{}')), options)
      // Another instance may be erasing it.
      .catch(errors.ifOnly(errors.AlreadyExistsError, errors.NotFoundError));
  }
};

/**
 * Permanently removes the files of an id. The record becomes a mark first: after a crash the leftovers are no
 * longer listed, and a sweep finds them by the mark.
 */
export const eraseId = async (storage: StorageAdapter, id: TrashId): Promise<void> => {
  await mark(storage, id);
  // The folder has an unguessable name that the trash created: all its contents belong to the id.
  await storage.removeFolder(trashPaths.items(id)).catch(errors.ifMissing);
  // The mark is removed last, together with files that the store has created late.
  await storage.removeFolder(trashPaths.of(id)).catch(errors.ifMissing);
};

/** Removes an empty folder. Returns false when there is none, as in stores without folders. */
const removeIfThere = async (storage: StorageAdapter, path: SourcePath): Promise<boolean> => {
  try {
    await storage.removeEmptyFolder(path, { mayMiss: true });
    return true;
  } catch (error) {
    errors.ifMissing(error);
    return false;
  }
};

/** Removes the record of an id whose item has certainly left the trash. */
export const forgetRecord = async (storage: StorageAdapter, id: TrashId): Promise<void> => {
  await storage.removeFile(trashPaths.record(id), { mayMiss: true }).catch(errors.ifMissing);
  if (await removeIfThere(storage, trashPaths.items(id))) await removeIfThere(storage, trashPaths.of(id));
};

/**
 * Removes the record of an id whose item has left the trash, or never arrived. If files are found there,
 * which a store may have created late, the record stays.
 */
export const forgetId = async (storage: StorageAdapter, id: TrashId): Promise<void> => {
  try {
    await removeIfThere(storage, trashPaths.items(id));
  } catch (error) {
    if (error instanceof errors.NotEmptyError) return;
    throw error;
  }
  await storage.removeFile(trashPaths.record(id), { mayMiss: true }).catch(errors.ifMissing);
  await removeIfThere(storage, trashPaths.of(id));
};

/** After this time, another process has finished with a trash that it moved away. */
const LONGEST_MS = 60 * 60 * 1000;
const NAME = /^(taken|doomed)-(.*)$/u;

/** Moves an entry of a trash that was moved away back into the trash. */
const bringBack = async (storage: StorageAdapter, taken: SourcePath, { kind, name }: Entry) => {
  const [from, to] = [taken.child(name), trashPaths.all.child(name)];
  if (kind === 'file') return storage.moveFile(from, to, { createOnly: true });
  try {
    await moveFolder(storage, from, to);
  } catch (error) {
    if (!(error instanceof errors.AlreadyExistsError) || !isTrashId(name)) throw error;
    // An item is arriving, which has created the folder anew.
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
 * Moves the whole trash away in one step, for stores with atomic folder moves. Items that are not in `ids`
 * arrived later and are moved back. The caller removes the returned folder; after a crash a sweep does.
 * @throws NotFoundError when there is no trash; the store's rejection, after all items are back, or
 * MovedInPartError
 */
export const takeAll = async (
  storage: StorageAdapter,
  ids: ReadonlySet<string>,
  options: OperationOptions,
): Promise<SourcePath> => {
  const id = newTrashId();
  const taken = trashPaths.taken(id);
  await moveFolder(storage, trashPaths.all, taken, options);
  try {
    await bringBackFrom(storage, taken, (name) => !ids.has(name));
    const removable = trashPaths.removable(id);
    await moveFolder(storage, taken, removable);
    return removable;
  } catch (cause) {
    if (!errors.isRefusal(cause)) throw cause;
    try {
      await bringBackFrom(storage, taken, () => true);
      await removeIfThere(storage, taken);
    } catch {
      // The items are no longer in the trash, until a sweep moves them back.
      throw new errors.MovedInPartError({ detail: 'the trash was taken in part', cause });
    }
    throw cause;
  }
};

const removeParent = (storage: StorageAdapter, options: OperationOptions): Promise<void> =>
  storage
    .removeEmptyFolder(trashPaths.emptied, options)
    .catch(errors.ifOnly(errors.NotEmptyError, errors.NotFoundError));

/** Removes a trash that was moved away. */
export const removeEmptied = async (
  storage: StorageAdapter,
  folder: SourcePath,
  { signal }: OperationOptions,
): Promise<void> => {
  // A sweep may have removed it already.
  await storage.removeFolder(folder, { signal }).catch(errors.ifMissing);
  await removeParent(storage, { signal });
};

/** Removes an entry of the folder of emptied trashes, or moves its contents back. */
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
 * Removes the leftovers of emptying the trash after a crash or failure. Where a process moved the trash away
 * and ended before comparing its items, all of them are moved back. Leftovers that the store does not remove
 * stay until the next sweep.
 * @returns the first rejection of the store
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
          if (!errors.isRefusal(error)) throw error;
          // Another instance may have removed it.
          if (!(error instanceof errors.NotFoundError)) refusal ??= error;
        }
      }
  } catch (error) {
    // There are no emptied trashes.
    return errors.ifMissing(error);
  }
  await removeParent(storage, options);
  return refusal;
};
