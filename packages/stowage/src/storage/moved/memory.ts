import { createNameLocks } from '../../basics/concurrency/name-locks.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { AlreadyExistsError, ChangedMeanwhileError, ifMissing, ifNoSuch } from '../../errors/errors.ts';
import { writeKept } from '../kept-files.ts';
import type { SourcePath } from '../source-path.ts';
import {
  movedPaths,
  readHistory,
  writtenHistory,
  type NameEvent,
  type NameHistory,
  type ReadHistory,
} from './name-events.ts';
import { forEachAtOnce } from '../../basics/concurrency/queues.ts';
import type { Entry, StorageAdapter } from '../adapter.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Records that one sweep removes at most. */
const MOST_REMOVED = 4096;
/** Of more records than one request lists, this part may be too many before a sweep. */
const SURPLUS = 0.1;
const LISTED_BY_ONE = 1000;
const AT_ONCE = 8;
/** A move writes two: where something was, and where it is. */
const RECORDS_PER_ENTRY = 2;

/** How much a source remembers of names, and how long; see the setting `redirectMoved`. */
export interface MemoryPolicy {
  readonly days: number;
  readonly entries: number;
}

/** Whose records are to be kept within bounds. */
export interface MemoryUse {
  readonly store: StorageAdapter;
  readonly policy: MemoryPolicy;
  /** Keeps the store open during a sweep, and returns the way to give it back. */
  readonly hold: () => () => void;
}

/** What is known of the records of one store. Forgetting it costs a listing. */
interface Knowledge {
  sweptAt: number;
  /** Some may be counted twice until the next sweep. Undefined: not known. */
  count: number | undefined;
  isSwept: boolean;
}

const byAge = (one: Entry, other: Entry): number => (one.modifiedAt ?? 0) - (other.modifiedAt ?? 0);

/** How many records there are, and the oldest of them, as far as a listing tells. */
const listOldest = async (
  store: StorageAdapter,
  signal: AbortSignal,
): Promise<{ readonly count: number; readonly oldest: readonly Entry[] }> => {
  let count = 0;
  let found: Entry[] = [];
  try {
    for await (const page of store.list(movedPaths.all, { signal })) {
      const records = page.filter(({ kind, name }) => kind === 'file' && movedPaths.isName(name));
      count += records.length;
      found.push(...records);
      if (found.length > 2 * MOST_REMOVED) found = found.sort(byAge).slice(0, MOST_REMOVED);
    }
  } catch (error) {
    ifNoSuch(error);
  }
  return { count, oldest: found.sort(byAge).slice(0, MOST_REMOVED) };
};

/** Removes a record that has not been written since it was listed. */
const removeRecord = async (store: StorageAdapter, entry: Entry): Promise<void> => {
  const ifUnchanged = { etag: undefined, ...entry };
  await store.removeFile(movedPaths.all.child(entry.name), { ifUnchanged }).catch((error: unknown) => {
    if (!(error instanceof ChangedMeanwhileError)) ifMissing(error);
  });
};

const mostOf = ({ entries }: MemoryPolicy): number => entries * RECORDS_PER_ENTRY;

const isDue = ({ count, sweptAt }: Knowledge, policy: MemoryPolicy): boolean => {
  const most = mostOf(policy);
  const surplus = most < LISTED_BY_ONE ? 0 : Math.min(most * SURPLUS, MOST_REMOVED / 2);
  return count === undefined || count > most + surplus || Date.now() - sweptAt > DAY_MS;
};

