import { mkdir, realpath } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { createNameLocks, type NameLocks } from '../../concurrency/name-locks.ts';
import { StorageUnavailableError, type StowageError } from '../../errors/errors.ts';
import type { Logger } from '../../log/logger.ts';
import type { StorageFactory } from '../../storage/registry.ts';
import { fromSystemError } from '../../adapter-support/system-errors.ts';
import { LocalAdapter } from './adapter.ts';
import { isCaseSensitive } from './case-probe.ts';
import type { Confinement } from './confinement.ts';
import { HandleConfinement } from './handle-confinement.ts';
import { PathConfinement } from './path-confinement.ts';
import { FolderWalker } from './folder-walker.ts';
import { ScanThread } from './scan-thread.ts';
import { sweepLeftovers } from './sweep.ts';
import { TempArea } from './temp-area.ts';

/** Leftovers of other machines count as such after a day, so that looking for them at the start alone is not enough. */
const SWEEP_MS = 6 * 60 * 60 * 1000;

/** How a local store is opened. */
export interface LocalOptions {
  readonly root: string;
  readonly log: Logger;
  /** Shared with other stores; the store ends one of its own. */
  readonly scans?: { readonly thread: ScanThread; readonly release: () => Promise<void> };
  /** Shared with the other stores of a connector, which may lead to the same files. */
  readonly locks?: NameLocks;
  /** Default: handles where the system has them. */
  readonly confinement?: 'handles' | 'paths' | undefined;
}

const chooseConfinement = async (root: string, wanted: LocalOptions['confinement']): Promise<Confinement> => {
  const handles =
    wanted === 'handles' || (wanted === undefined && (await HandleConfinement.isAvailable(root)));
  return handles ? new HandleConfinement(root) : new PathConfinement(root);
};

/** Nobody waits for it: leftovers are in nobody's way. `stop` waits for the sweep that runs. */
const sweepNowAndThen = (walker: FolderWalker, log: Logger): { readonly stop: () => Promise<void> } => {
  let running = Promise.resolve();
  const sweep = (): void => {
    // What resists is logged there. A root that cannot be opened fails whatever is asked of it.
    running = running.then(() => sweepLeftovers(walker, Date.now(), log)).catch(() => undefined);
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

/** A root that is a file, or lies below one, is a fault of the service, whatever the system says of it. */
const asRootFailure = (thrown: unknown): StowageError => {
  const error = fromSystemError(thrown, 'opening the root');
  if (error.status >= 500) return error;
  return new StorageUnavailableError({ detail: 'the root cannot be used as a folder', cause: error });
};

/**
 * Opens a folder as a store: makes it when it is missing, and removes what killed processes left in it.
 * @throws StorageDeniedError, StorageUnavailableError and the like when the folder cannot be made or opened
 */
export const openLocalAdapter = async (options: LocalOptions): Promise<LocalAdapter> => {
  const { log } = options;
  const root = resolve(options.root);
  try {
    const made = await mkdir(root, { recursive: true });
    if (made !== undefined) log.info('Created the root folder of a source.', { root });
    const confinement = await chooseConfinement(root, options.confinement);
    const walker = new FolderWalker(confinement);
    if (!confinement.holds && process.platform === 'linux') {
      log.warn(
        'Folders of a source cannot be held open: /proc is missing. Links swapped in during a request are only looked for.',
        {
          root,
        },
      );
    }
    const sweeping = sweepNowAndThen(walker, log);
    const area = await TempArea.create(confinement, (folder) =>
      confinement.holds ? new HandleConfinement(folder) : new PathConfinement(folder),
    );
    const own = new ScanThread();
    const scans = options.scans ?? { thread: own, release: () => own.close() };
    const capabilities = {
      atomicCreate: true,
      ifMatch: true,
      caseSensitive: await isCaseSensitive(confinement),
    };
    const locks = options.locks ?? createNameLocks();
    const identity = {
      backend: 'local',
      root: (await realpath(root)).split(sep).filter((part) => part !== ''),
    };
    return new LocalAdapter(
      { root, walker, area, scans: scans.thread, locks },
      { capabilities, identity },
      async () => {
        await sweeping.stop();
        await scans.release();
      },
    );
  } catch (error) {
    throw asRootFailure(error);
  }
};

/** Makes local stores that share one scanning thread, which ends with the last of them. One factory per connector. */
export const createLocalFactory = (): StorageFactory => {
  let users = 0;
  const thread = new ScanThread();
  const locks = createNameLocks();
  return {
    requiresRoot: true,
    create: async ({ root, log }) => {
      if (root === undefined) throw new StorageUnavailableError({ detail: 'a local source needs a root' });
      users += 1;
      const release = async (): Promise<void> => {
        users -= 1;
        if (users === 0) await thread.close();
      };
      try {
        return await openLocalAdapter({ root, log, scans: { thread, release }, locks });
      } catch (error) {
        users -= 1;
        throw error;
      }
    },
  };
};
