import { setMaxListeners } from 'node:events';
import type { Readable } from 'node:stream';
import {
  SpillFile,
  SpilledList,
  locate,
  planTree,
  type PlannedFile,
  type PlanOptions,
  type TreePlan,
} from './tree-plan.ts';
import { forEachAtOnce } from '../basics/concurrency/queues.ts';
import {
  AlreadyExistsError,
  ChangedMeanwhileError,
  ContentsConflictError,
  CorruptError,
  ifMissing,
  NotFoundError,
  WrongKindError,
} from '../errors/errors.ts';
import type { OperationOptions, ReadResult, Stat, StorageAdapter } from './adapter.ts';
import type { StoreLocation } from './location.ts';
import type { SourcePath } from './source-path.ts';

/** Inside one store a copied file costs three requests; between stores each holds a stream of both. */
const PARALLEL_INSIDE = 16;
const PARALLEL_ACROSS = 4;
const PARALLEL_REMOVALS = 8;

/** Content for the target, in place of what was read from the source. `size` in bytes. */
export interface ReplacedContent {
  readonly content: Readable;
  readonly size: number | undefined;
  /** Called when it is stored, or has failed: what it comes from is needed no longer. Never throws. */
  readonly release?: (() => Promise<void>) | undefined;
}

/** How a single file is copied. */
export interface CopyFileOptions extends OperationOptions {
  /**
   * What is stored at the target of what was read, where that differs. Owns the stream that it was given,
   * also when it throws. With it, bytes are streamed even inside one store.
   */
  readonly contentFor?:
    ((read: ReadResult, from: StoreLocation, target: SourcePath) => Promise<ReplacedContent>) | undefined;
}

/** How a folder is copied. */
export type CopyTreeOptions = CopyFileOptions &
  PlanOptions & {
    /**
     * Called when all files are copied, of a move before the emptied folders are removed: copies what is kept beside
     * them. Its failure fails a move in part: what it has not copied stays.
     */
    readonly onCopied?: ((files: CopiedTree['files']) => Promise<void>) | undefined;
  };

/** A file that was copied. */
export interface CopiedFile {
  readonly from: SourcePath;
  readonly to: SourcePath;
  /** As it was when it was read. */
  readonly source: Stat;
  /** As it was stored; undefined when another writer may have replaced it before that was known. */
  readonly copy: Stat | undefined;
}

/** What was made at the target, to be verified or withdrawn. */
export interface CopiedTree {
  readonly folders: readonly SourcePath[];
  readonly count: number;
  /** May be read several times. */
  readonly files: () => AsyncIterable<CopiedFile> | Iterable<CopiedFile>;
}

/** Copies without bytes passing through this process, where the store can. */
const copyInside = async (
  { storage, path: from }: StoreLocation,
  to: SourcePath,
  signal: AbortSignal | undefined,
): Promise<CopiedFile> => {
  const source = await storage.stat(from, { signal });
  if (source.kind === 'folder') throw new WrongKindError();
  await storage.copyFile(from, to, { createOnly: true, signal });
  // Without the signal: what was made must be known to be withdrawn.
  const copy = await storage.stat(to).catch(ifMissing);
  return { from, to, source, copy: copy?.kind === 'file' && copy.size === source.size ? copy : undefined };
};

const copyThrough = async (
  from: StoreLocation,
  to: StoreLocation,
  { signal, contentFor }: CopyFileOptions,
): Promise<CopiedFile> => {
  const read = await from.storage.read(from.path, { signal });
  const replaced = await contentFor?.(read, from, to.path);
  const { content, size } = replaced ?? { content: read.stream, size: read.stat.size };
  const copy = await to.storage
    .write(to.path, content, { createOnly: true, size, signal })
    .finally(() => replaced?.release?.());
  if (size !== undefined && copy.size !== undefined && copy.size !== size) {
    await to.storage.removeFile(to.path, { ifUnchanged: copy });
    throw new CorruptError({ detail: `wrote ${String(copy.size)} of ${String(size)} bytes` });
  }
  return { from: from.path, to: to.path, source: read.stat, copy };
};

/**
 * Copies one file, inside a store or into another one: create-only, whole or not at all.
 * @throws AlreadyExistsError, NotFoundError, WrongKindError, CorruptError when the source ends early
 */
export const copyFileTo = (
  from: StoreLocation,
  to: StoreLocation,
  options: CopyFileOptions = {},
): Promise<CopiedFile> =>
  from.storage === to.storage && options.contentFor === undefined
    ? copyInside(from, to.path, options.signal)
    : copyThrough(from, to, options);

/** Whether a second look finds nothing either. */
export const isGone = ({ storage, path }: StoreLocation): Promise<boolean> =>
  storage.stat(path).then(
    () => false,
    (error: unknown) => error instanceof NotFoundError,
  );

/** A store may find nothing for a moment, and answers may get lost. */
const WITHDRAWALS = 3;

/**
 * Removes the copy of a file while it is as it was stored, by several attempts. Never throws: whatever failed first is
 * what matters.
 */
