import { LRUCache } from 'lru-cache';
import { forEachAtOnce } from '../../basics/concurrency/queues.ts';
import { createNameLocks } from '../../basics/concurrency/name-locks.ts';
import { TimeSlice } from '../../basics/concurrency/time-slice.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { ChangedMeanwhileError, ifNoSuch, ifOnly, isRefusal } from '../../errors/errors.ts';
import type { Entry, StorageAdapter } from '../adapter.ts';
import type { CopiedTree } from '../copy-tree.ts';
import { streamOf } from '../content.ts';
import { createStoreKeys, isSameLocation, type StoreLocation } from '../location.ts';
import type { ReadableStore } from '../readable.ts';
import {
  findNames,
  MOST_RECORD_BYTES,
  pagesOf,
  readRecord,
  type ReadRecord,
  recordName,
  untilNotOvertaken,
  versionOf,
  writeRecord,
} from '../records.ts';
import type { SourcePath } from '../source-path.ts';
import { type About, type AboutPatch, aboutPaths, isNothing, parseAbout, patched } from './about.ts';

const READS_AT_ONCE = 16;
/** Number of records whose names are computed without a pause: about a millisecond. */
const MANY = 256;
const COPIES_AT_ONCE = 4;
/** During a copy, number of folders whose lists of records are cached. */
const MOST_FOLDERS = 64;
/** Limits of the cache of texts. An entry counts its length as JSON, plus a constant for its path. */
const CACHE = { maxSize: 16 * 1024 * 1024, ttl: 60_000 };
const BYTES_OF_A_KEY = 300;

/** Folders that this process changed within the last seconds: requests may hold outdated lookups of them. */
const WRITTEN = { maxSize: 10_000, sizeCalculation: () => 1, ttl: 10_000 };

interface Remembered {
  readonly version: string;
  readonly about: About;
}

const recordOf = ({ storage, path }: StoreLocation): SourcePath => aboutPaths.record(storage, path);

const bytesOf = (about: About): Buffer => Buffer.from(JSON.stringify(about));

const readOnce = (location: StoreLocation): Promise<ReadRecord | undefined> =>
  readRecord(location.storage, recordOf(location));

/** Stores occasionally report an existing record as missing, and a missed one is lost: read twice. */
const readSurely = async (location: StoreLocation): Promise<ReadRecord | undefined> =>
  (await readOnce(location)) ?? readOnce(location);

/** Removes this version of a record, and its folder with the last one. @throws ChangedMeanwhileError */
const remove = async (location: StoreLocation, version?: ReadRecord['version']): Promise<void> => {
  const { storage } = location;
  const record = recordOf(location);
  try {
    // The record rarely exists: a stat with `mayMiss` is the cheapest check.
    if (version === undefined) await storage.stat(record, { mayMiss: true, expects: 'file' });
    await storage.removeFile(record, { ifUnchanged: version });
  } catch (error) {
    return ifNoSuch(error);
  }
  // The folder may hold other records.
  await storage.removeEmptyFolder(record.parent).catch(() => undefined);
};

/** The texts in a record; undefined when it has none. */
const aboutOf = (record: ReadRecord | undefined): About | undefined => {
  const about = parseAbout(record?.text);
  return isNothing(about) ? undefined : about;
};

/**
 * Reads and writes the texts about files in all stores. A record belongs to a name, whatever its content; the
 * stages of changes move it along. Undefined means no texts.
 */
