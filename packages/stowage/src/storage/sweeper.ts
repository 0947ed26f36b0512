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
export interface Sweep {
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

/** Sweeps stores in the background, one sweep per store at a time. */
export class Sweeper {
  readonly #known = new WeakMap<StorageAdapter, Knowledge>();
  readonly #background: Background;
  readonly #onFailure: (error: unknown) => void;

  constructor(background: Background, onFailure: (error: unknown) => void) {
    this.#background = background;
    this.#onFailure = onFailure;
  }

  /** Call it when `arrived` was added. Starts a sweep when one is due; resolves when the sweep has ended. */
  async tend(store: StorageAdapter, arrived: number, sweep: Sweep): Promise<void> {
    const known = this.#known.get(store) ?? { sweptAt: 0, amount: undefined, arrived: 0, isSweeping: false };
    this.#known.set(store, known);
    known.arrived += arrived;
    // The clock may have been set back.
    known.sweptAt = Math.min(known.sweptAt, Date.now());
    if (known.amount !== undefined) known.amount += arrived;
    if (known.isSweeping || !sweep.isDue(known)) return;
    await this.#background.run(sweep.hold, (signal) => this.#sweep(known, sweep, signal), this.#onFailure);
  }

  async #sweep(known: Knowledge, { isDue, run }: Sweep, signal: AbortSignal): Promise<void> {
    known.isSweeping = true;
    try {
      do {
        // The amount stays unknown when the sweep fails.
        Object.assign(known, { sweptAt: Date.now(), amount: undefined, arrived: 0 });
        const left = await run(signal);
        // Additions during the sweep may be counted twice: that only causes an earlier sweep.
        if (left !== undefined) known.amount = left + known.arrived;
      } while (known.arrived > 0 && isDue(known) && !signal.aborted);
    } finally {
      known.isSweeping = false;
    }
  }
}
