import { fromSystemError } from '../../basics/files/system-errors.ts';
import type { NameLocks } from '../../basics/concurrency/name-locks.ts';
import type { OperationOptions } from '../../storage/adapter.ts';
import type { FolderWalker, SharedFolders } from './folder-walker.ts';
import type { ScanThread } from './scan-thread.ts';
import type { SystemCopies } from './copies.ts';
import type { TempAreas } from './temp-area.ts';

/** What the operations of one local store work with. */
export interface LocalStore {
  readonly root: string;
  readonly walker: FolderWalker;
  readonly areas: TempAreas;
  readonly scans: ScanThread;
  readonly locks: NameLocks;
  readonly copies: SystemCopies;
  readonly shared: SharedFolders;
}

/**
 * Runs an operation on the file system: not at all when its signal is aborted, and so that every error is one
 * of ours or the signal's reason.
 * @param name for the log
 */
export const attempt = async <T>(
  name: string,
  options: OperationOptions,
  work: () => Promise<T>,
): Promise<T> => {
  options.signal?.throwIfAborted();
  try {
    return await work();
  } catch (error) {
    options.signal?.throwIfAborted();
    throw fromSystemError(error, name);
  }
};
