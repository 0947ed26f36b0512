import * as z from 'zod';
import { accessSettings } from './settings/access.ts';
import { documentsSettings } from './settings/documents.ts';
import { listingsSettings } from './settings/listings.ts';
import { operationsSettings } from './settings/operations.ts';
import { picturesSettings } from './settings/pictures.ts';
import { servingSettings } from './settings/serving.ts';
import { uploadsSettings } from './settings/uploads.ts';
import { list, settingMeta } from './settings/values.ts';
import { isRuleKey, isUnknownRuleKey, ruleKeyProblems } from './access-rules.ts';
import { merge, type PlainObject, withoutNulls } from './values.ts';
import { problemsOf } from './problems.ts';

export type { AccessRule } from './access-rules.ts';
export { settingMeta, type SettingMeta } from './settings/values.ts';

const byTheme = {
  ...accessSettings,
  ...uploadsSettings,
  ...picturesSettings,
  ...listingsSettings,
  ...documentsSettings,
  ...servingSettings,
  ...operationsSettings,
};

/** The order of the reference page and of problems. A setting that is not named here comes last. */
const ORDER = list(
  'debug logRequests title defaultFilesKey dynamicSourcesCache root baseurl sourceClassName extensions ' +
    'maxUploadFileSize maxFileSize saveSameFileNameStrategy datetimeFormat defaultSortBy countInChunk ' +
    'searchLimits zipLimits excludeDirectoryNames defaultPermission allowReplaceSourceFile ' +
    'imageExtensions quality maxImageWidth maxImageHeight createThumb thumbSize thumbFolderName ' +
    'safeThumbsCountInOneTime generateSvgThumbs svgThumbWidth svgThumbHeight forceSingleExtension ' +
    'sanitizeSvg accessControl imageMemory defaultRole auth rateLimits trustedProxies roleSessionVar ' +
    'allowCrossOrigin allowedOrigins onlyPOST refuseCrossSite errorHttpStatus compressAnswers allowPrivateNetworkUploads ' +
    'timeoutLimit inspection memoryLimit documents pdf serve delivery deliveryPrefix serveCacheControl ' +
    'redirectMoved signedUrlLifetime thumbPlaceholder trash quota tus audit webhooks redis stateDirectory uploadImages readTexts ' +
    'imagePresets thumbDensity thumbPrograms signingSecret publicUrl',
);

const rank = (key: string): number => (ORDER.includes(key) ? ORDER.indexOf(key) : ORDER.length);

/**
 * Every setting that the configuration knows, except `sources`. All but the `global` ones may be overridden by
 * a source.
 */
// The entries are those of byTheme, in another order.
export const settingsShape = Object.fromEntries(
  Object.entries(byTheme).sort(([one], [other]) => rank(one) - rank(other)),
) as typeof byTheme;

export const settingsSchema = z.strictObject(settingsShape);

/** All settings with their defaults filled in. Sizes are bytes, extensions lower case. */
export type Settings = Readonly<z.output<typeof settingsSchema>>;

/** Settings as written in a configuration file: every key optional. */
export type SettingsInput = Readonly<z.input<typeof settingsSchema>>;

/** The names of settings that act before a source is known. */
export const globalKeys: readonly string[] = Object.entries(settingsShape)
  .filter(([, schema]) => settingMeta.get(schema)?.scope === 'global')
  .map(([key]) => key);

/** The schema beneath defaults and optional marks. */
const innerSchema = (schema: z.core.$ZodType): z.core.$ZodType =>
  schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional
    ? innerSchema(schema.unwrap())
    : schema;

/** The keys that a schema knows for the object at a path; undefined where it takes whatever is written. */
const keysAt = (schema: z.core.$ZodType, path: readonly PropertyKey[]): readonly string[] | undefined => {
  const inner = innerSchema(schema);
  if (inner instanceof z.ZodUnknown) return undefined;
  if (!(inner instanceof z.ZodObject)) return [];
  const [key, ...rest] = path;
  if (key === undefined) return Object.keys(inner.shape);
  const child: unknown = Object.hasOwn(inner.shape, key) ? inner.shape[String(key)] : undefined;
  return child instanceof z.ZodType ? keysAt(child, rest) : [];
};

/** What was written, without the nulls, and what a schema makes of it: its data, or what is wrong. */
export interface Checked<Data> {
  readonly written: PlainObject;
  readonly data: Data | undefined;
  readonly problems: readonly string[];
}

/** Configurations are parsed a few times: writing code for it first would take a tenth of the start. */
export const ONCE: z.core.ParseContext<z.core.$ZodIssue> = { jitless: true };

/** Checks an object that holds settings as written. `where` is where it lies in the configuration. */
export const checkWritten = <Schema extends z.ZodObject>(
  schema: Schema,
  input: PlainObject,
  where: readonly string[] = [],
): Checked<z.output<Schema>> => {
  const isKnown = (path: readonly string[], key: string): boolean =>
    path[0] === 'accessControl' ? isRuleKey(key) : (keysAt(schema, path)?.includes(key) ?? true);
  // Of a plain object comes a plain object.
  const written = withoutNulls(input, isKnown) as PlainObject;
  const { data, error } = schema.safeParse(written, ONCE);
  const issues =
    error?.issues.filter(({ path }) => path[0] !== 'accessControl' || !isUnknownRuleKey(path[2])) ?? [];
  const problems = [
    ...problemsOf(issues, written, (path) => keysAt(schema, path) ?? [], where),
    ...ruleKeyProblems(written['accessControl'], [...where, 'accessControl']),
  ];
  return { written, data, problems };
};

/**
 * The settings in force for a source: the global ones with its overrides laid over them, nested objects key
 * by key. Overrides of settings that act before a source is known have no effect. `overrides` have passed
 * `checkWritten`.
 */
export const overrideSettings = (settings: Settings, overrides: PlainObject): Settings => {
  const effective = Object.fromEntries(
    Object.entries(overrides).filter(
      ([key]) => Object.hasOwn(settingsShape, key) && !globalKeys.includes(key),
    ),
  );
  if (Object.keys(effective).length === 0) return { ...settings };
  // Checked settings pass the schema unchanged, so only the overrides are converted here.
  return settingsSchema.parse(merge({ ...settings }, effective), ONCE);
};
