import { access, mkdir, rename, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { documents } from './documents.ts';
import { pictures, type Sample } from './pictures.ts';

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

const minute = 60_000;

/**
 * Writes the files one after the other in time, so that the order of the table shows in a listing sorted by
 * change.
 */
const writeAll = async (directory: string, samples: readonly Sample[], now: number): Promise<void> => {
  await Promise.all(
    samples.map(async ({ path: name, make }, index) => {
      const target = path.join(directory, ...name.split('/'));
      await mkdir(path.dirname(target), { recursive: true });
      await writeFile(target, await make());
      const changed = new Date(now - (samples.length - index) * 97 * minute);
      await utimes(target, changed, changed);
    }),
  );
};

/**
 * Makes sure that the two folders of the demo exist: a missing one is made with its samples, one that is
 * there is left as it is, whatever is in it. A start that was cut off half-way leaves nothing that the next
 * one would take for finished.
 */
export const writeSamples = async (dataDir: string, now: Date): Promise<void> => {
  const folders = { photos: pictures, documents };
  for (const [name, samples] of Object.entries(folders)) {
    const finished = path.join(dataDir, name);
    if (await exists(finished)) continue;
    const unfinished = path.join(dataDir, `.${name}-in-the-making`);
    await writeAll(unfinished, samples, now.getTime());
    await rename(unfinished, finished);
  }
};
