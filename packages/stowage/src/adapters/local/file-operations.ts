import type { BigIntStats } from 'node:fs';
import * as errors from '../../errors/errors.ts';
import type { OperationOptions, PutOptions, RemoveFileOptions } from '../../storage/adapter.ts';
import { isSameVersion } from '../../storage/entry.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { systemCode } from '../../basics/files/system-errors.ts';
import { type AcrossTarget, copyAcross } from './copies.ts';
import type { OpenFolder } from './confinement.ts';
import { type Name, exactLstat, makeDirectory, statOf, unlinkFile } from './system.ts';
import {
  isSameContent,
  isSameFile,
  linkNew,
  lockKey,
  type Named,
  nameFile,
  removeExpected,
  withdrawLink,
} from './naming.ts';
import { flushFolder } from './folder-walker.ts';
import { refuseTarget } from './staged-temp.ts';
import type { LocalStore } from './local-store.ts';

/** Attempts to link a file that is replaced at the same moment. */
const MOST_REPLACED = 100;

/** The stats of a file. @throws NotFoundError also for links and special files, WrongKindError for folders */
const requireFile = async (folder: OpenFolder, name: string): Promise<BigIntStats> => {
  const stats = await exactLstat(folder.at(name));
  if (stats.isDirectory()) throw new errors.WrongKindError();
  if (!stats.isFile()) throw new errors.NotFoundError({ detail: 'neither a file nor a folder' });
  return stats;
};

export const makeFolder = async (
  store: LocalStore,
  path: SourcePath,
  options: OperationOptions,
): Promise<void> => {
  if (path.isRoot) throw new errors.AlreadyExistsError();
  await store.walker.within(path.parent, { create: true }, async ({ folder }) => {
    const name = await store.walker.newDiskName(folder, path.name);
    options.signal?.throwIfAborted();
    await makeDirectory(folder.at(name), 0o777);
    await flushFolder(folder);
  });
};

export const removeFile = async (
  { walker, areas, locks }: LocalStore,
  path: SourcePath,
  options: RemoveFileOptions,
): Promise<void> => {
  const { ifUnchanged: seen, signal } = options;
  if (path.isRoot) throw new errors.WrongKindError();
  const isSeen = (stats: BigIntStats): boolean => {
    const now = statOf(path.name, stats);
    return seen === undefined || (now !== undefined && now.kind === 'file' && isSameVersion(seen, now));
  };
  await walker.within(path.parent, {}, async ({ folder }) => {
    const name = await walker.diskName(folder, path.name);
    const stats = await requireFile(folder, name);
    signal?.throwIfAborted();
    await locks.hold(await lockKey(folder, name), { signal }, async () => {
      // Does not follow a link or folder swapped in now: the link itself is removed, and a folder fails.
      if (seen === undefined) return unlinkFile(folder.at(name));
      if (!isSeen(stats)) throw new errors.ChangedMeanwhileError();
      await removeExpected({ area: await areas.near(path.parent), folder, name }, isSeen);
    });
  });
};

/** Links a file. When it is replaced during that, links the new one. */
const linkCurrent = async (from: Name, target: Name): Promise<'linked' | 'moved'> => {
  for (let replaced = 0; ; replaced += 1) {
    try {
      return await linkNew(from, target);
    } catch (error) {
      if (systemCode(error) !== 'ENOENT' || replaced === MOST_REPLACED) throw error;
      await exactLstat(from);
    }
  }
};

/**
 * Moves a file to a free name: links the new name before it removes the old one. A file that replaces it in
 * between keeps the old name.
 * @param found the file as it was found
 */
const moveNew = async (source: Named, target: Named, found: BigIntStats): Promise<void> => {
  const [from, to] = [source.folder.at(source.name), target.folder.at(target.name)];
  if ((await linkCurrent(from, to)) === 'moved') return;
  const linked = await exactLstat(to);
  // On sshfs, unionfs-fuse and SMB each name of a file may have an inode number of its own.
  const isMoved = (stats: BigIntStats): boolean =>
    isSameFile(linked)(stats) || (isSameContent(found)(linked) && isSameFile(found)(stats));
  try {
    await removeExpected(source, isMoved);
  } catch (error) {
    if (error instanceof errors.ChangedMeanwhileError) return;
    // The file must not remain at both locations: it may keep its old name, or another move may have taken it.
    const withdraw = (): Promise<void> => removeExpected(target, isSameFile(linked));
    const left = await exactLstat(from).catch(() => undefined);
    if (left !== undefined && isMoved(left)) await withdraw().catch(() => undefined);
    else if (systemCode(error) === 'ENOENT' && (await withdrawLink(to, error, withdraw))) return;
    throw error;
  }
};

