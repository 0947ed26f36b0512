import type { Logger } from '../basics/log/logger.ts';
import type { StorageAdapter } from './adapter.ts';
import { ConfigError } from '../errors/errors.ts';

/** Properties of the source for which a factory creates a store. */
export interface StorageFactoryContext<Options = unknown> {
  /** The source's options for this adapter, as its `parseOptions` returned them, else as configured. */
  readonly options: Options;
  /** `root` of the source: a directory for local, a virtual prefix elsewhere. */
  readonly root: string | undefined;
  readonly sourceName: string;
  readonly log: Logger;
  /** False: the store is opened to be read only, and leftovers of dead processes stay. Default: true. */
  readonly sweeps?: boolean | undefined;
}

/** Creates the stores of one kind. `Options` is the result of `parseOptions`, passed to `create`. */
export interface StorageFactory<Options = unknown> {
  /** Whether a source of this kind must have `root`. Default: false. */
  readonly requiresRoot?: boolean;
  /**
   * Validates the source's options for this adapter. Returns them parsed, or the problems found, each
   * beginning with its dotted key relative to the options (`bucket: is required`; an empty key for the
   * options as a whole).
   */
  readonly parseOptions?: (
    options: unknown,
  ) => { readonly value: Options } | { readonly problems: readonly string[] };
  /** Called once per source and connector, at its first use. */
  create(context: StorageFactoryContext<Options>): StorageAdapter | Promise<StorageAdapter>;
}

/** The adapters available to a connector, by their name in `storageAdapter`. */
export type StorageFactories = ReadonlyMap<string, StorageFactory>;

const builtInNames = ['local', 'memory', 's3', 'sftp', 'ftp', 'azure', 'gcs', 'webdav'] as const;

/** The name of an adapter of this package; reserved. */
export type BuiltInName = (typeof builtInNames)[number];

const RESERVED: ReadonlySet<string> = new Set(builtInNames);

/**
 * The one exception to "no state of a module": an adapter package registers itself when it is imported,
 * before any connector exists that could hold the state. It only grows, and a connector copies it at its
 * creation, so that connectors stay isolated.
 */
const registered = new Map<string, StorageFactory>();

const problemOf = (name: string, factory: StorageFactory): string | undefined => {
  if (name.trim() === '') return 'needs a name';
  if (RESERVED.has(name)) return 'is built in and cannot be replaced';
  return typeof (factory as StorageFactory | undefined)?.create === 'function'
    ? undefined
    : 'needs a factory with a create function';
};

/** @throws ConfigError with all problems */
const requireUsable = (factories: readonly (readonly [name: string, factory: StorageFactory])[]): void => {
  const problems = factories.flatMap(([name, factory]) => {
    const problem = problemOf(name, factory);
    return problem === undefined ? [] : [`storage adapter "${name}" ${problem}`];
  });
  if (problems.length > 0) throw new ConfigError(problems);
};

/**
 * Registers a storage adapter by name, for `storageAdapter` of every connector that is created later.
 * Registering a name again, as hot reload or a test runner does, replaces the factory. A different factory
 * causes a process warning, because two packages may use one name.
 * @throws ConfigError when the name is empty or built in
 */
export const registerStorageAdapter = <Options>(name: string, factory: StorageFactory<Options>): void => {
  requireUsable([[name, factory]]);
  const known = registered.get(name);
  if (known !== undefined && known !== factory)
    process.emitWarning(
      `storage adapter ${JSON.stringify(name)} is registered again: connectors that are created from now on get the new one`,
      { code: 'STOWAGE_ADAPTER_REPLACED' },
    );
  registered.set(name, factory);
};

/**
 * A copy of the adapters registered so far, overridden by those of one connector; later registrations do not
 * change it.
 * @throws ConfigError when a connector's own adapter has no name, no factory, or the name of a built-in one
 */
export const registeredFactories = (own: Readonly<Record<string, StorageFactory>> = {}): StorageFactories => {
  const entries = Object.entries(own);
  requireUsable(entries);
  return new Map([...registered, ...entries]);
};
