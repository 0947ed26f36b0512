import { expect, it } from 'vitest';
import { runsEverything } from '../before-release.ts';
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

/** What the first change and then the second one leave, each pair of them once. */
const outcomes = new Map<string, ReturnType<typeof runBoth>>();
const inTurn = (first: string, second: string): ReturnType<typeof runBoth> => {
  const key = `${first}, ${second}`;
  const outcome = outcomes.get(key) ?? runBoth(changeOf(first), changeOf(second), Infinity);
  outcomes.set(key, outcome);
  return outcome;
};

const changeOf = (name: string): Change => {
  const change = CHANGES[name];
  if (change === undefined) throw new Error(`There is no ${name}.`);
  return change;
};

const names = Object.keys(CHANGES);
// The same two the other way round are run before a release.
const pairs = names.flatMap((first, index) =>
  (runsEverything ? names : names.slice(index)).map((second) => [first, second]),
) as [first: string, second: string][];

it.each(pairs)('%s, and %s that comes meanwhile, end in one order or the other', async (first, second) => {
  const after = await inTurn(first, second);
  const before = await inTurn(second, first);
  const orders = [after, before && { ...before, statuses: before.statuses.toReversed() }];
  for (let at = 1; ; at += 1) {
    const outcome = await runBoth(changeOf(first), changeOf(second), at);
    if (outcome === undefined) break;
    expect(orders, `before operation ${String(at)} of the store`).toContainEqual(outcome);
  }
});
