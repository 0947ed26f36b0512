import type { StorageAdapter } from '../../storage/adapter.ts';
import { createSlots, type Slots } from '../../storage/slots.ts';

/** Entries from which on a listing is large: it takes megabytes until it is sorted. */
export const LARGE = 10_000;
/** Enough to keep a distant store busy. */
const AT_ONCE = 4;
const MAY_WAIT = 1000;

/**
 * Lets a few large listings of a store be gathered at once, and the others wait. Side by side they would all end as late as the last
 * one, and take the memory of all. Small listings never wait.
 */
export class LargeListings {
  readonly #stores = new WeakMap<StorageAdapter, Slots>();

  /**
   * Waits for the turn of a listing. Returns the function that ends it.
   * @throws the signal's reason; BusyError when very many wait
   */
  enter(storage: StorageAdapter, signal: AbortSignal): Promise<() => void> {
    const slots = this.#stores.get(storage) ?? createSlots(AT_ONCE, MAY_WAIT);
    this.#stores.set(storage, slots);
    return slots.take(signal);
  }
}
