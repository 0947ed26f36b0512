import { copyNames } from '../../../basics/content/file-name.ts';
import * as errors from '../../../errors/errors.ts';
import { giveFreeName } from '../../support/free-names.ts';
import { decomposed } from '../../support/spellings.ts';
import type { OperationOptions, RemoveFileOptions, Stat, WriteOptions } from '../../../storage/adapter.ts';
import { isSameVersion } from '../../../storage/entry.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { isStale, isTempName, newAsideName } from '../core/temporary.ts';
import { errorOfStatus } from './errors.ts';
import { isSuccess } from './list.ts';
import type { Names } from '../paths/session.ts';
import { PASSING, type Change, type Outcome } from './requests.ts';
import type { Store } from './store.ts';

/** Statuses that another client may cause, which replaces the file or works in the folder. */
const MAY_PASS: ReadonlySet<number> = new Set([403, 404, 409, 500, ...PASSING]);
/** Rejections of MOVE to a taken name by servers that replace nothing: Nutstore, Cloudreve, AList, 1&1. */
const REPLACES_NOTHING: ReadonlySet<number> = new Set([400, 405, 409, 500]);

/**
 * Whether a rejected MOVE may mean that the new name has been taken, for which servers use many statuses; not
 * a full disk or an unreachable other server, after which a partly moved item may have the name.
 */
const mayBeTaken = (status: number): boolean => status <= 500;

/** Checks twice, because a single "not found" may be wrong. */
export const isGone = async ({ resources }: Store, path: SourcePath): Promise<boolean> =>
  !(await resources.exists(path, {})) && !(await resources.exists(path, {}));

type Move = Change & { readonly overwrite: 'F' | 'T' };

const moveOnce = (store: Store, { from, to }: Names, kind: 'file' | 'folder', change: Move) => {
  const outcome = async (): Promise<Outcome> => {
    if (!(await isGone(store, from))) return 'untouched';
    return (await store.resources.exists(to, {})) ? 'done' : 'unknown';
  };
  return store.resources.transfer('MOVE', { from, to }, kind, { ...change, outcome });
};

/** Moves an item that has a hidden name back; later, and to a numbered name if necessary, when that fails. */
const comeBack = async (store: Store, { from, to }: Names, kind: 'file' | 'folder'): Promise<void> => {
  const returning = moveOnce(store, { from, to }, kind, { overwrite: 'F' });
  if (!(await returning.then(isSuccess, () => false)))
    store.leftovers.later(0, () => giveBack(store, from, to, kind));
};

/**
 * Moves an item. AList and OpenList first move it to the other folder under its old name, and replace an item
 * of that name there: then it gets a hidden name before. Returns the last status.
 */
const move = async (store: Store, { from, to }: Names, kind: 'file' | 'folder', change: Move) => {
  const keepsName = from.parent.equals(to.parent) || from.name === to.name || isTempName(from.name);
  if (keepsName || !(await store.resources.exists(to.parent.below(from.name), change)))
    return moveOnce(store, { from, to }, kind, change);
  const name = newAsideName();
  let [at, status] = [from, 0];
  try {
    for (const next of [from.parent.below(name), to.parent.below(name), to]) {
      const overwrite = next === to ? change.overwrite : 'F';
      status = await moveOnce(store, { from: at, to: next }, kind, { ...change, overwrite });
      if (!isSuccess(status)) break;
      at = next;
    }
    return status;
  } finally {
    if (at !== from && at !== to) await comeBack(store, { from: at, to: from }, kind);
  }
};

/** Runs the creation of a name under a lock of this process, and a reservation against other processes. */
const reserved = (
  store: Store,
  to: SourcePath,
  options: OperationOptions,
  work: (options: OperationOptions) => Promise<void>,
): Promise<void> => store.lock(to, options, () => store.reservations.hold(to, options, work));

/** Renames a hidden entry, if it exists, back to its name, or to a numbered one when that has been taken. */
const giveBack = async (store: Store, hidden: SourcePath, path: SourcePath, kind: 'file' | 'folder') => {
  const give = kind === 'folder' ? giveFolderName : giveName;
  if (await isGone(store, hidden)) return true;
  return giveFreeName(copyNames(path.name, kind), (name) =>
    give(store, { from: hidden, to: path.parent.below(name) }, { createOnly: true }),
  );
};

