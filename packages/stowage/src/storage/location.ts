import { withoutCase } from '../basics/content/file-name.ts';
import type { StorageAdapter } from './adapter.ts';
import { LOOKUP_MS } from './entry.ts';
import type { ReadableStore } from './readable.ts';
import type { SourcePath } from './source-path.ts';
import { inTimeLimit, orAborted } from '../basics/concurrency/abort.ts';
import { AlreadyExistsError, BusyError } from '../errors/errors.ts';

/** Location of an entry, existing or planned. */
export interface StoreLocation {
  readonly storage: StorageAdapter;
  readonly path: SourcePath;
}

/** Location of an entry, for code that does not change it. */
export interface Located {
  readonly storage: Pick<ReadableStore, 'identity' | 'capabilities'>;
  readonly path: SourcePath;
}

/**
 * Whether `inner` equals `outer` or is inside it, also across stores that share entries, as far as their
 * identities are known. Letter case is ignored where one of the stores ignores it.
 */
export const containsLocation = (outer: Located, inner: Located): boolean => {
  const [one, other] = [outer.storage.identity, inner.storage.identity];
  const isShared = outer.storage === inner.storage || (one !== undefined && one.backend === other?.backend);
  if (!isShared) return false;
  const isExact = outer.storage.capabilities.caseSensitive && inner.storage.capabilities.caseSensitive;
  const isSame = (segment: string, other: string | undefined): boolean =>
    segment === other || (!isExact && other !== undefined && withoutCase(segment) === withoutCase(other));
  const segmentsOf = ({ storage, path }: Located): readonly string[] =>
    outer.storage === inner.storage ? path.segments : [...(storage.identity?.root ?? []), ...path.segments];
  const innerSegments = segmentsOf(inner);
  return segmentsOf(outer).every((segment, index) => isSame(segment, innerSegments[index]));
};

/** Whether one location equals or contains the other. */
export const overlaps = (one: Located, other: Located): boolean =>
  containsLocation(one, other) || containsLocation(other, one);

export const isSameLocation = (one: Located, other: Located): boolean =>
  containsLocation(one, other) && containsLocation(other, one);

const MAY_WAIT = 1000;
/** An operation that never ends must not block all others forever. */
const LONGEST_WAIT_MS = 60_000;

interface LockOptions {
  readonly signal?: AbortSignal | undefined;
  /** The operation concerns one file, which others see whole or not at all. */
  readonly isOfFile?: boolean;
  /** Does not wait for operations of one file. */
  readonly passesFiles?: boolean;
  /** Creates an entry: a locked name counts as taken. */
  readonly isNew?: boolean;
  /**
   * Waits also for operations on folders that wait: without that, these would never begin in a busy folder.
   * Only for callers that hold no lock.
   */
  readonly isLast?: boolean;
}

/**
 * Serializes operations of this process that move or remove entries, where one location equals or contains
 * the other. Without it, two moves by copying could both copy a folder before either removes it.
 */
export interface LocationLocks {
  /**
   * Locks all of the locations, which are waited for together: callers wait before they hold a lock. Only a
   * change that keeps its folder also waits for names of files in it, whose holders wait for nothing. A
   * caller that has waited must check again, because items may be gone.
   * @throws AlreadyExistsError (`isNew`); the signal's reason while waiting; BusyError when too many callers
   * wait, or after a minute; errors of `work`
   */
  hold<T>(
    locations: readonly Located[],
    options: LockOptions,
    work: (hasWaited: boolean) => Promise<T>,
  ): Promise<T>;
  /** Whether a folder may have left its location since a request has seen it there. */
  readonly hasFolderLeft: () => boolean;
}

interface Holder extends Pick<LockOptions, 'isOfFile'> {
  readonly locations: readonly Located[];
  readonly ended: Promise<void>;
}

/** Creates the locks; memory is bounded by the running operations. */
export const createLocationLocks = (longestWaitMs = LONGEST_WAIT_MS): LocationLocks => {
  const holders = new Set<Holder>();
  const waitingOnFolders = new Set<Holder>();
  let waiting = 0;
  let folderLeftAt = -Infinity;
  // Many may wait for the same operation, which has begun last: each check finds it first.
  const findHolder = (wanted: readonly Located[], { passesFiles, isLast }: LockOptions) =>
    [...holders, ...(isLast === true ? waitingOnFolders : [])].findLast(
      ({ locations, isOfFile }) =>
        !(passesFiles === true && isOfFile === true) &&
        locations.some((location) => wanted.some((each) => overlaps(location, each))),
    );
  const waitFor = async (locations: readonly Located[], options: LockOptions, enter: () => void) => {
    if (waiting >= MAY_WAIT) throw new BusyError({ detail: 'too many operations wait for their turn' });
    const wait = async (limit: AbortSignal): Promise<void> => {
      const find = (): Holder | undefined => findHolder(locations, options);
      for (let found = find(); found !== undefined; found = find()) await orAborted(found.ended, limit);
      enter();
    };
    const late = (): Error => new BusyError({ detail: 'another operation on this location takes too long' });
    waiting += 1;
    await inTimeLimit(longestWaitMs, options.signal, wait, late).finally(() => (waiting -= 1));
  };
  return {
    hold: async (locations, options, work) => {
      options.signal?.throwIfAborted();
      const hasWaited = findHolder(locations, options) !== undefined;
      let end = (): void => undefined;
      const { isOfFile = false } = options;
      const holder = { locations, isOfFile, ended: new Promise<void>((resolve) => (end = resolve)) };
      // No await between the last check and this line: otherwise several waiting callers would all enter.
      const enter = (): void => void holders.add(holder);
      if (hasWaited && options.isNew === true) throw new AlreadyExistsError();
      if (!isOfFile) waitingOnFolders.add(holder);
      try {
        if (hasWaited) await waitFor(locations, options, enter);
        else enter();
        return await work(hasWaited);
      } finally {
        holders.delete(holder);
        waitingOnFolders.delete(holder);
        if (!isOfFile) folderLeftAt = Date.now();
        end();
      }
    },
    hasFolderLeft: () => Date.now() - folderLeftAt < LOOKUP_MS,
  };
};

/** Creates a function that returns keys of files which are unique over all stores. */
export const createStoreKeys = (): ((files: ReadableStore, path: SourcePath) => string) => {
  const numbers = new WeakMap<ReadableStore, number>();
  let stores = 0;
  return (files, path) => {
    const number = numbers.get(files) ?? (stores += 1);
    numbers.set(files, number);
    return `${number}/${path.toString()}`;
  };
};
