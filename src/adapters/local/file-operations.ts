import type { Stats } from 'node:fs';
import {
  AlreadyExistsError,
  NotFoundError,
  StorageDeniedError,
  WrongKindError,
} from '../../errors/errors.ts';
import type { OperationOptions, PutOptions } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { systemCode } from '../../storage/system-errors.ts';
import { placeAcross } from './across.ts';
import type { OpenFolder } from './confinement.ts';
import type { LocalStore } from './local-store.ts';
import { place } from './placing.ts';
import { flushFolder } from './places.ts';
import { lstatOf, makeDirectory, unlinkFile, type Name } from './system.ts';

/** What lies at a name. @throws NotFoundError for links and special files too, WrongKindError for a folder */
const requireFile = async (path: Name): Promise<Stats> => {
  const stats = await lstatOf(path);
  if (stats.isDirectory()) throw new WrongKindError();
  if (!stats.isFile()) throw new NotFoundError({ detail: 'neither a file nor a folder' });
  return stats;
};

/** @see StorageAdapter.makeFolder */
export const makeFolder = async (
  store: LocalStore,
  path: SourcePath,
  options: OperationOptions,
): Promise<void> => {
  if (path.isRoot) throw new AlreadyExistsError();
  await store.places.within(path.parent, { create: true }, async ({ folder }) => {
    const name = await store.places.newDiskName(folder, path.name);
    options.signal?.throwIfAborted();
    await makeDirectory(folder.at(name), 0o777);
    await flushFolder(folder);
  });
};

/** @see StorageAdapter.removeFile */
export const removeFile = async (
  store: LocalStore,
  path: SourcePath,
  options: OperationOptions,
): Promise<void> => {
  if (path.isRoot) throw new WrongKindError();
  await store.places.within(path.parent, {}, async ({ folder }) => {
    const target = folder.at(await store.places.diskName(folder, path.name));
    await requireFile(target);
    options.signal?.throwIfAborted();
    // A link or folder swapped in now is not followed: the link itself goes, the folder refuses.
    await unlinkFile(target);
  });
};

interface Move {
  readonly source: Name;
  readonly folder: OpenFolder;
  readonly to: SourcePath;
  readonly name: string;
  readonly options: PutOptions;
}

const moveInto = async (store: LocalStore, move: Move): Promise<void> => {
  const { source, folder, to, name, options } = move;
  const createOnly = options.createOnly === true;
  const stats = await requireFile(source);
  const old = await lstatOf(folder.at(name)).catch(() => undefined);
  options.signal?.throwIfAborted();
  try {
    await place(source, folder, name, createOnly);
  } catch (error) {
    if (systemCode(error) !== 'EXDEV') throw error;
    const { signal } = options;
    await placeAcross(source, store.area, {
      folder,
      path: to.parent,
      name,
      createOnly,
      keepTime: true,
      signal,
    });
    await unlinkFile(source);
  }
  // Renaming one name of a file to another name of the same file does nothing, by POSIX: the old name is still there.
  if (old?.ino === stats.ino && old.dev === stats.dev && !createOnly)
    await dropTwin(source, folder.at(name), stats);
};

const dropTwin = async (source: Name, target: Name, stats: Stats): Promise<void> => {
  const [left, kept] = await Promise.all([lstatOf(source).catch(() => undefined), lstatOf(target)]);
  // On a file system without case both names may be the same one: then there is but one link.
  if (left?.ino === stats.ino && kept.ino === stats.ino && kept.nlink > 1) await unlinkFile(source);
};

/** @see StorageAdapter.moveFile */
export const moveFile = async (
  store: LocalStore,
  from: SourcePath,
  to: SourcePath,
  options: PutOptions,
): Promise<void> => {
  const { places } = store;
  if (from.isRoot) throw new WrongKindError();
  if (to.isRoot) throw options.createOnly === true ? new AlreadyExistsError() : new WrongKindError();
  await places.within(from.parent, {}, async (origin) => {
    const source = origin.folder.at(await places.diskName(origin.folder, from.name));
    await requireFile(source);
    if (from.equals(to)) {
      if (options.createOnly === true) throw new AlreadyExistsError();
      return;
    }
    await places.within(to.parent, { create: true }, async ({ folder }) => {
      const name = await places.newDiskName(folder, to.name);
      await moveInto(store, { source, folder, to, name, options });
      await flushFolder(folder);
    });
  });
};

/** The root can neither be moved nor removed. */
export const refuseRoot = (path: SourcePath): void => {
  if (path.isRoot) throw new StorageDeniedError({ detail: 'the root cannot be moved or removed' });
};
