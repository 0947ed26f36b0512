import { LRUCache } from 'lru-cache';
import { orAborted } from '../../basics/concurrency/abort.ts';
import type { DerivedStore } from '../../sources/derived-store.ts';
import { isSameTime, isSameVersion, type Entry, type Stat } from '../../storage/entry.ts';
import { createStoreKeys } from '../../storage/location.ts';
import type { ReadableStore } from '../../storage/readable.ts';
import { SourcePath } from '../../storage/source-path.ts';

/** Where a derived file lies, or goes. */
export interface Target {
  readonly store: DerivedStore;
  readonly path: SourcePath;
}

/** How making ended. `broken`: the item cannot be drawn until it changes. `failed`: not this time. */
export type Outcome = 'made' | 'broken' | 'failed';

/** The request that a derived file is made for. */
export interface MakingRequest {
  /** The sequence when the request looked into the folder: what has been made since needs no second making. */
  readonly since: number;
  readonly signal?: AbortSignal | undefined;
}

interface Known {
  /** The item that it shows. */
  readonly item: Entry;
  readonly outcome: 'made' | 'broken';
  /** Position in the order of all rows. */
  readonly sequence: number;
  /** The derived file as it was written. */
  readonly made?: Stat | undefined;
}

/** The making of a file for all requests that want it. When the last one has left, it is aborted. */
interface Making {
  readonly version: string;
  readonly controller: AbortController;
  readonly end: Promise<Outcome>;
  waiting: number;
}

/** A bound by size: one by number would make lists of that length at the start. */
const ROWS = { maxSize: 10_000, sizeCalculation: () => 1 };
/** Broken items are tried again after a while: not every cause is in the file. */
const LIFETIMES = { made: 0, broken: 10 * 60_000 };
/** A folder that refuses derived files is left alone for a while. */
const REFUSALS = { max: 1000, ttl: 60_000 };

const ignore = (): void => undefined;

/** Stands for the content of an entry as far as a listing can tell. */
const versionOf = ({ modifiedAt, changedAt, size }: Entry): string => `${modifiedAt}:${changedAt}:${size}`;

const withTag = ({ etag, ...entry }: Entry): Stat => ({ ...entry, etag });

/** Whether two looks certainly show the same item: the first may be an answer to a write, without a time. */
const isSameItem = (one: Entry, other: Entry): boolean =>
  one.changedAt === other.changedAt &&
  ((one.etag !== undefined && other.etag !== undefined) || one.modifiedAt === other.modifiedAt) &&
  isSameVersion(withTag(one), withTag(other));

/**
 * What this process knows of derived files: which are being made, were made or cannot be made. Bounded; losing a
 * row costs work, never truth.
 */
export class KeptMemory {
  readonly #known = new LRUCache<string, Known>(ROWS);
  readonly #refusals = new LRUCache<string, true>(REFUSALS);
  readonly #refusing = new WeakSet<ReadableStore>();
  readonly #makings = new Map<string, Making>();
  readonly #keyOf = createStoreKeys();
  #sequence = 0;

  /** The order of now: rows of a later sequence are new to the caller. */
  get sequence(): number {
    return this.#sequence;
  }

  keyOf({ store, path }: Target): string {
    return this.#keyOf(store.files, path);
  }

  note(target: Target, row: Omit<Known, 'sequence'>): void {
    this.#sequence += 1;
    const ttl = LIFETIMES[row.outcome];
    this.#known.set(this.keyOf(target), { ...row, sequence: this.#sequence }, { ttl });
  }

  drop(target: Target): void {
    this.#known.delete(this.keyOf(target));
  }

  /** Stops making the file, if it is being made, and forgets what was known. Its callers get the abort. */
  async forget(target: Target): Promise<void> {
    const making = this.#makings.get(this.keyOf(target));
    making?.controller.abort();
    await making?.end.then(ignore, ignore);
    this.drop(target);
  }

