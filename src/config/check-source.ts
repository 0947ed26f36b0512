import { resolve } from 'node:path';
import type { StorageFactories } from '../storage/registry.ts';
import { withSlash } from './baseurl.ts';
import { globalKeys, loadSettings, overrideSettings, settingKeys } from './load-settings.ts';
import { freezeDeep, isPlainObject, without, withoutNulls, type PlainObject } from './plain-values.ts';
import { mustBe, problemAt } from './problems.ts';
import type { Settings } from './settings.ts';
import { fieldProblems, sourceFields, type SourceFields } from './source-fields.ts';
import { checkStorage, protocolAdapters } from './source-storage.ts';
import type { SourceConfig } from './types.ts';

/** A source that passed, or all that is wrong with it. */
export type CheckedSource = { readonly source: SourceConfig } | { readonly problems: readonly string[] };

interface Parts {
  readonly own: PlainObject;
  readonly overrides: PlainObject;
}

const split = (written: PlainObject, factories: StorageFactories): Parts => {
  const adapters = [...protocolAdapters, ...factories.keys()];
  const isOwn = (key: string): boolean =>
    (sourceFields as readonly string[]).includes(key) ||
    (adapters.includes(key) && !settingKeys.includes(key));
  const entries = Object.entries(written);
  return {
    own: withoutNulls(Object.fromEntries(entries.filter(([key]) => isOwn(key)))) as PlainObject,
    overrides: Object.fromEntries(entries.filter(([key]) => !isOwn(key))),
  };
};

/** Keys that only the top of a configuration has, and so are not looked for among the overrides. */
const TOP_KEYS: readonly string[] = ['sources', '$schema'];

const misplaced = (where: readonly string[], overrides: PlainObject): readonly string[] =>
  TOP_KEYS.filter((key) => overrides[key] !== undefined).map((key) =>
    problemAt([...where, key], 'belongs to the top of the configuration, not into a source'),
  );

const checkWritten = (
  key: string,
  input: PlainObject,
  settings: Settings,
  factories: StorageFactories,
): CheckedSource => {
  const where = ['sources', key];
  const { own, overrides } = split(input, factories);
  const loaded = loadSettings(
    without(overrides, TOP_KEYS),
    [...sourceFields, ...protocolAdapters, ...factories.keys()],
    where,
  );
  const { adapter, options, problems } = checkStorage(where, own, factories);
  const all = [
    ...fieldProblems(where, own),
    ...misplaced(where, overrides),
    ...('problems' in loaded ? loaded.problems : []),
    ...problems,
  ];
  if (all.length > 0 || 'problems' in loaded) return { problems: all };

  // Every own value has passed its check above.
  const text = own as SourceFields;
  return {
    source: freezeDeep({
      key,
      name: text.name ?? key,
      title: text.title ?? '',
      baseurl: withSlash(text.baseurl ?? ''),
      root: adapter === 'local' && text.root !== undefined ? resolve(text.root) : text.root,
      storageAdapter: adapter,
      adapterOptions: options,
      settings: overrideSettings(settings, loaded.written),
      withoutEffect: globalKeys.filter((name) => loaded.written[name] !== undefined),
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
): CheckedSource =>
  isPlainObject(input)
    ? checkWritten(key, input, settings, factories)
    : { problems: [problemAt(['sources', key], mustBe('an object', input))] };
