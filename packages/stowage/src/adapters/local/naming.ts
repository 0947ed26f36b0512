import { randomUUID } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { systemCode } from '../../basics/files/system-errors.ts';
import { uploadNames } from '../../basics/content/file-name.ts';
import { AlreadyExistsError, ChangedMeanwhileError, WrongKindError } from '../../errors/errors.ts';
import type { OpenFolder } from './confinement.ts';
import { besidePrefix } from './names.ts';
import {
  type Name,
  closeFile,
  exactFstat,
  exactLstat,
  followedStat,
  isThere,
  lstatOf,
  makeDirectory,
  makeLink,
  NEW_FILE,
  openFile,
  removeEmpty,
  renameTo,
  unlinkFile,
} from './system.ts';
import type { TempArea } from './temp-area.ts';

/** A name in an open folder, and the temporary area on the file system of the folder. */
export interface Named {
  readonly folder: OpenFolder;
  readonly name: string;
  readonly area: TempArea;
}

// What file systems without hard links, and rules against them, answer.
const NO_LINKS: ReadonlySet<string | undefined> = new Set([
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EMLINK',
  'EACCES',
]);

/**
 * Without links: an empty file made exclusively takes the name, then the content replaces it. Still one
 * winner among many; but the empty file can be seen for a moment, and stays when the process is killed within
 * it.
 */
const claimAndRename = async (from: Name, target: Name): Promise<void> => {
  const fd = await openFile(target, NEW_FILE, 0o600);
  const claimed = await exactFstat(fd).finally(() => closeFile(fd));
  try {
    await renameTo(from, target);
  } catch (error) {
    // Another process may have replaced it.
    const found = await exactLstat(target).catch(() => undefined);
    if (found !== undefined && isSameFile(claimed)(found)) await unlinkFile(target).catch(() => undefined);
    throw error;
  }
};

/** Whether a link that failed with EEXIST is ours: network file systems repeat what had no answer. */
const isLinked = async (from: Name, target: Name): Promise<boolean> => {
  const [one, other] = await Promise.all([exactLstat(from), exactLstat(target)]).catch(() => []);
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
};

/**
 * Gives a file a second name that nothing has. The file system decides: of many at the same time exactly one
 * succeeds. Where there are no links the file is moved instead.
 * @throws AlreadyExistsError when the name is taken by anything, a link to nowhere included; EXDEV of the
 *   system
 */
export const linkNew = async (from: Name, target: Name): Promise<'linked' | 'moved'> => {
  try {
    await makeLink(from, target);
    return 'linked';
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw new AlreadyExistsError({ cause: error });
    if (!NO_LINKS.has(systemCode(error))) throw error;
  }
  await claimAndRename(from, target).catch((error: unknown) => {
    throw systemCode(error) === 'EEXIST' ? new AlreadyExistsError({ cause: error }) : error;
  });
  return 'moved';
};

/**
 * Moves a file of our own, which no other operation touches, to a name that nothing has. The file system
 * decides: of many at the same time exactly one succeeds.
 * @throws as `linkNew`
 */
const nameNewFile = async (from: Name, target: Name): Promise<void> => {
  const made = await linkNew(from, target).catch(async (error: unknown) => {
    if (error instanceof AlreadyExistsError && (await isLinked(from, target))) return 'linked';
    throw error;
  });
  if (made === 'moved') return;
  try {
    await unlinkFile(from);
  } catch (error) {
    if (!(await withdrawLink(target, error, () => unlinkFile(target)))) throw error;
  }
};

/**
 * After a link was made to a file whose old name could then not be removed: removes the new name, if the file
 * has another one. Returns whether the new name is the only one: the old name is gone, and the file has
 * moved.
 * @param error why the old name was not removed
 */
export const withdrawLink = async (
  target: Name,
  error: unknown,
  remove: () => Promise<void>,
): Promise<boolean> => {
  const found = await exactLstat(target).catch(() => undefined);
  if (found?.nlink === 1n && systemCode(error) === 'ENOENT') return true;
  if (found !== undefined && found.nlink > 1n) await remove().catch(() => undefined);
  return false;
};

/**
 * Moves a file to a name that may belong to a file, which is replaced in one step.
 * @throws WrongKindError when a folder, link or device has the name; EXDEV as above
 */
