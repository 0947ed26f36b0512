import { ifNoSuch } from '../errors/errors.ts';
import { ABOUT_FOLDER } from '../storage/about/about.ts';
import type { EntryKind, Stat } from '../storage/entry.ts';
import type { Glimpse, ReadableStore } from '../storage/readable.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { Life } from './folder-view.ts';

/** An upload may take hours between two reads of one entry. */
const FRESH_MS = 5000;
/** For absences, and for what must be of this moment: others may put something there. */
const FRESH_ABSENCE_MS = 1000;
/** A request names at most so many items. */
const MOST = 1000;
const MOST_GLIMPSES = 8;

/** First entries of a folder that are listed together: for one item, and for several. */
const [FEW, MANY] = [200, 1000];
/** From here on one listing costs less than a request for each name. */
const MORE_THAN_LISTED = 2;

interface Cached<Value> {
  readonly at: number;
  readonly signal: AbortSignal;
  readonly value: Promise<Value>;
}

type CachedGlimpse = Cached<Glimpse | undefined> & {
  readonly path: SourcePath;
  /** Names that have changed since. */
  readonly changed: Set<string>;
};

/** What another signal may abort fails for its own caller alone. */
const isFresh = ({ at, signal }: Cached<unknown>, now: AbortSignal, isOfNow: boolean): boolean =>
  signal === now && Date.now() - at < (isOfNow ? FRESH_ABSENCE_MS : FRESH_MS);

/**
 * What one request knows of one source, so that it asks the store once. An entry counts for some seconds, until the
 * request changes it. It decides nothing that others may change meanwhile: the conditions that the store checks do.
 */
export class StatCache {
  readonly #stats = new Map<string, Cached<Stat | undefined>>();
  readonly #glimpses = new Map<string, CachedGlimpse>();
  /** The request changes something: it asks for what is around a path, too, where the store shows both at once. */
  readonly isWide: boolean;

  constructor(isWide: boolean) {
    this.isWide = isWide;
  }

  /** The cached value, also one under way, else `read`. `isOfNow`: at most a second old. */
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

  /** The first entries of a folder, as `stat`. Undefined: nothing lies there. */
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

  /** What the cached entries of its folder say of a name. */
  async shown(path: SourcePath, signal: AbortSignal, isOfNow = false): Promise<ReturnType<Glimpse>> {
    const known = this.#glimpses.get(path.parent.toString());
    if (known === undefined || !isFresh(known, signal, isOfNow)) return 'unknown';
    const glimpse = await known.value;
    return glimpse === undefined || known.changed.has(path.name) ? 'unknown' : glimpse(path.name);
  }

  /** Forgets a path and all below it. */
  drop(path: SourcePath): void {
    const key = path.toString();
    for (const other of this.#stats.keys())
      if (path.isRoot || other === key || other.startsWith(`${key}/`)) this.#stats.delete(other);
    for (const [other, known] of this.#glimpses)
      if (path.contains(known.path)) this.#glimpses.delete(other);
      else if (!path.isRoot && known.path.equals(path.parent)) known.changed.add(path.name);
  }
}

const folderStat = ({ name }: SourcePath): Stat => ({
  name,
  kind: 'folder',
  size: undefined,
  modifiedAt: undefined,
  etag: undefined,
});

/**
 * Asks the store about paths, as seldom as it can. A request that changes something asks for what lies around a path,
 * too, where the store shows both at once: that the target is free, and that nothing is said about files there, is
 * known then. Rules and reserved names are for the view to heed.
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

  /** Undefined where nothing lies, or where the path leads through a file. */
  statOf(path: SourcePath, expects?: EntryKind): Promise<Stat | undefined> {
    const { signal } = this.#life;
    return this.#cache.stat(path, signal, async () => {
      // Stores know without asking that their root is a folder.
      if (path.isRoot) return folderStat(path);
      const isFolder = expects === 'folder';
      const glimpse = await this.#glimpse(isFolder ? path : path.parent);
      if (isFolder && glimpse !== undefined) return folderStat(path);
      const shown = isFolder ? 'unknown' : await this.#cache.shown(path, signal);
      // An absence is asked for by itself: some stores list what is new a little later.
      if (typeof shown === 'object') return shown;
      return this.#storage.stat(path, { signal, expects }).catch(ifNoSuch);
    });
  }

  /** Which of these names nothing has in a folder, as far as the store shows that of many names at once. */
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

  /** Reads items of one folder together, where the store can. Failures are left to the reads of each. */
  async prefetch(folder: SourcePath): Promise<void> {
    await this.#glimpse(folder, MANY).catch(() => undefined);
  }

  /** Whether the store has just shown that no folder has a name; false: not known. Costs at most one request. */
  async showsNoFolder(path: SourcePath): Promise<boolean> {
    await this.#glimpse(path.parent, FEW, true);
    const shown = await this.#cache.shown(path, this.#life.signal, true);
    return shown === undefined || (typeof shown === 'object' && shown.kind === 'file');
  }

  /**
   * Whether anything may be said about files of a folder: as it was within a second, or as it is now. Where words must
   * not be missed (`isSure`), a store that may err is asked twice; others are asked at most once. Does not end with the
   * request of the client: what has moved wants its words.
   */
  async mayHaveWords(
    folder: SourcePath,
    { isNow = false, isSure = false }: { readonly isNow?: boolean; readonly isSure?: boolean } = {},
  ): Promise<boolean> {
    const path = folder.below(ABOUT_FOLDER);
    const read = (): Promise<Stat | undefined> =>
      this.#storage.stat(path, { expects: 'folder', mayMiss: true }).catch(ifNoSuch);
    // Stores that list all at once cannot say falsely that nothing is there.
    const mayErr = this.#storage.glimpse === undefined;
    if (isNow || (isSure && mayErr))
      return ((await read()) ?? (mayErr ? await read() : undefined)) !== undefined;
    const { signal } = this.#life;
    const shown = await this.#cache.shown(path, signal, true);
    return (shown === 'unknown' ? await this.#cache.stat(path, signal, read, true) : shown) !== undefined;
  }

  /**
   * The first entries of a folder, where the request changes something and the store shows them by one request.
   * Undefined: it does not, or nothing lies there.
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
