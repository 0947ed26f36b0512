import * as z from 'zod';
import { accessSettings } from './settings/access.ts';
import { documentsSettings } from './settings/documents.ts';
import { listingsSettings } from './settings/listings.ts';
import { operationsSettings } from './settings/operations.ts';
import { picturesSettings } from './settings/pictures.ts';
import { servingSettings } from './settings/serving.ts';
import { tusSchema, uploadsSettings } from './settings/uploads.ts';
import { list, settingMeta } from './settings/values.ts';
import { ConfigError } from '../errors/errors.ts';
import { isRuleKey, isUnknownRuleKey, ruleKeyProblems } from './access-rules.ts';
import { merge, type PlainObject, withoutNulls } from './values.ts';
import { problemAt, problemsOf } from './problems.ts';
import { keysAt } from './schemas.ts';

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

/** Order of the reference page and of problems. Other settings come last. */
const ORDER = list(
  'debug logRequests title defaultFilesKey dynamicSourcesCache root baseurl sourceClassName extensions ' +
    'maxUploadFileSize maxFileSize saveSameFileNameStrategy datetimeFormat defaultSortBy countInChunk ' +
    'searchLimits zipLimits excludeDirectoryNames defaultPermission allowReplaceSourceFile ' +
    'imageExtensions quality maxImageWidth maxImageHeight createThumb thumbSize thumbFolderName ' +
    'safeThumbsCountInOneTime generateSvgThumbs svgThumbWidth svgThumbHeight forceSingleExtension ' +
    'sanitizeSvg accessControl imageMemory defaultRole auth rateLimits trustedProxies roleSessionVar ' +
    'allowCrossOrigin allowedOrigins onlyPOST refuseCrossSite errorHttpStatus compressAnswers allowPrivateNetworkUploads ' +
    'remoteUserAgent timeoutLimit inspection memoryLimit documents pdf serve delivery deliveryPrefix serveCacheControl ' +
    'redirectMoved signedUrlLifetime thumbPlaceholder trash quota tus audit webhooks redis stateDirectory uploadImages readTexts ' +
    'imagePresets thumbDensity thumbPrograms signingSecret publicUrl',
);

const rank = (key: string): number => (ORDER.includes(key) ? ORDER.indexOf(key) : ORDER.length);

/** Every setting of the configuration, except `sources`. A source may override all but the `global` ones. */
// The entries of `byTheme` in another order.
export const settingsShape = Object.fromEntries(
  Object.entries(byTheme).sort(([one], [other]) => rank(one) - rank(other)),
) as typeof byTheme;

export const settingsSchema = z.strictObject(settingsShape);

/** All settings with their defaults. Sizes are in bytes, extensions in lower case. */
export type Settings = Readonly<z.output<typeof settingsSchema>>;

/** Settings in the format of a configuration file: every key optional. */
export type SettingsInput = Readonly<z.input<typeof settingsSchema>>;

/** Names of settings that apply before the source is known. */
export const globalKeys: readonly string[] = Object.entries(settingsShape)
  .filter(([, schema]) => settingMeta.get(schema)?.scope === 'global')
  .map(([key]) => key);

/** Configurations are parsed only a few times: generating code first would take a tenth of the start. */
export const ONCE: z.core.ParseContext<z.core.$ZodIssue> = { jitless: true };

/**
 * Validates an object with settings. `where` is its path in the configuration. Returns the input without
 * nulls, and the result of the schema: its data, or its problems.
 */
export const checkWritten = <Schema extends z.ZodObject>(
  schema: Schema,
  input: PlainObject,
  where: readonly string[] = [],
) => {
  const isKnown = (path: readonly string[], key: string): boolean =>
    path[0] === 'accessControl' ? isRuleKey(key) : (keysAt(schema, path)?.includes(key) ?? true);
  // The result for a plain object is a plain object.
  const written = withoutNulls(input, isKnown) as PlainObject;
  const { data, error } = schema.safeParse(written, ONCE);
  const issues =
    error?.issues.filter(({ path }) => path[0] !== 'accessControl' || !isUnknownRuleKey(path[2])) ?? [];
  const problems = [
    ...problemsOf(issues, written, (path) => keysAt(schema, path) ?? [], where),
    ...ruleKeyProblems(written['accessControl'], [...where, 'accessControl']),
    // The schema drops this name.
    ...(Object.hasOwn(Object(written['imagePresets']) as object, '__proto__')
      ? [problemAt([...where, 'imagePresets', '__proto__'], 'is not a possible name')]
      : []),
  ];
  return { written, data, problems };
};

/**
 * The effective settings of a source: the global ones merged with its overrides, nested objects key by key.
 * Overrides of settings that apply before the source is known have no effect. `overrides` have passed
 * `checkWritten`.
 */
export const overrideSettings = (settings: Settings, overrides: PlainObject): Settings => {
  const effective = Object.fromEntries(
    Object.entries(overrides).filter(
      ([key]) => Object.hasOwn(settingsShape, key) && !globalKeys.includes(key),
    ),
  );
  if (Object.keys(effective).length === 0) return { ...settings };
  // Validated settings pass the schema unchanged, so only the overrides are converted here.
  return settingsSchema.parse(merge({ ...settings }, effective), ONCE);
};

/** Effective settings of resumable uploads; undefined when they are off. */
export const tusInForce = ({ tus, stateDirectory }: Settings): Settings['tus'] => {
  if (tus === undefined) return stateDirectory === undefined ? undefined : tusSchema.parse({});
  return tus.enabled ? tus : undefined;
};

/** Rejects settings that need a directory and have none. @throws ConfigError */
export const requireStateDirectory = ({ webhooks, tus, redis, stateDirectory }: Settings): void => {
  if (stateDirectory !== undefined) return;
  if (webhooks.length > 0 && redis === undefined)
    throw new ConfigError(['stateDirectory: is required with webhooks, or else redis']);
  if (tus !== undefined && tus.directory === undefined)
    throw new ConfigError(['stateDirectory: is required with tus, or else tus.directory']);
};
