import { resolve } from 'node:path';
import * as z from 'zod';
import { givesUrls, optionsSchemas } from '../adapters/table.ts';
import { ConfigError } from '../errors/errors.ts';
import type { StorageFactories } from '../storage/registry.ts';
import { checkWritten, globalKeys, overrideSettings, type Settings, settingsShape } from './settings.ts';
import { ownAddress } from './settings/values.ts';
import { freezeDeep, isPlainObject, type PlainObject, without } from './values.ts';
import { hintAt, mustBe, problemAt } from './problems.ts';
import { keysAt } from './schemas.ts';
import type { SourceConfig } from './types.ts';

/** Adapters of the protocol: every source accepts their options, and one with the adapter needs them. */
const PROTOCOL_ADAPTERS = Object.keys(optionsSchemas);

const ofTheTop = z.undefined('belongs to the top of the configuration, not into a source').optional();

/** Keys of a source that are not settings. Title, baseurl and root are its own keys, not overrides. */
const ownShape = {
  name: z.string().min(1).optional(),
  title: z.string(),
  baseurl: ownAddress.optional(),
  baseurlAliases: z.array(ownAddress).default([]),
  root: z.string().optional(),
  storageAdapter: z.string().min(1).default('local'),
  sources: ofTheTop,
  $schema: ofTheTop,
};

/** The parts of a source in which references are resolved. The options of registered adapters are unknown. */
export const sourceOfReferences = z.object({ ...settingsShape, ...ownShape, ...optionsSchemas });

/** The schema of a source: its own keys, the options of every adapter, and the settings that it overrides. */
const sourceSchema = (factories: StorageFactories) => {
  const adapters = [...PROTOCOL_ADAPTERS, ...factories.keys()];
  const options = Object.fromEntries(adapters.map((name) => [name, z.unknown().optional()]));
  return z.strictObject({ ...options, ...settingsShape, ...ownShape });
};

const problemOfRoot = (root: unknown, adapter: string, isRequired: boolean): string | undefined => {
  if (root === undefined) return isRequired ? `is required with storageAdapter "${adapter}"` : undefined;
  if (typeof root !== 'string' || adapter !== 'local') return undefined;
  if (root === '') return 'must not be empty';
  if (root !== root.trim()) return 'must not begin or end with white space';
  if (/^[~$]/u.test(root))
    return `must be a directory, not ${JSON.stringify(root)}: "~" and variables are known to shells only; write the whole path, or { "env": "NAME" }`;
  if (/^(?:file:|[a-z][a-z\d+.-]+:\/\/)/iu.test(root))
    return `must be a directory such as "/srv/photos", not the address ${JSON.stringify(root)}`;
  return root.includes('\0') ? 'must not hold a NUL character' : undefined;
};

const problemOfAdapter = (name: string, factories: StorageFactories): string => {
  const names = [...factories.keys()];
  const known = names.map((one) => JSON.stringify(one)).join(', ');
  return `unknown storage adapter ${JSON.stringify(name)}${hintAt(name, names)} (known: ${known})`;
};

/** Suggests the option that an unknown one probably stands for. */
const hintFor = (adapter: string, problem: string): string => {
  const [, path = '', key] = /^(?:(.+)\.)?([^.]+): is not a known key$/u.exec(problem) ?? [];
  const schema = Object.entries(optionsSchemas).find(([name]) => name === adapter)?.[1];
  return key === undefined || schema === undefined
    ? ''
    : hintAt(key, keysAt(schema, path === '' ? [] : path.split('.')) ?? []);
};

const checkStorage = (
  where: readonly string[],
  { root, storageAdapter: adapter = 'local', ...written }: PlainObject,
  factories: StorageFactories,
): { readonly options?: unknown; readonly problems: readonly string[] } => {
  // The schema has reported values that are empty or not text.
  if (typeof adapter !== 'string' || adapter === '') return { problems: [] };
  const factory = factories.get(adapter);
  if (factory === undefined)
    return { problems: [problemAt([...where, 'storageAdapter'], problemOfAdapter(adapter, factories))] };
  const wrongRoot = problemOfRoot(root, adapter, factory.requiresRoot === true);
  const problems = wrongRoot === undefined ? [] : [problemAt([...where, 'root'], wrongRoot)];
  const at = [...where, adapter];
  const options = written[adapter];
  if (options === undefined && PROTOCOL_ADAPTERS.includes(adapter))
    return { problems: [...problems, problemAt(at, `is required with storageAdapter "${adapter}"`)] };
  const parsed = factory.parseOptions?.(options) ?? { value: options };
  if ('value' in parsed) return { options: parsed.value, problems };
  // An adapter reports each problem under its dotted key, and problems of the options as a whole without a
  // key.
  const prefix = at.join('.');
  const wrong = parsed.problems.map((text) =>
    /^\s*:/u.test(text) ? `${prefix}${text.trimStart()}` : `${prefix}.${text}${hintFor(adapter, text)}`,
  );
  return { problems: [...problems, ...wrong] };
};

const servingProblems = (
  where: readonly string[],
  storageAdapter: string,
  { serve, delivery, deliveryPrefix, signingSecret, serveCacheControl }: Settings,
  wrong: readonly string[],
): readonly string[] => {
  const problems: string[] = [];
  const isMissing = (key: string, value: unknown): boolean => value === undefined && !wrong.includes(key);
  const add = (key: string, text: string): void => void problems.push(problemAt([...where, key], text));
  if (serve === 'signed' && isMissing('signingSecret', signingSecret))
    add('serve', 'needs a key: set signingSecret or STOWAGE_SIGNING_SECRET');
  const isGuarded = serve === 'protected' || serve === 'signed';
  if (isGuarded && /\b(?:public|s-maxage)\b/iu.test(serveCacheControl ?? ''))
    add('serveCacheControl', `must not be for shared caches where serve is "${serve}": use private`);
  if (delivery.startsWith('x-') && storageAdapter !== 'local')
    add('delivery', `"${delivery}" is for local sources: web servers send files of their own disk`);
  if (delivery === 'redirect' && serve !== 'off' && givesUrls(storageAdapter) === false)
    add(
      'delivery',
      `"redirect" is for stores that give URLs of their own, and "${storageAdapter}" gives none`,
    );
  if (delivery === 'x-accel-redirect' && isMissing('deliveryPrefix', deliveryPrefix))
    add('deliveryPrefix', 'is required: the internal location of nginx, such as /internal/photos/');
  return problems;
};