const nameOverFile = async (from: Name, target: Name): Promise<void> => {
  const old = await lstatOf(target).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (old !== undefined && !old.isFile()) throw new WrongKindError();
  // A link swapped in now is replaced itself: a rename never follows.
  await renameTo(from, target);
};

/**
 * Gives a file its name in an open folder. @throws AlreadyExistsError, WrongKindError, EXDEV of the system
 */
export const nameFile = async (
  from: Name,
  folder: OpenFolder,
  name: string,
  createOnly: boolean,
): Promise<void> => {
  try {
    await (createOnly ? nameNewFile : nameOverFile)(from, folder.at(name));
  } catch (error) {
    if (systemCode(error) === 'EISDIR') throw new WrongKindError({ cause: error });
    throw error;
  }
};

/**
 * Moves a folder to a name that nothing has. Making the folder takes the name; the moved one then replaces it
 * while it is empty.
 * @throws AlreadyExistsError, also when another program fills the new folder in between; EXDEV of the
 *   system
 */
export const nameFolder = async (from: Name, folder: OpenFolder, name: string): Promise<void> => {
  const target = folder.at(name);
  try {
    await makeDirectory(target, 0o777);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw new AlreadyExistsError({ cause: error });
    throw error;
  }
  try {
    await renameTo(from, target);
  } catch (error) {
    await removeEmpty(target).catch(() => undefined);
    if (systemCode(error) === 'ENOTEMPTY' || systemCode(error) === 'EEXIST') {
      throw new AlreadyExistsError({ cause: error });
    }
    throw error;
  }
};

const MOST_NAMES = 1000;

/** What operations of this process on one name are serialised by, whatever path or source leads to it. */
export const lockKey = async (folder: OpenFolder, name: string): Promise<string> => {
  const { dev, ino } = await followedStat(folder.self);
  return `${dev.toString()}:${ino.toString()}/${name}`;
};

/**
 * Gives what was taken away its name again, or a numbered one when the name was taken meanwhile:
 * nothing that was stored is dropped.
 */
export const restoreName = async (taken: Name, folder: OpenFolder, name: string): Promise<void> => {
  const stats = await lstatOf(taken).catch(() => undefined);
  if (stats === undefined) return;
  const names = uploadNames(name);
  for (let number = 0; number < MOST_NAMES; number += 1) {
    try {
      const free = names.at(number);
      return await (stats.isDirectory()
        ? nameFolder(taken, folder, free)
        : nameFile(taken, folder, free, true));
    } catch (error) {
      if (!(error instanceof AlreadyExistsError)) throw error;
    }
  }
};

/** Takes a name away, in one step, to a name of our own on the same file system. */
const take = async ({ area, folder, name }: Named, use: (taken: Name) => Promise<void>): Promise<void> => {
  const lease = await area.lease();
  try {
    const inArea = lease.folder.at(randomUUID());
    try {
      await renameTo(folder.at(name), inArea);
    } catch (error) {
      // NFS may answer so when it is asked a second time for what it has done.
      const isDone = systemCode(error) === 'ENOENT' && (await isThere(inArea));
      if (isDone) return await use(inArea);
      if (systemCode(error) !== 'EXDEV') throw error;
      const beside = folder.at(`${besidePrefix(area.instance)}${randomUUID()}`);
      await renameTo(folder.at(name), beside);
      return await use(beside);
    }
    await use(inArea);
  } finally {
    await lease.release();
  }
};

/**
 * Removes what lies at a name only if it is what the caller expects. Decided by the file system: the name is
 * first taken away in one step, then looked at, and given back when it is something else, such as an upload
 * that has just replaced it.
 * @throws ChangedMeanwhileError; the system's ENOENT when nothing has the name
 */
export const removeExpected = (named: Named, isExpected: (stats: BigIntStats) => boolean): Promise<void> =>
  take(named, async (taken) => {
    if (isExpected(await exactLstat(taken))) return unlinkFile(taken);
    await restoreName(taken, named.folder, named.name);
    throw new ChangedMeanwhileError();
  });

/** Whether two looks at names show one and the same file. */
export const isSameFile =
  (one: Pick<BigIntStats, 'dev' | 'ino'>) =>
  (other: BigIntStats): boolean =>
    one.ino === other.ino && one.dev === other.dev;