  /** The same for all below a folder that is not the root. Returns those that this process has written of late. */
  async forgetBelow({ store, path }: Target): Promise<readonly SourcePath[]> {
    const prefix = `${this.keyOf({ store, path })}/`;
    const keys = new Set([...this.#makings.keys(), ...this.#known.keys()]);
    const below = [...keys].filter((key) => key.startsWith(prefix));
    const paths = below.map((key) => path.join(SourcePath.parse(key.slice(prefix.length))));
    for (const one of paths) await this.forget({ store, path: one });
    return paths;
  }

  /** Leaves the target's folder alone for a while. True for the first refusal of a store. */
  noteRefusal({ store, path }: Target): boolean {
    this.#refusals.set(this.#keyOf(store.files, path.parent), true);
    const isFirst = !this.#refusing.has(store.files);
    this.#refusing.add(store.files);
    return isFirst;
  }

  /** Whether this version of an item has been found not to be drawable of late. */
  isBroken(target: Target, item: Entry): boolean {
    const row = this.#known.get(this.keyOf(target));
    return row?.outcome === 'broken' && versionOf(row.item) === versionOf(item);
  }

  /**
   * Whether a stored derived file is that of the item as it is. One that is older than its item is stale, unless it is
   * the one that was made of this very item: some dates lie in the future. Where the store tells seconds, one of the
   * same second is stale if this process remembers that it was made of another item: what was uploaded through another
   * process, or before the last start, is not all drawn again. Where it reports changes, what was put there later is
   * seen whatever its date.
   */
  isMadeOf(target: Target, made: Entry, item: Entry): boolean {
    if (made.modifiedAt === undefined || item.modifiedAt === undefined) return true;
    const row = this.#known.get(this.keyOf(target));
    const isOurs = row?.made !== undefined && isSameVersion(row.made, withTag(made));
    if (isOurs && isSameItem(row.item, item)) return true;
    if (made.changedAt === undefined || item.changedAt === undefined)
      return isSameTime(made.modifiedAt, item.modifiedAt) ? !isOurs : made.modifiedAt > item.modifiedAt;
    if (isOurs && made.changedAt === item.changedAt) return false;
    return made.modifiedAt >= item.modifiedAt && made.changedAt >= item.changedAt;
  }

  /**
   * Does the work for a version of an item unless it is known how it ends: once, however many requests want it at
   * the same time; work for another version of the same file is waited for first. A request that leaves does not
   * disturb the others.
   * @throws the signal's reason, what the work throws
   */
  async once(
    target: Target,
    item: Entry,
    { since, signal }: MakingRequest,
    work: (signal: AbortSignal) => Promise<Outcome>,
  ): Promise<Outcome> {
    const version = versionOf(item);
    const key = this.keyOf(target);
    const known = this.#known.get(key);
    if (
      known !== undefined &&
      versionOf(known.item) === version &&
      (known.outcome === 'broken' || known.sequence > since)
    )
      return known.outcome;
    if (this.#refusals.has(this.#keyOf(target.store.files, target.path.parent))) return 'failed';
    for (;;) {
      signal?.throwIfAborted();
      const making = this.#makings.get(key) ?? this.#begin(key, version, work);
      if (making.version === version && !making.controller.signal.aborted) return this.#join(making, signal);
      await orAborted(making.end.then(ignore, ignore), signal);
    }
  }

  #begin(key: string, version: string, work: (signal: AbortSignal) => Promise<Outcome>): Making {
    const controller = new AbortController();
    const end = work(controller.signal).finally(() => this.#makings.delete(key));
    // When every caller has left, its end is not reported.
    end.catch(ignore);
    const making = { version, controller, end, waiting: 0 };
    this.#makings.set(key, making);
    return making;
  }

  async #join(making: Making, signal: AbortSignal | undefined): Promise<Outcome> {
    making.waiting += 1;
    try {
      return await orAborted(making.end, signal);
    } finally {
      making.waiting -= 1;
      if (making.waiting === 0) making.controller.abort();
    }
  }
}
