import { fileURLToPath } from 'node:url';
import { compileRules, type RuleBook, type RuleKeys } from './access/access.ts';
import { accessKeyOf, mayAllowAction } from './actions/action.ts';
import { type Actions, createActions, ruleKeysOf } from './actions/registry.ts';
import { adapterTable, createBuiltInFactories, packagesOfAdapter } from './adapters/table.ts';
import type { Logger } from './basics/log/logger.ts';
import { readSourceEnvironment } from './config/environment.ts';
import { loadConfig } from './config/load.ts';
import { settingRisks, unusedSettings } from './config/risks/setting-risks.ts';
import { riskLine, type SettingRisk } from './config/risks/value-risks.ts';
import { requireStateDirectory } from './config/settings.ts';
import type { ConfigInput, ConnectorConfig } from './config/types.ts';
import { configWarnings } from './config/warnings.ts';
import { ConfigError, orUndefined } from './errors/errors.ts';
import { checkHooks, type ConnectorHooks } from './hooks.ts';
import { canReadTokens } from './http/roles.ts';
import { registeredFactories, type StorageFactories, type StorageFactory } from './storage/registry.ts';
import { SourcePath } from './storage/source-path.ts';

export interface RuledActions {
  readonly config: ConnectorConfig;
  readonly actions: Actions;
  readonly ruleKeys: RuleKeys;
}

/** Names of the changing actions that the rules allow to a role for at least one item of a folder. */
const changesOf = (
  { config: { sources }, actions }: RuledActions,
  rules: RuleBook,
  role: string,
  folder = SourcePath.root,
): readonly string[] => {
  const access = rules.forRole(role);
  const hasTrash = sources.some((source) => source.settings.trash !== undefined);
  return [...actions.values()]
    .filter(({ name }) => hasTrash || !accessKeyOf(name).startsWith('TRASH_'))
    .filter(({ name, changes }) => changes && mayAllowAction(access, actions, name, folder))
    .map(({ name }) => name);
};

const rulesOf = ({ config: { settings }, ruleKeys }: RuledActions): RuleBook =>
  compileRules(settings.accessControl, ruleKeys);

/** Whether the connector accepts requests without authentication. */
const isAnonymous = ({ settings: { auth } }: ConnectorConfig, hooks: ConnectorHooks): boolean =>
  hooks.checkAuthentication === undefined &&
  hooks.accessControl === undefined &&
  (auth === undefined || auth.jwt?.optional === true);

/** Changing actions allowed without a login; undefined where a hook, a proxy or a token authenticates. */
export const openActions = (ruled: RuledActions, hooks: ConnectorHooks): readonly string[] | undefined =>
  isAnonymous(ruled.config, hooks)
    ? changesOf(ruled, rulesOf(ruled), ruled.config.settings.defaultRole)
    : undefined;

/** A role that has neither of these actions is taken for a reading one. */
const MEANT_TO_READ = ['fileUpload', 'fileRemove'];

/** Folders that are checked; more would delay the start. */
const MOST_FOLDERS = 20;

/** Warnings about rules that deny uploading and removing, but allow other ways to change files. */
export const halfDenied = (ruled: RuledActions): readonly SettingRisk[] => {
  const { accessControl, defaultRole } = ruled.config.settings;
  const rules = rulesOf(ruled);
  const named = (key: 'role' | 'path'): readonly string[] =>
    accessControl.flatMap(({ [key]: one }) => (one === undefined || one === '*' ? [] : [one]));
  const folders = [...new Set(['', ...named('path')])].slice(0, MOST_FOLDERS);
  return [...new Set([defaultRole, ...named('role')])].flatMap((role) => {
    for (const folder of folders) {
      const allowed = changesOf(ruled, rules, role, SourcePath.parse(folder));
      if (allowed.length === 0 || MEANT_TO_READ.some((name) => allowed.includes(name))) continue;
      const where = folder === '' ? '' : ` in "${folder}"`;
      return [
        {
          key: 'accessControl',
          text: `the role "${role}" may neither upload nor remove files${where}, and yet change them by: ${allowed.join(', ')}`,
          fix: 'Write "CHANGE": false for roles that only read.',
        },
      ];
    }
    return [];
  });
};

export const UNGUARDED =
  'Neither access rules nor a checkAuthentication hook are set: every client that reaches this service may write.';

/** Warnings about changes that are allowed without a login, or to roles that look like reading ones. */
const accessRisks = (ruled: RuledActions, hooks: ConnectorHooks): readonly SettingRisk[] => {
  const open = openActions(ruled, hooks) ?? [];
  const forgotten = halfDenied(ruled);
  return open.length === 0 || forgotten.length > 0 || ruled.config.settings.accessControl.length === 0
    ? forgotten
    : [
        {
          key: 'accessControl',
          text: `without any login, every request may: ${open.join(', ')}`,
          fix: 'Set auth or a checkAuthentication hook, and write "CHANGE": false for the default role.',
          isOfStrangers: true,
        },
      ];
};

