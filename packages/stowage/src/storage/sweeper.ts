import type { Background } from '../basics/concurrency/abort.ts';
import type { StorageAdapter } from './adapter.ts';

/** Known state of the internal files in one store. Losing it costs one sweep. */
export interface SweptStore {
  /** Time of the last sweep, in milliseconds since 1970; 0: none by this process. */
  readonly sweptAt: number;
  /** Amount that is kept, possibly with some items counted twice; undefined when unknown. */
  readonly amount: number | undefined;
}

/** Keeps the internal files of a store within their limits. */
interface Sweep {
  readonly isDue: (known: SweptStore) => boolean;
  /** Removes items beyond the limits. Returns the amount that is left, undefined where no limit needs it. */
  readonly run: (signal: AbortSignal) => Promise<number | undefined>;
  /** Keeps the store open during the sweep. Returns the function that releases it. */
  readonly hold: () => () => void;
}

interface Knowledge {
  sweptAt: number;
  amount: number | undefined;
  /** Amount added since the running sweep began. */
  arrived: number;
  isSweeping: boolean;
}

/**
 * Creates a function that sweeps stores in the background, one sweep per store at a time. Call it when
 * `arrived` was added to a store. It starts a sweep when one is due, and resolves when the sweep has ended.
 */
export const createSweeper = (background: Background, onFailure: (error: unknown) => void) => {
  const stores = new WeakMap<StorageAdapter, Knowledge>();
  const run = async (known: Knowledge, sweep: Sweep, signal: AbortSignal): Promise<void> => {
    known.isSweeping = true;
    try {
      do {
        // The amount stays unknown when the sweep fails.
        Object.assign(known, { sweptAt: Date.now(), amount: undefined, arrived: 0 });
        const left = await sweep.run(signal);
        // Additions during the sweep may be counted twice: that only causes an earlier sweep.
        if (left !== undefined) known.amount = left + known.arrived;
      } while (known.arrived > 0 && sweep.isDue(known) && !signal.aborted);
    } finally {
      known.isSweeping = false;
    }
  };
  return async (store: StorageAdapter, arrived: number, sweep: Sweep): Promise<void> => {
    const known = stores.get(store) ?? { sweptAt: 0, amount: undefined, arrived: 0, isSweeping: false };
    stores.set(store, known);
    known.arrived += arrived;
    // The clock may have been set back.
    known.sweptAt = Math.min(known.sweptAt, Date.now());
    if (known.amount !== undefined) known.amount += arrived;
    if (known.isSweeping || !sweep.isDue(known)) return;
    await background.run(sweep.hold, (signal) => run(known, sweep, signal), onFailure);
  };
};