/** Problems of folders: originals would overwrite thumbnails. */
const pictureProblems = (where: readonly string[], { uploadImages, thumbFolderName }: Settings) => {
  const { keepOriginal = false } = uploadImages ?? {};
  if (keepOriginal === false || keepOriginal.toLowerCase() !== thumbFolderName.toLowerCase()) return [];
  return [problemAt([...where, 'uploadImages', 'keepOriginal'], 'must not be the folder of thumbnails')];
};

/** Removes disabled features: a trash without retention, redirects for no days or without links. */
const inForce = (settings: Settings): Settings => ({
  ...settings,
  trash: settings.trash?.retentionDays === 0 ? undefined : settings.trash,
  redirectMoved:
    settings.serve === 'off' || settings.redirectMoved?.days === 0 ? undefined : settings.redirectMoved,
});

/** The settings that sources override. */
interface SettingsAbove {
  readonly settings: Settings;
  /** Keys that are written with wrong values, and reported: their values here are the defaults. */
  readonly wrong?: readonly string[];
}

/** Settings without effect in a source that does not serve its files. */
const OF_SERVED = ['delivery', 'deliveryPrefix', 'redirectMoved', 'serveCacheControl', 'signedUrlLifetime'];

type CheckedSource = { readonly source: SourceConfig } | { readonly problems: readonly string[] };

/** Validates one source. A relative root of a local source is resolved against the working directory. */
const checkSource = (
  key: string,
  input: unknown,
  { settings, wrong = [] }: SettingsAbove,
  factories: StorageFactories,
): CheckedSource => {
  const where = ['sources', key];
  if (!isPlainObject(input)) return { problems: [problemAt(where, mustBe('an object', input))] };
  const { written, data, problems } = checkWritten(sourceSchema(factories), input, where);
  const storage = checkStorage(where, written, factories);
  const serve = written['serve'] ?? (wrong.includes('serve') ? undefined : settings.serve);
  const isUnserved = written['baseurl'] === undefined && serve === 'off';
  const unserved = isUnserved ? [problemAt([...where, 'baseurl'], 'is required unless `serve` is set')] : [];
  const isNameless = key === '' && written['name'] === undefined;
  const nameless = isNameless ? [problemAt([...where, 'name'], 'is required where the key is empty')] : [];
  const all = [...problems, ...unserved, ...nameless, ...storage.problems];
  if (all.length > 0 || data === undefined) return { problems: all };
  const own = inForce(overrideSettings(settings, without(written, Object.keys(ownShape))));
  const serving = servingProblems(where, data.storageAdapter, own, wrong);
  const incomplete = [...serving, ...pictureProblems(where, own)];
  if (incomplete.length > 0) return { problems: incomplete };

  const { name = key, title, baseurl, baseurlAliases, root, storageAdapter } = data;
  return {
    source: freezeDeep({
      key,
      name,
      title,
      baseurl,
      baseurlAliases,
      root: storageAdapter === 'local' && root !== undefined ? resolve(root) : root,
      storageAdapter,
      adapterOptions: storage.options,
      settings: own,
      unusedOptions: PROTOCOL_ADAPTERS.filter((one) => one !== storageAdapter && written[one] !== undefined),
      unserved: OF_SERVED.filter((one) => own.serve === 'off' && written[one] !== undefined),
      withoutEffect: globalKeys.filter((one) => written[one] !== undefined),
    }),
  };
};

const sameNameProblems = (sources: readonly SourceConfig[]): readonly string[] => {
  const owners = new Map<string, string>();
  return sources.flatMap(({ key, name }) =>
    [...new Set([key, name])].flatMap((text) => {
      const owner = owners.get(text);
      owners.set(text, owner ?? key);
      if (owner === undefined) return [];
      const problem = `${JSON.stringify(text)} already stands for the source "${owner}"`;
      return [problemAt(['sources', key, 'name'], problem)];
    }),
  );
};

/**
 * Validates sources keyed by name, from a configuration or a `resolveSources` hook. Returns them in their
 * order, and every problem. Requests find a source by key and by name, so no two may share one.
 */
export const checkSources = (
  input: unknown,
  above: SettingsAbove,
  factories: StorageFactories,
): { readonly sources: readonly SourceConfig[]; readonly problems: readonly string[] } => {
  if (!isPlainObject(input)) {
    const problem = mustBe('an object of sources by their names', input);
    return { sources: [], problems: [problemAt(['sources'], problem)] };
  }
  const checked = Object.entries(input).map(([key, source]) => checkSource(key, source, above, factories));
  const sources = checked.flatMap((one) => ('source' in one ? [one.source] : []));
  const problems = checked.flatMap((one) => ('problems' in one ? one.problems : []));
  return { sources, problems: [...problems, ...sameNameProblems(sources)] };
};

/** The sources of a tenant, validated like those of a configuration. @throws ConfigError */
export const loadSources = (
  input: unknown,
  settings: Settings,
  factories: StorageFactories,
): readonly SourceConfig[] => {
  const { sources, problems } = checkSources(input, { settings }, factories);
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(sources);
};
