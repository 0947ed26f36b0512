import { randomUUID } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { ifCode, succeeds, systemCode } from '../../basics/files/system-errors.ts';
import { uploadNames } from '../../basics/content/file-name.ts';
import { ChangedMeanwhileError, WrongKindError } from '../../errors/errors.ts';
import { giveFreeName } from '../support/free-names.ts';
import type { OpenFolder } from './confinement.ts';
import { besidePrefix } from './names.ts';
import * as system from './system.ts';
import type { TempArea } from './temp-area.ts';

/** A name in an open folder, with the temporary area on the same file system. */
export interface Named {
  readonly folder: OpenFolder;
  readonly name: string;
  readonly area: TempArea;
}

// Any other error may mean that there are no hard links: it is EPERM, ENOTSUP or ENOSYS, EIO of rclone mount,
// EISDIR of exFAT on Windows.
const NOT_ABOUT_LINKS: ReadonlySet<string | undefined> = new Set(['EXDEV', 'ENOENT', 'EEXIST']);

/** Whether a name could not be given, or a folder not removed, because of an entry that is there. */
export const isTaken = (error: unknown): boolean => ['EEXIST', 'ENOTEMPTY'].includes(systemCode(error) ?? '');

/**
 * Without links: an empty file, created exclusively, takes the name, then the content replaces it. Still
 * exactly one of several writers wins; but the empty file is visible for a moment, and remains when the
 * process is killed in between.
 */
const claimAndRename = async (from: system.Name, target: system.Name): Promise<void> => {
  const fd = await system.openFile(target, system.NEW_FILE, 0o600);
  const claimed = await system.exactFstat(fd).finally((): unknown => system.closeFile(fd));
  try {
    await system.renameTo(from, target);
  } catch (error) {
    // Another process may have replaced it.
    const found = await system.exactLstat(target).catch(() => undefined);
    if (found !== undefined && isSameFile(claimed)(found))
      await system.unlinkFile(target).catch(() => undefined);
    throw error;
  }
};

/** Whether a link that failed with EEXIST was made by this call: network file systems repeat requests. */
const isLinked = (from: system.Name, target: system.Name): Promise<boolean> =>
  Promise.all([system.exactLstat(from), system.exactLstat(target)]).then(
    ([one, other]) => isSameFile(one)(other),
    () => false,
  );

/**
 * Links a file to a second, free name. The file system decides atomically: of concurrent attempts exactly one
 * succeeds. Where there are no links the file is moved instead.
 * @throws errors of the system: EEXIST when the name is taken, also by a dangling link; EXDEV
 */
export const linkNew = async (from: system.Name, target: system.Name): Promise<'linked' | 'moved'> => {
  try {
    await system.makeLink(from, target);
    return 'linked';
  } catch (error) {
    if (NOT_ABOUT_LINKS.has(systemCode(error))) throw error;
  }
  await claimAndRename(from, target);
  return 'moved';
};

/**
 * Moves a temporary file, which no other operation uses, to a free name. The file system decides atomically:
 * of concurrent attempts exactly one succeeds.
 * @throws as `linkNew`
 */
const nameNewFile = async (from: system.Name, target: system.Name): Promise<void> => {
  const made = await linkNew(from, target).catch(async (error: unknown) => {
    if (isTaken(error) && (await isLinked(from, target))) return 'linked';
    throw error;
  });
  if (made === 'moved') return;
  try {
    await system.unlinkFile(from);
  } catch (error) {
    if (!(await withdrawLink(target, error, () => system.unlinkFile(target)))) throw error;
  }
};

/**
 * After a file was linked to a new name but its old name could not be removed: removes the new name, if the
 * file has another one. Returns true when the new name is the only one: the file has moved.
 * @param error the error of removing the old name
 */
export const withdrawLink = async (
  target: system.Name,
  error: unknown,
  remove: () => Promise<void>,
): Promise<boolean> => {
  const found = await system.exactLstat(target).catch(() => undefined);
  if (found?.nlink === 1n && systemCode(error) === 'ENOENT') return true;
  if (found !== undefined && found.nlink > 1n) await remove().catch(() => undefined);
  return false;
};

/** Moves a file to a name, atomically replacing a file. @throws WrongKindError for other kinds */
const nameOverFile = async (from: system.Name, target: system.Name): Promise<void> => {
  const old = await system.lstatOf(target).catch(ifCode('ENOENT'));
  if (old !== undefined && !old.isFile()) throw new WrongKindError();
  // A link swapped in now is replaced itself: a rename never follows it.
  await system.renameTo(from, target);
};

