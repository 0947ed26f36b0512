import type { TempArea } from './temp-area.ts';
import type { Places } from './places.ts';
import type { ScanThread } from './scan-thread.ts';

/** What the operations of one local store work with. */
export interface LocalStore {
  readonly root: string;
  readonly places: Places;
  readonly area: TempArea;
  readonly scans: ScanThread;
}
