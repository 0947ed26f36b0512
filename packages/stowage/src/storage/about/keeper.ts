import { isDeepStrictEqual } from 'node:util';
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
  isUnreadable,
  MOST_RECORD_BYTES,
  pagesOf,
  readRecord,
  recordName,
  untilNotOvertaken,
  versionOf,
} from '../records.ts';
import type { SourcePath } from '../source-path.ts';
import { aboutIn, type FoundAbout, readOnce, readSurely, replace } from './about-records.ts';
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
/** Number of records whose names are computed without a pause: about a millisecond. */
const MANY = 256;
const COPIES_AT_ONCE = 4;
/** During a copy, number of folders whose lists of records are cached. */
const MOST_FOLDERS = 64;
/** Limits of the cache of descriptions. An entry counts its length as JSON, plus a constant for its path. */
const CACHE = { maxSize: 16 * 1024 * 1024, ttl: 60_000 };
const BYTES_OF_A_KEY = 300;

/** Folders that this process changed within the last seconds: requests may hold outdated lookups of them. */
const WRITTEN = { maxSize: 10_000, sizeCalculation: () => 1, ttl: 10_000 };

interface Remembered {
  readonly version: string;
  readonly written: WrittenAbout;
}

/**
 * Reads and writes the descriptions of files in all stores. A record belongs to a name, whatever its content;
 * the stages of changes move it along. Undefined means no description.
 */
