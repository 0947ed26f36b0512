import { ConfigError } from '../errors/errors.ts';
import type { StorageFactories } from '../storage/registry.ts';
import { baseurlProblem } from './baseurl.ts';
import { DEFAULT_BASEURL, type SourceEnvironment } from './environment.ts';
import { checkSources } from './load-sources.ts';
import { loadSettings } from './load-settings.ts';
import { freezeDeep, isPlainObject, without, type PlainObject } from './plain-values.ts';
import { mustBe, problemAt } from './problems.ts';
import { settingsSchema } from './settings.ts';
import type { ConnectorConfig } from './types.ts';

/** Keys of a source that people put at the top by mistake. */
const SOURCE_KEYS: readonly string[] = ['name', 'storageAdapter', 's3', 'webdav'];

const given = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

const environmentSource = (environment: SourceEnvironment): PlainObject => ({
  default: {
    title: given(environment.SOURCE_NAME) ?? 'Files',
    root: given(environment.SOURCE_ROOT) ?? './files',
    baseurl: given(environment.SOURCE_BASEURL) ?? DEFAULT_BASEURL,
  },
});

const environmentProblems = (environment: SourceEnvironment): readonly string[] => {
  const baseurl = given(environment.SOURCE_BASEURL);
  const problem = baseurl === undefined ? undefined : baseurlProblem(baseurl);
  return problem === undefined ? [] : [problemAt(['SOURCE_BASEURL'], problem)];
};

const misplacedKeys = (written: PlainObject): readonly string[] =>
  SOURCE_KEYS.filter((key) => written[key] !== undefined).map((key) =>
    problemAt([key], 'belongs to a source: write it under sources.<name>'),
  );

/**
 * Checks a configuration as written, fills in the defaults and freezes the result at every depth. Without `sources` the source
 * named `default` is built from the environment. The input is neither kept nor changed; `$schema` is ignored.
 *
 * Merging: a configuration holds only differences; nested objects merge key by key, lists replace, null keeps the default,
 * `sources` replaces the default source as a whole.
 * @throws ConfigError that lists every problem, each under its dotted key.
 */
export const loadConfig = (
  input: unknown,
  factories: StorageFactories,
  environment: SourceEnvironment,
): ConnectorConfig => {
  const written = input ?? {};
  if (!isPlainObject(written)) throw new ConfigError([problemAt([], mustBe('an object', written))]);

  const loaded = loadSettings(without(written, [...SOURCE_KEYS, 'sources', '$schema']), ['sources']);
  const problems = [...('problems' in loaded ? loaded.problems : []), ...misplacedKeys(written)];
  // Sources are checked even when the settings above them are wrong, so that one start shows every fault.
  const settings = 'settings' in loaded ? loaded.settings : settingsSchema.parse({});
  const sources = written['sources'] ?? undefined;
  const wrongEnvironment = sources === undefined ? environmentProblems(environment) : [];
  if (wrongEnvironment.length > 0) throw new ConfigError([...problems, ...wrongEnvironment]);

  const checked = checkSources(sources ?? environmentSource(environment), settings, factories);
  problems.push(...checked.problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return freezeDeep({ settings, sources: checked.sources });
};
