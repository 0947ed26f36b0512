import { copyNames } from '../basics/content/file-name.ts';
import type {
  Change,
  Describe,
  MakeFolder,
  StageContext,
  Put,
  Remove,
  Stage,
  Stored,
  Transfer,
} from './change.ts';
import { storeEdit, storeFiles, storeReplacement } from './create.ts';
import { searchIn, takeFreeName } from './names.ts';
import { sizeOf } from './quota.ts';
import { requireContents, requireRights } from './rights.ts';
import { relocate, transferAcross } from './transfer.ts';
import * as errors from '../errors/errors.ts';
import type { Stat } from '../storage/adapter.ts';
import { streamOf } from '../storage/content.ts';
import { copyFolder } from '../storage/folders.ts';
import { isSameVersion } from '../storage/entry.ts';
import { placeStaged, stageContent } from '../storage/staging.ts';
import { storeOf } from '../view/writable.ts';

const makeFolder = async (context: StageContext, { open, path }: MakeFolder): Promise<void> => {
  const { services, signal, done } = context;
  const storage = storeOf(open);
  try {
    // Waits for a folder of this name that is moving away.
    const options = { isOfFile: true, signal };
    await services.locations.hold([{ storage, path }], options, () => storage.makeFolder(path, { signal }));
  } catch (error) {
    throw error instanceof errors.AlreadyExistsError
      ? new errors.AlreadyExistsError({ details: { name: path.name }, cause: error })
      : error;
  }
  done.push({ path });
};

const remove = async ({ signal, done }: StageContext, { open, path, kind, seen }: Remove): Promise<void> => {
  const storage = storeOf(open);
  await (kind === 'file'
    ? storage.removeFile(path, { seen, signal })
    : storage.removeFolder(path, { signal }));
  done.push({ path });
};

/** Whether a partly moved folder exists at its target. A file may be at either path, or at both. */
const hasArrived = async ({ open, item, path }: Transfer, error: unknown): Promise<boolean> => {
  if (!(error instanceof errors.MovedInPartError) || item.kind === 'file') return false;
  const found = await storeOf(open)
    .stat(path)
    .catch(() => undefined);
  return found?.kind === 'folder';
};

const move = async (context: StageContext, change: Transfer): Promise<void> => {
  const { from, open, item, path } = change;
  const done = { path, bytes: item.stat.size };
  try {
    const go = from.source === open.source ? relocate : transferAcross;
    context.done.push({ ...done, ...(await go(context, change)) });
  } catch (error) {
    if (await hasArrived(change, error)) context.done.push(done);
    throw error;
  }
};

/** Copies inside one source with the store's own operations. */
const copyInside = async (
  { signal }: StageContext,
  { open, item: { path: from, stat }, path: to }: Transfer,
): Promise<undefined> => {
  const storage = storeOf(open);
  if (stat.kind === 'folder') await copyFolder(storage, from, to, { signal });
  else {
    const isNoFolder = await open.isSeenNoFolder(to);
    await storage.copyFile(from, to, { createOnly: true, seen: stat, isNoFolder, signal });
  }
};

/** Copies an item; a taken name gets a number. */
const copy = async (context: StageContext, change: Transfer): Promise<void> => {
  const { open, from, item, path: wanted } = change;
  const { kind, size: bytes } = item.stat;
  const isInside = from.source === open.source;
  const search = {
    ...searchIn(context, open, wanted.parent, copyNames(wanted.name, kind)),
    original: { storage: storeOf(from), path: item.path },
    first: isInside && wanted.equals(item.path) ? 1 : 0,
    isCostly: !isInside,
  };
  const copied = await takeFreeName(search, async (to) => {
    const one = { ...change, path: to };
    if (!to.equals(wanted)) {
      await requireRights(one);
      await requireContents(context, one);
    }
    return { path: to, bytes, ...(await (isInside ? copyInside : transferAcross)(context, one)) };
  });
  context.done.push(copied);
};

/**
 * Replaces a file only while it is this version. Where the store has no conditional write, the content is
 * staged first, and the version is compared immediately before the commit.
 * @throws ChangedMeanwhileError; NotFoundError when it was removed; nothing is stored then
 */
const putOver = async (
  { signal }: StageContext,
  { open, path, createOnly, replaces }: Put,
  bytes: Buffer,
  version: Stat,
): Promise<Stat> => {
  if (createOnly === true) throw new errors.NotFoundError();
  const storage = storeOf(open);
  if (storage.capabilities.ifMatch && version.etag !== undefined)
    return storage.write(path, streamOf(bytes), {
      size: bytes.length,
      ifMatch: version.etag,
      replaces: replaces ?? version,
      signal,
    });
  const staged = await stageContent(storage, streamOf(bytes), { near: path.parent, signal });
  try {
    const now = await storage.stat(path, { signal });
    if (!isSameVersion(version, now)) throw new errors.ChangedMeanwhileError();
    return await staged.commit(path, { replaces: now, signal });
  } finally {
    await staged.discard();
  }
};

const write = (context: StageContext, put: Put): Promise<Stat> => {
  const { signal } = context;
  const { open, path, content, createOnly, isNoFolder, replaces } = put;
  const storage = storeOf(open);
  const how = { ...(createOnly === true ? { createOnly } : {}), isNoFolder, replaces, signal };
  if ('staged' in content) return placeStaged(content.staged, content.stagedIn, storage, path, how);
  const { bytes, version } = content;
  if (version !== undefined) return putOver(context, put, bytes, version);
  return storage.write(path, streamOf(bytes), { ...how, size: bytes.length });
};

const put = async (context: StageContext, change: Put): Promise<void> => {
  const { path, content, createOnly = false } = change;
  const stat = await write(context, change);
  const inspection = 'staged' in content ? content.inspection : undefined;
  const stored: Stored = { path, stat, bytes: sizeOf(content), replaced: !createOnly, inspection };
  context.done.push(stored);
  change.onStored?.(stored);
};

const describe = async ({ services, done }: StageContext, { open, path, patch }: Describe): Promise<void> => {
  const { before, after: about } = await services.about.patch({ storage: storeOf(open), path }, patch);
  const [old, present] = [before.focalPoint, about.focalPoint];
  done.push({ path, about, isFocusMoved: old?.x !== present?.x || old?.y !== present?.y });
};

const carry = async (context: StageContext, change: Change): Promise<void> => {
  switch (change.type) {
    case 'makeFolder':
      return makeFolder(context, change);
    case 'remove':
      return remove(context, change);
    case 'move':
    case 'rename':
      return move(context, change);
    case 'copy':
      return copy(context, change);
    case 'create':
      return storeFiles(context, change);
    case 'replace':
      return storeReplacement(context, change);
    case 'edit':
      return storeEdit(context, change);
    case 'put':
      return put(context, change);
    case 'describe':
      return describe(context, change);
    case 'document':
      context.done.push({ path: change.path, bytes: await change.make() });
      return;
    // Done by the trash stage.
    case 'erase':
    case 'restore':
    case 'emptyTrash':
      return;
  }
};

/** Carries the change out in the store. Create-only operations decide the names of new items and copies. */
export const store: Stage = async (context, change) => {
  await carry(context, change);
  return undefined;
};
