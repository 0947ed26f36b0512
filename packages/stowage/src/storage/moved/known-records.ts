import { setMaxListeners } from 'node:events';
import { LRUCache } from 'lru-cache';
import { createNameLocks } from '../../basics/concurrency/name-locks.ts';
import { createLimiter } from '../../basics/concurrency/queues.ts';
import type { Entry } from '../entry.ts';
import type { OperationOptions, ReadableStore } from '../readable.ts';
import type { SourcePath } from '../source-path.ts';
import { MOST_RECORD_BYTES, movedPaths, NO_HISTORY, type NameHistory, readRecord } from './name-events.ts';

const READS_AT_ONCE = 32;
/** Of all records of a source that are remembered; of each as much as it is long, and something for its objects. */
const CACHE = { maxSize: 16 * 1024 * 1024, ttl: 10 * 60_000 };
const BYTES_OF_A_RECORD = 500;

interface KnownRecord {
  readonly version: string;
  readonly history: NameHistory;
}

const versionOf = ({ etag, modifiedAt, changedAt, size }: Entry): string =>
  [etag, modifiedAt, changedAt, size].join();

/** What is known of a name without a request; undefined: that its record has to be read. */
export type KnownHistory = (about: SourcePath) => NameHistory | undefined;

/** The records of one source as they were read together, for ways of many steps. Forgetting one costs a reading. */
export class KnownRecords {
  readonly #known = new LRUCache<string, KnownRecord>(CACHE);
  readonly #locks = createNameLocks();

  /** Whether most of the records may be known. */
  get isWarm(): boolean {
    return this.#known.size > 0;
  }

  /**
   * All records that a listing shows now: those that have changed since they were read are read, many at a time.
   * Undefined where these are more than `most`: then a listing of as many has been all that it cost.
   * @throws errors of the store, the signal's reason
   */
  all(store: ReadableStore, most: number, { signal }: OperationOptions): Promise<KnownHistory | undefined> {
    // Others that wait find them read.
    return this.#locks.hold('', { signal }, async () => {
      const listed = new Map<string, string>();
      const unread: Entry[] = [];
      for await (const page of store.list(movedPaths.all, { signal, mayMiss: true }))
        for (const entry of page) {
          const { name, kind, size = 0 } = entry;
          if (kind !== 'file' || !movedPaths.isName(name) || size > MOST_RECORD_BYTES) continue;
          const version = versionOf(entry);
          listed.set(name, version);
          if (this.#known.get(name)?.version === version) continue;
          unread.push(entry);
          if (unread.length > most) return undefined;
        }
      if (signal !== undefined) setMaxListeners(0, signal);
      const limiter = createLimiter(READS_AT_ONCE);
      try {
        for (const entry of unread) await limiter.add(() => this.#read(store, entry, signal));
      } finally {
        await limiter.drain();
      }
      return (about) => {
        const { name } = movedPaths.record(store, about);
        const version = listed.get(name);
        if (version === undefined) return NO_HISTORY;
        const known = this.#known.get(name);
        return known?.version === version ? known.history : undefined;
      };
    });
  }

  async #read(store: ReadableStore, entry: Entry, signal: AbortSignal | undefined): Promise<void> {
    const { name, size = MOST_RECORD_BYTES } = entry;
    const history = await readRecord(store, movedPaths.all.child(name), { signal, isListed: true });
    // One that is gone, or seems to be, is asked for when it is needed.
    if (history.version === undefined) return;
    this.#known.set(name, { version: versionOf(entry), history }, { size: BYTES_OF_A_RECORD + size });
  }
}
