import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { type SpooledFile, streamOf, withSpooled } from '../../../storage/content.ts';
import { stageLocally } from '../../../storage/staging.ts';
import { mimeTypeOf } from '../../../basics/content/file-type.ts';
import { AlreadyExistsError, CorruptError, IntoItselfError, WrongKindError } from '../../../errors/errors.ts';
import { newTempName } from '../core/temporary.ts';
import type {
  OperationOptions,
  PutOptions,
  StagedFile,
  Stat,
  WriteOptions,
} from '../../../storage/adapter.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import type { Content } from './client.ts';
import { errorOfStatus } from './errors.ts';
import { isSuccess } from './list.ts';
import { giveFolderName, giveName, isGone } from './change.ts';
import type { Names } from '../paths/session.ts';
import { requireWritable } from '../paths/write.ts';
import type { Outcome } from './requests.ts';
import type { Store } from './store.ts';

/** Contents of up to this size are kept in memory when they may have to be sent twice. */
const MOST_IN_MEMORY = 256 * 1024;

/** Runs `work` with a temporary name in a folder; removes the entry when it fails. */
const withTemp = async <T>(
  { leftovers }: Store,
  folder: SourcePath,
  kind: 'file' | 'folder',
  work: (temp: SourcePath) => Promise<T>,
): Promise<T> => {
  const temp = folder.below(newTempName());
  try {
    return await work(temp);
  } catch (error) {
    await leftovers.remove({ path: temp, kind });
    throw error;
  }
};

/** Statuses of a COPY of a folder in which an entry vanished meanwhile, such as content that gets its name. */
const VANISHED: ReadonlySet<number> = new Set([404, 412, 500]);
const COPY_ATTEMPTS = 4;

const copyTo = async (
  store: Store,
  { from, temp }: { readonly from: SourcePath; readonly temp: SourcePath },
  kind: 'file' | 'folder',
  options: OperationOptions,
): Promise<void> => {
  const { resources } = store;
  const { signal } = options;
  const outcome = async (): Promise<Outcome> =>
    (await resources.exists(temp, {})) ? 'unknown' : 'untouched';
  const copy = (): Promise<number> =>
    store.intoFolder(temp, options, () =>
      resources.transfer('COPY', { from, to: temp }, kind, { overwrite: 'F', signal, outcome }),
    );
  let status = await copy();
  for (let attempt = 1; attempt < COPY_ATTEMPTS && kind === 'folder' && VANISHED.has(status); attempt += 1) {
    signal?.throwIfAborted();
    if (!(await store.leftovers.removed({ path: temp, kind }))) break;
    status = await copy();
  }
  signal?.throwIfAborted();
  if (!isSuccess(status)) throw errorOfStatus({ method: 'COPY', path: from }, status);
};

/**
 * Copies an item to a temporary name, and calls `give` with that. AList copies under the old name instead, and
 * replaces an item of that name: until the server has shown that it does not, copies are made in a folder of
 * their own.
 */
const withCopy = async (
  store: Store,
  { from, to }: Names,
  kind: 'file' | 'folder',
  options: OperationOptions,
  give: (copy: SourcePath) => Promise<void>,
): Promise<void> => {
  const copyBeside = (): Promise<void> =>
    withTemp(store, to.parent, kind, async (temp) => {
      await copyTo(store, { from, temp }, kind, options);
      await give(temp);
    });
  if (store.namesCopies) return copyBeside();
  return withTemp(store, to.parent, 'folder', async (folder) => {
    const make = (): Promise<number> => store.resources.act('MKCOL', folder, 'folder', options);
    if (!isSuccess(await store.intoFolder(folder, options, make))) return copyBeside();
    const temp = folder.below(newTempName());
    await copyTo(store, { from, temp }, kind, options);
    store.namesCopies = !(await isGone(store, temp));
    await give(store.namesCopies ? temp : folder.below(from.name));
    await store.leftovers.remove({ path: folder, kind: 'folder' });
  });
};

const sendTo = async (
  store: Store,
  temp: SourcePath,
  path: SourcePath,
  { body, ...options }: OperationOptions & { readonly body: Content },
): Promise<Stat> => {
  const { resources, letterCase } = store;
  const headers = { 'content-type': mimeTypeOf(path.name) };
  if (!body.repeatable) await store.ensureFolder(path.parent, options);
  const { signal } = options;
  const send = (): Promise<number> => resources.act('PUT', temp, 'file', { body, signal, headers });
  // Content that can be sent only once is lost after a rejection.
  const status = await (body.repeatable ? store.intoFolder(temp, options, send) : send());
  if (!isSuccess(status)) throw errorOfStatus({ method: 'PUT', path }, status);
  const written = await resources.stat(temp, options);
  if (written.size !== undefined && written.size !== body.size) {
    throw new CorruptError({ detail: `stored ${String(written.size)} of ${String(body.size)} bytes` });
  }
  await letterCase.learn(resources, temp, options);
  return written;
};

