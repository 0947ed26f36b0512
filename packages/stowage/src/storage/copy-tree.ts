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
import * as errors from '../errors/errors.ts';
import type { OperationOptions, ReadResult, Stat, StorageAdapter } from './adapter.ts';
import type { StoreLocation } from './location.ts';
import type { SourcePath } from './source-path.ts';

/** Inside one store a copied file costs three requests; between stores each copy holds a stream of both. */
const PARALLEL_INSIDE = 16;
const PARALLEL_ACROSS = 4;
const PARALLEL_REMOVALS = 8;

/** Content for the target instead of the bytes read from the source. `size` in bytes. */
export interface ReplacedContent {
  readonly content: Readable;
  readonly size: number | undefined;
  /** Called when the content is stored or has failed, to release its source. Never throws. */
  readonly release?: (() => Promise<void>) | undefined;
}

export interface CopyFileOptions extends OperationOptions {
  /**
   * Converts the content that was read into the content to store. Owns the stream that it was given, also
   * when it throws. With it, bytes are streamed even inside one store.
   */
  readonly contentFor?:
    | ((read: ReadResult, from: StoreLocation, target: SourcePath) => Promise<ReplacedContent>)
    | undefined;
}

export type CopyTreeOptions = CopyFileOptions &
  PlanOptions & {
    /**
     * Called when all files are copied; in a move before the emptied folders are removed. Copies additional
     * data of the files. When it fails, a move fails in part, and data that was not copied stays.
     */
    readonly onCopied?: ((files: CopiedTree['files']) => Promise<void>) | undefined;
  };

export interface CopiedFile {
  readonly from: SourcePath;
  readonly to: SourcePath;
  /** Stat of the original when it was read. */
  readonly source: Stat;
  /** Stat of the stored copy; undefined when another writer may have replaced it before it was known. */
  readonly copy: Stat | undefined;
}

/** The items created at the target, to be verified or withdrawn. */
export interface CopiedTree {
  readonly folders: readonly SourcePath[];
  readonly count: number;
  /** May be iterated several times. */
  readonly files: () => AsyncIterable<CopiedFile> | Iterable<CopiedFile>;
}

/** Copies on the server, where the store can. */
const copyInside = async (
  { storage, path: from }: StoreLocation,
  to: SourcePath,
  signal: AbortSignal | undefined,
): Promise<CopiedFile> => {
  const source = await storage.stat(from, { signal });
  if (source.kind === 'folder') throw new errors.WrongKindError();
  await storage.copyFile(from, to, { createOnly: true, signal });
  // Without the signal, and again where that fails: the copy must be known so that it can be withdrawn.
  const find = () => storage.stat(to);
  const copy = await find().catch(() => find().catch(errors.ifMissing));
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
    .finally((): unknown => replaced?.release?.());
  if (size !== undefined && copy.size !== undefined && copy.size !== size) {
    await to.storage.removeFile(to.path, { ifUnchanged: copy });
    throw new errors.CorruptError({ detail: `wrote ${String(copy.size)} of ${String(size)} bytes` });
  }
  return { from: from.path, to: to.path, source: read.stat, copy };
};

/**
 * Copies one file, inside a store or into another one: create-only, completely or not at all.
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

/** Whether a second lookup also finds nothing. */
export const isGone = ({ storage, path }: StoreLocation): Promise<boolean> =>
  storage.stat(path).then(
    () => false,
    (error: unknown) => error instanceof errors.NotFoundError,
  );

/** A store may briefly report a file as missing, and responses may get lost: retry. */
const WITHDRAWALS = 3;

/**
 * Removes what was created, in several attempts. Ends once it is seen to be gone: another writer may take the
 * path then. Never throws: the first error matters more.
 */
const withdraw = async (location: StoreLocation, remove: () => Promise<void>): Promise<void> => {
  for (let attempt = 0; attempt < WITHDRAWALS; attempt += 1) {
    try {
      return await remove();
    } catch (error) {
      if (error instanceof errors.NotFoundError ? await isGone(location) : errors.isRefusal(error)) return;
    }
  }
};

/** Removes an unchanged copy of a file. Never throws. */
export const withdrawFile = async (
  storage: StorageAdapter,
  { to, copy }: Pick<CopiedFile, 'to' | 'copy'>,
): Promise<void> => {
  if (copy !== undefined)
    await withdraw({ storage, path: to }, () => storage.removeFile(to, { ifUnchanged: copy }));
};

