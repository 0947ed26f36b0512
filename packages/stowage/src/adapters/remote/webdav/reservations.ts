import { createHash } from 'node:crypto';
import { inTimeLimit } from '../../../basics/concurrency/abort.ts';
import { AlreadyExistsError, BusyError, StorageTimeoutError } from '../../../errors/errors.ts';
import { pause } from '../core/http.ts';
import type { Leftovers } from '../core/temporary.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { BACKOFF, isSuccess } from './list.ts';
import type { Outcome, Resources } from './requests.ts';

/**
 * The temporary name of the folder that reserves `name`, the same in every process: a UUID of version 8.
 * Names that differ only in case share it, because a server may treat them as equal.
 */
const reservationName = (name: string): string => {
  const digest = createHash('sha256').update(name.normalize('NFC').toLowerCase()).digest('hex');
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`, digest.slice(16, 20)];
  return `.${[...parts, digest.slice(20, 32)].join('-')}.tmp`;
};

/** Longest wait for a name that another process is creating. */
const WAIT_MS = 2000;
/** A reservation of this age is not waited for: its process was killed, or its operation takes long. */
const LONG_HELD_MS = 6000;
/** Tolerance for the age of a new folder by the server's clock, in both directions. */
const OLDEST_NEW_MS = 15_000;
const YOUNGEST_NEW_MS = -5000;
const MARGIN_MS = 30_000;
/** Servers report times in whole seconds. */
const ROUNDING_MS = 1000;

const heldMs = (age: { readonly ms: number | undefined } | undefined): number => age?.ms ?? 0;

/**
 * Lets exactly one process create a name. On common servers `Overwrite: F` is a check and then a move, and
 * two processes may both check before one of them moves; creating a folder is atomic. So an operation that
 * creates a name first creates a hidden folder that reserves it, and removes it afterwards: two requests, and
 * two more for the first name.
 *
 * The folder of a killed process blocks its name until it is older than any running operation, by the
 * server's clock. Where the server creates one folder twice, creates none, or does not report its age, names
 * are not reserved, and `Overwrite: F` alone decides.
 */
export class Reservations {
  readonly #resources: Resources;
  readonly #leftovers: Leftovers;
  /** Longest time that an operation holds a reservation. */
  readonly #holdMs: number;
  /** Age beyond which a reservation cannot be in use any more, including requests still in transit. */
  readonly #staleMs: number;
  /** Whether reservations work on the server; undefined until the first one. */
  #works: boolean | undefined;

  constructor(
    resources: Resources,
    leftovers: Leftovers,
    { timeout, reserveNames }: { readonly timeout: number; readonly reserveNames: boolean },
  ) {
    this.#resources = resources;
    this.#leftovers = leftovers;
    this.#holdMs = 2 * timeout * 1000;
    this.#staleMs = this.#holdMs + timeout * 1000 + MARGIN_MS;
    this.#works = reserveNames ? undefined : false;
  }

  /** Whether the server is known to let exactly one process create a name. */
  get areKept(): boolean {
    return this.#works === true;
  }

  /**
   * Runs `work`, which creates `target`, while no other process can be creating it.
   * @throws AlreadyExistsError when another process has created the name or, with a BusyError as its cause,
   * reserves it; StorageTimeoutError when `work` takes longer than twice the timeout
   */
  async hold<T>(
    target: SourcePath,
    options: OperationOptions,
    work: (options: OperationOptions) => Promise<T>,
  ): Promise<T> {
    const folder = target.parent.below(reservationName(target.name));
    const since = await this.#reserve(folder, target, options);
    if (since === undefined) return work(options);
    const tooLate = (): Error => new StorageTimeoutError({ detail: 'a new name could not be given in time' });
    try {
      return await inTimeLimit(this.#holdMs, options.signal, (signal) => work({ signal }), tooLate);
    } finally {
      await this.#leftovers.remove({ path: folder, kind: 'folder', until: since + this.#staleMs });
    }
  }

  /** Time of the reservation, in milliseconds since 1970; undefined when the server supports none. */
  async #reserve(folder: SourcePath, target: SourcePath, options: OperationOptions) {
    let end: number | undefined;
    let mayBeOwnSince = Number.POSITIVE_INFINITY;
    for (let attempt = 1; this.#works !== false; attempt += 1) {
      const since = Date.now();
      const status = await this.#make(folder, options);
      end ??= Date.now() + WAIT_MS;
      if (isSuccess(status)) return this.#proved(folder, since, options);
      if (await this.#resources.exists(target, options)) throw new AlreadyExistsError();
      const age = await this.#resources.age(folder, options);
      // Released meanwhile, or not supported by this server.
      if (age === undefined && (status !== 405 || this.#works === undefined)) return undefined;
      if (status >= 500) mayBeOwnSince = Math.min(mayBeOwnSince, since);
      const held = heldMs(age);
      // Of several processes that find it stale, one may remove another's new one: `Overwrite: F` decides
      // then.
      if (held > this.#staleMs && (await this.#removeStale(folder))) continue;
      const mayBeOwn = held < Date.now() - mayBeOwnSince + ROUNDING_MS;
      if (Date.now() >= end || (held > LONG_HELD_MS && !mayBeOwn)) {
        // Others release theirs in this time: one as young as the request without a response is its folder.
        if (mayBeOwn) return this.#proved(folder, mayBeOwnSince, options);
        const cause = new BusyError({ detail: 'another process reserves the name' });
        throw new AlreadyExistsError({ cause });
      }
      await pause(attempt, BACKOFF, options.signal);
    }
    return undefined;
  }

  /** Returns 500 when the response is lost and the folder exists. */
  async #make(folder: SourcePath, { signal }: OperationOptions): Promise<number> {
    const since = Date.now();
    let isThere = false;
    const outcome = async (): Promise<Outcome> => {
      isThere = await this.#resources.exists(folder, {});
      return isThere ? 'unknown' : 'untouched';
    };
    let status = 500;
    try {
      status = await this.#resources.act('MKCOL', folder, 'folder', { signal, outcome });
    } catch (error) {
      if (!isThere || signal?.aborted === true) throw error;
    } finally {
      // The folder may exist without a known owner, so it is removed later like that of a killed process.
      if (status >= 500) this.#leftovers.later(since + this.#staleMs, () => this.#removeStale(folder));
    }
    return status;
  }

  /** Tests whether the server rejects a second reservation; returns the time of the first if so. */
  async #proved(folder: SourcePath, since: number, options: OperationOptions): Promise<number | undefined> {
    let isKept = false;
    try {
      // Others may have tested it meanwhile; after an inconclusive test the next reservation is tested.
      this.#works ??= await this.#isRefusedTwice(folder, since, options);
      isKept = this.#works === true;
      return isKept ? since : undefined;
    } finally {
      // Also after an abort while others have found that reservations work.
      if (!isKept) await this.#leftovers.remove({ path: folder, kind: 'folder' });
    }
  }

  async #isRefusedTwice(folder: SourcePath, since: number, options: OperationOptions) {
    const again = await this.#make(folder, options);
    if (isSuccess(again)) return false;
    const found = await this.#resources.age(folder, options);
    if (again >= 500 || found === undefined) return undefined;
    if (found.ms === undefined) return false;
    return found.ms >= YOUNGEST_NEW_MS && found.ms <= Date.now() - since + OLDEST_NEW_MS;
  }

  async #removeStale(folder: SourcePath): Promise<boolean> {
    const age = await this.#resources.age(folder, {});
    if (heldMs(age) <= this.#staleMs) return true;
    return this.#leftovers.removed({ path: folder, kind: 'folder' });
  }
}
