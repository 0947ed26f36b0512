import { randomUUID } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { systemCode } from '../../adapter-support/system-errors.ts';
import { uploadNames } from '../../content/numbered-names.ts';
import { ChangedMeanwhileError } from '../../errors/errors.ts';
import { besidePrefix } from './across.ts';
import type { OpenFolder } from './confinement.ts';
import { nameFolder, nameNewFile } from './naming.ts';
import { exactLstat, followedStat, lstatOf, renameTo, unlinkFile, type Name } from './system.ts';
import type { TempArea } from './temp-area.ts';

const MOST_NAMES = 1000;

/** What operations of this process on one name are serialised by, whatever path or source leads to it. */
export const lockKey = async (folder: OpenFolder, name: string): Promise<string> => {
  const { dev, ino } = await followedStat(folder.self);
  return `${dev.toString()}:${ino.toString()}/${name}`;
};

/**
 * Gives what was taken away its name again, or a numbered one when somebody has taken the name meanwhile: nothing that was
 * stored is dropped.
 */
export const putBack = async (taken: Name, folder: OpenFolder, name: string): Promise<void> => {
  const stats = await lstatOf(taken).catch(() => undefined);
  if (stats === undefined) return;
  if (stats.isDirectory()) return nameFolder(taken, folder, name);
  const names = uploadNames(name);
  for (let number = 0; number < MOST_NAMES; number += 1) {
    try {
      return await nameNewFile(taken, folder.at(names.at(number)));
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
    }
  }
};

const isThere = (name: Name): Promise<boolean> =>
  lstatOf(name).then(
    () => true,
    () => false,
  );

/** Takes a name away, in one step, to a name of our own on the same file system. */
const take = async (
  area: TempArea,
  folder: OpenFolder,
  name: string,
  use: (taken: Name) => Promise<void>,
): Promise<void> => {
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
 * Removes what lies at a name only if it is what the caller expects. Decided by the file system: the name is first taken
 * away in one step, then looked at, and given back when it is something else, such as an upload that has just replaced it.
 * @throws ChangedMeanwhileError; the system's ENOENT when nothing has the name
 */
export const removeExpected = (
  area: TempArea,
  folder: OpenFolder,
  name: string,
  isExpected: (stats: BigIntStats) => boolean,
): Promise<void> =>
  take(area, folder, name, async (taken) => {
    if (isExpected(await exactLstat(taken))) return unlinkFile(taken);
    await putBack(taken, folder, name);
    throw new ChangedMeanwhileError();
  });

/** Whether two looks at names show one and the same file. */
export const isSameFile =
  (one: Pick<BigIntStats, 'dev' | 'ino'>) =>
  (other: BigIntStats): boolean =>
    one.ino === other.ino && one.dev === other.dev;
