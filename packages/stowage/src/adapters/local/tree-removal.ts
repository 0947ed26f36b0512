import * as fs from 'node:fs';
import { systemCode } from '../../basics/files/system-errors.ts';
import { entryAt, SUBFOLDER } from './confinement.ts';
import type { TimeSlice } from './scanned-folder.ts';
import { type ByteDirectory, isGone, type Name, openBytesSync } from './system.ts';

const STRIDE = 256;
/** Every folder on the path is open: deeper trees are left to the caller. */
const DEEPEST = 32;
/** Passes over one folder while others keep adding entries. */
const ROUNDS = 100;

/** A folder to remove, in a temporary area that stays open meanwhile. */
interface RemovalRequest {
  readonly area: string;
  readonly name: Name;
}

/** Whether the entry is gone now. Returns false when the removal failed with one of these codes. */
const isRemoved = (remove: () => void, ...codes: readonly string[]): boolean => {
  try {
    remove();
    return true;
  } catch (error) {
    const code = systemCode(error) ?? '';
    if (code === 'ENOENT') return true;
    if (codes.includes(code)) return false;
    throw error;
  }
};

/** Removes an entry that is not a folder. Returns false when it is one, or is open on NFS (EBUSY). */
const unlink = (path: Name): boolean => isRemoved(() => fs.unlinkSync(path), 'EISDIR', 'EPERM', 'EBUSY');

/** Removes an empty folder. Returns false when entries were added to it. */
const removeEmpty = (path: Name): boolean => isRemoved(() => fs.rmdirSync(path), 'ENOTEMPTY', 'EEXIST');

const readStretch = (directory: ByteDirectory): readonly fs.Dirent<Buffer>[] => {
  const entries: fs.Dirent<Buffer>[] = [];
  for (let entry = directory.readSync(); entry !== null; entry = directory.readSync())
    if (entries.push(entry) === STRIDE) break;
  return entries;
};

/** Empties a folder in stretches, the files of each first. Returns whether nothing is left. */
function* empty(folder: string, slice: TimeSlice, depth: number): Generator<undefined, boolean, undefined> {
  let isWhole = true;
  const directory = openBytesSync(folder, { encoding: 'buffer', bufferSize: STRIDE });
  try {
    for (let stretch = readStretch(directory); stretch.length > 0; stretch = readStretch(directory)) {
      const folders = stretch.filter((entry) => entry.isDirectory() || !unlink(entryAt(folder, entry.name)));
      for (const { name } of folders)
        if (!(yield* removeTree({ area: folder, name }, slice, depth + 1))) isWhole = false;
      if (slice.isOver) yield;
    }
  } finally {
    directory.closeSync();
  }
  return isWhole;
}

/**
 * Removes a folder of the temporary area in the scanning thread. Empties every folder through its own handle:
 * a link, swapped in at any moment, is removed and never followed. Returns false for trees that are too deep.
 * @throws errors of the system; the remaining entries stay in place
 */
export function* removeTree(
  { area, name }: RemovalRequest,
  slice: TimeSlice,
  depth = 1,
): Generator<undefined, boolean, undefined> {
  if (depth > DEEPEST) return false;
  const path = entryAt(area, name);
  let handle: number;
  try {
    handle = fs.openSync(path, SUBFOLDER);
  } catch (error) {
    if (!isGone(error)) throw error;
    return unlink(path);
  }
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      if (!(yield* empty(`/proc/self/fd/${handle}`, slice, depth))) return false;
      if (removeEmpty(path)) return true;
    }
    return false;
  } finally {
    fs.closeSync(handle);
  }
}
