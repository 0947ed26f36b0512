import { compileRules, type RuleBook, type RuleKeys } from './access/access.ts';
import { accessKeyOf, mayAllowAction } from './actions/action.ts';
import { type Actions, createActions, ruleKeysOf } from './actions/registry.ts';
import { createBuiltInFactories } from './adapters/table.ts';
import type { Logger } from './basics/log/logger.ts';
import { readSourceEnvironment } from './config/environment.ts';
import { loadConfig } from './config/load.ts';
import { settingRisks, unusedSettings } from './config/risks/setting-risks.ts';
import { riskLine, type SettingRisk } from './config/risks/value-risks.ts';
import { requireStateDirectory } from './config/settings/operations.ts';
import type { ConfigInput, ConnectorConfig } from './config/types.ts';
import { configWarnings } from './config/warnings.ts';
import { ConfigError } from './errors/errors.ts';
import { checkHooks, type ConnectorHooks } from './hooks.ts';
import { canReadTokens } from './http/roles.ts';
import { missingPackages, packagesOf } from './optional-packages.ts';
import { registeredFactories, type StorageFactories, type StorageFactory } from './storage/registry.ts';
import { SourcePath } from './storage/source-path.ts';

export interface RuledActions {
  readonly config: ConnectorConfig;
  readonly actions: Actions;
  readonly ruleKeys: RuleKeys;
}

/** The actions that change something and that the configured rules allow to a role, at some item of a folder. */
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

/** Whether requests can come without anything that says who sends them. */
const isAnonymous = ({ settings: { auth } }: ConnectorConfig, hooks: ConnectorHooks): boolean =>
  hooks.checkAuthentication === undefined &&
  hooks.accessControl === undefined &&
  (auth === undefined || auth.jwt?.optional === true);

/** What everybody may change without a login; undefined where a hook, a proxy or a token has to vouch. */
export const openActions = (ruled: RuledActions, hooks: ConnectorHooks): readonly string[] | undefined =>
  isAnonymous(ruled.config, hooks)
    ? changesOf(ruled, rulesOf(ruled), ruled.config.settings.defaultRole)
    : undefined;

/** What only those who write may do. A role that has neither is meant to read. */
const MEANT_TO_READ = ['fileUpload', 'fileRemove'];

/** More folders would delay the start. */
const MOST_FOLDERS = 20;

/** Rules that deny uploading and removing, and forget other ways to change files. */
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

/** The warning about a service that is open to all. */
export const UNGUARDED =
  'Neither access rules nor a checkAuthentication hook are set: everybody who reaches this service may write.';

/** What strangers may change, and what rules leave open for roles that are meant to read. */
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

/** A configuration that has passed its checks. */
export interface CheckedConfiguration {
  readonly config: ConnectorConfig;
  readonly actions: Actions;
  /** What access rules can name: `FILE_REMOVE`. */
  readonly ruleKeys: RuleKeys;
  /** What an operator should know before the service serves, one sentence each. */
  readonly warnings: readonly string[];
  /** The same of settings that are probably not meant, each with what to write instead. */
  readonly risks: readonly SettingRisk[];
  /** Settings that are accepted for compatibility and do nothing, by their dotted keys. */
  readonly unused: readonly string[];
  readonly factories: StorageFactories;
}

/**
 * Checks a configuration and the hooks, and neither makes nor opens anything.
 * @throws ConfigError listing every problem of the configuration, or of the hooks.
 */
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
 * Checks a configuration as building a connector would, and neither makes nor opens anything.
 * @throws ConfigError listing every problem of the configuration, or of the hooks.
 */
export const checkConfiguration = (
  input: ConfigInput | null | undefined,
  hooks: ConnectorHooks = {},
): CheckedConfiguration => prepare(input, hooks, undefined);

/** Tells the log what an operator should know of a configuration, and returns it. */
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
