import { ifOnly, StorageDeniedError, UnsupportedError } from '../errors/errors.ts';
import { ABOUT_FOLDER } from './about/about.ts';
import type { EntryKind } from './entry.ts';
import type { ReadableStore, Tally, TallyOptions } from './readable.ts';
import type { SourcePath } from './source-path.ts';
import { type FolderView, walkTree } from './tree-walk.ts';

/** Space of a file, or of all contents of a folder, hidden entries included. */
export interface Measure {
  /** As far as the store reports sizes. */
  readonly bytes: number;
  readonly files: number;
}

interface MeasureOptions extends Omit<TallyOptions, 'of' | 'uncounted'> {
  /** Folders of this name, in any letter case, are not counted: they hold derived files. */
  readonly derivedName?: string | undefined;
  /** Skips subfolders that may not be read. */
  readonly isTolerant?: boolean;
}

/** Sums up the entries below a folder: by the walk of the store where it has one, else folder by folder. */
const sumUp = async (
  storage: ReadableStore,
  folder: SourcePath,
  { signal, ignores, uncounted }: MeasureOptions & { readonly uncounted: readonly string[] },
): Promise<Measure & Pick<Tally, 'unreadable'>> => {
  const zero = { bytes: 0, files: 0, unreadable: 0 };
  let sum = { ...zero };
  const viewOf = (path: SourcePath): FolderView => {
    // The store's walk, which may turn out to be unsupported, or the one that replaces it begins.
    if (path.equals(folder)) sum = { ...zero };
    return {
      enters: ({ name }) => !uncounted.includes(name.toLowerCase()),
      // Counted here, and not reported: the walk then holds no files in memory.
      wants: ({ kind, name, size = 0 }) => {
        if (kind === 'folder' || ignores?.test(path.below(name).toString()) === true) return false;
        sum.bytes += size;
        sum.files += 1;
        return false;
      },
    };
  };
  const onUnreadable = (): void => void (sum.unreadable += 1);
  const walk = { signal, detail: 'full', words: [], most: Infinity, view: viewOf, onUnreadable } as const;
  for await (const _page of walkTree(storage, folder, walk));
  return sum;
};

/** The store's own tally of a folder; undefined where it has none. */
export const tallyOf = async (
  storage: ReadableStore,
  folder: SourcePath,
  options: TallyOptions,
): Promise<Tally | undefined> => storage.tally?.(folder, options).catch(ifOnly(UnsupportedError));

/**
 * Measures a file or folder, without the descriptions of files. The store counts a folder, else it is walked.
 * @throws NotFoundError; StorageDeniedError where a subfolder may not be read, unless that is tolerated
 */
export const measure = async (
  storage: ReadableStore,
  path: SourcePath,
  kind: EntryKind,
  { derivedName, ...rest }: MeasureOptions = {},
): Promise<Measure> => {
  const { signal } = rest;
  if (kind === 'file') return { bytes: (await storage.stat(path, { signal })).size ?? 0, files: 1 };
  const uncounted = [ABOUT_FOLDER, ...(derivedName === undefined ? [] : [derivedName.toLowerCase()])];
  const options = { ...rest, uncounted };
  const { bytes, files, unreadable } =
    (await tallyOf(storage, path, { ...options, of: 'sizes' })) ?? (await sumUp(storage, path, options));
  if (unreadable > 0 && options.isTolerant !== true)
    throw new StorageDeniedError({ detail: 'a folder below may not be read' });
  return { bytes, files };
};
