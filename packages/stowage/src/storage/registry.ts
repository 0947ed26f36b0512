import type { Logger } from '../basics/log/logger.ts';
import type { StorageAdapter } from './adapter.ts';
import { ConfigError } from '../errors/errors.ts';

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

const builtInNames = ['local', 'memory', 's3', 'sftp', 'ftp', 'azure', 'gcs', 'webdav'] as const;

/** The name of an adapter of this package, which no other may take. */
export type BuiltInName = (typeof builtInNames)[number];

const RESERVED: ReadonlySet<string> = new Set(builtInNames);

/**
 * The one exception to "no state of a module": an adapter package registers itself by being imported, before
 * any connector exists, so there is no instance to hang it on. It only ever grows, and a connector takes a
 * snapshot when it is made, so that instances stay as isolated as without it.
 */
const registered = new Map<string, StorageFactory>();

const problemOf = (name: string, factory: StorageFactory): string | undefined => {
  if (name.trim() === '') return 'needs a name';
  if (RESERVED.has(name)) return 'is built in and cannot be replaced';
  return typeof (factory as StorageFactory | undefined)?.create === 'function'
    ? undefined
    : 'needs a factory with a create function';
};

/** @throws ConfigError with the problems of them all */
const requireUsable = (factories: readonly (readonly [name: string, factory: StorageFactory])[]): void => {
  const problems = factories.flatMap(([name, factory]) => {
    const problem = problemOf(name, factory);
    return problem === undefined ? [] : [`storage adapter "${name}" ${problem}`];
  });
  if (problems.length > 0) throw new ConfigError(problems);
};

/**
 * Makes a storage adapter known by name, for `storageAdapter` of every connector that is created afterwards.
 * A name that registers again, as it does when hot reload or a test runner evaluates its module twice, gets
 * the newer factory. Another factory than before is reported as a warning of the process: two packages may
 * want one name.
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
 * The adapters registered so far and those of one connector, which win, as a copy that later registrations do
 * not change.
 * @throws ConfigError when a connector's own adapter has no name, no factory, or the name of a built-in one
 */
export const registeredFactories = (own: Readonly<Record<string, StorageFactory>> = {}): StorageFactories => {
  const entries = Object.entries(own);
  requireUsable(entries);
  return new Map([...registered, ...entries]);
};
