import { folderCopyNames } from '../../../basics/content/numbered-names.ts';
import { AlreadyExistsError, NotEmptyError } from '../../../errors/errors.ts';
import { isStale, isTempName, newAsideName } from '../core/temporary-names.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { Store } from './store.ts';

const MOST_NAMES = 1000;

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

/** Gives a hidden folder its name again, or a numbered one where others have taken the name meanwhile. */
const giveBack = async (store: Store, hidden: SourcePath, path: SourcePath): Promise<boolean> => {
  const names = folderCopyNames(path.name);
  for (let number = 0; number < MOST_NAMES; number += 1) {
    try {
      await store.giveFolderName(hidden, path.parent.below(names.at(number)), {});
      return true;
    } catch (error) {
      if (!(error instanceof AlreadyExistsError)) throw error;
    }
  }
  return false;
};

/**
 * Removes a folder that holds nothing. DELETE removes all that a folder holds, and a file may come into it
 * after the look. So the folder gets a hidden name first, under which nothing can come into it, and is looked
 * at again. Entries that have come in between get the folder's old name back, or a numbered one.
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
    // A single answer that nothing is there is not believed: nothing would ever show the folder again.
    const isHidden = (await store.resources.exists(hidden, {})) || (await store.resources.exists(hidden, {}));
    return !isHidden || giveBack(store, hidden, path);
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
