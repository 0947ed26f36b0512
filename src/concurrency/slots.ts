import { BusyError } from '../errors/errors.ts';

/** A bounded number of slots, and a bounded queue of those who wait for one. */
export interface Slots {
  /**
   * Waits for a slot. Returns the function that gives it back; calling it again does nothing.
   * @throws the signal's reason; BusyError when the queue is full
   */
  take(signal: AbortSignal | undefined): Promise<() => void>;
}

/** Slots for `count` users at the same time. */
export const createSlots = (count: number, mayWait: number): Slots => {
  const waiting = new Set<() => void>();
  let free = count;
  const give = (): void => {
    const [next] = waiting;
    if (next === undefined) free += 1;
    else {
      waiting.delete(next);
      next();
    }
  };
  const once = (): (() => void) => {
    let given = false;
    return () => {
      if (!given) give();
      given = true;
    };
  };
  return {
    take: async (signal) => {
      signal?.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return once();
      }
      if (waiting.size >= mayWait) throw new BusyError({ detail: 'too many operations wait for their turn' });
      await new Promise<void>((resolve, reject) => {
        const enter = (): void => {
          signal?.removeEventListener('abort', leave);
          resolve();
        };
        const leave = (): void => {
          waiting.delete(enter);
          reject(signal?.reason as Error);
        };
        waiting.add(enter);
        signal?.addEventListener('abort', leave, { once: true });
      });
      return once();
    },
  };
};
