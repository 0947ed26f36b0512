import { isDeepStrictEqual } from 'node:util';
import ipaddr from 'ipaddr.js';
import type { ConnectorConfig } from '../types.ts';
import { LOOPBACK } from '../warnings.ts';
import { ONCE, settingMeta, type Settings, settingsSchema, settingsShape } from '../settings.ts';
import { riskIf, type SettingRisk, valueRisks } from './value-risks.ts';
import { pathRisks, ruleRisks, type RuleSurroundings } from './rule-risks.ts';
import { holds, programRisks, sourceRisks } from './source-risks.ts';

/** Whether a network is so large that it contains a part of the internet. */
const isWide = (network: string): boolean => {
  if (!network.includes('/')) return false;
  const [address, bits] = ipaddr.parseCIDR(network);
  return bits < (address.kind() === 'ipv4' ? 8 : 7);
};

/** Headers that every client or proxy sets, with values that are not roles. */
const OTHER_HEADERS =
  /^(?:accept(?:-.*)?|authorization|connection|content-.*|cookie|forwarded|host|origin|referer|sec-.*|te|transfer-encoding|upgrade|user-agent|via|x-forwarded-(?:for|host|port|prefix|proto|server)|x-real-ip)$/iu;

const proxyRisks = ({ auth, trustedProxies, rateLimits }: Settings): readonly SettingRisk[] => {
  const { from = [], header = '' } = auth ?? {};
  const [wide, trusted] = [from.filter(isWide), trustedProxies.filter(isWide)];
  return [
    ...riskIf(
      wide.length > 0,
      'auth.from',
      `has ${wide.join(', ')}: clients of these networks, and so of the internet, name their own role`,
      'List the addresses of the proxies alone: ["127.0.0.1"].',
    ),
    ...riskIf(
      OTHER_HEADERS.test(header),
      'auth.header',
      `is "${header}", which clients send with every request for another purpose`,
      'Let the proxy set a header of its own: "X-Role".',
    ),
    ...riskIf(
      trusted.length > 0,
      'trustedProxies',
      `has ${trusted.join(', ')}: every client chooses the address that it is counted by`,
      'List the addresses of the proxies alone: ["127.0.0.1"].',
    ),
    ...riskIf(
      rateLimits !== undefined && header !== '' && trustedProxies.length === 0,
      'trustedProxies',
      'is empty: behind the proxy of auth all visitors are one client, who share the rateLimits',
      `Write "trustedProxies": ${JSON.stringify(from)}.`,
    ),
  ];
};

const addressRisks = ({ publicUrl, webhooks }: Settings): readonly SettingRisk[] => {
  const isPlain = (text: string): boolean => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    return url?.protocol === 'http:' && !LOOPBACK.test(url.hostname);
  };
  return [
    ...riskIf(
      publicUrl !== undefined && isPlain(publicUrl),
      'publicUrl',
      'is not https: browsers block its pictures on https pages, and documents keep the address',
      'Write the https address, or only its path: "/connector/".',
    ),
    ...webhooks.flatMap(({ url, allowPrivate }, index) =>
      riskIf(
        isPlain(url) && !allowPrivate,
        `webhooks.${String(index)}.url`,
        'is not https: names of files and users can be read on the way',
        'Write an https address.',
      ),
    ),
  ];
};

const originRisks = ({ allowCrossOrigin, allowedOrigins }: Settings): readonly SettingRisk[] =>
  riskIf(
    !allowCrossOrigin && allowedOrigins !== null && allowedOrigins.length > 0,
    'allowedOrigins',
    'has no effect while allowCrossOrigin is off: pages of these origins cannot use the service',
    'Write "allowCrossOrigin": true.',
  );

const protectedRisks = ({ sources }: ConnectorConfig, hasLogin: boolean): readonly SettingRisk[] =>
  sources.flatMap(({ key, settings }) =>
    riskIf(
      settings.serve === 'protected' && !hasLogin,
      `sources.${key}.serve`,
      'is "protected", and no login is configured: everybody has the default role',
      'Set auth or a checkAuthentication hook, or write "public".',
    ),
  );