/** Writes content to a temporary name, then moves it over its target: incomplete content is never visible. */
const putFile = async (store: Store, path: SourcePath, body: Content, options: WriteOptions) => {
  await store.prepare(path, options, true);
  return withTemp(store, path.parent, 'file', async (temp) => {
    const written = await sendTo(store, temp, path, { body, signal: options.signal });
    await giveName(store, { from: temp, to: path }, options);
    return { ...written, name: path.name, size: body.size };
  });
};

/** Stores content whose length may be unknown. */
export const writeFile = async (
  store: Store,
  path: SourcePath,
  chunks: AsyncIterable<Uint8Array>,
  options: WriteOptions,
): Promise<Stat> => {
  requireWritable(path, options);
  const { size, signal } = options;
  const content = Readable.from(chunks, { objectMode: false });
  if (size !== undefined && size <= MOST_IN_MEMORY) {
    const bytes = await buffer(content);
    return putFile(store, path, { open: () => streamOf(bytes), size, repeatable: true }, options);
  }
  if (size !== undefined && !store.resources.client.mayRepeat)
    return putFile(store, path, { open: () => content, size, repeatable: false }, options);
  // Without a length, or where the first request may be rejected or redirected: content must be repeatable.
  return withSpooled(content, { signal }, ({ open, size: whole }) =>
    putFile(store, path, { open, size: whole, repeatable: true }, options),
  );
};

/** Stages content. It is sent once per folder, however many names are tried. */
export const stageFile = (
  store: Store,
  content: Readable,
  options: OperationOptions,
): Promise<StagedFile> => {
  let sent: { readonly temp: SourcePath; readonly stat: Stat } | undefined;
  const drop = async (): Promise<void> => {
    const dropped = sent;
    sent = undefined;
    if (dropped !== undefined) await store.leftovers.remove({ path: dropped.temp, kind: 'file' });
  };
  const sendBeside = async (target: SourcePath, file: SpooledFile, { signal }: OperationOptions) => {
    if (sent?.temp.parent.equals(target.parent) === true) return sent;
    await drop();
    const body: Content = { open: () => file.open(), size: file.size, repeatable: true };
    return withTemp(store, target.parent, 'file', async (temp) => {
      sent = { temp, stat: await sendTo(store, temp, target, { body, signal }) };
      return sent;
    });
  };
  const write = async (target: SourcePath, file: SpooledFile, given: WriteOptions): Promise<Stat> => {
    requireWritable(target, given);
    await store.prepare(target, given, true);
    try {
      const { temp, stat } = await sendBeside(target, file, given);
      await giveName(store, { from: temp, to: target }, given);
      sent = undefined;
      return { ...stat, name: target.name, size: file.size };
    } catch (error) {
      // The next name may be free; after other failures nothing must stay on the server.
      if (!(error instanceof AlreadyExistsError)) await drop();
      throw error;
    }
  };
  return stageLocally(content, options, write, drop);
};

/** Copies or moves a file on the server. A copy has a temporary name until it is complete. */
export const transferFile = async (
  store: Store,
  method: 'COPY' | 'MOVE',
  { from, to }: Names,
  options: PutOptions,
): Promise<void> => {
  const isNew = options.createOnly === true;
  const conflict = (): Error => (isNew ? new AlreadyExistsError() : new WrongKindError());
  await store.prepare(to, options, true);
  if ((await store.stat(from, options)).kind === 'folder') throw new WrongKindError();
  if (to.isRoot) throw conflict();
  if (from.equals(to)) {
    if (isNew) throw new AlreadyExistsError();
    return;
  }
  // Where `Overwrite: F` may be ignored, one wrong response to the lookup of `giveName` must not cost a file.
  const checks = method === 'COPY' || (isNew && !store.knowsOverwrite);
  const found = checks ? await store.find(to, options) : undefined;
  if (found !== undefined && (isNew || found.kind === 'folder')) throw conflict();
  if (method === 'MOVE') return giveName(store, { from, to }, options);
  await withCopy(store, { from, to }, 'file', options, (copy) =>
    giveName(store, { from: copy, to }, options),
  );
};

/** Copies or moves a folder on the server; always create-only. A copy is made under a temporary name too. */
export const transferFolder = async (
  store: Store,
  method: 'COPY' | 'MOVE',
  { from, to }: Names,
  options: OperationOptions,
): Promise<void> => {
  await store.prepare(to, options, true);
  if ((await store.stat(from, options)).kind === 'file') throw new WrongKindError();
  if (to.isRoot || (await store.find(to, options)) !== undefined) throw new AlreadyExistsError();
  if (from.contains(to)) throw new IntoItselfError();
  if (method === 'MOVE') return giveFolderName(store, { from, to }, options);
  await withCopy(store, { from, to }, 'folder', options, (copy) =>
    giveFolderName(store, { from: copy, to }, options),
  );
};
