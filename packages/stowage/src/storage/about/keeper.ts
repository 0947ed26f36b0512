import { LRUCache } from 'lru-cache';
import { forEachAtOnce } from '../../basics/concurrency/queues.ts';
import { createNameLocks } from '../../basics/concurrency/name-locks.ts';
import { TimeSlice } from '../../basics/concurrency/time-slice.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { ChangedMeanwhileError, ifOnly } from '../../errors/errors.ts';
import type { Entry, StorageAdapter } from '../adapter.ts';
import type { CopiedTree } from '../copy-tree.ts';
import { createStoreKeys, isSameLocation, type StoreLocation } from '../location.ts';
import type { ReadableStore } from '../readable.ts';
import {
  findNames,
  MOST_RECORD_BYTES,
  pagesOf,
  isUnreadable,
  readRecord,
  recordNames,
  untilNotOvertaken,
  versionOf,
} from '../records.ts';
import type { SourcePath } from '../source-path.ts';
import {
  aboutOf,
  isAbout,
  readOnce,
  readSurely,
  recordOf,
  removeRecords,
  replaceRecords,
} from './about-records.ts';
import {
  type About,
  type AboutPatch,
  aboutPaths,
  isNothing,
  parseAbout,
  patched,
  type WrittenAbout,
} from './about.ts';

const READS_AT_ONCE = 16;
/** Number of files whose records' names are computed without a pause: about a millisecond. */
const MANY = 256;
const NONE: readonly string[] = [];
const COPIES_AT_ONCE = 4;
/** During a copy, number of folders whose lists of records are cached. */
const MOST_FOLDERS = 64;
/** Limits of the cache of texts. An entry counts its length as JSON, plus a constant for its path. */
const CACHE = { maxSize: 16 * 1024 * 1024, ttl: 60_000 };
const BYTES_OF_A_KEY = 300;

/** Folders that this process changed within the last seconds: requests may hold outdated lookups of them. */
const WRITTEN = { maxSize: 10_000, sizeCalculation: () => 1, ttl: 10_000 };

