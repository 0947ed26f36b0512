import type { RuleKeys } from './access/access.ts';
import { createActions, type Actions } from './actions/registry.ts';
import { ruleKeysOf } from './actions/registry.ts';
import { createBuiltInFactories } from './adapters/table.ts';
import { readSourceEnvironment } from './config/environment.ts';
import { requireStateDirectory } from './config/settings/operations.ts';
import { loadConfig } from './config/load.ts';
import { riskLine, type SettingRisk } from './config/risks/value-risks.ts';
import { settingRisks, unusedSettings } from './config/risks/setting-risks.ts';
import type { ConfigInput, ConnectorConfig } from './config/types.ts';
import { configWarnings } from './config/warnings.ts';
import { ConfigError } from './errors/errors.ts';
import { checkHooks, type ConnectorHooks } from './hooks.ts';
import { canReadTokens } from './http/roles.ts';
import type { Logger } from './basics/log/logger.ts';
import { halfDenied, openActions, type RuledActions } from './open-actions.ts';
import { missingPackages, packagesOf } from './optional-packages.ts';
import { registeredFactories, type StorageFactories, type StorageFactory } from './storage/registry.ts';

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
