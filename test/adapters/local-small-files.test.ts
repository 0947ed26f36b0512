import { writeFileSync } from 'node:fs';
import { link, mkdir, mkdtemp, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NotFoundError } from 'stowage/storage';
import { SourcePath, createSilentLogger, openLocalAdapter } from '#internals';

// A file system of this machine, which the folder for temporary files need not be.
const HOME = '/var/tmp';
const NAMES = ['plain', 'rewritten', 'dated', 'linked', 'replaced', 'removed', 'other', 'way', 'many'];
let base: string;
let adapter: Awaited<ReturnType<typeof openLocalAdapter>>;

const at = (path: string): SourcePath => SourcePath.parse(path);
const onDisk = (path: string): string => join(base, 'root', path);
const read = async (path: string): Promise<Uint8Array | undefined> =>
  (await adapter.read(at(path), { bytesUpTo: 1000 })).bytes;
const textOf = async (path: string): Promise<string> => Buffer.from((await read(path)) ?? []).toString();
/** The content as it is kept: a second time the same bytes in memory. */
const keptAt = async (path: string): Promise<Uint8Array | undefined> => {
  await read(path);
  const kept = await read(path);
  expect(await read(path)).toBe(kept);
  return kept;
};

beforeAll(async () => {
  base = await mkdtemp(join(HOME, 'stowage-small-'));
  for (const name of NAMES) {
    await mkdir(onDisk(name), { recursive: true });
    await writeFile(onDisk(`${name}/a.txt`), `one ${name}`);
    await writeFile(onDisk(`${name}.txt`), `one ${name}`);
  }
  await writeFile(join(base, 'outside.txt'), 'one outside');
  adapter = await openLocalAdapter({ root: join(base, 'root'), log: createSilentLogger() });
  // What has just changed is not kept.
  await sleep(2100);
});
afterAll(async () => {
  await adapter.close();
  await rm(base, { recursive: true });
});

describe.skipIf(process.platform !== 'linux')('small files that are read again and again (Linux)', () => {
  it.each(['plain.txt', 'plain/a.txt'])('are kept: %s', async (path) => {
    const kept = await keptAt(path);
    expect(Buffer.from(kept ?? []).toString()).toBe('one plain');
    // A reader that wants no more than a few bytes in one piece gets none.
    const few = await adapter.read(at(path), { bytesUpTo: 3 });
    few.stream.destroy();
    expect(few.bytes).toBeUndefined();
    await expect(adapter.read(at(path), { bytesUpTo: 1000, ifMatch: '"other"' })).rejects.toThrow();
  });

  it.each(['rewritten.txt', 'rewritten/a.txt'])(
    'are read anew when they are written to: %s',
    async (path) => {
      await keptAt(path);
      await writeFile(onDisk(path), 'two rewritten');
      expect(await textOf(path)).toBe('two rewritten');
      // Also twice within a tick of the clock.
      await writeFile(onDisk(path), 'TWO rewritten');
      expect(await textOf(path)).toBe('TWO rewritten');
    },
  );

  it.each(['many.txt', 'many/a.txt'])(
    'are what they are for each who asks at the same time: %s',
    async (path) => {
      const kept = await keptAt(path);
      const several = (): Promise<readonly (Uint8Array | undefined)[]> =>
        Promise.all(Array.from({ length: 20 }, () => read(path)));
      expect((await several()).every((bytes) => bytes === kept)).toBe(true);
      const before = several();
      // The look that they share has begun, and may have seen the old file.
      await nextTurn();
      writeFileSync(onDisk(path), 'two many');
      expect((await several()).map((bytes) => Buffer.from(bytes ?? []).toString())).toEqual(
        Array.from({ length: 20 }, () => 'two many'),
      );
      await before;
    },
  );

  it('are read anew when they have changed and bear the old time and length', async () => {
    await keptAt('dated.txt');
    const { modifiedAt = 0 } = await adapter.stat(at('dated.txt'));
    await writeFile(onDisk('dated.txt'), 'two dated');
    await utimes(onDisk('dated.txt'), modifiedAt / 1000, modifiedAt / 1000);
    expect(await textOf('dated.txt')).toBe('two dated');
  });

  it('are read anew when they have changed by another name', async () => {
    await link(onDisk('linked.txt'), join(base, 'other-name'));
    await sleep(2100);
    await keptAt('linked.txt');
    await writeFile(join(base, 'other-name'), 'two linked');
    expect(await textOf('linked.txt')).toBe('two linked');
  });

  it('are what has their name by now', async () => {
    await keptAt('replaced.txt');
    await rename(onDisk('other.txt'), onDisk('replaced.txt'));
    expect(await textOf('replaced.txt')).toBe('one other');
  });

  it.each(['removed.txt', 'removed/a.txt'])('are gone when they are gone: %s', async (path) => {
    await keptAt(path);
    await rm(onDisk(path));
    await expect(read(path)).rejects.toThrow(NotFoundError);
  });

  it('are not there behind a link, even to the very same file', async () => {
    await keptAt('other/a.txt');
    await rename(onDisk('other/a.txt'), join(base, 'aside.txt'));
    await symlink(join(base, 'aside.txt'), onDisk('other/a.txt'));
    await expect(read('other/a.txt')).rejects.toThrow(NotFoundError);
  });

  it('are those of the root, wherever its link leads by now', async () => {
    const [first, second] = [join(base, 'first'), join(base, 'second')];
    for (const root of [first, second]) {
      await mkdir(join(root, 'f'), { recursive: true });
      for (const path of ['a.txt', 'f/a.txt']) await writeFile(join(root, path), root);
    }
    await symlink(first, join(base, 'current'));
    const current = await openLocalAdapter({ root: join(base, 'current'), log: createSilentLogger() });
    await sleep(2100);
    const textIn = async (path: string): Promise<string> => {
      const { bytes } = await current.read(at(path), { bytesUpTo: 1000 });
      return Buffer.from(bytes ?? []).toString();
    };
    const paths = ['a.txt', 'f/a.txt', 'a.txt', 'f/a.txt'];
    for (const path of paths) expect(await textIn(path)).toBe(first);
    await symlink(second, join(base, 'next'));
    await rename(join(base, 'next'), join(base, 'current'));
    for (const path of paths) expect(await textIn(path)).toBe(second);
    await current.close();
  });

  it('are not there behind a folder that has become a link, even to itself', async () => {
    await keptAt('way/a.txt');
    await rename(onDisk('way'), join(base, 'way'));
    await symlink(join(base, 'way'), onDisk('way'));
    expect(await readFile(onDisk('way/a.txt'), 'utf8')).toBe('one way');
    await expect(read('way/a.txt')).rejects.toThrow(NotFoundError);
  });
});
