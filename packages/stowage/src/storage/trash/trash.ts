import { ifMissing, ifNoSuch, isRefusal, NotFoundError, StorageDeniedError } from '../../errors/errors.ts';
import type { EntryKind, OperationOptions, Stat, StorageAdapter, TransferOptions } from '../adapter.ts';
import type { About } from '../about/about.ts';
import { isSameVersion } from '../entry.ts';
import { moveItem } from '../folders.ts';
import { measure } from '../measure.ts';
import { untilNotOvertaken } from '../records.ts';
import type { SourcePath } from '../source-path.ts';
import { eraseId, forgetId, forgetRecord } from './erase.ts';
import { type TrashRecord, writeTrashRecord } from './record.ts';
import { newTrashId, timeOf, TRASH_FOLDER, trashPaths } from './trash-folder.ts';
import { trashedPath } from './trashed.ts';

export interface Remover {
  readonly role: string;
  readonly subject: string | undefined;
}

export interface Removed {
  readonly path: SourcePath;
  readonly kind: EntryKind;
  readonly about?: About | undefined;
  /** Stat of the item as the request found it. */
  readonly seen: Stat;
}

/** Whether a file exists in this version. */
export const isStill = async (storage: StorageAdapter, path: SourcePath, version: Stat): Promise<boolean> => {
  const found = await storage.stat(path).catch(() => undefined);
  return found?.kind === 'file' && isSameVersion(version, found);
};

/** Writes the record, then brings the item. Removes the record if the store rejects that. */
const enter = async (
  storage: StorageAdapter,
  { path, kind, about, seen }: Removed,
  by: Remover & { readonly replaced: boolean },
  options: OperationOptions,
  bring: (target: SourcePath) => Promise<void>,
): Promise<TrashRecord> => {
  const bytes = kind === 'file' ? (seen.size ?? 0) : (await measure(storage, path, kind, options)).bytes;
  const id = newTrashId();
  const record = { id, path, kind, bytes, removedAt: timeOf(id), about, ...by };
  // Emptying may move the trash's folder away between two steps; a retry creates it anew.
  const isMissing = (error: unknown): boolean => error instanceof NotFoundError;
  const isStillThere = async (error: unknown): Promise<boolean> =>
    isMissing(error) && (await storage.stat(path, options).catch(ifMissing)) !== undefined;
  await untilNotOvertaken(() => writeTrashRecord(storage, record, options), isMissing).catch(
    (cause: unknown) => {
      ifNoSuch(cause);
      // An administrator may have put a link there; nothing is wrong with the item itself.
      throw new StorageDeniedError({ detail: `${TRASH_FOLDER} is not a folder`, cause });
    },
  );
  try {
    await untilNotOvertaken(() => bring(trashPaths.item(id, path.name)), isStillThere);
  } catch (error) {
    // A store that moves by copying leaves the copy of a file that it does not remove.
    const isCopied = error instanceof StorageDeniedError && (await isStill(storage, path, seen));
    // The item may still arrive, or has arrived in part: without its record it could not be reached.
    if (isRefusal(error)) await (isCopied ? eraseId : forgetId)(storage, id).catch(() => undefined);
    throw error;
  }
  return record;
};

/**
 * Moves an item into the trash of its store. The item is always complete in one of the two, and its record
 * exists before it arrives. In a store that moves by copying, a crash may leave it in both.
 * @throws NotFoundError, and errors of moving
 */
export const putIntoTrash = (
  storage: StorageAdapter,
  item: Removed,
  by: Remover,
  options: OperationOptions,
): Promise<TrashRecord> =>
  enter(storage, item, { ...by, replaced: false }, options, (target) =>
    // Only this operation knows the new folder, so an overwriting move is safe, and it is one step where a
    // create-only move is two.
    moveItem(storage, item.kind, item.path, target, {
      seen: item.seen,
      isNoFolder: true,
      signal: options.signal,
    }),
  );

/** Copies a file into the trash before it is replaced. @throws NotFoundError, WrongKindError */
export const copyIntoTrash = (
  storage: StorageAdapter,
  file: Omit<Removed, 'kind'>,
  by: Remover,
  options: OperationOptions,
): Promise<TrashRecord> =>
  enter(storage, { ...file, kind: 'file' }, { ...by, replaced: true }, options, (target) =>
    storage.copyFile(file.path, target, { createOnly: true, isNoFolder: true, seen: file.seen, ...options }),
  );

/**
 * Moves an item out of the trash, create-only; its record stays until `leaveTrash`.
 * @throws AlreadyExistsError; NotFoundError when another operation was faster
 */
export const takeFromTrash = (
  storage: StorageAdapter,
  record: TrashRecord,
  to: SourcePath,
  options: Pick<TransferOptions, 'isNoFolder' | 'signal'>,
): Promise<void> =>
  moveItem(storage, record.kind, trashedPath(record), to, {
    createOnly: true,
    seen: record.seen,
    ...options,
  });

/**
 * The file in the trash, when the same file already exists at a path because an earlier restore was
 * interrupted between its two steps. Where ETags depend on the content only, another file of the same content
 * counts as well: nothing is lost by that. @throws NotFoundError when another request has restored it meanwhile
 */
export const twinOf = async (
  storage: StorageAdapter,
  record: TrashRecord,
  to: SourcePath,
  options: OperationOptions,
): Promise<Stat | undefined> => {
  if (record.kind === 'folder') return undefined;
  const { seen: here } = record;
  // Without ETags the files cannot be told apart.
  if (here?.etag === undefined) return undefined;
  const there = await storage.stat(to, { ...options, mayMiss: true }).catch(ifNoSuch);
  return here.etag === there?.etag ? storage.stat(trashedPath(record), options) : undefined;
};

/** Removes the leftovers of a restored item from the trash: the `twin`, then its record. */
export const leaveTrash = async (
  storage: StorageAdapter,
  record: TrashRecord,
  twin: Stat | undefined,
): Promise<void> => {
  if (twin !== undefined) await storage.removeFile(trashedPath(record), { ifUnchanged: twin });
  await forgetRecord(storage, record.id);
};