/** Keeps the records of every store within their policy, by a sweep whenever there are some more. */
class MovedKeeper {
  readonly #log: Logger;
  readonly #known = new WeakMap<StorageAdapter, Knowledge>();
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** To be called after a record was written, `isNew` where there was none. Waits for a sweep that costs little. */
  async written(use: MemoryUse, isNew: boolean): Promise<void> {
    const known = this.#known.get(use.store) ?? { sweptAt: 0, count: undefined, isSwept: false };
    this.#known.set(use.store, known);
    if (isNew && known.count !== undefined) known.count += 1;
    if (this.#closing.signal.aborted || known.isSwept || !isDue(known, use.policy)) return;
    known.isSwept = true;
    const release = use.hold();
    const work = this.#sweepWhileDue(use, known).finally(() => {
      known.isSwept = false;
      this.#running.delete(work);
      release();
    });
    this.#running.add(work);
    if (mostOf(use.policy) < LISTED_BY_ONE) await work;
  }

  /** Aborts what runs, and resolves when it has ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running);
  }

  async #sweepWhileDue(use: MemoryUse, known: Knowledge): Promise<void> {
    try {
      let isOutdated = true;
      while (isOutdated && !this.#closing.signal.aborted && isDue(known, use.policy))
        isOutdated = await this.#sweep(use, known);
    } catch (error) {
      known.count = undefined;
      if (!this.#closing.signal.aborted)
        this.#log.warn('What a source remembers could not be swept.', { error });
    }
  }

  /** True: records were written meanwhile. */
  async #sweep({ store, policy }: MemoryUse, known: Knowledge): Promise<boolean> {
    // What is written meanwhile is counted from here, perhaps once too often.
    Object.assign(known, { sweptAt: Date.now(), count: 0 });
    const { count, oldest } = await listOldest(store, this.#closing.signal);
    const end = Date.now() - policy.days * DAY_MS;
    const surplus = count - mostOf(policy);
    const removed = oldest.filter(({ modifiedAt = Infinity }, index) => index < surplus || modifiedAt < end);
    await forEachAtOnce(AT_ONCE, removed, async (entry) => {
      if (!this.#closing.signal.aborted) await removeRecord(store, entry);
    });
    const { count: written = 0 } = known;
    known.count = written + count - removed.length;
    return written > 0;
  }
}

/** How often a record is read again that another instance has written meanwhile. */
const MOST_TRIES = 4;

/** A name with what has happened to it. */
export interface Noted {
  readonly use: MemoryUse;
  readonly path: SourcePath;
  /** The history with what has happened now. `at` is later than all that is in the histories of the names. */
  readonly change: (history: NameHistory, at: number) => readonly NameEvent[];
}

/** What sources remember of names. */
export interface NameMemory {
  /**
   * Writes down what has happened to some names at once. Each costs a look and a write; where the source remembers
   * more than it may, the oldest are removed afterwards.
   * @throws errors of the stores
   */
  note(names: readonly Noted[]): Promise<void>;
  /** Aborts what runs by itself, and resolves when it has ended. */
  close(): Promise<void>;
}

const lastOf = ({ events }: NameHistory): number => events.at(-1)?.at ?? 0;

/** Makes a memory that has not begun anything. */
export const createNameMemory = (log: Logger): NameMemory => {
  const keeper = new MovedKeeper(log);
  const locks = createNameLocks();
  let latest = 0;
  /** No two events of this process have one time. */
  const now = (): number => (latest = Math.max(Date.now(), latest + 1));

  const noteOne = async ({ use, path, change }: Noted, read: ReadHistory, at: number): Promise<void> => {
    const { store } = use;
    let history = read;
    for (let tries = 1; ; tries += 1) {
      const { since, version } = history;
      try {
        const bytes = writtenHistory(path, { events: change(history, at), since });
        await writeKept(store, movedPaths.record(store, path), bytes, version);
        break;
      } catch (error) {
        const isOutrun = error instanceof ChangedMeanwhileError || error instanceof AlreadyExistsError;
        if (!isOutrun || tries === MOST_TRIES) throw error;
        history = await readHistory(store, path, {});
      }
    }
    await keeper.written(use, history.version === undefined);
  };

  const noteAll = async (names: readonly Noted[]): Promise<void> => {
    const histories = await Promise.all(names.map(({ use, path }) => readHistory(use.store, path, {})));
    const at = Math.max(now(), ...histories.map((history) => lastOf(history) + 1));
    const outcomes = await Promise.allSettled(
      histories.map(async (history, index) => {
        const name = names[index];
        if (name !== undefined) await noteOne(name, history, at);
      }),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  };

  return {
    note: (names) => {
      // A holder of one name waits only for later ones: no two wait for each other.
      const keys = [...new Set(names.map(({ use, path }) => movedPaths.record(use.store, path).name))].sort();
      return keys.reduceRight<() => Promise<void>>(
        (work, key) => () => locks.hold(key, {}, work),
        () => noteAll(names),
      )();
    },
    close: () => keeper.close(),
  };
};
