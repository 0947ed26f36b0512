import { orAborted } from '../basics/concurrency/or-aborted.ts';
import { BusyError } from '../errors/errors.ts';
import { containsLocation, type Located } from './location.ts';

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
    const late = new AbortController();
    const giveUp = (): void =>
      late.abort(new BusyError({ detail: 'another operation on this location takes too long' }));
    const timer = setTimeout(giveUp, longestWaitMs);
    waiting += 1;
    try {
      for (let found = findHolder(locations); found !== undefined; found = findHolder(locations))
        await orAborted(orAborted(found.ended, late.signal), signal);
      enter();
    } finally {
      waiting -= 1;
      clearTimeout(timer);
    }
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
