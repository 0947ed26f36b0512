import { ConfigError } from '../errors/errors.ts';
import type { StorageFactories } from '../storage/registry.ts';
import { checkSource } from './check-source.ts';
import { isPlainObject } from './plain-values.ts';
import { mustBe, problemAt } from './problems.ts';
import type { Settings } from './settings.ts';
import type { SourceConfig } from './types.ts';

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
