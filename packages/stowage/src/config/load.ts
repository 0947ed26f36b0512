import * as z from 'zod';
import { optionsSchemas } from '../adapters/table.ts';
import { ConfigError } from '../errors/errors.ts';
import type { StorageFactories } from '../storage/registry.ts';
import { DEFAULT_BASEURL, type SourceEnvironment } from './environment.ts';
import { checkWritten, ONCE, settingsSchema, settingsShape } from './settings.ts';
import { tusInForce } from './settings/uploads.ts';
import { baseurlProblem, freezeDeep, isPlainObject, type PlainObject } from './values.ts';
import { mustBe, problemAt } from './problems.ts';
import { resolveReferences } from './references.ts';
import { checkSources, sourceOfReferences } from './sources.ts';
import type { ConnectorConfig } from './types.ts';

const ofSources = z.undefined('belongs to a source: write it under sources.<name>').optional();

/** The top of a configuration. People put keys of a source there by mistake. */
const topSchema = z.strictObject({
  ...settingsShape,
  sources: z.unknown().optional(),
  $schema: z.unknown().optional(),
  name: ofSources,
  baseurlAliases: ofSources,
  storageAdapter: ofSources,
  ...Object.fromEntries(Object.keys(optionsSchemas).map((name) => [name, ofSources])),
});

/** The texts of a configuration that may be given by reference. */
const withReferences = z.object({
  ...settingsShape,
  sources: z.record(z.string(), sourceOfReferences),
});

/** The source that serves when a configuration names none. @throws ConfigError */
const environmentSource = (environment: SourceEnvironment): PlainObject => {
  const baseurl = environment.SOURCE_BASEURL || DEFAULT_BASEURL;
  const problem = baseurlProblem(baseurl);
  if (problem !== undefined) {
    const text = problem.startsWith('must be ') ? mustBe(problem.slice('must be '.length), baseurl) : problem;
    throw new ConfigError([problemAt(['SOURCE_BASEURL'], text)]);
  }
  return {
    default: {
      title: environment.SOURCE_NAME || 'Files',
      root: environment.SOURCE_ROOT || './files',
      baseurl,
    },
  };
};

/**
 * Checks a configuration as written, fills in the defaults and freezes the result at every depth. Without
 * `sources` the source named `default` is built from the environment. The input is neither kept nor changed;
 * `$schema` is ignored.
 *
 * Merging: a configuration holds only differences; nested objects merge key by key, lists replace, null keeps
 * the default, `sources` replaces the default source as a whole. References to variables and files are read.
 * @throws ConfigError that lists every problem, each under its dotted key.
 */
export const loadConfig = (
  input: unknown,
  factories: StorageFactories,
  environment: SourceEnvironment,
): ConnectorConfig => {
  const top = input ?? {};
  if (!isPlainObject(top)) throw new ConfigError([problemAt([], mustBe('an object', top))]);
  const resolved = resolveReferences(top, withReferences);
  // Of a plain object comes a plain object.
  const { sources: written, ...rest } = resolved.value as PlainObject;
  const fromEnvironment =
    environment.signingSecret === undefined ? {} : { signingSecret: environment.signingSecret };
  const { data = {}, problems } = checkWritten(topSchema, { ...fromEnvironment, ...rest });
  // Sources are checked even when the settings above them are wrong, so that one start shows every fault.
  const parsed = settingsSchema.strip().parse(problems.length === 0 ? data : {}, ONCE);
  const settings = { ...parsed, tus: tusInForce(parsed) };
  const checked = checkSources(written ?? environmentSource(environment), settings, factories);
  const all = [...resolved.problems, ...resolved.presentable([...problems, ...checked.problems])];
  if (all.length > 0) throw new ConfigError(all);
  return freezeDeep({ settings, sources: checked.sources });
};
