import { isDeepStrictEqual } from 'node:util';
import { settingMeta, settingsSchema, settingsShape, type Settings } from '../settings.ts';
import type { ConnectorConfig } from '../types.ts';
import type { SettingRisk } from './risk.ts';
import { ruleRisks, type RuleSurroundings } from './rule-risks.ts';
import { serviceRisks } from './service-risks.ts';
import { sourceRisks } from './source-risks.ts';
import { valueRisks } from './value-risks.ts';

/** Risks of values of all sources, each once: what a source has from the top is named there. */
const allValueRisks = ({ settings, sources }: ConnectorConfig): readonly SettingRisk[] => {
  const ofTop = valueRisks(settings);
  const isOfTop = (risk: SettingRisk): boolean => ofTop.some((one) => isDeepStrictEqual(one, risk));
  return [
    ...ofTop,
    ...sources.flatMap((source) =>
      valueRisks(source.settings)
        .filter((risk) => !isOfTop(risk))
        .map((risk) => ({ ...risk, key: `sources.${source.key}.${risk.key}` })),
    ),
  ];
};

/** The roles that requests can have; undefined where only requests tell. */
const rolesOf = ({ settings: { auth, defaultRole } }: ConnectorConfig, hasHook: boolean) => {
  if (hasHook || auth?.header !== undefined) return undefined;
  if (auth?.jwt === undefined) return [defaultRole];
  const { roles, optional } = auth.jwt;
  return roles && [...roles, ...(optional ? [defaultRole] : [])];
};

/**
 * Settings that are accepted and yet probably not meant, or that open more than it seems. Looks at the local
 * roots, and costs a few file system calls for each. `hasHook`: a hook gives the roles.
 */
export const settingRisks = (
  config: ConnectorConfig,
  hasHook: boolean,
  ruleKeys: RuleSurroundings['ruleKeys'],
): readonly SettingRisk[] => [
  ...serviceRisks(config, hasHook || config.settings.auth !== undefined),
  ...config.sources.flatMap(sourceRisks),
  ...allValueRisks(config),
  ...ruleRisks(config.settings.accessControl, {
    sources: config.sources,
    roles: rolesOf(config, hasHook),
    ruleKeys,
  }),
];

const unusedKeys = Object.entries(settingsShape)
  .filter(([, schema]) => settingMeta.get(schema)?.unused === true)
  .map(([key]) => key as keyof Settings);

/** Keys of `pdf` that are accepted and used by nothing. */
const UNUSED_IN_PDF = ['defaultFont', 'fontDir', 'fontCache', 'tempDir', 'chroot', 'paper'] as const;

/**
 * The settings that are written and accepted for compatibility alone, by their dotted keys. Those with their
 * default value are left out.
 */
export const unusedSettings = ({ settings, sources }: ConnectorConfig): readonly string[] => {
  const defaults = settingsSchema.parse({});
  const differing = (own: Settings, others: Settings): readonly string[] => [
    ...unusedKeys.filter((key) => !isDeepStrictEqual(own[key], others[key])),
    ...UNUSED_IN_PDF.filter((key) => !isDeepStrictEqual(own.pdf[key], others.pdf[key])).map(
      (key) => `pdf.${key}`,
    ),
  ];
  return [
    ...differing(settings, defaults),
    ...sources.flatMap((source) =>
      differing(source.settings, settings).map((key) => `sources.${source.key}.${key}`),
    ),
  ];
};
