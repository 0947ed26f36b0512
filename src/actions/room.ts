import type { Settings } from '../config/settings.ts';
import type { Source } from '../sources/source.ts';
import type { EntryKind } from '../storage/adapter.ts';
import { measure, type Measure } from '../storage/measure.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { type QuotaExceededError, StorageTimeoutError, StorageUnavailableError } from '../errors/errors.ts';
import { doesNotFit, fits, notEnoughRoom } from '../quotas/account.ts';
import type { Quotas, QuotaTarget } from '../quotas/quotas.ts';
import { isTrashRecord } from '../trash/trash-folder.ts';
import type { ActionContext } from './action.ts';
import type { OpenSource } from './open-source.ts';

/** What quotas know a source by. */
export const quotaKeyOf = ({ scope, name }: Pick<Source, 'scope' | 'name'>): string =>
  JSON.stringify([scope ?? null, name]);

/** The quota of a source; undefined: it has none. */
export const quotaOf = (
  { source, storage }: Pick<OpenSource, 'source' | 'storage'>,
  hold: () => () => void,
): QuotaTarget | undefined => {
  const { quota, createThumb, thumbFolderName } = source.settings;
  if (quota?.bytes === undefined && quota?.files === undefined) return undefined;
  const derivedName = createThumb ? thumbFolderName : undefined;
  const key = quotaKeyOf(source);
  return { key, storage, limits: quota, derivedName, ignores: isTrashRecord, hold };
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

/**
 * Refuses a new file of unknown size where nothing more fits in: before the work of making it. @throws
 * QuotaExceededError, errors of the count
 */
export const requireRoomForMore = async (
  { services, signal, holdSources }: ActionContext,
  open: OpenSource,
): Promise<void> => {
  const target = quotaOf(open, holdSources);
  const least = { bytes: 1, files: 1 };
  if (target === undefined) return;
  const taken = await services.quotas.usage(target, signal, least);
  if (!fits(taken, least, target.limits)) throw doesNotFit(taken, least, target.limits);
};

/** Measures an item as quotas count it. */
export const measured = (
  { signal }: Pick<ActionContext, 'signal'>,
  { source, storage }: OpenSource,
  path: SourcePath,
  kind: EntryKind,
): Promise<Measure> => {
  const { createThumb, thumbFolderName } = source.settings;
  return measure(storage, path, kind, { signal, derivedName: createThumb ? thumbFolderName : undefined });
};

/**
 * Lets something be stored in a source that has room for it. `need` is asked only where the source has a
 * quota.
 * @throws QuotaExceededError, and what `need` and `store` throw
 */
export const storing = async <T>(
  context: ActionContext,
  open: OpenSource,
  need: () => Promise<Measure> | Measure,
  store: () => Promise<T>,
): Promise<T> => {
  const target = quotaOf(open, context.holdSources);
  if (target === undefined) return store();
  const { services, signal, keptRoom: kept } = context;
  return services.quotas.withRoom(target, await need(), { signal, kept }, () =>
    store().catch(async (error: unknown) => {
      // The store may have done it all the same.
      if (error instanceof StorageUnavailableError || error instanceof StorageTimeoutError)
        await services.quotas.forget(target.key);
      throw error;
    }),
  );
};

/** Lets something be taken out of a source; the room that it took is free then. */
export const freeing = async <T>(
  context: ActionContext,
  open: OpenSource,
  { path, kind }: { readonly path: SourcePath; readonly kind: EntryKind },
  take: () => Promise<T>,
): Promise<T> => {
  if (quotaOf(open, context.holdSources) === undefined) return take();
  const freed = await measured(context, open, path, kind);
  return context.services.quotas.freeing(quotaKeyOf(open.source), freed, take);
};

/** Gives something another path in a source, which takes no room and may confuse a count. */
export const moving = <T>(context: ActionContext, open: OpenSource, move: () => Promise<T>): Promise<T> =>
  quotaOf(open, context.holdSources) === undefined
    ? move()
    : context.services.quotas.moving(quotaKeyOf(open.source), move);
