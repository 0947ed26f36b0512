import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { O_PATH } from './confinement.ts';
import type { ListedName, NameFilter } from './names.ts';

/**
 * File systems that this machine alone writes to and that note every change at once: ext2 to ext4, XFS,
 * Btrfs, tmpfs, overlayfs. Others may show what they remember from seconds ago.
 */
const EXACT: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630]);

/** Two changes that lie closer to each other may bear the same time. */
const TICK_MS = 2000;

const STABLE = { bigint: true } as const;

/** Which folder lies at each step of a path, and when it was last given another name or content. */
const marksOf = (path: string): string | undefined => {
  const marks: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    const stats = fs.lstatSync(at, STABLE);
    if (!stats.isDirectory()) return undefined;
    // The content of the folder itself may change: that moves no folder.
    const changedAt = at === path ? 0n : stats.ctimeNs;
    if (changedAt / 1_000_000n > Date.now() - TICK_MS) return undefined;
    marks.push(`${String(stats.dev)}:${String(stats.ino)}:${String(changedAt)}`);
    if (at === '/') return marks.join();
  }
};

/**
 * Calls `look` with the path of a folder that is open as `held`, and returns what it has returned when no
 * folder on that path was renamed or replaced meanwhile; undefined where that cannot be known. To look at an
 * entry through a path costs half of what it costs through `/proc`.
 */
export const lookByQuietPath = <Seen>(held: string, look: (path: string) => Seen): Seen | undefined => {
  try {
    if (!EXACT.has(fs.statfsSync(held).type)) return undefined;
    const path = fs.readlinkSync(held);
    const before = marksOf(path);
    const opened = fs.statSync(held, STABLE);
    if (before?.startsWith(`${String(opened.dev)}:${String(opened.ino)}:`) !== true) return undefined;
    const seen = look(path);
    return marksOf(path) === before ? seen : undefined;
  } catch {
    // Names that are not text, folders that may not be looked at or are gone: the handle knows.
    return undefined;
  }
};

const CHILD = O_PATH | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW;

const systemError = (code: string, message: string): Error => Object.assign(new Error(message), { code });

/** The time that a job has until it is to give a page, be it an empty one. */
export interface TimeSlice {
  readonly isOver: boolean;
}

/** Where a folder lies, and how it is opened. */
export interface FolderToScan {
  readonly root: string;
  /** Names on disk from the root to the folder. */
  readonly diskNames: readonly string[];
  /** Whether folders can be held by handles on this system. */
  readonly handles: boolean;
}

/** A folder that this thread has open, as the adapter's `OpenFolder`, by calls that wait for the disk. */
export interface ScannedFolder {
  readonly self: string;
  /**
   * Looks at many entries by the paths that are cheapest, and once more where others have moved folders
   * meanwhile: `look` must do nothing but look.
   */
  readonly lookAtMany: <Seen>(look: (folder: string) => Seen) => Seen;
  /** To be called after looking at entries. @throws ENOENT when what was seen may lie in another folder */
  readonly verify: () => void;
  readonly close: () => void;
}

/** Each folder through the handle of the one before, none through a link. */
const openByHandles = ({ root, diskNames }: FolderToScan): ScannedFolder => {
  let handle = fs.openSync(root, O_PATH | fs.constants.O_DIRECTORY);
  for (const name of diskNames) {
    const parent = handle;
    try {
      handle = fs.openSync(`/proc/self/fd/${parent}/${name}`, CHILD);
    } finally {
      fs.closeSync(parent);
    }
  }
  const self = `/proc/self/fd/${handle}`;
  return {
    self,
    lookAtMany: (look) => lookByQuietPath(self, look) ?? look(self),
    verify: () => undefined,
    close: () => fs.closeSync(handle),
  };
};

/** Every folder on the way is looked at, before and after. */
const openByPaths = ({ root, diskNames }: FolderToScan): ScannedFolder => {
  const chain = [fs.realpathSync(root)];
  for (const name of diskNames) chain.push(`${chain.at(-1)}/${name}`);
  const lookAt = (path: string): string => {
    const stats = fs.lstatSync(path, { bigint: true });
    if (!stats.isDirectory()) throw systemError('ENOTDIR', 'not a directory');
    return `${stats.dev}:${stats.ino}`;
  };
  const opened = chain.map(lookAt);
  const self = chain.at(-1) ?? '';
  return {
    self,
    lookAtMany: (look) => look(self),
    verify: () => {
      if (chain.every((path, index) => lookAt(path) === opened[index])) return;
      throw systemError('ENOENT', 'the folder was replaced while it was listed');
    },
    close: () => undefined,
  };
};

/** Opens a folder, none on the way through a link. The caller closes it. @throws errors of the system */
export const openScanned = (folder: FolderToScan): ScannedFolder =>
  (folder.handles ? openByHandles : openByPaths)(folder);

const BATCH = 1000;

/**
 * The names of an open folder as they are shown, in batches of `most` entries, of which some may be left out: between
 * them the caller can look at the clock. @throws errors of the system
 */
export function* listedNames(
  { self }: ScannedFolder,
  filter: NameFilter,
  most: number,
): Generator<readonly ListedName[], void, undefined> {
  const directory = fs.opendirSync(self, { bufferSize: BATCH });
  try {
    let names: ListedName[] = [];
    let read = 0;
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      const listed = filter.takeEntry(entry);
      if (listed !== undefined) names.push(listed);
      read += 1;
      if (read % most !== 0) continue;
      yield names;
      names = [];
    }
    for (const seen of filter.rest()) {
      // Where the composed name is there as well, that is the one that a path reaches.
      const isAlone = fs.lstatSync(`${self}/${seen.name}`, { throwIfNoEntry: false }) === undefined;
      if (isAlone) names.push({ ...seen, kind: undefined });
      else filter.omit();
    }
    yield names;
  } finally {
    directory.closeSync();
  }
}
