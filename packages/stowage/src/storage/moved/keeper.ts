import { createLimiter } from '../../basics/concurrency/queues.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { ifMissing, ifNoSuch } from '../../errors/errors.ts';
import type { Entry, StorageAdapter } from '../adapter.ts';
import { movedPaths } from './name-events.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Names that are known of one store at most. */
const MOST_KNOWN = 4096;
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
  /** Undefined: not known. */
  count: number | undefined;
  /** Some of the oldest, the oldest first. */
  oldest: Set<string>;
  /** These are all there are. */
  isAll: boolean;
  /** Written since the running sweep has begun. */
  arrived: Map<string, boolean> | undefined;
}

type Known = Pick<Entry, 'name' | 'modifiedAt'>;

const byAge = (one: Known, other: Known): number => (one.modifiedAt ?? 0) - (other.modifiedAt ?? 0);

/** How many records there are, and the oldest of them, as far as a listing tells. */
const listOldest = async (
  store: StorageAdapter,
  signal: AbortSignal,
): Promise<{ readonly count: number; readonly oldest: readonly Known[] }> => {
  let count = 0;
  let found: Known[] = [];
  try {
    for await (const page of store.list(movedPaths.all, { signal })) {
      const records = page.filter(({ kind, name }) => kind === 'file' && movedPaths.isName(name));
      count += records.length;
      found.push(...records.map(({ name, modifiedAt }) => ({ name, modifiedAt })));
      if (found.length > 2 * MOST_KNOWN) found = found.sort(byAge).slice(0, MOST_KNOWN);
    }
  } catch (error) {
    ifNoSuch(error);
  }
  return { count, oldest: found.sort(byAge).slice(0, MOST_KNOWN) };
};

const mostOf = ({ entries }: MemoryPolicy): number => entries * RECORDS_PER_ENTRY;

const isDue = ({ count, oldest, sweptAt }: Knowledge, policy: MemoryPolicy): boolean =>
  count === undefined || (count > mostOf(policy) && oldest.size === 0) || Date.now() - sweptAt > DAY_MS;

const note = (knowledge: Knowledge, name: string, isNew: boolean): void => {
  const { oldest } = knowledge;
  // A listing may have counted it between its write and this note.
  const isCounted = oldest.delete(name);
  if (isNew && !isCounted && knowledge.count !== undefined) knowledge.count += 1;
  knowledge.isAll &&= oldest.size < MOST_KNOWN;
  if (knowledge.isAll) oldest.add(name);
};

/**
 * Keeps the records of every store within their policy. One listing tells which are the oldest; from then on each
 * new record has the oldest one removed, until as many are gone as the listing has told.
 */
export class MovedKeeper {
  readonly #log: Logger;
  readonly #known = new WeakMap<StorageAdapter, Knowledge>();
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** To be called after a record was written, `isNew` where there was none. @throws errors of the store */
  async written(use: MemoryUse, name: string, isNew: boolean): Promise<void> {
    const { store, policy, hold } = use;
    let knowledge = this.#known.get(store);
    if (knowledge === undefined) {
      knowledge = { sweptAt: 0, count: undefined, oldest: new Set(), isAll: false, arrived: undefined };
      this.#known.set(store, knowledge);
    }
    knowledge.arrived?.set(name, isNew || knowledge.arrived.get(name) === true);
    note(knowledge, name, isNew);
    await this.#evict(use, knowledge);
    if (this.#closing.signal.aborted || knowledge.arrived !== undefined || !isDue(knowledge, policy)) return;
    const release = hold();
    const work = this.#sweep(use, knowledge).finally(() => {
      this.#running.delete(work);
      release();
    });
    this.#running.add(work);
  }

  /** Aborts what runs, and resolves when it has ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running);
  }

  /** Removes the oldest that are known while there are too many. */
  async #evict({ store, policy }: MemoryUse, knowledge: Knowledge): Promise<void> {
    const names: string[] = [];
    for (const name of knowledge.oldest) {
      if ((knowledge.count ?? 0) <= mostOf(policy)) break;
      knowledge.oldest.delete(name);
      knowledge.count = (knowledge.count ?? 1) - 1;
      names.push(name);
    }
    await this.#removeAll(store, names);
  }

  async #removeAll(store: StorageAdapter, names: readonly string[]): Promise<void> {
    const limiter = createLimiter(AT_ONCE);
    try {
      for (const name of names) {
        if (this.#closing.signal.aborted) break;
        await limiter.add(() => store.removeFile(movedPaths.all.child(name)).catch(ifMissing));
      }
    } finally {
      await limiter.drain();
    }
  }

  async #sweep(use: MemoryUse, knowledge: Knowledge): Promise<void> {
    const { store, policy } = use;
    const arrived = new Map<string, boolean>();
    Object.assign(knowledge, { sweptAt: Date.now(), arrived });
    try {
      const { count, oldest } = await listOldest(store, this.#closing.signal);
      const end = Date.now() - policy.days * DAY_MS;
      const expired = oldest.filter(
        ({ name, modifiedAt = Infinity }) => modifiedAt < end && !arrived.has(name),
      );
      const left = new Set(oldest.slice(expired.length).map(({ name }) => name));
      const found = { count: count - expired.length, oldest: left, isAll: count <= MOST_KNOWN };
      Object.assign(knowledge, found, { arrived: undefined });
      for (const [name, isNew] of arrived) note(knowledge, name, isNew);
      await this.#removeAll(
        store,
        expired.map(({ name }) => name),
      );
      await this.#evict(use, knowledge);
    } catch (error) {
      if (!this.#closing.signal.aborted)
        this.#log.warn('What a source remembers could not be swept.', { error });
    } finally {
      knowledge.arrived = undefined;
    }
  }
}
