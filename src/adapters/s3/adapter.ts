import type { Readable } from 'node:stream';
import {
  AlreadyExistsError,
  NotFoundError,
  StorageDeniedError,
  WrongKindError,
} from '../../errors/errors.ts';
import type {
  Entry,
  ListOptions,
  OperationOptions,
  ReadOptions,
  ReadResult,
  StagedFile,
  Stat,
  StorageAdapter,
  StorageCapabilities,
  TransferFileOptions,
  WriteOptions,
} from '../../storage/adapter.ts';
import { consumeContent } from '../../storage/content.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { Spellings } from '../../storage/spellings.ts';
import { stageLocally } from '../../storage/staging.ts';
import { Bucket } from './bucket.ts';
import { ConditionalWrites, KnownServices } from './conditional-writes.ts';
import { claimFolder } from './claim-folder.ts';
import { Copier } from './copy-object.ts';
import { createKeys, type Keys } from './keys.ts';
import { Lookup } from './lookup.ts';
import { createNameLocks, type NameLocks } from '../../storage/name-locks.ts';
import type { S3Options } from './options.ts';
import { publicUrlOf } from './public-url.ts';
import { openObject } from './read-object.ts';
import type { Doomed } from './remove-keys.ts';
import { finishMove, type SourceObject } from './finish-move.ts';
import { fileStat, folderStat } from './stats.ts';
import { copyObjects, moveObjects, removeObjects, type TransferContext } from './transfer-folder.ts';
import { upload, type UploadContext } from './upload.ts';

/**
 * A bucket of S3 or of a service that speaks like it. A folder is an empty object with a slash at its end, or is there because keys lie
 * below it. Create-only writes are decided by the service where it has conditional writes (tried once); copies and moves look first, as
 * most services ignore conditions on copies, and follow one another inside this process.
 */
export class S3Adapter implements StorageAdapter {
  readonly #options: S3Options;
  readonly #bucket: Bucket;
  readonly #keys: Keys;
  readonly #conditional: ConditionalWrites;
  readonly #copier: Copier;
  readonly #spellings = new Spellings();
  readonly #lookup: Lookup;
  readonly #locks: NameLocks = createNameLocks();
  readonly #context: UploadContext;

  constructor(options: S3Options, root?: string, services = new KnownServices()) {
    this.#options = options;
    this.#keys = createKeys(options.prefix, root, this.#spellings);
    this.#bucket = new Bucket(options);
    this.#lookup = new Lookup(this.#bucket, this.#keys, this.#spellings);
    this.#conditional = new ConditionalWrites(this.#bucket, this.#keys.root, options.endpoint, services);
    this.#copier = new Copier(this.#bucket, this.#conditional);
    this.#context = { bucket: this.#bucket, conditional: this.#conditional, locks: this.#locks };
  }

  /** `atomicCreate` and `ifMatch` are false until the first conditional write has shown that the service has them. */
  get capabilities(): StorageCapabilities {
    const { create, match } = this.#conditional.known;
    return {
      atomicCreate: create,
      ifMatch: match !== undefined,
      atomicFolderMove: false,
      emptyFolders: true,
      caseSensitive: true,
      stableReads: false,
    };
  }

  /** Where everybody can read the object, if the bucket lets them. Never signed. */
  publicUrl(path: SourcePath): string {
    return publicUrlOf(this.#options, this.#keys.of(path));
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
    if (path.isRoot) throw new AlreadyExistsError();
    await this.#claimFolder(path, {}, options);
  }

  async removeFile(path: SourcePath, options: OperationOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    const { key } = await this.#lookup.requireFile(path, options);
    await this.#bucket.remove(key, options);
    this.#spellings.forget(path);
  }

  async removeFolder(path: SourcePath, options: OperationOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    if (path.isRoot) throw new StorageDeniedError({ detail: 'the root cannot be removed' });
    await this.#lookup.inAnySpelling(path, options, async () => {
      try {
        await removeObjects(this.#bucket, this.#keys.ofFolder(path), options);
      } catch (error) {
        if (error instanceof NotFoundError) return this.#lookup.refuse(path, 'folder', options);
        throw error;
      }
    });
    this.#spellings.forget(path);
  }

