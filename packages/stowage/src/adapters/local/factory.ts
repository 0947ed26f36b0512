import { access, constants, mkdir, realpath, stat } from 'node:fs/promises';
import { resolve, sep, dirname } from 'node:path';
import { LRUCache } from 'lru-cache';
import { fromSystemError, succeeds, systemCode } from '../../basics/files/system-errors.ts';
import { type NameLocks, createNameLocks } from '../../basics/concurrency/name-locks.ts';
import { shellWord } from '../../basics/content/message-values.ts';
import { StorageDeniedError, StorageUnavailableError, type StowageError } from '../../errors/errors.ts';
import type { Logger } from '../../basics/log/logger.ts';
import type { StorageFactory } from '../../storage/registry.ts';
import { capabilitiesOf } from '../capabilities.ts';
import { createLocalAdapter, type LocalAdapter } from './adapter.ts';
import type { LocalStore } from './local-store.ts';
import { type Confinement, HandleConfinement, type OpenFolder, PathConfinement } from './confinement.ts';
import { SharedFolders, FolderWalker } from './folder-walker.ts';
import { TEMP_PREFIX } from './names.ts';
import { ScanThread } from './scan-thread.ts';
import { sweepLeftovers } from './sweep.ts';
import { closing, lstatOf, makeDirectory, openDirectory, readMounts, removeEmpty } from './system.ts';
import { createSystemCopies } from './copies.ts';
import { TempAreas } from './temp-area.ts';

const nearestFolder = async (path: string): Promise<{ readonly path: string; readonly uid: number }> => {
  const found = await stat(path).catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    return undefined;
  });
  return found === undefined ? nearestFolder(dirname(path)) : { path, uid: found.uid };
};

/**
 * The reason why this process may not store files in a root, or create it, with the command that fixes it;
 * undefined when it may. For operators: contains folder and user names.
 */
const rightsProblem = async (root: string): Promise<string | undefined> => {
  try {
    const folder = await nearestFolder(root);
    const code = await access(folder.path, constants.W_OK | constants.X_OK).then(() => undefined, systemCode);
    if (code === undefined || process.getuid === undefined) return undefined;
    if (code === 'EROFS') return `The folder ${folder.path} lies on a volume that is mounted read-only.`;
    const user = String(process.getuid());
    const begin = `The folder ${folder.path} belongs to user ${String(folder.uid)}, and this process, user ${user}, may not`;
    const allow = folder.uid === process.getuid() ? 'chmod u+rwx' : `chown -R ${user}`;
    return folder.path === root
      ? `${begin} write to it. To allow it: ${allow} ${shellWord(root)}`
      : `${begin} make ${root}. To allow it: mkdir -p ${shellWord(root)} && chown ${user} ${shellWord(root)}`;
  } catch {
    return undefined;
  }
};

const MOST_NAMES = 64;
/** Number of roots that are remembered: tenants open and close theirs repeatedly. */
const MOST_ROOTS = 10_000;

const otherCase = (name: string): string => {
  const upper = name.toUpperCase();
  return upper === name ? name.toLowerCase() : upper;
};

/** Whether the name in another letter case is a different entry; undefined when it cannot be determined. */
const differsByCase = async (folder: OpenFolder, name: string): Promise<boolean | undefined> => {
  const own = await lstatOf(folder.at(name)).catch(() => undefined);
  if (own === undefined || otherCase(name) === name) return undefined;
  const other = await lstatOf(folder.at(otherCase(name))).catch(() => undefined);
  return other?.ino !== own.ino || other.dev !== own.dev;
};

/** A name in the root that changes with its letter case, among the first ones. */
const findTelling = (root: OpenFolder): Promise<string | undefined> =>
  closing(openDirectory(root.self, { encoding: 'utf8', bufferSize: MOST_NAMES }), async (directory) => {
    for (let read = 0; read < MOST_NAMES; read += 1) {
      const name = (await directory.read())?.name;
      if (name === undefined || otherCase(name) !== name) return name;
    }
    return undefined;
  });

/** For an empty root: tests with a temporary folder. */
const tryOwnName = async (root: OpenFolder): Promise<boolean | undefined> => {
  const made = await succeeds(makeDirectory(root.at(TEMP_PREFIX), 0o777));
  const differs = await differsByCase(root, TEMP_PREFIX);
  if (made) await removeEmpty(root.at(TEMP_PREFIX)).catch(() => undefined);
  return differs;
};

/** Whether names in the root are case-sensitive, by an existing entry; else as usual on the system. */
const isCaseSensitive = (confinement: Confinement): Promise<boolean> =>
  closing(confinement.openRoot(), async (root) => {
    const usual = process.platform !== 'darwin' && process.platform !== 'win32';
    const telling = await findTelling(root).catch(() => undefined);
    return (await (telling === undefined ? tryOwnName(root) : differsByCase(root, telling))) ?? usual;
  });

const SENSITIVE =
  /^(?:ext[234]|xfs|btrfs|zfs|f2fs|tmpfs|ramfs|overlay|squashfs|erofs|nfs4?|ceph|fuse\.(?:sshfs|mergerfs|glusterfs))$/u;

/**
 * Whether no file system below the root may ignore letter case, as those of Windows and macOS do: a rule about
 * a folder there must cover its other spellings. Decided by their types alone, since one of them may hang.
 */
const isSensitiveBelow = async (root: string): Promise<boolean> => {
  const prefix = `${(await realpath(root)).replace(/\/$/u, '')}/`;
  const below = (await readMounts()).filter(({ point }) => point.startsWith(prefix));
  return below.every(({ type }) => SENSITIVE.test(type));
};

