import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { orAborted, withOwnSignal } from '../../basics/concurrency/abort.ts';
import { BusyError } from '../../errors/errors.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { Records } from '../state/state.ts';
import type { ReadableStore } from '../../storage/readable.ts';
import { measure, type Measure } from '../../storage/measure.ts';
import { SourcePath } from '../../storage/source-path.ts';
import {
  type Account,
  accountAt,
  counted,
  doesNotFit,
  fits,
  type KeptRoom,
  markStale,
  type Need,
  NOTHING,
  type QuotaLimits,
  renewed,
  RESERVATION_TTL_MS,
  settled,
  takenOf,
  withCountIfDue,
  withReserved,
} from './account.ts';

/** Interval of reads while another instance counts. */
const CHECK_MS = 200;

export interface QuotaTarget {
  /** Key of the source by its tenant and name: the same in all instances. */
  readonly key: string;
  readonly storage: ReadableStore;
  readonly limits: QuotaLimits;
  /** Folders of this name hold derived files, which are not counted. */
  readonly derivedName: string | undefined;
  /** Paths of the service's internal files, which are not counted. */
  readonly ignores: RegExp;
  /** Keeps the store open during a count; returns the function that releases it. */
  readonly hold: () => () => void;
}

interface RoomOptions {
  readonly signal: AbortSignal;
  readonly kept?: string | undefined;
  readonly stored?: (() => Measure | undefined) | undefined;
}

/** A change, which calls `onUncertain` before it fails if the store may have carried it out nevertheless. */
export type Work<T> = (onUncertain: () => unknown) => Promise<T>;

interface Verdict {
  readonly taken: Measure;
  readonly isFitting: boolean;
}

/**
 * Tracks the usage of every source with a quota: counted by a walk at the first use, updated by the changes
 * of all instances that share the records, and counted again every quarter of an hour of use.
 */
export class Quotas {
  readonly #records: Records;
  readonly #log: Logger;
  readonly #counts = new Map<string, Promise<void>>();
  /** Reservations of this process, by id, including those of its counts and of unfinished uploads. */
  readonly #own = new Map<string, KeptRoom>();
  #noted: (() => Promise<readonly KeptRoom[]>) | undefined;
  #restored: Promise<void> | undefined;
  readonly #closing = new AbortController();
  readonly #renewing: NodeJS.Timeout;

  /** @param records of this process, or of all instances */
  constructor(records: Records, log: Logger) {
    this.#records = records;
    this.#log = log;
    this.#renewing = setInterval(() => void this.#renew(), RESERVATION_TTL_MS / 4).unref();
  }

