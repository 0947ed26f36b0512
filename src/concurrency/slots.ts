import { BusyError } from '../errors/errors.ts';

/** A bounded number of slots, and a bounded queue of those who wait for one. */
export interface Slots {
  /**
   * Waits for a slot. Returns the function that gives it back; calling it again does nothing.
   * @param user users with slots in common take turns: each gets every n-th slot, however many it waits for
   * @throws the signal's reason; BusyError when the queue is full
   */
  take(signal: AbortSignal | undefined, user?: string): Promise<() => void>;
}

/** Slots that can be asked for without waiting. */
export interface OwnSlots extends Slots {
  /** As `take`, and undefined where it would have to wait. */
  tryTake(user?: string): (() => void) | undefined;
}

/**
 * Slots for `count` holders at the same time. One user holds at most `ofOne` of them, and is at most
 * `mayWaitOfOne` times in the queue, so that another one always comes in.
 */
export const createSlots = (
  count: number,
  mayWait: number,
  { ofOne = count, mayWaitOfOne = mayWait }: { readonly ofOne?: number; readonly mayWaitOfOne?: number } = {},
): OwnSlots => {
  // Users whose turn is farther off come later.
  const waiting = new Map<string, Set<() => void>>();
  const held = new Map<string, number>();
  let free = count;
  let queued = 0;
  const hold = (user: string, more: number): void => {
    free -= more;
    const now = (held.get(user) ?? 0) + more;
    if (now === 0) held.delete(user);
    else held.set(user, now);
  };
  const drop = (user: string, enter: () => void): void => {
    const own = waiting.get(user);
    if (own?.delete(enter) !== true) return;
    queued -= 1;
    if (own.size === 0) waiting.delete(user);
  };
  const mayHold = (user: string): boolean => free > 0 && (held.get(user) ?? 0) < ofOne;
  const tryTake = (user = ''): (() => void) | undefined => {
    if (!mayHold(user)) return undefined;
    hold(user, 1);
    return once(user);
  };
  const admit = (): void => {
    for (const [user, own] of waiting) {
      const [enter] = own;
      if (enter === undefined || !mayHold(user)) continue;
      drop(user, enter);
      if (waiting.delete(user)) waiting.set(user, own);
      hold(user, 1);
      return enter();
    }
  };
  const once = (user: string): (() => void) => {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      hold(user, -1);
      admit();
    };
  };
  return {
    tryTake,
    take: async (signal, user = '') => {
      signal?.throwIfAborted();
      const immediate = tryTake(user);
      if (immediate !== undefined) return immediate;
      const own = waiting.get(user) ?? new Set();
      if (queued >= mayWait || own.size >= mayWaitOfOne)
        throw new BusyError({ detail: 'too many operations wait for their turn' });
      await new Promise<void>((resolve, reject) => {
        const enter = (): void => {
          signal?.removeEventListener('abort', leave);
          resolve();
        };
        const leave = (): void => {
          drop(user, enter);
          reject(signal?.reason as Error);
        };
        waiting.set(user, own.add(enter));
        queued += 1;
        signal?.addEventListener('abort', leave, { once: true });
      });
      return once(user);
    },
  };
};
