import { Dirent, type Stats } from 'node:fs';
import { LRUCache } from 'lru-cache';
import type { Entry } from '../../storage/adapter.ts';
import { systemCode } from '../../basics/files/system-errors.ts';
import { isSegment } from '../../storage/source-path.ts';
import type { OpenFolder } from './confinement.ts';
import * as system from './system.ts';

/** Prefix of all names that this adapter creates in a root for itself. */
export const TEMP_PREFIX = '.stowage-tmp';

/** Prefix of temporary files that an instance creates beside their targets. */
export const besidePrefix = (instance: string): string => `${TEMP_PREFIX}-${instance}-`;

// Printable ASCII without slash and backslash: by far most names, and valid without further checks unless
// they start with a dot.
const PLAIN = /^[ -.0-[\]-~]{1,255}$/u;

/** NTFS takes what follows a colon for a part of a file or folder: `a::$INDEX_ALLOCATION` is the folder `a`. */
const IS_WINDOWS = process.platform === 'win32';

/**
 * Whether a name is reserved for the adapter's own temporary files, at any depth, or leads to another entry.
 * Compared as the most tolerant file system would: ignoring case, width and invisible characters.
 */
export const isReserved = (name: string): boolean => {
  if (IS_WINDOWS && name.includes(':')) return true;
  if (PLAIN.test(name) && !name.startsWith('.')) return false;
  const folded = name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  return folded.toLowerCase().startsWith(TEMP_PREFIX);
};

/** Whether a name can be shown and used as it is. */
export const isVisible = (name: string): boolean =>
  (PLAIN.test(name) && !name.startsWith('.')) ||
  (name.normalize('NFC') === name && isSegment(name) && !isReserved(name));

/** A name on disk, and the name as shown. */
export interface SeenName {
  readonly raw: string;
  readonly name: string;
}

/** A name with its kind, where the folder reports it; else the entry needs a stat. */
export interface ListedName extends SeenName {
  readonly kind: Entry['kind'] | undefined;
}

/** Whether a path finds `raw` rather than `other`: fully decomposed first, then code-unit order. */
const precedes = (raw: string, other: string, name: string): boolean => {
  const whole = name.normalize('NFD');
  if (raw === whole || other === whole) return raw === whole;
  return raw < other;
};

/**
 * Decides which names of one folder are shown, while they are read. Names are shown composed, whatever their
 * form on disk; memory grows with the number of names that are not composed on disk.
 */
export class NameFilter {
  readonly #respelled = new Map<string, string>();
  #omitted = 0;

  /** Number of names so far that no path can contain, or that are only another spelling of a listed one. */
  get omitted(): number {
    return this.#omitted;
  }

  /** Counts an entry that is left out for another reason: a link, a special file, a name that is not text. */
  omit(count = 1): void {
    this.#omitted += count;
  }

  /** The name to show; undefined when it is left out, or deferred to `rest` as it may also exist composed. */
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

  /** As `take`, for an entry of a folder or a name without a kind: leaves out links and special files. */
  takeEntry(entry: Dirent | string): ListedName | undefined {
    const isName = typeof entry === 'string';
    const kind = isName ? undefined : system.kindOf(entry);
    if (!isName && kind === undefined && system.isSpecial(entry)) {
      this.omit();
      return undefined;
    }
    const seen = this.take(isName ? entry : entry.name);
    if (seen === undefined) return undefined;
    const { raw, name } = seen;
    // A replacement character may stand for bytes that are not valid text: such a name cannot be accessed.
    return { raw, name, kind: raw.includes('\uFFFD') ? undefined : kind };
  }

