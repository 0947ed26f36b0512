import type { EntryKind, OperationOptions, StorageAdapter } from './adapter.ts';
import { walkFolder, type WalkedEntry } from './folders.ts';
import type { SourcePath } from './source-path.ts';
import { walkTree } from './tree-walk.ts';

/** What something takes in its store: itself, or all that a folder holds, hidden entries too. */
export interface Measure {
  /** As far as the store reports sizes. */
  readonly bytes: number;
  readonly files: number;
}

/** What does not count. */
export interface MeasureOptions extends OperationOptions {
  /** Folders of this name, in any case: what they hold is derived from the rest. */
  readonly derivedName?: string | undefined;
  /** Files that do not count. Default: all count. */
  readonly ignores?: ((path: SourcePath) => boolean) | undefined;
  /** @see WalkOptions */
  readonly isTolerant?: boolean;
}

/** What lies below a folder, in the store's own way where it has one and nothing hangs on a single folder. */
async function* entriesBelow(
  storage: StorageAdapter,
  folder: SourcePath,
  { signal, derivedName, isTolerant = false }: MeasureOptions,
): AsyncGenerator<WalkedEntry, void, undefined> {
  const derived = derivedName?.toLowerCase();
  const enters = ({ name }: { readonly name: string }): boolean => name.toLowerCase() !== derived;
  if (!isTolerant || storage.walk === undefined)
    return yield* walkFolder(storage, folder, { signal, enters, isTolerant });
  const view = { enters, wants: () => true };
  const most = Number.MAX_SAFE_INTEGER;
  const options = { detail: 'full', words: [], most, view: () => view, signal } as const;
  for await (const { found } of walkTree(storage, folder, options)) yield* found;
}

/**
 * Measures a file or folder. A folder is walked: in one go where the store can do that and the walk is
 * tolerant, else one listing for each folder in it.
 * @throws NotFoundError
 */
export const measure = async (
  storage: StorageAdapter,
  path: SourcePath,
  kind: EntryKind,
  options: MeasureOptions = {},
): Promise<Measure> => {
  const { signal, ignores } = options;
  if (kind === 'file') return { bytes: (await storage.stat(path, { signal })).size ?? 0, files: 1 };
  let [bytes, files] = [0, 0];
  for await (const { path: at, entry } of entriesBelow(storage, path, options)) {
    if (entry.kind === 'folder' || ignores?.(at) === true) continue;
    bytes += entry.size ?? 0;
    files += 1;
  }
  return { bytes, files };
};
