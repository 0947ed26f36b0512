import { setImmediate } from 'node:timers';
import { setImmediate as nextLoop } from 'node:timers/promises';

/**
 * Waits for an exclusive turn of the event loop. Work that runs one short stretch per turn delays other work
 * by no longer than one stretch, however many callers there are.
 */
export type YieldToLoop = () => Promise<void>;

/** Creates the turns of one connector. Waiting callers run in order; with an idle event loop immediately. */
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

/** Longest stretch of work between two pauses, in milliseconds. */
const LENGTH = 5;

/** Divides long work: `if (slice.due) await slice.rest()` every few hundred steps. */
export class TimeSlice {
  readonly #signal: AbortSignal;
  #end = performance.now() + LENGTH;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  get due(): boolean {
    return performance.now() >= this.#end;
  }

  /** Lets other work run, then starts a new stretch. Rejects with the signal's reason when it is aborted. */
  async rest(): Promise<void> {
    await nextLoop();
    this.#signal.throwIfAborted();
    this.#end = performance.now() + LENGTH;
  }
}

export type Compare<Item> = (left: Item, right: Item) => number;

/** Items sorted in one stretch: some milliseconds. */
const RUN = 4096;
/** Numbers merged in one stretch, between two checks of the clock. */
const STRIDE = 1024;

/** The numbers below `count`, with each run of `RUN` sorted. */
const sortRuns = async (count: number, compare: Compare<number>, slice: TimeSlice): Promise<Uint32Array> => {
  const numbers = new Uint32Array(count);
  for (let index = 0; index < count; index += 1) numbers[index] = index;
  for (let start = 0; start < count; start += RUN) {
    numbers.subarray(start, start + RUN).sort(compare);
    if (slice.due) await slice.rest();
  }
  return numbers;
};

/**
 * The numbers below `count`, sorted by `compare`; stable. Long lists block the event loop for only a few
 * milliseconds at a time, and take eight bytes for each number. Rejects when the slice's signal is aborted.
 */
export const sortNumbers = async (
  count: number,
  compare: Compare<number>,
  slice: TimeSlice,
): Promise<Uint32Array> => {
  let from: Uint32Array = await sortRuns(count, compare, slice);
  let to: Uint32Array = new Uint32Array(count > RUN ? count : 0);
  for (let width = RUN; width < count; width *= 2) {
    for (let start = 0; start < count; start += 2 * width) {
      const middle = Math.min(start + width, count);
      const end = Math.min(middle + width, count);
      let [left, right] = [start, middle];
      for (let at = start; at < end; at += 1) {
        if (at % STRIDE === 0 && slice.due) await slice.rest();
        const [one = 0, other = 0] = [from[left], from[right]];
        const isLeft = left < middle && (right >= end || compare(one, other) <= 0);
        to[at] = isLeft ? one : other;
        if (isLeft) left += 1;
        else right += 1;
      }
    }
    [from, to] = [to, from];
  }
  return from;
};

/** A sorted copy; stable, and divided into stretches as in `sortNumbers`. */
export const sortPatiently = async <Item extends object | string>(
  items: readonly Item[],
  compare: Compare<Item>,
  slice: TimeSlice,
): Promise<readonly Item[]> => {
  const itemAt = (index: number): Item => items[index] as Item;
  const order = await sortNumbers(items.length, (left, right) => compare(itemAt(left), itemAt(right)), slice);
  return Array.from(order, itemAt);
};

/** Up to this many wanted items, items beyond the wanted ones are dropped while they are added. */
const SELECTIVE = 2000;
const LEAST_ROOM = 1024;

/**
 * Collects items and returns the first `count` of them in order. For a small `count` it holds at most twice
 * as many (or 1024), however many are added; for a large one it holds all.
 */
export class FirstInOrder<Item extends object> {
  readonly #count: number;
  readonly #compare: Compare<Item>;
  readonly #room: number;
  #kept: Item[] = [];
  /** The last of the wanted items so far: items after it are dropped. */
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

  /** The first `count` items in order. Items that compare as equal keep the order of their addition. */
  async sorted(slice: TimeSlice): Promise<readonly Item[]> {
    const all = await sortPatiently(this.#kept, this.#compare, slice);
    return all.length > this.#count ? all.slice(0, this.#count) : all;
  }
}
