import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { StorageUnavailableError, type StowageError } from '../../errors/errors.ts';
import type { Logger } from '../../log/logger.ts';
import type { StorageFactory } from '../../storage/registry.ts';
import { fromSystemError } from '../../storage/system-errors.ts';
import { LocalAdapter } from './adapter.ts';
import { isCaseSensitive } from './case-probe.ts';
import type { Confinement } from './confinement.ts';
import { HandleConfinement } from './handle-confinement.ts';
import { PathConfinement } from './path-confinement.ts';
import { Places } from './places.ts';
import { ScanThread } from './scan-thread.ts';
import { sweepLeftovers } from './sweep.ts';
import { TempArea } from './temp-area.ts';

/** How a local store is opened. */
export interface LocalOptions {
  readonly root: string;
  readonly log: Logger;
  /** Shared with other stores; the store ends one of its own. */
  readonly scans?: { readonly thread: ScanThread; readonly release: () => Promise<void> };
  /** Default: handles where the system has them. */
  readonly confinement?: 'handles' | 'paths' | undefined;
}

const chooseConfinement = async (root: string, wanted: LocalOptions['confinement']): Promise<Confinement> => {
  const handles =
    wanted === 'handles' || (wanted === undefined && (await HandleConfinement.isAvailable(root)));
  return handles ? new HandleConfinement(root) : new PathConfinement(root);
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
    const places = new Places(confinement);
    await sweepLeftovers(places, Date.now(), log);
    const area = await TempArea.create(confinement);
    const own = new ScanThread();
    const scans = options.scans ?? { thread: own, release: () => own.close() };
    const capabilities = {
      atomicCreate: true,
      ifMatch: false,
      atomicFolderMove: true,
      emptyFolders: true,
      caseSensitive: await isCaseSensitive(confinement),
      stableReads: true,
    };
    return new LocalAdapter({ root, places, area, scans: scans.thread }, capabilities, scans.release);
  } catch (error) {
    throw asRootFailure(error);
  }
};

/** Makes local stores that share one scanning thread, which ends with the last of them. One factory per connector. */
export const createLocalFactory = (): StorageFactory => {
  let users = 0;
  const thread = new ScanThread();
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
        return await openLocalAdapter({ root, log, scans: { thread, release } });
      } catch (error) {
        users -= 1;
        throw error;
      }
    },
  };
};
