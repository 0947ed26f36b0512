import { foldedFor, isSystemFile } from '../basics/content/file-name.ts';
import { ifMissing, NotEmptyError, NotFoundError } from '../errors/errors.ts';
import { ABOUT_FOLDER } from './about/about.ts';
import type { StorageAdapter } from './adapter.ts';
import { isGone } from './copy-tree.ts';
import type { SourcePath } from './source-path.ts';
import { locate, type TreePlan } from './tree-plan.ts';

/** Number of items that remain at the source, by reason, for the message. */
export interface Stayed {
  changed: number;
  omitted: number;
  hidden: number;
  refused: number;
  cause: unknown;
}

export const countOf = ({ changed, omitted, hidden, refused }: Stayed): number =>
  changed + omitted + hidden + refused;

/** The message with the number of remaining items and the reasons. */
export const messageOf = (stayed: Stayed): string => {
  const { changed, omitted, hidden, refused } = stayed;
  const reasons = [
    ...(changed > 0 ? [`${changed} changed or added meanwhile`] : []),
    ...(omitted > 0 ? [`${omitted} with names that this service cannot use`] : []),
    ...(hidden > 0 ? [`${hidden} with content that its source does not show`] : []),
    ...(refused > 0 ? [`${refused} that could not be removed`] : []),
  ];
  const count = countOf(stayed);
  const what = count === 1 ? '1 item stays where it was' : `${count} items stay where they were`;
  return `The folder was moved, but not all of it: ${what} (${reasons.join(', ')}).`;
};

/** Files derived from the contents of a folder, in a subfolder that is not moved. */
export interface DerivedFrom {
  /** Files that belong to this item alone, such as thumbnails. */
  readonly of: (item: SourcePath) => readonly SourcePath[];
  /** Whether this is a file that belongs to several items, such as an icon, or the folder of such files. */
  readonly isShared: (path: SourcePath) => boolean;
}

/** Paths of the files derived from the contents of a folder, and of their folders. */
const derivedFiles = (storage: StorageAdapter, folder: SourcePath, isShared: DerivedFrom['isShared']) => {
  const [files, folders] = [new Set<string>(), new Set<string>()];
  const keyOf = (path: SourcePath): string => foldedFor(storage, path.toString());
  const holds = (path: SourcePath): boolean => folders.has(keyOf(path)) || isShared(path);
  /** Removes the derived files in a folder, and the folder. @throws NotEmptyError when it holds others */
  const remove = async (holder: SourcePath): Promise<void> => {
    const [derived, below]: [SourcePath[], SourcePath[]] = [[], []];
    for await (const page of storage.list(holder, { detail: 'names' })) {
      for (const { kind, name } of page) {
        const path = holder.below(name);
        if (kind === 'file' && (files.has(keyOf(path)) || isShared(path))) derived.push(path);
        if (kind === 'folder' && holds(path)) below.push(path);
      }
    }
    for (const path of derived) await storage.removeFile(path).catch(ifMissing);
    for (const path of below) await remove(path);
    await storage.removeEmptyFolder(holder).catch(ifMissing);
  };
  const add = (paths: readonly SourcePath[]): void => {
    for (const path of paths) {
      files.add(keyOf(path));
      for (let above = path.parent; !above.equals(folder) && folder.contains(above); above = above.parent)
        folders.add(keyOf(above));
    }
  };
  return { add, holds, remove };
};

type DerivedFiles = ReturnType<typeof derivedFiles>;

/** Items that a move has taken out of one folder. */
interface Moved {
  /** Whether a direct subfolder was moved. */
  readonly isMoved: (path: SourcePath) => boolean;
  /** The files derived from its direct items. */
  readonly derived: () => Promise<DerivedFiles | undefined>;
}

