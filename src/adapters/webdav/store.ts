import {
  AlreadyExistsError,
  NotFoundError,
  StorageDeniedError,
  StowageError,
  WrongKindError,
} from '../../errors/errors.ts';
import type { OperationOptions, PutOptions, Stat } from '../../storage/adapter.ts';
import { SourcePath } from '../../storage/source-path.ts';
import { orAborted } from '../../storage/or-aborted.ts';
import { createNameLocks, type NameLocks } from '../../storage/name-locks.ts';
import { errorOfStatus, isConnectionLoss } from './errors.ts';
import { Leftovers } from './leftovers.ts';
import { patiently } from './patience.ts';
import { isSuccess, type Resources } from './resources.ts';
import { Reservations } from './reservations.ts';
import { isTempName } from './temp-name.ts';

/** Refused in the middle of somebody else's step, perhaps. */
const MAYBE_LATER: ReadonlySet<number> = new Set([403, 404, 409, 500]);

const ROOT: Stat = { name: '', kind: 'folder', size: undefined, modifiedAt: undefined, etag: undefined };

/** Steps that several operations share: looking things up, making folders, giving content its name. */
export class Store {
  readonly resources: Resources;
  readonly reservations: Reservations;
  readonly leftovers: Leftovers;
  readonly #base: Resources;
  readonly #prefix: SourcePath;
  readonly #locks: NameLocks = createNameLocks();
  #ready: Promise<void> | undefined;

  /**
   * `base` is the collection of `url`; `resources` the same, or a folder `prefix` below it that is made when it is missing; `timeout` how many seconds
   * the server has for an answer.
   */
  constructor(resources: Resources, base: Resources, prefix: SourcePath, timeout: number) {
    this.resources = resources;
    this.leftovers = new Leftovers(resources);
    this.reservations = new Reservations(resources, this.leftovers, timeout);
    this.#base = base;
    this.#prefix = prefix;
  }

  /** To be awaited before anything else. Temporary names are not there for anybody. */
  async prepare(path: SourcePath, { signal }: OperationOptions, writes = false): Promise<void> {
    signal?.throwIfAborted();
    this.leftovers.retry();
    if (path.segments.some(isTempName)) {
      throw writes
        ? new StorageDeniedError({ detail: 'a name kept for temporary files' })
        : new NotFoundError();
    }
    if (this.#prefix.isRoot) return;
    const making = (this.#ready ??= this.#makePrefix());
    try {
      await orAborted(making, signal);
    } catch (error) {
      if (this.#ready === making) this.#ready = undefined;
      throw error;
    }
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
      if (!isRefusal(error) || path.parent.isRoot) throw error;
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
    await this.#locks.hold(keyOf(path), options, () => this.#makeFolder(path, options));
  }

  async #makeFolder(path: SourcePath, options: OperationOptions): Promise<void> {
    // Some servers answer 201 for a collection that is there.
    if ((await this.find(path, options)) !== undefined) throw new AlreadyExistsError();
    await this.ensureFolder(path.parent, options);
    const again = async (): Promise<boolean> => (await this.find(path, options)) === undefined;
    const status = await this.resources.act('MKCOL', path, 'folder', { ...options, again });
    if (isSuccess(status)) return;
    // A server that lost a race of two makers may call it anything.
    if (status === 405 || (await this.find(path, options)) !== undefined) throw new AlreadyExistsError();
    throw errorOfStatus({ method: 'MKCOL', path }, status);
  }

  /** Makes a folder and its parents unless they are there. @throws NotFoundError when a file is in the way */
  async ensureFolder(path: SourcePath, options: OperationOptions): Promise<void> {
    const found = await this.find(path, options);
    if (found?.kind === 'folder') return;
    if (found !== undefined) throw new NotFoundError({ detail: 'a parent is a file' });
    await this.makeFolder(path, options).catch((error: unknown) => {
      // Another writer was faster.
      if (!(error instanceof AlreadyExistsError)) throw error;
    });
  }

  /** COPY of a file or folder to a temporary name. */
  async copy(
    from: SourcePath,
    temp: SourcePath,
    kind: 'file' | 'folder',
    { signal }: OperationOptions,
  ): Promise<void> {
    const headers = {
      destination: this.resources.url(temp, kind).href,
      overwrite: 'F',
      ...(kind === 'folder' ? { depth: 'infinity' } : {}),
    };
    const status = await this.resources.act('COPY', from, kind, { signal, headers });
    if (!isSuccess(status)) throw errorOfStatus({ method: 'COPY', path: from }, status);
  }

  /** MOVE of a file: first without overwriting; then over a target that is a file, if that is wanted. */
  async place(from: SourcePath, to: SourcePath, options: PutOptions): Promise<void> {
    await this.#taking(to, options, async ({ signal }) => {
      const { createOnly } = options;
      // Looked at as well, because some servers do not know Overwrite, and would replace a folder too.
      const before = await this.find(to, { signal });
      if (before !== undefined && createOnly === true) throw new AlreadyExistsError();
      if (before?.kind === 'folder') throw new WrongKindError();
      const status = await this.#move(from, to, 'file', 'F', signal);
      if (isSuccess(status)) return;
      const found = await this.find(to, { signal });
      if (found !== undefined && createOnly === true) throw new AlreadyExistsError();
      if (found?.kind === 'folder') throw new WrongKindError();
      const mayReplace = createOnly !== true && (status === 412 || MAYBE_LATER.has(status));
      const last = mayReplace ? await this.#replace(from, to, signal) : status;
      if (!isSuccess(last)) throw errorOfStatus({ method: 'MOVE', path: from }, last);
    });
  }