export class AboutKeeper {
  readonly #locks = createNameLocks();
  readonly #keyOf = createStoreKeys();
  readonly #known = new LRUCache<string, Remembered>({
    ...CACHE,
    sizeCalculation: ({ about }) => BYTES_OF_A_KEY + JSON.stringify(about).length,
  });
  readonly #written = new LRUCache<string, true>(WRITTEN);
  readonly #complained = new WeakSet<ReadableStore>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Whether this process has recently changed texts in a folder, so that earlier lookups may be outdated. */
  isWrittenLately(store: ReadableStore, folder: SourcePath): boolean {
    return this.#written.has(this.#keyOf(store, folder));
  }

  /**
   * The texts about files of one folder, in the order of their names. Costs one request for the folder, and a
   * read for each file that has texts which are not cached. Texts that the store refuses to show, such as
   * those of another user after a restore, are left out, which is logged.
   * @throws other errors of the store, the signal's reason
   */
  async of(
    store: ReadableStore,
    folder: SourcePath,
    names: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<readonly (About | undefined)[]> {
    const all = aboutPaths.all(folder);
    const leaveOut = (error: unknown): undefined => this.#leaveOut(store, folder, error);
    const found: (About | undefined)[] = names.map(() => undefined);
    const records = await this.#namesOf(store, folder, names, signal).catch(leaveOut);
    if (records === undefined) return found;
    const existing = await findNames(store, all, new Set(records), { signal }).catch(leaveOut);
    const read = records.flatMap((record, index) => {
      const entry = existing?.get(record);
      return entry === undefined ? [] : [{ path: all.below(record), index, entry }];
    });
    await forEachAtOnce(READS_AT_ONCE, read, async ({ path, index, entry }) => {
      signal?.throwIfAborted();
      found[index] = await this.#read(store, path, entry, signal).catch(leaveOut);
    });
    return found;
  }

  /** The texts about one file. @throws errors of the store */
  async read(location: StoreLocation): Promise<About | undefined> {
    return aboutOf(await readSurely(location));
  }

  /** The focal point of a picture. Costs one request, and a read where there are texts about it. */
  async focusOf(store: ReadableStore, path: SourcePath, signal: AbortSignal): Promise<About['focalPoint']> {
    const record = await readRecord(store, aboutPaths.record(store, path), { signal });
    return parseAbout(record?.text).focalPoint;
  }

  /** Changes the texts about a file. Concurrent changes to other fields are kept. */
  patch(
    location: StoreLocation,
    patch: AboutPatch | ((about: About) => AboutPatch),
  ): Promise<{ readonly before: About; readonly after: About }> {
    const attempt = async () => {
      const record = await readSurely(location);
      const before = parseAbout(record?.text);
      const wanted = typeof patch === 'function' ? patch(before) : patch;
      if (isNothing(wanted)) return { before, after: before };
      const after = patched(before, wanted);
      if (isNothing(after)) await remove(location, record?.version);
      else await writeRecord(location.storage, recordOf(location), bytesOf(after), record?.version);
      return { before, after };
    };
    return this.#hold(location, () => untilNotOvertaken(attempt));
  }

  /** Sets the texts of a new file. They replace all texts of an earlier file of this name. */
  set(location: StoreLocation, about: About | undefined): Promise<void> {
    return this.#hold(location, () => {
      if (about === undefined || isNothing(about)) return remove(location);
      const bytes = bytesOf(about);
      // An existing record can only belong to an older file.
      const overwrite = () =>
        location.storage.write(recordOf(location), streamOf(bytes), { size: bytes.length });
      return untilNotOvertaken(async () => void (await overwrite()));
    });
  }

  /**
   * Finds texts that an older file left under a name. Returns the function that removes them, to be called
   * when a new file has the name; texts written in the meantime stay. Undefined when there are none.
   */
  async left(location: StoreLocation): Promise<(() => Promise<void>) | undefined> {
    const record = await readOnce(location);
    if (record === undefined) return undefined;
    const forget = (): Promise<void> => remove(location, record.version).catch(ifOnly(ChangedMeanwhileError));
    return () => this.#hold(location, forget);
  }

  /** Copies the texts of a file to its copy. */
  async copied(from: StoreLocation, to: StoreLocation): Promise<void> {
    await this.set(to, await this.read(from));
  }

  /** Moves the texts of a moved file. At every moment they are at one of the two names at least. */
  async moved(from: StoreLocation, to: StoreLocation): Promise<void> {
    const isSame =
      isSameLocation(from, to) || (from.storage === to.storage && recordOf(from).equals(recordOf(to)));
    if (isSame) return;
    const attempt = async (): Promise<void> => {
      const record = await readSurely(from);
      await this.set(to, aboutOf(record));
      if (record !== undefined) await this.#hold(from, () => remove(from, record.version));
    };
    await untilNotOvertaken(attempt, (error) => error instanceof ChangedMeanwhileError);
  }

  /** Copies the texts of all files of a folder that was copied into another store or source. */
  async carry(from: StorageAdapter, to: StorageAdapter, files: CopiedTree['files']): Promise<void> {
    const folders = new LRUCache<string, Promise<ReadonlySet<string>>>({ max: MOST_FOLDERS });
    const recordsIn = (folder: SourcePath): Promise<ReadonlySet<string>> => {
      const key = folder.toString();
      const found = folders.get(key) ?? this.#recordsIn(from, folder);
      folders.set(key, found);
      return found;
    };
    await forEachAtOnce(COPIES_AT_ONCE, files(), async (file) => {
      if (!(await recordsIn(file.from.parent)).has(recordName(from, file.from.name))) return;
      await this.copied({ storage: from, path: file.from }, { storage: to, path: file.to });
    });
  }

  /** The names of the records. Undefined for many names whose record folder does not exist. */
  async #namesOf(
    store: ReadableStore,
    folder: SourcePath,
    names: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<readonly string[] | undefined> {
    if (names.length <= MANY) return names.map((name) => recordName(store, name));
    if ((await this.#recordsIn(store, folder, signal)).size === 0) return undefined;
    const slice = new TimeSlice(signal ?? new AbortController().signal);
    const records: string[] = [];
    for (const name of names) {
      if (records.length % MANY === 0 && slice.due) await slice.rest();
      records.push(recordName(store, name));
    }
    return records;
  }

  async #recordsIn(
    store: ReadableStore,
    folder: SourcePath,
    signal?: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const names = new Set<string>();
    const options = { detail: 'names', mayMiss: true, signal } as const;
    for await (const page of pagesOf(store, aboutPaths.all(folder), options))
      for (const { name } of page) names.add(name);
    return names;
  }

  async #read(
    store: ReadableStore,
    record: SourcePath,
    entry: Entry,
    signal: AbortSignal | undefined,
  ): Promise<About | undefined> {
    const [key, version] = [this.#keyOf(store, record), versionOf(entry)];
    const known = this.#known.get(key);
    if (known?.version === version) return known.about;
    const isOurs = (entry.size ?? 0) <= MOST_RECORD_BYTES;
    const about = isOurs ? aboutOf(await readRecord(store, record, { signal })) : undefined;
    if (about !== undefined) this.#known.set(key, { version, about });
    return about;
  }

  /** @throws the error, unless the store has only refused to show texts */
  #leaveOut(store: ReadableStore, folder: SourcePath, error: unknown): undefined {
    if (!isRefusal(error)) throw error;
    const level = this.#complained.has(store) ? 'debug' : 'warn';
    this.#complained.add(store);
    this.#log[level]('Words about files cannot be read.', { folder: folder.toString(), error });
  }

  /** Serializes the changes of this process to one record, and drops it from the cache. */
  async #hold<T>(location: StoreLocation, work: () => Promise<T>): Promise<T> {
    const key = this.#keyOf(location.storage, recordOf(location));
    const folder = this.#keyOf(location.storage, location.path.parent);
    try {
      return await this.#locks.hold(key, {}, work);
    } finally {
      this.#written.set(folder, true);
      this.#known.delete(key);
    }
  }
}
