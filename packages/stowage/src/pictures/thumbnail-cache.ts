import { LRUCache } from 'lru-cache';
import type { Entry, StorageAdapter } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';

/** Where a thumbnail goes. */
export interface Target {
  readonly storage: StorageAdapter;
  readonly path: SourcePath;
}

/** What this process knows of a thumbnail that it has made, or could not make. */
export interface CachedOutcome {
  /** Of the item that it shows. */
  readonly version: string;
  readonly outcome: 'made' | 'broken';
  /** Position in the order of all rows. */
  readonly turn: number;
  /** Of the thumbnail as it was written, where the store reports it. */
  readonly modifiedAt: number | undefined;
}

/** The bounded memory of one connector about its thumbnails. Losing a row costs work, never truth. */
export interface ThumbnailCache {
  /** Names a target, unique over all stores. */
  keyOf(target: Target): string;
  /** The order of now: rows of a later turn are new to the caller. */
  turn(): number;
  find(target: Target): CachedOutcome | undefined;
  note(
    target: Target,
    row: Pick<CachedOutcome, 'version' | 'outcome'> & { readonly modifiedAt?: number | undefined },
  ): void;
  forget(target: Target): void;
  /** Keys of the rows. */
  keys(): Iterable<string>;
  /** Whether the target's folder has refused a thumbnail of late. */
  isRefused(target: Target): boolean;
  /** True for the first refusal of a store. */
  noteRefusal(target: Target): boolean;
}

/**
 * Broken items are tried again after a while: not every cause is in the file. A bound by size: one by number
 * would make lists of that length at the start.
 */
const ROWS = { maxSize: 10_000, sizeCalculation: () => 1, ttl: 10 * 60_000 };
/** A folder that refuses thumbnails is left alone for a while. */
const REFUSALS = { max: 1000, ttl: 60_000 };

/** Stands for the content of an entry as far as a listing can tell. */
export const versionOf = ({ modifiedAt, changedAt, size }: Entry): string =>
  `${modifiedAt}:${changedAt}:${size}`;

/** Makes an empty cache. */
export const createThumbnailCache = (): ThumbnailCache => {
  const rows = new LRUCache<string, CachedOutcome>(ROWS);
  const refusals = new LRUCache<string, true>(REFUSALS);
  const refusing = new WeakSet<StorageAdapter>();
  const numbers = new WeakMap<StorageAdapter, number>();
  let stores = 0;
  let turns = 0;

  const keyOf = ({ storage, path }: Target): string => {
    const number = numbers.get(storage) ?? (stores += 1);
    numbers.set(storage, number);
    return `${number}/${path.toString()}`;
  };
  const folderKeyOf = ({ storage, path }: Target): string => keyOf({ storage, path: path.parent });

  return {
    keyOf,
    turn: () => turns,
    find: (target) => rows.get(keyOf(target)),
    note: (target, { version, outcome, modifiedAt }) => {
      turns += 1;
      rows.set(keyOf(target), { version, outcome, turn: turns, modifiedAt });
    },
    forget: (target) => void rows.delete(keyOf(target)),
    keys: () => rows.keys(),
    isRefused: (target) => refusals.has(folderKeyOf(target)),
    noteRefusal: (target) => {
      refusals.set(folderKeyOf(target), true);
      const first = !refusing.has(target.storage);
      refusing.add(target.storage);
      return first;
    },
  };
};

/**
 * Whether a stored thumbnail is that of the item as it is. One that is older than its item is stale, unless
 * it is the one that was made of this very item: some dates lie in the future. Where the store reports
 * changes, so is one whose item was put there later, with whatever date; also within the same tick of the
 * system's clock, as far as this process remembers which item it was made of.
 */
export const isMadeOf = (cache: ThumbnailCache, target: Target, made: Entry, item: Entry): boolean => {
  if (made.modifiedAt === undefined || item.modifiedAt === undefined) return true;
  const row = cache.find(target);
  const isOurs = row?.outcome === 'made' && row.modifiedAt === made.modifiedAt;
  if (isOurs && row.version === versionOf(item)) return true;
  if (isOurs && made.changedAt !== undefined && made.changedAt === item.changedAt) return false;
  return made.modifiedAt >= item.modifiedAt && (made.changedAt ?? 0) >= (item.changedAt ?? 0);
};

/** Whether this version of an item has been found not to be drawable of late. */
export const isKnownBroken = (cache: ThumbnailCache, target: Target, item: Entry): boolean => {
  const row = cache.find(target);
  return row?.outcome === 'broken' && row.version === versionOf(item);
};
