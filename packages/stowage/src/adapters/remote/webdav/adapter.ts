import type { Readable } from 'node:stream';
import {
  AlreadyExistsError,
  ChangedMeanwhileError,
  NotFoundError,
  StorageDeniedError,
  UnsupportedError,
  WrongKindError,
} from '../../../errors/errors.ts';
import { isStale, isTempName } from '../core/temporary.ts';
import type * as port from '../../../storage/adapter.ts';
import { consumeContent } from '../../../storage/content.ts';
import { SourcePath } from '../../../storage/source-path.ts';
import { capabilitiesOf } from '../../capabilities.ts';
import { segmentsOfHref } from './address.ts';
import { DavClient } from './client.ts';
import type { WebdavOptions } from './options.ts';
import { openFile } from './read.ts';
import { remove, removeEmptyFolder } from './change.ts';
import { Resources, type ListedMember } from './requests.ts';
import { Store } from './store.ts';
import { stageFile, transferFile, transferFolder, writeFile } from './write.ts';

const DECLARED = capabilitiesOf('webdav');

export class WebdavAdapter implements port.StorageAdapter {
  readonly identity: port.StoreIdentity;
  readonly #store: Store;

  constructor(store: Store, identity: port.StoreIdentity) {
    this.#store = store;
    this.identity = identity;
  }

  /** Atomic creation and letter case are known only after trials. */
  get capabilities(): port.StorageCapabilities {
    return {
      ...DECLARED,
      atomicCreate: this.#store.reservations.areKept,
      caseSensitive: this.#store.letterCase.isSensitive,
    };
  }

  async stat(path: SourcePath, options: port.OperationOptions = {}): Promise<port.Stat> {
    const stat = await this.#store.stat(path, options);
    await this.#store.letterCase.learn(this.#store.resources, path, options);
    return stat;
  }

  async checkRoot(options: port.OperationOptions = {}): Promise<void> {
    await this.#store.prepare(SourcePath.root, options);
    await this.#store.resources.requireRoot(options);
  }

  async *list(folder: SourcePath, options: port.ListOptions = {}): AsyncIterable<readonly port.Entry[]> {
    await this.#store.prepare(folder, options);
    let aliases = 0;
    try {
      for await (const batch of this.#store.resources.children(folder, options)) {
        const [page, hidden] = await this.#shown(folder, batch, options);
        aliases += hidden;
        if (page.length > 0) yield page;
      }
      if (aliases > 0) options.onOmitted?.(aliases);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof WrongKindError) throw error;
      // Servers respond with various errors to a listing of a file, and of a path below one.
      const found = await this.#store.find(folder, options).catch(() => 'unknown' as const);
      if (found === undefined) throw new NotFoundError({ cause: error });
      throw found !== 'unknown' && found.kind === 'file' ? new WrongKindError() : error;
    }
  }

  async read(path: SourcePath, options: port.ReadOptions = {}): Promise<port.ReadResult> {
    const known = await this.stat(path, options);
    if (known.kind === 'folder') throw new WrongKindError();
    if (options.ifMatch !== undefined && known.etag !== options.ifMatch) throw new ChangedMeanwhileError();
    return openFile(this.#store.resources, path, known, options);
  }

  async write(path: SourcePath, content: Readable, options: port.WriteOptions = {}): Promise<port.Stat> {
    return consumeContent(content, options, async (chunks) => {
      requireWritable(path, options);
      return writeFile(this.#store, path, chunks, options);
    });
  }

  async stage(content: Readable, options: port.OperationOptions = {}): Promise<port.StagedFile> {
    return stageFile(this.#store, content, options, requireWritable);
  }

  async makeFolder(path: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    await this.#store.prepare(path, options, true);
    await this.#store.makeFolder(path, options);
  }

  async removeFile(path: SourcePath, options: port.RemoveFileOptions = {}): Promise<void> {
    await remove(this.#store, path, 'file', options);
  }

  async removeFolder(path: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    if (path.isRoot) throw new StorageDeniedError({ detail: 'the root is not removed' });
    await remove(this.#store, path, 'folder', options);
  }

  async removeEmptyFolder(path: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    if (path.isRoot) throw new StorageDeniedError({ detail: 'the root is not removed' });
    if ((await this.#store.stat(path, options)).kind === 'file') throw new WrongKindError();
    await removeEmptyFolder(this.#store, path, options);
  }

  async copyFile(from: SourcePath, to: SourcePath, options: port.PutOptions = {}): Promise<void> {
    await transferFile(this.#store, 'COPY', { from, to }, options);
  }

  async moveFile(from: SourcePath, to: SourcePath, options: port.PutOptions = {}): Promise<void> {
    await transferFile(this.#store, 'MOVE', { from, to }, options);
  }

  async copyFolder(from: SourcePath, to: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    await transferFolder(this.#store, 'COPY', { from, to }, options);
  }

  async moveFolder(from: SourcePath, to: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    if (from.isRoot) throw new StorageDeniedError({ detail: 'the root is not moved' });
    await transferFolder(this.#store, 'MOVE', { from, to }, options);
  }

  async close(): Promise<void> {
    this.#store.resources.client.close();
  }

  /** The visible entries, and the number of hidden ones whose names may be aliases of others. */
  async #shown(
    folder: SourcePath,
    members: readonly ListedMember[],
    options: port.OperationOptions,
  ): Promise<readonly [page: readonly port.Entry[], hidden: number]> {
    const { letterCase, resources } = this.#store;
    const page: port.Entry[] = [];
    for (const { isSelf, stat, serverTime } of members) {
      const { name, kind, size, modifiedAt, etag } = stat;
      if (isSelf && kind === 'file') throw new WrongKindError();
      if (isSelf) continue;
      if (isTempName(name)) this.#removeStale(folder, stat, serverTime);
      else page.push({ name, kind, size, modifiedAt, etag });
    }
    const [first] = page;
    if (first !== undefined) await letterCase.learn(resources, folder.below(first.name), options);
    const shown = letterCase.isKnown ? page.filter(({ name }) => !letterCase.isAlias(name)) : page;
    return [shown, page.length - shown.length];
  }

  #removeStale(
    folder: SourcePath,
    { name, kind, modifiedAt }: port.Stat,
    serverTime: number | undefined,
  ): void {
    if (!isStale(name, modifiedAt, serverTime)) return;
    this.#store.leftovers.removed({ path: folder.below(name), kind }).catch(() => undefined);
  }
}

const requireWritable = (path: SourcePath, options: Omit<port.WriteOptions, 'size'>): void => {
  if (options.ifMatch !== undefined) throw new UnsupportedError({ detail: 'ifMatch on writes' });
  if (path.isRoot) throw options.createOnly === true ? new AlreadyExistsError() : new WrongKindError();
};

/** Creates a store without contacting the server. `root` is a path below the collection of `url`. */
export const openWebdavAdapter = (options: WebdavOptions, root = ''): WebdavAdapter => {
  const client = new DavClient(options);
  const prefix = SourcePath.parse(root);
  const url = new URL(options.url);
  const base = new Resources(client, url, SourcePath.root);
  const resources = prefix.isRoot ? base : new Resources(client, url, prefix);
  return new WebdavAdapter(new Store(resources, base, prefix, options), {
    backend: `webdav:${url.origin}`,
    root: [...(segmentsOfHref(url.pathname) ?? []), ...prefix.segments],
  });
};
