import type { StorageAdapter } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';

/**
 * Names that requests of this process are about to take, so that many uploads of one name do not all try the same
 * numbers. Only a courtesy that saves attempts: the store's create-only write decides. Bounded by the running requests.
 */
export interface NameReservations {
  /** Reserves a place in a store for the caller; false when another request holds it. */
  reserve(storage: StorageAdapter, path: SourcePath): boolean;
  /** Ends a reservation that `reserve` granted. */
  release(storage: StorageAdapter, path: SourcePath): void;
}

/** The reservations of one connector. Stores are told apart by identity, so tenants with like names never meet. */
export const createNameReservations = (): NameReservations => {
  const held = new WeakMap<StorageAdapter, Set<string>>();
  const keyOf = ({ capabilities }: StorageAdapter, path: SourcePath): string =>
    capabilities.caseSensitive ? path.toString() : path.toString().toLowerCase();
  return {
    reserve: (storage, path) => {
      const names = held.get(storage) ?? new Set();
      held.set(storage, names);
      const key = keyOf(storage, path);
      if (names.has(key)) return false;
      names.add(key);
      return true;
    },
    release: (storage, path) => {
      held.get(storage)?.delete(keyOf(storage, path));
    },
  };
};
