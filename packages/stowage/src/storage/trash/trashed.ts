import type { Located } from '../location.ts';
import type { OperationOptions, ReadableStore } from '../readable.ts';
import type { SourcePath } from '../source-path.ts';
import { findRecord, type TrashRecord } from './record.ts';
import { listIds } from './sweep.ts';
import { isTrashId, trashPaths } from './trash-folder.ts';

export type { TrashRecord } from './record.ts';

/** Records that are read at the same time. */
const AT_ONCE = 8;

/**
 * What lies in the trash under an id from outside; undefined for a forged id, for one whose record cannot be
 * trusted, and where nothing lies (any more).
 */
export const findInTrash = async (
  storage: ReadableStore,
  text: string,
  options: OperationOptions,
): Promise<TrashRecord | undefined> => {
  return isTrashId(text) ? findRecord(storage, text, options) : undefined;
};

/**
 * All that lies in the trash, the newest first. Costs a listing of names, and a reading and a look for each,
 * some at a time and no further ahead than they are asked for.
 */
export async function* trashContents(
  storage: ReadableStore,
  options: OperationOptions,
): AsyncGenerator<TrashRecord, void, undefined> {
  const ids = await listIds(storage, options);
  for (let start = 0; start < ids.length; start += AT_ONCE) {
    const some = ids.slice(start, start + AT_ONCE);
    const found = await Promise.all(some.map((id) => findInTrash(storage, id, options)));
    for (const record of found) if (record !== undefined) yield record;
  }
}

/** The folder of an id, which an operation that takes something out of the trash holds. */
export const trashLocation = (storage: ReadableStore, { id }: TrashRecord): Located => ({
  storage,
  path: trashPaths.of(id),
});

/** Where a removed item lies now. */
export const trashedPath = ({ id, path }: TrashRecord): SourcePath => trashPaths.item(id, path.name);
