import type { Logger } from '../basics/log/logger.ts';
import type { StorageAdapter } from './adapter.ts';

/** What a factory learns of the source that it makes a store for. */
export interface StorageFactoryContext<Options = unknown> {
  /**
   * The source's options for this adapter, as its `parseOptions` returned them (or as written, without one).
   */
  readonly options: Options;
  /** `root` of the source: a directory for local, a virtual prefix elsewhere. */
  readonly root: string | undefined;
  readonly sourceName: string;
  readonly log: Logger;
  /** False: the store is opened for a look, and what dead processes have left in it stays. Default: true. */
  readonly sweeps?: boolean | undefined;
}

/** Makes the stores of one kind. `Options` is what `parseOptions` returns and `create` gets. */
export interface StorageFactory<Options = unknown> {
  /** Whether a source of this kind must have `root`. Default: false. */
  readonly requiresRoot?: boolean;
  /**
   * Checks the source's options for this adapter. Returns them parsed, or the problems found, each beginning
   * with its dotted key relative to the options (`bucket: is required`; an empty key for the options as a
   * whole).
   */
  readonly parseOptions?: (
    options: unknown,
  ) => { readonly value: Options } | { readonly problems: readonly string[] };
  /** Called once per source and connector, at its first use. */
  create(context: StorageFactoryContext<Options>): StorageAdapter | Promise<StorageAdapter>;
}

/** The adapters that a connector knows, by the name used in `storageAdapter`. */
export type StorageFactories = ReadonlyMap<string, StorageFactory>;
