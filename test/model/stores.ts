import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { registerStorageAdapter, type ConfigInput } from 'stowage';
import type { StorageAdapter, StorageFactory } from 'stowage/storage';
import { createLocalFactory, memoryFactory } from '#internals';
import { azuriteMissing, makeContainer, startAzurite } from '../../tools/test-servers/azurite.ts';
import { makeBucket, optionsFor } from '../../tools/test-servers/bucket.ts';
import { FaultProxy } from '../../tools/test-servers/fault-proxy.ts';
import { startGcs } from '../../tools/test-servers/gcs-login.ts';
import { openFtpStore, startFtp } from '../../tools/test-servers/ftp.ts';
import { hasProftpd } from '../../tools/test-servers/proftpd.ts';
import { radosgwMissing, startRadosgw } from '../../tools/test-servers/radosgw.ts';
import { hasSshd, openSftpStore, startSshd } from '../../tools/test-servers/ssh.ts';
import { makeRoot, type PathServer, type PathStore } from '../adapters/path-stores.ts';
import { login, programs, startApache } from '../../tools/test-servers/webdav.ts';
import { textOf } from './content.ts';
import { type Faults, faulty } from './faults.ts';
import type { Setting } from './client.ts';
import type { Random } from './random.ts';

/** Sources for a run, and how they are taken away again. */
export interface Stores {
  readonly sources: ConfigInput['sources'];
  readonly outside?: (setting: Setting, random: Random) => Promise<void>;
  /** Items that lie in folders from the beginning: the model must know what goes along with them. */
  readonly planted?: readonly { readonly name: string; readonly folder: string }[];
  /** What has changed beside the roots. */
  readonly outsideChanges?: () => Promise<readonly string[]>;
  readonly stop: () => Promise<void>;
}

