import { withoutCase } from '../basics/content/file-name.ts';
import type { StorageAdapter } from './adapter.ts';
import { LOOKUP_MS } from './entry.ts';
import type { ReadableStore } from './readable.ts';
import type { SourcePath } from './source-path.ts';
import { inTimeLimit, orAborted } from '../basics/concurrency/abort.ts';
import { BusyError } from '../errors/errors.ts';

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
  /**
   * The operation moves and removes no folder that may get new content: it concerns a file, an item of the
   * trash, or the name of new content. Two of these only wait for each other at the same location.
   */
  readonly isOfFile?: boolean;
  /** Does not wait for changes of this file. */
  readonly original?: Located | undefined;
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
   * @throws the signal's reason while waiting; BusyError when too many callers wait, or after a minute;
   * errors of `work`
   */
  hold<T>(
    locations: readonly Located[],
    options: LockOptions,
    work: (hasWaited: boolean) => Promise<T>,
  ): Promise<T>;
  /**
   * Locks the name of new content. Undefined when it is locked already: does not wait. Between a copy and a
   * move of its original to the same name the store decides.
   */
  tryName<T>(name: Located, original: Located | undefined, work: () => Promise<T>): Promise<T> | undefined;
  /** Whether a folder may have left a location, or its parents, since a request has seen it there. */
  readonly mayHaveLeft: (location: Located) => boolean;
}

interface Holder {
  readonly locations: readonly Located[];
  readonly isOfFile: boolean;
  readonly ended: Promise<void>;
}

/** Key of operations that move or remove folders: no file has this name. */
const FOLDERS = '';

const keysOf = ({ locations, isOfFile }: Pick<Holder, 'locations' | 'isOfFile'>): readonly string[] =>
  isOfFile ? locations.map(({ path }) => withoutCase(path.name)) : [FOLDERS];

/** Operations that hold locations, by the names of their files: so few need to be compared. */
const createHolders = () => {
  const byName = new Map<string, Set<Holder>>();
  return {
    add: (holder: Holder): void => {
      for (const key of keysOf(holder)) byName.set(key, (byName.get(key) ?? new Set()).add(holder));
    },
    delete: (holder: Holder): void => {
      for (const key of keysOf(holder))
        if (byName.get(key)?.delete(holder) === true && byName.get(key)?.size === 0) byName.delete(key);
    },
    /** Those of folders, and of all files or those of these names. */
    of: (names: Iterable<string> = byName.keys()): readonly Holder[] =>
      [...new Set([FOLDERS, ...names])].flatMap((key) => [...(byName.get(key) ?? [])]),
  };
};

const isHeldBy = ({ locations, isOfFile }: Holder, file: Located): boolean =>
  isOfFile && locations.some((location) => isSameLocation(location, file));

/** Recent moves and removals of folders that are kept; after more, any folder may have left. */
const MOST_LEFT = 100;

const createDepartures = () => {
  const kept: (Pick<Holder, 'locations'> & { readonly at: number })[] = [];
  let droppedAt = -Infinity;
  return {
    add: ({ locations }: Holder): void => {
      kept.push({ locations, at: Date.now() });
      if (kept.length > MOST_LEFT) droppedAt = kept.shift()?.at ?? droppedAt;
    },
    /** Whether a location, or a parent of it, was among them since lookups that requests may still use. */
    mayHold: (location: Located): boolean => {
      const since = Date.now() - 2 * LOOKUP_MS;
      const isIn = (one: Located): boolean => containsLocation(one, location);
      return droppedAt > since || kept.some(({ locations, at }) => at > since && locations.some(isIn));
    },
  };
};

/** Creates the locks; memory is bounded by the running operations. */
export const createLocationLocks = (longestWaitMs = LONGEST_WAIT_MS): LocationLocks => {
  const holders = createHolders();
  const departures = createDepartures();
  const waitingOnFolders = new Set<Holder>();
  let waiting = 0;
  const findHolder = (locations: readonly Located[], { isOfFile = false, isLast, original }: LockOptions) => {
    const names = isOfFile ? keysOf({ locations, isOfFile }) : undefined;
    return [...holders.of(names), ...(isLast === true ? waitingOnFolders : [])].find((holder) => {
      if (original !== undefined && isHeldBy(holder, original)) return false;
      const meets = isOfFile && holder.isOfFile ? isSameLocation : overlaps;
      return holder.locations.some((location) => locations.some((each) => meets(location, each)));
    });
  };
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
  const hold: LocationLocks['hold'] = async (locations, options, work) => {
    options.signal?.throwIfAborted();
    const hasWaited = findHolder(locations, options) !== undefined;
    let end = (): void => undefined;
    const { isOfFile = false } = options;
    const holder = { locations, isOfFile, ended: new Promise<void>((resolve) => (end = resolve)) };
    // No await between the last check and this line: otherwise several waiting callers would all enter.
    const enter = (): void => holders.add(holder);
    if (!isOfFile) waitingOnFolders.add(holder);
    try {
      if (hasWaited) await waitFor(locations, options, enter);
      else enter();
      return await work(hasWaited);
    } finally {
      holders.delete(holder);
      waitingOnFolders.delete(holder);
      if (!isOfFile) departures.add(holder);
      end();
    }
  };
  const tryName: LocationLocks['tryName'] = (name, original, work) => {
    const options = { isOfFile: true, original };
    return findHolder([name], options) === undefined ? hold([name], options, work) : undefined;
  };
  return { hold, tryName, mayHaveLeft: departures.mayHold };
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
