import { decomposed } from '../../support/spellings.ts';
import { createNameLocks, type NameLocks } from '../../../basics/concurrency/name-locks.ts';
import { Once, orAborted } from '../../../basics/concurrency/abort.ts';
import { AlreadyExistsError, ifMissing, NotFoundError } from '../../../errors/errors.ts';
import { isTempName, type Leftover, Leftovers, newTempName } from '../core/temporary.ts';
import { LetterCase, refusedName } from '../core/letter-case.ts';
import type { OperationOptions, Stat } from '../../../storage/adapter.ts';
import { folderNamed } from '../../../storage/entry.ts';
import { SourcePath } from '../../../storage/source-path.ts';
import { errorOfStatus, isRefusalOfPath } from './errors.ts';
import type { WebdavOptions } from './options.ts';
import { Reservations } from './reservations.ts';
import { isSuccess } from './list.ts';
import type { Outcome, Resources } from './requests.ts';

/** Statuses that servers send for a missing parent folder, among other causes. */
const MAY_LACK_PARENT: ReadonlySet<number> = new Set([403, 404, 405, 409, 500, 502]);

/** Shared steps of operations: lookups, creating folders, naming, removing. */
export class Store {
  readonly resources: Resources;
  readonly reservations: Reservations;
  readonly leftovers: Leftovers;
  readonly letterCase: LetterCase;
  /** Whether the server is known to obey `Overwrite: F`. Some do not, and would even replace a folder. */
  knowsOverwrite = false;
  /** Whether the server is known to give copies their new names. AList does not. */
  namesCopies = false;
  /** Whether the server seems to reject each MOVE to a taken name. */
  replacesNothing = false;
  readonly #base: Resources;
  readonly #prefix: SourcePath;
  readonly #locks: NameLocks = createNameLocks();
  readonly #ready = new Once<void>();

  /** `base` is the collection of `url`; `resources` the same, or a folder `prefix` below it. */
  constructor(resources: Resources, base: Resources, prefix: SourcePath, options: WebdavOptions) {
    this.resources = resources;
    this.leftovers = new Leftovers((leftover) => removeTemporary(resources, leftover));
    this.reservations = new Reservations(resources, this.leftovers, options);
    this.letterCase = new LetterCase(options.caseSensitive, isRefusalOfPath);
    this.#base = base;
    this.#prefix = prefix;
  }

