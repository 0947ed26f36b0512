import { setMaxListeners } from 'node:events';
import { LRUCache } from 'lru-cache';
import { createNameLocks } from '../../basics/concurrency/name-locks.ts';
import { forEachAtOnce } from '../../basics/concurrency/queues.ts';
import type { Entry } from '../entry.ts';
import type { OperationOptions, ReadableStore } from '../readable.ts';
import { MOST_RECORD_BYTES, versionOf } from '../records.ts';
import type { SourcePath } from '../source-path.ts';
import { movedPaths, NO_HISTORY, type NameHistory, readHistoryIn } from './name-events.ts';

const READS_AT_ONCE = 32;
/** Steps of ways that are read one after another before all records are: these may be so many for each of the steps. */
const MOST_STEPS = 64;
const RECORDS_PER_STEP = 32;
/** Of all records of a source that are remembered; of each as much as it is long, and something for its objects. */
const CACHE = { maxSize: 16 * 1024 * 1024, ttl: 10 * 60_000 };
const BYTES_OF_A_RECORD = 500;

/** A record may arrive so much later than its event is dated: clocks of instances differ, and writes take time. */
const MARGIN_MS = 5000;

interface KnownRecord {
  readonly version: string;
  readonly history: NameHistory;
}

/**
 * The records of one source as they were read together, for ways of many steps. They may have grown since: what is
 * known of a name is certain of what happened before a time. Forgetting a record costs a reading.
 */
export class KnownRecords {
  readonly #known = new LRUCache<string, KnownRecord>(CACHE);
  readonly #locks = createNameLocks();
  #listed: ReadonlySet<string> = new Set();
  #listedAt = 0;
  /** Taken one after another since all was read. */
  #steps = 0;
  #readsAllAt = MOST_STEPS;

  /** Until when all is known, in milliseconds since 1970; 0: nothing is. */
  get certainUntil(): number {
    return this.#listedAt + CACHE.ttl > Date.now() ? this.#listedAt - MARGIN_MS : 0;
  }

  /** What happened to a name until then, and perhaps more; undefined: its record has to be read. */
  historyOf(store: ReadableStore, about: SourcePath): NameHistory | undefined {
    const { name } = movedPaths.record(store, about);
    return this.#listed.has(name) ? this.#known.get(name)?.history : NO_HISTORY;
  }

  /**
   * To be called before a step of a long way is read. After many of them, of one way or of several, all records are
   * listed, and those that have changed since they were read are read, many at a time: reading them one after another
   * has cost as much by then. Where they are still more, a listing of as many is all that it costs. True: all was read.
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
      // Another one has read them while this one waited.
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
    // One that is gone, or seems to be, is asked for when it is needed.
    if (history.version === undefined) return;
    this.#known.set(name, { version: versionOf(entry), history }, { size: BYTES_OF_A_RECORD + size });
  }
}
