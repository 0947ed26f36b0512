import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processState, readProcessMark } from '../../adapter-support/process-mark.ts';

const PREFIX = 'stowage-browser-';

/** Removes the profiles that killed processes have left. */
const sweep = async (): Promise<void> => {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(PREFIX) || (await processState(name.slice(PREFIX.length))) !== 'gone') continue;
    await rm(join(tmpdir(), name), { recursive: true, force: true });
  }
};

/** Makes a private folder that a browser may write to, and removes what dead processes have left of theirs. */
export const createProfile = async (): Promise<string> => {
  // Leftovers of another user cannot be removed; they are no reason not to start.
  await sweep().catch(() => undefined);
  return mkdtemp(join(tmpdir(), `${PREFIX}${await readProcessMark()}-`));
};

/** Removes a profile whose browser has ended. Never throws. */
export const removeProfile = (profile: string): Promise<void> =>
  rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }).catch(() => undefined);
