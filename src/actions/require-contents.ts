import { requireNameable } from '../storage/tree-plan.ts';
import { walkFolder } from '../storage/folders.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { ActionContext } from './action.ts';
import { ruleExtension } from './item.ts';
import type { OpenSource } from './open-source.ts';
import { reservedNames } from './reserved.ts';

/** What is about to happen to a folder as a whole. */
export interface FolderChange {
  readonly verb: 'MOVE' | 'COPY' | 'REMOVE' | 'RENAME';
  readonly from: SourcePath;
  /** Where the folder goes; undefined when it is removed. */
  readonly to?: SourcePath | undefined;
}

/**
 * Whether paths below the folder become longer or deeper, so that one of them may pass what requests can
 * name.
 */
const makesPathsLonger = ({ from, to }: FolderChange): boolean =>
  to !== undefined &&
  (to.segments.length > from.segments.length ||
    Buffer.byteLength(to.toString()) > Buffer.byteLength(from.toString()));

/**
 * Refuses a change of a folder when a rule denies it for something inside, at its old or its new location:
 * folders by the folder's key, files by the file's key as well (`FOLDER_MOVE`, `FILE_MOVE`); to rename a
 * folder, FOLDER_RENAME is the only key. Also refuses a change that makes paths longer than requests can
 * name. Walks the folder unless every key is allowed for whatever is inside and no path becomes longer. What
 * is reserved goes along unseen.
 * @throws AccessDeniedError, UnsafePathError
 */
export const requireContents = async (
  { signal }: ActionContext,
  { source, storage, access }: OpenSource,
  change: FolderChange,
): Promise<void> => {
  const { verb, from, to } = change;
  const folderKeys = [`FOLDER_${verb}`];
  const fileKeys = verb === 'RENAME' ? folderKeys : [`FILE_${verb}`, ...folderKeys];
  const isLonger = makesPathsLonger(change);
  const hasRules = [from, to].some(
    (folder) =>
      folder !== undefined &&
      fileKeys.some((key) => access.dependsOnItem(key, folder) || !access.allows(key, folder)),
  );
  if (!hasRules && !isLonger) return;
  const isReserved = reservedNames(source.settings);
  const enters = (path: SourcePath): boolean => !isReserved(path.name);
  for await (const { path, entry } of walkFolder(storage, from, { detail: 'names', signal, enters })) {
    if (isReserved(entry.name)) continue;
    const target = to?.join(from.relative(path));
    if (isLonger && target !== undefined) requireNameable(target);
    const extension = ruleExtension(path, entry.kind);
    for (const key of entry.kind === 'folder' ? folderKeys : fileKeys) {
      access.require(key, path, extension);
      if (target !== undefined) access.require(key, target, extension);
    }
  }
};