  async copyFile(from: SourcePath, to: SourcePath, options: TransferFileOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    await this.#transferFile(from, to, options, async () => undefined);
  }

  /** Where the service removes single versions (AWS), a source that was replaced after its copy stays, and the move fails. */
  async moveFile(from: SourcePath, to: SourcePath, options: TransferFileOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    await this.#transferFile(from, to, options, (source, target) =>
      finishMove(this.#bucket, this.#conditional.known, {
        source,
        target,
        created: options.createOnly === true,
      }),
    );
  }

  async copyFolder(from: SourcePath, to: SourcePath, options: OperationOptions = {}): Promise<void> {
    await this.#transferFolder(from, to, options, copyObjects);
  }

  async moveFolder(from: SourcePath, to: SourcePath, options: OperationOptions = {}): Promise<void> {
    await this.#transferFolder(from, to, options, moveObjects);
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
      const key = options.noFolder
        ? this.#keys.toMake(path)
        : await this.#lookup.freeOfFolder(path, createOnly, { signal });
      const request = { key, createOnly, ifMatch, chunks, size: options.size, open };
      const { size, etag } = await upload(this.#context, request, { signal });
      return { name: path.name, kind: 'file', size, modifiedAt: undefined, etag };
    });
  }

  async #transferFile(
    from: SourcePath,
    to: SourcePath,
    options: TransferFileOptions,
    after: (source: SourceObject, target: Doomed) => Promise<void>,
  ): Promise<void> {
    const { createOnly = false, signal, seen } = options;
    const work = async (): Promise<void> => {
      const source =
        seen?.kind === 'file' && seen.size !== undefined
          ? { key: this.#keys.of(from), size: seen.size, etag: seen.etag }
          : await this.#lookup.requireFile(from, options);
      if (from.equals(to)) {
        if (createOnly) throw new AlreadyExistsError();
        return;
      }
      const [target] = await Promise.all([
        this.#lookup.freeOfFolder(to, createOnly, options),
        createOnly ? this.#copier.requireFree(this.#keys.of(to), options) : undefined,
      ]);
      const { key, size, etag } = source;
      const made = await this.#copier.copy({ from: key, to: target, size, etag, createOnly }, { signal });
      await after(source, { key: target, etag: made });
    };
    await (createOnly ? this.#locks.hold(this.#keys.toMake(to), options, work) : work());
  }

  #claimFolder(
    path: SourcePath,
    metadata: Readonly<Record<string, string>>,
    options: OperationOptions,
  ): Promise<void> {
    const ends = { key: this.#keys.ofNewFolder(path), file: this.#keys.of(path) };
    return claimFolder(this.#context, ends, metadata, options);
  }

  async #transferFolder(
    from: SourcePath,
    to: SourcePath,
    options: OperationOptions,
    transfer: typeof copyObjects,
  ): Promise<void> {
    options.signal?.throwIfAborted();
    // Before the target is made: a missing source must not leave an empty folder.
    await this.#lookup.inAnySpelling(from, options, async () => {
      if (!(await this.#lookup.isFolder(from, options))) await this.#lookup.refuse(from, 'folder', options);
    });
    const ends = { from: this.#keys.ofFolder(from), to: this.#keys.ofNewFolder(to) };
    if (to.isRoot) throw new AlreadyExistsError();
    const context: TransferContext = {
      bucket: this.#bucket,
      copier: this.#copier,
      support: this.#conditional.known,
      claim: (_key, metadata) => this.#claimFolder(to, metadata, options),
    };
    await this.#locks.hold(`${ends.to}*`, options, () => transfer(context, ends, options));
  }
}
