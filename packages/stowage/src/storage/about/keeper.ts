import { LRUCache } from 'lru-cache';
import { forEachAtOnce } from '../../basics/concurrency/queues.ts';
import { createNameLocks } from '../../basics/concurrency/name-locks.ts';
import { TimeSlice } from '../../basics/concurrency/time-slice.ts';
import {
  AlreadyExistsError,
  ChangedMeanwhileError,
  ifNoSuch,
  ifOnly,
  NotFoundError,
} from '../../errors/errors.ts';
import type { Entry, StorageAdapter } from '../adapter.ts';
import type { CopiedTree } from '../copy-tree.ts';
import { findNames, readKept, writeKept } from '../kept-files.ts';
import { createStoreKeys, isSameLocation, type StoreLocation } from '../location.ts';
import type { ReadableStore } from '../readable.ts';
import type { SourcePath } from '../source-path.ts';
import {
  type About,
  type AboutPatch,
  aboutPaths,
  isNothing,
  MOST_ABOUT_BYTES,
  parseAbout,
  patched,
} from './about.ts';
import { aboutOf, bytesOf, MOST_TRIES, overwrite, readRecord, readSurely, remove } from './records.ts';

const READS_AT_ONCE = 16;
/** Names whose records are named in one go: a millisecond. */
const MANY = 256;
const COPIES_AT_ONCE = 4;
/** Folders of which it is remembered during a copy which of their files have words. */
const MOST_FOLDERS = 64;
/** Of all words that are remembered; of an entry as much as its record is long, and something for its path. */
const CACHE = { maxSize: 16 * 1024 * 1024, ttl: 60_000 };
const BYTES_OF_A_KEY = 300;

/** Folders of which a request may still believe that nothing is said there. */
const WRITTEN = { maxSize: 10_000, sizeCalculation: () => 1, ttl: 10_000 };

interface Remembered {
  readonly version: string;
  readonly about: About;
}

const versionOf = ({
  etag,
  modifiedAt,
  changedAt,
  size,
}: Entry & { readonly etag?: string | undefined }): string => [etag, modifiedAt, changedAt, size].join();

/**
 * The words about files of all stores: what reads and writes their records. A record belongs to a name, whatever
 * content it has; stages of changes take it along. Undefined stands for no words.
 */
