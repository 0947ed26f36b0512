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
  /** Aborts the operation: it rejects with the signal's reason and leaves nothing half-done behind. */
  readonly signal?: AbortSignal | undefined;
}

/** @see ReadableStore.stat */
export interface StatOptions extends OperationOptions {
  /**
   * The caller expects nothing at the path and goes on in this store: an outage may look like that for now.
   */
  readonly mayMiss?: boolean;
  /**
   * What the caller takes it for: a store that keeps files and folders apart looks for that first, and with
   * `mayMiss` for nothing else.
   */
  readonly expects?: EntryKind | undefined;
}

export interface ListOptions extends StatOptions {
  /**
   * Called, at the latest with the end of the listing, with the number of entries that it leaves out because
   * no path can name them or because they are links or special files. Not called for none.
   */
  readonly onOmitted?: ((count: number) => void) | undefined;
  /**
   * `names`: size and time may be left undefined when they would cost extra. `full` (default): as far as the
   * store knows. `versions`: with the `etag` of files, too, where that costs less than `statMany`.
   */
  readonly detail?: 'names' | 'full' | 'versions';
  /**
   * A listing of the folder that is already under way will do, unless this process has changed anything in it
   * since: what other processes have changed meanwhile may be missing.
   */
  readonly mayJoin?: boolean;
  /**
   * Only entries whose names begin so are wanted, in this letter case: others may be left out, where asking
   * for fewer costs less.
   */
  readonly startingWith?: string | undefined;
}

export interface ReadOptions extends OperationOptions {
  /** Must lie inside the file. */
  readonly range?: ByteRange | undefined;
  /** Throws ChangedMeanwhileError when the file is not (or no longer) this version. */
  readonly ifMatch?: string | undefined;
  /** The caller takes files or ranges of so many bytes as `bytes`. A store may give a stream all the same. */
  readonly bytesUpTo?: number | undefined;
  /** @see StatOptions.mayMiss */
  readonly mayMiss?: boolean;
}

export interface ReusedMemory {
  /** The store takes it away to read into it, and puts here what the files of its answer lie in. */
  buffer: ArrayBuffer | undefined;
}

/** @see ReadableStore.readMany */
export interface ReadManyOptions extends OperationOptions {
  /** Of all files together: what does not fit is left to `read`. */
  readonly bytesUpTo: number;
  /** The caller is done with files that lie in it. A store may ignore it. */
  readonly memory?: ReusedMemory | undefined;
}

/** A file that was read whole. */
export interface WholeFile {
  readonly stat: Pick<Stat, 'size' | 'modifiedAt'>;
  readonly bytes: Uint8Array;
}

/** @see ReadableStore.glimpse */
export interface GlimpseOptions extends OperationOptions {
  readonly most: number;
}

/**
 * What the first entries of a folder show of a name: the entry, undefined where nothing has it, `unknown` where they do
 * not show that.
 */
export type Glimpse = (name: string) => Stat | undefined | 'unknown';

/** @see ReadableStore.tally */
export interface TallyOptions extends OperationOptions {
  /** `sizes`: what the files take. `paths`: bounds of the paths, for which no file is looked at. */
  readonly of: 'sizes' | 'paths';
  /** Names, in small letters, of folders that do not count, whatever their letter case. Default: all count. */
  readonly uncounted?: readonly string[] | undefined;
  /** Files whose path in the source matches do not count. Default: all count. */
  readonly ignores?: RegExp | undefined;
}

/** @see ReadableStore.tally */
export interface Tally {
  readonly bytes: number;
  readonly files: number;
  /** No path below the folder has more segments below it. */
  readonly deepest: number;
  /** No path below the folder has more bytes below it, a slash before each name. */
  readonly longest: number;
  /** Folders that may not be read. */
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

/** A file being read. The caller owns the stream: reads it to its end or destroys it. */
export interface ReadResult {
  readonly stat: Stat;
  /** All that was asked for, where the store has read it already. A caller that uses it leaves `stream` alone. */
  readonly bytes?: Uint8Array | undefined;
  readonly stream: Readable;
}

/** The reading half of the storage port: all that may be done with a store but for a change. */
export interface ReadableStore {
  readonly capabilities: StorageCapabilities;

  /**
   * Where the root of this store lies in its backend. Two stores with the same `backend` share entries when
   * one `root` is, or contains, the other. Undefined: no other store reaches the entries, or it is not known.
   * Never shown to clients.
   */
  readonly identity?: StoreIdentity | undefined;

  /** @throws NotFoundError. The root always exists and is a folder. */
  stat(path: SourcePath, options?: StatOptions): Promise<Stat>;

  /**
   * Optional: asks whether the root is there now, by one small request. Fails where it is missing; an empty
   * one is there. It is called after something was not found, which is an outage where the root is missing
   * too. Without it `stat` of the root is asked.
   */
  checkRoot?(options?: OperationOptions): Promise<void>;

  /**
   * The entries of a folder in pages, in the store's order; never opens a file. Names that cannot be a path
   * segment are left out. @throws NotFoundError, WrongKindError (a file) no later than the first page.
   */
  list(folder: SourcePath, options?: ListOptions): AsyncIterable<readonly Entry[]>;

  /**
   * Optional: the first `most` entries of a folder, by one request. Present only where that costs about as much as
   * `stat`, and shows everything that a store of its kind can show to be absent.
   * @throws NotFoundError where nothing lies in the folder
   */
  glimpse?(folder: SourcePath, options: GlimpseOptions): Promise<Glimpse>;

  /** @throws NotFoundError, WrongKindError (a folder), ChangedMeanwhileError. */
  read(path: SourcePath, options?: ReadOptions): Promise<ReadResult>;

  /**
   * Optional: all that lies below a folder, each folder before what it holds, in an order that is always the
   * same; a walk from the position of any entry or page goes on behind it, without a miss or a repetition.
   * Present only where it is cheaper than listing folder by folder. @throws UnsupportedError before anything
   * is found, where this service cannot do it.
   */
  walk?(folder: SourcePath, options: TreeWalkOptions): AsyncIterable<WalkPage>;

  /**
   * Optional: sums up what lies below a folder, as `list` shows it, in one go; a folder that vanishes meanwhile is
   * left out. Present only where it is cheaper than a walk. @throws NotFoundError, WrongKindError for the folder
   * itself; UnsupportedError where it cannot be done now
   */
  tally?(folder: SourcePath, options: TallyOptions): Promise<Tally>;

  /**
   * Optional: several entries of one folder, in the order of `names`, with the versions that `stat` reports;
   * undefined where nothing lies. Present only where it is cheaper than listing the folder for a page of
   * names.
   */
  statMany?(
    folder: SourcePath,
    names: readonly string[],
    options?: StatOptions,
  ): Promise<readonly (Entry | undefined)[]>;

  /**
   * Optional: many small files, of one folder or several, read whole, in the order of `paths`; undefined for
   * a file that is to be read by `read`, which also says why. Present only where it is cheaper than that.
   */
  readMany?(
    paths: readonly SourcePath[],
    options: ReadManyOptions,
  ): Promise<readonly (WholeFile | undefined)[]>;

  /**
   * Optional: a URL by which anybody reads the file until it expires, answered with this type and
   * disposition; undefined where the store cannot make one. Costs no request.
   */
  temporaryUrl?(path: SourcePath, options: TemporaryUrlOptions): Promise<string | undefined>;
}
