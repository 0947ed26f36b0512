import { LRUCache } from 'lru-cache';
import { orAborted } from '../../basics/concurrency/abort.ts';
import type { DerivedStore } from '../../sources/source.ts';
import { isSameTime, isSameVersion, type Entry, type Stat } from '../../storage/entry.ts';
import { createStoreKeys } from '../../storage/location.ts';
import type { ReadableStore } from '../../storage/readable.ts';
import { SourcePath } from '../../storage/source-path.ts';

/** Location of a derived file. */
export interface Target {
  readonly store: DerivedStore;
  readonly path: SourcePath;
}

/** `broken`: the item cannot be drawn until it changes. `failure`: the error; a retry may succeed. */
export type Outcome = 'made' | 'broken' | { readonly failure: unknown };

/** The request that needs a derived file. */
export interface MakingRequest {
  /** Sequence number when the request read the folder: files made since then need not be made again. */
  readonly since: number;
  readonly signal?: AbortSignal | undefined;
}

interface Known {
  /** The item that the file was made of. */
  readonly item: Entry;
  readonly outcome: 'made' | 'broken';
  /** Position in the order of all rows. */
  readonly sequence: number;
  /** Stat of the derived file after writing. */
  readonly made?: Stat | undefined;
}

/** Work on a file, shared by all requests that need it. Aborted when the last one has left. */
interface Making {
  readonly version: string;
  readonly controller: AbortController;
  readonly end: Promise<Outcome>;
  waiting: number;
}

/** A limit by size: the cache would preallocate lists for a limit by number. */
const ROWS = { maxSize: 10_000, sizeCalculation: () => 1 };
/** Broken items are retried after a while: the cause may not be in the file. */
const LIFETIMES = { made: 0, broken: 10 * 60_000 };
/** A folder that rejects derived files is skipped for a while. */
const REFUSALS = { maxSize: 1000, sizeCalculation: () => 1, ttl: 60_000 };

const ignore = (): void => undefined;

/** Identifies the content of an entry, as far as a listing shows it. */
const versionOf = ({ modifiedAt, changedAt, size }: Entry): string => `${modifiedAt}:${changedAt}:${size}`;

const withTag = ({ etag, ...entry }: Entry): Stat => ({ ...entry, etag });

/** Whether two stats are certainly of one item: the first may be from a write without a time. */
const isSameItem = (one: Entry, other: Entry): boolean =>
  one.changedAt === other.changedAt &&
  ((one.etag !== undefined && other.etag !== undefined) || one.modifiedAt === other.modifiedAt) &&
  isSameVersion(withTag(one), withTag(other));

/** State of derived files in this process. Bounded; losing a row costs work, never correctness. */
export class KeptMemory {
  readonly #known = new LRUCache<string, Known>(ROWS);
  readonly #refusals = new LRUCache<string, { readonly failure: unknown }>(REFUSALS);
  readonly #refusing = new WeakSet<ReadableStore>();
  readonly #makings = new Map<string, Making>();
  readonly #keyOf = createStoreKeys();
  #sequence = 0;

  /** The current sequence number: later rows are new to the caller. */
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

  /** Aborts running work on the file, and forgets its state. Callers that wait for it get the abort. */
  async forget(target: Target): Promise<void> {
    const making = this.#makings.get(this.keyOf(target));
    making?.controller.abort();
    await making?.end.then(ignore, ignore);
    this.drop(target);
  }

  /** The same for everything below a folder, not the root. Returns the files recently written there. */
  async forgetBelow({ store, path }: Target): Promise<readonly SourcePath[]> {
    const prefix = `${this.keyOf({ store, path })}/`;
    const keys = new Set([...this.#makings.keys(), ...this.#known.keys()]);
    const below = [...keys].filter((key) => key.startsWith(prefix));
    const paths = below.map((key) => path.join(SourcePath.parse(key.slice(prefix.length))));
    for (const one of paths) await this.forget({ store, path: one });
    return paths;
  }

  /** Skips the target's folder for a while. True for the first rejection of a store. */
  noteRefusal({ store, path }: Target, failure: unknown): boolean {
    this.#refusals.set(this.#keyOf(store.files, path.parent), { failure });
    const isFirst = !this.#refusing.has(store.files);
    this.#refusing.add(store.files);
    return isFirst;
  }

  /** Whether this version of an item was recently found to be undrawable. */
  isBroken(target: Target, item: Entry): boolean {
    const row = this.#known.get(this.keyOf(target));
    return row?.outcome === 'broken' && versionOf(row.item) === versionOf(item);
  }

  /**
   * Whether a stored derived file was made of the current version of the item. A file that is older than its
   * item is stale, unless this process made it of this very item: some dates lie in the future. Where the
   * store's times have whole seconds, a file of the same second is stale only if this process remembers that
   * it was made of another item; files from another process or an earlier run are not all drawn again. Where
   * the store reports change times, items that replaced another later are detected whatever their date.
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
   * Runs the work for a version of an item unless its result is known: once for all concurrent requests; work
   * for another version of the same file is awaited first. A request that leaves does not affect the others.
   * @throws the signal's reason, errors of the work
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
    const refusal = this.#refusals.get(this.#keyOf(target.store.files, target.path.parent));
    if (refusal !== undefined) return refusal;
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
    // When every caller has left, the result is not reported.
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
