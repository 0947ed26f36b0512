import type { Readable } from 'node:stream';
import type { Stat } from './entry.ts';
import type { OperationOptions, ReadableStore } from './readable.ts';
import type { SourcePath } from './source-path.ts';

export type * from './readable.ts';

export interface PutOptions extends OperationOptions {
  /** Fails with AlreadyExistsError when an entry has the name. Without it an existing file is replaced. */
  readonly createOnly?: boolean;
  /**
   * The caller knows that no folder has the name, from a recent lookup or because the name is random. The
   * store may skip its own check.
   */
  readonly isNoFolder?: boolean | undefined;
}

export interface RemoveOptions extends OperationOptions {
  /** Also succeeds when the item is missing, so that the store need not check that it exists. */
  readonly mayMiss?: boolean;
}

/** The caller's knowledge of the file that is moved or removed. */
export interface SeenOptions {
  /**
   * The result of a recent `stat` of this store for the file. A store with conditional requests uses it
   * instead of another lookup, and fails with ChangedMeanwhileError when the version is different by now.
   */
  readonly seen?: Stat | undefined;
}

/** @see StorageAdapter.copyFile */
export type TransferOptions = PutOptions & SeenOptions;

export interface RemoveFileOptions extends RemoveOptions, SeenOptions {
  /**
   * Removes the file only while it matches this stat, in all properties that the store reports; else
   * ChangedMeanwhileError. The store decides atomically where it can; otherwise the adapter compares
   * immediately before the removal.
   */
  readonly ifUnchanged?: Stat | undefined;
}

export interface WriteOptions extends PutOptions {
  /** Length of the content in bytes, if known. For any other length: CorruptError, and nothing is stored. */
  readonly size?: number | undefined;
  /** Replaces only this version, else throws ChangedMeanwhileError. */
  readonly ifMatch?: string | undefined;
  /**
   * The result of a recent `stat` of this store for the file that is replaced. A store whose files have
   * attributes of their own (caching, disposition, metadata) sets those that it reported for that file again.
   */
  readonly replaces?: Stat | undefined;
  /**
   * True for content that is derived from other files and can be regenerated, such as a thumbnail, in a
   * folder that only such content is put into. The store uses the cheapest way: no flush against power
   * failures, no check whether a folder has the name. Readers still see the whole file or none.
   */
  readonly derived?: boolean | undefined;
}

/**
 * Content that was received and has no name yet. It is invisible until `commit`, which may be retried with
 * another name after AlreadyExistsError. The caller must end it with a successful `commit` or with `discard`.
 */
export interface StagedFile {
  readonly size: number;
  /** The staged bytes as a local file, if there is one. A store may link or copy it until `discard`. */
  readonly file?: LocalFile | undefined;
  /** The staged bytes from the start; the caller owns the stream. May be called several times. */
  open(): Readable;
  /** Stores the content under its name, atomically. */
  commit(target: SourcePath, options?: Omit<WriteOptions, 'size'>): Promise<Stat>;
  /** Discards the content. Does nothing after a commit or when called again; never throws. */
  discard(): Promise<void>;
}

/** A complete local file, which is not changed any more. */
export interface LocalFile {
  readonly path: string;
  readonly size: number;
}

/** Options for staging content: `near` is the folder that it is probably meant for. */
export type StageOptions = OperationOptions & { readonly near?: SourcePath | undefined };

/**
 * The storage port: the contract of an adapter. Paths are inside the source and already safe; an adapter must
 * still keep them inside its root against links and races of its backend.
 *
 * Errors are classes of `errors/errors.ts` by cause: NotFound, AlreadyExists, WrongKind, StorageDenied,
 * StorageFull, ChangedMeanwhile, Busy, StorageTimeout, StorageUnavailable, Unsupported, Corrupt. An error of
 * a library or of the system is passed only as `cause`. The published conformance suite (`stowage/testing`)
 * checks this contract.
 */
export interface StorageAdapter extends ReadableStore {
  /**
   * Stores the content completely or not at all: after an abort, a failing content or a crash the old file is
   * unchanged and no temporary file remains (after a crash: from the next start on). Creates missing parent
   * folders. When a folder has the name: WrongKindError, with `createOnly` AlreadyExistsError. The adapter
   * owns `content` and always destroys it.
   */
  write(path: SourcePath, content: Readable, options?: WriteOptions): Promise<Stat>;

  /** Creates a folder and its missing parents. @throws AlreadyExistsError when an entry has the name. */
  makeFolder(path: SourcePath, options?: OperationOptions): Promise<void>;

  /** @throws NotFoundError, WrongKindError (a folder). */
  removeFile(path: SourcePath, options?: RemoveFileOptions): Promise<void>;

  /**
   * Removes a folder that is empty, also of entries that listings leave out. An entry that is added
   * concurrently is never lost: the store decides atomically where it can. @throws NotEmptyError,
   * NotFoundError, WrongKindError (a file); StorageDeniedError for the root.
   */
  removeEmptyFolder(path: SourcePath, options?: RemoveOptions): Promise<void>;

  /** Removes a folder with its contents. @throws NotFoundError, WrongKindError; StorageDeniedError: root */
  removeFolder(path: SourcePath, options?: OperationOptions): Promise<void>;

  /** Copies a file with a new modification time. @throws NotFoundError, WrongKindError, AlreadyExistsError */
  copyFile(from: SourcePath, to: SourcePath, options?: TransferOptions): Promise<void>;

  /**
   * Moves one file, keeping its modification time where the store can. A source file that is replaced
   * concurrently is never lost: either version may move, none disappears. Errors as copyFile, and
   * ChangedMeanwhileError (nothing has moved).
   */
  moveFile(from: SourcePath, to: SourcePath, options?: TransferOptions): Promise<void>;

  /**
   * Optional; without it the port copies file by file. Always create-only: AlreadyExistsError when the
   * target's name is taken. The caller rejects a target inside the source folder.
   */
  copyFolder?(from: SourcePath, to: SourcePath, options?: OperationOptions): Promise<void>;

  /** Optional; without it the port copies and then removes. Always create-only. */
  moveFolder?(from: SourcePath, to: SourcePath, options?: OperationOptions): Promise<void>;

  /** Optional: receives content before its name is decided. Without it the port spools to a local file. */
  stage?(content: Readable, options?: StageOptions): Promise<StagedFile>;

  /**
   * Optional: `write` of a local file, where linking or copying it is cheaper than writing its bytes. The
   * file remains, perhaps as a second link to the stored one. Only stores on local disks have this.
   */
  adopt?(path: SourcePath, file: LocalFile, options?: Omit<WriteOptions, 'size'>): Promise<Stat>;

  /** Releases connections and temporary files. Later operations may fail. */
  close?(): Promise<void>;
}
