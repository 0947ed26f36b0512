import type { Readable } from 'node:stream';
import type { NameLocks } from '../../../basics/concurrency/name-locks.ts';
import * as errors from '../../../errors/errors.ts';
import type * as port from '../../../storage/adapter.ts';
import { folderNamed } from '../../../storage/entry.ts';
import { isSegment, type SourcePath } from '../../../storage/source-path.ts';

const MB = 1024 * 1024;

/** Up to this size one request stores an object; larger ones are sent in parts. */
export const PART_BYTES = 8 * MB;

/** Attributes of an object that new content under its key keeps. */
export interface KeptAttributes {
  readonly cacheControl?: string | undefined;
  readonly contentDisposition?: string | undefined;
  readonly contentLanguage?: string | undefined;
  /** Without the mark of the write that stored the object. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** The kept ones of a service's attributes. @param mark name of the metadata that marks a write */
export const keptOf = (
  { cacheControl, contentDisposition, contentLanguage, metadata = {} }: KeptAttributes,
  mark: string,
): KeptAttributes => {
  const others = Object.entries(metadata).filter(([name]) => name !== mark);
  return { cacheControl, contentDisposition, contentLanguage, metadata: Object.fromEntries(others) };
};

/** Properties of an object that a service reports. */
export interface ObjectFacts {
  readonly size: number | undefined;
  readonly modifiedAt: number | undefined;
  readonly etag: string | undefined;
  /** Undefined for the default class. */
  readonly storageClass: string | undefined;
  /** The object is not a file: it only reserves its key for a copy. `left`: by a process that was killed. */
  readonly reserved?: 'in use' | 'left' | undefined;
  /** Not reported by listings, and by GCS not with a content. */
  readonly kept?: KeptAttributes | undefined;
}

export interface ListedObject extends ObjectFacts {
  readonly key: string;
}

/** One response to a listing, with as many objects and common prefixes as the service returns. */
export interface ObjectPage {
  readonly objects: readonly ListedObject[];
  readonly prefixes: readonly string[];
  /** No other page follows. */
  readonly isLast: boolean;
}

/** `after`: only keys after this one, in byte order; for services that can start there. */
export interface PageOptions {
  readonly delimiter?: string;
  readonly size?: number;
  readonly after?: string;
}

/** A running download. `length`: bytes of this response, perhaps of a range. The caller owns the body. */
export interface Download {
  readonly facts: ObjectFacts;
  readonly length: number | undefined;
  readonly body: Readable;
  /** Converts an error of the body. */
  readonly failure: (error: unknown) => Error;
}

export interface Upload {
  readonly key: string;
  readonly createOnly: boolean;
  readonly ifMatch: string | undefined;
  readonly kept?: KeptAttributes | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly size: number | undefined;
  /** Opens the content again for a retry, where that is possible. */
  readonly open?: (() => Readable) | undefined;
}

export interface Uploaded {
  readonly size: number;
  readonly etag: string | undefined;
}

export interface Copy {
  readonly from: string;
  readonly to: string;
  /** Bytes of the source, as just reported. */
  readonly size: number;
  /** ETag of the source, as just reported. */
  readonly etag: string | undefined;
  /** Storage class as just reported. Kept, unless the options name one. */
  readonly storageClass: string | undefined;
  /** Reject a taken key, as far as the service decides that for copies. */
  readonly createOnly: boolean;
  /** A recent lookup found the target's key free. */
  readonly isCheckedFree: boolean;
}

/** An object to remove. With an etag only in this version, for services that support that. */
export interface ObjectToRemove {
  readonly key: string;
  readonly etag?: string | undefined;
}

/** An object that still exists, by its key. `failure` is undefined if unknown; a single removal shows it. */
export interface NotRemoved {
  readonly key: string;
  readonly failure: errors.StowageError | undefined;
}

export interface Batches {
  readonly most: number;
  /** Returns the objects that still exist. @throws UnsupportedError where the service has no batches */
  remove(objects: readonly ObjectToRemove[], options: port.OperationOptions): Promise<readonly NotRemoved[]>;
}

/** One response to a listing. `next`: token of the following page; undefined after the last. */
export type Listing = Pick<ObjectPage, 'objects' | 'prefixes'> & { readonly next: string | undefined };

/** @see Objects.pages. `ask` sends one request. @throws CorruptError for a listing that never ends */
export async function* pagesOf(
  ask: (token: string | undefined) => Promise<Listing>,
): AsyncGenerator<ObjectPage, void, undefined> {
  let token: string | undefined;
  do {
    const { next, ...page } = await ask(token).catch((error: unknown) => {
      // The root of a source always exists, so a missing bucket is an outage.
      throw error instanceof errors.NotFoundError
        ? new errors.StorageUnavailableError({ detail: 'there is no such bucket', cause: error })
        : error;
    });
    // Checked before the caller processes the page.
    if (next !== undefined && next === token)
      throw new errors.CorruptError({ detail: 'the service does not report how the listing continues' });
    token = next;
    yield { ...page, isLast: token === undefined };
  } while (token !== undefined);
}

/**
 * The port between the object store adapter and the services: the operations that a service must provide.
 * Errors are those of the storage port; 412 is ChangedMeanwhileError, 501 UnsupportedError.
 */
export interface Objects {
  readonly capabilities: port.StorageCapabilities;
  /** Whether the service decides create-only copies, and removals of one version. */
  readonly decides: { readonly copy: boolean; readonly remove: boolean };
  /** Serializes writes and moves of one key where the service does not decide between them. */
  readonly locks: NameLocks;

