import { createSlots, inSlot, type Slots } from './queues.ts';

const MAY_WAIT = 1000;

/** Serializes operations of this process on one name, where the store does not decide between them. */
export interface NameLocks {
  /**
   * Locks one key or several, in a fixed order, so that two operations never deadlock.
   * @throws the signal's reason while waiting, BusyError when too many callers wait, and errors of `work`
   */
  hold<T>(
    keys: string | readonly string[],
    options: { readonly signal?: AbortSignal | undefined },
    work: () => Promise<T>,
  ): Promise<T>;

  /** Locks those of the keys that are free, without waiting, and passes them to `work`. */
  holdFree<T>(keys: readonly string[], work: (held: ReadonlySet<string>) => Promise<T>): Promise<T>;
}

/** Creates the locks; memory is bounded by the running operations. */
export const createNameLocks = (): NameLocks => {
  const locks = new Map<string, { readonly slots: Slots; users: number }>();
  const holdOne = async <T>(key: string, signal: AbortSignal | undefined, work: () => Promise<T>) => {
    const lock = locks.get(key) ?? { slots: createSlots(1, MAY_WAIT), users: 0 };
    locks.set(key, lock);
    lock.users += 1;
    try {
      return await inSlot(lock.slots, signal, '', work);
    } finally {
      lock.users -= 1;
      if (lock.users === 0) locks.delete(key);
    }
  };
  return {
    hold: (keys, { signal }, work) =>
      [...new Set([keys].flat())]
        .sort()
        .reduceRight((inner, key) => () => holdOne(key, signal, inner), work)(),
    holdFree: async (keys, work) => {
      const held = new Set(keys.filter((key) => !locks.has(key)));
      let end = (): void => undefined;
      const ended = new Promise<void>((resolve) => (end = resolve));
      const holding = [...held].map((key) => holdOne(key, undefined, () => ended));
      try {
        return await work(held);
      } finally {
        end();
        await Promise.all(holding);
      }
    },
  };
};
