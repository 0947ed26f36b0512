import { inTimeLimit, orAborted } from '../basics/concurrency/abort.ts';
import type { Settings } from '../config/settings.ts';
import {
  MovedInPartError,
  type QuotaExceededError,
  StorageTimeoutError,
  StorageUnavailableError,
} from '../errors/errors.ts';
import { doesNotFit, fits, type KeptRoom, notEnoughRoom } from '../operations/quotas/account.ts';
import type { Quotas, QuotaTarget } from '../operations/quotas/quotas.ts';
import type { Source } from '../sources/source.ts';
import type { EntryKind } from '../storage/adapter.ts';
import { measure, type Measure } from '../storage/measure.ts';
import { MOVED_RECORDS } from '../storage/moved/name-events.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { TRASH_RECORDS } from '../storage/trash/trash-folder.ts';
import { trashedPath } from '../storage/trash/trashed.ts';
import type { SourceView } from '../view/source-view.ts';
import { storeOf } from '../view/writable.ts';
import type { ChangeContext, Content, Next, Passage, Stage, Transfer } from './change.ts';
import { isFree } from './names.ts';

export type { KeptRoom } from '../operations/quotas/account.ts';

/** What quotas know a source by. */
export const quotaKeyOf = ({ scope, name }: Pick<Source, 'scope' | 'name'>): string =>
  JSON.stringify([scope ?? null, name]);

/** The paths of what the service keeps for itself. */
const KEPT = new RegExp(`${TRASH_RECORDS.source}|${MOVED_RECORDS.source}`, 'u');

/** The quota of a source; undefined: it has none. */
export const quotaOf = (view: SourceView, hold: () => () => void): QuotaTarget | undefined => {
  const { source } = view;
  const { quota, createThumb, thumbFolderName } = source.settings;
  if (quota?.bytes === undefined && quota?.files === undefined) return undefined;
  const derivedName = createThumb ? thumbFolderName : undefined;
  const key = quotaKeyOf(source);
  return { key, storage: storeOf(view), limits: quota, derivedName, ignores: KEPT, hold };
};

/**
 * The most bytes of an upload that a source can take when `bytes` of them are wanted, before it is known what
 * they replace; infinite without a quota, and where less than was sent of a picture may be stored.
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
  // Only the difference counts, even to a file that is all there is.
  return saveSameFileNameStrategy === 'replace' ? Math.max(most, used.bytes) : Math.max(0, most - used.bytes);
};

/** The refusal of a file that is larger than the room that `roomIn` found. */
export const outOfRoom = (
  { quota, saveSameFileNameStrategy }: Pick<Settings, 'quota' | 'saveSameFileNameStrategy'>,
  room: number,
): QuotaExceededError =>
  notEnoughRoom(quota?.bytes, saveSameFileNameStrategy === 'replace' ? undefined : room);

/** A first count takes as long as the source is large. */
const USAGE_WAIT_MS = 1000;

/** What a source with a quota holds, as far as that is known in a moment. @throws errors of the count */
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
 * Refuses a new file of unknown size where nothing more fits in: before the work of making it. One that
 * replaces another may be smaller.
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

/** Measures an item, or all of the trash, as quotas count it. */
export const measured = (
  { signal }: Pick<ChangeContext, 'signal'>,
  view: SourceView,
  path: SourcePath,
  kind: EntryKind,
): Promise<Measure> => {
  const { createThumb, thumbFolderName } = view.source.settings;
  return measure(storeOf(view), path, kind, {
    signal,
    derivedName: createThumb ? thumbFolderName : undefined,
    ignores: KEPT,
  });
};

/** Whether the old content of replaced files goes into the trash. */
export const keepsReplaced = ({ source: { settings } }: SourceView): boolean =>
  settings.trash?.keepReplaced === true;

/** What fails so has been done in part, or may have been done all the same: no figure says what it changed. */
const mayBeDone = (error: unknown): boolean =>
  error instanceof StorageUnavailableError ||
  error instanceof StorageTimeoutError ||
  error instanceof MovedInPartError;

