import { Access } from '../access/access.ts';
import { TimeSlice } from '../basics/concurrency/time-slice.ts';
import { hasAllowedExtension } from '../basics/content/file-type.ts';
import { ifNoSuch, ifRefused, NotFoundError, WrongKindError } from '../errors/errors.ts';
import type { Source } from '../sources/source.ts';
import type { StorageAdapter } from '../storage/adapter.ts';
import type { Entry, EntryKind, Stat } from '../storage/entry.ts';
import { containsLocation } from '../storage/location.ts';
import { NO_HISTORY, readHistory, type NameHistory } from '../storage/moved/name-events.ts';
import type { ReadableStore, ReadManyOptions, ReadResult, ReusedMemory } from '../storage/readable.ts';
import { SourcePath } from '../storage/source-path.ts';
import type { TrashQuery } from '../storage/trash/trashed.ts';
import { type FoundEntry, type TreeWalkOptions, type WalkPage, walkTree } from '../storage/tree-walk.ts';
import { FolderView, type Item, type Life, missing, ViewedFile } from './folder-view.ts';
import { type KeysByKind, reservedNames, reservedPattern } from './rights.ts';
import { type StatCache, StatReader } from './stat-cache.ts';
import { findTrashed, listTrashed, type TrashRecord } from './trashed.ts';
import { WRITABLE } from './writable.ts';

const WRONG_KIND: Readonly<Record<EntryKind, string>> = {
  file: 'This is a folder, not a file.',
  folder: 'This is a file, not a folder.',
};

interface Walk extends Pick<
  TreeWalkOptions,
  'after' | 'detail' | 'words' | 'most' | 'onUnreadable' | 'signal'
> {
  /** The access key that each entry needs; skips folders where it is denied for the whole subtree. */
  readonly key: string;
  readonly isWanted?: (entry: Entry) => boolean;
}

/** One source as one requester may see it, the only access of actions: denied entries count as missing. */
export class SourceView extends Access {
  readonly source: Source;
  readonly [WRITABLE]: StorageAdapter;
  readonly #life: Life;
  readonly #stats: StatReader;
  #reserves: ReturnType<typeof reservedNames> | undefined;

  constructor(source: Source, storage: StorageAdapter, access: Access, life: Life, cache: StatCache) {
    // Path rules cover every spelling that the store treats as the same path.
    super(storage.capabilities.caseSensitive ? access : access.foldingCase());
    this.source = source;
    this[WRITABLE] = storage;
    this.#life = life;
    this.#stats = new StatReader(storage, cache, life);
  }

