import { setImmediate } from 'node:timers/promises';

/** Longest stretch of work between two rests, in milliseconds. */
const LENGTH = 5;

/**
 * Lets long work be done in short stretches, so that other requests go on meanwhile: `if (slice.due) await slice.rest()`
 * every few hundred steps.
 */
export class TimeSlice {
  readonly #signal: AbortSignal;
  #end = performance.now() + LENGTH;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Whether the stretch is over. */
  get due(): boolean {
    return performance.now() >= this.#end;
  }

  /** Lets others run, then begins a new stretch. Rejects with the signal's reason once it is aborted. */
  async rest(): Promise<void> {
    await setImmediate();
    this.#signal.throwIfAborted();
    this.#end = performance.now() + LENGTH;
  }
}
