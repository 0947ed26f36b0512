import { AlreadyExistsError, CorruptError, IntoItselfError, WrongKindError } from '../../errors/errors.ts';
import type { OperationOptions, PutOptions, Stat } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { DavRequest } from './client.ts';
import { errorOfStatus } from './errors.ts';
import { isSuccess } from './resources.ts';
import type { Store } from './store.ts';
import { newTempName } from './temp-name.ts';

/** Content to be sent, with its length. */
export type Content = NonNullable<Exclude<DavRequest['body'], string>>;

/** Lends a temporary name in a folder; what lies there is removed when the work fails. */
const withTemp = async <T>(
  { leftovers }: Store,
  folder: SourcePath,
  kind: 'file' | 'folder',
  work: (temp: SourcePath) => Promise<T>,
): Promise<T> => {
  const temp = folder.child(newTempName());
  try {
    return await work(temp);
  } catch (error) {
    await leftovers.remove({ path: temp, kind });
    throw error;
  }
};

/** Sends content to a temporary name in a folder, which is made when it is missing. */
const sendTo = async (
  store: Store,
  temp: SourcePath,
  path: SourcePath,
  body: Content,
  options: OperationOptions,
): Promise<Stat> => {
  const { resources } = store;
  const headers = { 'content-type': 'application/octet-stream' };
  const status = await resources.act('PUT', temp, 'file', { body, signal: options.signal, headers });
  if (!isSuccess(status)) throw errorOfStatus({ method: 'PUT', path }, status);
  const written = await resources.stat(temp, options);
  if (written.size !== undefined && written.size !== body.size) {
    throw new CorruptError({ detail: `stored ${String(written.size)} of ${String(body.size)} bytes` });
  }
  return written;
};

/** Content goes to a temporary name first, and from there over its target: nobody ever sees a part of it. */
export const putFile = async (
  store: Store,
  path: SourcePath,
  body: Content,
  options: PutOptions,
): Promise<Stat> => {
  await store.prepare(path, options, true);
  await store.ensureFolder(path.parent, options);
  return withTemp(store, path.parent, 'file', async (temp) => {
    const written = await sendTo(store, temp, path, body, options);
    await store.place(temp, path, options);
    return { ...written, name: path.name, size: body.size };
  });
};

/** Content that waits for its name. It is sent once per folder, however many names are tried. */
export class Waiting {
  readonly #store: Store;
  readonly #body: Content;
  #sent: { readonly temp: SourcePath; readonly stat: Stat } | undefined;

  constructor(store: Store, body: Content) {
    this.#store = store;
    this.#body = body;
  }

  /** Gives it a name. After AlreadyExistsError it is kept on the server for the next name; after any other failure it is not. */
  async place(path: SourcePath, options: PutOptions): Promise<Stat> {
    await this.#store.prepare(path, options, true);
    try {
      const { temp, stat } = await this.#sendInto(path, options);
      await this.#store.place(temp, path, options);
      this.#sent = undefined;
      return { ...stat, name: path.name, size: this.#body.size };
    } catch (error) {
      if (!(error instanceof AlreadyExistsError)) await this.drop();
      throw error;
    }
  }

  /** Removes what was sent and got no name. Never throws. */
  async drop(): Promise<void> {
    const sent = this.#sent;
    this.#sent = undefined;
    if (sent !== undefined) await this.#store.leftovers.remove({ path: sent.temp, kind: 'file' });
  }

  async #sendInto(
    path: SourcePath,
    options: OperationOptions,
  ): Promise<{ readonly temp: SourcePath; readonly stat: Stat }> {
    if (this.#sent?.temp.parent.equals(path.parent) === true) return this.#sent;
    await this.drop();
    await this.#store.ensureFolder(path.parent, options);
    return withTemp(this.#store, path.parent, 'file', async (temp) => {
      const stat = await sendTo(this.#store, temp, path, this.#body, options);
      this.#sent = { temp, stat };
      return this.#sent;
    });
  }
}

const requireFile = async (store: Store, from: SourcePath, options: OperationOptions): Promise<void> => {
  if ((await store.stat(from, options)).kind === 'folder') throw new WrongKindError();
};

/** Copies or moves a file on the server. A copy is made under a temporary name, so that it is seen when it is whole. */
export const relocateFile = async (
  store: Store,
  method: 'COPY' | 'MOVE',
  ends: { readonly from: SourcePath; readonly to: SourcePath },
  options: PutOptions,
): Promise<void> => {
  const { from, to } = ends;
  const taken = (): Error => (options.createOnly === true ? new AlreadyExistsError() : new WrongKindError());
  await store.prepare(to, options, true);
  await requireFile(store, from, options);
  if (to.isRoot) throw taken();
  if (from.equals(to)) {
    if (options.createOnly === true) throw new AlreadyExistsError();
    return;
  }
  const target = await store.find(to, options);
  if (target !== undefined && (options.createOnly === true || target.kind === 'folder')) throw taken();
  if (target === undefined) await store.ensureFolder(to.parent, options);
  if (method === 'MOVE') return store.place(from, to, options);
  await withTemp(store, to.parent, 'file', async (temp) => {
    await store.copy(from, temp, 'file', options);
    await store.place(temp, to, options);
  });
};

/** Copies or moves a folder on the server; always create-only. A copy is made under a temporary name, so that it is seen when it is whole. */
export const relocateFolder = async (
  store: Store,
  method: 'COPY' | 'MOVE',
  ends: { readonly from: SourcePath; readonly to: SourcePath },
  options: OperationOptions,
): Promise<void> => {
  const { from, to } = ends;
  await store.prepare(to, options, true);
  if ((await store.stat(from, options)).kind === 'file') throw new WrongKindError();
  if (to.isRoot || (await store.find(to, options)) !== undefined) throw new AlreadyExistsError();
  if (from.contains(to)) throw new IntoItselfError();
  await store.ensureFolder(to.parent, options);
  if (method === 'MOVE') return store.placeFolder(from, to, options);
  await withTemp(store, to.parent, 'folder', async (temp) => {
    await store.copy(from, temp, 'folder', options);
    await store.placeFolder(temp, to, options);
  });
};