  /** MOVE of a folder to a name that must be free. @throws AlreadyExistsError */
  async placeFolder(from: SourcePath, to: SourcePath, options: OperationOptions): Promise<void> {
    await this.#taking(to, { ...options, createOnly: true }, async ({ signal }) => {
      if ((await this.find(to, { signal })) !== undefined) throw new AlreadyExistsError();
      const status = await this.#move(from, to, 'folder', 'F', signal);
      if (isSuccess(status)) return;
      // Whoever moves to a name that was taken in between may be told anything.
      if (status === 412 || (await this.find(to, { signal })) !== undefined) throw new AlreadyExistsError();
      throw errorOfStatus({ method: 'MOVE', path: from }, status);
    });
  }

  /** Removes a file or a folder with all it holds, if it is one. @throws NotFoundError, WrongKindError */
  async remove(path: SourcePath, kind: 'file' | 'folder', options: OperationOptions): Promise<void> {
    await this.#locks.hold(keyOf(path), options, async () => {
      if ((await this.stat(path, options)).kind !== kind) throw new WrongKindError();
      const status = await this.#unlessDone(
        () => this.resources.act('DELETE', path, kind, options),
        async () => (await this.find(path, options)) === undefined,
      );
      if (!isSuccess(status)) throw errorOfStatus({ method: 'DELETE', path }, status);
      this.resources.spellings.forget(path);
    });
  }

  /** Runs what gives a name while nobody else does: in this process, and, when the name must be new, in any other. */
  #taking(
    to: SourcePath,
    options: PutOptions,
    work: (options: OperationOptions) => Promise<void>,
  ): Promise<void> {
    return this.#locks.hold(keyOf(to), options, () =>
      options.createOnly === true ? this.reservations.hold(to, options, work) : work(options),
    );
  }

  /** Servers that remove a target before they move trip over each other's steps; the content is still whole at its old name then. */
  #replace(from: SourcePath, to: SourcePath, signal: AbortSignal | undefined): Promise<number> {
    return patiently(() => this.#move(from, to, 'file', 'T', signal), {
      isPassing: (status) => MAYBE_LATER.has(status),
      again: () => this.#isThere(from, signal),
      signal,
    });
  }

  #move(
    from: SourcePath,
    to: SourcePath,
    kind: 'file' | 'folder',
    overwrite: 'F' | 'T',
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const headers = {
      destination: this.resources.url(to, kind).href,
      overwrite,
      ...(kind === 'folder' ? { depth: 'infinity' } : {}),
    };
    return this.#unlessDone(
      () => this.resources.act('MOVE', from, kind, { signal, headers }),
      async () => !(await this.#isThere(from, signal)) && (await this.#isThere(to, signal)),
    );
  }

  /** Looks at temporary names as well. */
  async #isThere(path: SourcePath, signal: AbortSignal | undefined): Promise<boolean> {
    return (await this.resources.age(path, { signal })) !== undefined;
  }

  /** A connection that breaks may have lost the answer to what was done. */
  async #unlessDone(send: () => Promise<number>, isDone: () => Promise<boolean>): Promise<number> {
    try {
      return await send();
    } catch (error) {
      const isLost = error instanceof StowageError && isConnectionLoss(error.cause);
      if (isLost && (await isDone().catch(() => false))) return 204;
      throw error;
    }
  }

  async #makePrefix(): Promise<void> {
    for (let depth = 1; depth <= this.#prefix.segments.length; depth += 1) {
      const path = SourcePath.parse(this.#prefix.segments.slice(0, depth).join('/'));
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
}

/** Names that a server may hold for one have one key. */
const keyOf = (path: SourcePath): string => path.toString().toLowerCase();

/** A status that does not say that nothing is there, and yet may mean it. */
const isRefusal = (error: unknown): boolean =>
  error instanceof StowageError && !(error instanceof NotFoundError);
