import { Readable } from 'node:stream';
import {
  AlreadyExistsError,
  ChangedMeanwhileError,
  CorruptError,
  IntoItselfError,
  NotFoundError,
  StorageDeniedError,
  UnsupportedError,
  WrongKindError,
} from '../../errors/errors.ts';
import type {
  Entry,
  ListOptions,
  OperationOptions,
  PutOptions,
  ReadOptions,
  ReadResult,
  StagedFile,
  Stat,
  StorageAdapter,
  StorageCapabilities,
  WriteOptions,
} from '../../storage/adapter.ts';
import { consumeContent } from '../../storage/content.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { spool } from '../../storage/spool.ts';
import type { DavRequest } from './client.ts';
import { errorOfStatus } from './errors.ts';
import { openFile } from './reading.ts';
import { isSuccess } from './resources.ts';
import type { Store } from './store.ts';
import { isTempName, newTempName } from './temp-name.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

type Body = NonNullable<Exclude<DavRequest['body'], string>>;

/** A store on a WebDAV server. */
export class WebdavAdapter implements StorageAdapter {
  readonly capabilities: StorageCapabilities = {
    // `Overwrite: F` is a look and a move in two steps on common servers: of racing writers the last one wins.
    atomicCreate: false,
    ifMatch: false,
    atomicFolderMove: false,
    emptyFolders: true,
    caseSensitive: true,
    stableReads: false,
  };
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async stat(path: SourcePath, options: OperationOptions = {}): Promise<Stat> {
    return this.#store.stat(path, options);
  }

