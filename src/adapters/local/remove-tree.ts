import { randomUUID } from 'node:crypto';
import type { Dir } from 'node:fs';
import { systemCode } from '../../adapter-support/system-errors.ts';
import type { Confinement, OpenFolder } from './confinement.ts';
import { openDirectory, removeEmpty, renameTo, unlinkFile, type Name } from './system.ts';

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

const removeAll = async (
  confinement: Confinement,
  folder: OpenFolder,
  directory: Dir,
  raise: ((name: Name) => Promise<boolean>) | undefined,
): Promise<number> => {
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
    for (const { name, isFolder } of batch) {
      if (isFolder && (await raise?.(name)) !== true) await removeTree(confinement, folder, name);
    }
  }
};

/**
 * Removes a folder of the temporary area with all that it holds, however deep: its sub-folders are first renamed up into the area, so that two
 * handles are open at most. A folder that cannot be renamed is emptied where it is.
 */
export const removeFlattened = async (
  confinement: Confinement,
  area: OpenFolder,
  name: string,
): Promise<void> => {
  const waiting: string[] = [name];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const folder = await confinement.openChild(area, next).catch((error: unknown) => {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (folder === undefined) continue;
    try {
      await emptyFolder(confinement, folder, async (child) => {
        const raised = randomUUID();
        const isRaised = await renameTo(folder.at(child), area.at(raised)).then(
          () => true,
          () => false,
        );
        if (isRaised) waiting.push(raised);
        return isRaised;
      });
    } finally {
      await folder.close();
    }
    await unlessGone(removeEmpty(area.at(next)));
  }
};

/** Removes all that an open folder holds. `raise` may take a sub-folder elsewhere instead. */
export const emptyFolder = async (
  confinement: Confinement,
  folder: OpenFolder,
  raise?: (name: Name) => Promise<boolean>,
): Promise<void> => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const directory = await openDirectory(folder.self, { encoding: 'latin1', bufferSize: BATCH });
    try {
      // Some file systems leave entries out of a listing while others are being removed: look again until nothing shows.
      if ((await removeAll(confinement, folder, directory, raise)) === 0) return;
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
