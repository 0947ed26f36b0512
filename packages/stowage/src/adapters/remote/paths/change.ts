import {
  AlreadyExistsError,
  ChangedMeanwhileError,
  ifMissing,
  NotEmptyError,
  StorageDeniedError,
  WrongKindError,
} from '../../../errors/errors.ts';
import type { OperationOptions, PutOptions, RemoveFileOptions } from '../../../storage/adapter.ts';
import { isSameVersion } from '../../../storage/entry.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { isStale, isTempName, type Leftover, newTempName } from '../core/temporary.ts';
import { type Names, type PathSession, refusalOf, removeTemporary, removeTree } from './session.ts';
import type { PathStore } from './store.ts';
import { isElsewhere, requireFree } from './write.ts';

type Store = PathStore<PathSession>;

/** How long a change whose answer was lost may take to be seen on the server. */
const LATE_MS = 60_000;

/** @throws NotFoundError, WrongKindError, ChangedMeanwhileError */
export const removeFile = (store: Store, path: SourcePath, options: RemoveFileOptions): Promise<void> =>
  store.lock(path, options, () =>
    store.run(options, async (session) => {
      const found = await store.stat(session, path);
      if (found.kind === 'folder') throw new WrongKindError();
      if (options.ifUnchanged !== undefined && !isSameVersion(found, options.ifUnchanged))
        throw new ChangedMeanwhileError();
      await session.unlink(path);
      store.spellings.forget(path);
    }),
  );

const requireFolder = async (store: Store, session: PathSession, path: SourcePath): Promise<void> => {
  if (path.isRoot) throw new StorageDeniedError({ detail: 'the root is not removed' });
  if ((await store.stat(session, path)).kind === 'file') throw new WrongKindError();
};

/** What a killed process has left in a folder long ago. */
const staleIn = async (session: PathSession, folder: SourcePath): Promise<readonly Leftover[]> => {
  const stale: Leftover[] = [];
  for await (const page of session.entries(folder))
    for (const { written, found } of page)
      if (isTempName(written) && isStale(written, found.modifiedAt, undefined))
        stale.push({ path: folder.below(written), kind: found.kind === 'folder' ? 'folder' : 'file' });
  return stale;
};

/** The server decides whether it is empty. @throws NotEmptyError, NotFoundError, WrongKindError */
export const removeEmptyFolder = (store: Store, path: SourcePath, options: OperationOptions): Promise<void> =>
  store.run(options, async (session) => {
    await requireFolder(store, session, path);
    const removed = async (): Promise<unknown> => {
      try {
        await session.rmdir(path);
        return undefined;
      } catch (error) {
        if (!store.isPlainRefusal(error)) throw error;
        return error;
      }
    };
    const refusal = await removed();
    if (refusal === undefined) return;
    const stale = await staleIn(session, path);
    for (const one of stale) await removeTemporary(session, one);
    if (stale.length > 0 && (await removed()) === undefined) return;
    throw new NotEmptyError({ cause: refusal });
  });

/**
 * Gives a folder a hidden name. When the answer is lost, a look shows whether the folder has it. A rename
 * that takes effect only afterwards is undone.
 */
const hide = async (store: Store, { from, to }: Names, options: OperationOptions): Promise<void> => {
  let isAsked = false;
  const hiding = store.lock(from, options, () =>
    store.run(options, async (session) => {
      await requireFolder(store, session, from);
      isAsked = true;
      await session.rename({ from, to });
    }),
  );
  await hiding.catch(async (error: unknown) => {
    if (!isAsked || refusalOf(error) !== undefined) throw error;
    const looking = store.run({}, async (session) => (await session.look(to)) !== undefined);
    const isHidden = await looking.catch(() => undefined);
    if (isHidden === true) return;
    const since = isHidden === undefined ? 0 : Date.now() + LATE_MS;
    store.leftovers.later(since, () => store.showAgain({ from: to, to: from }, 'folder'));
    throw error;
  });
};

/**
 * Takes a folder out of sight in one step, and then removes it with all it holds. What the server does not
 * remove is shown again, under its old name or a numbered one.
 */
export const removeFolder = async (
  store: Store,
  path: SourcePath,
  options: OperationOptions,
): Promise<void> => {
  if (path.isRoot) throw new StorageDeniedError({ detail: 'the root is not removed' });
  const hidden = path.parent.below(newTempName());
  await hide(store, { from: path, to: hidden }, options);
  try {
    // It is removed for everybody by now: that cannot be broken off any more.
    await store.run({}, (session) => removeTree(session, hidden, session.pathOf(hidden)).catch(ifMissing));
  } catch (error) {
    const names = { from: hidden, to: path };
    const task = (): Promise<boolean> => store.showAgain(names, 'folder');
    if (!(await task())) store.leftovers.later(0, task);
    throw store.isPlainRefusal(error)
      ? new StorageDeniedError({ detail: 'the server keeps something in the folder', cause: error })
      : error;
  }
};

/** @see StorageAdapter.moveFile */
export const moveFile = (store: Store, names: Names, options: PutOptions): Promise<void> => {
  const { from, to } = names;
  const isNew = options.createOnly === true;
  return store.lock([from, to], options, () =>
    store.run(options, async (session) => {
      if (!(await isElsewhere(store, session, names, options))) return;
      requireFree(await store.find(session, to), isNew);
      await store.ensureFolder(session, to.parent);
      await (isNew ? store.moveToNewName(session, names, 'file') : store.moveOver(session, names));
      store.spellings.forget(from);
    }),
  );
};

/** @throws AlreadyExistsError when anything has the target's name */
export const moveFolder = (store: Store, names: Names, options: OperationOptions): Promise<void> => {
  const { from, to } = names;
  return store.lock([from, to], options, () =>
    store.run(options, async (session) => {
      if ((await store.stat(session, from)).kind === 'file') throw new WrongKindError();
      if (to.isRoot || (await store.find(session, to)) !== undefined) throw new AlreadyExistsError();
      await store.ensureFolder(session, to.parent);
      await store.moveToNewName(session, names, 'folder');
      store.spellings.forget(from);
    }),
  );
};