/**
 * Removes the result of a copy: unchanged files, then empty folders, the deepest first. Files that others
 * have added or replaced stay, with their folders. Needs no signal, and never throws.
 */
export const withdrawCopy = async (
  storage: StorageAdapter,
  { folders, files }: Omit<CopiedTree, 'count'>,
): Promise<void> => {
  // Where the list cannot be read, its files stay.
  await forEachAtOnce(PARALLEL_REMOVALS, files(), (file) => withdrawFile(storage, file)).catch(
    () => undefined,
  );
  for (const path of folders.toReversed())
    await withdraw({ storage, path }, () => storage.removeEmptyFolder(path));
};

/** The version properties of the port, without additions of an adapter. */
const versionOf = ({ name, kind, size, modifiedAt, changedAt, etag }: Stat): Stat => ({
  name,
  kind,
  size,
  modifiedAt,
  changedAt,
  etag,
});

/** A conflict inside the target must not lead to another attempt with another name for the whole folder. */
const asConflict = (error: unknown): Error => {
  if (error instanceof errors.AlreadyExistsError || error instanceof errors.WrongKindError) {
    return new errors.ContentsConflictError({ cause: error });
  }
  return error instanceof errors.NotFoundError
    ? new errors.ChangedMeanwhileError({ cause: error })
    : (error as Error);
};

/** Copies the planned items. Creating the target folder decides about its name. Withdraws all on failure. */
export const copyPlanned = async (
  from: StoreLocation,
  to: StoreLocation,
  plan: TreePlan,
  spill: SpillFile,
  options: CopyTreeOptions,
): Promise<CopiedTree> => {
  const { signal } = options;
  // Every copy adds a listener; the number of concurrent copies is bounded separately.
  if (signal !== undefined) setMaxListeners(0, signal);
  const folders: SourcePath[] = [];
  const copied = new SpilledList<PlannedFile & Pick<CopiedFile, 'source' | 'copy'>>(spill);
  const files = async function* (): AsyncGenerator<CopiedFile, void, undefined> {
    for await (const file of copied.items())
      yield { ...locate(plan, file), source: file.source, copy: file.copy };
  };
  await to.storage.makeFolder(to.path, { signal });
  folders.push(to.path);
  /** The first failure that may have left a copy behind; it outweighs the refusal of another file. */
  let uncertain: Error | undefined;
  const copy = async (file: PlannedFile): Promise<void> => {
    const paths = locate(plan, file);
    const source = { storage: from.storage, path: paths.from };
    const copying = copyFileTo(source, { storage: to.storage, path: paths.to }, options);
    const made = await copying.catch((error: unknown) => {
      if (!errors.isRefusal(error)) uncertain ??= error as Error;
      throw error;
    });
    const [read, stored] = [versionOf(made.source), made.copy && versionOf(made.copy)];
    await copied.push({ ...file, source: read, copy: stored });
  };
  try {
    for (const folder of plan.folders.slice(1)) {
      await to.storage.makeFolder(folder.to, { signal }).catch((error: unknown) => {
        // The folder may have been created with its response lost. Withdrawing removes empty folders only.
        if (!(error instanceof errors.AlreadyExistsError)) folders.push(folder.to);
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
    throw uncertain ?? asConflict(error);
  }
};

/**
 * Copies a folder file by file, inside a store or into another one, a few files at a time. Create-only:
 * creating the target folder decides the conflict about its name, and only that throws AlreadyExistsError.
 * The tree is listed first; later additions are not copied. On failure the created items are withdrawn, and
 * items that others have put into the target stay. Entries that listings leave out are not copied.
 *
 * Costs: memory of about 500 bytes for each folder and a few megabytes for its files, of which longer lists
 * are kept in a local temporary file (about 400 bytes each) until the copy is done; inside a store two `stat`
 * and a `copyFile` for each file.
 * @throws AlreadyExistsError, NotFoundError, WrongKindError (a file); ContentsConflictError for a name inside
 * the folder; UnsafePathError for a path that would be too deep; ChangedMeanwhileError when a file vanished;
 * the signal's reason
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
