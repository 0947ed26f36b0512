import { isRuleKey, isUnknownRuleKey, ruleKeyProblems } from './load-access-rules.ts';
import { merge, withoutNulls, type PlainObject } from './plain-values.ts';
import { problemsOf, type KnownKeys } from './problems.ts';
import { settingMeta, settingsSchema, settingsShape, type Settings } from './settings.ts';
import { keysAt } from './schema-keys.ts';

/** The names of all settings. */
export const settingKeys: readonly string[] = Object.keys(settingsShape);

/** The names of settings that act before a source is known. */
export const globalKeys: readonly string[] = Object.entries(settingsShape)
  .filter(([, schema]) => settingMeta.get(schema)?.scope === 'global')
  .map(([key]) => key);

/** Settings as checked, and as written without the nulls; or what is wrong with them. */
export type LoadedSettings =
  { readonly settings: Settings; readonly written: PlainObject } | { readonly problems: readonly string[] };

const isSettingKey = (path: readonly string[], key: string): boolean =>
  path[0] === 'accessControl' ? isRuleKey(key) : keysAt(settingsSchema, path).includes(key);

/**
 * Checks settings as written and fills in the defaults. `known` adds keys that may be meant by an unknown one; `prefix` is where
 * the settings lie.
 */
export const loadSettings = (
  input: PlainObject,
  known: readonly string[],
  prefix: readonly PropertyKey[] = [],
): LoadedSettings => {
  // Of a plain object comes a plain object.
  const written = withoutNulls(input, isSettingKey) as PlainObject;
  const parsed = settingsSchema.safeParse(written);
  const issues =
    parsed.error?.issues.filter(({ path }) => path[0] !== 'accessControl' || !isUnknownRuleKey(path[2])) ??
    [];
  const knownAt: KnownKeys = (path) => [...keysAt(settingsSchema, path), ...(path.length === 0 ? known : [])];
  const problems = [
    ...problemsOf(issues, written, knownAt, prefix),
    ...ruleKeyProblems(written['accessControl'], [...prefix, 'accessControl']),
  ];
  return parsed.data === undefined || problems.length > 0 ? { problems } : { settings: parsed.data, written };
};

/**
 * The settings in force for a source: the global ones with its overrides laid over them, nested objects key by key. Overrides of
 * settings that act before a source is known have no effect. `overrides` are what `loadSettings` returned as written.
 */
export const overrideSettings = (settings: Settings, overrides: PlainObject): Settings => {
  const effective = Object.fromEntries(
    Object.entries(overrides).filter(([key]) => !globalKeys.includes(key)),
  );
  // Checked settings pass the schema unchanged, so only the overrides are converted here.
  return settingsSchema.parse(merge({ ...settings }, effective));
};
