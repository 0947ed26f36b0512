import { sortPatiently, type Compare } from './patient-sort.ts';
import type { TimeSlice } from './time-slice.ts';

/** Up to this many wanted items it pays to throw away, while they come in, those that cannot be among them. */
const SELECTIVE = 2000;
const LEAST_ROOM = 1024;

/**
 * Collects items and gives the first `count` of them in order. For a small `count` it keeps at most twice as many (or 1024), however
 * many are added; for a large one it keeps all.
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

  /** The first `count` items in order. Items that compare as equal keep the order in which they were added. */
  async sorted(slice: TimeSlice): Promise<readonly Item[]> {
    const all = await sortPatiently(this.#kept, this.#compare, slice);
    return all.length > this.#count ? all.slice(0, this.#count) : all;
  }
}
