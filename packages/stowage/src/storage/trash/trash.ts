import { ifMissing, ifNoSuch, isRefusal, NotFoundError } from '../../errors/errors.ts';
import type { EntryKind, OperationOptions, Stat, StorageAdapter, TransferOptions } from '../adapter.ts';
import type { About } from '../about/about.ts';
import { moveItem } from '../folders.ts';
import { measure } from '../measure.ts';
import { untilNotOvertaken } from '../records.ts';
import type { SourcePath } from '../source-path.ts';
import { forgetId, forgetRecord } from './erase.ts';
import { type TrashRecord, writeTrashRecord } from './record.ts';
import { newTrashId, timeOf, trashPaths } from './trash-folder.ts';
import { trashedPath } from './trashed.ts';

/** Who removes something. */
export interface Remover {
  readonly role: string;
  readonly subject: string | undefined;
}

/** What is about to go into the trash. */
export interface Removed {
  readonly path: SourcePath;
  readonly kind: EntryKind;
  readonly about?: About | undefined;
  /** As it was found. */
  readonly seen: Stat;
}

/** Writes the record, then has `bring` bring the item. When the store refuses that, the record goes again. */
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
  // Emptying may take the folder of the trash away in the midst of a step; repeated, that makes it anew.
  const isMissing = (error: unknown): boolean => error instanceof NotFoundError;
  const isStillThere = async (error: unknown): Promise<boolean> =>
    isMissing(error) && (await storage.stat(path, options).catch(ifMissing)) !== undefined;
  await untilNotOvertaken(() => writeTrashRecord(storage, record, options), isMissing);
  try {
    await untilNotOvertaken(() => bring(trashPaths.item(id, path.name)), isStillThere);
  } catch (error) {
    // An item that may still come, or has come in part, could not be reached without its record.
    if (isRefusal(error)) await forgetId(storage, id).catch(() => undefined);
    throw error;
  }
  return record;
};

/**
 * Moves something into the trash of its store. Whatever happens it is whole in one of the two: its record is
 * there before it comes. A store that moves by copying may have it in both after a crash.
 * @throws NotFoundError, and errors of moving
 */
export const putIntoTrash = (
  storage: StorageAdapter,
  item: Removed,
  by: Remover,
  options: OperationOptions,
): Promise<TrashRecord> =>
  enter(storage, item, { ...by, replaced: false }, options, (target) =>
    // Only this operation knows the new folder, and a move that may replace is one step where one that may
    // only create is two.
    moveItem(storage, item.kind, item.path, target, {
      seen: item.seen,
      isNoFolder: true,
      signal: options.signal,
    }),
  );

/** Copies a file into the trash that is about to be replaced. @throws NotFoundError, WrongKindError */
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
 * Moves something out of the trash, create-only; its record stays for `leaveTrash`.
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
 * The file in the trash where the very file lies at a path too: an earlier restoring was cut off between
 * giving the name and taking away the other one. Where versions go by content, a file of the same content
 * counts as well: nothing is lost by it.
 */
export const twinOf = async (
  storage: StorageAdapter,
  record: TrashRecord,
  to: SourcePath,
  options: OperationOptions,
): Promise<Stat | undefined> => {
  if (record.kind === 'folder') return undefined;
  const { seen: here } = record;
  // Without versions they could not be told apart.
  if (here?.etag === undefined) return undefined;
  const there = await storage.stat(to, { ...options, mayMiss: true }).catch(ifNoSuch);
  return here.etag === there?.etag ? here : undefined;
};

/** Removes what is left in the trash of an item that is back: its record, and before it the `twin`. */
export const leaveTrash = async (
  storage: StorageAdapter,
  record: TrashRecord,
  twin: Stat | undefined,
): Promise<void> => {
  if (twin !== undefined) await storage.removeFile(trashedPath(record), { ifUnchanged: twin });
  await forgetRecord(storage, record.id);
};
