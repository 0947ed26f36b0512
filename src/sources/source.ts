import type { Settings } from '../config/settings.ts';
import type { StorageAdapter } from '../storage/adapter.ts';

/** A named file location of a connector. */
export interface Source {
  /** Key in `sources`; requests may use it as well as `name`. */
  readonly key: string;
  readonly name: string;
  readonly title: string;
  /** Absolute http(s) URL that ends with a slash. */
  readonly baseurl: string;
  /** Other addresses of the same files, in the same form. */
  readonly baseurlAliases: readonly string[];
  readonly settings: Settings;
  /** The store, made at the first call and kept. Rejects with UnsupportedError when an optional package is missing. */
  readonly storage: () => Promise<StorageAdapter>;
}

/** The sources that serve one request. */
export interface SourceSet {
  /** In the order of the configuration. */
  readonly all: readonly Source[];
  /** The source with this key or name, else undefined. */
  find(name: string): Source | undefined;
}
