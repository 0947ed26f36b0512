import { AlreadyExistsError, NotEmptyError } from '../../errors/errors.ts';
import { isStale, isTempName, newAsideName } from '../../remote-store/temporary-names.ts';
import type { OperationOptions } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Store } from './store.ts';

/** All that the server reports counts, also what listings leave out. @throws NotEmptyError */
const requireEmpty = async (
  { resources }: Store,
  path: SourcePath,
  options: OperationOptions,
): Promise<void> => {
  for await (const batch of resources.members(path, options)) {
    const isEmpty = batch.every(({ isSelf, stat, serverTime }) => {
      if (isSelf) return true;
      return stat !== undefined && isTempName(stat.name) && isStale(stat.name, stat.modifiedAt, serverTime);
    });
    if (!isEmpty) throw new NotEmptyError();
  }
};

/**
 * Removes a folder that holds nothing. DELETE removes all that a folder holds, and a file may come into it
 * after the look. So the folder gets a hidden name first, under which nothing can come into it, and is looked
 * at again. What has come in between gets the folder's old name back.
 * @throws NotEmptyError
 */
export const removeEmptyFolder = async (
  store: Store,
  path: SourcePath,
  options: OperationOptions,
): Promise<void> => {
  await requireEmpty(store, path, options);
  // Never taken for a leftover: after a kill in between the content is still there.
  const hidden = path.parent.below(newAsideName());
  const showAgain = async (): Promise<boolean> => {
    const isHidden = await store.resources.exists(hidden, {});
    const showing = isHidden ? store.giveFolderName(hidden, path, {}) : Promise.resolve();
    return showing.then(
      () => true,
      // Its name was given meanwhile: the folder stays hidden.
      (error: unknown) => error instanceof AlreadyExistsError,
    );
  };
  try {
    await store.hideFolder(path, hidden, options);
    await requireEmpty(store, hidden, {});
  } catch (error) {
    if (!(await showAgain().catch(() => false))) store.leftovers.later(0, showAgain);
    throw error;
  }
  await store.leftovers.remove({ path: hidden, kind: 'folder' });
};
