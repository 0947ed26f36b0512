import type { Settings } from '../config/settings.ts';
import { AlreadyExistsError, NotFoundError } from '../errors/errors.ts';
import { isRefusal } from '../errors/refusals.ts';
import type { EntryKind, PutOptions, Stat, StorageAdapter } from '../storage/adapter.ts';
import type { Measure } from '../storage/measure.ts';
import { isSameVersion } from '../storage/same-version.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { copyIntoTrash, eraseFromTrash, putIntoTrash, type Remover } from '../trash/trash.ts';
import type { TrashPolicy } from '../trash/sweep.ts';
import type { ActionContext } from './action.ts';
import { announce, report } from './changes.ts';
import { isFree } from './naming.ts';
import type { OpenSource } from './open-source.ts';
import { freeing, moving, quotaKeyOf, storing } from './room.ts';

/** What a source keeps of removed items; undefined: nothing. */
export const trashPolicyOf = ({ trash }: Pick<Settings, 'trash'>): TrashPolicy | undefined =>
  trash === undefined || trash.retentionDays === 0 ? undefined : trash;

/** Has the trash of a source swept where that is due: to be called with every use of it. */
export const tendTrash = (context: ActionContext, { source, storage }: OpenSource, arrived = 0): void => {
  const policy = trashPolicyOf(source.settings);
  if (policy === undefined) return;
  const { trash, quotas } = context.services;
  const onErased = (): void => void quotas.forget(quotaKeyOf(source));
  trash.tend(storage, policy, { hold: context.holdSources, onErased }, arrived);
};

/**
 * Removes an item with its thumbnail: into the trash where the source has one, else for good. The caller has
 * checked the rules and holds the location.
 * @throws NotFoundError, WrongKindError, HttpError of the host, errors of the store
 */
export const removeItem = async (
  context: ActionContext,
  open: OpenSource,
  { path, kind }: { readonly path: SourcePath; readonly kind: EntryKind },
): Promise<void> => {
  const { source, storage } = open;
  const { services, requester, signal } = context;
  const policy = trashPolicyOf(source.settings);
  const change = { type: `${kind}.removed`, source, path } as const;
  await announce(context, change);
  let bytes: number | undefined;
  if (policy !== undefined) {
    ({ bytes } = await moving(context, open, () =>
      putIntoTrash(storage, { path, kind }, by(requester), { signal }),
    ));
    tendTrash(context, open, bytes);
  } else {
    await freeing(context, open, { path, kind }, () =>
      kind === 'file' ? storage.removeFile(path, { signal }) : storage.removeFolder(path, { signal }),
    );
  }
  await services.thumbnails.removed({ source, path });
  await report(context, { ...change, bytes });
};

const by = ({ role, subject }: ActionContext['requester']): Remover => ({
  role,
  subject,
});

/** Whether the old content of replaced files goes into the trash. */
const keepsReplaced = ({ source: { settings } }: OpenSource): boolean =>
  trashPolicyOf(settings) !== undefined && settings.trash?.keepReplaced === true;

/** How a file gets its name: create-only, or over what has the name. */
export type PutMode = Pick<PutOptions, 'createOnly'>;

const lookAt = async (storage: StorageAdapter, path: SourcePath, signal?: AbortSignal) => {
  try {
    return await storage.stat(path, { signal });
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
};

/** Whether the store still shows this version of a file. */
const isStill = async (storage: StorageAdapter, path: SourcePath, version: Stat): Promise<boolean> => {
  const found = await lookAt(storage, path).catch(() => undefined);
  return found?.kind === 'file' && isSameVersion(version, found);
};

/**
 * Has a file replaced by `put`, and its old content copied into the trash before. A copy whose original was
 * not replaced is removed again; where the store may have replaced it, or may do it yet, the copy stays.
 */
const keeping = async <Stored>(
  context: ActionContext,
  open: OpenSource,
  path: SourcePath,
  put: (how: PutMode) => Promise<Stored>,
): Promise<Stored> => {
  const { requester, signal } = context;
  const { storage } = open;
  let old = await lookAt(storage, path, signal);
  if (old === undefined) {
    try {
      // A store that does not show a file for a moment must not let it be replaced unseen.
      return await put({ createOnly: true });
    } catch (error) {
      if (!(error instanceof AlreadyExistsError)) throw error;
      old = await storage.stat(path, { signal });
    }
  }
  const kept = await copyIntoTrash(storage, path, by(requester), { signal });
  try {
    const stored = await put({});
    tendTrash(context, open, kept.bytes);
    return stored;
  } catch (error) {
    if (isRefusal(error) && (await isStill(storage, path, old)))
      await eraseFromTrash(storage, kept).catch(() => undefined);
    throw error;
  }
};

/** What a file takes that may replace another: over one that is not kept, only what it is larger. */
export const needOf = async (
  { signal }: ActionContext,
  open: OpenSource,
  path: SourcePath,
  bytes: number,
): Promise<Measure> => {
  const { storage } = open;
  if (keepsReplaced(open) || (await isFree({ storage, signal }, path))) return { bytes, files: 1 };
  return { bytes: bytes - ((await storage.stat(path, { signal })).size ?? 0), files: 0 };
};

/** A file on its way to its name. */
export interface Putting {
  readonly bytes: number;
  readonly createOnly?: boolean | undefined;
}

/**
 * Gives a file its name by `put`, which says create-only where nothing may have it: within the quota of the
 * source, and with the trash for what it replaces. Every new content of a file comes this way. What may
 * replace a file waits for those that move it or replace it: no version is lost between them, also where the
 * store cannot tell versions apart, and the difference is counted once.
 * @throws QuotaExceededError; what `put` throws; errors of the store
 */
export const putting = async <Stored>(
  context: ActionContext,
  open: OpenSource,
  path: SourcePath,
  { bytes, createOnly }: Putting,
  put: (how: PutMode) => Promise<Stored>,
): Promise<Stored> => {
  const one = { bytes, files: 1 };
  if (createOnly === true)
    return storing(
      context,
      open,
      () => one,
      () => put({ createOnly }),
    );
  const keeps = keepsReplaced(open);
  const { storage } = open;
  return context.services.locations.hold([{ storage, path }], context, () =>
    storing(
      context,
      open,
      () => needOf(context, open, path, bytes),
      () => (keeps ? keeping(context, open, path, put) : put({})),
    ),
  );
};
