import { inTimeLimit, orAborted } from '../basics/concurrency/abort.ts';
import type { Settings } from '../config/settings.ts';
import * as errors from '../errors/errors.ts';
import { doesNotFit, fits, type KeptRoom, type Need, notEnoughRoom } from '../operations/quotas/account.ts';
import type { Quotas, QuotaTarget, Work } from '../operations/quotas/quotas.ts';
import type { Source } from '../sources/source.ts';
import type { EntryKind } from '../storage/adapter.ts';
import { measure, type Measure } from '../storage/measure.ts';
import { MOVED_RECORDS } from '../storage/moved/name-events.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { TRASH_RECORDS } from '../storage/trash/trash-folder.ts';
import { trashedPath } from '../storage/trash/trashed.ts';
import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';
import type { ChangeContext, Content, Next, StageContext, Stage, Transfer } from './change.ts';
import { isFree } from './names.ts';

export type { KeptRoom } from '../operations/quotas/account.ts';

export const quotaKeyOf = ({ scope, name }: Pick<Source, 'scope' | 'name'>): string =>
  JSON.stringify([scope ?? null, name]);

const RECORDS = new RegExp(`${TRASH_RECORDS.source}|${MOVED_RECORDS.source}`, 'u');

/** What quotas do not count: the folder of thumbnails, and records of the service. */
const uncountedIn = ({ settings: { createThumb, thumbFolderName } }: Source) => ({
  derivedName: createThumb ? thumbFolderName : undefined,
  ignores: RECORDS,
});

export const quotaOf = (view: SourceView, hold: () => () => void): QuotaTarget | undefined => {
  const { source } = view;
  const { quota } = source.settings;
  if (quota?.bytes === undefined && quota?.files === undefined) return undefined;
  return { key: quotaKeyOf(source), storage: storeOf(view), limits: quota, ...uncountedIn(source), hold };
};

/**
 * Upper limit in bytes of an upload to a source, for a wanted size of `bytes`, before it is known what it
 * replaces. Infinite without a quota, and where a picture may be stored smaller than it was sent.
 * @throws errors of the count
 */
export const roomIn = async (
  quotas: Quotas,
  target: QuotaTarget | undefined,
  { saveSameFileNameStrategy, uploadImages }: Pick<Settings, 'saveSameFileNameStrategy' | 'uploadImages'>,
  { bytes, signal }: { readonly bytes: number; readonly signal: AbortSignal },
): Promise<number> => {
  const most = target?.limits.bytes;
  if (target === undefined || most === undefined || uploadImages !== undefined) return Infinity;
  const used = await quotas.usage(target, signal, { bytes, files: 1 });
  // A replacement counts by the difference in size, even to a file that uses the whole quota.
  return saveSameFileNameStrategy === 'replace' ? Math.max(most, used.bytes) : Math.max(0, most - used.bytes);
};

/** The error for a file larger than the limit that `roomIn` returned. */
export const outOfRoom = (
  { quota, saveSameFileNameStrategy }: Pick<Settings, 'quota' | 'saveSameFileNameStrategy'>,
  room: number,
): errors.QuotaExceededError =>
  notEnoughRoom(quota?.bytes, saveSameFileNameStrategy === 'replace' ? undefined : room);

/** Longest wait for the usage: the first count of a large source takes longer. */
const USAGE_WAIT_MS = 1000;

/** Usage of a source with a quota, where it is known within a second. @throws errors of the count */
export const usageOf = async (
  { services, signal, holdSources }: ChangeContext,
  view: SourceView,
): Promise<Measure | undefined> => {
  const target = quotaOf(view, holdSources);
  return (
    target &&
    inTimeLimit(USAGE_WAIT_MS, signal, (limited) =>
      orAborted(services.quotas.usage(target, limited), limited),
    )
  );
};

/**
 * Rejects a new file of unknown size when the quota is full, before the work of making it. Does not reject
 * where it may replace a larger file.
 * @throws QuotaExceededError, errors of the count
 */
