import { foldedFor } from '../content/letter-case.ts';
import type { StorageAdapter } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';

/** Numbers in use by variants of one name. */
export type TakenNumbers = ReadonlySet<number>;

/**
 * The names that requests of this process are about to take, so that many uploads of one name neither try the same
 * numbers nor each list the folder. It only saves attempts: the store's create-only write decides. Bounded by the
 * running requests.
 */
export interface NameReservations {
  /** Reserves a path in a store for the caller; false when another request holds it. */
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
interface Activity {
  readonly held: Set<string>;
  readonly listings: Map<string, Promise<TakenNumbers>>;
}

const keyOf = (storage: StorageAdapter, path: SourcePath): string => foldedFor(storage, path.toString());

const shareListing = async (
  { listings }: Activity,
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
  const activities = new WeakMap<StorageAdapter, Activity>();
  const activityOf = (storage: StorageAdapter): Activity => {
    const activity = activities.get(storage) ?? { held: new Set(), listings: new Map() };
    activities.set(storage, activity);
    return activity;
  };
  return {
    reserve: (storage, path) => {
      const { held } = activityOf(storage);
      const key = keyOf(storage, path);
      if (held.has(key)) return false;
      held.add(key);
      return true;
    },
    release: (storage, path) => {
      activityOf(storage).held.delete(keyOf(storage, path));
    },
    shareNumbers: (storage, path, list) => shareListing(activityOf(storage), keyOf(storage, path), list),
  };
};
