import type { Dirent } from 'node:fs';
import { LRUCache } from 'lru-cache';
import type { Entry } from '../../storage/adapter.ts';
import { isSegment } from '../../storage/source-path.ts';
import type { OpenFolder } from './confinement.ts';
import { followedStat, isSpecial, kindOf, lstatOf, openDirectory } from './system.ts';

/** Begins the name of everything that this adapter puts into a root for itself. */
export const TEMP_PREFIX = '.stowage-tmp';

/** Names of temporary files that an instance put beside their targets begin with it. */
export const besidePrefix = (instance: string): string => `${TEMP_PREFIX}-${instance}-`;

// Printable ASCII without slash and backslash: by far most names, and valid at a glance unless they begin
// with a dot.
const PLAIN = /^[ -.0-[\]-~]{1,255}$/u;

/**
 * Whether a name is reserved for the adapter's own temporary files, at any depth. Compared as the most
 * forgiving file system would: without case, width and invisible characters.
 */
export const isReserved = (name: string): boolean => {
  if (PLAIN.test(name) && !name.startsWith('.')) return false;
  const folded = name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  return folded.toLowerCase().startsWith(TEMP_PREFIX);
};

/** Whether a name can be shown and reached as it is. */
export const isVisible = (name: string): boolean =>
  (PLAIN.test(name) && !name.startsWith('.')) ||
  (name.normalize('NFC') === name && isSegment(name) && !isReserved(name));

/** A name as it lies on disk and as it is shown. */
export interface SeenName {
  readonly raw: string;
  readonly name: string;
}

/** A name with its kind, where the folder itself reports that; else the entry has to be asked for it. */
export interface ListedName extends SeenName {
  readonly kind: Entry['kind'] | undefined;
}

/** Whether a path reaches `raw` rather than `other`: decomposed first, then code-unit order. */
const precedes = (raw: string, other: string, name: string): boolean => {
  const whole = name.normalize('NFD');
  if (raw === whole || other === whole) return raw === whole;
  return raw < other;
};

/**
 * Decides about the names of one folder, as they are read, what is shown. Names are shown composed, however
 * they lie on disk; memory grows with the number of those that are not composed there.
 */
export class NameFilter {
  readonly #respelled = new Map<string, string>();
  #omitted = 0;

  /** Names so far that no path can hold, or that only spell another one differently. */
  get omitted(): number {
    return this.#omitted;
  }

  /** Counts an entry that is left out for another reason: a link, a special file, a name that is not text. */
  omit(count = 1): void {
    this.#omitted += count;
  }

  /** The name to be shown; undefined for one that is left out, or waits for its composed form to the end. */
  take(raw: string): SeenName | undefined {
    if (PLAIN.test(raw) && !raw.startsWith('.')) return { raw, name: raw };
    const name = raw.normalize('NFC');
    if (isReserved(name)) return undefined;
    if (!isSegment(name)) {
      this.#omitted += 1;
      return undefined;
    }
    if (name === raw) return { raw, name };
    const other = this.#respelled.get(name);
    if (other !== undefined) this.#omitted += 1;
    if (other === undefined || precedes(raw, other, name)) this.#respelled.set(name, raw);
    return undefined;
  }

  /** As `take`, for an entry of a folder that is being read: links and special files are left out. */
  takeEntry(entry: Dirent): ListedName | undefined {
    const kind = kindOf(entry);
    if (kind === undefined && isSpecial(entry)) {
      this.omit();
      return undefined;
    }
    const seen = this.take(entry.name);
    if (seen === undefined) return undefined;
    const { raw, name } = seen;
    // The replacement character may stand for bytes that are not text: such a name cannot be reached.
    return { raw, name, kind: raw.includes('\uFFFD') ? undefined : kind };
  }

  /** The names that have waited, among them those whose composed form is there. */
  rest(): readonly SeenName[] {
    return Array.from(this.#respelled, ([name, raw]) => ({ raw, name }));
  }
}

const BATCH = 1000;

/** Entries of a folder that can be shown. */
export interface Shown<Item> {
  readonly entries: readonly Item[];
  /** How many cannot. */
  readonly omitted: number;
}

/** All names of a folder of at most `most` entries, else undefined. Reads no further than that. */
export const readListedNames = async (
  folder: OpenFolder,
  most = Infinity,
): Promise<Shown<ListedName> | undefined> => {
  const bufferSize = Math.min(most + 1, BATCH);
  const directory = await openDirectory(folder.self, { encoding: 'utf8', bufferSize });
  const filter = new NameFilter();
  const entries: ListedName[] = [];
  try {
    for (let seen = 0; ; seen += 1) {
      const entry = await directory.read();
      if (entry === null) break;
      if (seen === most) return undefined;
      const listed = filter.takeEntry(entry);
      if (listed !== undefined) entries.push(listed);
    }
  } finally {
    await directory.close();
  }
  for (const seen of filter.rest()) {
    const composed = await lstatOf(folder.at(seen.name)).catch(() => undefined);
    if (composed === undefined) entries.push({ ...seen, kind: undefined });
    else filter.omit();
  }
  return { entries, omitted: filter.omitted };
};

const MOST_FOLDERS = 200;
const MOST_NAMES = 10_000;
// Clocks of file systems tick every few milliseconds: a folder that changed so recently may change again
// unseen.
const QUIET_MS = 200;
/** A big folder is read again only after so many times the time that it took. */
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
 * Whether a name may lie on disk in another spelling than its composed one. For plain ASCII there are only
 * three such characters, of which Unicode knows a second sign each, such as that of Kelvin.
 */
export const hasOtherSpellings = (name: string): boolean => /[^\u0000-\u007f]|[K;`]/u.test(name);

/**
 * Finds names that lie on disk in a spelling that is not composed, such as decomposed letters of other
 * systems, or letters of Indic, Hebrew and Chinese scripts that Unicode composes to others. Reads the names
 * of a folder once and again when it has changed, but not all the time: an unknown name never costs more than
 * a twentieth of the time.
 */
export class SpellingIndex {
  readonly #folders = new LRUCache<string, Index>({ max: MOST_FOLDERS });

  /** The name on disk of what is shown as `name`, where it is another one; undefined for none. */
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
