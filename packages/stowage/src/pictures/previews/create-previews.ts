import { join } from 'node:path';
import {
  makeTemporaryFolder,
  removeTemporaryFolder,
  sweepTemporaryFolders,
} from '../../basics/files/temporary-folder.ts';
import { createTaskQueue } from '../../basics/concurrency/task-queue.ts';
import { BrokenImageError } from '../../errors/errors.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { commands } from './commands.ts';
import type { DrawingProgram } from './drawing-program.ts';
import { fetchBeginning, type StoredFile } from './fetch-beginning.ts';
import { findProgram } from './find-program.ts';
import { runProgram } from './run-program.ts';

/** Pictures of files that are not pictures themselves, drawn by programs in processes of their own. */
export interface Previews {
  /**
   * Runs work that draws: a few at a time, the others wait.
   * @throws BusyError when too many wait or the wait takes too long, the signal's reason
   */
  hold<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result>;
  /**
   * Draws a file whose longer side shall have so many pixels. The result is a picture that its program has
   * made of whatever lies there: as little to be trusted as that. Leaves no file and no process behind.
   * @throws BrokenImageError when it cannot be drawn, the signal's reason, errors of the store
   */
  draw(program: DrawingProgram, file: StoredFile, side: number, signal: AbortSignal): Promise<Buffer>;
}

const PREFIX = 'stowage-preview-';
const RUNNING = 2;
const WAITING = { maxWaiting: 1000, maxWaitMs: 60_000 };

/** Makes the previews of one connector. Nothing is looked for or started by it. */
export const createPreviews = (log: Logger): Previews => {
  const queue = createTaskQueue({ capacity: RUNNING, ...WAITING });
  const missing = new Set<string>();
  let sweeping: Promise<void> | undefined;

  const requireProgram = async (command: string): Promise<string> => {
    const path = await findProgram(command);
    if (path !== undefined) return path;
    if (!missing.has(command)) log.warn('A program for thumbnails cannot be run.', { program: command });
    missing.add(command);
    throw new BrokenImageError({ detail: 'its program cannot be run' });
  };

  return {
    hold: (work, signal) => queue.run(work, 1, signal),
    draw: async ({ kind, command, seconds }, stored, side, signal) => {
      const path = await requireProgram(command);
      await (sweeping ??= sweepTemporaryFolders(PREFIX));
      const folder = await makeTemporaryFolder(PREFIX);
      try {
        const file = join(folder, 'file');
        const beginning = await fetchBeginning(stored, file, commands[kind], signal);
        const args = commands[kind].args(file, beginning, side);
        if (args === undefined) throw new BrokenImageError();
        return await runProgram({ path, args, folder, seconds }, signal);
      } finally {
        await removeTemporaryFolder(folder);
      }
    },
  };
};
