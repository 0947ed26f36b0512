import type { Readable } from 'node:stream';
import { Spellings } from '../../adapter-support/spellings.ts';
import {
  AlreadyExistsError,
  ChangedMeanwhileError,
  NotFoundError,
  StorageDeniedError,
  WrongKindError,
} from '../../errors/errors.ts';
import type {
  Entry,
  ListOptions,
  OperationOptions,
  PutOptions,
  ReadOptions,
  ReadResult,
  RemoveFileOptions,
  StagedFile,
  Stat,
  StorageAdapter,
  StorageCapabilities,
  StoreIdentity,
  TemporaryUrlOptions,
  WriteOptions,
} from '../../storage/adapter.ts';
import { consumeContent } from '../../storage/content.ts';
import { isSameVersion } from '../../storage/same-version.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { stageLocally } from '../../storage/staging.ts';
import type { TreeWalkOptions, WalkPage } from '../../storage/tree-walk.ts';
import { Bucket } from './bucket.ts';
import { ConditionalWrites } from './conditional-writes.ts';
import { KnownServices } from './known-services.ts';
import { Copier, finishMove } from './copy-object.ts';
import { Folders, type NewFolder } from './folders.ts';
import { walkKeys } from './key-walk.ts';
import { createKeys, identityOf, publicUrlOf, type Keys } from './keys.ts';
import { Lookup, type FoundFile } from './lookup.ts';
import type { S3Options } from './options.ts';
import { fileStat, folderStat, openObject } from './read-object.ts';
import { signedUrlOf } from './sdk.ts';
import { Uploader } from './upload.ts';

/** A file whose copy was made: the source, and the copy's key and version. */
type AfterCopy = (source: FoundFile, target: { key: string; etag: string | undefined }) => Promise<void>;

/**
 * A bucket of S3 or of a service that speaks like it. A folder is an empty object with a slash at its end, or
 * is there because keys lie below it. Create-only writes are decided by the service where it has conditional
 * writes (tried once); copies and moves look first, as most services ignore conditions on copies, and follow
 * one another inside this process.
 */
export class S3Adapter implements StorageAdapter {
  readonly identity: StoreIdentity;
  readonly #options: S3Options;
  readonly #bucket: Bucket;
  readonly #keys: Keys;
  readonly #conditional: ConditionalWrites;
  readonly #copier: Copier;
  readonly #spellings = new Spellings();
  readonly #lookup: Lookup;
  readonly #uploader: Uploader;
  readonly #folders: Folders;

  constructor(options: S3Options, root?: string, services = new KnownServices()) {
    this.identity = identityOf(options, root);
    this.#options = options;
    this.#keys = createKeys(options.prefix, root, this.#spellings);
    this.#bucket = new Bucket(options, services);
    this.#lookup = new Lookup(this.#bucket, this.#keys, this.#spellings);
    this.#conditional = new ConditionalWrites(this.#bucket, this.#keys.root, options.endpoint, services);
    this.#copier = new Copier(this.#bucket, this.#conditional);
    this.#uploader = new Uploader(this.#bucket, this.#conditional);
    this.#folders = new Folders(this.#bucket, this.#conditional, this.#copier, this.#uploader.locks);
  }

  /** `atomicCreate` and `ifMatch` are false until the first conditional write has shown them. */
  get capabilities(): StorageCapabilities {
    const { create, match } = this.#conditional.known;
    return {
      atomicCreate: create,
      ifMatch: match !== undefined,
      caseSensitive: true,
    };
  }