  /**
   * The usage of the source, including reservations. When `need` does not fit, waits for a count that is due:
   * items may have been removed from the store.
   * @throws the failure of the count, the signal's reason; errors of the shared state
   */
  async usage(target: QuotaTarget, signal: AbortSignal, need = NOTHING): Promise<Measure> {
    return (await this.#enter(target, need, signal)).taken;
  }

  /**
   * Reserves space during `work`, and permanently when it succeeds: what `stored` then returns, if anything, in
   * place of `need`. The reservation is visible to all instances: of two changes that need the last space one
   * gets it. Uses the space reserved under the id `kept`, and reserves it again when `work` fails.
   * @throws QuotaExceededError and errors of the shared state, before `work` begins; errors of `work`
   */
  async withRoom<T>(
    target: QuotaTarget,
    need: Need,
    { signal, kept = randomUUID(), stored }: RoomOptions,
    work: Work<T>,
  ): Promise<T> {
    await this.#reserve(target, kept, need, signal);
    const added = (): Measure => stored?.() ?? need;
    return this.#settling({ id: kept, key: target.key, need }, added, work, this.#own.get(kept));
  }

  /** Reserves space until it is released, or used by `withRoom` with its id. @throws QuotaExceededError */
  async keep(target: QuotaTarget, id: string, need: Need, signal: AbortSignal): Promise<KeptRoom> {
    await this.#reserve(target, id, need, signal);
    const room = { id, key: target.key, need };
    this.#own.set(id, room);
    return room;
  }

  /** Releases the reservation of this id, if any. Never fails. */
  async release(id: string): Promise<void> {
    const room = this.#own.get(id);
    this.#own.delete(id);
    if (room !== undefined) await this.#note(room.key, (account, now) => settled(account, id, NOTHING, now));
  }

  /** Sets the source of reservations from before the start of the process; read before the first new one. */
  restoreFrom(noted: () => Promise<readonly KeptRoom[]>): void {
    this.#noted = noted;
  }

  /** Takes an item out of the source. Frees `amount`, which `take` may set. @throws errors of `take` */
  freeing<T>(key: string, at: string, amount: Measure, take: Work<T>): Promise<T> {
    const change = (): Measure => ({ bytes: -amount.bytes, files: -amount.files });
    return this.#noting(key, { ...NOTHING, at }, change, take);
  }

  /** Moves something inside the source. @throws errors of `move` */
  moving<T>(key: string, move: Work<T>): Promise<T> {
    return this.#noting(key, { ...NOTHING, isMove: true }, () => NOTHING, move);
  }

  /** Marks an unknown removal from the source: the next use counts again. Never fails. */
  forget(key: string): Promise<void> {
    return this.#note(key, markStale);
  }

  /** Aborts running counts, and resolves when they have ended. */
  async close(): Promise<void> {
    clearInterval(this.#renewing);
    this.#closing.abort(new BusyError({ detail: 'the service ends' }));
    await Promise.allSettled(this.#counts.values());
  }

  #change<Result>(key: string, change: (account: Account, now: number) => readonly [Account, Result]) {
    return this.#records.change<Account, Result>(`quota:${key}`, (found, now) => {
      const account = found ?? this.#withOwn({ counts: 0, dueAt: 0, reserved: {} }, key, now);
      return change(accountAt(account, this.#own, now), now);
    });
  }

  /** Changes an account for a change that is already stored, or will be in any case. Never fails. */
  async #note(key: string, change: (account: Account, now: number) => Account): Promise<void> {
    try {
      await this.#change(key, (account, now) => [change(account, now), undefined]);
    } catch (error) {
      this.#log.warn('A change could not be counted for a quota; the next count finds it.', { error });
    }
  }

  /** Runs work that needs no space, and that a concurrent count may observe. */
  async #noting<T>(key: string, need: Need, change: () => Measure, work: Work<T>): Promise<T> {
    const id = randomUUID();
    await this.#note(key, (account, now) => withReserved(account, id, need, now));
    return this.#settling({ id, key, need }, change, work);
  }

