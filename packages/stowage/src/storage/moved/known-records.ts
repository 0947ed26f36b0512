import { setMaxListeners } from 'node:events';
import { LRUCache } from 'lru-cache';
import { createNameLocks } from '../../basics/concurrency/name-locks.ts';
import { forEachAtOnce } from '../../basics/concurrency/queues.ts';
import type { Entry } from '../entry.ts';
import type { OperationOptions, ReadableStore } from '../readable.ts';
import { MOST_RECORD_BYTES, versionOf } from '../records.ts';
import type { SourcePath } from '../source-path.ts';
import { historyIn, movedPaths, NO_HISTORY, type NameHistory, readHistoryIn } from './name-events.ts';

const READS_AT_ONCE = 32;
/** Steps that are read one by one before all records are; records that may be read for each of the steps. */
const MOST_STEPS = 64;
const RECORDS_PER_STEP = 32;
/** Limits of a source's record cache. An entry counts the length of its record, plus a constant. */
const CACHE = { maxSize: 16 * 1024 * 1024, ttl: 10 * 60_000 };
const BYTES_OF_A_RECORD = 500;

/** Tolerance for late records: clocks of instances differ, and writes take time. */
const MARGIN_MS = 5000;

interface KnownRecord {
  readonly version: string;
  readonly history: NameHistory;
}

/**
 * Cache of the records of one source, read together for long chains of redirects. Records may have grown
 * since: a cached history is complete only up to `certainUntil`. An evicted record costs one read.
 */
export class KnownRecords {
  readonly #known = new LRUCache<string, KnownRecord>(CACHE);
  readonly #locks = createNameLocks();
  #listed: ReadonlySet<string> = new Set();
  #listedAt = 0;
  /** Steps since all records were read. */
  #steps = 0;
  #readsAllAt = MOST_STEPS;

  /** The cache is complete up to this time, in milliseconds since 1970; 0 when nothing is known. */
  get certainUntil(): number {
    return this.#listedAt + CACHE.ttl > Date.now() ? this.#listedAt - MARGIN_MS : 0;
  }

  /** The history of a name up to that time, perhaps longer; undefined when its record must be read. */
  historyOf(store: ReadableStore, about: SourcePath): NameHistory | undefined {
    const { name } = movedPaths.record(about);
    if (!this.#listed.has(name)) return NO_HISTORY;
    const known = this.#known.get(name);
    return known && historyIn(store, about, known.history);
  }

  /**
   * Call before each step of a long chain. After many steps, of one chain or several, lists all records and
   * reads the changed ones, many at a time: by then reading one by one has cost as much. Where there are too
   * many records, only lists up to the limit. Returns whether all records were read.
   * @throws errors of the store, the signal's reason
   */
  async step(store: ReadableStore, options: OperationOptions): Promise<boolean> {
    this.#steps += 1;
    if (this.#steps < this.#readsAllAt) return false;
    this.#readsAllAt *= 2;
    return this.#readAll(store, this.#steps * RECORDS_PER_STEP, options);
  }

  #readAll(store: ReadableStore, most: number, { signal }: OperationOptions): Promise<boolean> {
    const askedAt = Date.now();
    return this.#locks.hold('', { signal }, async () => {
      // Another caller has read them in the meantime.
      if (this.#listedAt >= askedAt) return true;
      const listedAt = Date.now();
      const listed = new Set<string>();
      const unread: Entry[] = [];
      for await (const page of store.list(movedPaths.all, { signal, mayMiss: true }))
        for (const entry of page) {
          const { name, kind, size = 0 } = entry;
          if (kind !== 'file' || !movedPaths.isName(name) || size > MOST_RECORD_BYTES) continue;
          listed.add(name);
          if (this.#known.get(name)?.version !== versionOf(entry)) unread.push(entry);
          if (unread.length > most) return false;
        }
      if (signal !== undefined) setMaxListeners(0, signal);
      await forEachAtOnce(READS_AT_ONCE, unread, (entry) => this.#read(store, entry, signal));
      this.#listed = listed;
      this.#listedAt = listedAt;
      this.#steps = 0;
      this.#readsAllAt = MOST_STEPS;
      return true;
    });
  }

  async #read(store: ReadableStore, entry: Entry, signal: AbortSignal | undefined): Promise<void> {
    const { name, size = MOST_RECORD_BYTES } = entry;
    this.#known.delete(name);
    const history = await readHistoryIn(store, movedPaths.all.child(name), { signal, isListed: true });
    // A record that seems to be missing is read when it is needed.
    if (history.version === undefined) return;
    this.#known.set(name, { version: versionOf(entry), history }, { size: BYTES_OF_A_RECORD + size });
  }
}
