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
  doesNotFit,
  epochOf,
  fits,
  type KeptRoom,
  renewed,
  takenOf,
  withAdded,
  withCountIfDue,
  withMove,
  withoutReserved,
  withReserved,
} from './account.ts';
import type { Quotas, QuotaTarget } from './quotas.ts';

/** Between two looks at a count of another instance. */
const LOOK_MS = 200;
const NOTHING: Measure = { bytes: 0, files: 0 };

interface Reserving {
  readonly id: string;
  readonly isKept?: true;
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
  readonly #kept = new Map<string, KeptRoom>();
  #noted: (() => Promise<readonly KeptRoom[]>) | undefined;
  #recalled: Promise<void> | undefined;
  readonly #closing = new AbortController();
  readonly #renewing: NodeJS.Timeout;

  constructor(documents: Documents, log: Logger) {
    this.#documents = documents;
    this.#log = log;
    this.#renewing = setInterval(() => void this.#renew(), BELIEVED_MS / 4).unref();
  }

  async usage(target: QuotaTarget, signal: AbortSignal, need = NOTHING): Promise<Measure> {
    const { taken } = await this.#enter(target, need, signal);
    // A count that was aborted because the service ends.
    if (taken === undefined) throw new QuotaExceededError();
    return taken;
  }

  async withRoom<T>(
    target: QuotaTarget,
    need: Measure,
    { signal, kept }: { readonly signal: AbortSignal; readonly kept?: string | undefined },
    work: () => Promise<T>,
  ): Promise<T> {
    const id = kept ?? randomUUID();
    const { key } = target;
    const { isFitting, epoch, taken } = await this.#enter(target, need, signal, { id });
    if (!isFitting) throw doesNotFit(taken, need, target.limits);
    this.#own.set(id, key);
    let stored = NOTHING;
    try {
      const result = await work();
      stored = need;
      this.#kept.delete(id);
      return result;
    } finally {
      this.#own.delete(id);
      // Whatever becomes of it, the file is stored: what was reserved ends by itself, and is counted then.
      await this.#note(key, (account, now) =>
        this.#withKept(withAdded(withoutReserved(account, id), stored, epoch, now), key, now),
      );
    }
  }

  async keep(target: QuotaTarget, id: string, need: Measure, signal: AbortSignal): Promise<KeptRoom> {
    const { isFitting, taken } = await this.#enter(target, need, signal, { id, isKept: true });
    if (!isFitting) throw doesNotFit(taken, need, target.limits);
    const room = { id, key: target.key, need };
    this.#kept.set(id, room);
    return room;
  }

  async release(id: string): Promise<void> {
    const room = this.#kept.get(id);
    if (room === undefined) return;
    this.#kept.delete(id);
    await this.#note(room.key, (account) => withoutReserved(account, id));
  }

  recallFrom(noted: () => Promise<readonly KeptRoom[]>): void {
    this.#noted = noted;
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
    reservation?: Reserving,
  ): Promise<Look> {
    await this.#recall();
    for (;;) {
      const look = await this.#look(target, need, reservation);
      const { isFitting, countedBy } = look;
      if (isFitting || countedBy === undefined) return look;
      const count = this.#counts.get(target.key);
      await orAborted(count ?? delay(LOOK_MS, undefined, { ref: false }), signal);
      if (this.#closing.signal.aborted) return look;
    }
  }

  async #look(target: QuotaTarget, need: Measure, reservation: Reserving | undefined): Promise<Look> {
    const { key, storage, limits } = target;
    const counter = randomUUID();
    const isNew = !this.#known.has(storage);
    const isClosing = this.#closing.signal.aborted;
    const look = await this.#change<Look>(key, (found, now) => {
      const sure = isNew ? doubted(found, now, false) : found;
      const account = isClosing ? sure : withCountIfDue(sure, counter, now);
      const taken = takenOf(reservation === undefined ? account : withoutReserved(account, reservation.id));
      const isFitting = taken !== undefined && fits(taken, need, limits);
      const reserves = isFitting && reservation !== undefined;
      return [
        reserves ? withReserved(account, reservation.id, need, now, reservation.isKept) : account,
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

  /** Says again what this process keeps, has reserved and counts. */
  async #renew(): Promise<void> {
    if (this.#noted !== undefined) this.#recalled = undefined;
    await this.#recall();
    await this.#sayAgain();
  }

  async #sayAgain(): Promise<void> {
    const ids = new Set(this.#own.keys());
    const keys = [...this.#own.values(), ...[...this.#kept.values()].map(({ key }) => key)];
    for (const key of new Set(keys))
      await this.#note(key, (account, now) => this.#withKept(renewed(account, ids, now), key, now));
  }

  /** With the room of this source that is kept and not in use: also what was forgotten of it. */
  #withKept(account: Account, key: string, now: number): Account {
    const kept = [...this.#kept.values()].filter((room) => room.key === key && !this.#own.has(room.id));
    return kept.reduce((sum, { id, need }) => withReserved(sum, id, need, now, true), account);
  }

  /** Keeps again, once, what was kept when the process began. */
  #recall(): Promise<void> {
    return (this.#recalled ??= this.#readNoted());
  }

  async #readNoted(): Promise<void> {
    try {
      for (const room of (await this.#noted?.()) ?? []) this.#kept.set(room.id, room);
      this.#noted = undefined;
      await this.#sayAgain();
    } catch (error) {
      this.#log.warn('The room that is kept for unfinished uploads could not be read.', { error });
    }
  }
}

/** Quotas whose counts lie in these documents: of this process, or of all instances. */
export const createQuotas = (documents: Documents, log: Logger): Quotas => new SharedQuotas(documents, log);
