import * as errors from '../errors/errors.ts';
import type { ListOptions, StorageAdapter, TransferOptions } from './adapter.ts';
import { copyTree } from './copy-tree.ts';
import { containsLocation } from './location.ts';
import { moveTree } from './move-tree.ts';
import type { SourcePath } from './source-path.ts';
import type { Entry, EntryKind } from './entry.ts';
import type { ReadableStore } from './readable.ts';

/** An entry found below a folder, with its path in the source. */
export interface WalkedEntry {
  readonly path: SourcePath;
  readonly entry: Entry;
}

interface WalkOptions extends ListOptions {
  /** Returns false to skip a folder. Default: all are walked. */
  readonly enters?: (path: SourcePath, entry: Entry) => boolean;
  /** Skips subfolders that vanish during the walk, or that the store does not allow to read. */
  readonly isTolerant?: boolean;
}

/**
 * All entries below a folder, each folder before its contents. One listing is open at a time, however deep
 * the tree is; memory grows with the number of folders that are still to be walked.
 * @throws NotFoundError also when a subfolder vanishes during the walk, unless the walk is tolerant
 */
export async function* walkFolder(
  adapter: ReadableStore,
  folder: SourcePath,
  options: WalkOptions = {},
): AsyncGenerator<WalkedEntry, void, undefined> {
  const waiting: SourcePath[] = [folder];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const pages = adapter.list(next, options);
    for await (const page of options.isTolerant === true && next !== folder ? ifReadable(pages) : pages) {
      for (const entry of page) {
        options.signal?.throwIfAborted();
        const path = next.below(entry.name);
        yield { path, entry };
        if (entry.kind === 'folder' && options.enters?.(path, entry) !== false) waiting.push(path);
      }
    }
  }
}

async function* ifReadable(pages: AsyncIterable<readonly Entry[]>) {
  try {
    yield* pages;
  } catch (error) {
    const isGone = error instanceof errors.NotFoundError || error instanceof errors.WrongKindError;
    if (!isGone && !(error instanceof errors.StorageDeniedError)) throw error;
  }
}

type FolderTransfer = NonNullable<StorageAdapter['copyFolder']>;

const transferBy =
  (own: 'copyFolder' | 'moveFolder', byPort: typeof copyTree) =>
  async (storage: StorageAdapter, ...[from, to, options]: Parameters<FolderTransfer>): Promise<void> => {
    const [source, target] = [
      { storage, path: from },
      { storage, path: to },
    ];
    if (containsLocation(source, target)) throw new errors.IntoItselfError();
    try {
      if (storage[own] !== undefined) return await storage[own](from, to, options);
    } catch (error) {
      // Some servers rename files, and no folders (SFTP in front of S3).
      if (!(error instanceof errors.UnsupportedError)) throw error;
    }
    await byPort(source, target, options);
  };

/**
 * Copies a folder and its contents by the store's own operation, else as `copyTree`. Create-only.
 * @throws AlreadyExistsError, NotFoundError, WrongKindError (a file), IntoItselfError, ContentsConflictError
 */
export const copyFolder = transferBy('copyFolder', copyTree);

/**
 * Moves a folder and its contents by the store's own operation, else as `moveTree`. Create-only.
 * @throws as copyFolder; MovedInPartError
 */
export const moveFolder = transferBy('moveFolder', moveTree);

/** Moves a file with the options, or a folder and its contents. @throws as moveFolder, moveFile */
export const moveItem = (
  storage: StorageAdapter,
  kind: EntryKind,
  from: SourcePath,
  to: SourcePath,
  options: TransferOptions,
): Promise<void> =>
  kind === 'folder'
    ? moveFolder(storage, from, to, { signal: options.signal })
    : storage.moveFile(from, to, options);
