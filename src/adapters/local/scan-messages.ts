/** What the adapter asks of the scanning thread. Every message about a listing names it. */
export type ScanRequest =
  | {
      readonly type: 'open';
      readonly id: number;
      readonly root: string;
      /** Names on disk from the root to the folder. */
      readonly diskNames: readonly string[];
      readonly namesOnly: boolean;
      /** Whether folders can be held by handles on this system. */
      readonly handles: boolean;
    }
  | { readonly type: 'next'; readonly id: number }
  | { readonly type: 'close'; readonly id: number }
  /** Closes all listings and ends the thread. */
  | { readonly type: 'end' };

/** A page in columns, which cross between threads for a fraction of the cost of objects. */
export interface ScanPage {
  readonly type: 'page';
  readonly id: number;
  /** Joined by `/`, which no name holds; empty for no names. */
  readonly names: string;
  /** 1 for a folder, 0 for a file. */
  readonly kinds: Uint8Array;
  /** Undefined in a listing of names only. */
  readonly sizes: Float64Array | undefined;
  readonly times: Float64Array | undefined;
  /** With the last page: entries of the whole folder that are left out. */
  readonly omitted: number;
  readonly isLast: boolean;
}

/** What the scanning thread answers. `code` is that of the system, where it was the system that failed. */
export type ScanAnswer =
  | ScanPage
  | {
      readonly type: 'failed';
      readonly id: number;
      readonly code: string | undefined;
      readonly message: string;
    };
