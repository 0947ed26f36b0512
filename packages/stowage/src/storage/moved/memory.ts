import { Background } from '../../basics/concurrency/abort.ts';
import { createNameLocks } from '../../basics/concurrency/name-locks.ts';
import { forEachAtOnce } from '../../basics/concurrency/queues.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { ChangedMeanwhileError, ifOnly, NotFoundError } from '../../errors/errors.ts';
import type { Entry, StorageAdapter } from '../adapter.ts';
import { createStoreKeys } from '../location.ts';
import { pagesOf, untilNotOvertaken, writeRecord } from '../records.ts';
import type { SourcePath } from '../source-path.ts';
import { createSweeper, type SweptStore } from '../sweeper.ts';
import {
  movedPaths,
  readHistory,
  writtenHistory,
  type NameEvent,
  type NameHistory,
  type ReadHistory,
} from './name-events.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Maximum number of records that one sweep removes. */
const MOST_REMOVED = 4096;
/** Tolerated surplus before a sweep, where the records need more than one listing request. */
const SURPLUS = 0.1;
const LISTED_BY_ONE = 1000;
const AT_ONCE = 8;
/** A move writes two records: for the old and the new path. */
const RECORDS_PER_ENTRY = 2;

/** Limits of the records of a source; see the setting `redirectMoved`. */
interface MemoryPolicy {
  readonly days: number;
  readonly entries: number;
}

/** The store whose records are to be kept within limits. */
interface MemoryUse {
  readonly store: StorageAdapter;
  readonly policy: MemoryPolicy;
  /** Keeps the store open during a sweep. Returns the function that releases it. */
  readonly hold: () => () => void;
}

const byAge = (one: Entry, other: Entry): number => (one.modifiedAt ?? 0) - (other.modifiedAt ?? 0);

/** Number of records, and the oldest of them by their modification time. */
const listOldest = async (store: StorageAdapter, signal: AbortSignal) => {
  let count = 0;
  let found: Entry[] = [];
  for await (const page of pagesOf(store, movedPaths.all, { signal })) {
    const records = page.filter(({ kind, name }) => kind === 'file' && movedPaths.isName(name));
    count += records.length;
    found.push(...records);
    if (found.length > 2 * MOST_REMOVED) found = found.sort(byAge).slice(0, MOST_REMOVED);
  }
  return { count, oldest: found.sort(byAge).slice(0, MOST_REMOVED) };
};

/** Removes a record if it is unchanged since it was listed. */
const removeRecord = async (store: StorageAdapter, entry: Entry): Promise<void> => {
  const ifUnchanged = { etag: undefined, ...entry };
  const path = movedPaths.all.child(entry.name);
  await store.removeFile(path, { ifUnchanged }).catch(ifOnly(ChangedMeanwhileError, NotFoundError));
};

const mostOf = ({ entries }: MemoryPolicy): number => entries * RECORDS_PER_ENTRY;

const isDue = ({ amount, sweptAt }: SweptStore, policy: MemoryPolicy): boolean => {
  const most = mostOf(policy);
  const surplus = most < LISTED_BY_ONE ? 0 : Math.min(most * SURPLUS, MOST_REMOVED / 2);
  return amount === undefined || amount > most + surplus || Date.now() - sweptAt > DAY_MS;
};

/** Removes records beyond the limits of age and number. Returns how many are left. */
const sweepRecords = async (store: StorageAdapter, policy: MemoryPolicy, signal: AbortSignal) => {
  const { count, oldest } = await listOldest(store, signal);
  const end = Date.now() - policy.days * DAY_MS;
  const surplus = count - mostOf(policy);
  const removed = oldest.filter(({ modifiedAt = Infinity }, index) => index < surplus || modifiedAt < end);
  await forEachAtOnce(AT_ONCE, removed, async (entry) => {
    if (!signal.aborted) await removeRecord(store, entry);
  });
  return count - removed.length;
};

export interface Noted {
  readonly use: MemoryUse;
  readonly path: SourcePath;
  /** Returns the history with the new event. `at` is later than all events in the histories of the names. */
  readonly change: (history: NameHistory, at: number) => readonly NameEvent[];
}

const lastOf = ({ events }: NameHistory): number => events.at(-1)?.at ?? 0;

/** Records events of names in sources; background work starts with the first event. */
export const createNameMemory = (log: Logger) => {
  const background = new Background();
  const sweep = createSweeper(background, (error) =>
    log.warn('What a source remembers could not be swept.', { error }),
  );
  const locks = createNameLocks();
  const keyOf = createStoreKeys();
  let latest = 0;
  /** Every event of this process gets a later time. */
  const now = (): number => (latest = Math.max(Date.now(), latest + 1));

  const noteOne = async ({ use, path, change }: Noted, read: ReadHistory | undefined, at: number) => {
    const { store, policy, hold } = use;
    let known = read;
    const isNew = await untilNotOvertaken(async () => {
      const history = known ?? (await readHistory(store, path, {}));
      known = undefined;
      const { since, version, others } = history;
      // The new event is the last one.
      const events = [...others, ...change(history, at)].sort((one, other) => one.at - other.at);
      await writeRecord(store, movedPaths.record(path), writtenHistory(path, { events, since }), version);
      return version === undefined;
    });
    const sweeping = sweep(store, isNew ? 1 : 0, {
      hold,
      isDue: (swept) => isDue(swept, policy),
      run: (signal) => sweepRecords(store, policy, signal),
    });
    // With few records a sweep is cheap: the change waits for it.
    if (mostOf(policy) < LISTED_BY_ONE) await sweeping;
  };

  const noteAll = async (names: readonly Noted[]): Promise<void> => {
    const histories = await Promise.all(names.map(({ use, path }) => readHistory(use.store, path, {})));
    const at = Math.max(now(), ...histories.map((history) => lastOf(history) + 1));
    const last = new Map<string, Promise<void>>();
    const writes = names.map((name, index) => {
      const key = keyOf(name.use.store, movedPaths.record(name.path));
      const before = last.get(key);
      // Names that differ in letter case share a record.
      const write = before
        ? before.then(() => noteOne(name, undefined, at))
        : noteOne(name, histories[index], at);
      last.set(key, write);
      return write;
    });
    const outcomes = await Promise.allSettled(writes);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  };

  return {
    /**
     * Records events of some names, all with the same time. Each costs a read and a write; where the source
     * exceeds its limits, the oldest records are removed afterwards.
     * @throws errors of the stores
     */
    note: (names: readonly Noted[]): Promise<void> => {
      const keys = names.map(({ path }) => movedPaths.record(path).name);
      return locks.hold(keys, {}, () => noteAll(names));
    },
    /** Aborts background work and resolves when it has ended. */
    close: (): Promise<void> => background.close(),
  };
};

export type NameMemory = ReturnType<typeof createNameMemory>;
