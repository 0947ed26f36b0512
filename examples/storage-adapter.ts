/**
 * A storage adapter with only the required operations, over any key-value store. `test/adapters/example.test.ts` runs the conformance
 * suite for it. It holds whole files in memory: do not use it as a model for large files.
 */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  AlreadyExistsError,
  ChangedMeanwhileError,
  consumeContent,
  isSegment,
  NotEmptyError,
  NotFoundError,
  registerStorageAdapter,
  StorageDeniedError,
  UnsupportedError,
  WrongKindError,
  type Entry,
  type ListOptions,
  type OperationOptions,
  type PutOptions,
  type ReadOptions,
  type ReadResult,
  type RemoveFileOptions,
  type SourcePath,
  type Stat,
  type StorageAdapter,
  type WriteOptions,
} from 'stowage/storage';

/** A value with its time and version. */
export interface Value {
  readonly bytes: Uint8Array;
  readonly modifiedAt: number;
  readonly version: string;
}

/** The key-value store: Redis, a table, or the Map at the end of this file. */
export interface KeyValueStore {
  get(key: string): Promise<Value | undefined>;
  /** With `ifAbsent`, false if the key already has a value. The store must check this atomically. */
  put(key: string, value: Value, ifAbsent: boolean): Promise<boolean>;
  /** With `version`, false if the key has another version. The store must check this atomically. */
  delete(key: string, version?: string): Promise<boolean>;
  keys(prefix: string): Promise<readonly string[]>;
}