/** Moves a file to a name in an open folder. @throws as `linkNew`; WrongKindError */
export const nameFile = (
  from: system.Name,
  folder: OpenFolder,
  name: string,
  createOnly: boolean,
): Promise<void> => (createOnly ? nameNewFile : nameOverFile)(from, folder.at(name));

// Windows and some network and FUSE file systems rename no folder over another one, even an empty one.
const REFUSES_TO_REPLACE: ReadonlySet<string | undefined> = new Set([
  'EEXIST',
  'ENOTEMPTY',
  'EPERM',
  'EACCES',
  'EIO',
]);

/**
 * Moves a folder to a free name. An empty folder takes the name; the moved folder then replaces it while it
 * is empty.
 * @throws errors of the system: EEXIST; ENOTEMPTY when another program fills the new folder in between; EXDEV
 */
export const nameFolder = async (from: system.Name, folder: OpenFolder, name: string): Promise<void> => {
  const target = folder.at(name);
  await system.makeDirectory(target, 0o777);
  try {
    await system.renameTo(from, target, []);
  } catch (error) {
    const isEmpty = await succeeds(system.removeEmpty(target));
    if (isEmpty && REFUSES_TO_REPLACE.has(systemCode(error))) return system.renameTo(from, target);
    throw error;
  }
};

/** Key that serializes this process's operations on one name, by whatever path or source it is reached. */
export const lockKey = async (folder: OpenFolder, name: string): Promise<string> => {
  const { dev, ino } = await system.followedStat(folder.self);
  return `${dev.toString()}:${ino.toString()}/${name}`;
};

/** Moves an item back to its name, or to a numbered one when the name has been taken. Nothing is dropped. */
export const restoreName = async (taken: system.Name, folder: OpenFolder, name: string): Promise<void> => {
  const stats = await system.lstatOf(taken).catch(() => undefined);
  if (stats === undefined) return;
  const give = (free: string): Promise<void> =>
    stats.isDirectory() ? nameFolder(taken, folder, free) : nameFile(taken, folder, free, true);
  await giveFreeName(uploadNames(name), give, isTaken);
};

/** Moves an entry, in one step, to a temporary name on the same file system, and passes that to `use`. */
const take = async ({ area, folder, name }: Named, use: (taken: system.Name) => Promise<void>) => {
  const takeBeside = async (): Promise<void> => {
    const beside = folder.at(`${besidePrefix(area.instance)}${randomUUID()}`);
    await system.renameTo(folder.at(name), beside);
    await use(beside);
  };
  // On a full disk the area cannot be created.
  const lease = await area.lease().catch(ifCode('ENOSPC', 'EDQUOT'));
  if (lease === undefined) return takeBeside();
  try {
    const inArea = lease.folder.at(randomUUID());
    try {
      await system.renameTo(folder.at(name), inArea);
    } catch (error) {
      // NFS may return this error when it repeats a request that has succeeded.
      const isDone = systemCode(error) === 'ENOENT' && (await system.isThere(inArea));
      if (isDone) return await use(inArea);
      if (systemCode(error) !== 'EXDEV') throw error;
      return await takeBeside();
    }
    await use(inArea);
  } finally {
    await lease.release();
  }
};

/**
 * Removes an entry only if it is the expected one. The file system decides: the entry is first renamed in one
 * step, then checked, and renamed back when it is another one, such as an upload that has just replaced it.
 * @throws ChangedMeanwhileError; the system's ENOENT when the name does not exist
 */
export const removeExpected = (named: Named, isExpected: (stats: BigIntStats) => boolean): Promise<void> =>
  take(named, async (taken) => {
    if (isExpected(await system.exactLstat(taken))) return system.unlinkFile(taken);
    await restoreName(taken, named.folder, named.name);
    throw new ChangedMeanwhileError();
  });

/** Whether two stats are of the same file. */
export const isSameFile =
  (one: Pick<BigIntStats, 'dev' | 'ino'>) =>
  (other: BigIntStats): boolean =>
    one.ino === other.ino && one.dev === other.dev;

/** Whether two stats of one file, under whatever name, show the same content. */
export const isSameContent =
  (one: Pick<BigIntStats, 'mtimeNs' | 'size'>) =>
  (other: BigIntStats): boolean =>
    one.mtimeNs === other.mtimeNs && one.size === other.size;
