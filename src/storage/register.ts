import { ConfigError } from '../errors/errors.ts';
import type { StorageFactories, StorageFactory } from './registry.ts';

const RESERVED: ReadonlySet<string> = new Set(['local', 's3', 'webdav', 'memory']);

/**
 * The one exception to "no state of a module": an adapter package registers itself by being imported, before any connector exists, so
 * there is no instance to hang it on. It only ever grows, a name never changes its meaning, and a connector takes a snapshot when it is
 * made, so that instances stay as isolated as without it.
 */
const registered = new Map<string, StorageFactory>();

/**
 * Makes a storage adapter known by name, for `storageAdapter` of every connector that is created afterwards.
 * @throws ConfigError when the name is empty, built in or taken
 */
export const registerStorageAdapter = (name: string, factory: StorageFactory): void => {
  const problem =
    name.trim() === ''
      ? 'needs a name'
      : RESERVED.has(name)
        ? 'is built in and cannot be replaced'
        : registered.has(name)
          ? 'is registered already'
          : typeof factory.create !== 'function'
            ? 'needs a factory with a create function'
            : undefined;
  if (problem !== undefined) throw new ConfigError([`storage adapter "${name}" ${problem}`]);
  registered.set(name, factory);
};

/** The adapters registered so far, as a copy that later registrations do not change. */
export const registeredFactories = (): StorageFactories => new Map(registered);
