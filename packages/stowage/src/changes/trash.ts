import { fileCopyNames, folderCopyNames } from '../basics/content/file-name.ts';
import { AlreadyExistsError, ifMissing, isRefusal } from '../errors/errors.ts';
import type { Stat, StorageAdapter } from '../storage/adapter.ts';
import { isSameVersion } from '../storage/entry.ts';
import type { SourcePath } from '../storage/source-path.ts';
import {
  copyIntoTrash,
  eraseFromTrash,
  leaveTrash,
  putIntoTrash,
  type Remover,
  takeFromTrash,
  twinOf,
} from '../storage/trash/trash.ts';
import { storeOf } from '../view/writable.ts';
import type { Change, ChangeContext, Next, Passage, Put, Restore, Stage } from './change.ts';
import { tendTrash } from './empty-trash.ts';
import { searchIn, takeFreeName } from './names.ts';
import { wordsOf } from './follow.ts';
import { keepsReplaced } from './quota.ts';
import { requireContents, requireRights } from './rights.ts';

const by = ({ requester: { role, subject } }: ChangeContext): Remover => ({ role, subject });

const isStill = async (storage: StorageAdapter, path: SourcePath, version: Stat): Promise<boolean> => {
  const found = await storage.stat(path).catch(() => undefined);
  return found?.kind === 'file' && isSameVersion(version, found);
};

/**
 * Copies the old content of a file into the trash before it is replaced. A copy whose original was not replaced
 * is removed again; where the store may have replaced it, or may do it yet, the copy stays.
 */
const keepOld = async (passage: Passage, change: Put, next: Next): ReturnType<Next> => {
  const { signal } = passage;
  const { open, path } = change;
  const storage = storeOf(open);
  let old = await storage.stat(path, { signal }).catch(ifMissing);
  if (old === undefined) {
    try {
      // A store that does not show a file for a moment must not let it be replaced unseen.
      return await next({ ...change, createOnly: true });
    } catch (error) {
      if (!(error instanceof AlreadyExistsError)) throw error;
      old = await storage.stat(path, { signal });
    }
  }
  const about = await wordsOf(passage, open, path);
  const kept = await copyIntoTrash(storage, { path, about, seen: old }, by(passage), { signal });
  try {
    await next(change);
    tendTrash(passage, open, kept.bytes);
    return undefined;
  } catch (error) {
    if (isRefusal(error) && (await isStill(storage, path, old)))
      await eraseFromTrash(storage, kept).catch(() => undefined);
    throw error;
  }
};

/** Brings an item back under its name or a numbered one. What cannot be tidied up behind it is logged. */
const bringBack = async (passage: Passage, change: Restore): Promise<void> => {
  const { signal, log, done } = passage;
  const { open, path: wanted, record } = change;
  const storage = storeOf(open);
  const { name } = wanted;
  const names = record.kind === 'file' ? fileCopyNames(name) : folderCopyNames(name);
  const search = searchIn(passage, open, wanted.parent, names);
  const take = async (path: SourcePath): Promise<SourcePath> => {
    if (!path.equals(wanted)) {
      await requireRights({ ...change, path });
      await requireContents(passage, { ...change, path });
    }
    try {
      const isNoFolder = record.kind === 'file' && (await open.isSeenNoFolder(path));
      await takeFromTrash(storage, record, path, { isNoFolder, signal });
    } catch (error) {
      if (!(error instanceof AlreadyExistsError && path.equals(wanted))) throw error;
      twin ??= await twinOf(storage, record, wanted, { signal });
      if (twin === undefined) throw error;
    }
    return path;
  };
  // Where the store decides about names, what has the name shows when it refuses it.
  const { atomicCreate } = storage.capabilities;
  let twin = atomicCreate ? undefined : await twinOf(storage, record, wanted, { signal });
  const path = twin === undefined ? await takeFreeName(search, take) : wanted;
  done.push({ path, bytes: record.bytes });
  await leaveTrash(storage, record, twin).catch((error: unknown) => {
    log.warn('The record of a restored item could not be removed.', { error });
  });
};

const hasTrash = ({ open }: Extract<Change, { type: 'remove' }>): boolean =>
  open.source.settings.trash !== undefined;

/**
 * Puts into the trash what is removed, and the old content of what is replaced, where the source keeps it;
 * brings back what is restored, and erases what leaves the trash for good.
 */
export const trash: Stage = async (passage, change, next) => {
  if (change.type === 'remove' && hasTrash(change)) {
    const { open, path, kind, seen } = change;
    const storage = storeOf(open);
    const about = kind === 'file' ? await wordsOf(passage, open, path) : undefined;
    const { bytes } = await putIntoTrash(storage, { path, kind, seen, about }, by(passage), passage);
    tendTrash(passage, open, bytes);
    passage.done.push({ path, bytes });
    return undefined;
  }
  if (change.type === 'put' && change.createOnly !== true && keepsReplaced(change.open))
    return keepOld(passage, change, next);
  if (change.type === 'restore') {
    await bringBack(passage, change);
    return undefined;
  }
  if (change.type === 'erase') {
    const { open, path, record } = change;
    open.source.trashRecords.delete(record.id);
    await eraseFromTrash(storeOf(open), record);
    passage.done.push({ path, bytes: record.bytes });
    return undefined;
  }
  return next(change);
};