/** Copies a file to another file system and then removes the original, if it is unchanged. */
const moveAcross = async (source: Named, target: AcrossTarget, options: PutOptions): Promise<void> => {
  const { createOnly = false, signal } = options;
  const made = await copyAcross(source.folder.at(source.name), target, {
    keepTime: true,
    giveName: (beside) => nameFile(beside, target.folder, target.name, createOnly),
    signal,
  });
  const isCopied = (stats: BigIntStats): boolean =>
    isSameFile(made.source)(stats) && isSameContent(made.source)(stats);
  try {
    await removeExpected(source, isCopied);
  } catch (error) {
    // Keep the copy unless the original is certainly there, or was not found in two attempts.
    const left = await exactLstat(source.folder.at(source.name)).catch(systemCode);
    const isCertain = left === 'ENOENT' ? systemCode(error) === 'ENOENT' : typeof left === 'object';
    if (createOnly && isCertain) await removeExpected(target, isSameFile(made.stats)).catch(() => undefined);
    throw error;
  }
};

const moveInto = async (source: Named, target: AcrossTarget, options: PutOptions): Promise<void> => {
  const stats = await requireFile(source.folder, source.name);
  options.signal?.throwIfAborted();
  try {
    if (options.createOnly === true) return await moveNew(source, target, stats);
    const old = await exactLstat(target.folder.at(target.name)).catch(() => undefined);
    await nameFile(source.folder.at(source.name), target.folder, target.name, false);
    // By POSIX, renaming a file to another of its hard links does nothing: the old name still exists.
    if (old !== undefined && isSameFile(stats)(old)) await dropTwin(source, target, stats);
  } catch (error) {
    if (systemCode(error) !== 'EXDEV') throw error;
    await moveAcross(source, target, options);
  }
};

const dropTwin = async (source: Named, target: Named, stats: BigIntStats): Promise<void> => {
  const left = await exactLstat(source.folder.at(source.name)).catch(() => undefined);
  const kept = await exactLstat(target.folder.at(target.name));
  // On a case-insensitive file system both names may be the same link: remove only a second link.
  if (left?.ino === stats.ino && kept.ino === stats.ino && kept.nlink > 1n)
    await removeExpected(source, isSameFile(stats));
};

export const moveFile = async (
  store: LocalStore,
  from: SourcePath,
  to: SourcePath,
  options: PutOptions,
): Promise<void> => {
  const { walker, areas, locks } = store;
  if (from.isRoot) throw new errors.WrongKindError();
  refuseTarget(to, options);
  await walker.within(from.parent, {}, async (origin) => {
    const name = await walker.diskName(origin.folder, from.name);
    const source = { folder: origin.folder, name, area: await areas.near(from.parent) };
    await requireFile(source.folder, source.name);
    if (from.equals(to)) {
      if (options.createOnly === true) throw new errors.AlreadyExistsError();
      return;
    }
    await walker.within(to.parent, { create: true }, async ({ folder }) => {
      const path = to.parent;
      const target = {
        folder,
        name: await walker.newDiskName(folder, to.name),
        path,
        area: await areas.near(path),
      };
      const keys = await Promise.all([source, target].map((one) => lockKey(one.folder, one.name)));
      await locks.hold(keys, options, () => moveInto(source, target, options));
      await flushFolder(folder);
      if (!from.parent.equals(to.parent)) await flushFolder(source.folder);
    });
  });
};

/** Rejects the root, which can be neither moved nor removed. */
export const refuseRoot = (path: SourcePath): void => {
  if (path.isRoot) throw new errors.StorageDeniedError({ detail: 'the root cannot be moved or removed' });
};