/** Warnings about records of the service inside a root, whose users may read, change and remove them. */
const recordRisks = ({ settings, sources }: ConnectorConfig): readonly SettingRisk[] => {
  const { audit, stateDirectory, tus } = settings;
  const records = { 'audit.file': audit?.file, stateDirectory, 'tus.directory': tus?.directory };
  const roots = sources.flatMap(({ key, storageAdapter, root }) =>
    storageAdapter === 'local' && root !== undefined ? [{ key, root }] : [],
  );
  return Object.entries(records).flatMap(([name, path]) =>
    roots.flatMap(({ key, root }) =>
      riskIf(
        path !== undefined && holds(root, path),
        name,
        `is inside the root of the source "${key}": its users can read, change and remove it`,
        'Write a path outside of all roots: "/var/lib/stowage".',
      ),
    ),
  );
};

export const serviceRisks = (config: ConnectorConfig, hasLogin: boolean): readonly SettingRisk[] => [
  ...proxyRisks(config.settings),
  ...addressRisks(config.settings),
  ...originRisks(config.settings),
  ...protectedRisks(config, hasLogin),
  ...recordRisks(config),
];

const allValueRisks = ({ settings, sources }: ConnectorConfig): readonly SettingRisk[] => {
  const ofTop = valueRisks(settings);
  const isOfTop = (own: SettingRisk): boolean => ofTop.some((one) => isDeepStrictEqual(one, own));
  return [
    ...ofTop,
    ...sources.flatMap((source) =>
      valueRisks(source.settings)
        .filter((one) => !isOfTop(one))
        .map((one) => ({ ...one, key: `sources.${source.key}.${one.key}` })),
    ),
  ];
};

/** The possible roles of requests; undefined where they depend on the request. */
const rolesOf = ({ settings: { auth, defaultRole } }: ConnectorConfig, hasHook: boolean) => {
  if (hasHook || auth?.header !== undefined) return undefined;
  if (auth?.jwt === undefined) return [defaultRole];
  const { roles, optional } = auth.jwt;
  return roles && [...roles, ...(optional ? [defaultRole] : [])];
};

/** Warnings about settings that are probably unintended. `hasHook`: a hook returns the roles. */
export const settingRisks = (
  config: ConnectorConfig,
  hasHook: boolean,
  ruleKeys: RuleSurroundings['ruleKeys'],
): readonly SettingRisk[] => [
  ...serviceRisks(config, hasHook || config.settings.auth !== undefined),
  ...config.sources.flatMap(sourceRisks),
  ...allValueRisks(config),
  ...ruleRisks(config.settings.accessControl, {
    roles: rolesOf(config, hasHook),
    ruleKeys,
  }),
];

/**
 * The same as far as it shows on the disk alone. Costs a few calls of the file system for each local root and path
 * of a rule, one after the other: they do not end while a disk hangs.
 */
export const risksOnDisk = async ({
  settings,
  sources,
}: ConnectorConfig): Promise<readonly SettingRisk[]> => {
  const risks: SettingRisk[] = [];
  for (const source of sources) risks.push(...(await programRisks(source)));
  return [...risks, ...(await pathRisks(settings.accessControl, sources))];
};

const unusedKeys = Object.entries(settingsShape)
  .filter(([, schema]) => settingMeta.get(schema)?.unused === true)
  .map(([key]) => key as keyof Settings);

/** Keys of `pdf` that are accepted and have no effect. */
const UNUSED_IN_PDF = ['defaultFont', 'fontDir', 'fontCache', 'tempDir', 'chroot', 'paper'] as const;

/** Dotted keys of changed settings without effect, which are accepted for compatibility only. */
export const unusedSettings = ({ settings, sources }: ConnectorConfig): readonly string[] => {
  const defaults = settingsSchema.parse({}, ONCE);
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