/** The entries that are still in a folder after a move. */
const remainingIn = async (storage: StorageAdapter, folder: SourcePath, isMoved: Moved['isMoved']) => {
  let [left, counted, omitted] = [0, 0, 0];
  const others: SourcePath[] = [];
  const ofSystems: SourcePath[] = [];
  const onOmitted = (count: number): void => void (omitted += count);
  for await (const page of storage.list(folder, { detail: 'names', onOmitted })) {
    for (const entry of page) {
      const path = folder.below(entry.name);
      // The entries that keep a moved subfolder have been counted there.
      if (entry.kind === 'folder' && isMoved(path)) counted += 1;
      else if (entry.kind === 'folder') others.push(path);
      else if (isSystemFile(entry)) ofSystems.push(path);
      else left += 1;
    }
  }
  return { left, counted, omitted, others, ofSystems };
};

/** Removes a folder after a move. Counts entries still in it: changed, added, hidden, or not listable. */
const removeEmptied = async (
  storage: StorageAdapter,
  folder: SourcePath,
  { isMoved, derived: readDerived }: Moved,
  stayed: Stayed,
): Promise<void> => {
  const { counted, omitted, others, ofSystems, ...found } = await remainingIn(storage, folder, isMoved);
  const derived = others.length > 0 ? await readDerived() : undefined;
  // The descriptions of moved files have been copied; others belong to files that no longer exist.
  const abouts = others.filter(({ name }) => name === ABOUT_FOLDER);
  const holders = others.filter((path) => derived?.holds(path) === true);
  const left = found.left + others.length - holders.length - abouts.length;
  stayed.omitted += omitted;
  stayed.changed += left;
  // A store that did not show such a subfolder a moment ago has left it uncounted.
  if (countOf(stayed) === 0) stayed.changed += counted;
  if (left + omitted + counted > 0) return;
  let reason: 'hidden' | 'changed' = 'hidden';
  try {
    for (const path of ofSystems) await storage.removeFile(path).catch(ifMissing);
    for (const path of abouts) await storage.removeFolder(path).catch(ifMissing);
    for (const path of holders) await derived?.remove(path);
    reason = 'changed';
    await storage.removeEmptyFolder(folder);
  } catch (error) {
    if (!(error instanceof NotEmptyError)) throw error;
    stayed[reason] += 1;
  }
};

/** The direct contents of the folder with this index in a plan. */
const heldBy = (plan: TreePlan, index: number) => {
  const [folder, next] = [plan.folders[index], plan.folders[index + 1]];
  return {
    folders: plan.folders.slice(folder?.firstFolder, next?.firstFolder),
    files: plan.files.items(folder?.firstFile, next?.firstFile),
  };
};

/**
 * Removes the folders of a move that are now empty, the deepest first, with the files derived from moved
 * items. Counts the remaining items. Memory: the names of the files derived from the items of one folder.
 */
export const removeFolders = async (
  storage: StorageAdapter,
  plan: TreePlan,
  derivedFrom: DerivedFrom | undefined,
  stayed: Stayed,
): Promise<void> => {
  for (let index = plan.folders.length - 1; index >= 0; index -= 1) {
    const { from: folder } = plan.folders[index] as TreePlan['folders'][number];
    const { folders, files } = heldBy(plan, index);
    const moved = new Set(folders.map(({ from }) => from.name));
    const derived = async (): Promise<DerivedFiles | undefined> => {
      if (derivedFrom === undefined) return undefined;
      const found = derivedFiles(storage, folder, derivedFrom.isShared);
      for (const { from } of folders) found.add(derivedFrom.of(from));
      for await (const file of files) found.add(derivedFrom.of(locate(plan, file).from));
      return found;
    };
    try {
      await removeEmptied(storage, folder, { isMoved: (path) => moved.has(path.name), derived }, stayed);
    } catch (error) {
      // The folder above shows whether it is really gone.
      if (error instanceof NotFoundError && (index > 0 || (await isGone({ storage, path: folder }))))
        continue;
      stayed.refused += 1;
      stayed.cause = error;
      return;
    }
  }
};
