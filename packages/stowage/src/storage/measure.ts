import type { EntryKind } from './entry.ts';
import type { OperationOptions, ReadableStore } from './readable.ts';
import { walkFolder } from './folders.ts';
import type { SourcePath } from './source-path.ts';

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

/** Measures a file or folder. A folder is walked: one listing for each folder in it. @throws NotFoundError */
export const measure = async (
  storage: ReadableStore,
  path: SourcePath,
  kind: EntryKind,
  { signal, derivedName, ignores, isTolerant = false }: MeasureOptions = {},
): Promise<Measure> => {
  if (kind === 'file') return { bytes: (await storage.stat(path, { signal })).size ?? 0, files: 1 };
  let [bytes, files] = [0, 0];
  const derived = derivedName?.toLowerCase();
  const enters = ({ name }: SourcePath): boolean => name.toLowerCase() !== derived;
  for await (const { path: at, entry } of walkFolder(storage, path, { signal, enters, isTolerant })) {
    if (entry.kind === 'folder' || ignores?.(at) === true) continue;
    bytes += entry.size ?? 0;
    files += 1;
  }
  return { bytes, files };
};
