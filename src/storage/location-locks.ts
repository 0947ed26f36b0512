import { orAborted } from '../concurrency/or-aborted.ts';
import { BusyError } from '../errors/errors.ts';
import { containsLocation, type StoreLocation } from './location.ts';

const MAY_WAIT = 1000;

/**
 * Lets what takes entries away from their locations follow one another in this process, where one location is
 * or contains the other. A move by copying takes time, and two such moves of one folder would both have
 * copied it before either removes anything.
 */
export interface LocationLocks {
  /**
   * Holds all of the locations, which are waited for together: nobody waits while holding one. Whoever has
   * waited looks again: what was there before may be gone.
   * @throws the signal's reason while waiting, BusyError when too many wait, and what `work` throws
   */
  hold<T>(
    locations: readonly StoreLocation[],
    options: { readonly signal?: AbortSignal | undefined },
    work: (hasWaited: boolean) => Promise<T>,
  ): Promise<T>;
}

interface Holder {
  readonly locations: readonly StoreLocation[];
  readonly ended: Promise<void>;
}

/** Locks without holders; memory is bounded by the running operations. */
export const createLocationLocks = (): LocationLocks => {
  const holders = new Set<Holder>();
  let waiting = 0;
  const overlaps = (one: StoreLocation, other: StoreLocation): boolean =>
    containsLocation(one, other) || containsLocation(other, one);
  const findHolder = (wanted: readonly StoreLocation[]): Holder | undefined =>
    [...holders].find(({ locations }) =>
      locations.some((location) => wanted.some((each) => overlaps(location, each))),
    );
  const waitFor = async (locations: readonly StoreLocation[], signal?: AbortSignal): Promise<boolean> => {
    let hasWaited = false;
    for (let holder = findHolder(locations); holder !== undefined; holder = findHolder(locations)) {
      if (waiting >= MAY_WAIT) throw new BusyError({ detail: 'too many operations wait for their turn' });
      waiting += 1;
      hasWaited = true;
      try {
        await orAborted(holder.ended, signal);
      } finally {
        waiting -= 1;
      }
    }
    return hasWaited;
  };
  return {
    hold: async (locations, { signal }, work) => {
      signal?.throwIfAborted();
      const hasWaited = await waitFor(locations, signal);
      // Nothing may be awaited between the last look and this.
      let end = (): void => undefined;
      const holder = { locations, ended: new Promise<void>((resolve) => (end = resolve)) };
      holders.add(holder);
      try {
        return await work(hasWaited);
      } finally {
        holders.delete(holder);
        end();
      }
    },
  };
};
