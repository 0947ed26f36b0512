import type { NameLocks } from '../../concurrency/name-locks.ts';
import type { TempArea } from './temp-area.ts';
import type { FolderWalker } from './folder-walker.ts';
import type { ScanThread } from './scan-thread.ts';

/** What the operations of one local store work with. */
export interface LocalStore {
  readonly root: string;
  readonly walker: FolderWalker;
  readonly area: TempArea;
  readonly scans: ScanThread;
  readonly locks: NameLocks;
}
