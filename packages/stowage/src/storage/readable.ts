import type { Readable } from 'node:stream';
import type { StorageCapabilities } from './capabilities.ts';
import type { ByteRange, Entry, EntryKind, Stat } from './entry.ts';
import type { SourcePath } from './source-path.ts';
import type { TreeWalkOptions, WalkPage } from './tree-walk.ts';

export type { CapabilityName, StorageCapabilities } from './capabilities.ts';
export type { ByteRange, Entry, EntryKind, Stat } from './entry.ts';

/** @see ReadableStore.identity */
export interface StoreIdentity {
  /** The system that holds the entries: `local`, an endpoint with its bucket, the origin of a server. */
  readonly backend: string;
  /** Segments of the root in that system. */
  readonly root: readonly string[];
}

export interface OperationOptions {
  /** Aborts the operation: it rejects with the signal's reason and leaves nothing half-done. */
  readonly signal?: AbortSignal | undefined;
}

/** @see ReadableStore.stat */
export interface StatOptions extends OperationOptions {
  /**
   * The caller expects no item at the path, and continues with other requests to this store, which reveal an
   * outage: here an outage may be reported as a missing item.
   */
  readonly mayMiss?: boolean;
  /**
   * The kind that the caller expects: a store that has files and folders apart checks this kind first, and
   * with `mayMiss` for this kind only.
   */
  readonly expects?: EntryKind | undefined;
}

export interface ListOptions extends StatOptions {
  /**
   * Called, at the latest at the end of the listing, with the number of entries that it leaves out because no
   * path can name them, they are links or special files, or the store cannot read them. Not called for
   * none.
   */
  readonly onOmitted?: ((count: number) => void) | undefined;
  /**
   * `names`: size and time may be undefined where they would cost extra. `full` (default): all that a listing
   * reports. `versions`: with the `etag` of files too, where that costs less than `statMany`.
   */
  readonly detail?: 'names' | 'full' | 'versions';
  /**
   * The result may come from a running listing of the folder, unless this process has changed the folder
   * since: concurrent changes of other processes may be missing.
   */
  readonly mayJoin?: boolean;
  /** Only entries whose names start with this text, in this letter case, are needed: others are optional. */
  readonly startingWith?: string | undefined;
}

export interface ReadOptions extends OperationOptions {
  /** Must be inside the file. */
  readonly range?: ByteRange | undefined;
  /** Throws ChangedMeanwhileError when the file is another version. */
  readonly ifMatch?: string | undefined;
  /** The caller accepts up to this number of bytes as `bytes`. A store may still return a stream. */
  readonly bytesUpTo?: number | undefined;
  /** @see StatOptions.mayMiss */
  readonly mayMiss?: boolean;
}

export interface ReusedMemory {
  /** The store takes it out to read into it, and puts in the memory that holds the files of its result. */
  buffer: ArrayBuffer | undefined;
}

/** @see ReadableStore.readMany */
export interface ReadManyOptions extends OperationOptions {
  /** Limit for all files together; files beyond it are left to `read`. */
  readonly bytesUpTo: number;
  /** Memory of an earlier result that the caller no longer uses. A store may ignore it. */
  readonly memory?: ReusedMemory | undefined;
}

/** A file that was read completely. */
export interface WholeFile {
  readonly stat: Pick<Stat, 'size' | 'modifiedAt'>;
  readonly bytes: Uint8Array;
}

/** @see ReadableStore.glimpse */
export interface GlimpseOptions extends OperationOptions {
  readonly most: number;
}

/**
 * Looks a name up in the first entries of a folder: the entry, undefined when no item has the name, `unknown`
 * when the entries do not show it.
 */
export type Glimpse = (name: string) => Stat | undefined | 'unknown';

/** @see ReadableStore.tally */
export interface TallyOptions extends OperationOptions {
  /** `sizes`: sizes of the files. `paths`: limits of the paths, without reading file metadata. */
  readonly of: 'sizes' | 'paths';
  /** Names, in lower case, of folders that are not counted, in any letter case. Default: all are counted. */
  readonly uncounted?: readonly string[] | undefined;
  /** With `paths`: folders that many folders contain. One with no others need not be read. */
  readonly likely?: readonly string[] | undefined;
  /** Files whose path in the source matches are not counted. Default: all are counted. */
  readonly ignores?: RegExp | undefined;
}

