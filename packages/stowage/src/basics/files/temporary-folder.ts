import type { Stats } from 'node:fs';
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isLeftOver, readProcessMark } from './process-mark.ts';

/**
 * Makes an empty folder for the files of one program, which only this user can read. Its name begins with the
 * prefix and tells which process it belongs to.
 */
export const makeTemporaryFolder = async (prefix: string): Promise<string> =>
  mkdtemp(join(tmpdir(), `${prefix}${await readProcessMark()}-`));

/**
 * Of a folder that only this user can change: in another one, a link could take the place of a sub-folder.
 */
const isOwn = (found: Stats): boolean =>
  found.isDirectory() &&
  (process.getuid === undefined || (found.uid === process.getuid() && (found.mode & 0o077) === 0));

/**
 * Removes the folders of this prefix, made by this user, whose processes were killed. Never throws: what
 * resists does not stop the work.
 */
export const sweepTemporaryFolders = async (prefix: string): Promise<void> => {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names.filter((one) => one.startsWith(prefix))) {
    try {
      const folder = join(tmpdir(), name);
      const found = await lstat(folder);
      if (!isOwn(found) || !(await isLeftOver(name.slice(prefix.length), async () => found.mtimeMs)))
        continue;
      await rm(folder, { recursive: true, force: true });
    } catch {
      // The next start tries again.
    }
  }
};

/** Removes a folder whose program has ended. Never throws. */
export const removeTemporaryFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }).catch(() => undefined);