export class AboutKeeper {
  readonly #locks = createNameLocks();
  readonly #keyOf = createStoreKeys();
  readonly #known = new LRUCache<string, Remembered>({
    ...CACHE,
    sizeCalculation: ({ written }) => BYTES_OF_A_KEY + JSON.stringify(written).length,
  });
  readonly #written = new LRUCache<string, true>(WRITTEN);
  readonly #complained = new WeakSet<ReadableStore>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Whether this process has recently changed a description in a folder: earlier lookups may be outdated. */
  isWrittenLately(store: ReadableStore, folder: SourcePath): boolean {
    return this.#written.has(this.#keyOf(store, folder));
  }

  /**
   * The descriptions of files of one folder, in the order of their names. Costs one request for the folder, and
   * a read for each one that is not cached. Those that the store denies, such as those of another user after a
   * restore, are left out, which is logged.
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
    const read = names.flatMap((name, index) => {
      const entry = existing?.get(records[index] ?? '');
      return entry === undefined ? [] : [{ name, index, entry }];
    });
    await forEachAtOnce(READS_AT_ONCE, read, async ({ name, index, entry }) => {
      signal?.throwIfAborted();
      const written = await this.#read(store, all.below(entry.name), entry, signal).catch(leaveOut);
      found[index] = aboutIn(store, name, written ?? []).about;
    });
    return found;
  }

  /** The description of one file. @throws errors of the store */
  async read(location: StoreLocation): Promise<About | undefined> {
    return (await readSurely(location)).about;
  }

  /** The focal point of a picture. Costs one request, and a read where it is described. */
  async focusOf(storage: ReadableStore, path: SourcePath, signal: AbortSignal): Promise<About['focalPoint']> {
    return (await readOnce({ storage, path }, { signal })).about?.focalPoint;
  }

  /** Changes the description of a file. Concurrent changes to other fields are kept. */
  patch(
    location: StoreLocation,
    patch: AboutPatch | ((about: About) => AboutPatch),
  ): Promise<{ readonly before: About; readonly after: About }> {
    const attempt = async () => {
      const found = await readSurely(location);
      const { about: before = {} } = found;
      const wanted = typeof patch === 'function' ? patch(before) : patch;
      if (isNothing(wanted)) return { before, after: before };
      const after = patched(before, wanted);
      await replace(location, found, after);
      return { before, after };
    };
    return this.#hold(location, () => untilNotOvertaken(attempt));
  }

  /** Sets the description of a new file. It replaces that of an earlier file of this name. */
  set(location: StoreLocation, about: About | undefined): Promise<void> {
    const attempt = async () => {
      // An unreadable one stays rather than be lost with a file that may come back from the trash.
      const found = await readOnce(location, { replaces: about !== undefined });
      if (about !== undefined || found.about !== undefined || found.others.length === 0)
        await replace(location, found, about);
    };
    return this.#hold(location, () => untilNotOvertaken(attempt));
  }

  /**
   * Finds a description that an older file left under a name. Returns the function that removes it, to be
   * called when a new file has the name; one written in the meantime stays. Undefined when there is none.
   */
  async left(location: StoreLocation): Promise<(() => Promise<void>) | undefined> {
    const found = await readOnce(location, { replaces: true });
    if (found.version === undefined || (found.about === undefined && found.others.length > 0))
      return undefined;
    return () => this.#remove(location, found).catch(ifOnly(ChangedMeanwhileError));
  }

  async copied(from: StoreLocation, to: StoreLocation): Promise<void> {
    await this.set(to, await this.read(from));
  }

  /** Moves the description of a moved file. At every moment it is at one of the two names at least. */
  async moved(from: StoreLocation, to: StoreLocation): Promise<void> {
    if (isSameLocation(from, to) && from.path.name === to.path.name) return;
    if (
      isSameLocation(from, to) ||
      (from.storage === to.storage && aboutPaths.record(from.path).equals(aboutPaths.record(to.path)))
    ) {
      // It stays in the record, where it gets the other name.
      const rename = async (): Promise<void> => {
        const found = await readSurely(from);
        const others = found.others.filter(({ name }) => name !== to.path.name);
        if (found.version !== undefined) await replace(to, { ...found, others }, found.about);
      };
      return this.#hold(to, () => untilNotOvertaken(rename));
    }
    const attempt = async (): Promise<void> => {
      const found = await readSurely(from);
      await this.set(to, found.about);
      if (found.about !== undefined) await this.#remove(from, found);
    };
    await untilNotOvertaken(attempt, (error) => error instanceof ChangedMeanwhileError);
  }

  /** Copies the descriptions of all files of a folder that was copied into another store or source. */
  async carry(from: StorageAdapter, to: StorageAdapter, files: CopiedTree['files']): Promise<void> {
    const folders = new LRUCache<string, Promise<ReadonlySet<string>>>({ max: MOST_FOLDERS });
    const recordsIn = (folder: SourcePath): Promise<ReadonlySet<string>> => {
      const key = folder.toString();
      const list = (): Promise<ReadonlySet<string>> => this.#recordsIn(from, folder);
      // A move removes the records that are not found, and stores occasionally report a folder as missing.
      const found = folders.get(key) ?? list().then((names) => (names.size > 0 ? names : list()));
      folders.set(key, found);
      return found;
    };
    await forEachAtOnce(COPIES_AT_ONCE, files(), async (file) => {
      if (!(await recordsIn(file.from.parent)).has(recordName(file.from.name))) return;
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
    if (names.length <= MANY) return names.map(recordName);
    if ((await this.#recordsIn(store, folder, signal)).size === 0) return undefined;
    const slice = new TimeSlice(signal ?? new AbortController().signal);
    const records: string[] = [];
    for (const name of names) {
      if (records.length % MANY === 0 && slice.due) await slice.rest();
      records.push(recordName(name));
    }
    return records;
  }

  async #recordsIn(store: ReadableStore, folder: SourcePath, signal?: AbortSignal) {
    const names = new Set<string>();
    const options = { detail: 'names', mayMiss: true, signal } as const;
    for await (const page of pagesOf(store, aboutPaths.all(folder), options))
      for (const { name } of page) names.add(name);
    return names;
  }

  async #read(store: ReadableStore, record: SourcePath, entry: Entry, signal: AbortSignal | undefined) {
    const [key, version] = [this.#keyOf(store, record), versionOf(entry)];
    const known = this.#known.get(key);
    if (known?.version === version) return known.written;
    const isOurs = (entry.size ?? 0) <= MOST_RECORD_BYTES;
    const written = isOurs ? parseAbout((await readRecord(store, record, { signal }))?.text) : [];
    if (written.length > 0) this.#known.set(key, { version, written });
    return written;
  }

  /** @throws the error, unless the store has only denied access */
  #leaveOut(store: ReadableStore, folder: SourcePath, error: unknown): undefined {
    if (!isUnreadable(error)) throw error;
    const level = this.#complained.has(store) ? 'debug' : 'warn';
    this.#complained.add(store);
    this.#log[level]('Descriptions of files cannot be read.', { folder: folder.toString(), error });
  }

  /** Removes a description that was read. @throws ChangedMeanwhileError when another has been written since */
  #remove(location: StoreLocation, found: FoundAbout): Promise<void> {
    // Where the record is shared, descriptions of other files may have been written since.
    let known = found.others.length === 0 ? found : undefined;
    const attempt = async (): Promise<void> => {
      const now = known ?? (await readOnce(location, { replaces: true }));
      known = undefined;
      if (isDeepStrictEqual(now.about, found.about)) await replace(location, now);
      else if (now.about !== undefined) throw new ChangedMeanwhileError();
    };
    return this.#hold(location, () => untilNotOvertaken(attempt));
  }

  /** Serializes the changes of this process to one record, and drops it from the cache. */
  async #hold<T>(location: StoreLocation, work: () => Promise<T>): Promise<T> {
    const key = this.#keyOf(location.storage, aboutPaths.record(location.path));
    const folder = this.#keyOf(location.storage, location.path.parent);
    try {
      return await this.#locks.hold(key, {}, work);
    } finally {
      this.#written.set(folder, true);
      this.#known.delete(key);
    }
  }
}
