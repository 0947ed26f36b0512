import { NotFoundError, WrongKindError } from '../errors/errors.ts';
import type { OperationOptions, StorageAdapter } from '../storage/adapter.ts';
import type { LocationLocks } from '../storage/location-locks.ts';
import { findRecord } from './record.ts';
import { isTrashId, timeOf, trashPaths, type TrashId } from './trash-folder.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

/** How long and how much a source keeps; see the setting `trash`. */
export interface TrashPolicy {
  readonly retentionDays: number;
  readonly maxBytes?: number | undefined;
}

const ignoreMissing = (error: unknown): void => {
  if (!(error instanceof NotFoundError)) throw error;
};

/** The ids in the trash, the newest first. What else somebody has put there is left alone. */
export const listIds = async (
  storage: StorageAdapter,
  { signal }: OperationOptions,
): Promise<readonly TrashId[]> => {
  const ids: TrashId[] = [];
  try {
    for await (const page of storage.list(trashPaths.all, { detail: 'names', signal })) {
      for (const { kind, name } of page) if (kind === 'folder' && isTrashId(name)) ids.push(name);
    }
  } catch (error) {
    if (!(error instanceof NotFoundError || error instanceof WrongKindError)) throw error;
  }
  return ids.sort().reverse();
};

/** Removes what belongs to an id for good, the record first: what is left of a crash is listed no more. */
export const eraseId = async (storage: StorageAdapter, id: TrashId): Promise<void> => {
  await storage.removeFile(trashPaths.record(id)).catch(ignoreMissing);
  await storage.removeFolder(trashPaths.of(id)).catch(ignoreMissing);
};

/** Whether an erasing was cut off: the item has lost its record, and nobody could reach it any more. */
const isLeftover = async (
  storage: StorageAdapter,
  id: TrashId,
  { signal }: OperationOptions,
): Promise<boolean> => {
  // A record is written first, so that a new one may be about to come.
  if (Date.now() - timeOf(id) < HOUR_MS) return false;
  try {
    await storage.stat(trashPaths.record(id), { signal });
    return false;
  } catch (error) {
    if (error instanceof NotFoundError) return true;
    throw error;
  }
};

/**
 * Removes leftovers, and what is older than the policy allows, what is larger than all of the trash may be, and
 * then the oldest until the rest has room.
 * @returns how many were removed, and the bytes that are kept: undefined where no limit asks for them
 */
export const sweepTrash = async (
  storage: StorageAdapter,
  { retentionDays, maxBytes }: TrashPolicy,
  locks: LocationLocks,
  { signal }: OperationOptions,
): Promise<{ readonly erased: number; readonly kept: number | undefined }> => {
  const oldest = Date.now() - retentionDays * DAY_MS;
  let [kept, erased] = [0, 0];
  let isFull = false;
  for (const id of await listIds(storage, { signal })) {
    signal?.throwIfAborted();
    let isDue = timeOf(id) < oldest || (await isLeftover(storage, id, { signal }));
    if (!isDue && maxBytes !== undefined) {
      // A crash may have left the record of what did not come, or is gone: that takes no room.
      const bytes = (await findRecord(storage, id, { signal }))?.bytes ?? 0;
      // What has no room in an empty trash must not empty it.
      const isTooLarge = bytes > maxBytes;
      isFull ||= !isTooLarge && kept + bytes > maxBytes;
      isDue = isTooLarge || isFull;
      if (!isDue) kept += bytes;
    }
    if (!isDue) continue;
    await locks.hold([{ storage, path: trashPaths.of(id) }], { signal }, () => eraseId(storage, id));
    erased += 1;
  }
  return { erased, kept: maxBytes === undefined ? undefined : kept };
};
