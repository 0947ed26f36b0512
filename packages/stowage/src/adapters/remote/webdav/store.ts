import { decomposed } from '../../support/decomposed.ts';
import { createNameLocks, type NameLocks } from '../../../basics/concurrency/name-locks.ts';
import { orAborted } from '../../../basics/concurrency/or-aborted.ts';
import {
  AlreadyExistsError,
  ChangedMeanwhileError,
  NotFoundError,
  WrongKindError,
} from '../../../errors/errors.ts';
import { Leftovers } from '../core/leftovers.ts';
import { LetterCase, refusedName } from '../core/letter-case.ts';
import { isTempName, newTempName } from '../core/temporary-names.ts';
import type { OperationOptions, RemoveFileOptions, Stat, WriteOptions } from '../../../storage/adapter.ts';
import { isSameVersion } from '../../../storage/same-version.ts';
import { SourcePath } from '../../../storage/source-path.ts';
import { errorOfStatus, isRefusalOfPath, statusOf } from './errors.ts';
import type { WebdavOptions } from './options.ts';
import { Reservations } from './reservations.ts';
import { isSuccess } from './propfind.ts';
import type { Outcome, Resources } from './resources.ts';
import { removeTemporary } from './temporary.ts';

/** Refused, perhaps while another client replaces the same file or works in the same folder. */
const MAY_PASS: ReadonlySet<number> = new Set([403, 404, 409, 423, 500]);
/** What servers answer for a missing parent folder, besides other things. */
const MAY_LACK_PARENT: ReadonlySet<number> = new Set([403, 404, 405, 409, 500, 502]);
const ROOT: Stat = { name: '', kind: 'folder', size: undefined, modifiedAt: undefined, etag: undefined };

/** Steps that several operations share: finding things, making folders, giving names, removing. */
export class Store {
  readonly resources: Resources;
  readonly reservations: Reservations;
  readonly leftovers: Leftovers;
  readonly letterCase: LetterCase;
  /**
   * The server was seen to refuse a MOVE with `Overwrite: F`. Some do not know it, and would even replace a
   * folder.
   */
  knowsOverwrite = false;
  readonly #base: Resources;
  readonly #prefix: SourcePath;
  readonly #locks: NameLocks = createNameLocks();
  #ready: Promise<void> | undefined;

  /**
   * `base` is the collection of `url`; `resources` the same, or a folder `prefix` below it, made when it is
   * missing.
   */
  constructor(resources: Resources, base: Resources, prefix: SourcePath, options: WebdavOptions) {
    this.resources = resources;
    this.leftovers = new Leftovers((leftover) => removeTemporary(resources, leftover));
    this.reservations = new Reservations(resources, this.leftovers, options);
    this.letterCase = new LetterCase(options.caseSensitive, (error) => statusOf(error) !== undefined);
    this.#base = base;
    this.#prefix = prefix;
  }

