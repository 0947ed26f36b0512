import { ConfigError } from 'stowage';
import { loadConfig } from '#internals';
import type { SourceEnvironment } from '../../packages/stowage/dist/config/environment.js';
import type { ConnectorConfig, SourceConfig } from '../../packages/stowage/dist/config/types.js';
import type { StorageFactories, StorageFactory } from '../../packages/stowage/dist/storage/registry.js';

const notOpened: StorageFactory['create'] = () => {
  throw new Error('A configuration is checked without opening a store.');
};

/**
 * Adapters as far as a configuration knows them: `local`, `s3` with a checked option, and one that a host
 * registered.
 */
export const factories: StorageFactories = new Map<string, StorageFactory>([
  ['local', { requiresRoot: true, create: notOpened }],
  [
    's3',
    {
      create: notOpened,
      parseOptions: (options) =>
        typeof (options as { bucket?: unknown }).bucket === 'string'
          ? { value: { region: 'us-east-1', ...(options as object) } }
          : { problems: ['bucket: is required'] },
    },
  ],
  ['vault', { create: notOpened }],
]);

/** A source that is right, with these keys changed. */
export const source = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
  title: 'Photos',
  root: '/srv/photos',
  baseurl: 'https://cdn.example.com/photos/',
  ...changes,
});

export const load = (input?: unknown, environment: SourceEnvironment = {}): ConnectorConfig =>
  loadConfig(input, factories, environment);

/** The only source of a configuration. */
export const loadOne = (
  global: Record<string, unknown>,
  changes: Record<string, unknown> = {},
): SourceConfig => {
  const [only] = load({ ...global, sources: { photos: source(changes) } }).sources;
  if (only === undefined) throw new Error('The configuration has no source.');
  return only;
};

/** The problems that a configuration is refused for; none when it is accepted. */
export const problemsOf = (input?: unknown, environment: SourceEnvironment = {}): readonly string[] => {
  try {
    load(input, environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
};
