import type { Readable } from 'node:stream';
import type { NameLocks } from '../../../basics/concurrency/name-locks.ts';
import {
  CorruptError,
  NotFoundError,
  StorageUnavailableError,
  type StowageError,
} from '../../../errors/errors.ts';
import type {
  OperationOptions,
  ReadOptions,
  StorageCapabilities,
  Glimpse,
  Stat,
  TemporaryUrlOptions,
} from '../../../storage/adapter.ts';
import { folderNamed } from '../../../storage/entry.ts';
import { isSegment, type SourcePath } from '../../../storage/source-path.ts';

const MB = 1024 * 1024;

/** Up to here one request stores an object; larger ones go in parts. */
export const PART_BYTES = 8 * MB;

/** What a service reports of an object. */
export interface ObjectFacts {
  readonly size: number | undefined;
  readonly modifiedAt: number | undefined;
  readonly etag: string | undefined;
  /** Undefined where it is the usual one. */
  readonly storageClass: string | undefined;
}

/** An object as a listing reports it. */
export interface ListedObject extends ObjectFacts {
  readonly key: string;
}

/** One answer to a listing, with as many objects and common prefixes together as the service gives. */
export interface ObjectPage {
  readonly objects: readonly ListedObject[];
  readonly prefixes: readonly string[];
  /** No other page follows. */
  readonly isLast: boolean;
}

/** `after`: only keys behind this one, by their bytes; for services that know to begin there. */
export interface PageOptions {
  readonly delimiter?: string;
  readonly size?: number;
  readonly after?: string;
}

/** An object, or a range of it, on its way. `length`: bytes of this answer. The caller owns the body. */
export interface Download {
  readonly facts: ObjectFacts;
  readonly length: number | undefined;
  readonly body: Readable;
  /** The error of ours for one of the body. */
  readonly failure: (error: unknown) => Error;
}

/** What is to be stored. */
export interface Upload {
  readonly key: string;
  readonly createOnly: boolean;
  readonly ifMatch: string | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly size: number | undefined;
  /** Opens the content once more, where that is possible. */
  readonly open?: (() => Readable) | undefined;
}

/** What has been stored. */
export interface Uploaded {
  readonly size: number;
  readonly etag: string | undefined;
}

/** One object that is copied at its service. */
export interface Copy {
  readonly from: string;
  readonly to: string;
  /** Bytes of the source, as just reported. */
  readonly size: number;
  /** Version of the source, as just reported. */
  readonly etag: string | undefined;
  /** As just reported. Kept unless the options name one. */
  readonly storageClass: string | undefined;
  /** Refuse a taken key, as far as the service decides that for copies. */
  readonly createOnly: boolean;
  /** Whether the target was just looked at, and nothing had its key. */
  readonly isCheckedFree: boolean;
}

/** An object to remove: with an etag only in this version, for services that are known to obey it. */
export interface ObjectToRemove {
  readonly key: string;
  readonly etag?: string | undefined;
}

/** An object that is still there, by its key. Undefined `failure`: why, a removal alone may show. */
export interface NotRemoved {
  readonly key: string;
  readonly failure: StowageError | undefined;
}

/** Removals of several objects in one request. */
export interface Batches {
  /** Objects in one request. */
  readonly most: number;
  /** Returns those that are still there. @throws UnsupportedError where the service has no such request */
  remove(objects: readonly ObjectToRemove[], options: OperationOptions): Promise<readonly NotRemoved[]>;
}

/** One answer to a listing. `next`: where the following one begins; undefined after the last. */
export type Listing = Pick<ObjectPage, 'objects' | 'prefixes'> & { readonly next: string | undefined };

/** @see Objects.pages. `ask` sends one request. @throws CorruptError for a listing that never ends */
export async function* pagesOf(
  ask: (token: string | undefined) => Promise<Listing>,
): AsyncGenerator<ObjectPage, void, undefined> {
  let token: string | undefined;
  do {
    const { next, ...page } = await ask(token).catch((error: unknown) => {
      // The root of a source always exists, so a missing bucket is an outage.
      throw error instanceof NotFoundError
        ? new StorageUnavailableError({ detail: 'there is no such bucket', cause: error })
        : error;
    });
    // Before a caller works with a page that may be followed by nothing but an error.
    if (next !== undefined && next === token)
      throw new CorruptError({ detail: 'the service does not report how a listing goes on' });
    token = next;
    yield { ...page, isLast: token === undefined };
  } while (token !== undefined);
}