interface Remembered extends WrittenAbout {
  readonly version: string;
}

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
    const existing = await findNames(store, all, new Set(records.flat()), { signal }).catch(leaveOut);
    const read = names.flatMap((name, index) => {
      const record = records[index]?.find((one) => existing?.has(one) === true);
      const entry = record === undefined ? undefined : existing?.get(record);
      return entry === undefined ? [] : [{ name, index, entry }];
    });
    let known: ReadonlySet<string> | undefined;
    const isThere = (name: string): boolean => (known ??= new Set(names)).has(name);
    await forEachAtOnce(READS_AT_ONCE, read, async ({ name, index, entry }) => {
      signal?.throwIfAborted();
      const record = await this.#read(store, all.below(entry.name), entry, signal).catch(leaveOut);
      const isOwn = recordNames(store, name)[0] === entry.name;
      if (record !== undefined && (await isAbout(store, name, { ...record, isOwn }, isThere)))
        found[index] = record.about;
    });
    return found;
  }

  /** The texts about one file. @throws errors of the store */
  async read(location: StoreLocation): Promise<About | undefined> {
    return aboutOf(await readSurely(location));
  }

  /** The focal point of a picture. Costs two requests at once, and a read where there are texts about it. */
  async focusOf(storage: ReadableStore, path: SourcePath, signal: AbortSignal): Promise<About['focalPoint']> {
    return aboutOf(await readOnce({ storage, path }, { signal }))?.focalPoint;
  }

  /** Changes the texts about a file. Concurrent changes to other fields are kept. */
  patch(
    location: StoreLocation,
    patch: AboutPatch | ((about: About) => AboutPatch),
  ): Promise<{ readonly before: About; readonly after: About }> {
    const attempt = async () => {
      const records = await readSurely(location);
      const before = aboutOf(records) ?? {};
      const wanted = typeof patch === 'function' ? patch(before) : patch;
      if (isNothing(wanted)) return { before, after: before };
      const after = patched(before, wanted);
      await replaceRecords(location, records, after);
      return { before, after };
    };
    return this.#hold(location, () => untilNotOvertaken(attempt));
  }

  /** Sets the texts of a new file. They replace all texts of an earlier file of this name. */
  set(location: StoreLocation, about: About = {}): Promise<void> {
    const attempt = async () => {
      // Unreadable texts stay rather than be lost with a file that may come back from the trash.
      const records = await readOnce(location, { replaces: !isNothing(about) });
      await replaceRecords(location, records, about);
    };
    return this.#hold(location, () => untilNotOvertaken(attempt));
  }

  /**
   * Finds texts that an older file left under a name. Returns the function that removes them, to be called
   * when a new file has the name; texts written in the meantime stay. Undefined when there are none.
   */
  async left(location: StoreLocation): Promise<(() => Promise<void>) | undefined> {
    const records = (await readOnce(location, { replaces: true })).filter(({ isOurs }) => isOurs);
    if (records.length === 0) return undefined;
    const forget = () => removeRecords(location.storage, records).catch(ifOnly(ChangedMeanwhileError));
    return () => this.#hold(location, forget);
  }

  /** Copies the texts of a file to its copy. */
  async copied(from: StoreLocation, to: StoreLocation): Promise<void> {
    await this.set(to, await this.read(from));
  }

  /** Moves the texts of a moved file. At every moment they are at one of the two names at least. */
  async moved(from: StoreLocation, to: StoreLocation): Promise<void> {
    // A record has the name of its file, so a change of letter case changes it too.
    if (isSameLocation(from, to) && from.path.name === to.path.name) return;
    const { storage } = from;
    const written = { storage: to.storage, path: recordOf(to) };
    const attempt = async (): Promise<void> => {
      const records = await readSurely(from, { moved: to });
      await this.set(to, aboutOf(records));
      const left = records.filter(
        ({ isOurs, path }) => isOurs && !isSameLocation({ storage, path }, written),
      );
      await this.#hold(from, () => removeRecords(storage, left));
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
      const records = await recordsIn(file.from.parent);
      if (!recordNames(from, file.from.name).some((name) => records.has(name))) return;
      await this.copied({ storage: from, path: file.from }, { storage: to, path: file.to });
    });
  }

  /**
   * The names of the records of each file; of many files only those that exist. Undefined for many names
   * whose record folder does not exist.
   */
  async #namesOf(
    store: ReadableStore,
    folder: SourcePath,
    names: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<readonly (readonly string[])[] | undefined> {
    if (names.length <= MANY) return names.map((name) => recordNames(store, name));
    const existing = await this.#recordsIn(store, folder, signal);
    if (existing.size === 0) return undefined;
    const slice = new TimeSlice(signal ?? new AbortController().signal);
    const records: (readonly string[])[] = [];
    for (const name of names) {
      if (records.length % MANY === 0 && slice.due) await slice.rest();
      const some = recordNames(store, name).filter((record) => existing.has(record));
      records.push(some.length === 0 ? NONE : some);
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
  ): Promise<WrittenAbout | undefined> {
    const [key, version] = [this.#keyOf(store, record), versionOf(entry)];
    const known = this.#known.get(key);
    if (known?.version === version) return known;
    const isOurs = (entry.size ?? 0) <= MOST_RECORD_BYTES;
    const read = isOurs ? parseAbout((await readRecord(store, record, { signal }))?.text) : undefined;
    if (read === undefined || isNothing(read.about)) return undefined;
    this.#known.set(key, { version, ...read });
    return read;
  }

  /** @throws the error, unless the store has only refused to show texts */
  #leaveOut(store: ReadableStore, folder: SourcePath, error: unknown): undefined {
    if (!isUnreadable(error)) throw error;
    const level = this.#complained.has(store) ? 'debug' : 'warn';
    this.#complained.add(store);
    this.#log[level]('Words about files cannot be read.', { folder: folder.toString(), error });
  }

  /** Serializes the changes of this process to the records of one file, and drops them from the cache. */
  async #hold<T>(location: StoreLocation, work: () => Promise<T>): Promise<T> {
    const { storage, path } = location;
    const keys = aboutPaths.records(storage, path).map((record) => this.#keyOf(storage, record));
    try {
      return await this.#locks.hold(keys, {}, work);
    } finally {
      this.#written.set(this.#keyOf(storage, path.parent), true);
      for (const key of keys) this.#known.delete(key);
    }
  }
}