/** Repeated, because leftovers of other machines are recognised only after a day. */
const SWEEP_MS = 6 * 60 * 60 * 1000;

export interface LocalOptions {
  readonly root: string;
  readonly log: Logger;
  /** Thread shared with other stores; without it the store uses its own. */
  readonly scans?: { readonly thread: ScanThread; readonly release: () => Promise<void> };
  /** Locks shared with the other stores of a connector, which may lead to the same files. */
  readonly locks?: NameLocks;
  /** False: leftovers of killed processes are not removed. */
  readonly sweeps?: boolean | undefined;
  /** The root existed before: it is not created again. */
  readonly mustExist?: boolean;
  /** Default: handles where the system has them. */
  readonly confinement?: 'handles' | 'paths' | undefined;
}

const chooseConfinement = async (root: string, wanted: LocalOptions['confinement']): Promise<Confinement> => {
  const chosen = wanted ?? ((await HandleConfinement.isAvailable(root)) ? 'handles' : 'paths');
  return chosen === 'handles' ? new HandleConfinement(root) : new PathConfinement(root);
};

/** Runs in the background: leftovers do not disturb requests. `stop` waits for a running sweep. */
const sweepNowAndThen = (
  { root, walker, areas }: Pick<LocalStore, 'root' | 'walker' | 'areas'>,
  log: Logger,
): { readonly stop: () => Promise<unknown> } => {
  let running: Promise<unknown> = Promise.resolve();
  const sweep = (): void => {
    // The sweep logs entries that cannot be removed. A root that cannot be opened makes every operation fail.
    const once = () => Promise.all([areas.touch(), sweepLeftovers(root, walker, Date.now(), log)]);
    running = running.then(once).catch(() => undefined);
  };
  const timer = setInterval(sweep, SWEEP_MS).unref();
  sweep();
  return {
    stop: () => {
      clearInterval(timer);
      return running;
    },
  };
};

/** Converts an error of opening the root. A root that is a file, or below one, is a fault of the service. */
const asRootFailure = async (root: string, thrown: unknown): Promise<StowageError> => {
  const error = fromSystemError(thrown, 'opening the root');
  const detail = error instanceof StorageDeniedError ? await rightsProblem(root) : undefined;
  if (detail !== undefined) return new StorageDeniedError({ detail, cause: thrown });
  if (error.status >= 500) return error;
  return new StorageUnavailableError({ detail: 'the root cannot be used as a folder', cause: error });
};

/**
 * Opens a folder as a store: creates it when it is missing, and removes leftovers of killed processes.
 * @throws StorageDeniedError, StorageUnavailableError and similar when the folder cannot be created or opened
 */
export const openLocalAdapter = async (options: LocalOptions): Promise<LocalAdapter> => {
  const { log } = options;
  const root = resolve(options.root);
  try {
    const made = options.mustExist === true ? undefined : await mkdir(root, { recursive: true });
    if (made !== undefined) log.info('Created the root folder of a source.', { root });
    const problem = await rightsProblem(root);
    if (problem !== undefined) log.warn(problem, { root });
    const confinement = await chooseConfinement(root, options.confinement);
    const walker = new FolderWalker(confinement);
    if (!confinement.holds && process.platform === 'linux')
      log.warn('Without /proc, folders are not held open, and links are only checked for.', { root });
    const areas = await TempAreas.create(root, walker);
    const own = new ScanThread();
    const scans = options.scans ?? { thread: own, release: () => own.close() };
    const foldsRecords = !(await isCaseSensitive(confinement));
    const capabilities = {
      ...capabilitiesOf('local'),
      caseSensitive: !foldsRecords && (await isSensitiveBelow(root)),
    };
    const locks = options.locks ?? createNameLocks();
    const identity = {
      backend: 'local',
      root: (await realpath(root)).split(sep).filter((part) => part !== ''),
    };
    // Started last: the store stops it, and after a failure there would be no store.
    const sweeping = options.sweeps === false ? undefined : sweepNowAndThen({ root, walker, areas }, log);
    return createLocalAdapter(
      {
        root,
        walker,
        areas,
        scans: scans.thread,
        locks,
        copy: createSystemCopies(confinement.holds),
        shared: new SharedFolders(walker),
      },
      { capabilities, identity, foldsRecords },
      async () => {
        await sweeping?.stop();
        await scans.release();
      },
    );
  } catch (error) {
    throw await asRootFailure(root, error);
  }
};

/** Creates local stores that share one scanning thread, which ends with the last. One for each connector. */
export const createLocalFactory = (): StorageFactory => {
  let users = 0;
  const thread = new ScanThread();
  const locks = createNameLocks();
  // A root that has disappeared may be a volume that is no longer mounted.
  // Limited by size: a limit by number would allocate lists of that length for each connector.
  const opened = new LRUCache<string, true>({ maxSize: MOST_ROOTS, sizeCalculation: () => 1 });
  return {
    requiresRoot: true,
    create: async ({ root, log, sweeps }) => {
      if (root === undefined) throw new StorageUnavailableError({ detail: 'a local source needs a root' });
      users += 1;
      const release = async (): Promise<void> => {
        users -= 1;
        if (users === 0) await thread.close();
      };
      try {
        const shared = { scans: { thread, release }, locks };
        const mustExist = opened.has(root);
        const adapter = await openLocalAdapter({ root, log, sweeps, mustExist, ...shared });
        opened.set(root, true);
        return adapter;
      } catch (error) {
        users -= 1;
        throw error;
      }
    },
  };
};
