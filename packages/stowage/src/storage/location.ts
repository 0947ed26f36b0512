import { withoutCase } from '../basics/content/file-name.ts';
import type { StorageAdapter } from './adapter.ts';
import type { ReadableStore } from './readable.ts';
import type { SourcePath } from './source-path.ts';
import { inTimeLimit, orAborted } from '../basics/concurrency/abort.ts';
import { BusyError } from '../errors/errors.ts';

/** Where an entry of a store is, or is to be. */
export interface StoreLocation {
  readonly storage: StorageAdapter;
  readonly path: SourcePath;
}

/** Where an entry of a store is, for what changes nothing there. */
export interface Located {
  readonly storage: Pick<ReadableStore, 'identity' | 'capabilities'>;
  readonly path: SourcePath;
}

/**
 * Whether `inner` is `outer` or lies inside it, also when two stores share entries, as far as their
 * identities are known. Letter case does not count where one of the stores ignores it.
 */
export const containsLocation = (outer: Located, inner: Located): boolean => {
  const [one, other] = [outer.storage.identity, inner.storage.identity];
  const isShared = outer.storage === inner.storage || (one !== undefined && one.backend === other?.backend);
  if (!isShared) return false;
  const isExact = outer.storage.capabilities.caseSensitive && inner.storage.capabilities.caseSensitive;
  const comparable = isExact ? (segment: string): string => segment : withoutCase;
  const outerSegments = [...(one?.root ?? []), ...outer.path.segments].map(comparable);
  const innerSegments = [...(other?.root ?? []), ...inner.path.segments].map(comparable);
  return outerSegments.every((segment, index) => segment === innerSegments[index]);
};

/** Whether two locations are one. */
export const isSameLocation = (one: Located, other: Located): boolean =>
  containsLocation(one, other) && containsLocation(other, one);

const MAY_WAIT = 1000;
/** A store that never ends what it has begun must not hold up all others for ever. */
const LONGEST_WAIT_MS = 60_000;

/**
 * Lets what takes entries away from their locations follow one another in this process, where one location is
 * or contains the other. A move by copying takes time, and two such moves of one folder would both have
 * copied it before either removes anything.
 */
export interface LocationLocks {
  /**
   * Holds all of the locations, which are waited for together: no caller waits while holding one. A caller
   * that has waited looks again: what was there before may be gone.
   * @throws the signal's reason while waiting, BusyError when too many wait or after a minute, and what `work`
   *   throws
   */
  hold<T>(
    locations: readonly Located[],
    options: { readonly signal?: AbortSignal | undefined },
    work: (hasWaited: boolean) => Promise<T>,
  ): Promise<T>;
}

interface Holder {
  readonly locations: readonly Located[];
  readonly ended: Promise<void>;
}

/** Locks without holders; memory is bounded by the running operations. */
export const createLocationLocks = (longestWaitMs = LONGEST_WAIT_MS): LocationLocks => {
  const holders = new Set<Holder>();
  let waiting = 0;
  const overlaps = (one: Located, other: Located): boolean =>
    containsLocation(one, other) || containsLocation(other, one);
  const findHolder = (wanted: readonly Located[]): Holder | undefined =>
    [...holders].find(({ locations }) =>
      locations.some((location) => wanted.some((each) => overlaps(location, each))),
    );
  const waitFor = async (
    locations: readonly Located[],
    signal: AbortSignal | undefined,
    enter: () => void,
  ): Promise<void> => {
    if (waiting >= MAY_WAIT) throw new BusyError({ detail: 'too many operations wait for their turn' });
    const wait = async (limit: AbortSignal): Promise<void> => {
      for (let found = findHolder(locations); found !== undefined; found = findHolder(locations))
        await orAborted(found.ended, limit);
      enter();
    };
    const late = (): Error => new BusyError({ detail: 'another operation on this location takes too long' });
    waiting += 1;
    await inTimeLimit(longestWaitMs, signal, wait, late).finally(() => (waiting -= 1));
  };
  return {
    hold: async (locations, { signal }, work) => {
      signal?.throwIfAborted();
      const hasWaited = findHolder(locations) !== undefined;
      let end = (): void => undefined;
      const holder = { locations, ended: new Promise<void>((resolve) => (end = resolve)) };
      // Nothing may be awaited between the last look and this: of several that have waited for one, all would
      // find no holder.
      const enter = (): void => void holders.add(holder);
      if (hasWaited) await waitFor(locations, signal, enter);
      else enter();
      try {
        return await work(hasWaited);
      } finally {
        holders.delete(holder);
        end();
      }
    },
  };
};

/** Makes names of files that are unique over all stores. */
export const createStoreKeys = (): ((files: ReadableStore, path: SourcePath) => string) => {
  const numbers = new WeakMap<ReadableStore, number>();
  let stores = 0;
  return (files, path) => {
    const number = numbers.get(files) ?? (stores += 1);
    numbers.set(files, number);
    return `${number}/${path.toString()}`;
  };
};
