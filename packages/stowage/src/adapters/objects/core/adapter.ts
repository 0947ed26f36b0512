import type { Readable } from 'node:stream';
import { Spellings } from '../../support/spellings.ts';
import * as errors from '../../../errors/errors.ts';
import type * as port from '../../../storage/adapter.ts';
import { consumeContent } from '../../../storage/content.ts';
import { folderNamed, isSameVersion } from '../../../storage/entry.ts';
import type { SourcePath } from '../../../storage/source-path.ts';
import { stageLocally } from '../../../storage/staging.ts';
import type { TreeWalkOptions, WalkPage } from '../../../storage/tree-walk.ts';
import { Folders, type NewFolder } from './folders.ts';
import { walkKeys } from './key-walk.ts';
import { createKeys, partsOf, type Keys } from './keys.ts';
import type { ObjectFacts, Objects } from './objects.ts';
import { hasBelow, Lookup, openObject } from './lookup.ts';
import { Removals } from './change.ts';

/** Location of a source: the service with its bucket, and the prefixes of its keys. */
interface ObjectSource {
  readonly backend: string;
  readonly prefix: string;
  readonly root: string | undefined;
  /** @see createKeys */
  readonly isAlias?: (segment: string) => boolean;
}

/** Time during which signing is not retried after the service denied it. */
const REFUSED_MS = 60_000;

/**
 * A source in a flat key space. A folder is an empty object whose key ends with a slash, or exists because of
 * keys below it. Conditions that the service does not decide are checked immediately before the change, and
 * such changes are serialized within this process.
 */
export class ObjectStoreAdapter implements port.StorageAdapter {
  readonly identity: port.StoreIdentity;
  protected readonly keys: Keys;
  readonly #objects: Objects;
  readonly #removals: Removals;
  readonly #spellings = new Spellings();
  readonly #lookup: Lookup;
  readonly #folders: Folders;
  #refusedUntil = 0;

