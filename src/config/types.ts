import type { Settings, SettingsInput } from './settings.ts';

/** Settings as written: null keeps the default, at every depth. */
type Written<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]?: Written<Value[Key]> | null | undefined }
    : Value;

/** A source as written in a configuration: its own keys and any setting it overrides. */
export interface SourceInput extends Omit<Written<SettingsInput>, 'title' | 'baseurl' | 'root'> {
  readonly name?: string | null | undefined;
  readonly title: string;
  readonly baseurl: string;
  readonly root?: string | null | undefined;
  readonly storageAdapter?: string | null | undefined;
  readonly s3?: unknown;
  readonly webdav?: unknown;
}

/** A source of a registered adapter, whose options stand under the key named like the adapter. */
export interface RegisteredSourceInput extends SourceInput {
  readonly storageAdapter: string;
  readonly [adapterOptions: string]: unknown;
}

/** Sources keyed by name. */
export type SourcesInput = Readonly<Record<string, SourceInput | RegisteredSourceInput>>;

/** A configuration as written: only what differs from the defaults. */
export interface ConfigInput extends Written<SettingsInput> {
  readonly sources?: SourcesInput | null | undefined;
  /** For editors; ignored. */
  readonly $schema?: string | undefined;
}

/** A source's configuration after checks: every setting in force for it. */
export interface SourceConfig {
  /** Key in `sources`. */
  readonly key: string;
  /** Name used in requests; the key when the source gives none. */
  readonly name: string;
  readonly title: string;
  /** Absolute http(s) URL that ends with a slash. */
  readonly baseurl: string;
  /** Other addresses of the same files, in the same form. */
  readonly baseurlAliases: readonly string[];
  /** Directory of a local source (absolute), or a virtual prefix; undefined when not given. */
  readonly root: string | undefined;
  readonly storageAdapter: string;
  /** The value under the key named like the adapter (`s3`, `webdav`, ...), parsed by the adapter's own schema when it has one. */
  readonly adapterOptions: unknown;
  /** Global settings with this source's overrides. */
  readonly settings: Settings;
  /** Settings that the source overrides in vain, because they act before a source is known. */
  readonly withoutEffect: readonly string[];
}

/** The accepted configuration, deeply frozen. */
export interface ConnectorConfig {
  readonly settings: Settings;
  readonly sources: readonly SourceConfig[];
}
