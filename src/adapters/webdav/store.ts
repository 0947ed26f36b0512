import {
  AlreadyExistsError,
  NotFoundError,
  StorageDeniedError,
  StowageError,
  WrongKindError,
} from '../../errors/errors.ts';
import type { OperationOptions, PutOptions, Stat } from '../../storage/adapter.ts';
import { SourcePath } from '../../storage/source-path.ts';
import { errorOfStatus } from './errors.ts';
import { patiently } from './patience.ts';
import { isSuccess, type Resources } from './resources.ts';
import { isTempName } from './temp-name.ts';

/** Refused in the middle of somebody else's step, perhaps. */
const MAYBE_LATER: ReadonlySet<number> = new Set([403, 409, 500]);

const ROOT: Stat = { name: '', kind: 'folder', size: undefined, modifiedAt: undefined, etag: undefined };

/** Steps that several operations share: looking things up, making folders, giving content its name. */
export class Store {
  readonly resources: Resources;
  readonly #base: Resources;
  readonly #prefix: SourcePath;
  #ready: Promise<void> | undefined;

  /** `base` is the collection of `url`; `resources` the same, or a folder `prefix` below it that is made when it is missing. */
  constructor(resources: Resources, base: Resources, prefix: SourcePath) {
    this.resources = resources;
    this.#base = base;
    this.#prefix = prefix;
  }

  /** To be awaited before anything else. Temporary names are not there for anybody. */
  async prepare(path: SourcePath, { signal }: OperationOptions, writes = false): Promise<void> {
    signal?.throwIfAborted();
    if (path.segments.some(isTempName)) {
      throw writes
        ? new StorageDeniedError({ detail: 'a name kept for temporary files' })
        : new NotFoundError();
    }
    if (this.#prefix.isRoot) return;
    const making = (this.#ready ??= this.#makePrefix());
    try {
      await making;
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
    // Some servers answer 201 for a collection that is there.
    if (path.isRoot || (await this.find(path, options)) !== undefined) throw new AlreadyExistsError();
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

  /** COPY or MOVE of a file: first without overwriting; then over a target that is a file, if that is wanted. */
  async place(method: 'COPY' | 'MOVE', from: SourcePath, to: SourcePath, options: PutOptions): Promise<void> {
    const { signal, createOnly } = options;
    const destination = this.resources.url(to, 'file').href;
    const send = (overwrite: 'F' | 'T'): Promise<number> =>
      this.resources.act(method, from, 'file', { signal, headers: { destination, overwrite } });
    const status = await send('F');
    if (isSuccess(status)) return;
    const found = await this.find(to, options);
    if (found !== undefined && createOnly === true) throw new AlreadyExistsError();
    if (found?.kind === 'folder') throw new WrongKindError();
    if (createOnly === true) throw errorOfStatus({ method, path: from }, status);
    // Servers that check and replace in two steps trip over each other's steps; the content is still whole at its old name.
    const second =
      status === 412 || MAYBE_LATER.has(status)
        ? await patiently(() => send('T'), { isPassing: (refusal) => MAYBE_LATER.has(refusal), signal })
        : status;
    if (!isSuccess(second)) throw errorOfStatus({ method, path: from }, second);
  }

  async remove(path: SourcePath, kind: 'file' | 'folder', options: OperationOptions): Promise<void> {
    const status = await this.resources.act('DELETE', path, kind, options);
    if (!isSuccess(status)) throw errorOfStatus({ method: 'DELETE', path }, status);
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

/** A status that does not say that nothing is there, and yet may mean it. */
const isRefusal = (error: unknown): boolean =>
  error instanceof StowageError && !(error instanceof NotFoundError);
