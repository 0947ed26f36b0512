import { copyNames } from '../basics/content/file-name.ts';
import { forEachAtOnce } from '../basics/concurrency/queues.ts';
import * as errors from '../errors/errors.ts';
import { isUnreadable } from '../storage/records.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { eraseId, takeAll } from '../storage/trash/erase.ts';
import {
  copyIntoTrash,
  isStill,
  leaveTrash,
  putIntoTrash,
  type Remover,
  takeFromTrash,
  twinOf,
} from '../storage/trash/trash.ts';
import { trashPaths } from '../storage/trash/trash-folder.ts';
import { listIds, type TrashRecord } from '../storage/trash/trashed.ts';
import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';
import type { ChangeContext, EmptyTrash, Next, StageContext, Put, Remove, Restore, Stage } from './change.ts';
import { searchIn, takeFreeName } from './names.ts';
import { setAbout, aboutOf } from './follow.ts';
import { freeing, keepsReplaced, measured, quotaKeyOf, quotaOf } from './quota.ts';
import { requireContents, requireRights } from './rights.ts';
import { tendTrash } from './tend-trash.ts';

const by = ({ requester: { role, subject } }: ChangeContext): Remover => ({ role, subject });

/** The description of a file that goes into the trash. An unreadable one stays; it must not keep the file. */
const aboutForTrash = async (context: StageContext, view: SourceView, path: SourcePath) => {
  try {
    return await aboutOf(context, view, path);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    const fields = { path: path.toString(), error };
    context.log.warn(
      'The description of a file cannot be read, and does not go into the trash with it.',
      fields,
    );
    return undefined;
  }
};

/**
 * Copies the old content of a file into the trash before it is replaced. Removes the copy when the original
 * was not replaced; keeps it where the store may have replaced it, or may still do so.
 */
const keepOld = async (context: StageContext, change: Put, next: Next): ReturnType<Next> => {
  const { signal } = context;
  const { open, path } = change;
  const storage = storeOf(open);
  let old = await storage.stat(path, { signal }).catch(errors.ifMissing);
  if (old === undefined) {
    try {
      // A store that fails to show a file for a moment must not overwrite it without a copy.
      return await next({ ...change, createOnly: true });
    } catch (error) {
      if (!(error instanceof errors.AlreadyExistsError)) throw error;
      old = await storage.stat(path, { signal });
    }
  }
  const about = await aboutForTrash(context, open, path);
  const kept = await copyIntoTrash(storage, { path, about, seen: old }, by(context), { signal });
  try {
    await next({ ...change, replaces: old });
    tendTrash(context, open, kept.bytes);
    return undefined;
  } catch (error) {
    if (errors.isRefusal(error) && (await isStill(storage, path, old)))
      await eraseId(storage, kept.id).catch(() => undefined);
    throw error;
  }
};

/** Restores an item under its name or a numbered one. Failures of the cleanup are logged. */
const bringBack = async (context: StageContext, change: Restore): Promise<void> => {
  const { signal, log, done } = context;
  const { open, path: wanted, record } = change;
  const storage = storeOf(open);
  const names = copyNames(wanted.name, record.kind);
  const search = { ...searchIn(context, open, wanted.parent, names), held: wanted };
  const take = async (path: SourcePath): Promise<SourcePath> => {
    if (!path.equals(wanted)) {
      await requireRights({ ...change, path });
      await requireContents(context, { ...change, path });
    }
    try {
      const isNoFolder = record.kind === 'file' && (await open.isSeenNoFolder(path));
      await takeFromTrash(storage, record, path, { isNoFolder, signal });
    } catch (error) {
      if (!(error instanceof errors.AlreadyExistsError && path.equals(wanted))) throw error;
      twin ??= await twinOf(storage, record, wanted, { signal });
      if (twin === undefined) throw error;
    }
    return path;
  };
  // With atomic creates, the twin is looked up only after its name was rejected as taken.
  const { atomicCreate } = storage.capabilities;
  let twin = atomicCreate ? undefined : await twinOf(storage, record, wanted, { signal });
  const path = twin === undefined ? await takeFreeName(search, take) : wanted;
  done.push({ path, bytes: record.bytes });
  try {
    // The description is stored only in the record.
    if (record.kind === 'file') {
      await setAbout(context, open, path, record.about).catch((error: unknown) => {
        if (record.about !== undefined || !isUnreadable(error)) throw error;
      });
    }
    await leaveTrash(storage, record, twin);
  } catch (error) {
    log.warn('The description or the record of a restored item could not follow it.', { error });
  }
};

const AT_ONCE = 8;
/** Items that are erased in one step; in a larger trash each is erased by itself. */
const MOST = 100_000;