  /** Where everybody can read the object, if the bucket lets them. Never signed. */
  publicUrl(path: SourcePath): string {
    return publicUrlOf(this.#options, this.#keys.of(path));
  }

  async temporaryUrl(
    path: SourcePath,
    { lifetime, contentType, disposition, signal }: TemporaryUrlOptions,
  ): Promise<string> {
    const { connection, name: Bucket } = this.#bucket;
    const Key = this.#keys.of(path);
    const as = { ResponseContentType: contentType, ResponseContentDisposition: disposition };
    return connection.locally(`sign ${Key}`, signal, (s3) =>
      signedUrlOf(s3, { Bucket, Key, ...as }, lifetime),
    );
  }

  async stat(path: SourcePath, options: OperationOptions = {}): Promise<Stat> {
    options.signal?.throwIfAborted();
    if (path.isRoot) return folderStat(path);
    return this.#lookup.inAnySpelling(path, options, async () => {
      const head = await this.#bucket.find(this.#keys.of(path), options);
      if (head !== undefined) return fileStat(path, head, head.ContentLength);
      if (await this.#lookup.isFolder(path, options)) return folderStat(path);
      throw new NotFoundError();
    });
  }

  async *list(
    folder: SourcePath,
    options: ListOptions = {},
  ): AsyncGenerator<readonly Entry[], void, undefined> {
    options.signal?.throwIfAborted();
    if (yield* this.#lookup.entries(folder, options)) return;
    if ((await this.#lookup.isRespelled(folder, options)) && (yield* this.#lookup.entries(folder, options)))
      return;
    await this.#lookup.refuse(folder, 'folder', options);
  }

  async *walk(folder: SourcePath, options: TreeWalkOptions): AsyncGenerator<WalkPage, void, undefined> {
    options.signal?.throwIfAborted();
    await this.#requireFolder(folder, options);
    yield* walkKeys(this.#bucket, this.#keys.ofFolder(folder), folder, options);
  }

  async read(path: SourcePath, options: ReadOptions = {}): Promise<ReadResult> {
    options.signal?.throwIfAborted();
    if (path.isRoot) throw new WrongKindError();
    return this.#lookup.inAnySpelling(path, options, async () => {
      try {
        return await openObject(this.#bucket, path, this.#keys.of(path), options);
      } catch (error) {
        if (error instanceof NotFoundError) return this.#lookup.refuse(path, 'file', options);
        throw error;
      }
    });
  }

  async write(path: SourcePath, content: Readable, options: WriteOptions = {}): Promise<Stat> {
    return this.#write(path, content, options);
  }

  /** On this machine, so that what the service refuses for the moment can be sent again. */
  async stage(content: Readable, options: OperationOptions = {}): Promise<StagedFile> {
    return stageLocally(content, options, (path, file, more) =>
      this.#write(path, file.open(), { ...more, size: file.size }, () => file.open()),
    );
  }

  async makeFolder(path: SourcePath, options: OperationOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    await this.#folders.make(this.#newFolder(path), options);
  }

  /** `ifUnchanged` is decided by the service where it removes single versions (AWS), else checked before. */
  async removeFile(path: SourcePath, options: RemoveFileOptions = {}): Promise<void> {
    const { ifUnchanged, signal } = options;
    signal?.throwIfAborted();
    const { key, stat } = await this.#lookup.requireFile(path, { signal });
    if (ifUnchanged !== undefined && !isSameVersion(ifUnchanged, stat)) throw new ChangedMeanwhileError();
    const isDecided = ifUnchanged !== undefined && this.#conditional.known.remove;
    await this.#bucket.remove(key, { signal }, isDecided ? stat.etag : undefined);
    this.#spellings.forget(path);
  }

  async removeFolder(path: SourcePath, options: OperationOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    if (path.isRoot) throw new StorageDeniedError({ detail: 'the root cannot be removed' });
    await this.#lookup.withFolder(path, options, (folder) => this.#folders.remove(folder, options));
    this.#spellings.forget(path);
  }

  async removeEmptyFolder(path: SourcePath, options: OperationOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    if (path.isRoot) throw new StorageDeniedError({ detail: 'the root cannot be removed' });
    await this.#lookup.withFolder(path, options, (folder) => this.#folders.removeEmpty(folder, options));
    this.#spellings.forget(path);
    if (!path.parent.isRoot) await this.#folders.keep(this.#keys.ofFolder(path.parent), options);
  }

  async copyFile(from: SourcePath, to: SourcePath, options: PutOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    const copy = () => this.#transferFile(from, to, options, async () => undefined);
    await this.#locked(options.createOnly === true ? [this.#keys.toMake(to)] : [], options, copy);
  }

  /** Where the service removes single versions (AWS), a source replaced after its copy fails the move. */
  async moveFile(from: SourcePath, to: SourcePath, options: PutOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    // Also against writes of this process to the source: most services remove whatever has the key by then.
    const move: AfterCopy = (source, target) =>
      finishMove(this.#bucket, this.#conditional.known, {
        source: { key: source.key, size: source.size, etag: source.stat.etag },
        target,
        created: options.createOnly === true,
      });
    await this.#locked([this.#keys.of(from), this.#keys.toMake(to)], options, () =>
      this.#transferFile(from, to, options, move),
    );
  }

  async copyFolder(from: SourcePath, to: SourcePath, options: OperationOptions = {}): Promise<void> {
    await this.#transferFolder(from, to, options, (source, target) =>
      this.#folders.copy(source, target, options),
    );
  }

