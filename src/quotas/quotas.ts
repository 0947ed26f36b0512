import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { orAborted } from '../concurrency/or-aborted.ts';
import { QuotaExceededError } from '../errors/errors.ts';
import type { Logger } from '../log/logger.ts';
import type { Documents } from '../state/state.ts';
import type { StorageAdapter } from '../storage/adapter.ts';
import { measure, type Measure } from '../storage/measure.ts';
import { SourcePath } from '../storage/source-path.ts';
import {
  type Account,
  accountAt,
  afterMove,
  BELIEVED_MS,
  counted,
  doubted,
  epochOf,
  fits,
  type QuotaLimits,
  renewed,
  takenOf,
  withAdded,
  withCountIfDue,
  withMove,
  withoutReserved,
  withReserved,
} from './account.ts';

/** Between two looks at a count of another instance. */
const LOOK_MS = 200;
const NOTHING: Measure = { bytes: 0, files: 0 };

/** A source with a quota. */
export interface QuotaTarget {
  /** The source by its tenant and name: the same in all instances. */
  readonly key: string;
  readonly storage: StorageAdapter;
  readonly limits: QuotaLimits;
  /** Folders of this name hold what the service has made and can make again: they do not count. */
  readonly derivedName: string | undefined;
  /** Files that the service keeps for itself: they do not count. */
  readonly ignores: (path: SourcePath) => boolean;
  /** Keeps the store open during a count; returns the way to give it back. */
  readonly hold: () => () => void;
}

/**
 * Knows how much every source with a quota holds: counted by a walk at the first use, kept up to date by what
 * those do who share the state, and counted again every hour of use.
 */
export interface Quotas {
  /**
   * What the source holds, with what is about to be stored. Where `need` does not fit in, a count that is due
   * is waited for: things may have left the store.
   * @throws the failure of the count, the signal's reason; errors of the shared state
   */
  usage(target: QuotaTarget, signal: AbortSignal, need?: Measure): Promise<Measure>;
  /**
   * Takes room for as long as `work` lasts, and for good when it succeeds. What is taken is taken for
   * everybody: of two who want the last room one gets it.
   * @throws QuotaExceededError and errors of the shared state, before `work` begins; what `work` throws
   */
  withRoom<T>(target: QuotaTarget, need: Measure, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  /**
   * Takes something out of the source; the room that it took is free then. @throws what `take` throws
   */
  freeing<T>(key: string, freed: Measure, take: () => Promise<T>): Promise<T>;
  /** Gives something another path in the source. @throws what `move` throws */
  moving<T>(key: string, move: () => Promise<T>): Promise<T>;
  /** Something has left the source, and nobody knows how much: the next use counts again. Never fails. */
  forget(key: string): Promise<void>;
  /** Aborts running counts, and resolves when they have ended. */
  close(): Promise<void>;
}

interface Look {
  readonly taken: Measure | undefined;
  readonly isFitting: boolean;
  /** Whose count is running. */
  readonly countedBy: string | undefined;
  readonly epoch: string;
}

class SharedQuotas implements Quotas {
  readonly #documents: Documents;
  readonly #log: Logger;
  /** Stores that were in use before. */
  readonly #known = new WeakSet<StorageAdapter>();
  /** Counts of this process, by source. */
  readonly #counts = new Map<string, Promise<void>>();
  /** Reservations and counts of this process, with their source. */
  readonly #own = new Map<string, string>();
  readonly #closing = new AbortController();
  readonly #renewing: NodeJS.Timeout;

  constructor(documents: Documents, log: Logger) {
    this.#documents = documents;
    this.#log = log;
    this.#renewing = setInterval(() => void this.#renew(), BELIEVED_MS / 4).unref();
  }

  async usage(target: QuotaTarget, signal: AbortSignal, need = NOTHING): Promise<Measure> {
    const { taken } = await this.#enter(target, need, signal, undefined);
    // A count that was aborted because the service ends.
    if (taken === undefined) throw new QuotaExceededError();
    return taken;
  }

  async withRoom<T>(
    target: QuotaTarget,
    need: Measure,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    const id = randomUUID();
    const { key } = target;
    const { isFitting, epoch } = await this.#enter(target, need, signal, id);
    if (!isFitting) throw new QuotaExceededError();
    this.#own.set(id, key);
    let stored = NOTHING;
    try {
      const result = await work();
      stored = need;
      return result;
    } finally {
      this.#own.delete(id);
      // Whatever becomes of it, the file is stored: what was reserved ends by itself, and is counted then.
      await this.#note(key, (account, now) => withAdded(withoutReserved(account, id), stored, epoch, now));
    }
  }

