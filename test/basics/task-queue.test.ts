import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BusyError } from 'stowage/storage';
import { createLimiter, createSharedQueues, createTaskQueue } from '#internals';
import { memoryInUse } from '../memory-in-use.ts';

const LIMITS = { maxWaiting: 10, maxWaitMs: 60_000 };

interface Controlled {
  readonly work: () => Promise<void>;
  readonly end: () => void;
}

/** A task that notes its start and runs until it is told to end. */
const controlled = (started: string[], name: string): Controlled => {
  let end = (): void => undefined;
  const ending = new Promise<void>((resolve) => (end = resolve));
  const work = async (): Promise<void> => {
    started.push(name);
    await ending;
  };
  return { work, end: () => end() };
};

describe('a task queue', () => {
  it('starts what stands behind a heavy task as soon as that one gives up', async () => {
    const queue = createTaskQueue({ capacity: 10, ...LIMITS });
    const started: string[] = [];
    const [first, light] = [controlled(started, 'first'), controlled(started, 'light')];
    const leaving = new AbortController();
    const running = queue.run(first.work, 5);
    const heavy = queue.run(() => Promise.resolve(), 10, leaving.signal);
    const behind = queue.run(light.work, 5);
    await sleep(5);
    expect(started).toEqual(['first']);
    leaving.abort(new Error('gone'));
    await expect(heavy).rejects.toThrow('gone');
    await sleep(5);
    expect(started).toEqual(['first', 'light']);
    first.end();
    light.end();
    await Promise.all([running, behind]);
  });

  it('never runs more than the weight or the number of tasks allows, and those named first go first', async () => {
    const queues = createSharedQueues({ weight: 10, tasks: 2 }, { edits: LIMITS, thumbnails: LIMITS });
    const started: string[] = [];
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => controlled(started, name)) as [
      Controlled,
      Controlled,
      Controlled,
      Controlled,
    ];
    const runs = [
      queues.thumbnails.run(a.work, 1),
      queues.thumbnails.run(b.work, 1),
      queues.thumbnails.run(c.work, 1),
      queues.edits.run(d.work, 10),
    ];
    await sleep(5);
    expect(started).toEqual(['a', 'b']);
    a.end();
    await sleep(5);
    expect(started).toEqual(['a', 'b']);
    b.end();
    await sleep(5);
    expect(started).toEqual(['a', 'b', 'd']);
    d.end();
    await sleep(5);
    expect(started).toEqual(['a', 'b', 'd', 'c']);
    c.end();
    await Promise.all(runs);
  });

  it('rejects work when too many tasks wait, and tasks that wait too long', async () => {
    const queue = createTaskQueue({ capacity: 1, maxWaiting: 1, maxWaitMs: 20 });
    const first = controlled([], 'first');
    const running = queue.run(first.work);
    const waiting = queue.run(() => Promise.resolve());
    await expect(queue.run(() => Promise.resolve())).rejects.toThrow(BusyError);
    await expect(waiting).rejects.toThrow(BusyError);
    first.end();
    await running;
    await expect(queue.run(() => Promise.resolve('free'))).resolves.toBe('free');
  });
});

describe('a limiter', () => {
  it('keeps its limit and the order, and no memory of short tasks while a long one runs', async () => {
    const limiter = createLimiter(2);
    let end = (): void => undefined;
    await limiter.add(() => new Promise((resolve) => (end = resolve)));
    let [running, most, last] = [0, 0, -1];
    const short = (index: number) => async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      expect(index).toBe(last + 1);
      last = index;
      await Promise.resolve();
      running -= 1;
    };
    const { heapUsed } = memoryInUse();
    for (let round = 0; round < 10_000; round += 1)
      await Promise.all([0, 1, 2].map((index) => limiter.add(short(3 * round + index))));
    expect(memoryInUse().heapUsed - heapUsed).toBeLessThan(2_000_000);
    expect([most, last]).toEqual([1, 29_999]);
    end();
    await limiter.drain();
  });
});
