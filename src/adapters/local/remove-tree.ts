import type { Dir } from 'node:fs';
import { systemCode } from '../../storage/system-errors.ts';
import type { Confinement, OpenFolder } from './confinement.ts';
import { openDirectory, removeEmpty, unlinkFile, type Name } from './system.ts';

const BATCH = 256;
const SIDE_BY_SIDE = 8;
// Rounds over one folder while others keep putting things into it.
const ROUNDS = 100;

const unlessGone = async (removing: Promise<void>): Promise<void> => {
  await removing.catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT') throw error;
  });
};

/** Up to a batch of entries, by the bytes of their names: what cannot be shown must go as well. */
const readBatch = async (
  directory: Dir,
): Promise<readonly { readonly name: Buffer; readonly isFolder: boolean }[]> => {
  const batch: { name: Buffer; isFolder: boolean }[] = [];
  while (batch.length < BATCH) {
    const entry = await directory.read();
    if (entry === null) break;
    batch.push({ name: Buffer.from(entry.name, 'latin1'), isFolder: entry.isDirectory() });
  }
  return batch;
};

const removeAll = async (confinement: Confinement, folder: OpenFolder, directory: Dir): Promise<number> => {
  let removed = 0;
  for (;;) {
    const batch = await readBatch(directory);
    if (batch.length === 0) return removed;
    removed += batch.length;
    const others = batch.filter((entry) => !entry.isFolder);
    for (let start = 0; start < others.length; start += SIDE_BY_SIDE) {
      const group = others.slice(start, start + SIDE_BY_SIDE);
      await Promise.all(group.map(({ name }) => removeTree(confinement, folder, name, false)));
    }
    for (const { name, isFolder } of batch) if (isFolder) await removeTree(confinement, folder, name);
  }
};

/** Removes all that an open folder holds. */
export const emptyFolder = async (confinement: Confinement, folder: OpenFolder): Promise<void> => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const directory = await openDirectory(folder.self, { encoding: 'latin1', bufferSize: BATCH });
    try {
      // Some file systems leave entries out of a listing while others are being removed: look again until nothing shows.
      if ((await removeAll(confinement, folder, directory)) === 0) return;
    } finally {
      await directory.close();
    }
  }
};

/**
 * Removes an entry of an open folder with all that it holds. Every folder is emptied through its own handle: a link, there from the
 * beginning or swapped in at any moment, is unlinked and never followed. What is gone already is fine.
 * @param isFolder what the entry was when it was listed; looked at again in any case
 */
export const removeTree = async (
  confinement: Confinement,
  parent: OpenFolder,
  name: Name,
  isFolder = true,
): Promise<void> => {
  if (!isFolder) {
    try {
      return await unlessGone(unlinkFile(parent.at(name)));
    } catch (error) {
      // A folder after all: by a swap, or on a file system that does not report kinds.
      if (systemCode(error) !== 'EISDIR' && systemCode(error) !== 'EPERM') throw error;
    }
  }
  let folder: OpenFolder;
  try {
    folder = await confinement.openChild(parent, name);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return;
    if (systemCode(error) !== 'ENOTDIR' && systemCode(error) !== 'ELOOP') throw error;
    return unlessGone(unlinkFile(parent.at(name)));
  }
  try {
    await emptyFolder(confinement, folder);
  } finally {
    await folder.close();
  }
  await unlessGone(removeEmpty(parent.at(name)));
};