export const requireRoomForMore = async (
  { services, signal, holdSources }: ChangeContext,
  open: SourceView,
  path: SourcePath,
): Promise<void> => {
  const target = quotaOf(open, holdSources);
  const least = { bytes: 1, files: 1 };
  if (target === undefined) return;
  const mayReplace = open.source.settings.saveSameFileNameStrategy === 'replace';
  if (mayReplace && !(await isFree({ storage: storeOf(open), signal }, path))) return;
  const taken = await services.quotas.usage(target, signal, least);
  if (!fits(taken, least, target.limits)) throw doesNotFit(taken, least, target.limits);
};

/** Measures an item, or the whole trash, as quotas count it. */
export const measured = (
  { signal }: Pick<ChangeContext, 'signal'>,
  view: SourceView,
  path: SourcePath,
  kind: EntryKind,
): Promise<Measure> => measure(storeOf(view), path, kind, { signal, ...uncountedIn(view.source) });

/** Whether the source keeps the old content of replaced files in the trash. */
export const keepsReplaced = ({ source: { settings } }: SourceView): boolean =>
  settings.trash?.keepReplaced === true;

/** Errors after which the change may have been done, wholly or in part. */
const UNCERTAIN = [errors.StorageUnavailableError, errors.StorageTimeoutError, errors.MovedInPartError];
/** The same for a change of many files: the store may have done a part before it rejected the rest. */
const PARTIAL = [...UNCERTAIN, errors.StorageDeniedError, errors.BusyError];

/** A change of known size, which is uncertain after an abort too. */
const orUncertain =
  <T>({ signal }: ChangeContext, work: () => Promise<T>, isOfMany = false): Work<T> =>
  async (onUncertain) => {
    try {
      return await work();
    } catch (error) {
      const kinds = isOfMany ? PARTIAL : UNCERTAIN;
      if (signal.aborted || kinds.some((kind) => error instanceof kind)) onUncertain();
      throw error;
    }
  };

/**
 * Stores something in a source if the quota has space for it. Calls `need` only where there is a quota, and
 * `stored` afterwards, where another amount may have been stored.
 */
const storing = async <T>(
  context: ChangeContext,
  open: SourceView,
  need: () => Promise<Need> | Need,
  store: () => Promise<T>,
  stored?: () => Measure | undefined,
): Promise<T> => {
  const target = quotaOf(open, context.holdSources);
  if (target === undefined) return store();
  const { services, signal, keptRoom: kept } = context;
  const work = orUncertain(context, store);
  return services.quotas.withRoom(target, await need(), { signal, kept, stored }, work);
};

/** Takes the item at a path out of a source and frees the measured space. @throws errors of `take` */
export const freeing = async <T>(
  context: ChangeContext,
  open: SourceView,
  path: SourcePath,
  measureIt: () => Promise<Measure> | Measure,
  take: () => Promise<T>,
): Promise<T> => {
  if (quotaOf(open, context.holdSources) === undefined) return take();
  const key = quotaKeyOf(open.source);
  const amount = await measureIt();
  const work = orUncertain(context, take, amount.files > 1);
  return context.services.quotas.freeing(key, path.toString(), amount, work);
};

/** Moves something inside a source, which needs no space but may disturb a running count. */
const moving = <T>(context: ChangeContext, open: SourceView, move: () => Promise<T>): Promise<T> => {
  if (quotaOf(open, context.holdSources) === undefined) return move();
  const key = quotaKeyOf(open.source);
  // Where stores move by copying, a failed move may leave everything at both paths.
  return context.services.quotas.moving(key, orUncertain(context, move));
};

/** Space for a file that may replace another: the difference in size, unless the trash keeps the old one. */
const needOf = async (
  { signal }: Pick<ChangeContext, 'signal'>,
  open: SourceView,
  path: SourcePath,
  bytes: number,
): Promise<Need> => {
  const storage = storeOf(open);
  if (keepsReplaced(open) || (await isFree({ storage, signal }, path))) return { bytes, files: 1 };
  const { size = 0 } = await storage.stat(path, { signal });
  return { bytes: bytes - size, files: 0, at: path.toString() };
};