export class KeyValueAdapter implements StorageAdapter {
  readonly capabilities = {
    atomicCreate: true,
    ifMatch: false,
    caseSensitive: true,
    versions: true,
    stableReads: true,
  };
  readonly #store: KeyValueStore;

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  async stat(path: SourcePath, { signal }: OperationOptions = {}): Promise<Stat> {
    signal?.throwIfAborted();
    const value = await this.#store.get(fileKey(path));
    if (value !== undefined) return statOf(path, value);
    if (!(await this.#isFolder(path))) throw new NotFoundError();
    return { name: path.name, kind: 'folder', size: undefined, modifiedAt: undefined, etag: undefined };
  }

  async *list(folder: SourcePath, { signal, onOmitted }: ListOptions = {}): AsyncGenerator<readonly Entry[]> {
    if ((await this.stat(folder, { signal })).kind === 'file') throw new WrongKindError();
    const prefix = folderKey(folder);
    const kinds = new Map<string, Entry['kind']>();
    const omitted = new Set<string>();
    for (const key of await this.#store.keys(prefix)) {
      const [name = '', ...deeper] = key.slice(prefix.length).split('/');
      if (isSegment(name)) kinds.set(name, deeper.length > 0 ? 'folder' : 'file');
      else if (name !== '') omitted.add(name);
    }
    if (omitted.size > 0) onOmitted?.(omitted.size);
    const page: Entry[] = [];
    for (const [name, kind] of kinds) {
      signal?.throwIfAborted();
      const value = kind === 'file' ? await this.#store.get(prefix + name) : undefined;
      if (kind === 'folder' || value !== undefined) {
        page.push({ name, kind, size: value?.bytes.length, modifiedAt: value?.modifiedAt });
      }
    }
    if (page.length > 0) yield page;
  }

  async read(path: SourcePath, { signal, range, ifMatch }: ReadOptions = {}): Promise<ReadResult> {
    const value = await this.#file(path, signal);
    const stat = statOf(path, value);
    if (ifMatch !== undefined && ifMatch !== stat.etag) throw new ChangedMeanwhileError();
    const bytes = range === undefined ? value.bytes : value.bytes.subarray(range.start, range.end + 1);
    return { stat, stream: Readable.from([bytes], { objectMode: false }) };
  }

  write(path: SourcePath, content: Readable, options: WriteOptions = {}): Promise<Stat> {
    // Owns the content from here on: catches its errors, checks its length, respects the signal, and finally destroys it.
    return consumeContent(content, options, async (chunks) => {
      if (options.ifMatch !== undefined) throw new UnsupportedError();
      const received: Uint8Array[] = [];
      for await (const chunk of chunks) received.push(chunk);
      options.signal?.throwIfAborted();
      return this.#put(path, Buffer.concat(received), options);
    });
  }

  async makeFolder(path: SourcePath, { signal }: OperationOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    if ((await this.#store.get(fileKey(path))) !== undefined) throw new AlreadyExistsError();
    if (await this.#isFolder(path)) throw new AlreadyExistsError();
    await this.#makeParents(path);
    if (!(await this.#store.put(folderKey(path), newValue(new Uint8Array()), true)))
      throw new AlreadyExistsError();
  }

  async removeFile(path: SourcePath, { signal, ifUnchanged }: RemoveFileOptions = {}): Promise<void> {
    const { version } = await this.#file(path, signal);
    if (ifUnchanged !== undefined && ifUnchanged.etag !== etagOf(version)) throw new ChangedMeanwhileError();
    const isRemoved = await this.#store.delete(fileKey(path), ifUnchanged && version);
    if (!isRemoved && ifUnchanged !== undefined) throw new ChangedMeanwhileError();
  }

  async removeFolder(path: SourcePath, { signal }: OperationOptions = {}): Promise<void> {
    if ((await this.stat(path, { signal })).kind === 'file') throw new WrongKindError();
    if (path.isRoot) throw new StorageDeniedError();
    for (const key of await this.#store.keys(folderKey(path))) await this.#store.delete(key);
  }

  async removeEmptyFolder(path: SourcePath, { signal }: OperationOptions = {}): Promise<void> {
    if ((await this.stat(path, { signal })).kind === 'file') throw new WrongKindError();
    if (path.isRoot) throw new StorageDeniedError();
    const keys = await this.#store.keys(folderKey(path));
    if (keys.some((key) => key !== folderKey(path))) throw new NotEmptyError();
    await this.#store.delete(folderKey(path));
  }

  async copyFile(from: SourcePath, to: SourcePath, options: PutOptions = {}): Promise<void> {
    const { bytes } = await this.#file(from, options.signal);
    await this.#put(to, bytes, options);
  }

  async moveFile(from: SourcePath, to: SourcePath, options: PutOptions = {}): Promise<void> {
    const { bytes, modifiedAt, version } = await this.#file(from, options.signal);
    if (from.equals(to) && options.createOnly !== true) return;
    await this.#put(to, bytes, options, modifiedAt);
    // A value that another writer has stored meanwhile stays.
    await this.#store.delete(fileKey(from), version);
  }

  async #file(path: SourcePath, signal: AbortSignal | undefined): Promise<Value> {
    if ((await this.stat(path, { signal })).kind === 'folder') throw new WrongKindError();
    const value = await this.#store.get(fileKey(path));
    if (value === undefined) throw new NotFoundError();
    return value;
  }

  async #put(path: SourcePath, bytes: Uint8Array, options: PutOptions, modifiedAt?: number): Promise<Stat> {
    if (await this.#isFolder(path))
      throw options.createOnly === true ? new AlreadyExistsError() : new WrongKindError();
    await this.#makeParents(path);
    const value = newValue(bytes, modifiedAt);
    const isPut = await this.#store.put(fileKey(path), value, options.createOnly === true);
    if (!isPut) throw new AlreadyExistsError();
    return statOf(path, value);
  }

  async #makeParents(path: SourcePath): Promise<void> {
    for (let folder = path.parent; !folder.isRoot; folder = folder.parent) {
      if ((await this.#store.get(fileKey(folder))) !== undefined) throw new WrongKindError();
      await this.#store.put(folderKey(folder), newValue(new Uint8Array()), true);
    }
  }

  async #isFolder(path: SourcePath): Promise<boolean> {
    return path.isRoot || (await this.#store.keys(folderKey(path))).length > 0;
  }
}

const fileKey = (path: SourcePath): string => path.toString();
const folderKey = (path: SourcePath): string => (path.isRoot ? '' : `${path.toString()}/`);

const etagOf = (version: string): string => `"${version}"`;

const newValue = (bytes: Uint8Array, modifiedAt = Date.now()): Value => ({
  bytes,
  modifiedAt,
  version: randomUUID(),
});

const statOf = (path: SourcePath, value: Value): Stat => ({
  name: path.name,
  kind: 'file',
  size: value.bytes.length,
  modifiedAt: value.modifiedAt,
  etag: etagOf(value.version),
});

/** Values in a Map. */
export const createMapStore = (): KeyValueStore => {
  const values = new Map<string, Value>();
  return {
    get: async (key) => values.get(key),
    put: async (key, value, ifAbsent) => {
      if (ifAbsent && values.has(key)) return false;
      values.set(key, value);
      return true;
    },
    delete: async (key, version) =>
      version === undefined || values.get(key)?.version === version ? values.delete(key) : false,
    keys: async (prefix) => [...values.keys()].filter((key) => key.startsWith(prefix)),
  };
};

// From now on sources can use `storageAdapter: 'map'`.
registerStorageAdapter('map', { create: () => new KeyValueAdapter(createMapStore()) });
