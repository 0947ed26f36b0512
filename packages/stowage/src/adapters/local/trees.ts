import { randomUUID } from 'node:crypto';
import { ifCode, succeeds, systemCode } from '../../basics/files/system-errors.ts';
import { forEachAtOnce, inParallel } from '../../basics/concurrency/queues.ts';
import type { Confinement, OpenFolder } from './confinement.ts';
import { chunksOfFile, writeChunks } from './file-content.ts';
import { flushFolder } from './folder-walker.ts';
import { readListedNames, type SeenName } from './names.ts';
import * as system from './system.ts';

const SIDE_BY_SIDE = 16;

// The entry is gone, or is no longer a file or folder: as if the copy had started a moment later.
const ifVanished = ifCode('ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO');

const copyBytes = async (fd: number, to: OpenFolder, name: string, signal: AbortSignal | undefined) => {
  const target = await system.createFile(to.at(name));
  await writeChunks(target, chunksOfFile(fd, signal)).finally((): unknown => system.closeFile(target));
};

const copyOne = async (
  from: OpenFolder,
  { raw, name }: SeenName,
  to: OpenFolder,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const source = await system.openForReading(from.at(raw)).catch(ifVanished);
  if (source === undefined) return;
  const copying = source.stats.isFile() ? copyBytes(source.fd, to, name, signal) : Promise.resolve();
  await copying.finally((): unknown => system.closeFile(source.fd));
};

const copyFiles = async (from: OpenFolder, to: OpenFolder, signal: AbortSignal | undefined) => {
  const folders: SeenName[] = [];
  // The handles of both folders are in use until the last copy has ended.
  await inParallel(SIDE_BY_SIDE, async (add) => {
    const names = await readListedNames(from);
    for (const seen of names?.entries ?? []) {
      signal?.throwIfAborted();
      const kind = seen.kind ?? system.kindOf(await system.lstatOf(from.at(seen.raw)).catch(ifVanished));
      if (kind === 'folder') folders.push(seen);
      if (kind === 'file') await add(() => copyOne(from, seen, to, signal));
    }
  });
  return folders;
};

/**
 * Copies all visible entries of one open folder into another, empty one. Leaves out links and special files,
 * whenever they appear: every folder and file is opened by handles. The caller cleans up after a failure.
 */
export const copyTreeByHandles = async (
  confinement: Confinement,
  from: OpenFolder,
  to: OpenFolder,
  signal: AbortSignal | undefined,
): Promise<void> => {
  for (const { raw, name } of await copyFiles(from, to, signal)) {
    signal?.throwIfAborted();
    const source = await confinement.openChild(from, raw).catch(ifVanished);
    if (source === undefined) continue;
    try {
      await system.makeDirectory(to.at(name), 0o777);
      await system.closing(confinement.openChild(to, name), async (target) => {
        await copyTreeByHandles(confinement, source, target, signal);
        await flushFolder(target);
      });
    } finally {
      await source.close();
    }
  }
};

const BATCH = 256;
const REMOVALS = 8;
// Passes over one folder while others keep adding entries.
const ROUNDS = 100;

const ifGone = ifCode('ENOENT');
/** NFS keeps a file that is open under another name until it is closed, and removes it then. */
const ifGoneOrOpen = ifCode('ENOENT', 'EBUSY');
/** FUSE renames open files in the same way, so that their folder cannot be emptied. */
const ifGoneOrHeld = ifCode('ENOENT', 'ENOTEMPTY', 'EEXIST');

/** Up to a batch of entries, whatever their names: all must be removed. */
const readBatch = async (directory: system.ByteDirectory) => {
  const batch: { name: Buffer; isFolder: boolean }[] = [];
  while (batch.length < BATCH) {
    const entry = await directory.read();
    if (entry === null) break;
    batch.push({ name: entry.name, isFolder: entry.isDirectory() });
  }
  return batch;
};

const removeAll = async (
  confinement: Confinement,
  folder: OpenFolder,
  directory: system.ByteDirectory,
  raise: ((name: system.Name) => Promise<boolean>) | undefined,
): Promise<number> => {
  let removed = 0;
  for (;;) {
    const batch = await readBatch(directory);
    if (batch.length === 0) return removed;
    removed += batch.length;
    const others = batch.filter((entry) => !entry.isFolder);
    // Waits for all of them: afterwards the folder's handle is closed, and its number may be reused.
    await forEachAtOnce(REMOVALS, others, ({ name }) => removeTree(confinement, folder, name, false));
    for (const { name, isFolder } of batch) {
      if (isFolder && (await raise?.(name)) !== true) await removeTree(confinement, folder, name);
    }
  }
};

