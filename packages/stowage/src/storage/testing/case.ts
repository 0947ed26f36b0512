import type { StorageAdapter } from '../adapter.ts';
import type { SourcePath } from '../source-path.ts';

/** A fresh, empty store for one case. */
export interface StoreUnderTest {
  readonly adapter: StorageAdapter;
  /**
   * Removes the store. Called after the case, also after a failed one; the adapter's own `close` has been
   * called before.
   */
  readonly cleanup?: () => Promise<void> | void;
  /**
   * Puts a file into the backend behind the adapter's back, under a raw name in the root folder or, after a
   * slash, in a folder that is there: `evil\name`, `folder/evil\name`, a name with a control character.
   * Needed when the suite is told that the backend can hold such names.
   */
  readonly plant?: (rawName: string) => Promise<void>;
}

/** What a store may promise beyond the contract. Only the suite asks for it. */
export interface StorePromises {
  /** Folders can be empty and exist by themselves. Default: true. */
  readonly emptyFolders?: boolean;
  /** A file that is being read keeps its content when it is replaced or removed meanwhile. Default: false. */
  readonly stableReads?: boolean;
}

/** What a case gets to work with. */
export interface CaseContext {
  readonly adapter: StorageAdapter;
  readonly promises: Required<StorePromises>;
  readonly plant: (rawName: string) => Promise<void>;
  /** A path of the store, from its text. */
  readonly at: (text: string) => SourcePath;
}

/** One sentence about the contract, and how it is checked. */
export interface CaseDefinition {
  readonly name: string;
  /** The case needs `plant`. */
  readonly plants?: true;
  /** Rejects when the store breaks the sentence. */
  readonly check: (context: CaseContext) => Promise<void>;
}

/** The cases about one part of the contract. */
export interface Theme {
  readonly theme: string;
  readonly cases: readonly CaseDefinition[];
}