/** Moves the trash away in one step and removes it in the background. False when it holds other items. */
const eraseTogether = async (
  context: StageContext,
  { open }: EmptyTrash,
  records: readonly TrashRecord[],
): Promise<boolean> => {
  const { services, holdSources, done, signal } = context;
  const storage = storeOf(open);
  const known = new Set<string>(records.map(({ id }) => id));
  if (!(await listIds(storage, { signal })).every((id) => known.has(id))) return false;
  const all = { storage, path: trashPaths.all };
  const take = async (): Promise<SourcePath> => {
    const folder = await takeAll(storage, known, { signal });
    for (const { path, bytes } of records) done.push({ path, bytes });
    return folder;
  };
  const amount = { bytes: 0, files: 0 };
  const setAmount = async (taken: SourcePath): Promise<void> => {
    if (quotaOf(open, holdSources) === undefined) return;
    try {
      Object.assign(amount, await measured({ signal: new AbortController().signal }, open, taken, 'folder'));
    } catch {
      // Perhaps a sweep is removing it already.
      await services.quotas.forget(quotaKeyOf(open.source));
    }
  };
  const remove = async (): Promise<boolean> => {
    // Waits for a request that restores an item; a later one finds the item gone.
    const taken = await services.locations.hold([all], context, take).catch(errors.ifMissing);
    // Another request may have taken it first, or removed the parent of its new path at that moment.
    if (taken === undefined) return (await listIds(storage, { signal })).length === 0;
    // Only now, since items that arrived meanwhile are in the trash again; also when the client has left.
    await setAmount(taken);
    await services.trash.remove(storage, taken, holdSources);
    return true;
  };
  return freeing(context, open, trashPaths.all, () => amount, remove);
};

/** Erases items one by one. `failures` gets the first failure that kept an item; the others are erased. */
const eraseEach = async (
  context: StageContext,
  { open }: EmptyTrash,
  records: Iterable<TrashRecord> | AsyncIterable<TrashRecord>,
  failures: unknown[],
): Promise<void> => {
  const erase = async (record: TrashRecord): Promise<void> => {
    const part = { type: 'erase', open, path: record.path, record, isPart: true } as const;
    try {
      context.done.push(...(await context.carry(part)));
    } catch (error) {
      if (!errors.isRefusal(error) && !(error instanceof errors.BusyError)) throw error;
      // An item that has left the trash in the meantime is not a failure.
      if (!(error instanceof errors.NotFoundError) && failures.length === 0) failures.push(error);
    }
  };
  await forEachAtOnce(AT_ONCE, records, erase);
};

/**
 * Erases the given items: in one step if the store moves folders atomically and there are no others.
 * @throws the first failure, after all others are erased
 */
const emptyTrash = async (context: StageContext, change: EmptyTrash): Promise<void> => {
  const { open, records } = change;
  const failures: unknown[] = [];
  if (storeOf(open).capabilities.atomicFolderMove === true) {
    const some: TrashRecord[] = [];
    for await (const record of records) {
      some.push(record);
      if (some.length === MOST) await eraseEach(context, change, some.splice(0), failures);
    }
    if (some.length > 0) {
      // On a full disk the folder that takes them cannot be created. A trash that is a volume of its own, or
      // in a root that may not be written, cannot be renamed.
      const isErased = await eraseTogether(context, change, some).catch(errors.ifRefused);
      if (isErased !== true) await eraseEach(context, change, some, failures);
    }
  } else await eraseEach(context, change, records, failures);
  if (failures.length > 0) throw failures[0] as Error;
};

const remove = async (context: StageContext, change: Remove, next: Next): ReturnType<Next> => {
  const { open, path, kind, seen } = change;
  try {
    if (open.source.settings.trash === undefined) return await next(change);
    const storage = storeOf(open);
    const about = kind === 'file' ? await aboutForTrash(context, open, path) : undefined;
    const { bytes } = await putIntoTrash(storage, { path, kind, seen, about }, by(context), context);
    tendTrash(context, open, bytes);
    context.done.push({ path, bytes });
    return undefined;
  } catch (error) {
    // The rest of the folder stays: the response says so.
    if (kind === 'folder' && errors.isPartial(error)) context.done.push({ path });
    throw error;
  }
};

/**
 * Moves removed items, and the old content of replaced files, into the trash where the source has one;
 * restores items, and erases one or all permanently.
 */
export const trash: Stage = async (context, change, next) => {
  if (change.type === 'remove') return remove(context, change, next);
  if (change.type === 'put' && change.createOnly !== true && keepsReplaced(change.open))
    return keepOld(context, change, next);
  if (change.type === 'restore') {
    await bringBack(context, change);
    return undefined;
  }
  if (change.type === 'erase') {
    const { open, path, record } = change;
    open.source.trashRecords.delete(record.id);
    await eraseId(storeOf(open), record.id);
    context.done.push({ path, bytes: record.bytes });
    return undefined;
  }
  if (change.type === 'emptyTrash') {
    await emptyTrash(context, change);
    return undefined;
  }
  return next(change);
};
