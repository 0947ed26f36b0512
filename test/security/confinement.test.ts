import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { link, lstat, mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { NotFoundError, SourcePath, StowageError, copyFolder, moveFolder } from 'stowage/storage';
import { createSilentLogger, openLocalAdapter } from '#internals';
import type { Entry } from '../../packages/stowage/dist/storage/adapter.js';
import { mostly } from '../before-release.ts';
import { prepareGround, SECRET, SECRET_SIZE, whileSwapping, type Ground } from './outside.js';

const at = (path: string) => SourcePath.parse(path);
const content = (value: string) => Readable.from([Buffer.from(value)], { objectMode: false });
const FAST_MS = 800;

/** An error by which a client learns that it asked for what it must not. */
const isRefusal = (error: unknown): boolean => error instanceof StowageError && error.status < 500;

let ground: Ground;
afterEach(() => ground.clear());

const listed = async (folder: string): Promise<Entry[]> => {
  const entries: Entry[] = [];
  for await (const page of ground.adapter.list(at(folder))) entries.push(...page);
  return entries;
};

/** Every operation of the port that names `path`, as source or as target. */
const operationsOn = (path: string): Record<string, () => Promise<unknown>> => {
  const { adapter } = ground;
  return {
    stat: () => adapter.stat(at(path)),
    list: () => listed(path),
    read: async () => text((await adapter.read(at(path))).stream),
    write: () => adapter.write(at(path), content('evil')),
    'write createOnly': () => adapter.write(at(path), content('evil'), { createOnly: true }),
    commit: async () => {
      const staged = await adapter.stage(content('evil'));
      return staged.commit(at(path)).finally((): unknown => staged.discard());
    },
    makeFolder: () => adapter.makeFolder(at(path)),
    removeFile: () => adapter.removeFile(at(path)),
    removeFolder: () => adapter.removeFolder(at(path)),
    'copyFile from': () => adapter.copyFile(at(path), at('loot.txt')),
    'copyFile to': () => adapter.copyFile(at('good.txt'), at(path)),
    'moveFile from': () => adapter.moveFile(at(path), at('loot.txt')),
    'moveFile to': () => adapter.moveFile(at('good.txt'), at(path)),
    'moveFile to, createOnly': () => adapter.moveFile(at('good.txt'), at(path), { createOnly: true }),
    'copyFolder from': () => copyFolder(adapter, at(path), at('loot')),
    'copyFolder to': () => copyFolder(adapter, at('folder'), at(path)),
    'moveFolder from': () => moveFolder(adapter, at(path), at('loot')),
    'moveFolder to': () => moveFolder(adapter, at('folder'), at(path)),
  };
};

const plant = async (): Promise<void> => {
  await ground.adapter.write(at('good.txt'), content('good'));
  await ground.adapter.write(at('folder/inner.txt'), content('inner'));
};

/**
 * @see CVE-2026-54094 and the rows P14 and P15 of its kind: links as last segment, as ancestor, and to
 *   nowhere
 */
describe.each(['handles', 'paths'] as const)(
  'links and special files inside a root, confined by %s',
  (confinement) => {
    const refuses = async (path: string): Promise<void> => {
      for (const [name, operate] of Object.entries(operationsOn(path))) {
        const outcome: unknown = await operate().then(
          () => undefined,
          (error: unknown) => error,
        );
        expect(outcome, `${name} on ${path}`).toSatisfy(isRefusal);
        expect((outcome as StowageError).messages.join(), `${name} on ${path}`).not.toContain('/');
        expect(await ground.isOutsideUntouched(), `${name} on ${path}`).toBe(true);
      }
      expect((await listed('')).map((entry) => entry.name).sort()).toEqual(['folder', 'good.txt']);
      expect((await listed('folder')).map((entry) => entry.name)).toEqual(['inner.txt']);
    };

    it.each([
      ['a link to a file', 'sub/secret.txt', 'link'],
      ['a link to a folder', 'sub', 'link'],
      ['a link to nowhere', 'sub/not-yet.txt', 'link'],
      ['a file below a link', 'sub', 'link/secret.txt'],
      ['a new file below a link', 'sub', 'link/new.txt'],
      ['a folder below a link', 'sub', 'link/deep'],
      ['a file two folders below a link', 'sub', 'link/deep/secret.txt'],
      ['a new folder below a link to nowhere', 'nowhere', 'link/new/deeper'],
    ])('%s is refused by every operation', async (_what, target, path) => {
      ground = await prepareGround([], confinement);
      await plant();
      await symlink(join(ground.outside, target), join(ground.root, 'link'));
      await refuses(path);
      expect(existsSync(join(ground.outside, 'sub/not-yet.txt'))).toBe(false);
      expect((await lstat(join(ground.root, 'link'))).isSymbolicLink()).toBe(true);
    });

    it('links that stay inside are refused like all others, relative and circular ones too', async () => {
      ground = await prepareGround([], confinement);
      await plant();
      await symlink('good.txt', join(ground.root, 'to-file'));
      await symlink('folder', join(ground.root, 'to-folder'));
      await symlink('circle', join(ground.root, 'circle'));
      for (const path of ['to-file', 'to-folder', 'to-folder/inner.txt', 'circle', 'circle/x'])
        await refuses(path);
    });

    it('a pipe, a socket and a device are refused, and nothing waits for them', async () => {
      ground = await prepareGround([], confinement);
      await plant();
      execFileSync('mkfifo', [join(ground.root, 'pipe')]);
      const server = createServer().listen(join(ground.root, 'socket'));
      await once(server, 'listening');
      try {
        for (const path of ['pipe', 'socket', 'pipe/x']) await refuses(path);
      } finally {
        server.close();
      }
    });

    it('removing a folder unlinks the links in it and follows none', async () => {
      ground = await prepareGround([], confinement);
      await plant();
      await mkdir(join(ground.root, 'folder/deep'));
      await symlink(join(ground.outside, 'sub'), join(ground.root, 'folder/to-folder'));
      await symlink(join(ground.outside, 'sub/secret.txt'), join(ground.root, 'folder/deep/to-file'));
      await symlink('/', join(ground.root, 'folder/deep/to-root'));
      await ground.adapter.removeFolder(at('folder'));
      expect((await readdir(ground.root)).filter((name) => name !== '.stowage-tmp')).toEqual(['good.txt']);
      expect(await ground.isOutsideUntouched()).toBe(true);
    });

    it('copying and moving a folder takes no link along to what it points at', async () => {
      ground = await prepareGround([], confinement);
      await plant();
      await symlink(join(ground.outside, 'sub'), join(ground.root, 'folder/to-folder'));
      await symlink(join(ground.outside, 'sub/secret.txt'), join(ground.root, 'folder/to-file'));
      await copyFolder(ground.adapter, at('folder'), at('copy'));
      expect(await readdir(join(ground.root, 'copy'))).toEqual(['inner.txt']);
      await moveFolder(ground.adapter, at('folder'), at('moved'));
      expect((await listed('moved')).map((entry) => entry.name)).toEqual(['inner.txt']);
      expect(await ground.isOutsideUntouched()).toBe(true);
    });

    it('a big folder shows no links either', async () => {
      ground = await prepareGround([], confinement);
      await mkdir(join(ground.root, 'big'));
      await Promise.all(
        Array.from({ length: 600 }, (_, index) => writeFile(join(ground.root, `big/${index}.txt`), 'x')),
      );
      await symlink(join(ground.outside, 'sub'), join(ground.root, 'big/to-folder'));
      await symlink(join(ground.outside, 'sub/secret.txt'), join(ground.root, 'big/to-file'));
      await symlink(join(ground.root, 'big'), join(ground.root, 'link'));
      const names = (await listed('big')).map((entry) => entry.name);
      expect(names).toHaveLength(600);
      expect(names.some((name) => name.startsWith('to-'))).toBe(false);
      await expect(listed('link')).rejects.toBeInstanceOf(NotFoundError);
    });

    it('statMany neither sees links nor goes through names that are no names', async () => {
      ground = await prepareGround([], confinement);
      await plant();
      await symlink(join(ground.outside, 'sub/secret.txt'), join(ground.root, 'folder/to-file'));
      const names = [
        'to-file',
        '../good.txt',
        '..',
        '.',
        '',
        '../../outside/sub',
        'inner.txt',
        'a/../inner.txt',
        '\u0000',
      ];
      const found = await ground.adapter.statMany(at('folder'), names);
      expect(found.map((entry) => entry?.name)).toEqual(
        names.map((name) => (name === 'inner.txt' ? name : undefined)),
      );
    });
  },
);

describe('the names that the adapter keeps for itself', () => {
  it.each([
    '.stowage-tmp',
    '.STOWAGE-TMP',
    '.Stowage-Tmp',
    '.stowage-tmp-x',
    '.stowage\u200b-tmp',
    '．stowage-tmp',
    '.ſtowage-tmp',
  ])('hides %s and neither reads nor makes it, at any depth', async (name) => {
    ground = await prepareGround([]);
    await plant();
    for (const folder of [ground.root, join(ground.root, 'folder')]) {
      await mkdir(join(folder, name), { recursive: true });
      await writeFile(join(folder, name, 'x.txt'), 'x');
    }
    for (const path of [name, `${name}/x.txt`, `folder/${name}`, `folder/${name}/x.txt`]) {
      for (const [operation, operate] of Object.entries(operationsOn(path))) {
        await expect(operate(), `${operation} on ${path}`).rejects.toSatisfy(isRefusal);
      }
      expect(await readFile(join(ground.root, `folder/${name}/x.txt`), 'utf8')).toBe('x');
    }
    expect((await listed('')).map((entry) => entry.name).sort()).toEqual(['folder', 'good.txt']);
    expect(await ground.adapter.statMany(at(''), [name])).toEqual([undefined]);
  });

  it('does not work through a link that bears the name of its own folder', async () => {
    ground = await prepareGround([]);
    await symlink(ground.outside, join(ground.root, '.stowage-tmp'));
    await expect(ground.adapter.write(at('a.txt'), content('a'))).rejects.toBeInstanceOf(StowageError);
    const second = await openLocalAdapter({ root: ground.root, log: createSilentLogger() });
    await second.close();
    expect(await ground.isOutsideUntouched()).toBe(true);
  });
});

it('the root itself may be a link: the administrator made it', async () => {
  ground = await prepareGround([]);
  await plant();
  const alias = `${ground.root}-alias`;
  await symlink(ground.root, alias);
  const adapter = await openLocalAdapter({ root: alias, log: createSilentLogger() });
  await adapter.write(at('folder/new.txt'), content('new'));
  expect(await readFile(join(ground.root, 'folder/new.txt'), 'utf8')).toBe('new');
  await adapter.close();
});

it('a second name of a file outside is the file: that is what hard links are', async () => {
  ground = await prepareGround([]);
  await link(join(ground.outside, 'sub/secret.txt'), join(ground.root, 'twin.txt'));
  // A write replaces the name and leaves the other file alone.
  await ground.adapter.write(at('twin.txt'), content('mine'));
  expect(await readFile(join(ground.outside, 'sub/secret.txt'), 'utf8')).toContain(SECRET);
});

/** @see CVE-2026-54094 and the class of races between a check and its use (P16) */
it.each(['handles', 'paths'] as const)(
  'what is seen of a folder that is swapped during the look is not shown, confined by %s',
  async (confinement) => {
    ground = await prepareGround([], confinement);
    await ground.adapter.write(at('victim/secret.txt'), content('inside'));
    const { signal } = new AbortController();
    let isSwapped = false;
    // The adapter asks for it when it has opened the folder, and before it looks.
    Object.defineProperty(signal, 'aborted', {
      get: () => {
        if (!isSwapped) {
          renameSync(join(ground.root, 'victim'), join(ground.root, 'aside'));
          symlinkSync(join(ground.outside, 'sub'), join(ground.root, 'victim'));
        }
        isSwapped = true;
        return false;
      },
    });
    const looking = ground.adapter.statMany(at('victim'), ['secret.txt'], { signal });
    if (confinement === 'handles') expect((await looking)[0]?.size).toBe('inside'.length);
    else await expect(looking).rejects.toBeInstanceOf(NotFoundError);
    expect(isSwapped).toBe(true);
  },
);

it('a big folder that is swapped while it is listed is not listed to its end, confined by paths', async () => {
  ground = await prepareGround([], 'paths');
  const victim = join(ground.root, 'victim');
  await mkdir(victim);
  // Pages of 2,000, one of them read ahead.
  for (let index = 0; index < 8000; index += 1) writeFileSync(join(victim, `${String(index)}.txt`), '');
  const pages = ground.adapter.list(at('victim'))[Symbol.asyncIterator]();
  expect((await pages.next()).done).toBe(false);
  renameSync(victim, join(ground.root, 'aside'));
  symlinkSync(join(ground.outside, 'sub'), victim);
  const rest = async (): Promise<void> => {
    while ((await pages.next()).done !== true);
  };
  await expect(rest()).rejects.toBeInstanceOf(NotFoundError);
});

describe.skipIf(process.platform !== 'linux')(
  'a folder that is swapped for a link again and again (needs /proc)',
  () => {
    const names = Array.from({ length: 20 }, (_, index) => `${index}.txt`);

    /** Repeats an operation for a while, and counts how it went. */
    const repeat = async (
      operate: (round: number) => Promise<void>,
    ): Promise<{ done: number; refused: number }> => {
      const counts = { done: 0, refused: 0 };
      const end = performance.now() + FAST_MS;
      for (let round = 0; performance.now() < end; round += 1) {
        try {
          await operate(round);
          counts.done += 1;
        } catch (error) {
          if (!(error instanceof StowageError)) throw error;
          counts.refused += 1;
        }
      }
      return counts;
    };

    const attack = async (operate: (round: number) => Promise<void>): Promise<void> => {
      ground = await prepareGround(names);
      for (const name of names) await ground.adapter.write(at(`victim/${name}`), content(`inside ${name}`));
      let counts = { done: 0, refused: 0 };
      const swaps = await whileSwapping(join(ground.root, 'victim'), ground.outside, 'fast', async () => {
        counts = await repeat(operate);
      });
      expect(await ground.isOutsideUntouched()).toBe(true);
      // Else the attack was none.
      expect(swaps).toBeGreaterThan(20);
      expect(counts.done).toBeGreaterThan(0);
      expect(counts.done + counts.refused).toBeGreaterThan(10);
    };

    it('nothing is written outside', async () => {
      await attack(async (round) => {
        await ground.adapter.write(at(`victim/${round % 20}.txt`), content('inside, new'), {
          createOnly: round % 2 === 0,
        });
      });
    });

    it('nothing is read from outside', async () => {
      await attack(async (round) => {
        const { stat, stream } = await ground.adapter.read(at(`victim/${round % 20}.txt`));
        expect(await text(stream)).not.toContain(SECRET);
        expect(stat.size).not.toBe(SECRET_SIZE);
      });
    });

    it('nothing outside is listed or told of', async () => {
      await attack(async () => {
        const entries = [
          ...(await listed('victim')),
          ...(await ground.adapter.statMany(at('victim'), names)),
        ];
        for (const entry of entries) expect(entry?.size).not.toBe(SECRET_SIZE);
        expect(entries.map((entry) => entry?.name)).not.toContain('sub');
      });
    });

    it('nothing outside is removed', async () => {
      await attack(async (round) => {
        await ground.adapter.removeFile(at(`victim/${round % 20}.txt`)).catch((error: unknown) => {
          if (!(error instanceof NotFoundError)) throw error;
        });
        await ground.adapter.write(at(`victim/again/${round}.txt`), content('again'));
        await ground.adapter.removeFolder(at('victim/again'));
      });
    });

    it('nothing outside is moved or copied, neither from there nor to there', async () => {
      await attack(async (round) => {
        await ground.adapter.copyFile(at(`victim/${round % 20}.txt`), at(`loot-${round}.txt`));
        expect(await readFile(join(ground.root, `loot-${round}.txt`), 'utf8')).not.toContain(SECRET);
        await ground.adapter.moveFile(at(`loot-${round}.txt`), at(`victim/loot-${round}.txt`));
        await copyFolder(ground.adapter, at('victim'), at(`copy-${round}`));
        expect(await readdir(join(ground.root, `copy-${round}`))).not.toContain('sub');
      });
    });

    it('a folder that is swapped while it is removed takes nothing outside along', async () => {
      ground = await prepareGround(names);
      const victim = join(ground.root, 'tree/victim');
      const fill = async (): Promise<void> => {
        for (const name of names) await ground.adapter.write(at(`tree/victim/${name}`), content('inside'));
      };
      await fill();
      let removed = 0;
      // Here the swaps are made by hand: the attacker's script needs a folder that stays.
      const end = performance.now() + FAST_MS;
      // On a busy machine for longer, until one removal was quicker than the swap.
      for (let round = 0; performance.now() < end || (removed === 0 && round < 500); round += 1) {
        const removing = ground.adapter.removeFolder(at('tree/victim')).then(
          () => (removed += 1),
          () => undefined,
        );
        await sleep(Math.random() * 3);
        await rename(victim, `${victim}.parked`).catch(() => undefined);
        await symlink(ground.outside, victim).catch(() => undefined);
        await removing;
        await ground.adapter.removeFolder(at('tree')).catch(() => undefined);
        await fill();
      }
      expect(removed).toBeGreaterThan(0);
      expect(await ground.isOutsideUntouched()).toBe(true);
    });

    it.each(mostly(1, ['sly', 'fast'] as const))(
      'a big folder is listed without a look outside, against a %s attacker',
      async (manner) => {
        const many = Array.from({ length: 1500 }, (_, index) => `${index}.txt`);
        ground = await prepareGround(many);
        await mkdir(join(ground.root, 'victim'));
        await Promise.all(many.map((name) => writeFile(join(ground.root, 'victim', name), 'inside')));
        let whole = 0;
        const swaps = await whileSwapping(join(ground.root, 'victim'), ground.outside, manner, async () => {
          const end = performance.now() + 2 * FAST_MS;
          while (performance.now() < end) {
            const entries = await listed('victim').catch((error: unknown) => {
              if (error instanceof StowageError) return [];
              throw error;
            });
            if (entries.length === many.length) whole += 1;
            expect(entries.filter((entry) => entry.size === SECRET_SIZE || entry.name === 'sub')).toEqual([]);
          }
        });
        expect(swaps).toBeGreaterThan(3);
        expect(whole).toBeGreaterThan(0);
        expect(await ground.isOutsideUntouched()).toBe(true);
      },
    );
  },
);
