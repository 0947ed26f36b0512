import { BusyError, ifNoSuch, ifOnly } from '../../errors/errors.ts';
import type { OperationOptions, ReadableStore, StorageAdapter } from '../adapter.ts';
import type { LocationLocks } from '../location.ts';
import { sweepEmptied, eraseId, isHalfErased } from './erase.ts';
import { findRecord } from './record.ts';
import { isTrashId, timeOf, trashPaths, type TrashId } from './trash-folder.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** How long and how much a source keeps; see the setting `trash`. */
export interface TrashPolicy {
  readonly retentionDays: number;
  readonly maxBytes?: number | undefined;
}

/** The ids in the trash, the newest first. Other entries there are left alone. */
export const listIds = async (
  storage: ReadableStore,
  { signal }: OperationOptions,
): Promise<readonly TrashId[]> => {
  const ids: TrashId[] = [];
  try {
    for await (const page of storage.list(trashPaths.all, { detail: 'names', signal })) {
      for (const { kind, name } of page) if (kind === 'folder' && isTrashId(name)) ids.push(name);
    }
  } catch (error) {
    ifNoSuch(error);
  }
  return ids.sort().reverse();
};

/**
 * Ends what erasing has begun, and removes what is older than the policy allows, what is larger than all of
 * the trash may be, and then the oldest until the rest has room.
 * An item that has lost its record for another reason stays until it is too old: it may be the only copy, and
 * a store may fail to show a record that is there.
 * @returns how many were removed, and the bytes that are kept: undefined where no limit asks for them
 */
export const sweepTrash = async (
  storage: StorageAdapter,
  { retentionDays, maxBytes }: TrashPolicy,
  locks: LocationLocks,
  { signal }: OperationOptions,
): Promise<{ readonly erased: number; readonly kept: number | undefined }> => {
  if (storage.capabilities.atomicFolderMove === true) await sweepEmptied(storage, { signal });
  const oldest = Date.now() - retentionDays * DAY_MS;
  let [kept, erased] = [0, 0];
  let isFull = false;
  for (const id of await listIds(storage, { signal })) {
    signal?.throwIfAborted();
    let isDue = timeOf(id) < oldest || (await isHalfErased(storage, id, { signal }));
    if (!isDue && maxBytes !== undefined) {
      // A crash may have left the record of what did not come, or is gone: that takes no room.
      const bytes = (await findRecord(storage, id, { signal }))?.bytes ?? 0;
      // An item that has no room in an empty trash must not empty it.
      const isTooLarge = bytes > maxBytes;
      isFull ||= !isTooLarge && kept + bytes > maxBytes;
      isDue = isTooLarge || isFull;
      if (!isDue) kept += bytes;
    }
    if (!isDue) continue;
    const erase = (): Promise<void> => eraseId(storage, id);
    // What is busy, the next sweep finds again.
    await locks.hold([{ storage, path: trashPaths.of(id) }], { signal }, erase).catch(ifOnly(BusyError));
    erased += 1;
  }
  return { erased, kept: maxBytes === undefined ? undefined : kept };
};
