import { describe, expect, it } from 'vitest';
import { type Change, CHANGES, start } from './changes.ts';

/** Sends the first change, and the second one before an operation of the store. Undefined: it has fewer. */
const runBoth = async (first: Change, second: Change, at: number) => {
  const { watched, send, state, close } = await start();
  try {
    let other: Promise<number> | undefined;
    const act = async (run: () => Promise<unknown>): Promise<unknown> => {
      watched.watch(undefined);
      other = second(send);
      // Until it ends, or waits for the first one.
      await Promise.race([other, new Promise((resolve) => setTimeout(resolve, 15))]);
      return run();
    };
    watched.watch({ at, act });
    const status = await first(send);
    if (at !== Infinity && other === undefined) return undefined;
    const statuses = [status, await (other ?? second(send))];
    return { statuses, state: await state() };
  } finally {
    await close();
  }
};

describe.each(Object.keys(CHANGES))('%s', (name) => {
  const first = CHANGES[name] as Change;

  it.each(Object.entries(CHANGES))(
    'and %s that comes meanwhile end in one order or the other',
    async (_, second) => {
      const after = await runBoth(first, second, Infinity);
      const before = await runBoth(second, first, Infinity);
      const orders = [after, before && { ...before, statuses: before.statuses.toReversed() }];
      for (let at = 1; ; at += 1) {
        const outcome = await runBoth(first, second, at);
        if (outcome === undefined) break;
        expect(orders, `before operation ${String(at)} of the store`).toContainEqual(outcome);
      }
    },
  );
});
