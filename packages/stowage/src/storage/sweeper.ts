import type { Background } from '../basics/concurrency/background.ts';
import type { StorageAdapter } from './adapter.ts';

/** What is known of what the service keeps for itself in one store. Forgetting it costs a sweep. */
export interface SweptStore {
  /** Milliseconds since 1970; 0: never by this process. */
  readonly sweptAt: number;
  /** What is kept, perhaps some of it counted twice; undefined: not known. */
  readonly amount: number | undefined;
}

/** How what is kept in a store stays within its bounds. */
export interface Sweep {
  readonly isDue: (known: SweptStore) => boolean;
  /** Removes what is too old or too much. Returns what is left, undefined where no bound asks for it. */
  readonly run: (signal: AbortSignal) => Promise<number | undefined>;
  /** Keeps the store open meanwhile, and returns the way to release it. */
  readonly hold: () => () => void;
}

interface Knowledge {
  sweptAt: number;
  amount: number | undefined;
  /** What has come since the running sweep has begun. */
  arrived: number;
  isSweeping: boolean;
}

/** Sweeps stores in the background, each at most once at a time. */
export class Sweeper {
  readonly #known = new WeakMap<StorageAdapter, Knowledge>();
  readonly #background: Background;
  readonly #onFailure: (error: unknown) => void;

  constructor(background: Background, onFailure: (error: unknown) => void) {
    this.#background = background;
    this.#onFailure = onFailure;
  }

  /** To be called when so much has come. Sweeps where that is due; resolves when the sweep has ended. */
  async tend(store: StorageAdapter, arrived: number, sweep: Sweep): Promise<void> {
    const known = this.#known.get(store) ?? { sweptAt: 0, amount: undefined, arrived: 0, isSweeping: false };
    this.#known.set(store, known);
    known.arrived += arrived;
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
        // What has come meanwhile may be counted twice: that costs a sweep, which counts again.
        if (left !== undefined) known.amount = left + known.arrived;
      } while (known.arrived > 0 && isDue(known) && !signal.aborted);
    } finally {
      known.isSweeping = false;
    }
  }
}
