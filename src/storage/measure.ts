import type { EntryKind, OperationOptions, StorageAdapter } from './adapter.ts';
import { walkFolder } from './folders.ts';
import type { SourcePath } from './source-path.ts';

/** What something takes in its store: itself, or all that a folder holds, hidden entries too. */
export interface Measure {
  /** As far as the store reports sizes. */
  readonly bytes: number;
  readonly files: number;
}

/** Measures a file or folder. A folder is walked: one listing for each folder in it. @throws NotFoundError */
export const measure = async (
  storage: StorageAdapter,
  path: SourcePath,
  kind: EntryKind,
  { signal }: OperationOptions = {},
): Promise<Measure> => {
  if (kind === 'file') return { bytes: (await storage.stat(path, { signal })).size ?? 0, files: 1 };
  let [bytes, files] = [0, 0];
  for await (const { entry } of walkFolder(storage, path, { signal })) {
    if (entry.kind === 'folder') continue;
    bytes += entry.size ?? 0;
    files += 1;
  }
  return { bytes, files };
};
