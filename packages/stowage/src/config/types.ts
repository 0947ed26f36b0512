import type * as z from 'zod';
import type { azureOptionsSchema } from '../adapters/objects/azure/options.ts';
import type { gcsOptionsSchema } from '../adapters/objects/gcs/options.ts';
import type { s3OptionsSchema } from '../adapters/objects/s3/options.ts';
import type { ftpOptionsSchema } from '../adapters/remote/ftp/options.ts';
import type { sftpOptionsSchema } from '../adapters/remote/sftp/options.ts';
import type { webdavOptionsSchema } from '../adapters/remote/webdav/options.ts';
import type { Settings, SettingsInput } from './settings.ts';

/**
 * Input types: where a key is optional, null means its default, at every depth; a text may be a reference to
 * an environment variable or a file.
 */
type Written<Value> = Value extends readonly (infer Entry)[]
  ? string extends Entry
    ? readonly (Entry | TextReference)[]
    : Readonly<Value>
  : Value extends object
    ? {
        readonly [Key in keyof Value]: undefined extends Value[Key]
          ? Written<Value[Key]> | null
          : Written<Value[Key]>;
      }
    : string extends Value
      ? Value | TextReference
      : Value;

/**
 * Options of a storage adapter in a source, under the adapter's name. A package that registers an adapter
 * adds its own:
 *
 * ```ts
 * declare module 'stowage' {
 *   interface StorageAdapterOptions { readonly drive?: { readonly host: string } }
 * }
 * ```
 */
export interface StorageAdapterOptions {
  readonly s3?: Written<z.input<typeof s3OptionsSchema>> | null | undefined;
  readonly ftp?: Written<z.input<typeof ftpOptionsSchema>> | null | undefined;
  readonly sftp?: Written<z.input<typeof sftpOptionsSchema>> | null | undefined;
  readonly azure?: Written<z.input<typeof azureOptionsSchema>> | null | undefined;
  readonly gcs?: Written<z.input<typeof gcsOptionsSchema>> | null | undefined;
  readonly webdav?: Written<z.input<typeof webdavOptionsSchema>> | null | undefined;
}

/** A source in a configuration: its own keys, the options of its adapter, and any setting it overrides. */
export interface SourceInput
  extends Omit<Written<SettingsInput>, 'title' | 'baseurl' | 'root'>, StorageAdapterOptions {
  /** The name that clients use; the key in `sources` when absent. */
  readonly name?: string | null | undefined;
  /** Shown to users. */
  readonly title: string | TextReference;
  /** Required unless the service serves the files itself (`serve`). */
  readonly baseurl?: string | TextReference | null | undefined;
  /** Other public URLs of the same files. */
  readonly baseurlAliases?: readonly string[] | null | undefined;
  /** The directory of a local source, from the working directory if it is relative; of a memory store a prefix. */
  readonly root?: string | TextReference | null | undefined;
  /** `local` when absent; `s3`, `azure`, `gcs`, `sftp`, `ftp`, `webdav`, `memory`, or a registered name. */
  readonly storageAdapter?: string | null | undefined;
}

/** Sources keyed by name. */
export type SourcesInput = Readonly<Record<string, SourceInput>>;

/** The input format of a configuration: only differences from the defaults. */
export interface ConfigInput extends Written<SettingsInput> {
  readonly sources?: SourcesInput | null | undefined;
  /** For editors; ignored. */
  readonly $schema?: string | undefined;
}

/** A source's configuration after validation, with its effective settings. */
export interface SourceConfig {
  /** Key in `sources`. */
  readonly key: string;
  /** Name used in requests; by default the key. */
  readonly name: string;
  readonly title: string;
  /** Absolute http(s) URL or only its path, with a trailing slash; undefined: the service's own address. */
  readonly baseurl: string | undefined;
  /** Other addresses of the same files, in the same form. */
  readonly baseurlAliases: readonly string[];
  /** Directory of a local source (absolute), or a virtual prefix; undefined when not given. */
  readonly root: string | undefined;
  readonly storageAdapter: string;
  /** The options under the key of the adapter (`s3`, …), parsed by its own schema if it has one. */
  readonly adapterOptions: unknown;
  /** Global settings with this source's overrides. */
  readonly settings: Settings;
  /** Overridden settings without effect, because they apply before the source is known. */
  readonly withoutEffect: readonly string[];
  /** Options of adapters that the source does not use. */
  readonly unusedOptions: readonly string[];
  /** Its own settings about served files, where it serves none. */
  readonly unserved: readonly string[];
}

/** The validated configuration, deeply frozen. */
export interface ConnectorConfig {
  readonly settings: Settings;
  readonly sources: readonly SourceConfig[];
}

/**
 * A reference instead of a text of the configuration: to the value of an environment variable, or the
 * content of a file without its final line break.
 */
export type TextReference = { readonly env: string } | { readonly file: string };