  /**
   * Runs the reserved change, and ends the reservation. When it fails, restores the reservation `before`. The
   * store may still carry out an uncertain change: what it adds stays reserved for a minute, like that of a
   * killed process.
   */
  async #settling<T>(own: KeptRoom, change: () => Measure, work: Work<T>, before?: KeptRoom) {
    const { id, key, need } = own;
    this.#own.set(id, own);
    let done = NOTHING;
    let kept = before;
    let isUncertain = false;
    try {
      const result = await work(() => (isUncertain = true));
      done = change();
      kept = undefined;
      return result;
    } finally {
      // The space may have been released meanwhile.
      if (!this.#own.delete(id)) kept = undefined;
      if (kept !== undefined) this.#own.set(id, kept);
      const mayBeAdded = isUncertain && before === undefined && (need.bytes > 0 || need.files > 0);
      await this.#note(key, (account, now) => {
        if (mayBeAdded) return withReserved(account, id, need, now);
        const after = settled(account, id, done, now);
        const rest = isUncertain ? markStale(after, now) : after;
        return kept === undefined ? rest : withReserved(rest, id, kept.need, now);
      });
    }
  }

  async #reserve(target: QuotaTarget, id: string, need: Need, signal: AbortSignal): Promise<void> {
    const { isFitting, taken } = await this.#enter(target, need, signal, id);
    if (!isFitting) throw doesNotFit(taken, need, target.limits);
  }

  /** Checks the usage, and reserves `need` under the id if it fits; waits for a count when that may help. */
  async #enter(target: QuotaTarget, need: Need, signal: AbortSignal, id?: string): Promise<Verdict> {
    await this.#restore();
    for (;;) {
      const verdict = await this.#check(target, need, id);
      if (verdict !== undefined) return verdict;
      const count = this.#counts.get(target.key);
      await orAborted(count ?? delay(CHECK_MS, undefined, { ref: false }), signal);
      this.#closing.signal.throwIfAborted();
    }
  }

  /** Checks once, and starts a count that is due; undefined when a running count may change the result. */
  async #check(target: QuotaTarget, need: Need, id: string | undefined): Promise<Verdict | undefined> {
    const { key, limits } = target;
    const counter = randomUUID();
    const { verdict, countedBy } = await this.#change(key, (found, now) => {
      const account = withCountIfDue(found, counter, now);
      const countedBy = account.counting?.id;
      const taken = takenOf(account, id);
      const isFitting = taken !== undefined && fits(taken, need, limits);
      const isWaiting = !isFitting && countedBy !== undefined;
      const reserved = isFitting && id !== undefined ? withReserved(account, id, need, now) : account;
      return [reserved, { verdict: taken && !isWaiting ? { taken, isFitting } : undefined, countedBy }];
    });
    if (countedBy === counter) this.#begin(target, counter);
    return verdict;
  }

  #begin(target: QuotaTarget, id: string): void {
    const { key } = target;
    this.#own.set(id, { id, key, need: NOTHING });
    const counting = this.#count(target, id).finally(() => {
      // The next count may have started as soon as this one had its result.
      if (this.#counts.get(key) === counting) this.#counts.delete(key);
    });
    this.#counts.set(key, counting);
    counting.catch((error: unknown) => {
      if (!this.#closing.signal.aborted)
        this.#log.warn('A source could not be counted for its quota.', { error });
    });
  }

  async #count({ key, storage, derivedName, ignores, hold }: QuotaTarget, id: string): Promise<void> {
    let found: Measure | undefined;
    let release: (() => void) | undefined;
    try {
      release = hold();
      const options = { derivedName, ignores, isTolerant: true };
      found = await withOwnSignal(this.#closing.signal, (signal) =>
        measure(storage, SourcePath.root, 'folder', { ...options, signal }),
      );
    } finally {
      this.#own.delete(id);
      await this.#note(key, (account, now) => counted(account, id, found, now));
      release?.();
    }
  }

  async #renew(): Promise<void> {
    if (this.#noted !== undefined) this.#restored = undefined;
    await this.#restore();
    await this.#renewReservations();
  }

  /** Renews this process's reservations in the shared records. */
  async #renewReservations(): Promise<void> {
    for (const key of new Set([...this.#own.values()].map((own) => own.key)))
      await this.#note(key, (account, now) => this.#withOwn(account, key, now));
  }

  #withOwn(account: Account, key: string, now: number): Account {
    const own = [...this.#own.values()].filter((one) => one.key === key);
    return renewed(account, own, now);
  }

  /** Restores, once, the reservations from before the start of the process. */
  #restore(): Promise<void> {
    return (this.#restored ??= this.#readNoted());
  }

  async #readNoted(): Promise<void> {
    try {
      for (const room of (await this.#noted?.()) ?? []) this.#own.set(room.id, room);
      this.#noted = undefined;
      await this.#renewReservations();
    } catch (error) {
      this.#log.warn('The room that is kept for unfinished uploads could not be read.', { error });
    }
  }
}
