import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { ROOT_FOLDER, SUBFOLDER } from './confinement.ts';
import { isSameEntry, type ListedName, type NameFilter } from './names.ts';
import { EXACT, isGone, isUnreadable } from './system.ts';

/**
 * Two changes within this time may have the same timestamp. The clock for timestamps ticks every 10 ms or more
 * often, but small inodes (ext2, ext3) keep whole seconds.
 */
const tickOf = (changedAt: bigint): number => (changedAt % 1_000_000_000n === 0n ? 2000 : 100);

const STABLE = { bigint: true } as const;

/** Identity and last change of every folder on a path, as a text. */
const marksOf = (path: string): string | undefined => {
  const marks: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    const stats = fs.lstatSync(at, STABLE);
    if (!stats.isDirectory()) return undefined;
    // Changes of the folder's own content do not move a folder.
    const changedAt = at === path ? 0n : stats.ctimeNs;
    if (changedAt / 1_000_000n > Date.now() - tickOf(changedAt)) return undefined;
    marks.push(`${String(stats.dev)}:${String(stats.ino)}:${String(changedAt)}`);
    if (at === '/') return marks.join();
  }
};

/**
 * Calls `read` with the path of the open folder `held`, and returns its result when no folder on that path
 * was renamed or replaced meanwhile; undefined where that is not certain. Accessing entries through a path
 * costs half as much as through `/proc`.
 */
export const readByQuietPath = <Seen>(held: string, read: (path: string) => Seen): Seen | undefined => {
  try {
    if (!EXACT.has(fs.statfsSync(held).type)) return undefined;
    const path = fs.readlinkSync(held);
    const before = marksOf(path);
    const opened = fs.statSync(held, STABLE);
    if (before?.startsWith(`${String(opened.dev)}:${String(opened.ino)}:`) !== true) return undefined;
    const seen = read(path);
    return marksOf(path) === before ? seen : undefined;
  } catch {
    // Names that are not valid text, or folders that are inaccessible or gone: the caller uses the handle.
    return undefined;
  }
};

const systemError = (code: string, message: string): Error => Object.assign(new Error(message), { code });

/** The time until a job must yield a page, even an empty one. */
export interface TimeSlice {
  readonly isOver: boolean;
}

/** Location of a folder, and how it is opened. */
export interface FolderToScan {
  readonly root: string;
  /** Names on disk from the root to the folder. */
  readonly diskNames: readonly string[];
  /** Whether folders can be held by handles on this system. */
  readonly handles: boolean;
}

/** A folder that is open in this thread: like the adapter's `OpenFolder`, with synchronous calls. */
export interface ScannedFolder {
  readonly self: string;
  /** Reads many entries by the cheapest path. `read` runs again when folders were moved: no side effects. */
  readonly readMany: <Seen>(read: (folder: string) => Seen) => Seen;
  /** Call it after reading entries. @throws ENOENT when they may have been in another folder */
  readonly verify: () => void;
  readonly close: () => void;
}

/** Opens each folder through the handle of its parent, never through a link. */
const openByHandles = ({ root, diskNames }: FolderToScan): ScannedFolder => {
  let handle = fs.openSync(root, ROOT_FOLDER);
  for (const name of diskNames) {
    const parent = handle;
    try {
      handle = fs.openSync(`/proc/self/fd/${parent}/${name}`, SUBFOLDER);
    } finally {
      fs.closeSync(parent);
    }
  }
  const self = `/proc/self/fd/${handle}`;
  return {
    self,
    readMany: (read) => readByQuietPath(self, read) ?? read(self),
    verify: () => undefined,
    close: () => fs.closeSync(handle),
  };
};

/** Checks every folder on the path, before and after. */
const openByPaths = ({ root, diskNames }: FolderToScan): ScannedFolder => {
  const chain = [fs.realpathSync(root)];
  for (const name of diskNames) chain.push(`${chain.at(-1)}/${name}`);
  const identify = (path: string): string => {
    const stats = fs.lstatSync(path, { bigint: true });
    if (!stats.isDirectory()) throw systemError('ENOTDIR', 'not a directory');
    return `${stats.dev}:${stats.ino}`;
  };
  const opened = chain.map(identify);
  const self = chain.at(-1) ?? '';
  return {
    self,
    readMany: (read) => read(self),
    verify: () => {
      if (chain.every((path, index) => identify(path) === opened[index])) return;
      throw systemError('ENOENT', 'the folder was replaced while it was listed');
    },
    close: () => undefined,
  };
};

/** Opens a folder, never through a link. The caller closes it. @throws errors of the system */
export const openScanned = (folder: FolderToScan): ScannedFolder =>
  (folder.handles ? openByHandles : openByPaths)(folder);

const BATCH = 1000;

/** The first names of a folder, read again: they are not kept, because a folder may hold millions. */
const firstNames = (folder: string, count: number): readonly string[] => {
  const directory = fs.opendirSync(folder, { bufferSize: BATCH });
  const names: string[] = [];
  try {
    while (names.length < count) {
      const entry = directory.readSync();
      if (entry === null) break;
      names.push(entry.name);
    }
  } catch (error) {
    if (!isGone(error) && !isUnreadable(error)) throw error;
  } finally {
    directory.closeSync();
  }
  return names;
};

/** The entries of a folder; only names from the first one whose stat failed. @see openDirectory */
function* entriesIn(folder: string): Generator<fs.Dirent | string, void, undefined> {
  const directory = fs.opendirSync(folder, { bufferSize: BATCH });
  let read = 0;
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      read += 1;
      yield entry;
    }
  } catch (error) {
    if (!isGone(error) && !isUnreadable(error)) throw error;
    const known = new Set(firstNames(folder, read));
    // The system sorts these, while a directory has an order of its own.
    yield* fs.readdirSync(folder).filter((name) => !known.has(name));
  } finally {
    directory.closeSync();
  }
}

/**
 * The visible names of an open folder, in batches of `most` read entries, some of which may be left out: the
 * caller can check the clock in between. @throws errors of the system
 */
export function* listedNames(
  { self }: ScannedFolder,
  filter: NameFilter,
  most: number,
): Generator<readonly ListedName[], void, undefined> {
  let names: ListedName[] = [];
  let read = 0;
  for (const entry of entriesIn(self)) {
    const listed = filter.takeEntry(entry);
    if (listed !== undefined) names.push(listed);
    read += 1;
    if (read % most !== 0) continue;
    yield names;
    names = [];
  }
  for (const seen of filter.rest()) {
    // Where the composed name exists too, paths find that one.
    const find = (name: string): fs.Stats | undefined =>
      fs.lstatSync(`${self}/${name}`, { throwIfNoEntry: false });
    const composed = find(seen.name);
    if (composed === undefined || isSameEntry(composed, find(seen.raw)))
      names.push({ ...seen, kind: undefined });
    else filter.omit();
  }
  yield names;
}