/** A kind of store that runs can be made on. */
export interface StoreKind {
  /** Why it cannot run here; undefined when it can. */
  readonly missing: string | undefined;
  readonly start: (faults?: Faults) => Promise<Stores>;
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

let registered = 0;

type Wrap = (adapter: StorageAdapter) => StorageAdapter;

/** The name of a kind of store with something before it. */
const register = (factory: StorageFactory, wrap: Wrap): string => {
  registered += 1;
  const name = `wrapped-${String(registered)}`;
  registerStorageAdapter(name, {
    ...factory,
    create: async (context) => wrap(await factory.create(context)),
  });
  return name;
};

const withFaults =
  (faults: Faults | undefined): Wrap =>
  (adapter) =>
    faults === undefined ? adapter : faulty(adapter, faults);

/** Something beside the roots that must stay as it is. */
const beside = async (
  base: string,
  known: readonly string[],
): Promise<NonNullable<Stores['outsideChanges']>> => {
  await mkdir(join(base, 'outside'));
  await writeFile(join(base, 'outside/t1.txt'), 'outside');
  return async () => {
    const names = (await readdir(base)).filter((name) => name !== 'outside' && !known.includes(name));
    const content = await readFile(join(base, 'outside/t1.txt'), 'utf8').catch(() => 'nothing');
    const isSame = content === 'outside' && (await readdir(join(base, 'outside'))).length === 1;
    return [
      ...names.map((name) => `${name} lies beside the roots`),
      ...(isSame ? [] : ['outside has changed']),
    ];
  };
};

const startLocal = async (faults?: Faults): Promise<Stores> => {
  const base = await mkdtemp(join(tmpdir(), 'stowage-model-'));
  const roots = { one: join(base, 'one'), two: join(base, 'two') };
  await Promise.all(Object.values(roots).map((root) => mkdir(root)));
  const outsideChanges = await beside(base, Object.keys(roots));
  const adapter =
    faults === undefined ? {} : { storageAdapter: register(createLocalFactory(), withFaults(faults)) };
  return {
    sources: {
      one: { ...seen('one'), root: roots.one, ...adapter, ...replacing },
      two: { ...seen('two'), root: roots.two, ...adapter },
    },
    outside: intoFolder(roots, base),
    outsideChanges,
    stop: () => rm(base, { recursive: true }),
  };
};

/** Two roots on a server, beside a local source. */
const startPaths =
  <Server extends PathServer>(
    startServer: () => Promise<Server>,
    open: (server: Server, options: object, root: string) => PathStore,
  ) =>
  async (faults?: Faults): Promise<Stores> => {
    const [server, local] = await Promise.all([startServer(), startLocal()]);
    const source = async (name: string) => {
      await makeRoot(server, name);
      const factory: StorageFactory = { create: async () => open(server, {}, name) };
      return { ...seen(name), storageAdapter: register(factory, withFaults(faults)) };
    };
    const sources = { one: { ...(await source('one')), ...replacing }, three: await source('three') };
    return {
      sources: { ...sources, ...(local.sources?.['two'] === undefined ? {} : { two: local.sources['two'] }) },
      outsideChanges: await beside(server.data, Object.keys(sources)),
      stop: async () => {
        await Promise.all([server.stop(), local.stop()]);
      },
    };
  };

/** A server that speaks HTTP, with faults before it if any are wanted. */
const proxied = async (
  target: string,
  faults: Faults | undefined,
): Promise<{ readonly origin: string; readonly close: () => Promise<void> }> => {
  const { origin } = new URL(target);
  if (faults === undefined) return { origin, close: async () => undefined };
  const proxy = await FaultProxy.start(origin, ({ method }) => method ?? '');
  proxy.atRandom(() => faults.effect());
  return { origin: proxy.endpoint, close: () => proxy.close() };
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

/** Two stores in memory, with something before them. */
export const startMemory = async (wrap: Wrap): Promise<Stores> => {
  const storageAdapter = register(memoryFactory, wrap);
  return {
    sources: {
      one: { ...seen('one'), storageAdapter, ...replacing },
      two: { ...seen('two'), storageAdapter },
    },
    stop: async () => undefined,
  };
};

const OUTSIDE = 'outside/t1.txt';

/** What has changed of the objects beside the prefixes. */
const changedBeside = async (
  keys: (prefix: string) => Promise<readonly string[]>,
  read: (key: string) => Promise<string | undefined>,
): Promise<readonly string[]> => {
  const outside = (await keys('')).filter((key) => !/^(?:one|three)(?:\/|$)/u.test(key));
  const content = outside.includes(OUTSIDE) ? await read(OUTSIDE) : 'nothing';
  return [
    ...outside.filter((key) => key !== OUTSIDE).map((key) => `${key} lies beside the prefixes`),
    ...(content === 'outside' ? [] : [`${OUTSIDE} has changed`]),
  ];
};

const startBucket = async (faults?: Faults): Promise<Stores> => {
  const [server, local] = await Promise.all([startRadosgw(), startLocal()]);
  const bucket = await makeBucket(server);
  const proxy = await proxied(server.endpoint, faults);
  await bucket.put(OUTSIDE, 'outside');
  const s3 = (prefix: string) => ({
    storageAdapter: 's3',
    s3: optionsFor(server, bucket.name, { prefix, endpoint: proxy.origin }),
  });
  return {
    sources: {
      one: { ...seen('one'), ...s3('one'), ...replacing },
      three: { ...seen('three'), ...s3('three') },
      ...(local.sources?.['two'] === undefined ? {} : { two: local.sources['two'] }),
    },
    outsideChanges: () =>
      changedBeside(
        (prefix) => bucket.keys(prefix),
        async (Key) => {
          const { Body } = await bucket.client.send(new GetObjectCommand({ Bucket: bucket.name, Key }));
          return Body?.transformToString();
        },
      ),
    stop: async () => {
      bucket.client.destroy();
      await proxy.close();
      await Promise.all([server.stop(), local.stop()]);
    },
  };
};

const startContainer = async (faults?: Faults): Promise<Stores> => {
  const [server, local] = await Promise.all([startAzurite(), startLocal()]);
  const container = await makeContainer(server);
  const proxy = await proxied(server.accountUrl, faults);
  await container.put(OUTSIDE, 'outside');
  const accountUrl = new URL(new URL(server.accountUrl).pathname, proxy.origin).href;
  const azure = (prefix: string) => ({
    storageAdapter: 'azure',
    azure: { container: container.name, accountUrl, accountKey: server.accountKey, prefix },
  });
  return {
    sources: {
      one: { ...seen('one'), ...azure('one'), ...replacing },
      three: { ...seen('three'), ...azure('three') },
      ...(local.sources?.['two'] === undefined ? {} : { two: local.sources['two'] }),
    },
    outsideChanges: () =>
      changedBeside(
        (prefix) => container.keys(prefix),
        async (key) => (await container.client.getBlobClient(key).downloadToBuffer()).toString(),
      ),
    stop: async () => {
      await proxy.close();
      await Promise.all([server.stop(), local.stop()]);
    },
  };
};

/** Two prefixes of a bucket of Google's, beside a local source. */
const startGoogle = async (faults?: Faults): Promise<Stores> => {
  const [server, local] = await Promise.all([startGcs('model'), startLocal()]);
  const { emulator, credentialsFile } = server;
  const proxy = await proxied(emulator.endpoint, faults);
  const gcs = (prefix: string) => ({
    storageAdapter: 'gcs',
    gcs: { bucket: emulator.bucket, endpoint: proxy.origin, credentialsFile, prefix },
  });
  return {
    sources: {
      one: { ...seen('one'), ...gcs('one'), ...replacing },
      three: { ...seen('three'), ...gcs('three') },
      ...(local.sources?.['two'] === undefined ? {} : { two: local.sources['two'] }),
    },
    stop: async () => {
      await proxy.close();
      await Promise.all([server.stop(), local.stop()]);
    },
  };
};

const startDav = async (faults?: Faults): Promise<Stores> => {
  const [server, local] = await Promise.all([startApache('basic'), startLocal()]);
  const proxy = await proxied(server.url, faults);
  const url = new URL(`${new URL(server.url).pathname}one/`, proxy.origin).href;
  await makeRoot(server, 'one');
  return {
    sources: {
      one: { ...seen('one'), storageAdapter: 'webdav', webdav: { url, ...login }, ...replacing },
      ...(local.sources?.['two'] === undefined ? {} : { two: local.sources['two'] }),
    },
    // Apache keeps properties in a folder of its own.
    outsideChanges: await beside(server.data, ['one', '.DAV']),
    stop: async () => {
      await proxy.close();
      await Promise.all([server.stop(), local.stop()]);
    },
  };
};

/** The stores that runs can be made on, by name. */
export const storeKinds: Readonly<Record<string, StoreKind>> = {
  local: { missing: undefined, start: startLocal },
  memory: { missing: undefined, start: (faults) => startMemory(withFaults(faults)) },
  overlay: { missing: overlayMissing, start: startOverlay },
  s3: { missing: radosgwMissing, start: startBucket },
  webdav: { missing: programs.apache ? undefined : 'Apache is not installed', start: startDav },
  sftp: {
    missing: hasSshd ? undefined : 'openssh-server is not installed',
    start: startPaths(startSshd, openSftpStore),
  },
  ftp: {
    missing: hasProftpd ? undefined : 'ProFTPD is not installed',
    start: startPaths(() => startFtp(), openFtpStore),
  },
  azure: { missing: azuriteMissing, start: startContainer },
  gcs: { missing: undefined, start: startGoogle },
};
