import { SpilledList, type SpillFile } from './spilled-list.ts';
import { ContentsConflictError, UnsafePathError } from '../errors/errors.ts';
import type { Entry, OperationOptions } from './adapter.ts';
import type { StoreLocation } from './location.ts';
import type { SourcePath } from './source-path.ts';

/** What goes along of a folder, and under which names. */
export interface PlanOptions extends OperationOptions {
  /**
   * Asked about each entry below the folder, a folder before what it holds, and before anything is copied.
   * Returns the name that the entry gets at the target, undefined to leave it out with all it holds, or
   * throws to refuse the whole copy. Default: every entry keeps its name.
   */
  readonly nameFor?:
    ((from: SourcePath, entry: Entry, targetFolder: SourcePath) => string | undefined) | undefined;
}

/** A folder that goes along. */
interface PlannedFolder {
  readonly from: SourcePath;
  readonly to: SourcePath;
  /** Where those that it holds begin in `folders` and in `files` of the plan; they end where the next begin. */
  readonly firstFolder: number;
  readonly firstFile: number;
}

/** A file that goes along: plain data, since the list of them may be too long for memory. */
export interface PlannedFile {
  /** Index of its folder. */
  readonly folder: number;
  readonly name: string;
  readonly newName: string;
}

/**
 * What a folder holds that goes along. `folders` begin with the folder itself, each before those inside it.
 */
export interface TreePlan {
  readonly folders: readonly PlannedFolder[];
  readonly files: SpilledList<PlannedFile>;
  /** Entries that listings leave out: no path can name them. */
  readonly omitted: number;
}

// For each about 500 bytes are held until the copy is done.
const MOST_FOLDERS = 1_000_000;

/** Where a planned file lies, and where it goes. */
export const locate = (
  { folders }: Pick<TreePlan, 'folders'>,
  { folder, name, newName }: PlannedFile,
): { readonly from: SourcePath; readonly to: SourcePath } => {
  const { from, to } = folders[folder] as PlannedFolder;
  return { from: from.below(name), to: to.below(newName) };
};

/** Refuses a path that requests could not name. @throws UnsafePathError */
export const requireNameable = (target: SourcePath): void => {
  try {
    target.requireBounded();
  } catch (error) {
    throw new UnsafePathError({
      message: 'Something inside the folder would have a path that is too long or too deep there.',
      cause: error,
    });
  }
};

/**
 * Lists a folder with all below it. One listing is open at a time, however deep the tree is.
 * @throws NotFoundError, WrongKindError (a file); UnsafePathError when something would lie too deep at the
 *   target for requests to name it; ContentsConflictError for more than a million folders
 */
export const planTree = async (
  { storage, path }: StoreLocation,
  target: SourcePath,
  spill: SpillFile,
  { signal, nameFor }: PlanOptions,
): Promise<TreePlan> => {
  const waiting: { readonly from: SourcePath; readonly to: SourcePath }[] = [{ from: path, to: target }];
  const folders: PlannedFolder[] = [];
  const files = new SpilledList<PlannedFile>(spill);
  let omitted = 0;
  const onOmitted = (count: number): void => void (omitted += count);
  // The array grows while it is read.
  for (const [folder, { from, to }] of waiting.entries()) {
    folders.push({ from, to, firstFolder: waiting.length, firstFile: files.length });
    for await (const page of storage.list(from, { signal, onOmitted })) {
      for (const entry of page) {
        const child = from.below(entry.name);
        const newName = nameFor === undefined ? entry.name : nameFor(child, entry, to);
        if (newName === undefined) continue;
        const newPath = to.below(newName);
        requireNameable(newPath);
        if (entry.kind === 'folder') waiting.push({ from: child, to: newPath });
        else await files.push({ folder, name: entry.name, newName });
        if (waiting.length > MOST_FOLDERS)
          throw new ContentsConflictError('The folder holds more than a million folders.');
      }
    }
  }
  return { folders, files, omitted };
};