  constructor(objects: Objects, { backend, prefix, root, isAlias }: ObjectSource) {
    this.identity = { backend, root: partsOf(prefix, root) };
    this.keys = createKeys(prefix, root, this.#spellings, isAlias);
    this.#objects = objects;
    this.#removals = new Removals(objects);
    this.#lookup = new Lookup(objects, this.keys, this.#spellings);
    this.#folders = new Folders(objects, this.#removals);
  }

  get capabilities(): port.StorageCapabilities {
    return this.#objects.capabilities;
  }

  /** One request when the item has the expected kind, else one more. */
  async stat(path: SourcePath, options: port.StatOptions = {}): Promise<port.Stat> {
    options.signal?.throwIfAborted();
    if (path.isRoot) return folderNamed(path.name);
    return this.#lookup.inAnySpelling(path, options, async () => {
      const isFolder = options.expects === 'folder' && (await this.#lookup.isFolder(path, options));
      if (isFolder) return folderNamed(path.name);
      if (options.expects === 'folder' && options.mayMiss === true) throw new errors.NotFoundError();
      const key = this.keys.of(path);
      const found = await this.#objects.find(key, options);
      if (found !== undefined) return this.#lookup.found(path, key, found).stat;
      const isAll = options.expects === 'folder' || (options.expects === 'file' && options.mayMiss === true);
      if (!isAll && (await this.#lookup.isFolder(path, options))) return folderNamed(path.name);
      throw new errors.NotFoundError();
    });
  }

  async checkRoot(options: port.OperationOptions = {}): Promise<void> {
    await hasBelow(this.#objects, this.keys.root, options);
  }

  async *list(
    folder: SourcePath,
    options: port.ListOptions = {},
  ): AsyncGenerator<readonly port.Entry[], void, undefined> {
    options.signal?.throwIfAborted();
    if (yield* this.#lookup.entries(folder, options)) return;
    if ((await this.#lookup.isRespelled(folder, options)) && (yield* this.#lookup.entries(folder, options)))
      return;
    await this.#lookup.reject(folder, 'folder', options);
  }

  async read(path: SourcePath, options: port.ReadOptions = {}): Promise<port.ReadResult> {
    options.signal?.throwIfAborted();
    if (path.isRoot) throw new errors.WrongKindError();
    return this.#lookup.inAnySpelling(path, options, async () => {
      try {
        const key = this.keys.of(path);
        const statOf = (facts: ObjectFacts): port.Stat => this.#lookup.found(path, key, facts).stat;
        return await openObject(this.#objects, key, statOf, options);
      } catch (error) {
        if (!(error instanceof errors.NotFoundError) || options.mayMiss === true) throw error;
        return this.#lookup.reject(path, 'file', options);
      }
    });
  }

  async write(path: SourcePath, content: Readable, options: port.WriteOptions = {}): Promise<port.Stat> {
    return this.#write(path, content, options);
  }

  async glimpse(...asked: Parameters<Lookup['glimpse']>): Promise<port.Glimpse> {
    return this.#lookup.glimpse(...asked);
  }

  /** Stages locally, so that an upload can be repeated when the service is temporarily unavailable. */
  async stage(content: Readable, options: port.OperationOptions = {}): Promise<port.StagedFile> {
    return stageLocally(content, options, (path, file, more) =>
      this.#write(path, file.open(), { ...more, size: file.size }, () => file.open()),
    );
  }

  async makeFolder(path: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    await this.#folders.make(this.#newFolder(path), options);
  }

  /** Removes only the version that was read. The service decides where it has conditional removals. */
  async removeFile(path: SourcePath, options: port.RemoveFileOptions = {}): Promise<void> {
    const { ifUnchanged, mayMiss = false, signal } = options;
    const isDecided = this.#objects.decides.remove;
    const seen = isDecided || ifUnchanged === undefined ? options.seen : undefined;
    signal?.throwIfAborted();
    if (mayMiss && ifUnchanged === undefined && !path.isRoot)
      return this.#removals.remove({ key: this.keys.of(path) }, { signal });
    // Most services remove any version: the lock keeps writes of this process from happening after the check.
    await this.#objects.locks.hold(this.keys.of(path), { signal }, async () => {
      const { key, stat } = await this.#lookup.requireFile(path, { signal, seen });
      if (ifUnchanged !== undefined && !isSameVersion(ifUnchanged, stat))
        throw new errors.ChangedMeanwhileError();
      await this.#removals.remove({ key, etag: isDecided ? stat.etag : undefined }, { signal });
    });
    this.#spellings.forget(path);
  }

  async removeFolder(path: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    if (path.isRoot) throw new errors.StorageDeniedError({ detail: 'the root cannot be removed' });
    await this.#lookup.withFolder(path, options, (folder) => this.#folders.remove(folder));
    this.#spellings.forget(path);
  }

  async removeEmptyFolder(path: SourcePath, options: port.RemoveOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    if (path.isRoot) throw new errors.StorageDeniedError({ detail: 'the root cannot be removed' });
    const remove = (folder: string): Promise<void> => this.#folders.removeEmpty(folder, options);
    if (options.mayMiss === true) return remove(this.keys.ofFolder(path));
    await this.#lookup.withFolder(path, options, remove);
    this.#spellings.forget(path);
    if (!path.parent.isRoot) await this.#folders.keep(this.keys.ofFolder(path.parent), options);
  }

  async copyFile(from: SourcePath, to: SourcePath, options: port.TransferOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    const locked = options.createOnly === true ? [this.keys.toMake(to)] : [];
    await this.#objects.locks.hold(locked, options, () => this.#copyFile(from, to, options));
  }

  /** Where the service has conditional removals, a source that is replaced after its copy fails the move. */
  async moveFile(from: SourcePath, to: SourcePath, options: port.TransferOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    // Also locks the source against writes of this process: most services remove any version.
    await this.#objects.locks.hold([this.keys.of(from), this.keys.toMake(to)], options, async () => {
      const copied = await this.#copyFile(from, to, options);
      if (copied === undefined) return;
      const { source, key, etag } = copied;
      await this.#removals.finishMove({
        source: { key: source.key, size: source.size, etag: source.stat.etag },
        // Not every service reports the ETag of a copy that was made in parts.
        target: { key, etag: etag ?? (await this.#objects.find(key, {}).catch(() => undefined))?.etag },
        created: options.createOnly === true,
      });
    });
  }

  async copyFolder(from: SourcePath, to: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    await this.#transferFolder('copy', from, to, options);
  }

  async moveFolder(from: SourcePath, to: SourcePath, options: port.OperationOptions = {}): Promise<void> {
    await this.#transferFolder('move', from, to, options);
  }

  /** Undefined where the login cannot sign. */
  async temporaryUrl(path: SourcePath, options: port.TemporaryUrlOptions): Promise<string | undefined> {
    const key = this.keys.of(path);
    options.signal?.throwIfAborted();
    if (Date.now() < this.#refusedUntil) return undefined;
    try {
      return await this.#objects.signedUrl(key, options);
    } catch (error) {
      if (!(error instanceof errors.StorageDeniedError)) throw error;
      this.#refusedUntil = Date.now() + REFUSED_MS;
      return undefined;
    }
  }

  async close(): Promise<void> {
    await this.#objects.close();
  }

  /** @see StorageAdapter.walk; for services whose listings can start after any key. */
  protected async *walkKeys(
    folder: SourcePath,
    options: TreeWalkOptions,
  ): AsyncGenerator<WalkPage, void, undefined> {
    options.signal?.throwIfAborted();
    const walk = () => walkKeys(this.#objects, this.keys.ofFolder(folder), folder, options);
    if (yield* walk()) return;
    await this.#lookup.requireFolder(folder, options);
    yield* walk();
  }

  /** `open` opens the content again for a retry. */
  async #write(
    path: SourcePath,
    content: Readable,
    options: port.WriteOptions,
    open?: () => Readable,
  ): Promise<port.Stat> {
    const { createOnly = false, ifMatch, signal } = options;
    return consumeContent(content, options, async (chunks) => {
      const isNoFolder = options.derived === true || options.isNoFolder === true;
      const key = await this.#lookup.freeOfFolder(path, { createOnly, isNoFolder, signal });
      const kept = this.#lookup.keptOf(options.replaces);
      const request = { key, createOnly, ifMatch, kept, chunks, size: options.size, open };
      const { size, etag } = await this.#objects.upload(request, { signal });
      return { name: path.name, kind: 'file', size, modifiedAt: undefined, etag };
    });
  }

  /** Returns the source, and the copy's key and ETag; undefined when the source is its own target. */
  async #copyFile(from: SourcePath, to: SourcePath, options: port.TransferOptions) {
    const { createOnly = false, signal } = options;
    const source = await this.#lookup.requireFile(from, options);
    if (from.equals(to)) {
      if (createOnly) throw new errors.AlreadyExistsError();
      return undefined;
    }
    const { key, isCheckedFree } = await this.#lookup.freeForCopy(to, options);
    const { size, stat, storageClass } = source;
    const copy = {
      from: source.key,
      to: key,
      size,
      etag: stat.etag,
      storageClass,
      createOnly,
      isCheckedFree,
    };
    return { source, key, etag: await this.#objects.copy(copy, { signal }) };
  }

  /** @throws AlreadyExistsError for the root, UnsafeNameError, UnsafePathError */
  #newFolder(path: SourcePath): NewFolder {
    if (path.isRoot) throw new errors.AlreadyExistsError();
    return { key: this.keys.ofNewFolder(path), file: this.keys.of(path) };
  }

  async #transferFolder(
    transfer: 'copy' | 'move',
    from: SourcePath,
    to: SourcePath,
    options: port.OperationOptions,
  ): Promise<void> {
    options.signal?.throwIfAborted();
    // Before the target is created: a missing source must not leave an empty folder.
    await this.#lookup.requireFolder(from, options);
    await this.#folders[transfer](this.keys.ofFolder(from), this.#newFolder(to), options);
  }
}