  /** Must be awaited before every operation. Rejects temporary names. */
  async prepare(path: SourcePath, { signal }: OperationOptions, writes = false): Promise<void> {
    signal?.throwIfAborted();
    this.leftovers.retry();
    if (path.segments.some(isTempName)) throw refusedName('a name kept for temporary files', writes);
    if (!this.#prefix.isRoot)
      await orAborted(
        this.#ready.get(() => this.#makePrefix()),
        signal,
      );
    await this.letterCase.requireOwnNames(path, writes, () => this.#tryLetterCase({ signal }));
  }

  /** @throws NotFoundError, also below a file, for which servers have several statuses */
  async stat(path: SourcePath, options: OperationOptions): Promise<Stat> {
    await this.prepare(path, options);
    if (path.isRoot) return folderNamed('');
    try {
      return await this.resources.stat(path, options);
    } catch (error) {
      if (error instanceof NotFoundError && (await this.resources.respell(path, options)))
        return this.resources.stat(path, options);
      if (!isRefusalOfPath(error) || path.parent.isRoot) throw error;
      if ((await this.find(path.parent, options))?.kind === 'folder') throw error;
      throw new NotFoundError({ cause: error });
    }
  }

  async find(path: SourcePath, options: OperationOptions): Promise<Stat | undefined> {
    return this.stat(path, options).catch(ifMissing);
  }

  /** Runs a change of an entry while no other operation of this process changes it. */
  lock<T>(path: SourcePath, options: OperationOptions, work: () => Promise<T>): Promise<T> {
    // Names that a server may treat as equal have the same key.
    return this.#locks.hold(path.toString().toLowerCase(), options, work);
  }

  /** @throws AlreadyExistsError */
  async makeFolder(path: SourcePath, options: OperationOptions): Promise<void> {
    if (path.isRoot) throw new AlreadyExistsError();
    await this.lock(path, options, async () => {
      // Some servers respond with 201 for an existing collection.
      if ((await this.find(path, options)) !== undefined) throw new AlreadyExistsError();
      const again = async (): Promise<boolean> => (await this.find(path, options)) === undefined;
      const outcome = async (): Promise<Outcome> => ((await again()) ? 'untouched' : 'unknown');
      const status = await this.intoFolder(path, options, () =>
        this.resources.act('MKCOL', path, 'folder', { ...options, again, outcome }),
      );
      if (isSuccess(status)) return;
      // A server may send any status to the loser of a race.
      if (!(await again())) throw new AlreadyExistsError();
      throw errorOfStatus({ method: 'MKCOL', path }, status);
    });
  }

  /** Creates missing folders of the path; returns whether there were any. @throws NotFoundError for a file */
  async ensureFolder(path: SourcePath, options: OperationOptions): Promise<boolean> {
    // The operation that uses a temporary folder has created it, and lookups do not find it.
    if (isTempName(path.name)) return false;
    const found = await this.find(path, options);
    if (found?.kind === 'folder') return false;
    if (found !== undefined) throw new NotFoundError({ detail: 'a parent is a file' });
    // Another writer may be faster, or the response lost.
    await this.makeFolder(path, options).catch(async (error: unknown) => {
      if (error instanceof AlreadyExistsError) return;
      if ((await this.find(path, options).catch(() => undefined))?.kind !== 'folder') throw error;
    });
    return true;
  }

  /** Sends a request that needs the parent folder of `to`. After a failure, creates it if it is missing. */
  async intoFolder(to: SourcePath, options: OperationOptions, send: () => Promise<number>): Promise<number> {
    // Detects a decomposed spelling of the folder first, so that no second folder is created beside it.
    if (to.parent.segments.some((name) => decomposed(name) !== undefined))
      await this.ensureFolder(to.parent, options);
    const status = await send();
    if (!MAY_LACK_PARENT.has(status) || to.parent.isRoot) return status;
    // Another client may have created it meanwhile.
    const mayBeThereNow = status === 404 || status === 409 || status === 500;
    return (await this.ensureFolder(to.parent, options)) || mayBeThereNow ? send() : status;
  }

  async #makePrefix(): Promise<void> {
    for (const path of this.#prefix.ancestry()) {
      const found = await this.#base.stat(path, {}).catch(() => undefined);
      if (found?.kind === 'folder') continue;
      const status = await this.#base.act('MKCOL', path, 'folder', {});
      if (isSuccess(status) || status === 405) continue;
      // Another instance may have been faster.
      if ((await this.#base.stat(path, {}).catch(() => undefined)) === undefined) {
        throw errorOfStatus({ method: 'MKCOL', path }, status);
      }
    }
  }

  /** Detects letter case with the store's own folder, else with a temporary one. */
  async #tryLetterCase(options: OperationOptions): Promise<void> {
    if (!this.#prefix.isRoot) await this.letterCase.learn(this.#base, this.#prefix, options);
    if (this.letterCase.isKnown) return;
    const temp = SourcePath.root.below(newTempName());
    try {
      const status = await this.resources.act('MKCOL', temp, 'folder', {});
      if (isSuccess(status)) await this.letterCase.learn(this.resources, temp, options);
    } finally {
      await this.leftovers.remove({ path: temp, kind: 'folder' });
    }
  }
}

/** Nextcloud would keep removed items in its trash bin. */
const NO_TRASH = { 'x-nc-skip-trashbin': 'true' };

/** Removes a temporary entry; returns whether it is gone. */
const removeTemporary = async (resources: Resources, { path, kind }: Leftover): Promise<boolean> => {
  const outcome = async (): Promise<Outcome> => ((await resources.exists(path, {})) ? 'untouched' : 'done');
  const status = await resources.act('DELETE', path, kind, { headers: NO_TRASH, outcome });
  return isSuccess(status) || status === 404 || status === 410;
};
