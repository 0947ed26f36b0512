import { LRUCache } from 'lru-cache';
import type { OpenFolder } from './confinement.ts';
import { NameFilter } from './names.ts';
import { followedStat, openDirectory } from './system.ts';

const BATCH = 1000;
const MOST_FOLDERS = 200;
const MOST_NAMES = 10_000;
// Clocks of file systems tick every few milliseconds: a folder that changed so recently may change again unseen.
const QUIET_MS = 200;
/** A big folder is read again only after so many times the time that it took: reading takes at most a twentieth of a thread. */
const PATIENCE = 20;
const BIG_MS = 50;

interface Index {
  readonly names: ReadonlyMap<string, string>;
  readonly changed: bigint;
  readonly isQuiet: boolean;
  /** Until then the index counts, although the folder has changed. */
  readonly keptUntil: number;
}

/**
 * Whether a name may lie on disk in another spelling than its composed one. For plain ASCII there are only three such
 * characters, of which Unicode knows a second sign each, such as that of Kelvin.
 */
export const hasOtherSpellings = (name: string): boolean => /[^\u0000-\u007f]|[K;`]/u.test(name);

/**
 * Finds names that lie on disk in a spelling that is not composed, such as decomposed letters of other systems, or letters
 * of Indic, Hebrew and Chinese scripts that Unicode composes to others. Reads the names of a folder once and again when it
 * has changed, but not all the time: an unknown name never costs more than a twentieth of the time.
 */
export class SpellingIndex {
  readonly #folders = new LRUCache<string, Index>({ max: MOST_FOLDERS });

  /** The name on disk of what is shown as `name`, when nothing lies at `name` itself; undefined when there is none. */
  async find(folder: OpenFolder, name: string): Promise<string | undefined> {
    if (!hasOtherSpellings(name)) return undefined;
    const { dev, ino, mtimeNs } = await followedStat(folder.self);
    const key = `${dev.toString()}:${ino.toString()}`;
    const known = this.#folders.get(key);
    const isCurrent =
      known !== undefined && ((known.isQuiet && known.changed === mtimeNs) || Date.now() < known.keptUntil);
    const index = isCurrent ? known : await this.#read(folder, mtimeNs);
    if (!isCurrent) this.#folders.set(key, index);
    return index.names.get(name);
  }

  async #read(folder: OpenFolder, changed: bigint): Promise<Index> {
    const begun = Date.now();
    const filter = new NameFilter();
    // A folder that may be entered and not read shows no names either.
    const directory = await openDirectory(folder.self, { encoding: 'utf8', bufferSize: BATCH }).catch(
      () => undefined,
    );
    for await (const { name } of directory ?? []) filter.take(name);
    const ended = Date.now();
    return {
      names: new Map(
        filter
          .rest()
          .slice(0, MOST_NAMES)
          .map(({ name, raw }) => [name, raw]),
      ),
      changed,
      isQuiet: begun - Number(changed / 1_000_000n) > QUIET_MS,
      keptUntil: ended - begun > BIG_MS ? ended + (ended - begun) * PATIENCE : 0,
    };
  }
}
