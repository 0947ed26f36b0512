import { setImmediate } from 'node:timers';

/**
 * Waits for a turn of the event loop that is the caller's alone among all who wait so. Work that is done in
 * short stretches, each in a turn, holds up others no longer than one stretch, however many do it.
 */
export type Turns = () => Promise<void>;

/**
 * The turns of one connector. Waiting callers are answered in order; an idle event loop answers immediately.
 */
export const createTurns = (): Turns => {
  const waiting: (() => void)[] = [];
  const giveOne = (): void => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(giveOne);
  };
  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(giveOne);
    });
};