  async *list(folder: SourcePath, options: ListOptions = {}): AsyncIterable<readonly Entry[]> {
    await this.#store.prepare(folder, options);
    try {
      for await (const batch of this.#store.resources.children(folder, options)) {
        const page = batch.flatMap(({ isSelf, stat }) => this.#listed(folder, isSelf, stat));
        if (page.length > 0) yield page;
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof WrongKindError) throw error;
      // Servers have several refusals for a file that is asked for as a folder.
      if ((await this.#store.find(folder, options).catch(() => undefined))?.kind === 'file')
        throw new WrongKindError();
      throw error;
    }
  }

  async read(path: SourcePath, options: ReadOptions = {}): Promise<ReadResult> {
    const known = await this.#store.stat(path, options);
    if (known.kind === 'folder') throw new WrongKindError();
    if (options.ifMatch !== undefined && known.etag !== options.ifMatch) throw new ChangedMeanwhileError();
    return openFile(this.#store.resources, path, known, options);
  }

  async write(path: SourcePath, content: Readable, options: WriteOptions = {}): Promise<Stat> {
    return consumeContent(content, options, async (chunks) => {
      requireWritable(path, options);
      const { size, signal } = options;
      if (size !== undefined && !this.#store.resources.client.asksFirst) {
        const open = (): Readable => Readable.from(chunks, { objectMode: false });
        return this.#put(path, { open, size, repeatable: false }, options);
      }
      // Without a length, or with a login that the server may refuse once, the content must be at hand again.
      const file = await spool(Readable.from(chunks), { signal });
      try {
        return await this.#put(path, { open: () => file.open(), size: file.size, repeatable: true }, options);
      } finally {
        await file.remove();
      }
    });
  }

  async stage(content: Readable, options: OperationOptions = {}): Promise<StagedFile> {
    const file = await spool(content, options);
    let ended = false;
    const end = async (): Promise<void> => {
      ended = true;
      await file.remove();
    };
    return {
      size: file.size,
      open: () => file.open(),
      commit: async (target, commitOptions = {}) => {
        if (ended)
          throw new NotFoundError({ detail: 'the staged content was committed or discarded before' });
        requireWritable(target, commitOptions);
        const body = { open: () => file.open(), size: file.size, repeatable: true };
        const stat = await this.#put(target, body, commitOptions);
        await end();
        return stat;
      },
      discard: end,
    };
  }

  async makeFolder(path: SourcePath, options: OperationOptions = {}): Promise<void> {
    await this.#store.prepare(path, options, true);
    await this.#store.makeFolder(path, options);
  }

  async removeFile(path: SourcePath, options: OperationOptions = {}): Promise<void> {
    if ((await this.#store.stat(path, options)).kind === 'folder') throw new WrongKindError();
    await this.#store.remove(path, 'file', options);
  }

  async removeFolder(path: SourcePath, options: OperationOptions = {}): Promise<void> {
    if (path.isRoot) throw new StorageDeniedError({ detail: 'the root is not removed' });
    if ((await this.#store.stat(path, options)).kind === 'file') throw new WrongKindError();
    await this.#store.remove(path, 'folder', options);
  }

  async copyFile(from: SourcePath, to: SourcePath, options: PutOptions = {}): Promise<void> {
    await this.#relocateFile('COPY', from, to, options);
  }

  async moveFile(from: SourcePath, to: SourcePath, options: PutOptions = {}): Promise<void> {
    await this.#relocateFile('MOVE', from, to, options);
  }

  async copyFolder(from: SourcePath, to: SourcePath, options: OperationOptions = {}): Promise<void> {
    await this.#relocateFolder('COPY', from, to, options);
  }

  async moveFolder(from: SourcePath, to: SourcePath, options: OperationOptions = {}): Promise<void> {
    if (from.isRoot) throw new StorageDeniedError({ detail: 'the root is not moved' });
    await this.#relocateFolder('MOVE', from, to, options);
  }

  async close(): Promise<void> {
    await this.#store.resources.client.close();
  }

  #listed(folder: SourcePath, isSelf: boolean, stat: Stat): readonly Entry[] {
    if (isSelf && stat.kind === 'file') throw new WrongKindError();
    if (isSelf) return [];
    const { name, kind, size, modifiedAt } = stat;
    if (!isTempName(name)) return [{ name, kind, size, modifiedAt }];
    this.#removeStale(folder.child(name), stat);
    return [];
  }

  /** Content goes to a temporary name first, and from there over its target: nobody ever sees a part of it. */
  async #put(path: SourcePath, body: Body, options: Omit<WriteOptions, 'size'>): Promise<Stat> {
    const { resources } = this.#store;
    const { signal } = options;
    await this.#store.prepare(path, options, true);
    await this.#store.ensureFolder(path.parent, options);
    const temp = path.parent.child(newTempName());
    try {
      const headers = { 'content-type': 'application/octet-stream' };
      const status = await resources.act('PUT', temp, 'file', { body, signal, headers });
      if (!isSuccess(status)) throw errorOfStatus({ method: 'PUT', path }, status);
      const written = await resources.stat(temp, options);
      if (written.size !== undefined && written.size !== body.size) {
        throw new CorruptError({ detail: `stored ${String(written.size)} of ${String(body.size)} bytes` });
      }
      await this.#store.place('MOVE', temp, path, options);
      return { ...written, name: path.name, size: body.size };
    } catch (error) {
      // Without the signal: what was begun must be cleared away after an abort as well.
      await resources.act('DELETE', temp, 'file', {}).catch(() => undefined);
      throw error;
    }
  }

  async #relocateFile(
    method: 'COPY' | 'MOVE',
    from: SourcePath,
    to: SourcePath,
    options: PutOptions,
  ): Promise<void> {
    const taken = (): Error =>
      options.createOnly === true ? new AlreadyExistsError() : new WrongKindError();
    await this.#store.prepare(to, options, true);
    if ((await this.#store.stat(from, options)).kind === 'folder') throw new WrongKindError();
    if (to.isRoot) throw taken();
    if (from.equals(to)) {
      if (options.createOnly === true) throw new AlreadyExistsError();
      return;
    }
    // Looked at first: some servers do not know Overwrite.
    const target = await this.#store.find(to, options);
    if (target !== undefined && (options.createOnly === true || target.kind === 'folder')) throw taken();
    if (target === undefined) await this.#store.ensureFolder(to.parent, options);
    await this.#store.place(method, from, to, options);
  }

  async #relocateFolder(
    method: 'COPY' | 'MOVE',
    from: SourcePath,
    to: SourcePath,
    options: OperationOptions,
  ): Promise<void> {
    const { resources } = this.#store;
    await this.#store.prepare(to, options, true);
    if ((await this.#store.stat(from, options)).kind === 'file') throw new WrongKindError();
    if (to.isRoot || (await this.#store.find(to, options)) !== undefined) throw new AlreadyExistsError();
    if (from.contains(to)) throw new IntoItselfError();
    await this.#store.ensureFolder(to.parent, options);
    const destination = resources.url(to, 'folder').href;
    const headers = { destination, overwrite: 'F', depth: 'infinity' };
    const status = await resources.act(method, from, 'folder', { signal: options.signal, headers });
    if (isSuccess(status)) return;
    // Whoever moved into a target that appeared in between may be told anything.
    if (status === 412 || (method === 'MOVE' && (await this.#store.find(to, options)) !== undefined))
      throw new AlreadyExistsError();
    if (method === 'COPY') await resources.act('DELETE', to, 'folder', {}).catch(() => undefined);
    throw errorOfStatus({ method, path: from }, status);
  }

  /** What a killed process has left is found by listings, and removed once nobody can be writing it any more. */
  #removeStale(path: SourcePath, { modifiedAt }: Stat): void {
    if (modifiedAt === undefined || Date.now() - modifiedAt < DAY_MS) return;
    this.#store.resources.act('DELETE', path, 'file', {}).catch(() => undefined);
  }
}

const requireWritable = (path: SourcePath, options: Omit<WriteOptions, 'size'>): void => {
  if (options.ifMatch !== undefined) throw new UnsupportedError({ detail: 'ifMatch on writes' });
  if (path.isRoot) throw options.createOnly === true ? new AlreadyExistsError() : new WrongKindError();
};