  async freeing<T>(key: string, { bytes, files }: Measure, take: () => Promise<T>): Promise<T> {
    let epoch = '';
    await this.#note(key, (account) => {
      epoch = epochOf(account);
      return account;
    });
    const taken = await take();
    await this.#note(key, (account, now) => withAdded(account, { bytes: -bytes, files: -files }, epoch, now));
    return taken;
  }

  async moving<T>(key: string, move: () => Promise<T>): Promise<T> {
    let epoch = '';
    await this.#note(key, (account) => {
      epoch = epochOf(account);
      return withMove(account);
    });
    try {
      return await move();
    } finally {
      await this.#note(key, (account, now) => afterMove(account, epoch, now));
    }
  }

  forget(key: string): Promise<void> {
    return this.#note(key, (account, now) => doubted(account, now, true));
  }

  async close(): Promise<void> {
    clearInterval(this.#renewing);
    this.#closing.abort();
    await Promise.allSettled(this.#counts.values());
  }

  #change<Result>(
    key: string,
    change: (account: Account, now: number) => readonly [Account, Result],
  ): Promise<Result> {
    return this.#documents.change<Account, Result>(`quota:${key}`, (account, now) =>
      change(accountAt(account, now), now),
    );
  }

  async #note(key: string, change: (account: Account, now: number) => Account): Promise<void> {
    try {
      await this.#change(key, (account, now) => [change(account, now), undefined]);
    } catch (error) {
      this.#log.warn('A change could not be counted for a quota; the next count finds it.', { error });
    }
  }

  /** Looks, and where the need fits in reserves it under the id; waits for a count where that may help. */
  async #enter(
    target: QuotaTarget,
    need: Measure,
    signal: AbortSignal,
    reservation: string | undefined,
  ): Promise<Look> {
    for (;;) {
      const look = await this.#look(target, need, reservation);
      const { isFitting, countedBy } = look;
      if (isFitting || countedBy === undefined) return look;
      const count = this.#counts.get(target.key);
      await orAborted(count ?? delay(LOOK_MS, undefined, { ref: false }), signal);
      if (this.#closing.signal.aborted) return look;
    }
  }

  async #look(target: QuotaTarget, need: Measure, reservation: string | undefined): Promise<Look> {
    const { key, storage, limits } = target;
    const counter = randomUUID();
    const isNew = !this.#known.has(storage);
    const isClosing = this.#closing.signal.aborted;
    const look = await this.#change<Look>(key, (found, now) => {
      const sure = isNew ? doubted(found, now, false) : found;
      const account = isClosing ? sure : withCountIfDue(sure, counter, now);
      const taken = takenOf(account);
      const isFitting = taken !== undefined && fits(taken, need, limits);
      const reserves = isFitting && reservation !== undefined;
      return [
        reserves ? withReserved(account, reservation, need, now) : account,
        { taken, isFitting, countedBy: account.counting?.id, epoch: epochOf(account) },
      ];
    });
    this.#known.add(storage);
    if (look.countedBy === counter) this.#begin(target, counter);
    return look;
  }

  #begin(target: QuotaTarget, id: string): void {
    this.#own.set(id, target.key);
    const counting = this.#count(target, id).finally(() => {
      // The next one may have begun as soon as this one had said what it found.
      if (this.#counts.get(target.key) === counting) this.#counts.delete(target.key);
      this.#own.delete(id);
    });
    this.#counts.set(target.key, counting);
    counting.catch((error: unknown) => {
      if (!this.#closing.signal.aborted)
        this.#log.warn('A source could not be counted for its quota.', { error });
    });
  }

  async #count(target: QuotaTarget, id: string): Promise<void> {
    const { key, storage, derivedName, ignores } = target;
    let found: Measure | undefined;
    let release: (() => void) | undefined;
    try {
      release = target.hold();
      const { signal } = this.#closing;
      found = await measure(storage, SourcePath.root, 'folder', {
        signal,
        derivedName,
        ignores,
        isTolerant: true,
      });
    } finally {
      await this.#note(key, (account, now) => counted(account, id, found, now));
      release?.();
    }
  }

  /** Says again what this process has reserved and counts. */
  async #renew(): Promise<void> {
    const ids = new Set(this.#own.keys());
    for (const key of new Set(this.#own.values()))
      await this.#note(key, (account, now) => renewed(account, ids, now));
  }
}

/** Quotas whose counts lie in these documents: of this process, or of all instances. */
export const createQuotas = (documents: Documents, log: Logger): Quotas => new SharedQuotas(documents, log);