  /** To be awaited before anything else. Temporary names do not exist for anybody. */
  async prepare(path: SourcePath, { signal }: OperationOptions, writes = false): Promise<void> {
    signal?.throwIfAborted();
    this.leftovers.retry();
    if (path.segments.some(isTempName)) throw refusedName('a name kept for temporary files', writes);
    if (!this.#prefix.isRoot) {
      const making = (this.#ready ??= this.#makePrefix());
      try {
        await orAborted(making, signal);
      } catch (error) {
        if (this.#ready === making) this.#ready = undefined;
        throw error;
      }
    }
    await this.letterCase.requireOwnNames(path, writes, () => this.#tryLetterCase({ signal }));
  }

  /** @throws NotFoundError, also below a file, for which servers have several statuses */
  async stat(path: SourcePath, options: OperationOptions): Promise<Stat> {
    await this.prepare(path, options);
    if (path.isRoot) return ROOT;
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
    try {
      return await this.stat(path, options);
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  /** @throws AlreadyExistsError */
  async makeFolder(path: SourcePath, options: OperationOptions): Promise<void> {
    if (path.isRoot) throw new AlreadyExistsError();
    await this.#locks.hold(keyOf(path), options, async () => {
      // Some servers answer 201 for a collection that is there.
      if ((await this.find(path, options)) !== undefined) throw new AlreadyExistsError();
      await this.ensureFolder(path.parent, options);
      const again = async (): Promise<boolean> => (await this.find(path, options)) === undefined;
      const outcome = async (): Promise<Outcome> => ((await again()) ? 'untouched' : 'unknown');
      const status = await this.resources.act('MKCOL', path, 'folder', { ...options, again, outcome });
      if (isSuccess(status)) return;
      // A server that lost a race of two makers may call it anything.
      if (status === 405 || !(await again())) throw new AlreadyExistsError();
      throw errorOfStatus({ method: 'MKCOL', path }, status);
    });
  }

  /**
   * Makes a folder and its parents unless they are there; returns whether anything was missing.
   * @throws NotFoundError when a file is in the way
   */
  async ensureFolder(path: SourcePath, options: OperationOptions): Promise<boolean> {
    const found = await this.find(path, options);
    if (found?.kind === 'folder') return false;
    if (found !== undefined) throw new NotFoundError({ detail: 'a parent is a file' });
    await this.makeFolder(path, options).catch((error: unknown) => {
      // Another writer was faster.
      if (!(error instanceof AlreadyExistsError)) throw error;
    });
    return true;
  }

  /** Sends a request that needs the folder of `to`, which is made when the request fails for it. */
  async intoFolder(to: SourcePath, options: OperationOptions, send: () => Promise<number>): Promise<number> {
    // Before anything is made beside a folder whose name the server has in decomposed letters.
    if (to.parent.segments.some((name) => decomposed(name) !== undefined))
      await this.ensureFolder(to.parent, options);
    const status = await send();
    if (!MAY_LACK_PARENT.has(status) || to.parent.isRoot) return status;
    // Another client may have made it meanwhile.
    const mayBeThereNow = status === 404 || status === 409 || status === 500;
    return (await this.ensureFolder(to.parent, options)) || mayBeThereNow ? send() : status;
  }

  /** MOVE of a file: first without overwriting; then over a target that is a file, if that is wanted. */
  async giveName(
    from: SourcePath,
    to: SourcePath,
    options: Pick<WriteOptions, 'createOnly' | 'derived' | 'signal'>,
  ): Promise<void> {
    const isNew = options.createOnly === true;
    const requireFree = (found: Stat | undefined): void => {
      if (found !== undefined && isNew) throw new AlreadyExistsError();
      if (found?.kind === 'folder') throw new WrongKindError();
    };
    await this.#locked(to, options, isNew, async ({ signal }) => {
      const move = { from, to, kind: 'file', signal } as const;
      if (options.derived === true && !isNew && isSuccess(await this.#move({ ...move, overwrite: 'T' })))
        return;
      if (!this.knowsOverwrite || decomposed(to.name) !== undefined)
        requireFree(await this.find(to, { signal }));
      const status = await this.intoFolder(to, { signal }, () => this.#move({ ...move, overwrite: 'F' }));
      if (isSuccess(status)) return;
      const found = await this.find(to, { signal });
      if (found !== undefined && status === 412) this.knowsOverwrite = true;
      requireFree(found);
      const mayReplace = !isNew && (status === 412 || MAY_PASS.has(status));
      // Servers that remove a target before they move refuse each other's steps; the content is whole then.
      const last = mayReplace
        ? await this.#move({
            ...move,
            overwrite: 'T',
            isPassing: (one) => MAY_PASS.has(one),
            again: () => this.resources.exists(from, { signal }),
          })
        : status;
      if (!isSuccess(last)) throw errorOfStatus({ method: 'MOVE', path: from }, last);
    });
  }

  /** MOVE of a folder to a name that must be free. @throws AlreadyExistsError */
  async giveFolderName(from: SourcePath, to: SourcePath, options: OperationOptions): Promise<void> {
    await this.#locked(to, options, true, async ({ signal }) => {
      const isFree = async (): Promise<boolean> => (await this.find(to, { signal })) === undefined;
      if (!(await isFree())) throw new AlreadyExistsError();
      const move = { from, to, kind: 'folder', overwrite: 'F', signal } as const;
      const status = await this.intoFolder(to, { signal }, () => this.#move(move));
      if (isSuccess(status)) return;
      // A move to a name that was given in between may get any answer.
      if (status === 412 || !(await isFree())) throw new AlreadyExistsError();
      throw errorOfStatus({ method: 'MOVE', path: from }, status);
    });
  }

  /** MOVE of a folder to a name that no other client knows. */
  async hideFolder(from: SourcePath, to: SourcePath, { signal }: OperationOptions): Promise<void> {
    await this.#locks.hold(keyOf(from), { signal }, async () => {
      const status = await this.#move({ from, to, kind: 'folder', overwrite: 'F', signal });
      if (!isSuccess(status)) throw errorOfStatus({ method: 'MOVE', path: from }, status);
    });
  }

  /**
   * Removes a file or a folder with all it holds. @throws NotFoundError, WrongKindError,
   * ChangedMeanwhileError
   */
  async remove(
    path: SourcePath,
    kind: 'file' | 'folder',
    { signal, ifUnchanged }: RemoveFileOptions,
  ): Promise<void> {
    await this.#locks.hold(keyOf(path), { signal }, async () => {
      const requireUnchanged = async (): Promise<Stat> => {
        const found = await this.stat(path, { signal });
        if (found.kind !== kind) throw new WrongKindError();
        if (ifUnchanged !== undefined && !isSameVersion(found, ifUnchanged))
          throw new ChangedMeanwhileError();
        return found;
      };
      const { etag } = await requireUnchanged();
      const send = (headers: Readonly<Record<string, string>>): Promise<number> => {
        const outcome = async (): Promise<Outcome> => ((await this.#isGone(path)) ? 'done' : 'untouched');
        // Servers that remove entry by entry refuse at what others put into the folder meanwhile.
        const isPassing = (status: number): boolean =>
          status === 423 || (kind === 'folder' && MAY_PASS.has(status));
        const again = (): Promise<boolean> => this.resources.exists(path, { signal });
        return this.resources.act('DELETE', path, kind, { signal, headers, outcome, isPassing, again });
      };
      const isGuarded = ifUnchanged !== undefined && etag !== undefined;
      let status = await send(isGuarded ? { 'if-match': etag } : {});
      // Some servers compare with another tag than the one they report.
      if (status === 412 && isGuarded && (await requireUnchanged()).etag === etag) status = await send({});
      if (!isSuccess(status)) throw errorOfStatus({ method: 'DELETE', path }, status);
      this.resources.spellings.forget(path);
    });
  }

  /**
   * Runs what gives a name while no other operation does: in this process, and, when the name must be new, in
   * any other.
   */
  #locked(
    to: SourcePath,
    options: OperationOptions,
    isNew: boolean,
    work: (options: OperationOptions) => Promise<void>,
  ): Promise<void> {
    return this.#locks.hold(keyOf(to), options, () =>
      isNew ? this.reservations.hold(to, options, work) : work(options),
    );
  }

  #move({
    from,
    to,
    kind,
    ...change
  }: { readonly from: SourcePath; readonly to: SourcePath; readonly kind: 'file' | 'folder' } & Omit<
    Parameters<Resources['transfer']>[3],
    'outcome'
  >): Promise<number> {
    const outcome = async (): Promise<Outcome> => {
      if (!(await this.#isGone(from))) return 'untouched';
      return (await this.resources.exists(to, {})) ? 'done' : 'unknown';
    };
    return this.resources.transfer('MOVE', { from, to }, kind, { ...change, outcome });
  }

  /** A single answer that nothing is there is not believed. */
  async #isGone(path: SourcePath): Promise<boolean> {
    return !(await this.resources.exists(path, {})) && !(await this.resources.exists(path, {}));
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

  /** Finds out about letter case with the store's own folder, else with one made for it. */
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

/** Names that a server may hold for one have one key. */
const keyOf = (path: SourcePath): string => path.toString().toLowerCase();
