import { Readable } from 'node:stream';
import {
  AlreadyExistsError,
  ChangedMeanwhileError,
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
import { putFile, relocateFile, relocateFolder, Waiting } from './placing.ts';
import { openFile } from './reading.ts';
import type { Store } from './store.ts';
import { isTempName } from './temp-name.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

const CAPABILITIES: Omit<StorageCapabilities, 'atomicCreate'> = {
  ifMatch: false,
  atomicFolderMove: false,
  emptyFolders: true,
  caseSensitive: true,
  stableReads: false,
};

/** A store on a WebDAV server. */
export class WebdavAdapter implements StorageAdapter {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** New names are promised when the server is known to decide about them, which only a trial shows. */
  get capabilities(): StorageCapabilities {
    return { ...CAPABILITIES, atomicCreate: this.#store.reservations.areKept };
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
      if (size !== undefined && !this.#store.resources.client.mayRepeat) {
        const open = (): Readable => Readable.from(chunks, { objectMode: false });
        return putFile(this.#store, path, { open, size, repeatable: false }, options);
      }
      // Without a length, or where the server may refuse a login once or lead elsewhere, the content must be at hand again.
      const file = await spool(Readable.from(chunks), { signal });
      try {
        return await putFile(
          this.#store,
          path,
          { open: () => file.open(), size: file.size, repeatable: true },
          options,
        );
      } finally {
        await file.remove();
      }
    });
  }

  async stage(content: Readable, options: OperationOptions = {}): Promise<StagedFile> {
    const file = await spool(content, options);
    const body = { open: () => file.open(), size: file.size, repeatable: true };
    const waiting = new Waiting(this.#store, body);
    let ended = false;
    const end = async (): Promise<void> => {
      ended = true;
      await Promise.all([file.remove(), waiting.drop()]);
    };
    return {
      size: file.size,
      open: () => file.open(),
      commit: async (target, commitOptions = {}) => {
        if (ended)
          throw new NotFoundError({ detail: 'the staged content was committed or discarded before' });
        requireWritable(target, commitOptions);
        const stat = await waiting.place(target, commitOptions);
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
    await this.#store.remove(path, 'file', options);
  }

  async removeFolder(path: SourcePath, options: OperationOptions = {}): Promise<void> {
    if (path.isRoot) throw new StorageDeniedError({ detail: 'the root is not removed' });
    await this.#store.remove(path, 'folder', options);
  }

  async copyFile(from: SourcePath, to: SourcePath, options: PutOptions = {}): Promise<void> {
    await relocateFile(this.#store, 'COPY', { from, to }, options);
  }

  async moveFile(from: SourcePath, to: SourcePath, options: PutOptions = {}): Promise<void> {
    await relocateFile(this.#store, 'MOVE', { from, to }, options);
  }

  async copyFolder(from: SourcePath, to: SourcePath, options: OperationOptions = {}): Promise<void> {
    await relocateFolder(this.#store, 'COPY', { from, to }, options);
  }

  async moveFolder(from: SourcePath, to: SourcePath, options: OperationOptions = {}): Promise<void> {
    if (from.isRoot) throw new StorageDeniedError({ detail: 'the root is not moved' });
    await relocateFolder(this.#store, 'MOVE', { from, to }, options);
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

  /** What a killed process has left is found by listings, and removed once nobody can be writing it any more. */
  #removeStale(path: SourcePath, { kind, modifiedAt }: Stat): void {
    if (modifiedAt === undefined || Date.now() - modifiedAt < DAY_MS) return;
    this.#store.resources.act('DELETE', path, kind, {}).catch(() => undefined);
  }
}

const requireWritable = (path: SourcePath, options: Omit<WriteOptions, 'size'>): void => {
  if (options.ifMatch !== undefined) throw new UnsupportedError({ detail: 'ifMatch on writes' });
  if (path.isRoot) throw options.createOnly === true ? new AlreadyExistsError() : new WrongKindError();
};
