import type { Logger } from '../../basics/log/logger.ts';
import { isLeftOver } from '../../basics/files/temporary-folder.ts';
import { systemCode } from '../../basics/files/system-errors.ts';
import { readRecord } from './copies.ts';
import type { OpenFolder } from './confinement.ts';
import { besidePrefix, TEMP_PREFIX } from './names.ts';
import type { FolderWalker } from './folder-walker.ts';
import { mountsBelow } from './temp-area.ts';
import { removeTree } from './trees.ts';
import { closing, lstatOf, readNames, removeEmpty, unlinkFile } from './system.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

const namesOrNone = (folder: OpenFolder): Promise<readonly string[]> =>
  readNames(folder.self).catch(() => []);

/** Time of the last change in an entry or below it. */
const lastChange = async (parent: OpenFolder, walker: FolderWalker, name: string): Promise<number> => {
  const stats = await lstatOf(parent.at(name));
  if (!stats.isDirectory()) return stats.mtimeMs;
  let latest = stats.mtimeMs;
  await closing(walker.confinement.openChild(parent, name), async (folder) => {
    for (const child of await namesOrNone(folder))
      latest = Math.max(latest, await lastChange(folder, walker, child).catch(() => 0));
  });
  return latest;
};

/** Removes the temporary files that the instance put beside targets on other file systems. */
const sweepBeside = (area: OpenFolder, walker: FolderWalker, instance: string): Promise<void> =>
  closing(walker.confinement.openChild(area, instance), async (folder) => {
    for (const record of await namesOrNone(folder)) {
      const path = await readRecord(folder, record);
      if (path === undefined) continue;
      await walker
        .within(path, {}, async (opened) => {
          for (const name of await readNames(opened.folder.self)) {
            if (name.startsWith(besidePrefix(instance))) await unlinkFile(opened.folder.at(name));
          }
        })
        // The folder may have been removed.
        .catch(() => undefined);
    }
  });

const sweepArea = async (area: OpenFolder, walker: FolderWalker, now: number, log: Logger): Promise<void> => {
  for (const instance of await readNames(area.self)) {
    try {
      const changedAt = (): Promise<number> => lastChange(area, walker, instance);
      // A process on another machine cannot be checked; after a day without changes it counts as dead.
      if (!(await isLeftOver(instance, changedAt, { now, unknownMs: DAY_MS }))) continue;
      await sweepBeside(area, walker, instance);
      await removeTree(walker.confinement, area, instance);
      log.info('Removed temporary files that a process had left behind.');
    } catch (error) {
      // Two starting processes may sweep the same leftovers; entries that stay must not stop the service.
      if (systemCode(error) !== 'ENOENT')
        log.warn('Temporary files of an earlier run could not be removed.', { error });
    }
  }
};

const sweepFolder = async (folder: OpenFolder, walker: FolderWalker, now: number, log: Logger) => {
  try {
    await closing(walker.confinement.openChild(folder, TEMP_PREFIX), (area) =>
      sweepArea(area, walker, now, log),
    );
    // Succeeds when the folder is empty.
    await removeEmpty(folder.at(TEMP_PREFIX)).catch(() => undefined);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT')
      log.warn('Temporary files of earlier runs could not be searched for.', { error });
  }
};

/**
 * Removes leftovers of killed processes in a root and in the volumes mounted below it: staged content,
 * half-removed and half-copied folders, temporary files beside their targets. Does not touch files of running
 * processes. Logs entries that cannot be removed; rejects only when the root cannot be opened.
 */
export const sweepLeftovers = async (
  root: string,
  walker: FolderWalker,
  now: number,
  log: Logger,
): Promise<void> => {
  const sweep = (folder: OpenFolder): Promise<void> => sweepFolder(folder, walker, now, log);
  await closing(walker.confinement.openRoot(), sweep);
  for (const mount of await mountsBelow(root))
    await closing(walker.open(mount), sweep).catch(() => undefined);
};
