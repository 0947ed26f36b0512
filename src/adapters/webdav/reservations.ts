import { AlreadyExistsError, StorageTimeoutError } from '../../errors/errors.ts';
import type { OperationOptions } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { Leftovers } from './leftovers.ts';
import { pause } from './patience.ts';
import { isSuccess, type Resources } from './resources.ts';
import { reservationName } from './temp-name.ts';

/** How long to wait for a name that another process is taking. */
const WAIT_MS = 2000;
/** Most names that are remembered for having been waited for in vain. */
const MOST_BLOCKED = 1000;
/** A folder must not look older than it is by more, nor younger than nothing by more, by the server's own clock. */
const OLDEST_NEW_MS = 15_000;
const YOUNGEST_NEW_MS = -5000;
const MARGIN_MS = 30_000;
/** How often a refused name is asked for before it is looked at who holds it since when. */
const PATIENT_ATTEMPTS = 3;

/**
 * Lets processes decide who creates a name. `Overwrite: F` is a look and a move on common servers, and two processes may both look before one of
 * them moves; making a folder is one step. So whoever wants to create a name makes a hidden folder first that stands for it, and removes it
 * afterwards. It costs two requests, and two more for the first name.
 *
 * What a killed process has left blocks its name until it is older than any holder can live, by the server's clock. Where the
 * server makes one folder twice, makes none, or does not report its age, names are not reserved, and `Overwrite: F` alone decides.
 */
export class Reservations {
  readonly #resources: Resources;
  readonly #leftovers: Leftovers;
  /** Longest time that a holder works. */
  readonly #holdMs: number;
  /** The age from which on nobody can be holding it any more, whatever is still on its way to the server. */
  readonly #staleMs: number;
  #grants: boolean | undefined;
  /** Places that were waited for in vain, in the order of it: they are tried, and not waited for again. */
  readonly #blocked = new Set<string>();

  constructor(resources: Resources, leftovers: Leftovers, timeoutSeconds: number) {
    this.#resources = resources;
    this.#leftovers = leftovers;
    this.#holdMs = 2 * timeoutSeconds * 1000;
    this.#staleMs = this.#holdMs + timeoutSeconds * 1000 + MARGIN_MS;
  }

  /** The server is known to let exactly one process have a name. */
  get areKept(): boolean {
    return this.#grants === true;
  }

  /**
   * Runs `work`, which creates `target`, while no other process can be creating it.
   * @throws AlreadyExistsError when another one keeps the name for longer than two seconds or has created it; StorageTimeoutError when `work` takes longer than twice the timeout
   */
  async hold<T>(
    target: SourcePath,
    options: OperationOptions,
    work: (options: OperationOptions) => Promise<T>,
  ): Promise<T> {
    const place = target.parent.child(reservationName(target.name));
    const since = await this.#take(place, target, options);
    if (since === undefined) return work(options);
    const limit = AbortSignal.timeout(this.#holdMs);
    const { signal } = options;
    try {
      return await work({ signal: signal === undefined ? limit : AbortSignal.any([signal, limit]) });
    } catch (error) {
      if (error !== limit.reason) throw error;
      throw new StorageTimeoutError({ detail: 'a new name could not be taken in time', cause: error });
    } finally {
      await this.#leftovers.remove({ path: place, kind: 'folder', until: since + this.#staleMs });
    }
  }

  /** Since when the place is held, in milliseconds since 1970; undefined: the server keeps no places. */
  async #take(place: SourcePath, target: SourcePath, options: OperationOptions): Promise<number | undefined> {
    if (this.#grants === false) return undefined;
    const isBlocked = this.#blocked.delete(place.toString());
    const end = Date.now() + (isBlocked ? 0 : WAIT_MS);
    for (let attempt = 1; ; attempt += 1) {
      const since = Date.now();
      const status = await this.#make(place, options).catch((error: unknown) => {
        // It may be held without our knowing; nobody else can tell either, so it is cleared like that of a killed process.
        this.#leftovers.later(since + this.#staleMs, () => this.#clear(place, {}));
        throw error;
      });
      if (isSuccess(status)) return (await this.#isProved(place, since, options)) ? since : undefined;
      if ((await this.#resources.age(target, options)) !== undefined) throw new AlreadyExistsError();
      // Mostly another process is at work and will be done in a moment.
      const isUsual = status === 405 && attempt < PATIENT_ATTEMPTS && !isBlocked;
      const state = isUsual ? 'held' : await this.#stateOf(place, status, options);
      if (state === 'refused') return undefined;
      if (state === 'stale' && (await this.#clear(place, options))) continue;
      if (Date.now() >= end) {
        this.#block(place);
        throw new AlreadyExistsError({ detail: 'another process is taking the name' });
      }
      await pause(attempt, options.signal);
    }
  }

  /** What the refusal of a place means. Stale: nobody can be holding it any more. */
  async #stateOf(
    place: SourcePath,
    status: number,
    options: OperationOptions,
  ): Promise<'held' | 'stale' | 'refused'> {
    const found = await this.#resources.age(place, options);
    if (found !== undefined) return (found.ms ?? 0) > this.#staleMs ? 'stale' : 'held';
    // Given back meanwhile, or never granted by this server.
    return status === 405 && this.#grants === true ? 'held' : 'refused';
  }

  #block(place: SourcePath): void {
    const [oldest] = this.#blocked;
    if (this.#blocked.size >= MOST_BLOCKED && oldest !== undefined) this.#blocked.delete(oldest);
    this.#blocked.add(place.toString());
  }

  async #make(place: SourcePath, { signal }: OperationOptions): Promise<number> {
    return this.#resources.act('MKCOL', place, 'folder', { signal });
  }

  /** Tries at the first place, held since then, whether the server refuses it to others and reports its age; where that shows nothing, the next place is tried. */
  async #isProved(place: SourcePath, since: number, options: OperationOptions): Promise<boolean> {
    if (this.#grants === true) return true;
    try {
      // Others may have found out while this place was made.
      this.#grants ??= await this.#try(place, since, options);
    } finally {
      if (this.#grants !== true) await this.#leftovers.remove({ path: place, kind: 'folder' });
    }
    return this.#grants === true;
  }

  async #try(place: SourcePath, since: number, options: OperationOptions): Promise<boolean | undefined> {
    const again = await this.#make(place, options);
    if (isSuccess(again)) return false;
    const found = await this.#resources.age(place, options);
    if (again >= 500 || found === undefined) return undefined;
    if (found.ms === undefined) return false;
    return found.ms >= YOUNGEST_NEW_MS && found.ms <= Date.now() - since + OLDEST_NEW_MS;
  }

  /**
   * Removes a place that a killed process has left, and returns whether it is as it should be now. Several may find it at once, and the second
   * must not remove what the first has just taken anew: so only whoever holds the guard removes, and looks again before.
   */
  async #clear(place: SourcePath, options: OperationOptions): Promise<boolean> {
    const isStale = async (path: SourcePath): Promise<boolean> =>
      ((await this.#resources.age(path, options))?.ms ?? 0) > this.#staleMs;
    const guard = place.parent.child(reservationName(`${place.name}/guard`));
    if (!isSuccess(await this.#make(guard, options))) {
      // Whoever held it may have been killed as well.
      if (await isStale(guard)) await this.#leftovers.remove({ path: guard, kind: 'folder' });
      return !(await isStale(place));
    }
    try {
      if (!(await isStale(place))) return true;
      return isSuccess(await this.#resources.act('DELETE', place, 'folder', options));
    } finally {
      await this.#leftovers.remove({ path: guard, kind: 'folder' });
    }
  }
}
