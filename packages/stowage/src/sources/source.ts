import type { Settings } from '../config/settings.ts';
import type { StorageAdapter } from '../storage/adapter.ts';
import type { KnownRecords } from '../storage/moved/known-records.ts';
import type { TrashRecords } from '../storage/trash/record.ts';

export interface Source {
  /** Key in `sources`; requests may use it instead of `name`. */
  readonly key: string;
  readonly name: string;
  readonly title: string;
  /** Base address of its files: an absolute http(s) URL or a path, with a trailing slash. */
  readonly baseurl: string;
  /** Other addresses of the same files, in the same form. */
  readonly baseurlAliases: readonly string[];
  /** `baseurl` is below the service's own address, whose host the request determines. */
  readonly servesItself: boolean;
  /** The tenant that owns the source; undefined for configured sources. */
  readonly tenant: string | undefined;
  /**
   * Identifies the tenant and the location of the files, so that signed links and quotas stay separate even
   * when one tenant id has several sets of sources. Undefined for configured sources. The same in all
   * instances.
   */
  readonly scope: string | undefined;
  readonly settings: Settings;
  /** The store, opened at the first call. Rejects with UnsupportedError if an optional package is missing. */
  readonly storage: () => Promise<StorageAdapter>;
  readonly trashRecords: TrashRecords;
  readonly movedRecords: KnownRecords;
}

/** The sources that a request can use. */
export interface SourceSet {
  /** In the order of the configuration. */
  readonly all: readonly Source[];
  find(name: string): Source | undefined;
}

/** Sources with a common lifetime: those of the configuration, or those of one tenant. */
export interface SourceGroup extends SourceSet {
  /** Closes every store that was opened. Failures are logged, never thrown. */
  close(): Promise<void>;
}