  /** Undefined for a missing or hidden entry, and when the path leads through a file. */
  async #statOf(path: SourcePath, expects?: EntryKind): Promise<Stat | undefined> {
    return this.#isReserved(path) ? undefined : this.#stats.statOf(path, expects);
  }

  #isReserved(path: SourcePath): boolean {
    return path.segments.some((name) => this.reserves(name));
  }

  /** @see reservedNames */
  reserves(name: string): boolean {
    this.#reserves ??= reservedNames(this.source.settings);
    return this.#reserves(name);
  }

  /** Kind of the entry at a path, as cached for this request; undefined also for hidden entries. */
  async kindAt(path: SourcePath, expects: EntryKind): Promise<EntryKind | undefined> {
    return (await this.#statOf(path, expects))?.kind;
  }

  /** Drops cached lookups of a path and everything below it, after a change or a longer wait. */
  forget(path: SourcePath): void {
    this.#stats.forget(path);
  }

  #folder(path: SourcePath): FolderView {
    return new FolderView(this.source, path, this[WRITABLE], this, this.#life);
  }

  /** A folder, without checking that it exists. @throws NotFoundError inside a reserved folder */
  folder(path: SourcePath): FolderView {
    if (this.#isReserved(path)) throw new NotFoundError();
    return this.#folder(path);
  }

  /**
   * Looks up an entry as the listing would show it, without checking rules of actions. `kind`: as expected.
   * @throws NotFoundError, whose message says whether the item or its folder is missing
   */
  async lookUp(path: SourcePath, kind?: EntryKind): Promise<Item> {
    const stat = await this.#statOf(path, kind);
    if (stat === undefined) {
      const parent = await this.#statOf(path.parent, 'folder');
      if (parent?.kind === 'folder') throw missing(kind ?? 'file or folder');
      throw missing(kind === 'folder' ? 'parent folder' : 'folder');
    }
    // Listings hide such files (`.env`, `id_rsa`), so no action may find them either.
    if (stat.kind === 'file' && !hasAllowedExtension(path.name, this.source.settings.extensions))
      throw missing(kind ?? 'file or folder');
    return this.#folder(path.parent).item(stat, path);
  }

  /**
   * Finds the file or folder for an action. Checks access before the lookup, so that a denied request does
   * not reveal whether the item exists.
   * @throws AccessDeniedError, NotFoundError, WrongKindError
   */
  async find(key: string, path: SourcePath, kind: EntryKind): Promise<Item> {
    this.require(key, path, kind);
    const item = await this.lookUp(path, kind);
    if (item.kind !== kind) throw new WrongKindError(WRONG_KIND[kind]);
    return item;
  }

  /**
   * Finds an item of either kind. Calls `check` with its kind, or with `expected` when it is missing, so that
   * a denied request does not reveal whether it exists.
   * @throws NotFoundError, and errors of `check`
   */
  async findEither(path: SourcePath, expected: EntryKind, check: (kind: EntryKind) => void): Promise<Item> {
    let item: Item;
    try {
      item = await this.lookUp(path);
    } catch (error) {
      if (error instanceof NotFoundError) check(expected);
      throw error;
    }
    check(item.kind);
    return item;
  }

  /**
   * Requires that a folder exists before something is stored in it: stores would create it implicitly.
   * @throws NotFoundError, also when a file has the path
   */
  async requireFolder(path: SourcePath, what: 'folder' | 'destination folder' = 'folder'): Promise<void> {
    if ((await this.#statOf(path, 'folder'))?.kind !== 'folder') throw missing(what);
  }

  /** As `requireFolder`, for new files. @see StatReader.freeNames @throws NotFoundError */
  async freeNames(folder: SourcePath, names: readonly string[]): Promise<ReadonlySet<string>> {
    await this.requireFolder(folder);
    return this.#stats.freeNames(folder, names);
  }

  /** @see StatReader.prefetch */
  async prefetch(folder: SourcePath): Promise<void> {
    if (!this.#isReserved(folder)) await this.#stats.prefetch(folder);
  }

  /** @see StatReader.showsNoFolder */
  isSeenNoFolder(path: SourcePath): Promise<boolean> {
    return this.#stats.showsNoFolder(path);
  }

  /** @see StatReader.mayHaveAbouts */
  mayHaveAbouts(...asked: Parameters<StatReader['mayHaveAbouts']>): Promise<boolean> {
    return this.#stats.mayHaveAbouts(...asked);
  }

  /** A file to be opened without a lookup. @throws NotFoundError where no listing would show it */
  file(path: SourcePath): ViewedFile {
    const { settings } = this.source;
    if (this.#isReserved(path) || !hasAllowedExtension(path.name, settings.extensions)) throw missing('file');
    return new ViewedFile(this[WRITABLE], path, this.#life);
  }

  get readsMany(): boolean {
    return this[WRITABLE].readMany !== undefined;
  }

  /** @see ReadableStore.readMany @throws NotFoundError as `file` */
  readMany(
    paths: readonly SourcePath[],
    options: Omit<ReadManyOptions, 'signal'>,
  ): ReturnType<NonNullable<ReadableStore['readMany']>> | undefined {
    for (const path of paths) this.file(path);
    return this[WRITABLE].readMany?.(paths, { ...options, signal: this.#life.signal });
  }

  /** The item of a file that has just been stored. */
  stored(path: SourcePath, stat: Stat): Item {
    return this.#folder(path.parent).item(stat, path);
  }

  /** The first name in a folder that `fits` accepts: variants need not contain their original's name. */
  async findName(folder: SourcePath, fits: (name: string) => boolean): Promise<string | undefined> {
    for await (const entries of this[WRITABLE].list(folder, { signal: this.#life.signal })) {
      const found = entries.find(({ name }) => fits(name));
      if (found !== undefined) return found.name;
    }
    return undefined;
  }

  /**
   * The entries that listings show below a folder, in the order of the walk, as far as the key is allowed.
   * @throws NotFoundError, errors of the store, the signal's reason
   */
  walk(folder: SourcePath, { key, isWanted = () => true, ...options }: Walk): AsyncIterable<WalkPage> {
    return walkTree(this[WRITABLE], folder, {
      signal: this.#life.signal,
      ...options,
      never: reservedPattern(this.source.settings),
      view: (path) => {
        const view = this.#folder(path);
        const [isShown, isFolder] = [view.shows(), view.showsFolders()];
        const isListed = this.may('FILES', path, 'folder');
        return {
          enters: (entry) =>
            isFolder(entry) && view.isNameable(entry.name) && this.mayAllow(key, path.child(entry.name)),
          wants: (entry) =>
            isListed &&
            isWanted(entry) &&
            isShown(entry) &&
            view.isNameable(entry.name) &&
            view.may(key, entry),
        };
      },
    });
  }

  /** Whether one path equals the other or contains it, also across sources that share entries. */
  contains(path: SourcePath, other: SourceView, inner: SourcePath): boolean {
    return containsLocation({ storage: this[WRITABLE], path }, { storage: other[WRITABLE], path: inner });
  }

  /** Whether the store has no entry at a path, hidden ones included. */
  async isFree(path: SourcePath): Promise<boolean> {
    const { signal } = this.#life;
    return (await this[WRITABLE].stat(path, { signal }).catch(ifNoSuch)) === undefined;
  }

  /** The history of a name; empty where the store denies it. @see readHistory */
  async history(path: SourcePath): Promise<NameHistory> {
    return (await readHistory(this[WRITABLE], path, this.#life).catch(ifRefused)) ?? NO_HISTORY;
  }

  /** @see KnownRecords.historyOf */
  knownHistory(path: SourcePath): NameHistory | undefined {
    return this.source.movedRecords.historyOf(this[WRITABLE], path);
  }

  /** @see KnownRecords.step */
  stepFarther(): Promise<boolean> {
    return this.source.movedRecords.step(this[WRITABLE], this.#life);
  }

  slice(): TimeSlice {
    return new TimeSlice(this.#life.signal);
  }

  /** Checks that the store responds. Costs one request. @throws any error of the store */
  async requireReachable(): Promise<void> {
    const storage = this[WRITABLE];
    const options = { signal: this.#life.signal };
    await (storage.checkRoot?.(options) ?? storage.stat(SourcePath.root, options));
  }

  /** @see findTrashed */
  trashed(keys: KeysByKind, id: string): Promise<TrashRecord> {
    return findTrashed(this, this[WRITABLE], { keys, id, signal: this.#life.signal });
  }

  /** @see listTrashed */
  allTrashed(
    keys: KeysByKind,
    how: Pick<TrashQuery, 'isBlind'> = {},
  ): AsyncGenerator<TrashRecord, void, undefined> {
    return listTrashed(this, this[WRITABLE], { keys, ...how, signal: this.#life.signal });
  }
}

export type { FoundEntry, ReadResult, ReusedMemory, WalkPage };
