import { IntoItselfError } from '../errors/errors.ts';
import type { Entry, ListOptions, OperationOptions, StorageAdapter } from './adapter.ts';
import { createLimiter } from './limiter.ts';
import type { SourcePath } from './source-path.ts';

const PARALLEL_COPIES = 16;

/** An entry found below a folder, with its path in the source. */
export interface WalkedEntry {
  readonly path: SourcePath;
  readonly entry: Entry;
}

/**
 * All that lies below a folder, each folder before what it holds. Memory grows with the depth, not with the number of entries.
 * @throws NotFoundError also when a folder below vanishes during the walk
 */
export async function* walkFolder(
  adapter: StorageAdapter,
  folder: SourcePath,
  options: ListOptions = {},
): AsyncGenerator<WalkedEntry, void, undefined> {
  for await (const page of adapter.list(folder, options)) {
    for (const entry of page) {
      options.signal?.throwIfAborted();
      const path = folder.child(entry.name);
      yield { path, entry };
      if (entry.kind === 'folder') yield* walkFolder(adapter, path, options);
    }
  }
}

const copyContents = async (
  adapter: StorageAdapter,
  from: SourcePath,
  to: SourcePath,
  options: OperationOptions,
): Promise<void> => {
  const limiter = createLimiter(PARALLEL_COPIES);
  try {
    for await (const { path, entry } of walkFolder(adapter, from, { ...options, detail: 'names' })) {
      const target = to.join(from.relative(path));
      // Folders one after the other: a file must find its folder.
      if (entry.kind === 'folder') await adapter.makeFolder(target, options);
      else await limiter.add(() => adapter.copyFile(path, target, { ...options, createOnly: true }));
    }
  } finally {
    // Also after a failure: nothing may still be writing when the caller clears away.
    await limiter.drain();
  }
};

/**
 * Copies a folder file by file, whatever faster way the store has. Making the target folder decides who has the name; whatever fails later
 * takes the whole target away again. For adapters whose own way does not reach every target.
 */
export const copyFolderByFiles = async (
  adapter: StorageAdapter,
  from: SourcePath,
  to: SourcePath,
  options: OperationOptions,
): Promise<void> => {
  // Before the target is made: a missing source must not leave an empty folder, not even for a moment.
  for await (const _page of adapter.list(from, { ...options, detail: 'names' })) break;
  await adapter.makeFolder(to, options);
  try {
    await copyContents(adapter, from, to, options);
  } catch (error) {
    // Without the signal: an aborted copy must be cleared away as well. What happened first is what the caller learns.
    await adapter.removeFolder(to).catch(() => undefined);
    throw error;
  }
};

/**
 * Copies a folder with all it holds, in the store's own way where it has one, else file by file, 16 at a time. Create-only; when
 * anything fails nothing of the target remains.
 * @throws AlreadyExistsError, NotFoundError, WrongKindError (a file), IntoItselfError
 */
export const copyFolder = async (
  adapter: StorageAdapter,
  from: SourcePath,
  to: SourcePath,
  options: OperationOptions = {},
): Promise<void> => {
  if (from.contains(to)) throw new IntoItselfError();
  await (adapter.copyFolder?.(from, to, options) ?? copyFolderByFiles(adapter, from, to, options));
};

/**
 * Moves a folder, in the store's own way where it has one, else by copying: the source is removed only after every copy succeeded.
 * Create-only; when a copy fails the source is whole and nothing of the target remains. When only the removal fails, the target is whole
 * and the source may still be there in part.
 * @throws AlreadyExistsError, NotFoundError, WrongKindError (a file), IntoItselfError
 */
export const moveFolder = async (
  adapter: StorageAdapter,
  from: SourcePath,
  to: SourcePath,
  options: OperationOptions = {},
): Promise<void> => {
  if (from.contains(to)) throw new IntoItselfError();
  if (adapter.moveFolder !== undefined) return adapter.moveFolder(from, to, options);
  await copyFolderByFiles(adapter, from, to, options);
  await adapter.removeFolder(from);
};
