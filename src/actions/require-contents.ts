import type { SourcePath } from '../storage/source-path.ts';
import { walkFolder } from '../storage/folders.ts';
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
 * Refuses a change of a folder when a rule denies it for something inside, at its old or its new place: folders by the folder's key, files by
 * the file's key as well (`FOLDER_MOVE`, `FILE_MOVE`). Walks the folder only when some rule about these keys looks at paths
 * or extensions; memory grows with the depth alone. What is reserved goes along unseen.
 * @throws AccessDeniedError
 */
export const requireContents = async (
  { signal }: ActionContext,
  { source, storage, access }: OpenSource,
  { verb, from, to }: FolderChange,
): Promise<void> => {
  const fileKey = `FILE_${verb}`;
  const folderKey = `FOLDER_${verb}`;
  if (!access.dependsOnItem(fileKey) && !access.dependsOnItem(folderKey)) return;
  const isReserved = reservedNames(source.settings);
  const depth = from.segments.length;
  for await (const { path, entry } of walkFolder(storage, from, { detail: 'names', signal })) {
    if (path.segments.slice(depth).some(isReserved)) continue;
    const keys = entry.kind === 'folder' ? [folderKey] : [fileKey, folderKey];
    const places = to === undefined ? [path] : [path, to.join(from.relative(path))];
    const extension = ruleExtension(path, entry.kind);
    for (const place of places) for (const key of keys) access.require(key, place, extension);
  }
};
