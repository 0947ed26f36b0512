import type { Settings } from '../config/settings.ts';
import type { StorageAdapter } from '../storage/adapter.ts';
import type { KnownRecords } from '../storage/moved/known-records.ts';
import type { TrashRecords } from '../storage/trash/record.ts';

export interface Source {
  /** Key in `sources`; requests may use it as well as `name`. */
  readonly key: string;
  readonly name: string;
  readonly title: string;
  /** Where its files are found: an absolute http(s) URL or a path, with a slash at the end. */
  readonly baseurl: string;
  /** Other addresses of the same files, in the same form. */
  readonly baseurlAliases: readonly string[];
  /** `baseurl` is the service's own address; where that begins, a request says. */
  readonly servesItself: boolean;
  /** Of the tenant whose source it is; undefined for the configured ones. */
  readonly tenant: string | undefined;
  /**
   * The tenant and the location of its files, so that signed links and quotas stay apart even where one id
   * names several sets of sources; undefined for the configured ones. The same in all instances.
   */
  readonly scope: string | undefined;
  readonly settings: Settings;
  /** The store, made at the first call. Rejects with UnsupportedError when an optional package is missing. */
  readonly storage: () => Promise<StorageAdapter>;
  readonly trashRecords: TrashRecords;
  readonly movedRecords: KnownRecords;
}

/** The sources that serve one request. */
export interface SourceSet {
  /** In the order of the configuration. */
  readonly all: readonly Source[];
  find(name: string): Source | undefined;
}

/** Sources that live and are closed together: those of the configuration, or those of one tenant. */
export interface SourceGroup extends SourceSet {
  /** Closes every store that was opened. Failures are logged, never thrown. */
  close(): Promise<void>;
}