export const withdrawFile = async (
  storage: StorageAdapter,
  { to, copy }: Pick<CopiedFile, 'to' | 'copy'>,
): Promise<void> => {
  for (let attempt = 0; copy !== undefined && attempt < WITHDRAWALS; attempt += 1) {
    try {
      return await storage.removeFile(to, { ifUnchanged: copy });
    } catch (error) {
      if (error instanceof ChangedMeanwhileError) return;
      if (error instanceof NotFoundError && (await isGone({ storage, path: to }))) return;
    }
  }
};

/**
 * Removes what a copy has made: files that are still as they were stored, then folders that are empty, the
 * deepest first. Files that others have put or replaced there stay, with their folders. Needs no signal, and
 * never throws.
 */
export const withdrawCopy = async (
  storage: StorageAdapter,
  { folders, files }: Omit<CopiedTree, 'count'>,
): Promise<void> => {
  const withdraw = (file: CopiedFile): Promise<void> => withdrawFile(storage, file);
  // Where the list cannot be read, what it holds stays.
  await forEachAtOnce(PARALLEL_REMOVALS, files(), withdraw).catch(() => undefined);
  for (const folder of folders.toReversed()) await storage.removeEmptyFolder(folder).catch(() => undefined);
};

/** What the port knows of a version, and nothing that an adapter has added. */
const versionOf = ({ name, kind, size, modifiedAt, changedAt, etag }: Stat): Stat => ({
  name,
  kind,
  size,
  modifiedAt,
  changedAt,
  etag,
});

/** Inside the target, a name that is taken is not a reason to try another name for the whole folder. */
const asConflict = (error: unknown): Error => {
  if (error instanceof AlreadyExistsError || error instanceof WrongKindError) {
    return new ContentsConflictError({ cause: error });
  }
  return error instanceof NotFoundError ? new ChangedMeanwhileError({ cause: error }) : (error as Error);
};

/** Copies what was planned. Making the target folder decides who has its name; a failure withdraws all. */
export const copyPlanned = async (
  from: StoreLocation,
  to: StoreLocation,
  plan: TreePlan,
  spill: SpillFile,
  options: CopyTreeOptions,
): Promise<CopiedTree> => {
  const { signal } = options;
  // Every copy listens to it; their number has a bound of its own.
  if (signal !== undefined) setMaxListeners(0, signal);
  const folders: SourcePath[] = [];
  const copied = new SpilledList<PlannedFile & Pick<CopiedFile, 'source' | 'copy'>>(spill);
  const files = async function* (): AsyncGenerator<CopiedFile, void, undefined> {
    for await (const file of copied.items())
      yield { ...locate(plan, file), source: file.source, copy: file.copy };
  };
  await to.storage.makeFolder(to.path, { signal });
  folders.push(to.path);
  const copy = async (file: PlannedFile): Promise<void> => {
    const paths = locate(plan, file);
    const source = { storage: from.storage, path: paths.from };
    const made = await copyFileTo(source, { storage: to.storage, path: paths.to }, options);
    const [read, stored] = [versionOf(made.source), made.copy && versionOf(made.copy)];
    await copied.push({ ...file, source: read, copy: stored });
  };
  try {
    for (const folder of plan.folders.slice(1)) {
      await to.storage.makeFolder(folder.to, { signal }).catch((error: unknown) => {
        // Another error may be a lost answer. Only an empty folder is ever withdrawn.
        if (!(error instanceof AlreadyExistsError)) folders.push(folder.to);
        throw error;
      });
      folders.push(folder.to);
    }
    const atOnce = from.storage === to.storage ? PARALLEL_INSIDE : PARALLEL_ACROSS;
    await forEachAtOnce(atOnce, plan.files.items(), copy);
    signal?.throwIfAborted();
    return { folders, files, count: copied.length };
  } catch (error) {
    await withdrawCopy(to.storage, { folders, files });
    signal?.throwIfAborted();
    throw asConflict(error);
  }
};

/**
 * Copies a folder file by file, inside a store or into another one, a few files at a time. Create-only:
 * making the target folder decides who has the name, and only that throws AlreadyExistsError. The tree is
 * listed first, and what appears later is not copied. When anything fails, what was made is withdrawn, and
 * what others have put into the target stays. Entries that listings leave out are not copied.
 *
 * Costs: memory of about 500 bytes for each folder and a few megabytes for its files, of which longer lists
 * lie in a temporary file of this machine (about 400 bytes each) until the copy is done; inside a store two
 * `stat` and a `copyFile` for each file.
 * @throws AlreadyExistsError, NotFoundError, WrongKindError (a file); ContentsConflictError for a name inside
 *   the folder; UnsafePathError when something would lie too deep; ChangedMeanwhileError when a file
 *   vanished; the signal's reason
 */
export const copyTree = async (
  from: StoreLocation,
  to: StoreLocation,
  options: CopyTreeOptions = {},
): Promise<void> => {
  const spill = new SpillFile();
  try {
    const copied = await copyPlanned(from, to, await planTree(from, to.path, spill, options), spill, options);
    await options.onCopied?.(copied.files);
  } finally {
    await spill.close();
  }
};
