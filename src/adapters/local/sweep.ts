import type { Logger } from '../../log/logger.ts';
import { processState } from '../../adapter-support/process-mark.ts';
import { systemCode } from '../../adapter-support/system-errors.ts';
import { readRecord } from './across.ts';
import type { OpenFolder } from './confinement.ts';
import { besidePrefix, TEMP_PREFIX } from './names.ts';
import type { FolderWalker } from './folder-walker.ts';
import { removeTree } from './trees.ts';
import { lstatOf, readNames, removeEmpty, unlinkFile } from './system.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

const namesOrNone = (folder: OpenFolder): Promise<readonly string[]> =>
  readNames(folder.self).catch(() => []);

/** When anything in the instance's folder changed last. */
const lastChange = async (area: OpenFolder, walker: FolderWalker, instance: string): Promise<number> => {
  let latest = (await lstatOf(area.at(instance))).mtimeMs;
  const folder = await walker.confinement.openChild(area, instance);
  try {
    for (const name of await namesOrNone(folder)) {
      const stats = await lstatOf(folder.at(name)).catch(() => undefined);
      latest = Math.max(latest, stats?.mtimeMs ?? 0);
    }
  } finally {
    await folder.close();
  }
  return latest;
};

const isLeftOver = async (
  area: OpenFolder,
  walker: FolderWalker,
  instance: string,
  now: number,
): Promise<boolean> => {
  const state = await processState(instance);
  // Another machine's process cannot be asked; what nobody has touched for a day is nobody's.
  if (state === 'unknown') return now - (await lastChange(area, walker, instance)) > DAY_MS;
  return state === 'gone';
};

/** Removes what the instance put beside targets on other file systems. */
const sweepBeside = async (area: OpenFolder, walker: FolderWalker, instance: string): Promise<void> => {
  const folder = await walker.confinement.openChild(area, instance);
  try {
    for (const record of await namesOrNone(folder)) {
      const path = await readRecord(folder, record);
      if (path === undefined) continue;
      await walker
        .within(path, {}, async (opened) => {
          for (const name of await readNames(opened.folder.self)) {
            if (name.startsWith(besidePrefix(instance))) await unlinkFile(opened.folder.at(name));
          }
        })
        // The folder may be gone since.
        .catch(() => undefined);
    }
  } finally {
    await folder.close();
  }
};

const sweepInstance = async (area: OpenFolder, walker: FolderWalker, instance: string): Promise<void> => {
  await sweepBeside(area, walker, instance);
  await removeTree(walker.confinement, area, instance);
};

const sweepArea = async (area: OpenFolder, walker: FolderWalker, now: number, log: Logger): Promise<void> => {
  for (const instance of await readNames(area.self)) {
    try {
      if (!(await isLeftOver(area, walker, instance, now))) continue;
      await sweepInstance(area, walker, instance);
      log.info('Removed temporary files that a process had left behind.');
    } catch (error) {
      // Two starting processes may sweep the same leftovers; and those that resist must not stop the service.
      if (systemCode(error) !== 'ENOENT')
        log.warn('Temporary files of an earlier run could not be removed.', { error });
    }
  }
};

/**
 * Removes what killed processes left in a root: staged content, half-removed and half-copied folders,
 * temporary files beside their targets. Files of processes that still run are not touched. What resists is
 * logged; rejects only when the root cannot be opened.
 */
export const sweepLeftovers = async (walker: FolderWalker, now: number, log: Logger): Promise<void> => {
  const root = await walker.confinement.openRoot();
  try {
    const area = await walker.confinement.openChild(root, TEMP_PREFIX);
    try {
      await sweepArea(area, walker, now, log);
    } finally {
      await area.close();
    }
    // Succeeds when nothing is left in it.
    await removeEmpty(root.at(TEMP_PREFIX)).catch(() => undefined);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT')
      log.warn('Temporary files of earlier runs could not be looked for.', { error });
  } finally {
    await root.close();
  }
};
