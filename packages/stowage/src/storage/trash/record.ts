import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import { ifMissing } from '../../errors/errors.ts';
import type { EntryKind, OperationOptions, ReadableStore, Stat, StorageAdapter } from '../adapter.ts';
import { type About, aboutSchema } from '../about/about.ts';
import { streamOf } from '../content.ts';
import { parsedRecord, readRecord } from '../records.ts';
import { SourcePath } from '../source-path.ts';
import { timeOf, trashPaths, type TrashId } from './trash-folder.ts';

export interface TrashRecord {
  readonly id: TrashId;
  /** Original path. */
  readonly path: SourcePath;
  readonly kind: EntryKind;
  /** Size, for a folder with all its contents, as far as the store reports sizes. */
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly removedAt: number;
  readonly role: string;
  /** The user who removed it, where the host names one. */
  readonly subject: string | undefined;
  /** The file was not removed but replaced by newer content. */
  readonly replaced: boolean;
  /** The description of a file; descriptions of the contents of a folder are inside it. */
  readonly about?: About | undefined;
  /** Stat of the item in the trash; undefined when it has just arrived. */
  readonly seen?: Stat | undefined;
}

/** Recently read records of one store by id; records never change. */
export type TrashRecords = Pick<Map<TrashId, TrashRecord>, 'get' | 'delete'> & {
  readonly set: (id: TrashId, record: TrashRecord) => unknown;
};

/** Limited by size: a limit by number would allocate lists of that length at the start. */
export const createTrashRecords = (): TrashRecords =>
  new LRUCache<TrashId, TrashRecord>({ maxSize: 2000, sizeCalculation: () => 1 });

const MAX_TEXT = 300;

const schema = z.object({
  path: z.string(),
  kind: z.enum(['file', 'folder']),
  bytes: z.number().int().nonnegative(),
  role: z.string().max(MAX_TEXT),
  subject: z.string().max(MAX_TEXT).optional(),
  replaced: z.boolean().default(false),
  about: aboutSchema.optional().catch(undefined),
});

/** Writes a record; must be called before its item is moved into the trash. */
export const writeTrashRecord = async (
  storage: StorageAdapter,
  { id, path, kind, bytes, removedAt, role, subject, replaced, about }: TrashRecord,
  options: OperationOptions,
): Promise<void> => {
  const record = {
    path: path.toString(),
    kind,
    bytes,
    removedAt: new Date(removedAt).toISOString(),
    role: role.slice(0, MAX_TEXT),
    subject: subject?.slice(0, MAX_TEXT),
    replaced,
    about,
  };
  const content = Buffer.from(JSON.stringify(record));
  await storage.write(trashPaths.record(id), streamOf(content), {
    size: content.length,
    createOnly: true,
    // The random id is known to this operation only.
    isNoFolder: true,
    ...options,
  });
};

/** Undefined when the text is not a valid record. */
export const parseTrashRecord = (id: TrashId, text: string | undefined): TrashRecord | undefined =>
  parsedRecord(text, (record) => {
    const { path: written, subject, ...rest } = schema.parse(record);
    const path = SourcePath.parse(written);
    return path.isRoot ? undefined : { id, path, subject, removedAt: timeOf(id), ...rest };
  });

/** The record of an id; undefined when there is none, or an invalid one. */
export const readTrashRecord = async (
  storage: ReadableStore,
  id: TrashId,
  options: OperationOptions,
): Promise<TrashRecord | undefined> => {
  const found = await readRecord(storage, trashPaths.record(id), { ...options, isListed: true });
  return parseTrashRecord(id, found?.text);
};

export const RECORDS_AT_ONCE = 128;

/** The texts of some records, where the store reads them together; use `readTrashRecord` for missing ones. */
export const readTogether = async (
  storage: ReadableStore,
  ids: readonly TrashId[],
  { signal }: OperationOptions,
): Promise<readonly (string | undefined)[]> => {
  const options = { signal, bytesUpTo: RECORDS_AT_ONCE * 1024 };
  const files = (await storage.readMany?.(ids.map(trashPaths.record), options)) ?? [];
  return files.map((file) => file && Buffer.from(file.bytes).toString());
};

/** The item of a record, if it exists at the recorded location. */
export const itemOf = async (
  storage: ReadableStore,
  { id, path, kind }: TrashRecord,
  { signal }: OperationOptions,
): Promise<Stat | undefined> => {
  const item = trashPaths.item(id, path.name);
  const found = await storage.stat(item, { signal, expects: kind }).catch(ifMissing);
  return found?.kind === kind ? found : undefined;
};

/** The record of an item that exists in the trash. `known`: the record, if it was read before. */
export const findRecord = async (
  storage: ReadableStore,
  id: TrashId,
  options: OperationOptions,
  known?: TrashRecord,
): Promise<TrashRecord | undefined> => {
  const record = known ?? (await readTrashRecord(storage, id, options));
  const seen = record && (await itemOf(storage, record, options));
  return record && seen && { ...record, seen };
};
