import type { Entry, ListOptions, StorageAdapter } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { TimeSlice } from './time-slice.ts';

/** Entries between two looks at the clock. */
const STRIDE = 256;

/** What to scan, and how. */
export interface Scan {
  readonly storage: StorageAdapter;
  readonly folder: SourcePath;
  readonly detail: NonNullable<ListOptions['detail']>;
  readonly onOmitted?: ListOptions['onOmitted'];
  readonly signal: AbortSignal;
  readonly slice: TimeSlice;
  /** Waited for before more than `from` entries are shown. */
  readonly large?: { readonly from: number; readonly turn: () => Promise<void> } | undefined;
}

/**
 * Shows every entry of a folder to `visit`, in the store's order and in short stretches; opens no file and keeps no entry.
 * @throws NotFoundError, WrongKindError (a file); the signal's reason when it is aborted.
 */
export const scanFolder = async (
  { storage, folder, detail, onOmitted, signal, slice, large }: Scan,
  visit: (entry: Entry) => void,
): Promise<void> => {
  let seen = 0;
  for await (const page of storage.list(folder, { detail, onOmitted, signal, mayJoin: true })) {
    signal.throwIfAborted();
    for (const entry of page) {
      if (seen === large?.from) await large.turn();
      visit(entry);
      seen += 1;
      if (seen % STRIDE === 0 && slice.due) await slice.rest();
    }
  }
};
