import { ifNoSuch } from '../errors/errors.ts';
import { ABOUT_FOLDER } from '../storage/about/about.ts';
import { type EntryKind, folderNamed, LOOKUP_MS, type Stat } from '../storage/entry.ts';
import type { Glimpse, ReadableStore } from '../storage/readable.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { Life } from './folder-view.ts';

/** For missing entries and current lookups: other writers may create the entry. */
const FRESH_ABSENCE_MS = 1000;
/** Upper bound of cached entries; one request names fewer items. */
const MOST = 1000;
const MOST_GLIMPSES = 8;

/** First entries of a folder that are listed together: for one item, and for several. */
const [FEW, MANY] = [200, 1000];
/** Above this number of names one listing costs less than a request for each. */
const MORE_THAN_LISTED = 2;

interface Cached<Value> {
  readonly at: number;
  readonly signal: AbortSignal;
  readonly value: Promise<Value>;
}

type CachedGlimpse = Cached<Glimpse | undefined> & {
  readonly path: SourcePath;
  /** Names that the request has changed since. */
  readonly changed: Set<string>;
};

/** A cached promise with another signal is not reused: an abort would make this caller fail. */
const isFresh = ({ at, signal }: Cached<unknown>, now: AbortSignal, isOfNow: boolean): boolean =>
  signal === now && Date.now() - at < (isOfNow ? FRESH_ABSENCE_MS : LOOKUP_MS);

/**
 * Lookups of one source, cached for one request, so that each entry is read once. Entries expire after
 * seconds, or when the request changes them. Do not use it for decisions that other writers can affect: those
 * need conditional operations of the store.
 */
export class StatCache {
  readonly #stats = new Map<string, Cached<Stat | undefined>>();
  readonly #glimpses = new Map<string, CachedGlimpse>();
  /** The request changes something: lookups include neighbouring entries, where one request returns both. */
  readonly isWide: boolean;

  constructor(isWide: boolean) {
    this.isWide = isWide;
  }

