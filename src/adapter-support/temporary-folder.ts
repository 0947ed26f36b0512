import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processState, readProcessMark } from './process-mark.ts';

/**
 * Makes an empty folder for the files of one program, which only this user can read. Its name begins with the
 * prefix and tells which process it belongs to.
 */
export const makeTemporaryFolder = async (prefix: string): Promise<string> =>
  mkdtemp(join(tmpdir(), `${prefix}${await readProcessMark()}-`));

/**
 * Removes the folders of this prefix whose processes were killed. Never throws: leftovers of another user
 * cannot be removed, and are no reason not to go on.
 */
export const sweepTemporaryFolders = async (prefix: string): Promise<void> => {
  try {
    for (const name of await readdir(tmpdir())) {
      if (!name.startsWith(prefix) || (await processState(name.slice(prefix.length))) !== 'gone') continue;
      await rm(join(tmpdir(), name), { recursive: true, force: true });
    }
  } catch {
    // The next start tries again.
  }
};

/** Removes a folder whose program has ended. Never throws. */
export const removeTemporaryFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }).catch(() => undefined);
