import type { StagedFile, StorageAdapter } from '../storage/adapter.ts';

/** A file of a form that has arrived whole and waits, without a name in any source, to be placed. Discarded when the request ends. */
export interface UploadedFile {
  /** Form field as sent: `files[0]`. */
  readonly field: string;
  /** Last path segment of the name as sent, valid UTF-8, not sanitised. */
  readonly filename: string;
  readonly staged: StagedFile;
  /** Where it is staged: committing into this store costs no second copy. */
  readonly stagedIn: StorageAdapter | undefined;
  /** Cleaning has removed something that a browser would have drawn or run. */
  readonly isReduced?: boolean;
}
