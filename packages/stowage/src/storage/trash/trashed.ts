import type { Located } from '../location.ts';
import { isRefusal } from '../../errors/errors.ts';
import { pagesOf } from '../records.ts';
import type { OperationOptions, ReadableStore } from '../readable.ts';
import type { SourcePath } from '../source-path.ts';
import {
  findRecord,
  itemOf,
  parseTrashRecord,
  readTrashRecord,
  readTogether,
  RECORDS_AT_ONCE,
  type TrashRecord,
  type TrashRecords,
} from './record.ts';
import { isTrashId, type TrashId, trashPaths } from './trash-folder.ts';

export type { TrashRecord } from './record.ts';

/** Concurrent lookups of items, and concurrent reads of single records. */
const AT_ONCE = 8;

export interface TrashQuery extends OperationOptions {
  /** Skips the check that each item exists: for a caller that removes them. */
  readonly isBlind?: boolean;
}

/** The ids in the trash, newest first. Other entries are ignored. */
export const listIds = async (
  storage: ReadableStore,
  { signal }: OperationOptions,
): Promise<readonly TrashId[]> => {
  const ids: TrashId[] = [];
  for await (const page of pagesOf(storage, trashPaths.all, { detail: 'names', signal }))
    for (const { kind, name } of page) if (kind === 'folder' && isTrashId(name)) ids.push(name);
  return ids.sort().reverse();
};

/** The item of an id from a client, if it is valid and exists. `known`: cached records. */
export const findInTrash = async (
  storage: ReadableStore,
  text: string,
  options: OperationOptions,
  known?: Pick<TrashRecords, 'get'>,
): Promise<TrashRecord | undefined> =>
  isTrashId(text) ? findRecord(storage, text, options, known?.get(text)) : undefined;

/**
 * All items of the trash, newest first. Costs a listing of names, and for each item a stat, and a read where
 * its record is not cached; a few at a time, slightly ahead of the consumer. An item that another instance is
 * erasing may still be listed where its record is cached. Items that the store denies, such as one whose
 * record is in an archive tier, are left out; when it denies all, the first error is thrown.
 */
export async function* trashContents(
  storage: ReadableStore,
  records: TrashRecords,
  { isBlind = false, ...options }: TrashQuery,
): AsyncGenerator<TrashRecord, void, undefined> {
  const ids = await listIds(storage, options);
  let refusal: unknown;
  const refused = (error: unknown): undefined => {
    if (!isRefusal(error)) throw error;
    refusal ??= error;
  };
  const read = async (id: TrashId, text: string | undefined): Promise<TrashRecord | undefined> => {
    const record =
      text === undefined
        ? (records.get(id) ?? (await readTrashRecord(storage, id, options)))
        : parseTrashRecord(id, text);
    if (record === undefined || isBlind) return record;
    const seen = await itemOf(storage, record, options);
    if (seen === undefined) records.delete(id);
    else if (text === undefined) records.set(id, record);
    return seen && { ...record, seen };
  };
  const readFrom = (start: number): ReturnType<typeof readTogether> =>
    readTogether(storage, ids.slice(start, start + RECORDS_AT_ONCE), options);
  let isEmpty = true;
  let texts: readonly (string | undefined)[] = [];
  let ahead: ReturnType<typeof readTogether> | undefined;
  for (let start = 0; start < ids.length; start += AT_ONCE) {
    const row = start % RECORDS_AT_ONCE;
    if (row === 0) {
      texts = await (ahead ?? readFrom(start));
      // A caller that removes all items needs the next records too: they are read while these are checked.
      ahead = isBlind && start + RECORDS_AT_ONCE < ids.length ? readFrom(start + RECORDS_AT_ONCE) : undefined;
      ahead?.catch(() => undefined);
    }
    const some = ids.slice(start, start + AT_ONCE);
    const found = await Promise.all(some.map((id, index) => read(id, texts[row + index]).catch(refused)));
    for (const record of found) {
      if (record === undefined) continue;
      isEmpty = false;
      yield record;
    }
  }
  if (isEmpty && refusal !== undefined) throw refusal as Error;
}

/** The folder of an id, to be locked while its item is taken out of the trash. */
export const trashLocation = (storage: ReadableStore, { id }: TrashRecord): Located => ({
  storage,
  path: trashPaths.of(id),
});

export const trashedPath = ({ id, path }: TrashRecord): SourcePath => trashPaths.item(id, path.name);
