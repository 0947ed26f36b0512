import type { StorageFactories, StorageFactory } from '../storage/registry.ts';
import { nearestKey } from './nearest-key.ts';
import type { PlainObject } from './plain-values.ts';
import { problemAt } from './problems.ts';
import { directoryProblem } from './source-fields.ts';

/** Adapters of the protocol: their options are accepted by every source, and needed with their adapter. */
export const protocolAdapters: readonly string[] = ['s3', 'webdav'];

const adapterProblem = (name: string, factories: StorageFactories): string => {
  const names = [...factories.keys()];
  const near = nearestKey(name, names);
  const known = names.map((one) => JSON.stringify(one)).join(', ');
  return `unknown storage adapter ${JSON.stringify(name)}${
    near === undefined ? '' : `; did you mean "${near}"?`
  } (known: ${known})`;
};

const rootProblem = (root: unknown, adapter: string, factory: StorageFactory): string | undefined => {
  if (root === undefined) {
    return factory.requiresRoot === true ? `is required with storageAdapter "${adapter}"` : undefined;
  }
  return adapter === 'local' ? directoryProblem(root) : undefined;
};

interface LoadedOptions {
  readonly value?: unknown;
  readonly problems: readonly string[];
}

const loadOptions = (
  where: readonly string[],
  adapter: string,
  factory: StorageFactory,
  options: unknown,
): LoadedOptions => {
  if (options === undefined && protocolAdapters.includes(adapter)) {
    return { problems: [problemAt([...where, adapter], `is required with storageAdapter "${adapter}"`)] };
  }
  if (factory.parseOptions === undefined) return { value: options, problems: [] };
  const parsed = factory.parseOptions(options);
  if ('value' in parsed) return { value: parsed.value, problems: [] };
  const prefix = [...where, adapter].join('.');
  return {
    problems: parsed.problems.map((text) =>
      /^\s*:/u.test(text) ? `${prefix}${text.trimStart()}` : `${prefix}.${text}`,
    ),
  };
};

/** The storage of a source as far as its configuration says. */
export interface CheckedStorage {
  readonly adapter: string;
  readonly options?: unknown;
  readonly problems: readonly string[];
}

/** Checks adapter, root and adapter options of a source. `where` is its place, `own` its own keys. */
export const checkStorage = (
  where: readonly string[],
  own: PlainObject,
  factories: StorageFactories,
): CheckedStorage => {
  const { root, storageAdapter = 'local' } = own;
  // An adapter that is no text, or empty, has been reported by its own check.
  if (typeof storageAdapter !== 'string' || storageAdapter === '') return { adapter: '', problems: [] };
  const factory = factories.get(storageAdapter);
  if (factory === undefined) {
    const problem = problemAt([...where, 'storageAdapter'], adapterProblem(storageAdapter, factories));
    return { adapter: storageAdapter, problems: [problem] };
  }
  const { value, problems } = loadOptions(where, storageAdapter, factory, own[storageAdapter]);
  const wrongRoot =
    root === undefined || typeof root === 'string' ? rootProblem(root, storageAdapter, factory) : undefined;
  return {
    adapter: storageAdapter,
    options: value,
    problems: [...(wrongRoot === undefined ? [] : [problemAt([...where, 'root'], wrongRoot)]), ...problems],
  };
};
