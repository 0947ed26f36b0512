import { BusyError } from '../errors/errors.ts';

/** A bounded number of tasks at a time; the others wait in the order of their arrival. */
export interface Lanes {
  /**
   * Runs the work when `weight` of the capacity is free (a heavier task than the capacity runs alone).
   * @throws BusyError when too many wait already or the wait takes too long; the signal's reason when it is aborted while waiting.
   */
  run<Result>(work: () => Promise<Result>, weight?: number, signal?: AbortSignal): Promise<Result>;
}

export interface LanesOptions {
  /** Sum of the weights of running tasks. */
  readonly capacity: number;
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

interface Waiter {
  readonly weight: number;
  readonly start: () => void;
}

/** Makes lanes. They hold a timer only while somebody waits. */
export const createLanes = ({ capacity, maxWaiting, maxWaitMs }: LanesOptions): Lanes => {
  const waiting = new Set<Waiter>();
  let busy = 0;

  const startNext = (): void => {
    for (const waiter of waiting) {
      if (busy + waiter.weight > capacity) return;
      waiting.delete(waiter);
      busy += waiter.weight;
      waiter.start();
    }
  };

  const turn = (weight: number, signal: AbortSignal | undefined): Promise<void> => {
    signal?.throwIfAborted();
    if (waiting.size === 0 && busy + weight <= capacity) {
      busy += weight;
      return Promise.resolve();
    }
    if (waiting.size >= maxWaiting) throw new BusyError();
    return new Promise((resolve, reject) => {
      const leave = (reason: unknown): void => {
        settle();
        waiting.delete(waiter);
        reject(reason instanceof Error ? reason : new Error('aborted', { cause: reason }));
        // Whoever stood behind a heavy task may fit now.
        startNext();
      };
      const onAbort = (): void => leave(signal?.reason);
      const timer = setTimeout(() => leave(new BusyError()), maxWaitMs);
      const settle = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter = {
        weight,
        start: () => {
          settle();
          resolve();
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      waiting.add(waiter);
    });
  };

  return {
    run: async (work, weight = 1, signal) => {
      const taken = Math.min(weight, capacity);
      await turn(taken, signal);
      try {
        return await work();
      } finally {
        busy -= taken;
        startNext();
      }
    },
  };
};
