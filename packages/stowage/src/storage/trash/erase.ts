import { Readable } from 'node:stream';
import {
  AlreadyExistsError,
  ifMissing,
  MovedInPartError,
  NotEmptyError,
  NotFoundError,
} from '../../errors/errors.ts';
import type { OperationOptions, StorageAdapter } from '../adapter.ts';
import type { SourcePath } from '../source-path.ts';
import { trashPaths, type TrashId } from './trash-folder.ts';

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
    const content = Readable.from([Buffer.from('{}')], { objectMode: false });
    await storage
      .write(trashPaths.erased(id), content, { size: 2, createOnly: true, isNoFolder: true })
      .catch((failure: unknown) => {
        if (!(failure instanceof AlreadyExistsError)) throw failure;
      });
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
