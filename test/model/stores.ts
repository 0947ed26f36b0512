import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfigInput } from 'stowage';
import { makeBucket, optionsFor } from '../adapters/servers/bucket.ts';
import { radosgwMissing, startRadosgw } from '../adapters/servers/radosgw.ts';
import { login, programs, startApache } from '../adapters/servers/webdav.ts';
import { textOf } from './content.ts';
import type { Setting } from './client.ts';
import type { Random } from './random.ts';

/** Sources for a run, and how they are taken away again. */
export interface Stores {
  readonly sources: ConfigInput['sources'];
  readonly outside?: (setting: Setting, random: Random) => Promise<void>;
  /** Items that lie in folders from the beginning: the model must know what goes along with them. */
  readonly planted?: readonly { readonly name: string; readonly folder: string }[];
  readonly stop: () => Promise<void>;
}

/** A kind of store that runs can be made on. */
export interface StoreKind {
  /** Why it cannot run here; undefined when it can. */
  readonly missing: string | undefined;
  readonly start: () => Promise<Stores>;
}

const seen = (title: string) => ({ title, baseurl: `https://files.example/${title}/` });
// One source where a taken name is replaced, and one where it gets a number.
const replacing = { saveSameFileNameStrategy: 'replace' } as const;

/** Another program puts files into a folder of this disk, whole at once. */
const intoFolder =
  (roots: Readonly<Record<string, string>>, base: string): NonNullable<Stores['outside']> =>
  async ({ world, history }, random) => {
    const { source, path } = random.pickRecent(world.folders);
    const root = roots[source];
    if (root === undefined) return;
    const written = { item: `t${String(world.number())}`, version: 1 };
    const waiting = join(base, written.item);
    await writeFile(waiting, textOf(written, random.below(1000)));
    try {
      await rename(waiting, join(root, path, `${written.item}.txt`));
      history.wrote(written, path, 'done');
    } catch {
      // The folder is not there any more.
      await rm(waiting);
    }
  };

const startLocal = async (): Promise<Stores> => {
  const base = await mkdtemp(join(tmpdir(), 'stowage-model-'));
  const roots = { one: join(base, 'one'), two: join(base, 'two') };
  await Promise.all(Object.values(roots).map((root) => mkdir(root)));
  return {
    sources: {
      one: { ...seen('one'), root: roots.one, ...replacing },
      two: { ...seen('two'), root: roots.two },
    },
    outside: intoFolder(roots, base),
    stop: () => rm(base, { recursive: true }),
  };
};

const mountOverlay = (base: string): void => {
  const [lower, upper, work, root] = ['lower', 'upper', 'work', 'root'].map((name) => join(base, name));
  const options = `lowerdir=${lower ?? ''},upperdir=${upper ?? ''},workdir=${work ?? ''}`;
  execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', options, root ?? ''], { stdio: 'ignore' });
};

/**
 * What an overlay is made of lies on a file system of memory: one that is an overlay itself cannot hold
 * another.
 */
const prepareOverlay = (base: string): void => {
  execFileSync('mount', ['-t', 'tmpfs', 'none', base], { stdio: 'ignore' });
  execFileSync(
    'mkdir',
    ['lower', 'upper', 'work', 'root'].map((name) => join(base, name)),
  );
};

const unmount = (folder: string): void => {
  execFileSync('umount', ['-l', folder], { stdio: 'ignore' });
};

const overlayMissing = ((): string | undefined => {
  const base = mkdtempSync(join(tmpdir(), 'stowage-overlay-'));
  try {
    prepareOverlay(base);
    try {
      mountOverlay(base);
      unmount(join(base, 'root'));
      return undefined;
    } finally {
      unmount(base);
    }
  } catch {
    return 'this process may not mount an overlay';
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
})();

/** Folders that come from the image of a container cannot be renamed: the disk answers EXDEV. */
const startOverlay = async (): Promise<Stores> => {
  const base = await mkdtemp(join(tmpdir(), 'stowage-overlay-'));
  prepareOverlay(base);
  // Many, and not empty: only a folder of the image cannot be renamed, and it is one no longer when it has
  // moved.
  const planted: { name: string; folder: string }[] = [];
  for (let number = 900_001; number < 900_060; number += 2) {
    const [outer, inner] = [`f${String(number)}`, `f${String(number + 1)}`];
    planted.push({ name: inner, folder: outer }, { name: `t${String(number)}`, folder: `${outer}/${inner}` });
    const folder = join(base, 'lower', `f${String(number)}`, `f${String(number + 1)}`);
    await mkdir(folder, { recursive: true });
    const item = { item: `t${String(number)}`, version: 1 };
    await writeFile(join(folder, `${item.item}.txt`), textOf(item, number));
  }
  mountOverlay(base);
  const root = join(base, 'root');
  return {
    sources: { one: { ...seen('one'), root, ...replacing } },
    outside: intoFolder({ one: root }, join(base, 'root')),
    planted,
    stop: async () => {
      unmount(root);
      unmount(base);
      await rm(base, { recursive: true, force: true });
    },
  };
};

const startMemory = async (): Promise<Stores> => ({
  sources: {
    one: { ...seen('one'), storageAdapter: 'memory', ...replacing },
    two: { ...seen('two'), storageAdapter: 'memory' },
  },
  stop: async () => undefined,
});

const startBucket = async (): Promise<Stores> => {
  const [server, local] = await Promise.all([startRadosgw(), startLocal()]);
  const bucket = await makeBucket(server);
  const s3 = (prefix: string) => ({
    storageAdapter: 's3',
    s3: optionsFor(server, bucket.name, { prefix }),
  });
  return {
    sources: {
      one: { ...seen('one'), ...s3('one'), ...replacing },
      three: { ...seen('three'), ...s3('three') },
      ...(local.sources?.['two'] === undefined ? {} : { two: local.sources['two'] }),
    },
    stop: async () => {
      bucket.client.destroy();
      await Promise.all([server.stop(), local.stop()]);
    },
  };
};

const startDav = async (): Promise<Stores> => {
  const [server, local] = await Promise.all([startApache('basic'), startLocal()]);
  return {
    sources: {
      one: { ...seen('one'), storageAdapter: 'webdav', webdav: { url: server.url, ...login }, ...replacing },
      ...(local.sources?.['two'] === undefined ? {} : { two: local.sources['two'] }),
    },
    stop: async () => {
      await Promise.all([server.stop(), local.stop()]);
    },
  };
};

/** The stores that runs can be made on, by name. */
export const storeKinds: Readonly<Record<string, StoreKind>> = {
  local: { missing: undefined, start: startLocal },
  memory: { missing: undefined, start: startMemory },
  overlay: { missing: overlayMissing, start: startOverlay },
  s3: { missing: radosgwMissing, start: startBucket },
  webdav: { missing: programs.apache ? undefined : 'Apache is not installed', start: startDav },
};
