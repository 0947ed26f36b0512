import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import * as errors from '../../errors/errors.ts';
import type { OperationOptions } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { systemCode } from '../../basics/files/system-errors.ts';
import type { Confinement, OpenFolder } from './confinement.ts';
import { copyTreeByHandles, removeFlattened, removeTree } from './trees.ts';
import { refuseRoot } from './file-operations.ts';
import { isTaken, nameFolder, restoreName } from './naming.ts';
import { ScanThreadMissing } from './scan-thread.ts';
import { flushFolder } from './folder-walker.ts';
import * as system from './system.ts';
import type { LocalStore } from './local-store.ts';

/** @throws NotFoundError also for links and special files, WrongKindError for a file */
const requireFolder = async (folder: OpenFolder, name: string): Promise<void> => {
  const stats = await system.lstatOf(folder.at(name));
  if (stats.isFile()) throw new errors.WrongKindError();
  if (!stats.isDirectory()) throw new errors.NotFoundError({ detail: 'neither a file nor a folder' });
};

/** @throws StorageDeniedError for a folder that is a mount point or contains one */
const refuseMounts = async (folder: OpenFolder, name: string): Promise<void> => {
  const [parent, own, parentPath, mounts] = await Promise.all([
    system.followedStat(folder.self),
    system.exactLstat(folder.at(name)),
    system.realPathOf(folder.self),
    system.readMountPoints(),
  ]);
  const path = join(parentPath, name);
  const holdsMount = mounts.some((mount) => mount === path || mount.startsWith(`${path}/`));
  // On systems without a list of mounts, the device number shows it.
  if (holdsMount || parent.dev !== own.dev)
    throw new errors.StorageDeniedError({ detail: 'a file system is mounted on the folder or in it' });
};

/** Whether an open folder is on another file system than the store's temporary files. */
const isMounted = async (folder: OpenFolder, area: OpenFolder): Promise<boolean> =>
  (await system.followedStat(folder.self)).dev !== (await system.followedStat(area.self)).dev;

/** Moves the folder into the temporary area in one step. Returns false where it cannot be moved. */
const takeAway = async (folder: OpenFolder, name: string, area: OpenFolder, taken: string) => {
  try {
    await system.renameTo(folder.at(name), area.at(taken));
    return true;
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'EBUSY') throw error;
    return false;
  }
};

/** Up to this number, files are removed directly: waking the scanning thread takes longer. */
const FEW = 64;

const holdsFewFiles = (confinement: Confinement, area: OpenFolder, name: string): Promise<boolean> =>
  system.closing(confinement.openChild(area, name), ({ self }) =>
    system.closing(system.openBytes(self, { encoding: 'buffer', bufferSize: FEW }), async (directory) => {
      for (let read = 0; read < FEW; read += 1) {
        const entry = await directory.read();
        if (entry === null || entry.isDirectory()) return entry === null;
      }
      return false;
    }),
  );

/** Whether the scanning thread has removed everything. Not possible without handles or for deep trees. */
const isRemovedByThread = async (
  { root, walker: { confinement }, scans }: LocalStore,
  area: OpenFolder,
  name: string,
): Promise<boolean> => {
  if (!confinement.holds || (await holdsFewFiles(confinement, area, name))) return false;
  try {
    return await scans.run('remove', root, { area: area.self, name });
  } catch (error) {
    if (error instanceof ScanThreadMissing || error instanceof errors.BusyError) return false;
    throw error;
  }
};

const removeTaken = async (
  store: LocalStore,
  area: OpenFolder,
  taken: string,
  origin: { readonly folder: OpenFolder; readonly name: string },
): Promise<void> => {
  try {
    // The folder may have been swapped for a file or link since the check: that must not be removed.
    await requireFolder(area, taken);
    if (!(await isRemovedByThread(store, area, taken)))
      await removeFlattened(store.walker.confinement, area, taken);
  } catch (error) {
    await restoreName(area.at(taken), origin.folder, origin.name).catch(() => undefined);
    throw error;
  }
};

/**
 * Moves the folder out of sight in one step, then removes it: a half-removed folder is never visible, and
 * leftovers of a kill are swept at the next start. Where it cannot be moved it is removed in place.
 * @see StorageAdapter.removeFolder
 */
