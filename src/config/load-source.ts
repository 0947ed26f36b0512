import { resolve } from 'node:path';
import { ConfigError } from '../errors/errors.ts';
import type { StorageFactories, StorageFactory } from '../storage/registry.ts';
import { baseurlProblem, withSlash } from './baseurl.ts';
import { loadSettings, overrideSettings, settingKeys } from './load-settings.ts';
import { nearestKey } from './nearest-key.ts';
import { freezeDeep, isPlainObject, without, withoutNulls, type PlainObject } from './plain-values.ts';
import { mustBe, problemAt } from './problems.ts';
import type { Settings } from './settings.ts';
import type { SourceConfig } from './types.ts';

const OWN_KEYS = ['name', 'title', 'baseurl', 'root', 'storageAdapter'] as const;
/** Adapters of the protocol: their options are accepted by every source, and needed with their adapter. */
const NAMED_ADAPTERS: readonly string[] = ['s3', 'webdav'];

type Own = Readonly<Record<(typeof OWN_KEYS)[number], string | undefined>>;

const requiredText = (value: unknown): string | undefined =>
  typeof value === 'string' ? undefined : mustBe('text', value);

const nonEmpty = (value: unknown): string | undefined =>
  requiredText(value) ?? (value === '' ? 'must not be empty' : undefined);

const optional =
  (check: (value: unknown) => string | undefined) =>
  (value: unknown): string | undefined =>
    value === undefined ? undefined : check(value);

const path = (value: unknown): string | undefined =>
  nonEmpty(value) ?? (String(value).includes('\0') ? 'must not hold a NUL character' : undefined);

const url = (value: unknown): string | undefined => requiredText(value) ?? baseurlProblem(String(value));

const CHECKS: Readonly<Record<keyof Own, (value: unknown) => string | undefined>> = {
  name: optional(nonEmpty),
  title: requiredText,
  baseurl: url,
  root: optional(requiredText),
  storageAdapter: optional(nonEmpty),
};

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
  return adapter === 'local' ? path(root) : undefined;
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
  if (options === undefined && NAMED_ADAPTERS.includes(adapter)) {
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

/** A source that passed, or all that is wrong with it. */
export type CheckedSource = { readonly source: SourceConfig } | { readonly problems: readonly string[] };

interface Parts {
  readonly own: PlainObject;
  readonly overrides: PlainObject;
}

const split = (written: PlainObject, factories: StorageFactories): Parts => {
  const adapters = [...NAMED_ADAPTERS, ...factories.keys()];
  const isOwn = (key: string): boolean =>
    (OWN_KEYS as readonly string[]).includes(key) || (adapters.includes(key) && !settingKeys.includes(key));
  const entries = Object.entries(written);
  return {
    own: Object.fromEntries(entries.filter(([key]) => isOwn(key))),
    overrides: Object.fromEntries(entries.filter(([key]) => !isOwn(key))),
  };
};

interface CheckedStorage {
  readonly adapter: string;
  readonly options?: unknown;
  readonly problems: readonly string[];
}

const checkStorage = (
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

/** Keys that only the top of a configuration has, and so are not looked for among the overrides. */
const TOP_KEYS: readonly string[] = ['sources', '$schema'];

const misplaced = (where: readonly string[], overrides: PlainObject): readonly string[] =>
  TOP_KEYS.filter((key) => Object.hasOwn(overrides, key)).map((key) =>
    problemAt([...where, key], 'belongs to the top of the configuration, not into a source'),
  );

const ownProblems = (where: readonly string[], own: PlainObject): readonly string[] =>
  OWN_KEYS.flatMap((name) => {
    const problem =
      where.at(-1) === '' && name === 'name' && own[name] === undefined
        ? 'is required where the key is empty'
        : CHECKS[name](own[name]);
    return problem === undefined ? [] : [problemAt([...where, name], problem)];
  });

const checkWritten = (
  key: string,
  written: PlainObject,
  settings: Settings,
  factories: StorageFactories,
): CheckedSource => {
  const where = ['sources', key];
  const { own, overrides } = split(written, factories);
  const loaded = loadSettings(
    without(overrides, TOP_KEYS),
    [...OWN_KEYS, ...NAMED_ADAPTERS, ...factories.keys()],
    where,
  );
  const { adapter, options, problems } = checkStorage(where, own, factories);
  const all = [
    ...ownProblems(where, own),
    ...misplaced(where, overrides),
    ...('problems' in loaded ? loaded.problems : []),
    ...problems,
  ];
  if (all.length > 0) return { problems: all };

  // Every own value has passed its check above.
  const text = own as Own;
  return {
    source: freezeDeep({
      key,
      name: text.name ?? key,
      title: text.title ?? '',
      baseurl: withSlash(text.baseurl ?? ''),
      root: adapter === 'local' && text.root !== undefined ? resolve(text.root) : text.root,
      storageAdapter: adapter,
      adapterOptions: options,
      settings: overrideSettings(settings, overrides),
    }),
  };
};

/**
 * Checks one source as written under its key in `sources`. `settings` are the global ones, which it may override. A relative root
 * of a local source is taken from the working directory.
 */
export const checkSource = (
  key: string,
  input: unknown,
  settings: Settings,
  factories: StorageFactories,
): CheckedSource => {
  const written = withoutNulls(input);
  return isPlainObject(written)
    ? checkWritten(key, written, settings, factories)
    : { problems: [problemAt(['sources', key], mustBe('an object', written))] };
};

const sameNameProblems = (sources: readonly SourceConfig[]): readonly string[] => {
  const owners = new Map<string, string>();
  return sources.flatMap(({ key, name }) => {
    const taken = [...new Set([key, name])].flatMap((text) => {
      const owner = owners.get(text);
      if (owner === undefined) owners.set(text, key);
      return owner === undefined
        ? []
        : [
            problemAt(
              ['sources', key, 'name'],
              `${JSON.stringify(text)} already stands for the source "${owner}"`,
            ),
          ];
    });
    return taken;
  });
};

/**
 * Checks sources keyed by name, as a configuration or a `resolveSources` hook gives them.
 * Returns them in their order, or every problem. A source answers to its key and to its name, so no two may share one.
 */
export const checkSources = (
  input: unknown,
  settings: Settings,
  factories: StorageFactories,
): { readonly sources: readonly SourceConfig[]; readonly problems: readonly string[] } => {
  if (!isPlainObject(input)) {
    return {
      sources: [],
      problems: [problemAt(['sources'], mustBe('an object of sources by their names', input))],
    };
  }
  const checked = Object.entries(input).map(([key, source]) => checkSource(key, source, settings, factories));
  const sources = checked.flatMap((one) => ('source' in one ? [one.source] : []));
  const problems = checked.flatMap((one) => ('problems' in one ? one.problems : []));
  return { sources, problems: [...problems, ...sameNameProblems(sources)] };
};

/**
 * The sources of a tenant, checked as those of a configuration are.
 * @throws ConfigError with every problem.
 */
export const loadSources = (
  input: unknown,
  settings: Settings,
  factories: StorageFactories,
): readonly SourceConfig[] => {
  const { sources, problems } = checkSources(input, settings, factories);
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(sources);
};
