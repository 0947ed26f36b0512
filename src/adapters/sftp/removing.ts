import {
  ChangedMeanwhileError,
  NotEmptyError,
  StorageDeniedError,
  WrongKindError,
} from '../../errors/errors.ts';
import type { Leftover } from '../../remote-store/leftovers.ts';
import { isStale, isTempName, newTempName } from '../../remote-store/temporary-names.ts';
import type { OperationOptions, RemoveFileOptions } from '../../storage/adapter.ts';
import { isSameVersion } from '../../storage/same-version.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { isPlainRefusal } from './errors.ts';
import type { Session } from './session.ts';
import { entriesOf, removeTemporary, removeTree, rename, rmdir, unlessGone, unlink } from './steps.ts';
import type { Store } from './store.ts';

/** @throws NotFoundError, WrongKindError, ChangedMeanwhileError */
export const removeFile = (store: Store, path: SourcePath, options: RemoveFileOptions): Promise<void> =>
  store.lock(path, options, () =>
    store.run(options, async (session) => {
      const found = await store.stat(session, path);
      if (found.kind === 'folder') throw new WrongKindError();
      if (options.ifUnchanged !== undefined && !isSameVersion(found, options.ifUnchanged))
        throw new ChangedMeanwhileError();
      await unlink(session, path);
      store.spellings.forget(path);
    }),
  );

const requireFolder = async (store: Store, session: Session, path: SourcePath): Promise<void> => {
  if (path.isRoot) throw new StorageDeniedError({ detail: 'the root is not removed' });
  if ((await store.stat(session, path)).kind === 'file') throw new WrongKindError();
};

/** What a killed process has left in a folder long ago. */
const staleIn = async (session: Session, folder: SourcePath): Promise<readonly Leftover[]> => {
  const stale: Leftover[] = [];
  for await (const page of entriesOf(session, folder))
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
        await rmdir(session, path);
        return undefined;
      } catch (error) {
        if (!isPlainRefusal(error)) throw error;
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
 * Takes a folder out of sight in one step, and then removes it with all it holds. What the server does not
 * remove is shown again, under its old name.
 */
export const removeFolder = async (
  store: Store,
  path: SourcePath,
  options: OperationOptions,
): Promise<void> => {
  if (path.isRoot) throw new StorageDeniedError({ detail: 'the root is not removed' });
  const hidden = path.parent.below(newTempName());
  await store.lock(path, options, () =>
    store.run(options, async (session) => {
      await requireFolder(store, session, path);
      await rename(session, { from: path, to: hidden });
    }),
  );
  try {
    // It is removed for everybody by now: nobody can break that off any more.
    await store.run({}, (session) => unlessGone(removeTree(session, hidden, session.pathOf(hidden))));
  } catch (error) {
    const back = store.run({}, (session) => rename(session, { from: hidden, to: path }));
    await back.catch(() => store.leftovers.remove({ path: hidden, kind: 'folder' }));
    throw isPlainRefusal(error)
      ? new StorageDeniedError({ detail: 'the server keeps something in the folder', cause: error })
      : error;
  }
};