export class AboutKeeper {
  readonly #locks = createNameLocks();
  readonly #keyOf = createStoreKeys();
  readonly #known = new LRUCache<string, Remembered>({
    ...CACHE,
    sizeCalculation: ({ about }) => BYTES_OF_A_KEY + JSON.stringify(about).length,
  });
  readonly #written = new LRUCache<string, true>(WRITTEN);

  /** Whether this process has lately written about files of a folder: what was seen of it before may be outrun. */
  isWrittenLately(store: ReadableStore, folder: SourcePath): boolean {
    return this.#written.has(this.#keyOf(store, folder));
  }

  /**
   * The words about files of one folder, in the order of their names. Costs one question about the folder, and a
   * reading for each of them that has words which are not remembered.
   * @throws errors of the store, the signal's reason
   */
  async of(
    store: ReadableStore,
    folder: SourcePath,
    names: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<readonly (About | undefined)[]> {
    const records = await this.#namesOf(store, folder, names, signal);
    if (records === undefined) return names.map(() => undefined);
    const existing = await findNames(store, aboutPaths.all(folder), new Set(records), { signal });
    const found: (About | undefined)[] = names.map(() => undefined);
    const read = records.flatMap((record, index) => {
      const entry = existing.get(record);
      return entry === undefined ? [] : [{ path: aboutPaths.all(folder).below(record), index, entry }];
    });
    await forEachAtOnce(READS_AT_ONCE, read, async ({ path, index, entry }) => {
      signal?.throwIfAborted();
      found[index] = await this.#read(store, path, entry, signal);
    });
    return found;
  }

  /** The words about one file. @throws errors of the store */
  async read(location: StoreLocation): Promise<About | undefined> {
    return aboutOf(await readSurely(location));
  }

  /** What matters in a picture. Costs one question to the store, and a reading where anything is said about it. */
  async focusOf(store: ReadableStore, path: SourcePath, signal: AbortSignal): Promise<About['focalPoint']> {
    const kept = await readKept(store, aboutPaths.record(store, path), MOST_ABOUT_BYTES, { signal });
    return parseAbout(kept?.text).focalPoint;
  }

  /** Changes the words about a file. What others change at the same time stays. */
  patch(
    location: StoreLocation,
    patch: AboutPatch | ((about: About) => AboutPatch),
  ): Promise<{ readonly before: About; readonly after: About }> {
    return this.#hold(location, async () => {
      for (let tries = 1; ; tries += 1) {
        const kept = await readSurely(location);
        const before = parseAbout(kept?.text);
        const wanted = typeof patch === 'function' ? patch(before) : patch;
        if (isNothing(wanted)) return { before, after: before };
        const after = patched(before, wanted);
        try {
          if (isNothing(after)) await remove(location, kept?.version);
          else await writeKept(location.storage, this.#record(location), bytesOf(after), kept?.version);
          return { before, after };
        } catch (error) {
          // A folder is removed with its last record, perhaps while this one comes.
          const isOutrun = [ChangedMeanwhileError, AlreadyExistsError, NotFoundError].some(
            (cause) => error instanceof cause,
          );
          if (!isOutrun || tries === MOST_TRIES) throw error;
        }
      }
    });
  }

  /** Something new has the name: it has these words, and none of what had it before. */
  set(location: StoreLocation, about: About | undefined): Promise<void> {
    return this.#hold(location, () =>
      about === undefined || isNothing(about) ? remove(location) : overwrite(location, about),
    );
  }

  /**
   * Words under a name that something new is to get: the way to remove these once it has the name. Others, written
   * meanwhile, stay. Undefined: there are none.
   */
  async left(location: StoreLocation): Promise<(() => Promise<void>) | undefined> {
    const kept = await readRecord(location);
    if (kept === undefined) return undefined;
    const forget = (): Promise<void> => remove(location, kept.version).catch(ifOnly(ChangedMeanwhileError));
    return () => this.#hold(location, forget);
  }

  /** A copy has the words of its original. */
  async copied(from: StoreLocation, to: StoreLocation): Promise<void> {
    await this.set(to, await this.read(from));
  }

  /** The words follow a file. They are at one of both names at any time. */
  async moved(from: StoreLocation, to: StoreLocation): Promise<void> {
    const isSame =
      isSameLocation(from, to) ||
      (from.storage === to.storage && this.#record(from).equals(this.#record(to)));
    if (isSame) return;
    for (let tries = 1; ; tries += 1) {
      const kept = await readSurely(from);
      await this.set(to, aboutOf(kept));
      if (kept === undefined) return;
      try {
        await this.#hold(from, () => remove(from, kept.version));
        return;
      } catch (error) {
        if (!(error instanceof ChangedMeanwhileError) || tries === MOST_TRIES) throw error;
      }
    }
  }

  /** Copies the words of the files of a folder that was copied into another store or source. */
  async carry(from: StorageAdapter, to: StorageAdapter, files: CopiedTree['files']): Promise<void> {
    const folders = new LRUCache<string, Promise<ReadonlySet<string>>>({ max: MOST_FOLDERS });
    const recordsIn = (folder: SourcePath): Promise<ReadonlySet<string>> => {
      const key = folder.toString();
      const found = folders.get(key) ?? this.#recordsIn(from, folder);
      folders.set(key, found);
      return found;
    };
    await forEachAtOnce(COPIES_AT_ONCE, files(), async (file) => {
      if (!(await recordsIn(file.from.parent)).has(aboutPaths.name(from, file.from.name))) return;
      await this.copied({ storage: from, path: file.from }, { storage: to, path: file.to });
    });
  }

  /** The names of records. Undefined: of many names is known that none has one, because their folder is not there. */
  async #namesOf(
    store: ReadableStore,
    folder: SourcePath,
    names: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<readonly string[] | undefined> {
    if (names.length <= MANY) return names.map((name) => aboutPaths.name(store, name));
    if ((await this.#recordsIn(store, folder, signal)).size === 0) return undefined;
    const slice = new TimeSlice(signal ?? new AbortController().signal);
    const records: string[] = [];
    for (const name of names) {
      if (records.length % MANY === 0 && slice.due) await slice.rest();
      records.push(aboutPaths.name(store, name));
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
    try {
      for await (const page of store.list(aboutPaths.all(folder), options))
        for (const { name } of page) names.add(name);
    } catch (error) {
      ifNoSuch(error);
    }
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
    const isOurs = (entry.size ?? 0) <= MOST_ABOUT_BYTES;
    const about = isOurs ? aboutOf(await readKept(store, record, MOST_ABOUT_BYTES, { signal })) : undefined;
    if (about !== undefined) this.#known.set(key, { version, about });
    return about;
  }

  #record({ storage, path }: StoreLocation): SourcePath {
    return aboutPaths.record(storage, path);
  }

  /** The changes of this process to one record follow one another, and what was remembered of it is forgotten. */
  async #hold<T>(location: StoreLocation, work: () => Promise<T>): Promise<T> {
    const key = this.#keyOf(location.storage, this.#record(location));
    const folder = this.#keyOf(location.storage, location.path.parent);
    try {
      return await this.#locks.hold(key, {}, work);
    } finally {
      this.#written.set(folder, true);
      this.#known.delete(key);
    }
  }
}
