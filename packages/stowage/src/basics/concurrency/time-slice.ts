import { setImmediate } from 'node:timers';
import { setImmediate as nextLoop } from 'node:timers/promises';

/**
 * Waits for a turn of the event loop that is the caller's alone among all who wait so. Work that is done in
 * short stretches, each in a turn, holds up others no longer than one stretch, however many do it.
 */
export type YieldToLoop = () => Promise<void>;

/**
 * The turns of one connector. Waiting callers are answered in order; an idle event loop answers immediately.
 */
export const createYieldToLoop = (): YieldToLoop => {
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

/** Longest stretch of work between two rests, in milliseconds. */
const LENGTH = 5;

/**
 * Lets long work be done in short stretches, so that other requests go on meanwhile: `if (slice.due) await
 * slice.rest()` every few hundred steps.
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
    await nextLoop();
    this.#signal.throwIfAborted();
    this.#end = performance.now() + LENGTH;
  }
}

export type Compare<Item> = (left: Item, right: Item) => number;

/** Items that are sorted in one go: some milliseconds. */
const RUN = 4096;
/** Items that are merged in one go, between two checks of the clock. */
const STRIDE = 1024;

const sortRuns = async <Item>(
  items: readonly Item[],
  compare: Compare<Item>,
  slice: TimeSlice,
): Promise<(readonly Item[])[]> => {
  const runs: (readonly Item[])[] = [];
  for (let start = 0; start < items.length; start += RUN) {
    runs.push(items.slice(start, start + RUN).sort(compare));
    if (slice.due) await slice.rest();
  }
  return runs;
};

/** Two sorted lists that are being merged. */
class Merging<Item> {
  readonly merged: Item[] = [];
  readonly #left: readonly Item[];
  readonly #right: readonly Item[];
  readonly #compare: Compare<Item>;
  #leftIndex = 0;
  #rightIndex = 0;

  constructor(left: readonly Item[], right: readonly Item[], compare: Compare<Item>) {
    this.#left = left;
    this.#right = right;
    this.#compare = compare;
  }

  /** Merges at most `count` further items; false when all are merged. */
  advance(count: number): boolean {
    const [left, right, compare, merged] = [this.#left, this.#right, this.#compare, this.merged];
    let leftIndex = this.#leftIndex;
    let rightIndex = this.#rightIndex;
    for (let step = 0; step < count; step += 1) {
      const leftItem = left[leftIndex];
      const rightItem = right[rightIndex];
      if (leftItem !== undefined && (rightItem === undefined || compare(leftItem, rightItem) <= 0)) {
        merged.push(leftItem);
        leftIndex += 1;
      } else if (rightItem !== undefined) {
        merged.push(rightItem);
        rightIndex += 1;
      } else break;
    }
    this.#leftIndex = leftIndex;
    this.#rightIndex = rightIndex;
    return merged.length < left.length + right.length;
  }
}

const mergePairs = async <Item>(
  runs: readonly (readonly Item[])[],
  compare: Compare<Item>,
  slice: TimeSlice,
): Promise<(readonly Item[])[]> => {
  const merged: (readonly Item[])[] = [];
  for (let index = 0; index < runs.length; index += 2) {
    const merging = new Merging(runs[index] ?? [], runs[index + 1] ?? [], compare);
    while (merging.advance(STRIDE)) if (slice.due) await slice.rest();
    merged.push(merging.merged);
  }
  return merged;
};

/**
 * A sorted copy. Stable, like `Array.prototype.sort`, but 100,000 items do not hold up the event loop for
 * more than a few milliseconds at a time. `undefined` cannot be an item. Rejects when the slice's signal is
 * aborted.
 */
export const sortPatiently = async <Item extends object | string>(
  items: readonly Item[],
  compare: Compare<Item>,
  slice: TimeSlice,
): Promise<readonly Item[]> => {
  let runs = await sortRuns(items, compare, slice);
  while (runs.length > 1) runs = await mergePairs(runs, compare, slice);
  return runs[0] ?? [];
};

/**
 * Up to this many wanted items it pays to throw away, while they come in, those that cannot be among them.
 */
const SELECTIVE = 2000;
const LEAST_ROOM = 1024;

/**
 * Collects items and gives the first `count` of them in order. For a small `count` it keeps at most twice as
 * many (or 1024), however many are added; for a large one it keeps all.
 */
export class FirstInOrder<Item extends object> {
  readonly #count: number;
  readonly #compare: Compare<Item>;
  readonly #room: number;
  #kept: Item[] = [];
  /** The last of the wanted ones so far: what does not come before it is not wanted. */
  #bar: Item | undefined;

  constructor(count: number, compare: Compare<Item>) {
    this.#count = count;
    this.#compare = compare;
    this.#room = count <= SELECTIVE ? Math.max(2 * count, LEAST_ROOM) : Infinity;
  }

  add(item: Item): void {
    if (this.#bar !== undefined && this.#compare(item, this.#bar) >= 0) return;
    this.#kept.push(item);
    if (this.#kept.length < this.#room) return;
    this.#kept.sort(this.#compare);
    this.#kept.length = this.#count;
    this.#bar = this.#kept.at(-1);
  }

  /**
   * The first `count` items in order. Items that compare as equal keep the order in which they were added.
   */
  async sorted(slice: TimeSlice): Promise<readonly Item[]> {
    const all = await sortPatiently(this.#kept, this.#compare, slice);
    return all.length > this.#count ? all.slice(0, this.#count) : all;
  }
}
