import { ifNoSuch } from '../errors/errors.ts';
import { ABOUT_FOLDER } from '../storage/about/about.ts';
import type { EntryKind, Stat } from '../storage/entry.ts';
import type { Glimpse, ReadableStore } from '../storage/readable.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { Life } from './folder-view.ts';
import type { Looks } from './looks.ts';

/** First entries of a folder that are looked at together: for one item, and for several. */
const [FEW, MANY] = [200, 1000];
/** From here on one listing shows more names than so many looks. */
const MORE_THAN_LISTED = 2;

const folderStat = ({ name }: SourcePath): Stat => ({
  name,
  kind: 'folder',
  size: undefined,
  modifiedAt: undefined,
  etag: undefined,
});

/**
 * What one request asks the store about paths, as seldom as it can. A request that changes something asks for what lies
 * around a path, too, where the store shows both at once: that the target is free, and that nothing is said about files
 * there, is known then. Rules and reserved names are for the view to heed.
 */
export class Sight {
  readonly #storage: ReadableStore;
  readonly #looks: Looks;
  readonly #life: Life;

  constructor(storage: ReadableStore, looks: Looks, life: Life) {
    this.#storage = storage;
    this.#looks = looks;
    this.#life = life;
  }

  /** @see Looks.drop */
  forget(path: SourcePath): void {
    this.#looks.drop(path);
  }

  /** Undefined where nothing lies, or where the path leads through a file. */
  statOf(path: SourcePath, expects?: EntryKind): Promise<Stat | undefined> {
    const { signal } = this.#life;
    return this.#looks.at(path, signal, async () => {
      // Stores know without asking that their root is a folder.
      if (path.isRoot) return folderStat(path);
      const isFolder = expects === 'folder';
      const glimpse = await this.#glimpse(isFolder ? path : path.parent);
      if (isFolder && glimpse !== undefined) return folderStat(path);
      const shown = isFolder ? 'unknown' : await this.#looks.shown(path, signal);
      // That something is not there is asked for by itself: some stores list what is new a little later.
      if (typeof shown === 'object') return shown;
      return this.#storage.stat(path, { signal, expects }).catch(ifNoSuch);
    });
  }

  /** Which of these names nothing has in a folder, as far as the store shows that of many names at once. */
  async freeNames(folder: SourcePath, names: readonly string[]): Promise<ReadonlySet<string>> {
    await this.#glimpse(folder, FEW, true);
    let shown = await this.#allShown(folder, names);
    if (shown.filter((one) => one === 'unknown').length > MORE_THAN_LISTED) {
      this.#looks.drop(folder);
      await this.#glimpse(folder, MANY);
      shown = await this.#allShown(folder, names);
    }
    return new Set(names.filter((_, index) => shown[index] === undefined));
  }

  /** Looks at items of one folder together, where the store can. What fails is left to the looks at each. */
  async lookAtMany(folder: SourcePath): Promise<void> {
    await this.#glimpse(folder, MANY).catch(() => undefined);
  }

  /** Whether the store has just shown that no folder has a name; false: not known. Costs at most one request. */
  async showsNoFolder(path: SourcePath): Promise<boolean> {
    await this.#glimpse(path.parent, FEW, true);
    const shown = await this.#looks.shown(path, this.#life.signal, true);
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
    const look = (): Promise<Stat | undefined> =>
      this.#storage.stat(path, { expects: 'folder', mayMiss: true }).catch(ifNoSuch);
    // Stores that list all at once cannot say falsely that nothing is there.
    const mayErr = this.#storage.glimpse === undefined;
    if (isNow || (isSure && mayErr)) {
      const found = (await look()) ?? (mayErr ? await look() : undefined);
      return found !== undefined;
    }
    const { signal } = this.#life;
    const shown = await this.#looks.shown(path, signal, true);
    return (shown === 'unknown' ? await this.#looks.at(path, signal, look, true) : shown) !== undefined;
  }

  /**
   * The first entries of a folder, where the request changes something and the store shows them by one request.
   * Undefined: it does not, or nothing lies there.
   */
  async #glimpse(folder: SourcePath, most = FEW, isOfNow = false): Promise<Glimpse | undefined> {
    const { signal } = this.#life;
    if (!this.#looks.isWide || this.#storage.glimpse === undefined) return undefined;
    const look = async () => this.#storage.glimpse?.(folder, { most, signal }).catch(ifNoSuch);
    return this.#looks.glimpse(folder, signal, look, isOfNow);
  }

  #allShown(folder: SourcePath, names: readonly string[]): Promise<readonly ReturnType<Glimpse>[]> {
    return Promise.all(names.map((name) => this.#looks.shown(folder.child(name), this.#life.signal, true)));
  }
}
