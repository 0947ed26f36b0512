import { createHash } from 'node:crypto';
import { inTimeLimit } from '../../../basics/concurrency/abort.ts';
import { AlreadyExistsError, StorageTimeoutError } from '../../../errors/errors.ts';
import { pause } from '../core/http.ts';
import type { Leftovers } from '../core/temporary.ts';
import type { OperationOptions } from '../../../storage/adapter.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { BACKOFF, isSuccess } from './list.ts';
import type { Outcome, Resources } from './requests.ts';

/**
 * The temporary name of the folder that reserves `name`, the same in every process: a UUID of version 8.
 * Names that differ only in case share one, because a server may hold them for the same.
 */
const reservationName = (name: string): string => {
  const digest = createHash('sha256').update(name.normalize('NFC').toLowerCase()).digest('hex');
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`, digest.slice(16, 20)];
  return `.${[...parts, digest.slice(20, 32)].join('-')}.tmp`;
};

/** How long to wait for a name that another process is giving. */
const WAIT_MS = 2000;
/** A reservation of this age is not waited for: its process was killed, or works on something long. */
const LONG_HELD_MS = 6000;
/** A folder just made must not look older by more, nor younger by more, by the server's own clock. */
const OLDEST_NEW_MS = 15_000;
const YOUNGEST_NEW_MS = -5000;
const MARGIN_MS = 30_000;

/**
 * Lets processes decide who creates a name. On common servers `Overwrite: F` is a look and then a move, and
 * two processes may both look before one of them moves; making a folder is one step. So an operation that
 * wants to create a name makes a hidden folder first that reserves it, and removes it afterwards: two
 * requests, and two more for the first name.
 *
 * A folder that a killed process has left blocks its name until it is older than any holder can live, by the
 * server's clock. Where the server makes one folder twice, makes none, or does not report its age, names are
 * not reserved, and `Overwrite: F` alone decides.
 */
export class Reservations {
  readonly #resources: Resources;
  readonly #leftovers: Leftovers;
  /** Longest time that a holder works. */
  readonly #holdMs: number;
  /** The age from which on it cannot be in use any more, whatever is still on its way to the server. */
  readonly #staleMs: number;
  /** Whether the server reserves names; undefined until the first one. */
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

  /** The server is known to let exactly one process have a name. */
  get areKept(): boolean {
    return this.#works === true;
  }

  /**
   * Runs `work`, which creates `target`, while no other process can be creating it.
   * @throws AlreadyExistsError when another one keeps the name or has created it; StorageTimeoutError when
   * `work` takes longer than twice the timeout
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

  /** Since when it is reserved, in milliseconds since 1970; undefined: the server reserves nothing. */
  async #reserve(
    folder: SourcePath,
    target: SourcePath,
    options: OperationOptions,
  ): Promise<number | undefined> {
    const end = Date.now() + WAIT_MS;
    for (let attempt = 1; this.#works !== false; attempt += 1) {
      const since = Date.now();
      const status = await this.#make(folder, options).catch((error: unknown) => {
        // It may have been made; its owner is not known then, so it is removed like that of a killed
        // process.
        this.#leftovers.later(since + this.#staleMs, () => this.#removeStale(folder));
        throw error;
      });
      if (isSuccess(status)) return (await this.#isProved(folder, since, options)) ? since : undefined;
      if (await this.#resources.exists(target, options)) throw new AlreadyExistsError();
      const age = await this.#resources.age(folder, options);
      // Given back meanwhile, or never granted by this server.
      if (age === undefined && (status !== 405 || this.#works === undefined)) return undefined;
      const held = age?.ms ?? 0;
      // Of several that find it stale, one may remove what another has just made: `Overwrite: F` decides
      // then.
      if (held > this.#staleMs && (await this.#removeStale(folder))) continue;
      if (Date.now() >= end || held > LONG_HELD_MS)
        throw new AlreadyExistsError({ detail: 'another process is giving the name' });
      await pause(attempt, BACKOFF, options.signal);
    }
    return undefined;
  }

  #make(folder: SourcePath, { signal }: OperationOptions): Promise<number> {
    const outcome = async (): Promise<Outcome> =>
      (await this.#resources.exists(folder, {})) ? 'unknown' : 'untouched';
    return this.#resources.act('MKCOL', folder, 'folder', { signal, outcome });
  }

  /** Tries with the first reservation whether the server refuses it to others and reports its age. */
  async #isProved(folder: SourcePath, since: number, options: OperationOptions): Promise<boolean> {
    let isKept = false;
    try {
      // Others may have found out meanwhile; where it shows nothing, the next reservation is tried.
      this.#works ??= await this.#isRefusedTwice(folder, since, options);
      isKept = this.#works === true;
      return isKept;
    } finally {
      // Also after an abort while others have found out that reservations work.
      if (!isKept) await this.#leftovers.remove({ path: folder, kind: 'folder' });
    }
  }

  async #isRefusedTwice(
    folder: SourcePath,
    since: number,
    options: OperationOptions,
  ): Promise<boolean | undefined> {
    const again = await this.#make(folder, options);
    if (isSuccess(again)) return false;
    const found = await this.#resources.age(folder, options);
    if (again >= 500 || found === undefined) return undefined;
    if (found.ms === undefined) return false;
    return found.ms >= YOUNGEST_NEW_MS && found.ms <= Date.now() - since + OLDEST_NEW_MS;
  }

  async #removeStale(folder: SourcePath): Promise<boolean> {
    const age = await this.#resources.age(folder, {});
    if ((age?.ms ?? 0) <= this.#staleMs) return true;
    return this.#leftovers.removed({ path: folder, kind: 'folder' });
  }
}
