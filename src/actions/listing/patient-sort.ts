import type { TimeSlice } from './time-slice.ts';

export type Compare<Item> = (left: Item, right: Item) => number;

/** Items that are sorted in one go: some milliseconds. */
const RUN = 4096;
/** Items that are merged in one go, between two looks at the clock. */
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
 * A sorted copy. Stable, like `Array.prototype.sort`, but 100,000 items do not hold up the event loop for more than a few
 * milliseconds at a time. `undefined` cannot be an item. Rejects when the slice's signal is aborted.
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
