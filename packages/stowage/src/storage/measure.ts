import { ifOnly, StorageDeniedError, UnsupportedError } from '../errors/errors.ts';
import { ABOUT_FOLDER } from './about/about.ts';
import type { EntryKind } from './entry.ts';
import type { ReadableStore, Tally, TallyOptions } from './readable.ts';
import { type WalkedEntry, walkFolder } from './folders.ts';
import type { SourcePath } from './source-path.ts';
import { walkTree } from './tree-walk.ts';

/** Space of a file, or of all contents of a folder, hidden entries included. */
export interface Measure {
  /** As far as the store reports sizes. */
  readonly bytes: number;
  readonly files: number;
}

export interface MeasureOptions extends Omit<TallyOptions, 'of' | 'uncounted'> {
  /** Folders of this name, in any letter case, are not counted: they hold derived files. */
  readonly derivedName?: string | undefined;
  /** Skips subfolders that may not be read. */
  readonly isTolerant?: boolean;
}

interface Sum extends Measure, Pick<Tally, 'unreadable'> {}

interface Uncounted {
  readonly uncounted: readonly string[];
}

/** The entries below a folder: by the walk of the store where it has one, else by listing each folder. */
async function* below(
  storage: ReadableStore,
  folder: SourcePath,
  { signal, uncounted, isTolerant = false }: Pick<MeasureOptions, 'signal' | 'isTolerant'> & Uncounted,
  onUnreadable: () => void,
): AsyncGenerator<readonly WalkedEntry[], void, undefined> {
  const isCounted = ({ name }: { readonly name: string }): boolean => !uncounted.includes(name.toLowerCase());
  if (storage.walk === undefined) {
    for await (const one of walkFolder(storage, folder, { signal, enters: isCounted, isTolerant }))
      yield [one];
    return;
  }
  const view = { enters: isCounted, wants: () => true };
  const options = {
    signal,
    detail: 'full',
    words: [],
    most: Number.POSITIVE_INFINITY,
    onUnreadable,
  } as const;
  for await (const { found } of walkTree(storage, folder, { ...options, view: () => view })) yield found;
}

const sumUp = async (
  storage: ReadableStore,
  folder: SourcePath,
  options: MeasureOptions & Uncounted,
): Promise<Sum> => {
  let [bytes, files, unreadable] = [0, 0, 0];
  const count = (): void => void (unreadable += 1);
  for await (const entries of below(storage, folder, options, count))
    for (const { path, entry } of entries) {
      if (entry.kind === 'folder' || options.ignores?.test(path.toString()) === true) continue;
      bytes += entry.size ?? 0;
      files += 1;
    }
  return { bytes, files, unreadable };
};

/** The store's own tally of a folder; undefined where it has none. */
export const tallyOf = async (
  storage: ReadableStore,
  folder: SourcePath,
  options: TallyOptions,
): Promise<Tally | undefined> => storage.tally?.(folder, options).catch(ifOnly(UnsupportedError));

/**
 * Measures a file or folder, without the texts about files. The store counts a folder, else it is walked.
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