export const removeFolder = async (
  store: LocalStore,
  path: SourcePath,
  options: OperationOptions,
): Promise<void> => {
  refuseRoot(path);
  const { walker } = store;
  await walker.within(path.parent, {}, async ({ folder }) => {
    const name = await walker.diskName(folder, path.name);
    await requireFolder(folder, name);
    await refuseMounts(folder, name);
    const area = await store.areas.near(path.parent);
    const lease = await area.lease().catch(() => undefined);
    try {
      options.signal?.throwIfAborted();
      const taken = randomUUID();
      if (lease === undefined || !(await takeAway(folder, name, lease.folder, taken))) {
        return await removeTree(walker.confinement, folder, name);
      }
      await removeTaken(store, lease.folder, taken, { folder, name });
    } finally {
      await lease?.release();
    }
  });
};

export const removeEmptyFolder = async (
  store: LocalStore,
  path: SourcePath,
  options: OperationOptions,
): Promise<void> => {
  refuseRoot(path);
  await store.walker.within(path.parent, {}, async ({ folder }) => {
    const name = await store.walker.diskName(folder, path.name);
    await requireFolder(folder, name);
    options.signal?.throwIfAborted();
    await system.removeEmpty(folder.at(name)).catch((error: unknown) => {
      throw isTaken(error) ? new errors.NotEmptyError() : error;
    });
  });
};

/** Folders cannot be renamed to another file system: returns `across` then. */
const orAcross = async (moving: Promise<void>): Promise<'done' | 'across'> => {
  try {
    await moving;
    return 'done';
  } catch (error) {
    if (systemCode(error) !== 'EXDEV') throw error;
    return 'across';
  }
};

/** @returns `across` when the target is on another file system: nothing is done then */
export const moveFolder = async (
  store: LocalStore,
  from: SourcePath,
  to: SourcePath,
  options: OperationOptions,
): Promise<'done' | 'across'> => {
  refuseRoot(from);
  const { walker } = store;
  return walker.within(from.parent, {}, async (origin) => {
    const fromName = await walker.diskName(origin.folder, from.name);
    await requireFolder(origin.folder, fromName);
    if (to.isRoot || from.equals(to)) throw new errors.AlreadyExistsError();
    if (from.contains(to)) throw new errors.IntoItselfError();
    return walker.within(to.parent, { create: true }, async ({ folder }) => {
      const name = await walker.newDiskName(folder, to.name);
      options.signal?.throwIfAborted();
      const outcome = await orAcross(nameFolder(origin.folder.at(fromName), folder, name));
      if (outcome === 'done') {
        await flushFolder(folder);
        if (!from.parent.equals(to.parent)) await flushFolder(origin.folder);
      }
      return outcome;
    });
  });
};

/** Builds the copy out of sight, then renames it. @returns `across` for another file system */
export const copyFolder = async (
  store: LocalStore,
  from: SourcePath,
  to: SourcePath,
  options: OperationOptions,
): Promise<'done' | 'across'> => {
  const { walker } = store;
  const { confinement } = walker;
  return walker.within(from, { file: 'wrong-kind' }, async (source) => {
    if (to.isRoot) throw new errors.AlreadyExistsError();
    if (from.contains(to)) throw new errors.IntoItselfError();
    return walker.within(to.parent, { create: true }, async ({ folder }) => {
      const name = await walker.newDiskName(folder, to.name);
      // Only saves work; the final rename decides about the name.
      if (await system.isThere(folder.at(name))) throw new errors.AlreadyExistsError();
      const lease = await (await store.areas.near(to.parent)).lease();
      const built = randomUUID();
      try {
        // A copy built here could not be renamed to another file system.
        if (await isMounted(folder, lease.folder)) return 'across';
        await system.makeDirectory(lease.folder.at(built), 0o777);
        await system.closing(confinement.openChild(lease.folder, built), async (copy) => {
          await copyTreeByHandles(confinement, source.folder, copy, options.signal);
          await flushFolder(copy);
        });
        options.signal?.throwIfAborted();
        const outcome = await orAcross(nameFolder(lease.folder.at(built), folder, name));
        if (outcome === 'done') await flushFolder(folder);
        return outcome;
      } finally {
        await removeFlattened(confinement, lease.folder, built).catch(() => undefined);
        await lease.release();
      }
    });
  });
};
