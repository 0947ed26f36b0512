import type { StorageAdapter } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';

/** Numbers in use by variants of one name. */
export type TakenNumbers = ReadonlySet<number>;

/**
 * What requests of this process tell one another about names that they are about to take, so that many uploads of one name neither
 * try the same numbers nor each list the folder. Only a courtesy that saves attempts: the store's create-only write decides. Bounded by
 * the running requests.
 */
export interface NameReservations {
  /** Reserves a place in a store for the caller; false when another request holds it. */
  reserve(storage: StorageAdapter, path: SourcePath): boolean;
  /** Ends a reservation that `reserve` granted. */
  release(storage: StorageAdapter, path: SourcePath): void;
  /**
   * The numbers taken around a name, from a listing that is shared by all who ask while it runs. A listing that fails, perhaps because
   * the request that began it was given up, fails for its own request alone: the others list for themselves.
   */
  shareNumbers(
    storage: StorageAdapter,
    path: SourcePath,
    list: () => Promise<TakenNumbers>,
  ): Promise<TakenNumbers>;
}

/** What is going on in one store. */
interface Desk {
  readonly held: Set<string>;
  readonly listings: Map<string, Promise<TakenNumbers>>;
}

const keyOf = ({ capabilities }: StorageAdapter, path: SourcePath): string =>
  capabilities.caseSensitive ? path.toString() : path.toString().toLowerCase();

const shareListing = async (
  { listings }: Desk,
  key: string,
  list: () => Promise<TakenNumbers>,
): Promise<TakenNumbers> => {
  const running = listings.get(key);
  if (running !== undefined) return running.catch(list);
  const own = list().finally(() => listings.delete(key));
  listings.set(key, own);
  return own;
};

/** The reservations of one connector. Stores are told apart by identity, so tenants with like names never meet. */
export const createNameReservations = (): NameReservations => {
  const desks = new WeakMap<StorageAdapter, Desk>();
  const deskOf = (storage: StorageAdapter): Desk => {
    const desk = desks.get(storage) ?? { held: new Set(), listings: new Map() };
    desks.set(storage, desk);
    return desk;
  };
  return {
    reserve: (storage, path) => {
      const { held } = deskOf(storage);
      const key = keyOf(storage, path);
      if (held.has(key)) return false;
      held.add(key);
      return true;
    },
    release: (storage, path) => {
      deskOf(storage).held.delete(keyOf(storage, path));
    },
    shareNumbers: (storage, path, list) => shareListing(deskOf(storage), keyOf(storage, path), list),
  };
};