export interface CheckedConfiguration {
  readonly config: ConnectorConfig;
  readonly actions: Actions;
  /** Keys that access rules can name, such as `FILE_REMOVE`. */
  readonly ruleKeys: RuleKeys;
  /** Warnings for the operator, one sentence each. */
  readonly warnings: readonly string[];
  /** Settings that are probably unintended, each with a better value. */
  readonly risks: readonly SettingRisk[];
  /** Dotted keys of settings that are accepted for compatibility and have no effect. */
  readonly unused: readonly string[];
  readonly factories: StorageFactories;
}

/** Checks a configuration and the hooks; opens nothing. @throws ConfigError with every problem */
export const prepare = (
  input: ConfigInput | null | undefined,
  hooks: ConnectorHooks,
  own: Readonly<Record<string, StorageFactory>> | undefined,
): CheckedConfiguration => {
  checkHooks(hooks);
  const factories = new Map([...registeredFactories(own), ...createBuiltInFactories()]);
  const config = loadConfig(input, factories, readSourceEnvironment());
  if (config.settings.auth !== undefined && hooks.checkAuthentication !== undefined)
    throw new ConfigError(['auth: must not be set together with the hook checkAuthentication']);
  if (config.settings.auth?.jwt !== undefined && !canReadTokens())
    throw new ConfigError(['auth.jwt: needs the npm package "jose": npm install jose']);
  requireStateDirectory(config.settings);
  const actions = createActions();
  const ruleKeys = ruleKeysOf(actions);
  const access: RuledActions = { config, actions, ruleKeys };
  const { accessControl } = config.settings;
  const isOpen = accessControl.length === 0 && openActions(access, hooks) !== undefined;
  const hasHook = hooks.checkAuthentication !== undefined;
  return {
    config,
    factories,
    actions,
    ruleKeys,
    warnings: [
      ...configWarnings(config, [...ruleKeys.keys()], hooks.allowedOrigins !== undefined),
      ...(isOpen ? [UNGUARDED] : []),
    ],
    risks: [...accessRisks(access, hooks), ...settingRisks(config, hasHook, ruleKeys)],
    unused: unusedSettings(config),
  };
};

/**
 * Checks a configuration as `createConnector` does. Creates and opens nothing.
 * @throws ConfigError listing every problem of the configuration, or of the hooks.
 */
export const checkConfiguration = (
  input: ConfigInput | null | undefined,
  hooks: ConnectorHooks = {},
): CheckedConfiguration => prepare(input, hooks, undefined);

export const logConfiguration = <Configuration extends CheckedConfiguration>(
  checked: Configuration,
  log: Pick<Logger, 'info' | 'warn'>,
): Configuration => {
  const { config, warnings, risks, unused } = checked;
  for (const warning of [...warnings, ...risks.map(riskLine), ...missingPackages(packagesOf(config))])
    log.warn(warning);
  if (unused.length > 0) log.info(`Accepted for compatibility, without effect: ${unused.join(', ')}.`);
  return checked;
};

export interface OptionalPackage {
  readonly name: string;
  /** The part of the configuration that does not work without it. */
  readonly purpose: string;
}

const inOrderOfTable = (sources: ConnectorConfig['sources']): ConnectorConfig['sources'] =>
  Object.keys(adapterTable).flatMap((kind) => sources.filter((one) => one.storageAdapter === kind));

/** Packages that the configuration requires. */
export const packagesOf = ({ sources, settings }: ConnectorConfig): readonly OptionalPackage[] => [
  ...inOrderOfTable(sources).flatMap(({ name: source, storageAdapter, adapterOptions, settings }) => {
    const isRedirected = settings.serve !== 'off' && settings.delivery === 'redirect';
    const whole = `the source ${JSON.stringify(source)}`;
    return packagesOfAdapter(storageAdapter, adapterOptions, isRedirected).map(({ name, part }) => ({
      name,
      purpose: part === undefined ? whole : `${part} of ${whole}`,
    }));
  }),
  ...(settings.auth?.jwt === undefined ? [] : [{ name: 'jose', purpose: 'auth.jwt' }]),
  ...(settings.rateLimits === undefined ? [] : [{ name: 'rate-limiter-flexible', purpose: 'rateLimits' }]),
  ...(settings.redis === undefined ? [] : [{ name: 'ioredis', purpose: 'redis' }]),
];

/** Path of the entry file of a package; undefined when it is not installed. */
export const entryOf = (name: string): string | undefined =>
  orUndefined(() => fileURLToPath(import.meta.resolve(name)));

/** One sentence for each package that is not installed, with the command that installs it. */
export const missingPackages = (packages: readonly OptionalPackage[]): readonly string[] =>
  // Bundlers and test runners may omit the function; then nothing is reported.
  (typeof import.meta.resolve === 'function' ? packages : [])
    .filter(({ name }) => entryOf(name) === undefined)
    .map(
      ({ name, purpose }) =>
        `${purpose} needs the npm package "${name}", which is not installed here: npm install ${name}`,
    );