  async moveFolder(from: SourcePath, to: SourcePath, options: OperationOptions = {}): Promise<void> {
    await this.#transferFolder(from, to, options, (source, target) =>
      this.#folders.move(source, target, options),
    );
  }

  async close(): Promise<void> {
    await this.#bucket.connection.close();
  }

  /** `open` gives the content once more. */
  async #write(
    path: SourcePath,
    content: Readable,
    options: WriteOptions,
    open?: () => Readable,
  ): Promise<Stat> {
    const { createOnly = false, ifMatch, signal } = options;
    return consumeContent(content, options, async (chunks) => {
      const key = options.derived
        ? this.#keys.toMake(path)
        : await this.#lookup.freeOfFolder(path, createOnly, { signal });
      const request = { key, createOnly, ifMatch, chunks, size: options.size, open };
      const { size, etag } = await this.#uploader.upload(request, { signal });
      return { name: path.name, kind: 'file', size, modifiedAt: undefined, etag };
    });
  }

  async #transferFile(
    source: SourcePath,
    to: SourcePath,
    options: PutOptions,
    after: AfterCopy,
  ): Promise<void> {
    const { createOnly = false, signal } = options;
    const found = await this.#lookup.requireFile(source, options);
    if (source.equals(to)) {
      if (createOnly) throw new AlreadyExistsError();
      return;
    }
    const [target, isCheckedFree] = await Promise.all([
      this.#lookup.freeOfFolder(to, createOnly, options),
      createOnly && this.#copier.requireFree(this.#keys.of(to), options),
    ]);
    const { key: from, size, stat, storageClass } = found;
    const copy = { from, to: target, size, etag: stat.etag, storageClass, createOnly, isCheckedFree };
    const made = await this.#copier.copy(copy, { signal });
    await after(found, { key: target, etag: made });
  }

  /** Holds the locks of all these keys, in one order so that two operations never wait for each other. */
  #locked(keys: readonly string[], options: OperationOptions, work: () => Promise<void>): Promise<void> {
    const locked = [...new Set(keys)]
      .sort()
      .reduceRight<() => Promise<void>>(
        (inner, key) => () => this.#uploader.locks.hold(key, options, inner),
        work,
      );
    return locked();
  }

  /** @throws AlreadyExistsError for the root, UnsafeNameError, UnsafePathError */
  #newFolder(path: SourcePath): NewFolder {
    if (path.isRoot) throw new AlreadyExistsError();
    return { key: this.#keys.ofNewFolder(path), file: this.#keys.of(path) };
  }

  async #requireFolder(path: SourcePath, options: OperationOptions): Promise<void> {
    await this.#lookup.withFolder(path, options, async () => {
      if (!(await this.#lookup.isFolder(path, options))) throw new NotFoundError();
    });
  }

  async #transferFolder(
    from: SourcePath,
    to: SourcePath,
    options: OperationOptions,
    transfer: (source: string, target: NewFolder) => Promise<void>,
  ): Promise<void> {
    options.signal?.throwIfAborted();
    // Before the target is made: a missing source must not leave an empty folder.
    await this.#requireFolder(from, options);
    await transfer(this.#keys.ofFolder(from), this.#newFolder(to));
  }
}