/**
 * Replaces a file by moving it aside first, where MOVE replaces nothing. After a failure, also one that was
 * reported after the move, it comes back. Returns the status of the MOVE; undefined when the file cannot be
 * moved aside. Called under the lock of the name.
 */
const replaceByAside = async (store: Store, names: Names): Promise<number | undefined> => {
  const { to } = names;
  const aside = to.parent.below(newAsideName());
  let isReplaced = false;
  try {
    if (!isSuccess(await move(store, { from: to, to: aside }, 'file', { overwrite: 'F' }))) return undefined;
    const status = await move(store, names, 'file', { overwrite: 'F' });
    isReplaced = isSuccess(status);
    store.replacesNothing ||= isReplaced;
    return status;
  } finally {
    if (isReplaced) await store.leftovers.remove({ path: aside, kind: 'file' });
    else await comeBack(store, { from: aside, to }, 'file');
  }
};

/** MOVE over a file, after one without overwriting was rejected; returns the last status. */
const giveOver = async (
  store: Store,
  names: Names,
  { status, found, signal }: OperationOptions & { readonly status: number; readonly found: Stat | undefined },
): Promise<number> => {
  // Servers that remove a target before the move reject each other's steps; the content is complete then.
  const again = (): Promise<boolean> => store.resources.exists(names.from, { signal });
  const isPassing = (one: number): boolean => MAY_PASS.has(one);
  const patience = store.replacesNothing ? {} : { isPassing, again };
  const last =
    status === 412 || isPassing(status)
      ? await move(store, names, 'file', { ...patience, signal, overwrite: 'T' })
      : status;
  if (isSuccess(last)) store.replacesNothing = false;
  const isInTheWay = found !== undefined && REPLACES_NOTHING.has(last);
  return (isInTheWay ? await replaceByAside(store, names) : undefined) ?? last;
};

/** MOVE of a file: first without overwriting; then, if wanted, over a target that is a file. */
export const giveName = async (
  store: Store,
  names: Names,
  options: Pick<WriteOptions, 'createOnly' | 'derived' | 'signal'>,
): Promise<void> => {
  const { from, to } = names;
  const isNew = options.createOnly === true;
  // The item that had the name when the server rejected it may be gone by now.
  const requireFree = (found: Stat | undefined, isRefused = false): void => {
    if (isNew && (found !== undefined || isRefused)) throw new errors.AlreadyExistsError();
    if (found?.kind === 'folder') throw new errors.WrongKindError();
  };
  const give = async ({ signal }: OperationOptions): Promise<void> => {
    const isDirect = options.derived === true && !isNew;
    if (isDirect && isSuccess(await move(store, names, 'file', { signal, overwrite: 'T' }))) return;
    if (!store.knowsOverwrite || decomposed(to.name) !== undefined)
      requireFree(await store.find(to, { signal }));
    const status = await store.intoFolder(to, { signal }, () =>
      move(store, names, 'file', { signal, overwrite: 'F' }),
    );
    if (isSuccess(status)) return;
    const found = mayBeTaken(status) ? await store.find(to, { signal }) : undefined;
    if (found !== undefined && status === 412) store.knowsOverwrite = true;
    requireFree(found, status === 412);
    const last = isNew ? status : await giveOver(store, names, { status, found, signal });
    if (!isSuccess(last)) throw errorOfStatus({ method: 'MOVE', path: from }, last);
  };
  await (isNew ? reserved(store, to, options, give) : store.lock(to, options, () => give(options)));
};

