import type { NameLocks } from '../../basics/concurrency/name-locks.ts';
import type { FolderWalker, SharedFolders } from './folder-walker.ts';
import type { ScanThread } from './scan-thread.ts';
import type { CopyOpened } from './copies.ts';
import type { TempAreas } from './temp-area.ts';

export interface LocalStore {
  readonly root: string;
  readonly walker: FolderWalker;
  readonly areas: TempAreas;
  readonly scans: ScanThread;
  /** Shared by all stores of the connector. */
  readonly locks: NameLocks;
  readonly copy: CopyOpened;
  readonly shared: SharedFolders;
}
