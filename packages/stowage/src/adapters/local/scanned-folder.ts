import * as fs from 'node:fs';
import { O_PATH } from './confinement.ts';
import { lookByQuietPath } from './quiet-path.ts';

const CHILD = O_PATH | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW;

const systemError = (code: string, message: string): Error => Object.assign(new Error(message), { code });

/** Where a folder lies, and how it is opened. */
export interface FolderToScan {
  readonly root: string;
  /** Names on disk from the root to the folder. */
  readonly diskNames: readonly string[];
  /** Whether folders can be held by handles on this system. */
  readonly handles: boolean;
}

/** A folder that this thread has open, as the adapter's `OpenFolder`, by calls that wait for the disk. */
export interface ScannedFolder {
  readonly self: string;
  /**
   * Looks at many entries by the paths that are cheapest, and once more where others have moved folders
   * meanwhile: `look` must do nothing but look.
   */
  readonly lookAtMany: <Seen>(look: (folder: string) => Seen) => Seen;
  /** To be called after looking at entries. @throws ENOENT when what was seen may lie in another folder */
  readonly verify: () => void;
  readonly close: () => void;
}

/** Each folder through the handle of the one before, none through a link. */
const openByHandles = ({ root, diskNames }: FolderToScan): ScannedFolder => {
  let handle = fs.openSync(root, O_PATH | fs.constants.O_DIRECTORY);
  for (const name of diskNames) {
    const parent = handle;
    try {
      handle = fs.openSync(`/proc/self/fd/${parent}/${name}`, CHILD);
    } finally {
      fs.closeSync(parent);
    }
  }
  const self = `/proc/self/fd/${handle}`;
  return {
    self,
    lookAtMany: (look) => lookByQuietPath(self, look) ?? look(self),
    verify: () => undefined,
    close: () => fs.closeSync(handle),
  };
};

/** Every folder on the way is looked at, before and after. */
const openByPaths = ({ root, diskNames }: FolderToScan): ScannedFolder => {
  const chain = [fs.realpathSync(root)];
  for (const name of diskNames) chain.push(`${chain.at(-1)}/${name}`);
  const lookAt = (path: string): string => {
    const stats = fs.lstatSync(path, { bigint: true });
    if (!stats.isDirectory()) throw systemError('ENOTDIR', 'not a directory');
    return `${stats.dev}:${stats.ino}`;
  };
  const opened = chain.map(lookAt);
  const self = chain.at(-1) ?? '';
  return {
    self,
    lookAtMany: (look) => look(self),
    verify: () => {
      if (chain.every((path, index) => lookAt(path) === opened[index])) return;
      throw systemError('ENOENT', 'the folder was replaced while it was listed');
    },
    close: () => undefined,
  };
};

/**
 * Opens a folder for the scanning thread, none on the way through a link. The caller closes it.
 * @throws errors of the system
 */
export const openScanned = (folder: FolderToScan): ScannedFolder =>
  (folder.handles ? openByHandles : openByPaths)(folder);
