import { closeSync, constants, openSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readByQuietPath } from '#internals';

// The folder for temporary files changes all the time while others test.
const HOME = '/var/tmp';
let base: string;
let folder: string;
let handle: number;
let looks: string[];

const look = (act: () => void = () => undefined): string | undefined =>
  readByQuietPath(`/proc/self/fd/${String(handle)}`, (path) => {
    looks.push(path);
    act();
    return 'seen';
  });

const swapForLink = (): void => {
  renameSync(join(base, 'above'), join(base, 'aside'));
  symlinkSync('/etc', join(base, 'above'));
};

beforeEach(async () => {
  base = await mkdtemp(join(HOME, 'stowage-quiet-'));
  folder = join(base, 'above', 'listed');
  await mkdir(folder, { recursive: true });
  handle = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  looks = [];
});
afterEach(async () => {
  closeSync(handle);
  await rm(base, { recursive: true });
});

describe.skipIf(process.platform !== 'linux')(
  'looking at entries by the path of an open folder (Linux)',
  () => {
    it('is not done where folders on the way have just changed', () => {
      expect(look()).toBeUndefined();
      expect(looks).toEqual([]);
    });

    it('is done where they have not, and counts for nothing when one was moved meanwhile', async () => {
      await sleep(2100);
      expect(look()).toBe('seen');
      expect(look(() => writeFileSync(join(folder, 'new.txt'), ''))).toBe('seen');
      expect(looks).toEqual([folder, folder]);
      const outcome = look(() => {
        swapForLink();
        unlinkSync(join(base, 'above'));
        renameSync(join(base, 'aside'), join(base, 'above'));
      });
      expect(outcome).toBeUndefined();
      expect(looks).toHaveLength(3);
    });

    it('is not done where the way leads through a link, or the folder is gone', async () => {
      await sleep(2100);
      swapForLink();
      expect(look()).toBeUndefined();
      await rm(join(base, 'aside'), { recursive: true });
      await writeFile(join(base, 'aside'), '');
      expect(look()).toBeUndefined();
      expect(looks).toEqual([]);
    });
  },
);
