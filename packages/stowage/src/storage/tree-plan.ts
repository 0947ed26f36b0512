import type { FileHandle } from 'node:fs/promises';
import { openUnnamed } from './content.ts';
import { fromSystemError } from '../basics/files/system-errors.ts';
import {
  ChangedMeanwhileError,
  ContentsConflictError,
  ifMissing,
  UnsafePathError,
} from '../errors/errors.ts';
import type { Entry, OperationOptions } from './adapter.ts';
import type { StoreLocation } from './location.ts';
import type { SourcePath } from './source-path.ts';

const BLOCK_ITEMS = 5000;

interface Block {
  readonly start: number;
  readonly length: number;
}

/** A temporary file for lists that may be too long for memory. Created on first use. */
export class SpillFile {
  #opening: Promise<FileHandle> | undefined;
  #end = 0;

  /** @throws StorageFullError and the other errors of a file system */
  async append(bytes: Buffer): Promise<Block> {
    const block = { start: this.#end, length: bytes.length };
    this.#end += bytes.length;
    try {
      this.#opening ??= openUnnamed();
      const handle = await this.#opening;
      for (let done = 0; done < bytes.length;) {
        const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, block.start + done);
        done += bytesWritten;
      }
    } catch (error) {
      throw fromSystemError(error, 'keeping a list in a temporary file');
    }
    return block;
  }

  async read({ start, length }: Block): Promise<Buffer> {
    const bytes = Buffer.alloc(length);
    try {
      const handle = await this.#opening;
      for (let done = 0; done < length;) {
        const found = await handle?.read(bytes, done, length - done, start + done);
        if (found === undefined || found.bytesRead === 0) throw new Error('the file is too short');
        done += found.bytesRead;
      }
    } catch (error) {
      throw fromSystemError(error, 'reading a list in a temporary file');
    }
    return bytes;
  }

  /** Frees the space. Never throws. */
  async close(): Promise<void> {
    await this.#opening?.then((handle) => handle.close()).catch(() => undefined);
  }
}

/** An append-only list of JSON data, read in order. Beyond some thousand items it is stored in the file. */
export class SpilledList<T> {
  readonly #file: SpillFile;
  readonly #blocks: Block[] = [];
  /** Items that are not in a block yet. */
  #recent: T[] = [];
  #spilling: Promise<void> | undefined;

  constructor(file: SpillFile) {
    this.#file = file;
  }

  get length(): number {
    return this.#blocks.length * BLOCK_ITEMS + this.#recent.length;
  }

  /** Adds an item, even when it throws. @throws StorageFullError and the other errors of a file system */
  async push(item: T): Promise<void> {
    this.#recent.push(item);
    if (this.#recent.length < BLOCK_ITEMS) return;
    this.#spilling ??= this.#spill().finally(() => (this.#spilling = undefined));
    await this.#spilling;
  }

  /** The items in the range [from, to). Call it only when every `push` has ended. */
  async *items(from = 0, to = this.length): AsyncGenerator<T, void, undefined> {
    for (let at = from; at < to;) {
      const index = Math.floor(at / BLOCK_ITEMS);
      const block = this.#blocks[index];
      const items =
        block === undefined
          ? this.#recent
          : (JSON.parse((await this.#file.read(block)).toString()) as readonly T[]);
      const first = index * BLOCK_ITEMS;
      const end = block === undefined ? to : Math.min(to, first + BLOCK_ITEMS);
      yield* items.slice(at - first, end - first);
      at = end;
    }
  }

  async #spill(): Promise<void> {
    const block = await this.#file.append(Buffer.from(JSON.stringify(this.#recent.slice(0, BLOCK_ITEMS))));
    this.#blocks.push(block);
    this.#recent = this.#recent.slice(BLOCK_ITEMS);
  }
}

/** Options that select and rename the contents of a folder for a copy. */
export interface PlanOptions extends OperationOptions {
  /**
   * Called for each entry below the folder, a folder before its contents, and before anything is copied.
   * Returns the name that the entry gets at the target, undefined to leave it out with all its contents, or
   * throws to reject the whole copy. Default: every entry keeps its name.
   */
  readonly nameFor?:
    | ((from: SourcePath, entry: Entry, targetFolder: SourcePath) => string | undefined)
    | undefined;
}

interface PlannedFolder {
  readonly from: SourcePath;
  readonly to: SourcePath;
  /** Start of its contents in `folders` and `files` of the plan; they end where the next folder's start. */
  readonly firstFolder: number;
  readonly firstFile: number;
}

/** A file to copy: plain data, since the list may be too long for memory. */
export interface PlannedFile {
  readonly folder: number;
  readonly name: string;
  readonly newName: string;
}

/** The contents of a folder to copy. `folders` starts with the folder itself, each before those inside it. */
export interface TreePlan {
  readonly folders: readonly PlannedFolder[];
  readonly files: SpilledList<PlannedFile>;
  /** Number of entries that listings leave out because no path can name them. */
  readonly omitted: number;
}

// About 500 bytes are held for each until the copy is done.
const MOST_FOLDERS = 1_000_000;

export const locate = (
  { folders }: Pick<TreePlan, 'folders'>,
  { folder, name, newName }: PlannedFile,
): { readonly from: SourcePath; readonly to: SourcePath } => {
  const { from, to } = folders[folder] as PlannedFolder;
  return { from: from.below(name), to: to.below(newName) };
};

/** Rejects a path that requests could not name. @throws UnsafePathError */
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

/** The listing of a subfolder, which may have left since the first one. @throws ChangedMeanwhileError then */
async function* ofSubfolder<Page>(pages: AsyncIterable<Page>): AsyncGenerator<Page, void, undefined> {
  try {
    yield* pages;
  } catch (cause) {
    ifMissing(cause);
    throw new ChangedMeanwhileError({ cause });
  }
}

/**
 * Lists a folder with all its contents. One listing is open at a time, however deep the tree is.
 * @throws NotFoundError, WrongKindError (a file); ChangedMeanwhileError when a subfolder left; UnsafePathError
 * when a path at the target would be too deep for requests; ContentsConflictError for more than a million folders
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
  // The array grows during the loop.
  for (const [folder, { from, to }] of waiting.entries()) {
    folders.push({ from, to, firstFolder: waiting.length, firstFile: files.length });
    const pages = storage.list(from, { signal, onOmitted });
    for await (const page of folder === 0 ? pages : ofSubfolder(pages)) {
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
