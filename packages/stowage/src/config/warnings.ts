import { unknownKeyWarnings } from './access-rules.ts';
import { DEFAULT_BASEURL } from './environment.ts';
import type { ConnectorConfig, SourceConfig } from './types.ts';

/** Types that browsers run as pages or scripts on the domain that serves them. */
const ACTIVE_TYPES = ['html', 'htm', 'xhtml', 'xht', 'shtml', 'js', 'mjs', 'xml', 'xsl'];

/** Types of a source with which an upload could run code. XML is checked by `sanitizeSvg`. */
const activeTypes = ({ baseurl, settings: { extensions, sanitizeSvg } }: SourceConfig): readonly string[] => {
  // Files that the service serves itself never run code.
  if (baseurl === undefined) return [];
  const active = ACTIVE_TYPES.filter((type) => extensions.includes(type));
  return sanitizeSvg && active.join() === 'xml' ? [] : active;
};

const groupBy = <Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> => {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
};

const named = (sources: readonly SourceConfig[]): string =>
  `source${sources.length === 1 ? '' : 's'} ${sources.map(({ name }) => JSON.stringify(name)).join(', ')}`;

export const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/u;

const tokenWarnings = ({ settings: { auth, refuseCrossSite } }: ConnectorConfig): readonly string[] => {
  const { jwksUrl, audience, cookie } = auth?.jwt ?? {};
  const warnings: string[] = [];
  if (jwksUrl !== undefined && audience === undefined)
    warnings.push(
      'auth.jwt.audience is not set: tokens that the login service made for other applications are accepted.',
    );
  const url = jwksUrl === undefined ? undefined : new URL(jwksUrl);
  if (url?.protocol === 'http:' && !LOOPBACK.test(url.hostname))
    warnings.push('auth.jwt.jwksUrl is not https: an attacker on the network can give any role to any user.');
  if (cookie !== undefined && !refuseCrossSite)
    warnings.push(
      'auth.jwt.cookie is set and refuseCrossSite is not: pages of other sites may act with the cookies of ' +
        'their visitors.',
    );
  return warnings;
};

/** Warnings about rules that deny access, although links of a public source bypass them. */
export const publicWarnings = ({ settings, sources }: ConnectorConfig): readonly string[] => {
  const open = sources.filter(({ settings: { serve } }) => serve === 'public');
  const denied = ['FILES', 'FILE_DOWNLOAD', 'READ'].filter((key) =>
    settings.accessControl.some((rule) =>
      Object.entries(rule).some(([name, value]) => name === key && value === false),
    ),
  );
  if (open.length === 0 || denied.length === 0) return [];
  return [
    `${named(open)}: accessControl denies ${denied.join(', ')}, but serve "public" gives every file to everybody ` +
      'who knows its link.',
  ];
};

/**
 * Warnings for the operator before the service starts, one sentence each: settings that are accepted but
 * risky, or probably unintended. `actionKeys` are the keys that access rules can name; without them rules are
 * not checked. `hasOriginHook`: a hook decides about origins. Pure.
 */
export const configWarnings = (
  config: ConnectorConfig,
  actionKeys?: readonly string[],
  hasOriginHook = false,
): readonly string[] => {
  const warnings: string[] = [];
  for (const [types, open] of groupBy(config.sources, (source) => activeTypes(source).join(', '))) {
    if (types === '') continue;
    warnings.push(
      `${named(open)}: the extensions allow ${types}. Uploaded pages and scripts run on the domain of baseurl; ` +
        'list only the extensions that are needed.',
    );
  }
  const guessed = config.sources.filter(({ baseurl }) => baseurl === DEFAULT_BASEURL);
  if (guessed.length > 0) {
    warnings.push(
      `${named(guessed)}: links to files begin with ${DEFAULT_BASEURL}, the default. ` +
        'Set SOURCE_BASEURL, or baseurl of the source, to where the files are served.',
    );
  }
  for (const { name, withoutEffect } of config.sources) {
    if (withoutEffect.length === 0) continue;
    warnings.push(
      `source ${JSON.stringify(name)}: without effect in a source: ${withoutEffect.join(', ')}. ` +
        'Such settings act before the source of a request is known; write them at the top of the ' +
        'configuration.',
    );
  }
  const { allowCrossOrigin, allowedOrigins, accessControl } = config.settings;
  if (allowCrossOrigin && allowedOrigins === null && !hasOriginHook) {
    warnings.push(
      'allowCrossOrigin is on and allowedOrigins is not set: pages of every origin may use the service with ' +
        'the cookies of their visitors.',
    );
  }
  const inspections = [config, ...config.sources].flatMap(({ settings }) => settings.inspection ?? []);
  if (inspections.length > 0 && inspections.every(({ clamd }) => clamd === false))
    warnings.push('inspection.clamd is not set: clamd is not asked about any upload.');
  warnings.push(...tokenWarnings(config), ...publicWarnings(config));
  if (actionKeys !== undefined) warnings.push(...unknownKeyWarnings(accessControl, actionKeys));
  return warnings;
};