  /** The cached or pending value, else that of `read`. `isOfNow`: at most a second old. */
  stat(
    path: SourcePath,
    signal: AbortSignal,
    read: () => Promise<Stat | undefined>,
    isOfNow = false,
  ): Promise<Stat | undefined> {
    const key = path.toString();
    const known = this.#stats.get(key);
    if (known !== undefined && isFresh(known, signal, isOfNow)) return known.value;
    const value = read();
    this.#stats.delete(key);
    if (this.#stats.size < MOST) this.#stats.set(key, { at: Date.now(), signal, value });
    value.catch(() => this.drop(path));
    return value;
  }

  /** The first entries of a folder, cached as in `stat`. Undefined when there is no folder. */
  async glimpse(
    path: SourcePath,
    signal: AbortSignal,
    read: () => Promise<Glimpse | undefined>,
    isOfNow: boolean,
  ): Promise<Glimpse | undefined> {
    const key = path.toString();
    const known = this.#glimpses.get(key);
    if (known !== undefined && isFresh(known, signal, isOfNow)) return known.value;
    const value = read();
    this.#glimpses.delete(key);
    this.#glimpses.set(key, { at: Date.now(), signal, value, path, changed: new Set() });
    const [oldest] = this.#glimpses.keys();
    if (this.#glimpses.size > MOST_GLIMPSES && oldest !== undefined) this.#glimpses.delete(oldest);
    value.catch(() => this.drop(path));
    return value;
  }

  /** The entry of a name in the cached entries of its folder. */
  async shown(path: SourcePath, signal: AbortSignal, isOfNow = false): Promise<ReturnType<Glimpse>> {
    const known = this.#glimpses.get(path.parent.toString());
    if (known === undefined || !isFresh(known, signal, isOfNow)) return 'unknown';
    const glimpse = await known.value;
    return glimpse === undefined || known.changed.has(path.name) ? 'unknown' : glimpse(path.name);
  }

  /** Drops a path and everything below it. */
  drop(path: SourcePath): void {
    const key = path.toString();
    for (const other of this.#stats.keys())
      if (path.isRoot || other === key || other.startsWith(`${key}/`)) this.#stats.delete(other);
    for (const [other, known] of this.#glimpses)
      if (path.contains(known.path)) this.#glimpses.delete(other);
      else if (!path.isRoot && known.path.equals(path.parent)) known.changed.add(path.name);
  }
}

/**
 * Reads entries with as few requests as possible. For a request that changes something it reads the
 * neighbours of a path too, where the store returns them together: they show that the target is free and that
 * there are no descriptions of files. Does not check rules or reserved names; the view does.
 */
export class StatReader {
  readonly #storage: ReadableStore;
  readonly #cache: StatCache;
  readonly #life: Life;

  constructor(storage: ReadableStore, cache: StatCache, life: Life) {
    this.#storage = storage;
    this.#cache = cache;
    this.#life = life;
  }

  /** @see StatCache.drop */
  forget(path: SourcePath): void {
    this.#cache.drop(path);
  }

  /** Undefined for a missing entry, or when the path leads through a file. */
  statOf(path: SourcePath, expects?: EntryKind): Promise<Stat | undefined> {
    const { signal } = this.#life;
    return this.#cache.stat(path, signal, async () => {
      // The root of a store is always a folder.
      if (path.isRoot) return folderNamed(path.name);
      const isFolder = expects === 'folder';
      const glimpse = await this.#glimpse(isFolder ? path : path.parent);
      if (isFolder && glimpse !== undefined) return folderNamed(path.name);
      const shown = isFolder ? 'unknown' : await this.#cache.shown(path, signal);
      // A missing entry is looked up by itself: some stores list new entries late.
      if (typeof shown === 'object') return shown;
      return this.#storage.stat(path, { signal, expects }).catch(ifNoSuch);
    });
  }

  /** The free ones of these names in a folder, as far as the store can list many names in one request. */
  async freeNames(folder: SourcePath, names: readonly string[]): Promise<ReadonlySet<string>> {
    await this.#glimpse(folder, FEW, true);
    let shown = await this.#allShown(folder, names);
    if (shown.filter((one) => one === 'unknown').length > MORE_THAN_LISTED) {
      this.#cache.drop(folder);
      await this.#glimpse(folder, MANY);
      shown = await this.#allShown(folder, names);
    }
    return new Set(names.filter((_, index) => shown[index] === undefined));
  }

  /** Reads items of one folder together, where the store can. Ignores errors: later lookups report them. */
  async prefetch(folder: SourcePath): Promise<void> {
    await this.#glimpse(folder, MANY).catch(() => undefined);
  }

  /** Whether the store has just shown that no folder has this name; false if unknown. At most one request. */
  async showsNoFolder(path: SourcePath): Promise<boolean> {
    await this.#glimpse(path.parent, FEW, true);
    const shown = await this.#cache.shown(path, this.#life.signal, true);
    return shown === undefined || (typeof shown === 'object' && shown.kind === 'file');
  }

  /**
   * Whether a folder may hold descriptions of files, at most a second ago or (`isNow`) now. With `isSure`, a
   * store that may err is read twice; others at most once. Not aborted with the client's request: a moved
   * file still needs its description.
   */
  async mayHaveAbouts(
    folder: SourcePath,
    { isNow = false, isSure = false }: { readonly isNow?: boolean; readonly isSure?: boolean } = {},
  ): Promise<boolean> {
    const path = folder.below(ABOUT_FOLDER);
    const read = (): Promise<Stat | undefined> =>
      this.#storage.stat(path, { expects: 'folder', mayMiss: true }).catch(ifNoSuch);
    // A store that lists all entries in one request cannot miss an existing one.
    const mayErr = this.#storage.glimpse === undefined;
    if (isNow || (isSure && mayErr))
      return ((await read()) ?? (mayErr ? await read() : undefined)) !== undefined;
    const { signal } = this.#life;
    const shown = await this.#cache.shown(path, signal, true);
    return (shown === 'unknown' ? await this.#cache.stat(path, signal, read, true) : shown) !== undefined;
  }

  /**
   * The first entries of a folder, if the request changes something and the store lists them with one
   * request. Undefined otherwise, and for a missing folder.
   */
  async #glimpse(folder: SourcePath, most = FEW, isOfNow = false): Promise<Glimpse | undefined> {
    const { signal } = this.#life;
    if (!this.#cache.isWide || this.#storage.glimpse === undefined) return undefined;
    const read = async () => this.#storage.glimpse?.(folder, { most, signal }).catch(ifNoSuch);
    return this.#cache.glimpse(folder, signal, read, isOfNow);
  }

  #allShown(folder: SourcePath, names: readonly string[]): Promise<readonly ReturnType<Glimpse>[]> {
    return Promise.all(names.map((name) => this.#cache.shown(folder.child(name), this.#life.signal, true)));
  }
}
