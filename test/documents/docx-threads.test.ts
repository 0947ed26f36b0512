import { existsSync } from 'node:fs';
import { readdir, readlink } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ConverterThread } from '#internals';

const HANDLES = '/proc/self/fd';

/** Programs of converter threads that this process holds open. */
const openPrograms = async (): Promise<readonly string[]> => {
  const handles = await readdir(HANDLES);
  const targets = await Promise.all(
    handles.map((handle) => readlink(`${HANDLES}/${handle}`).catch(() => '')),
  );
  return targets.filter((target) => /\/(?:documents\/docx|parse5|docx|entities)\/.*\.[cm]?js$/u.test(target));
};

describe('a thread that is ended before its document is done', () => {
  it.skipIf(!existsSync(HANDLES))(
    'leaves no file open, at whatever moment it ends (on systems with /proc)',
    async () => {
      for (let lag = 0; lag < 120; lag += 10) {
        const thread = new ConverterThread(64);
        const document = thread.convert('<p>text</p>', {}, () => Promise.resolve(undefined));
        document.catch(() => undefined);
        await pause(lag);
        await thread.end();
      }
      await expect.poll(openPrograms).toEqual([]);
    },
  );
});
