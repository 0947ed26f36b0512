import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { optionsSchemas } from '../adapters/table.ts';
import { ConfigError } from '../errors/errors.ts';
import type { StorageFactories } from '../storage/registry.ts';
import { DEFAULT_BASEURL, readVariable, type SourceEnvironment } from './environment.ts';
import { cannotBeRead, mustBe, problemAt } from './problems.ts';
import { alternativesOf, below, type Schemas } from './schemas.ts';
import { checkWritten, ONCE, settingsSchema, settingsShape, tusInForce } from './settings.ts';
import { checkSources, sourceOfReferences } from './sources.ts';
import type { ConnectorConfig, TextReference } from './types.ts';
import { baseurlProblem, freezeDeep, isPlainObject, type PlainObject } from './values.ts';

const referenceIn = (value: object): TextReference | undefined => {
  const [[key, name] = [], ...more] = Object.entries(value) as [string, unknown][];
  if (more.length > 0 || typeof name !== 'string') return undefined;
  if (key === 'env') return { env: name };
  return key === 'file' ? { file: name } : undefined;
};

const nameOf = (reference: TextReference): string =>
  'env' in reference
    ? `the environment variable ${reference.env}`
    : `the file ${JSON.stringify(reference.file)}`;

/** @throws Error with the reason why there is no text. */
const read = (reference: TextReference): string => {
  const name = nameOf(reference);
  if ('env' in reference) {
    const value = readVariable(reference.env);
    if (value === undefined) throw new Error(`${name} is not set`);
    return value;
  }
  let content: string;
  try {
    // Node would replace bytes that are not UTF-8, and a secret of random bytes would become weak.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(reference.file));
    content = text.replace(/\r?\n$/u, '');
  } catch (error) {
    throw new Error(`${name} ${cannotBeRead(error)}`, { cause: error });
  }
  if (content === '') throw new Error(`${name} is empty`);
  return content;
};

export interface Resolved {
  readonly value: unknown;
  /** References that could not be resolved; they are still in the value. */
  readonly problems: readonly string[];
  /** Problems of the value for display: no contents of references, no consequences of the above. */
  readonly presentable: (problems: readonly string[]) => readonly string[];
}

/**
 * Resolves `{ "env": "NAME" }` and `{ "file": "PATH" }` wherever the schema expects text; elsewhere such
 * objects stay unchanged. The input is not modified.
 */
export const resolveReferences = (input: unknown, schema: z.core.$ZodType): Resolved => {
  const problems: string[] = [];
  const failed: string[] = [];
  const sources = new Map<string, string>();

  const resolveOne = (reference: TextReference, path: readonly string[]): unknown => {
    try {
      const text = read(reference);
      sources.set(path.join('.'), nameOf(reference));
      return text;
    } catch (error) {
      failed.push(path.join('.'));
      problems.push(problemAt(path, (error as Error).message));
      return reference;
    }
  };
  const walk = (value: unknown, schemas: Schemas, path: readonly string[]): unknown => {
    if (schemas.length === 0) return value;
    const inner = (one: unknown, key: string): unknown => walk(one, below(schemas, key), [...path, key]);
    if (Array.isArray(value)) return value.map((one: unknown, index) => inner(one, String(index)));
    if (!isPlainObject(value)) return value;
    const reference = referenceIn(value);
    if (reference !== undefined && schemas.some((one) => one instanceof z.ZodString))
      return resolveOne(reference, path);
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inner(one, key)]));
  };

  const presentable = (found: readonly string[]): readonly string[] =>
    found
      .filter((problem) => !failed.some((key) => problem.startsWith(`${key}: `)))
      .map((problem) => {
        const [, name] = [...sources].find(([key]) => problem.startsWith(`${key}: `)) ?? [];
        return name === undefined ? problem : problem.replace(/the text ".*"/su, `what ${name} holds`);
      });
  return { value: walk(input, alternativesOf(schema), []), problems, presentable };
};

const ofSources = z.undefined('belongs to a source: write it under sources.<name>').optional();

/** The top level of a configuration. A frequent mistake is to put keys of a source there. */
const topSchema = z.strictObject({
  ...settingsShape,
  sources: z.unknown().optional(),
  $schema: z.unknown().optional(),
  name: ofSources,
  baseurlAliases: ofSources,
  storageAdapter: ofSources,
  ...Object.fromEntries(Object.keys(optionsSchemas).map((name) => [name, ofSources])),
});

const withReferences = z.object({
  ...settingsShape,
  sources: z.record(z.string(), sourceOfReferences),
});

/** The valid settings of a configuration with invalid ones. */
const validOf = (written: PlainObject): PlainObject =>
  Object.fromEntries(
    Object.entries(written).filter(
      ([key, value]) =>
        Object.hasOwn(settingsShape, key) &&
        settingsShape[key as keyof typeof settingsShape].safeParse(value, ONCE).success,
    ),
  );

/** The source that serves when the configuration has none. @throws ConfigError */
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
 * Validates a configuration, fills in the defaults and deep-freezes the result. Without `sources` the source
 * named `default` is built from the environment. The input is neither retained nor modified; `$schema` is
 * ignored.
 *
 * Merging: a configuration contains only differences; nested objects merge key by key, lists replace, null
 * means the default, `sources` replaces the default source as a whole. References to variables and files are
 * resolved.
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
  // The result for a plain object is a plain object.
  const { sources: written, ...rest } = resolved.value as PlainObject;
  const fromEnvironment =
    environment.signingSecret === undefined ? {} : { signingSecret: environment.signingSecret };
  const { data, problems, written: above } = checkWritten(topSchema, { ...fromEnvironment, ...rest });
  // Sources are validated even if settings above them are invalid, so that one start reports every
  // problem.
  const valid = data ?? validOf(above);
  const parsed = settingsSchema.strip().parse(valid, ONCE);
  const settings = { ...parsed, tus: tusInForce(parsed) };
  const wrong = Object.keys(above).filter((key) => !Object.hasOwn(valid, key));
  const checked = checkSources(written ?? environmentSource(environment), { settings, wrong }, factories);
  const all = [...resolved.problems, ...resolved.presentable([...problems, ...checked.problems])];
  if (all.length > 0) throw new ConfigError(all);
  return freezeDeep({ settings, sources: checked.sources });
};
