import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createYieldToLoop } from '#internals';

it('turns of the event loop go to one after the other, in order', async () => {
  const turns = createYieldToLoop();
  const served: number[] = [];
  const all = Array.from({ length: 5 }, async (_, index) => {
    await turns();
    served.push(index);
    // Whoever comes again waits behind the others.
    await turns();
    served.push(index + 10);
  });
  for (let count = 1; count <= 10; count += 1) {
    await nextTurn();
    expect(served.length).toBeLessThanOrEqual(count);
  }
  await Promise.all(all);
  expect(served).toEqual([0, 1, 2, 3, 4, 10, 11, 12, 13, 14]);
  // Also when all were served before.
  await turns();
});