/** A folder in the temporary area, and the folder that it was moved up from, unless it is the topmost one. */
interface Raised {
  readonly name: string;
  readonly from?: { readonly parent: string; readonly name: system.Name };
  isEmptied: boolean;
}

/** Moves subfolders back into their parents, which are still in the area, the deepest first. */
const lowerAll = async (confinement: Confinement, area: OpenFolder, raised: readonly Raised[]) => {
  for (const { name, from } of raised.toReversed()) {
    if (from === undefined) continue;
    await system.closing(confinement.openChild(area, from.parent), (parent) =>
      system.renameTo(area.at(name), parent.at(from.name)),
    );
  }
};

/**
 * Removes a folder of the temporary area with all its contents, at any depth: its subfolders are first moved
 * up into the area, so that at most two handles are open. A folder that cannot be moved is emptied in place.
 * When a removal fails, the remaining entries are moved back to their place in the folder. What a network file
 * system keeps of open files stays in the area until it is closed.
 */
export const removeFlattened = async (
  confinement: Confinement,
  area: OpenFolder,
  name: string,
): Promise<void> => {
  // A folder stays below its moved subfolders on the stack until they are gone.
  const stack: Raised[] = [{ name, isEmptied: false }];
  try {
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      if (top.isEmptied) {
        await system.removeEmpty(area.at(top.name)).catch(ifGoneOrHeld);
        stack.pop();
      } else {
        top.isEmptied = true;
        if (!(await raiseAll(confinement, area, top.name, stack))) stack.pop();
      }
    }
  } catch (error) {
    await lowerAll(confinement, area, stack).catch(() => undefined);
    throw error;
  }
};

/** Empties a folder of the area and pushes its subfolders on the stack. Returns false when it is missing. */
const raiseAll = async (confinement: Confinement, area: OpenFolder, parent: string, stack: Raised[]) => {
  const folder = await confinement.openChild(area, parent).catch(ifGone);
  if (folder === undefined) return false;
  const raise = async (child: system.Name): Promise<boolean> => {
    const name = randomUUID();
    const isMoved = await succeeds(system.renameTo(folder.at(child), area.at(name)));
    if (isMoved) stack.push({ name, from: { parent, name: child }, isEmptied: false });
    return isMoved;
  };
  await emptyFolder(confinement, folder, raise).finally((): unknown => folder.close());
  return true;
};

/** Removes all contents of an open folder. `raise` may move a subfolder away instead. */
export const emptyFolder = async (
  confinement: Confinement,
  folder: OpenFolder,
  raise?: (name: system.Name) => Promise<boolean>,
): Promise<void> => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const opening = system.openBytes(folder.self, { encoding: 'buffer', bufferSize: BATCH });
    const removed = await system.closing(opening, (directory) =>
      removeAll(confinement, folder, directory, raise),
    );
    // Some file systems omit entries from a listing during removals: repeat until the listing is empty.
    if (removed === 0) return;
  }
};

/**
 * Removes an entry of an open folder with all its contents. Empties every folder through its own handle: a
 * link, even when swapped in at any moment, is removed and never followed. Succeeds for a missing entry.
 * @param isFolder the kind of the entry when it was listed; checked again in any case
 */
export const removeTree = async (
  confinement: Confinement,
  parent: OpenFolder,
  name: system.Name,
  isFolder = true,
): Promise<void> => {
  if (!isFolder) {
    try {
      return await system.unlinkFile(parent.at(name)).catch(ifGoneOrOpen);
    } catch (error) {
      // It is a folder: after a swap, or on a file system that does not report kinds.
      if (systemCode(error) !== 'EISDIR' && systemCode(error) !== 'EPERM') throw error;
    }
  }
  let folder: OpenFolder;
  try {
    folder = await confinement.openChild(parent, name);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return;
    if (systemCode(error) !== 'ENOTDIR' && systemCode(error) !== 'ELOOP') throw error;
    return system.unlinkFile(parent.at(name)).catch(ifGone);
  }
  await emptyFolder(confinement, folder).finally((): unknown => folder.close());
  await system.removeEmpty(parent.at(name)).catch(ifGone);
};