  /** The deferred names, including those whose composed form exists too. */
  rest(): readonly SeenName[] {
    return Array.from(this.#respelled, ([name, raw]) => ({ raw, name }));
  }
}

/** Whether two spellings of a name find the same entry, since APFS and others find names in any form. */
export const isSameEntry = (one: Stats, other: Stats | undefined): boolean =>
  one.ino === other?.ino && one.dev === other.dev && (one.isDirectory() || one.nlink === 1);

/** Each may need a stat while the thread is blocked. */
const BATCH = 64;

/** Whether the file system reports no kinds, so that Node has called stat, blocking the thread. */
const isFromStat = (entry: Dirent): boolean => Object.getPrototypeOf(entry) !== Dirent.prototype;

/**
 * The entries of a folder, read in batches. From the first one whose stat was needed or failed, only names,
 * those of earlier ones included; where only a few entries are wanted, not for the former reason.
 */
async function* entriesIn(folder: OpenFolder, most: number) {
  const bufferSize = Math.min(most + 1, BATCH);
  const directory = await system.openDirectory(folder.self, { encoding: 'utf8', bufferSize });
  try {
    for (let entry = await directory.read(); entry !== null; entry = await directory.read()) {
      if (most === Infinity && isFromStat(entry)) return yield* await system.readNames(folder.self);
      yield entry;
    }
  } catch (error) {
    if (!system.isGone(error) && !system.isUnreadable(error)) throw error;
    yield* await system.readNames(folder.self);
  } finally {
    await directory.close();
  }
}

/** Visible entries of a folder. */
export interface Shown<Item> {
  readonly entries: readonly Item[];
  /** Number of entries that are left out. */
  readonly omitted: number;
}

/** All names of a folder of at most `most` entries, else undefined. Stops reading beyond that. */
export const readListedNames = async (
  folder: OpenFolder,
  most = Infinity,
): Promise<Shown<ListedName> | undefined> => {
  const filter = new NameFilter();
  const entries: ListedName[] = [];
  let seen = 0;
  let read: ReadonlySet<string> | undefined;
  for await (const entry of entriesIn(folder, most)) {
    if (typeof entry === 'string' && (read ??= new Set(entries.map(({ raw }) => raw))).has(entry)) continue;
    if (seen === most) return undefined;
    seen += 1;
    const listed = filter.takeEntry(entry);
    if (listed !== undefined) entries.push(listed);
  }
  for (const seen of filter.rest()) {
    const find = (name: string): Promise<Stats | undefined> =>
      system.lstatOf(folder.at(name)).catch(() => undefined);
    const composed = await find(seen.name);
    if (composed === undefined || isSameEntry(composed, await find(seen.raw)))
      entries.push({ ...seen, kind: undefined });
    else filter.omit();
  }
  return { entries, omitted: filter.omitted };
};

const MOST_FOLDERS = 200;
const MOST_NAMES = 10_000;
// Clocks of file systems tick every few milliseconds: a folder that has just changed may change undetected.
const QUIET_MS = 200;
/** A large folder is read again only after this multiple of the time that reading it took. */
const PATIENCE = 20;
const BIG_MS = 50;

interface Index {
  readonly names: ReadonlyMap<string, string>;
  readonly changed: bigint;
  readonly isQuiet: boolean;
  /** Until this time the index is used even if the folder has changed. */
  readonly keptUntil: number;
}

/**
 * Whether a name may have another spelling on disk than its composed one. In ASCII only three characters have
 * a second code point that normalizes to them, such as the Kelvin sign.
 */
export const hasOtherSpellings = (name: string): boolean => /[^\u0000-\u007f]|[K;`]/u.test(name);

/**
 * Finds names that are not composed on disk, such as decomposed letters of other systems, or letters of
 * Indic, Hebrew and Chinese scripts that Unicode normalizes to others. Reads the names of a folder once, and
 * again after changes, but with pauses: unknown names never cost more than a twentieth of the time.
 */
export class SpellingIndex {
  readonly #folders = new LRUCache<string, Index>({ max: MOST_FOLDERS });
  readonly #reading = new Map<string, Promise<Index>>();

  /** The name on disk of the entry shown as `name`, if it differs; else undefined. */
  async find(folder: OpenFolder, name: string): Promise<string | undefined> {
    if (!hasOtherSpellings(name)) return undefined;
    const { dev, ino, mtimeNs } = await system.followedStat(folder.self);
    const key = `${dev.toString()}:${ino.toString()}`;
    const known = this.#folders.get(key);
    const isCurrent =
      known !== undefined && ((known.isQuiet && known.changed === mtimeNs) || Date.now() < known.keptUntil);
    const index = isCurrent ? known : await this.#readOnce(key, folder, mtimeNs);
    return index.names.get(name);
  }

  /** Concurrent callers share one reading: in a huge folder each takes seconds. */
  #readOnce(key: string, folder: OpenFolder, changed: bigint): Promise<Index> {
    const running = this.#reading.get(key);
    if (running !== undefined) return running;
    const reading = this.#read(folder, changed).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading.then((index) => {
      this.#folders.set(key, index);
      return index;
    });
  }

  async #read(folder: OpenFolder, changed: bigint): Promise<Index> {
    const begun = Date.now();
    const filter = new NameFilter();
    try {
      for await (const entry of entriesIn(folder, Infinity))
        filter.take(typeof entry === 'string' ? entry : entry.name);
    } catch (error) {
      // A folder that may be entered but not read shows no names either.
      if (!['EACCES', 'EPERM'].includes(systemCode(error) ?? '')) throw error;
    }
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