  /** Optional: detects the conditions that the service supports, before an operation relies on them. */
  learn?(options: port.OperationOptions): Promise<unknown>;

  /** Undefined when no object has the key. */
  find(key: string, options: port.OperationOptions): Promise<ObjectFacts | undefined>;

  /**
   * Keys with this prefix, in byte order; with a delimiter those of one folder. Pages may be empty.
   * @throws StorageUnavailableError, never NotFoundError: a listing that is not found means an outage
   */
  pages(prefix: string, options: port.OperationOptions, how?: PageOptions): AsyncIterable<ObjectPage>;

  /** @throws NotFoundError, ChangedMeanwhileError */
  get(key: string, options: port.ReadOptions): Promise<Download>;

  /** Stores all or nothing. @throws AlreadyExistsError, ChangedMeanwhileError, UnsupportedError (ifMatch) */
  upload(upload: Upload, options: port.OperationOptions): Promise<Uploaded>;

  /** Stores the empty object of a folder. @throws AlreadyExistsError where the service decides that */
  putFolder(key: string, createOnly: boolean, options: port.OperationOptions): Promise<void>;

  /**
   * Copies an object with its attributes. Returns the ETag of the copy.
   * @throws NotFoundError (the source), AlreadyExistsError, ChangedMeanwhileError (the source)
   */
  copy(copy: Copy, options: port.OperationOptions): Promise<string | undefined>;

  /**
   * Also succeeds when no object has the key.
   * @param etag removes only this version; for services that support that
   * @throws ChangedMeanwhileError for another version
   */
  remove(key: string, options: port.OperationOptions, etag?: string): Promise<void>;

  /** Optional: removes several objects in one request. */
  readonly batches?: Batches;

  /**
   * A temporary URL for reading the object. Undefined where the login cannot sign.
   * @throws StorageDeniedError where the service cannot sign for this login
   */
  signedUrl(key: string, options: port.TemporaryUrlOptions): Promise<string | undefined>;

  close(): Promise<void>;
}

const isAscending = (keys: readonly string[]): boolean =>
  keys.every((key, index) => index === 0 || (keys[index - 1] ?? '') <= key);

/**
 * Looks names up in the first page of a folder, whose keys begin with `prefix`. `unknown` for names with two
 * spellings or kinds, or another spelling than the path's, and for those that may be on a later page: these
 * need a `stat`. Some services (Storj) do not list keys in byte order: there, a later page may have any name.
 */
export const glimpseOf = (
  { objects, prefixes, isLast }: ObjectPage,
  folder: SourcePath,
  prefix: string,
  fileStat: (path: SourcePath, object: ListedObject) => port.Stat,
): port.Glimpse => {
  const known = new Map<string, (() => port.Stat) | 'unknown'>();
  const add = (written: string, statOf: (path: SourcePath) => port.Stat): void => {
    const name = written.normalize('NFC');
    const isClear = name === written && !known.has(name) && isSegment(name);
    known.set(name, isClear ? () => statOf(folder.below(name)) : 'unknown');
  };
  for (const object of objects)
    if (object.key !== prefix && object.reserved === undefined)
      add(object.key.slice(prefix.length), (path) => fileStat(path, object));
  for (const one of prefixes) add(one.slice(prefix.length, -1), ({ name }) => folderNamed(name));
  const keys = objects.map(({ key }) => key);
  const last = [keys.at(-1) ?? '', prefixes.at(-1) ?? ''].sort().at(-1) ?? '';
  const isOrdered = isAscending(keys) && isAscending(prefixes);
  const isBefore = (name: string): boolean =>
    isOrdered && /^[\u0020-\u007e]+$/u.test(name) && `${prefix}${name}/` < last;
  return (name) => {
    const found = known.get(name);
    if (typeof found === 'function') return found();
    return found ?? (isLast || isBefore(name) ? undefined : 'unknown');
  };
};