/** @see ReadableStore.tally */
export interface Tally {
  readonly bytes: number;
  readonly files: number;
  /** Upper bound of the segments of a path below the folder. */
  readonly deepest: number;
  /** Upper bound of the bytes of a path below the folder, with a slash before each name. */
  readonly longest: number;
  /** Number of folders that may not be read. */
  readonly unreadable: number;
}

/** @see ReadableStore.temporaryUrl */
export interface TemporaryUrlOptions extends OperationOptions {
  /** Seconds. */
  readonly lifetime: number;
  readonly contentType: string;
  /** `Content-Disposition`. */
  readonly disposition: string;
}

/** A file that is being read. The caller owns the stream: it reads it to the end or destroys it. */
export interface ReadResult {
  readonly stat: Stat;
  /** The complete requested content, if the store has it already. A caller that uses it ignores `stream`. */
  readonly bytes?: Uint8Array | undefined;
  readonly stream: Readable;
}

/** The read-only half of the storage port. */
export interface ReadableStore {
  readonly capabilities: StorageCapabilities;

  /**
   * Location of the store's root in its backend. Two stores with the same `backend` share entries when one
   * `root` equals or contains the other. Undefined when no other store reaches the entries, or when it is
   * unknown. Never shown to clients.
   */
  readonly identity?: StoreIdentity | undefined;

  /**
   * Whether the names of internal records ignore letter case: must not change with what is mounted below the
   * root, or records would be lost. Default: where `capabilities` says that names do.
   */
  readonly foldsRecords?: boolean | undefined;

  /** @throws NotFoundError. The root always exists and is a folder. */
  stat(path: SourcePath, options?: StatOptions): Promise<Stat>;

  /**
   * Optional: checks that the root exists, with one small request. Fails when it is missing; an empty root
   * exists. Called after an item was not found, because a missing root means an outage. Without it `stat` of
   * the root is used.
   */
  checkRoot?(options?: OperationOptions): Promise<void>;

  /**
   * The entries of a folder in pages, in the store's order; never opens a file. Leaves out names that cannot
   * be a path segment. @throws NotFoundError, WrongKindError (a file) no later than the first page.
   */
  list(folder: SourcePath, options?: ListOptions): AsyncIterable<readonly Entry[]>;

  /**
   * Optional: the first `most` entries of a folder, with one request. Present only where that costs about as
   * much as `stat`, and reliably shows which names are absent.
   * @throws NotFoundError when there is no such folder
   */
  glimpse?(folder: SourcePath, options: GlimpseOptions): Promise<Glimpse>;

  /** @throws NotFoundError, WrongKindError (a folder), ChangedMeanwhileError. */
  read(path: SourcePath, options?: ReadOptions): Promise<ReadResult>;

  /**
   * Optional: all entries below a folder, each folder before its contents, in a fixed order; a walk from the
   * position of any entry or page continues after it, without gaps or repetitions. Present only where it is
   * cheaper than listing each folder. @throws UnsupportedError before the first entry, where this service
   * cannot do it.
   */
  walk?(folder: SourcePath, options: TreeWalkOptions): AsyncIterable<WalkPage>;

  /**
   * Optional: sums up the entries below a folder, as `list` shows them; skips a folder that vanishes
   * meanwhile. Present only where it is cheaper than a walk. @throws NotFoundError, WrongKindError for the
   * folder itself; UnsupportedError where it is currently not possible
   */
  tally?(folder: SourcePath, options: TallyOptions): Promise<Tally>;

  /**
   * Optional: several entries of one folder, in the order of `names`, with the versions that `stat` reports;
   * undefined for a missing one. Present only where it is cheaper than listing the folder for a page of
   * names.
   */
  statMany?(
    folder: SourcePath,
    names: readonly string[],
    options?: StatOptions,
  ): Promise<readonly (Entry | undefined)[]>;

  /**
   * Optional: reads many small files completely, of one folder or several, in the order of `paths`; undefined
   * for a file that must be read with `read`, which also reports its error. Present only where it is cheaper.
   */
  readMany?(
    paths: readonly SourcePath[],
    options: ReadManyOptions,
  ): Promise<readonly (WholeFile | undefined)[]>;

  /**
   * Optional: a URL that gives read access to the file until it expires, with this type and disposition;
   * undefined where the store cannot create one. Costs no request.
   */
  temporaryUrl?(path: SourcePath, options: TemporaryUrlOptions): Promise<string | undefined>;
}