/** Does what changes a source by a known amount. Where that is not certain, the source is counted again. */
const orCountAgain =
  <T>({ services }: ChangeContext, key: string, work: () => Promise<T>) =>
  async (): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (mayBeDone(error)) await services.quotas.forget(key);
      throw error;
    }
  };

/** Lets something be stored in a source that has room for it. `need` is asked only where it has a quota. */
const storing = async <T>(
  context: ChangeContext,
  open: SourceView,
  need: () => Promise<Measure> | Measure,
  store: () => Promise<T>,
): Promise<T> => {
  const target = quotaOf(open, context.holdSources);
  if (target === undefined) return store();
  const { services, signal, keptRoom: kept } = context;
  const work = orCountAgain(context, target.key, store);
  return services.quotas.withRoom(target, await need(), { signal, kept }, work);
};

/** Lets something be taken out of a source; the room that it took is free then. @throws what `take` throws */
export const freeing = async <T>(
  context: ChangeContext,
  open: SourceView,
  measureIt: () => Promise<Measure> | Measure,
  take: () => Promise<T>,
): Promise<T> => {
  if (quotaOf(open, context.holdSources) === undefined) return take();
  const key = quotaKeyOf(open.source);
  return context.services.quotas.freeing(key, await measureIt(), orCountAgain(context, key, take));
};

/** Gives something another path in a source, which takes no room and may confuse a count. */
const moving = <T>(context: ChangeContext, open: SourceView, move: () => Promise<T>): Promise<T> =>
  quotaOf(open, context.holdSources) === undefined
    ? move()
    : context.services.quotas.moving(quotaKeyOf(open.source), move);

/** What a file takes that may replace another: over one that is not kept, only what it is larger. */
const needOf = async (
  { signal }: Pick<ChangeContext, 'signal'>,
  open: SourceView,
  path: SourcePath,
  bytes: number,
): Promise<Measure> => {
  const storage = storeOf(open);
  if (keepsReplaced(open) || (await isFree({ storage, signal }, path))) return { bytes, files: 1 };
  return { bytes: bytes - ((await storage.stat(path, { signal })).size ?? 0), files: 0 };
};

/**
 * Keeps room for an upload under an id until its bytes have come; undefined without a quota, and for pictures
 * of which less than was sent may be stored.
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

/** Bytes of the content. */
export const sizeOf = (content: Content): number =>
  'staged' in content ? content.staged.size : content.bytes.length;

/** Within one source something only moves; between two it leaves one and enters the other. */
const transferring = (passage: Passage, change: Transfer, next: Next) => {
  const { type, from, open, item } = change;
  const measureIt = (): Promise<Measure> => measured(passage, from, item.path, item.stat.kind);
  const go = (): ReturnType<Next> => next(change);
  if (type === 'copy') return storing(passage, open, measureIt, go);
  if (from.source === open.source) return moving(passage, open, go);
  return storing(passage, open, measureIt, () => freeing(passage, from, measureIt, go));
};

/**
 * Takes the room that a change needs, for all at once: of two that want the last room one gets it; and gives
 * back what a change frees. What fails leaves the count as it was.
 * @throws QuotaExceededError, before anything is stored; errors of the count
 */
export const quota: Stage = (passage, change, next) => {
  const go = (): ReturnType<Next> => next(change);
  if ('item' in change) return transferring(passage, change, next);
  if (change.type === 'restore') return moving(passage, change.open, go);
  if (change.type === 'put') {
    const { open, path, content, createOnly } = change;
    const bytes = sizeOf(content);
    const need = () => (createOnly === true ? { bytes, files: 1 } : needOf(passage, open, path, bytes));
    return storing(passage, open, need, go);
  }
  if (change.type === 'erase') {
    const { open, record } = change;
    return freeing(passage, open, () => measured(passage, open, trashedPath(record), record.kind), go);
  }
  if (change.type !== 'remove') return go();
  const { open, path, kind } = change;
  // What goes into the trash still takes its room.
  return open.source.settings.trash === undefined
    ? freeing(passage, open, () => measured(passage, open, path, kind), go)
    : moving(passage, open, go);
};