/** MOVE of a folder to a name that must be free. @throws AlreadyExistsError */
export const giveFolderName = (store: Store, names: Names, options: OperationOptions): Promise<void> =>
  reserved(store, names.to, options, async ({ signal }) => {
    const { from, to } = names;
    const isFree = async (): Promise<boolean> => (await store.find(to, { signal })) === undefined;
    if (!(await isFree())) throw new errors.AlreadyExistsError();
    const status = await store.intoFolder(to, { signal }, () =>
      move(store, names, 'folder', { overwrite: 'F', signal }),
    );
    if (isSuccess(status)) return;
    // After a failure of the server, a part of the folder may have the name.
    if (status === 412 || (status < 500 && !(await isFree()))) throw new errors.AlreadyExistsError();
    throw errorOfStatus({ method: 'MOVE', path: from }, status);
  });

/** Removes a file, or a folder tree. @throws NotFoundError, WrongKindError, ChangedMeanwhileError */
export const remove = (
  store: Store,
  path: SourcePath,
  kind: 'file' | 'folder',
  { signal, ifUnchanged }: RemoveFileOptions,
): Promise<void> =>
  store.lock(path, { signal }, async () => {
    const { resources } = store;
    const requireUnchanged = async (): Promise<Stat> => {
      const found = await store.stat(path, { signal });
      if (found.kind !== kind) throw new errors.WrongKindError();
      if (ifUnchanged !== undefined && !isSameVersion(found, ifUnchanged))
        throw new errors.ChangedMeanwhileError();
      return found;
    };
    const { etag } = await requireUnchanged();
    const send = (headers: Readonly<Record<string, string>>): Promise<number> => {
      const outcome = async (): Promise<Outcome> => ((await isGone(store, path)) ? 'done' : 'untouched');
      // Servers that remove entry by entry fail when others add entries to the folder meanwhile.
      const isPassing = (status: number): boolean =>
        PASSING.has(status) || (kind === 'folder' && MAY_PASS.has(status));
      const again = (): Promise<boolean> => resources.exists(path, { signal });
      return resources.act('DELETE', path, kind, { signal, headers, outcome, isPassing, again });
    };
    const isGuarded = ifUnchanged !== undefined && etag !== undefined;
    let status = await send(isGuarded ? { 'if-match': etag } : {});
    // Some servers compare with another ETag than the one they report.
    if (status === 412 && isGuarded && (await requireUnchanged()).etag === etag) status = await send({});
    if (!isSuccess(status)) {
      // Another client may have removed entries of the folder that the server was about to remove.
      if (kind === 'folder' && (await isGone(store, path))) throw new errors.NotFoundError();
      throw errorOfStatus({ method: 'DELETE', path }, status);
    }
    resources.spellings.forget(path);
  });

/** Counts all entries of the server, including those that listings leave out. @throws NotEmptyError */
const requireEmpty = async ({ resources }: Store, path: SourcePath, options: OperationOptions) => {
  for await (const batch of resources.members(path, options)) {
    const isEmpty = batch.every(({ isSelf, stat, serverTime }) => {
      if (isSelf) return true;
      return stat !== undefined && isTempName(stat.name) && isStale(stat.name, stat.modifiedAt, serverTime);
    });
    if (!isEmpty) throw new errors.NotEmptyError();
  }
};

/**
 * Removes an empty folder. DELETE would remove all contents, including a file that arrives after the check.
 * So the folder first gets a hidden name, where nothing can arrive, and is checked again. Entries that
 * arrived in between become visible again under the folder's old name, or a numbered one.
 * @throws NotEmptyError
 */
export const removeEmptyFolder = async (
  store: Store,
  path: SourcePath,
  options: OperationOptions,
): Promise<void> => {
  await requireEmpty(store, path, options);
  // Never counts as a leftover: after a kill in between, the content is still there.
  const hidden = path.parent.below(newAsideName());
  const showAgain = (): Promise<boolean> => giveBack(store, hidden, path, 'folder');
  try {
    const { signal } = options;
    await store.lock(path, options, async () => {
      const status = await move(store, { from: path, to: hidden }, 'folder', { overwrite: 'F', signal });
      if (!isSuccess(status)) throw errorOfStatus({ method: 'MOVE', path }, status);
    });
    await requireEmpty(store, hidden, {});
  } catch (error) {
    if (!(await showAgain().catch(() => false))) store.leftovers.later(0, showAgain);
    throw error;
  }
  await store.leftovers.remove({ path: hidden, kind: 'folder' });
};
