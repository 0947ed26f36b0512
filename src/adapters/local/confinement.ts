import { StorageUnavailableError } from '../../errors/errors.ts';
import { systemCode } from '../../adapter-support/system-errors.ts';
import type { Name } from './system.ts';

/** A folder of the source that is open: what is done through it happens in this very folder, wherever its name leads by now. */
export interface OpenFolder {
  /** The folder itself, for calls that read it. */
  readonly self: string;
  /** Where an entry of the folder is. The last segment is not resolved: calls must not follow a link there. */
  at(name: Name): Name;
  /** Rejects with NotFoundError when the folder is no longer where it was opened. For the ways of access that cannot hold it. */
  verify(): Promise<void>;
  /** Frees the handle; never rejects. */
  close(): Promise<void>;
}

/** How folders are opened so that no link leads out of the root. Errors are those of the system. */
export interface Confinement {
  openRoot(): Promise<OpenFolder>;
  /** Opens a folder inside another one. A link, even to a folder, is ENOTDIR. */
  openChild(folder: OpenFolder, name: Name): Promise<OpenFolder>;
  /** Whether folders are held by handles, so that a swap of a name between two calls changes nothing. */
  readonly holds: boolean;
}

/** Opens the root for an operation. @throws StorageUnavailableError when it is not there */
export const openRoot = async (confinement: Confinement): Promise<OpenFolder> => {
  try {
    return await confinement.openRoot();
  } catch (error) {
    if (systemCode(error) !== 'ENOENT' && systemCode(error) !== 'ENOTDIR') throw error;
    // Made once, when the store was opened: a root that is gone since may be a disk that is not mounted any more.
    throw new StorageUnavailableError({ detail: 'the root folder is missing', cause: error });
  }
};
