import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import { ifMissing } from '../../errors/errors.ts';
import type { EntryKind, OperationOptions, ReadableStore, Stat, StorageAdapter } from '../adapter.ts';
import { type About, aboutSchema } from '../about/about.ts';
import { streamOf } from '../content.ts';
import { parsedRecord, readRecord } from '../records.ts';
import { SourcePath } from '../source-path.ts';
import { timeOf, trashPaths, type TrashId } from './trash-folder.ts';

/** What is known of something in the trash. */
export interface TrashRecord {
  readonly id: TrashId;
  /** Where it was. */
  readonly path: SourcePath;
  readonly kind: EntryKind;
  /** Of a folder with all it holds, as far as the store reports sizes. */
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly removedAt: number;
  readonly role: string;
  /** Who removed it, as far as the host says. */
  readonly subject: string | undefined;
  /** It was not removed but replaced by newer content. */
  readonly replaced: boolean;
  /** The words about a file; those about what a folder holds lie in it. */
  readonly about?: About | undefined;
  /** The item as it was found in the trash; undefined of one that has just come. */
  readonly seen?: Stat | undefined;
}

/** The records of one store by their ids, as far as they were read of late: they never change. */
export type TrashRecords = Pick<Map<TrashId, TrashRecord>, 'get' | 'delete'> & {
  readonly set: (id: TrashId, record: TrashRecord) => unknown;
};

/** A bound by size: one by number would make lists of that length at the start. */
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

/** Writes a record; it must be there before what it is about. */
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
    // Only this operation knows the id.
    isNoFolder: true,
    ...options,
  });
};

/** Undefined where the text is not a record that can be trusted. */
export const parseTrashRecord = (id: TrashId, text: string | undefined): TrashRecord | undefined =>
  parsedRecord(text, (record) => {
    const { path: written, subject, ...rest } = schema.parse(record);
    const path = SourcePath.parse(written);
    return path.isRoot ? undefined : { id, path, subject, removedAt: timeOf(id), ...rest };
  });

/** The record of an id; undefined where none is, or none that can be trusted. */
export const readTrashRecord = async (
  storage: ReadableStore,
  id: TrashId,
  options: OperationOptions,
): Promise<TrashRecord | undefined> => {
  const found = await readRecord(storage, trashPaths.record(id), { ...options, isListed: true });
  return parseTrashRecord(id, found?.text);
};

/** Records that are read together. */
export const RECORDS_AT_ONCE = 128;

/** The records of some ids, where the store reads them together; `readTrashRecord` reads what is missing. */
export const readTogether = async (
  storage: ReadableStore,
  ids: readonly TrashId[],
  { signal }: OperationOptions,
): Promise<readonly (string | undefined)[]> => {
  const options = { signal, bytesUpTo: RECORDS_AT_ONCE * 1024 };
  const files = (await storage.readMany?.(ids.map(trashPaths.record), options)) ?? [];
  return files.map((file) => file && Buffer.from(file.bytes).toString());
};

/** What a record is about, if it lies where the record says. */
export const itemOf = async (
  storage: ReadableStore,
  { id, path, kind }: TrashRecord,
  { signal }: OperationOptions,
): Promise<Stat | undefined> => {
  const item = trashPaths.item(id, path.name);
  const found = await storage.stat(item, { signal, expects: kind }).catch(ifMissing);
  return found?.kind === kind ? found : undefined;
};

/**
 * The record of something that lies in the trash; undefined where none is, or nothing lies (any more). `known`: as it
 * was read before.
 */
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
