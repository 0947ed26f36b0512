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
  const waitForEnd = async ({ ended }: Holder, signal?: AbortSignal): Promise<void> => {
    if (waiting >= MAY_WAIT) throw new BusyError({ detail: 'too many operations wait for their turn' });
    waiting += 1;
    try {
      await orAborted(ended, signal);
    } finally {
      waiting -= 1;
    }
  };
  return {
    hold: async (locations, { signal }, work) => {
      signal?.throwIfAborted();
      let hasWaited = false;
      for (let found = findHolder(locations); found !== undefined; found = findHolder(locations)) {
        hasWaited = true;
        await waitForEnd(found, signal);
      }
      // Nothing may be awaited between the last look and this, not even an async function that looks: of
      // several that have waited for one, all would find nobody.
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