/**
 * Reserves space for an upload under an id until its bytes have arrived. Undefined without a quota, and for
 * pictures that may be stored smaller than they were sent.
 * @throws QuotaExceededError, errors of the count
 */
export const keepRoom = async (
  context: ChangeContext,
  open: SourceView,
  path: SourcePath,
  { id, bytes }: { readonly id: string; readonly bytes: number },
): Promise<KeptRoom | undefined> => {
  const target = quotaOf(open, context.holdSources);
  if (target === undefined) return undefined;
  const isReplacing = open.source.settings.saveSameFileNameStrategy === 'replace';
  const need = isReplacing ? await needOf(context, open, path, bytes) : { bytes, files: 1 };
  return context.services.quotas.keep(target, id, need, context.signal);
};

export const sizeOf = (content: Content): number =>
  'staged' in content ? content.staged.size : content.bytes.length;

/** Files that enter the folder while the store copies it may be in the copy, which is measured as well. */
const copyingFolder = <T>(context: StageContext, { open, item }: Transfer, copy: () => Promise<T>) => {
  let most: Measure = { bytes: 0, files: 0 };
  const measureAt = async (path: SourcePath): Promise<Measure> => {
    const { bytes, files } = await measured(context, open, path, 'folder');
    most = { bytes: Math.max(bytes, most.bytes), files: Math.max(files, most.files) };
    return most;
  };
  const work = async (): Promise<T> => {
    const result = await copy();
    const made = context.done.at(-1)?.path;
    const forget = (): Promise<void> => context.services.quotas.forget(quotaKeyOf(open.source));
    if (made !== undefined) await measureAt(made).catch(forget);
    return result;
  };
  return storing(
    context,
    open,
    () => measureAt(item.path),
    work,
    () => most,
  );
};

/** Within one source nothing is added; between two, a move frees space in one and needs it in the other. */
const transferring = (context: StageContext, change: Transfer, next: Next) => {
  const { type, from, open, item } = change;
  const measureIt = (): Promise<Measure> => measured(context, from, item.path, item.stat.kind);
  const go = (): ReturnType<Next> => next(change);
  const stored = (): Measure | undefined => context.done.at(-1)?.stored;
  const isInside = from.source === open.source;
  if (type === 'copy' && isInside && item.stat.kind === 'folder') return copyingFolder(context, change, go);
  if (type === 'copy') return storing(context, open, measureIt, go, stored);
  if (isInside) return moving(context, open, go);
  return storing(context, open, measureIt, () => freeing(context, from, item.path, measureIt, go), stored);
};

/**
 * Reserves the space of a change atomically: of two changes that need the last space one gets it. Releases
 * the space that a change frees. A failed change leaves the usage as it was.
 * @throws QuotaExceededError, before anything is stored; errors of the count
 */
export const quota: Stage = (context, change, next) => {
  const go = (): ReturnType<Next> => next(change);
  if ('item' in change) return transferring(context, change, next);
  if (change.type === 'restore') return moving(context, change.open, go);
  if (change.type === 'put') {
    const { open, path, content, createOnly } = change;
    const bytes = sizeOf(content);
    const need = () => (createOnly === true ? { bytes, files: 1 } : needOf(context, open, path, bytes));
    return storing(context, open, need, go);
  }
  if (change.type === 'erase') {
    const { open, record } = change;
    const item = trashedPath(record);
    return freeing(context, open, item, () => measured(context, open, item, record.kind), go);
  }
  if (change.type !== 'remove') return go();
  const { open, path, kind } = change;
  // Items in the trash still count.
  return open.source.settings.trash === undefined
    ? freeing(context, open, path, () => measured(context, open, path, kind), go)
    : moving(context, open, go);
};
