import type { ListOptions } from '../../storage/adapter.ts';
import type { Tally, TallyOptions } from '../../storage/readable.ts';
import type { FolderToScan } from './scanned-folder.ts';
import type { FilesPage, FilesRequest } from './small-reads.ts';

/** What the adapter asks of the scanning thread. Every message about a listing names it. */
export type ScanRequest =
  | (FolderToScan & {
      readonly type: 'open';
      readonly id: number;
      readonly detail: NonNullable<ListOptions['detail']>;
    })
  | WalkRequest
  | TallyRequest
  | RemovalRequest
  | FilesRequest
  | { readonly type: 'next'; readonly id: number }
  | { readonly type: 'close'; readonly id: number }
  /** Closes all listings and ends the thread. */
  | { readonly type: 'end' };

/** A walk through all that lies below a folder. */
export interface WalkRequest extends FolderToScan {
  readonly type: 'walk';
  readonly id: number;
  readonly namesOnly: boolean;
  /** @see TreeWalkOptions */
  readonly after: string | undefined;
  readonly words: readonly string[];
  readonly never: RegExp | undefined;
  readonly most: number;
}

/** A sum over all that lies below a folder. */
export interface TallyRequest extends FolderToScan, Omit<TallyOptions, 'signal'> {
  readonly type: 'tally';
  readonly id: number;
  /** The folder's path in the source, with a slash behind it; empty for the root. */
  readonly prefix: string;
}

/** What a sum has come to so far. */
export interface TallyPage extends Tally {
  readonly type: 'tally-page';
  readonly id: number;
  readonly isLast: boolean;
}

/** The removal of a folder that lies in a temporary area, which stays open meanwhile. */
export interface RemovalRequest {
  readonly type: 'remove';
  readonly id: number;
  readonly area: string;
  readonly name: string;
}

/** How far a removal has come. */
export interface RemovalPage {
  readonly type: 'removal-page';
  readonly id: number;
  readonly isLast: boolean;
  /** With the last page: nothing is left. Else it is too deep. */
  readonly isWhole: boolean;
}

/** Entries that a walk has found by their names. */
export interface TreePage {
  readonly type: 'tree-page';
  readonly id: number;
  /** Of the entries, joined by line feeds, which no name holds; empty for none. Folders end with a slash. */
  readonly positions: string;
  /** NaN where nothing is known. */
  readonly sizes: Float64Array;
  readonly times: Float64Array;
  readonly changeTimes: Float64Array;
  readonly seen: number;
  /** Folders that may not be read. */
  readonly unreadable: number;
  /** Where the walk goes on; undefined in the midst of a folder, and nothing is found yet. */
  readonly position: string | undefined;
  readonly isLast: boolean;
}

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
  readonly changeTimes: Float64Array | undefined;
  /** Joined by spaces, an empty one for a folder; undefined where they were not asked for. */
  readonly versions: string | undefined;
  /** With the last page: entries of the whole folder that are left out. */
  readonly omitted: number;
  readonly isLast: boolean;
}

/** What the scanning thread answers. `code` is that of the system, where it was the system that failed. */
export type ScanAnswer =
  | ScanPage
  | TreePage
  | TallyPage
  | RemovalPage
  | FilesPage
  | {
      readonly type: 'failed';
      readonly id: number;
      readonly code: string | undefined;
      readonly message: string;
    };
