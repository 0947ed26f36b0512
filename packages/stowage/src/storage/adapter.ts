import type { Readable } from 'node:stream';
import type { Stat } from './entry.ts';
import type { OperationOptions, ReadableStore } from './readable.ts';
import type { SourcePath } from './source-path.ts';

export type { Entry, EntryKind, Stat } from './entry.ts';
export type * from './readable.ts';

export interface PutOptions extends OperationOptions {
  /** Fails with AlreadyExistsError when anything has the name. Without it an existing file is replaced. */
  readonly createOnly?: boolean;
  /**
   * The caller knows that no folder has the name: it has just looked, or made the name up. A store need not look.
   */
  readonly isNoFolder?: boolean | undefined;
}

export interface RemoveOptions extends OperationOptions {
  /** It is as good when nothing is there: a store need not find out, and then succeeds as well. */
  readonly mayMiss?: boolean;
}

/** What the caller has seen of the file that goes. */
export interface SeenOptions {
  /**
   * What `stat` of this very store has returned for it moments ago. A store that decides by versions goes by it
   * instead of looking once more, and fails with ChangedMeanwhileError when there is another one by now.
   */
  readonly seen?: Stat | undefined;
}

/** @see StorageAdapter.copyFile */
export type TransferOptions = PutOptions & SeenOptions;

export interface RemoveFileOptions extends RemoveOptions, SeenOptions {
  /**
   * Removes the file only while it is what this look at it showed, by all that the store reports; else
   * ChangedMeanwhileError. Decided by the store where it can be, else by a look immediately before.
   */
  readonly ifUnchanged?: Stat | undefined;
}

export interface WriteOptions extends PutOptions {
  /** Bytes of the content, when known. With another length it fails with CorruptError: nothing is stored. */
  readonly size?: number | undefined;
  /** Replaces only this version, else throws ChangedMeanwhileError. */
  readonly ifMatch?: string | undefined;
  /**
   * True for content that is derived from other files and can be made again, such as a thumbnail, in a folder
   * that only such content is put into. The store takes the cheapest way: it need not survive a power
   * failure, nor ask whether a folder has the name. Others still see the whole file or none.
   */
  readonly derived?: boolean | undefined;
}

/**
 * Content that has arrived and has no name yet. It is invisible until `commit`, which may be tried again with
 * another name after AlreadyExistsError. The caller ends it by a successful `commit` or by `discard`.
 */
export interface StagedFile {
  readonly size: number;
  /** Where the bytes lie, if that is a file which a store may link or copy until `discard`. */
  readonly file?: LocalFile | undefined;
  /** The staged bytes from the start; the caller owns the stream. May be called several times. */
  open(): Readable;
  /** Gives the content its name, whole and in one step. */
  commit(target: SourcePath, options?: Omit<WriteOptions, 'size'>): Promise<Stat>;
  /** Drops the content. Does nothing after a commit or a second time; never throws. */
  discard(): Promise<void>;
}

/** A file of this machine that holds all of a content, and is not changed any more. */
export interface LocalFile {
  readonly path: string;
  readonly size: number;
}

/** How content is staged: `near` is the folder that it is likely meant for. */
export type StageOptions = OperationOptions & { readonly near?: SourcePath | undefined };

/**
 * The storage port: what an adapter must do. Paths are inside the source and already safe; an adapter must
 * still keep them inside its root against links and races of its backend.
 *
 * Errors are classes of `errors/errors.ts` by cause: NotFound, AlreadyExists, WrongKind, StorageDenied,
 * StorageFull, ChangedMeanwhile, Busy, StorageTimeout, StorageUnavailable, Unsupported, Corrupt. An error of
 * a library or of the system travels only as `cause`. The published conformance suite (`stowage/testing`)
 * checks all that is said here.
 */
export interface StorageAdapter extends ReadableStore {
  /**
   * Stores the content whole or not at all: an abort, a failing content or a crash leaves the old file as it
   * was and no temporary one (a crash: after the next start). Missing parent folders are created. A folder of
   * that name: WrongKindError, with `createOnly` AlreadyExistsError. The adapter owns `content` and destroys
   * it on every way out.
   */
  write(path: SourcePath, content: Readable, options?: WriteOptions): Promise<Stat>;

  /** Creates a folder and its missing parents. @throws AlreadyExistsError when anything has the name. */
  makeFolder(path: SourcePath, options?: OperationOptions): Promise<void>;

  /** @throws NotFoundError, WrongKindError (a folder). */
  removeFile(path: SourcePath, options?: RemoveFileOptions): Promise<void>;

  /**
   * Removes a folder that holds nothing, not even entries that listings leave out. An entry that arrives in
   * it meanwhile is never lost: the store decides where it can. @throws NotEmptyError, NotFoundError,
   * WrongKindError (a file). The root is refused: StorageDenied.
   */
  removeEmptyFolder(path: SourcePath, options?: RemoveOptions): Promise<void>;

  /** Removes a folder with all it holds. @throws NotFoundError, WrongKindError; StorageDenied for the root. */
  removeFolder(path: SourcePath, options?: OperationOptions): Promise<void>;

  /** Copies one file; the copy has a new time. @throws NotFoundError, WrongKindError, AlreadyExistsError. */
  copyFile(from: SourcePath, to: SourcePath, options?: TransferOptions): Promise<void>;

  /**
   * Moves one file, keeping its modification time where the store can. A source that is replaced meanwhile is
   * never lost: either version may move, none disappears. Errors as copyFile, and ChangedMeanwhileError
   * (nothing has moved).
   */
  moveFile(from: SourcePath, to: SourcePath, options?: TransferOptions): Promise<void>;

  /**
   * Optional, else the port copies file by file. Always create-only: AlreadyExistsError when anything has the
   * target's name. A target inside the source folder is refused by the caller.
   */
  copyFolder?(from: SourcePath, to: SourcePath, options?: OperationOptions): Promise<void>;

  /** Optional, else the port copies and then removes. Always create-only. */
  moveFolder?(from: SourcePath, to: SourcePath, options?: OperationOptions): Promise<void>;

  /**
   * Optional: takes content in before its name is decided. Else the port spools to a local temporary file.
   */
  stage?(content: Readable, options?: StageOptions): Promise<StagedFile>;

  /**
   * Optional: `write` of a file of this machine, where linking or copying it is cheaper than its bytes. The file stays,
   * perhaps as another name of what is stored. Present in stores on local disks alone.
   */
  adopt?(path: SourcePath, file: LocalFile, options?: Omit<WriteOptions, 'size'>): Promise<Stat>;

  /** Frees connections and temporary files. Operations after it may fail. */
  close?(): Promise<void>;
}