/**
 * What a service of objects under keys must do for a source to lie in it: the port between this room and the
 * adapters. Errors are those of the storage port; 412 is ChangedMeanwhileError, 501 UnsupportedError.
 */
export interface Objects {
  readonly capabilities: StorageCapabilities;
  /** What the service decides by itself: create-only copies, and removals of one version. */
  readonly decides: { readonly copy: boolean; readonly remove: boolean };
  /** Writes and moves of one key wait for each other where the service does not decide between them. */
  readonly locks: NameLocks;

  /** Optional: finds out what the service decides, before something depends on it. */
  learn?(options: OperationOptions): Promise<unknown>;

  /** Undefined where nothing has the key. */
  find(key: string, options: OperationOptions): Promise<ObjectFacts | undefined>;

  /**
   * Keys that begin so, by their bytes; with a delimiter those of one folder. Pages may be empty.
   * @throws StorageUnavailableError, never NotFoundError: where a listing is not found, all is missing
   */
  pages(prefix: string, options: OperationOptions, how?: PageOptions): AsyncIterable<ObjectPage>;

  /** @throws NotFoundError, ChangedMeanwhileError */
  get(key: string, options: ReadOptions): Promise<Download>;

  /** Whole or not at all. @throws AlreadyExistsError, ChangedMeanwhileError, UnsupportedError (`ifMatch`) */
  upload(upload: Upload, options: OperationOptions): Promise<Uploaded>;

  /** Stores the empty object of a folder. @throws AlreadyExistsError where the service decides that */
  putFolder(key: string, createOnly: boolean, options: OperationOptions): Promise<void>;

  /**
   * Copies an object with its attributes. Returns the version of the copy.
   * @throws NotFoundError (the source), AlreadyExistsError, ChangedMeanwhileError (the source)
   */
  copy(copy: Copy, options: OperationOptions): Promise<string | undefined>;

  /**
   * Succeeds also when nothing has the key.
   * @param etag only this version; for services that are known to obey it
   * @throws ChangedMeanwhileError for another version
   */
  remove(key: string, options: OperationOptions, etag?: string): Promise<void>;

  /** Optional: how many objects are removed in one request. */
  readonly batches?: Batches;

  /**
   * A URL by which anybody gets the object for a while. Undefined where the login cannot sign.
   * @throws StorageDeniedError where the service refuses to sign for this login
   */
  signedUrl(key: string, options: TemporaryUrlOptions): Promise<string | undefined>;

  close(): Promise<void>;
}

/**
 * What the first page of a folder shows of names, whose keys begin with `prefix` and come in the order of their bytes.
 * What has two spellings or kinds, or another spelling than its path, is left to `stat`.
 */
export const glimpseOf = (
  { objects, prefixes, isLast }: ObjectPage,
  folder: SourcePath,
  prefix: string,
  fileStat: (path: SourcePath, object: ListedObject) => Stat,
): Glimpse => {
  const known = new Map<string, (() => Stat) | 'unknown'>();
  const add = (written: string, look: (path: SourcePath) => Stat): void => {
    const name = written.normalize('NFC');
    const isClear = name === written && !known.has(name) && isSegment(name);
    known.set(name, isClear ? () => look(folder.below(name)) : 'unknown');
  };
  for (const object of objects)
    if (object.key !== prefix) add(object.key.slice(prefix.length), (path) => fileStat(path, object));
  for (const one of prefixes) add(one.slice(prefix.length, -1), ({ name }) => folderNamed(name));
  const last = [objects.at(-1)?.key ?? '', prefixes.at(-1) ?? ''].sort().at(-1) ?? '';
  const isBefore = (name: string): boolean => /^[\u0020-\u007e]+$/u.test(name) && `${prefix}${name}/` < last;
  return (name) => {
    const found = known.get(name);
    if (typeof found === 'function') return found();
    return found ?? (isLast || isBefore(name) ? undefined : 'unknown');
  };
};
