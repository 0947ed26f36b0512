import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { UNGUARDED, type CheckedConfiguration } from '../../checked-configuration.ts';
import { isPlainObject, type PlainObject } from '../../config/plain-values.ts';
import type { ServiceDefinition } from '../../app.ts';
import { openActions } from '../../open-actions.ts';
import { overlapsOf } from '../../sources/open-at-start.ts';
import type { SourceGroup } from '../../sources/source-group.ts';
import { SourcePath } from '../../storage/source-path.ts';
import { Findings } from './finding.ts';

/** Who may write without having logged in. */
const checkStrangers = (
  { hooks = {} }: ServiceDefinition,
  checked: CheckedConfiguration,
  findings: Findings,
): void => {
  const open = openActions(checked, hooks);
  if (open === undefined)
    return findings.ok('strangers', 'requests need a role that a hook, a proxy or a token vouches for');
  if (open.length === 0) return findings.ok('strangers', 'nobody may write without a role of their own');
  findings.risk(
    'strangers',
    `everybody who reaches the service may, without any login: ${open.join(', ')}`,
    'Set auth, or a checkAuthentication hook, and rules for the role (docs/deployment.md).',
  );
};

/** What the start says of settings. */
const checkRisks = ({ warnings, risks, unused }: CheckedConfiguration, findings: Findings): void => {
  // Strangers have a check of their own.
  for (const warning of warnings)
    if (warning !== UNGUARDED)
      findings.risk('settings', warning, 'Correct this setting; docs/configuration.md explains it.');
  for (const { key, text, fix, isOfStrangers } of risks)
    if (isOfStrangers !== true) findings.risk('settings', `${key}: ${text}`, fix);
  if (unused.length > 0)
    findings.note('settings', `accepted for compatibility, without effect: ${unused.join(', ')}`);
};

/** Whether pages of other sites may act with the cookies of their visitors; of tokens the start says so. */
const checkSites = (
  { hooks = {} }: ServiceDefinition,
  { config: { settings } }: CheckedConfiguration,
  findings: Findings,
): void => {
  const { auth, refuseCrossSite } = settings;
  if (hooks.checkAuthentication === undefined && auth?.header === undefined) return;
  if (refuseCrossSite) findings.ok('sites.cross-site', 'requests of pages of other sites are refused');
  else
    findings.risk(
      'sites.cross-site',
      'where users log in with cookies, pages of other sites may act in their name',
      'Set "refuseCrossSite": true',
    );
};

/** Keys whose texts are secrets, of all stores, also of those that a host has registered. */
const SECRET_KEYS =
  /secret(?:s|AccessKey)?$|password$|passphrase$|token$|^(?:accountKey|privateKey|connectionString)$/iu;

/** An address with a password in it. */
const LOGIN_IN_ADDRESS = /^[a-z][a-z\d+.-]*:\/\/[^/@\s]*:[^/@\s]+@/iu;

/** The dotted keys of secrets that stand in the configuration itself. */
const secretsIn = (value: unknown, path: readonly string[] = [], isSecret = false): readonly string[] => {
  if (typeof value === 'string')
    return value !== '' && (isSecret || LOGIN_IN_ADDRESS.test(value)) ? [path.join('.')] : [];
  if (Array.isArray(value))
    return value.flatMap((inner, index) => secretsIn(inner, [...path, String(index)], isSecret));
  // What stands in a variable or a file stands not here.
  if (!isPlainObject(value) || isReference(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    secretsIn(inner, [...path, key], SECRET_KEYS.test(key) || isOfHeaders(path)),
  );
};

/** Headers that a store sends may hold its key under any name. */
const isOfHeaders = (path: readonly string[]): boolean => path.at(-1) === 'headers';

const isReference = (value: PlainObject): boolean => {
  const [key, ...others] = Object.keys(value);
  return others.length === 0 && (key === 'env' || key === 'file');
};

const checkSecrets = async (
  { config }: ServiceDefinition,
  file: string | undefined,
  findings: Findings,
): Promise<void> => {
  const secrets = secretsIn(config);
  if (secrets.length === 0 || file === undefined || /\.[cm]?[jt]s$/u.test(file)) return;
  const { mode } = await stat(file);
  if ((mode & 0o004) !== 0)
    return findings.risk(
      'secrets',
      `every user of this machine can read ${secrets.join(', ')} in ${file}`,
      `chmod o-rwx ${file} (or { "env": "NAME" } or { "file": "/run/secrets/name" } in place of the text)`,
    );
  findings.ok('secrets', `secrets stand in ${file}, which others cannot read`);
};

/** Whether what one source forbids can be reached through another. */
export const checkOverlaps = async (sources: SourceGroup): Promise<Findings> => {
  const findings = new Findings();
  const opened = await Promise.all(
    sources.all.map(async ({ name, storage }) => {
      const store = await storage().catch(() => undefined);
      return store === undefined ? [] : [{ name, storage: store, path: SourcePath.root }];
    }),
  );
  for (const pair of overlapsOf(opened.flat()))
    findings.risk(
      'overlap',
      `sources lie in each other: ${pair}; what one forbids or hides can be reached by the other`,
      'Give each source a root of its own.',
    );
  return findings;
};

/** Whether a source shows the file that the service is configured with. */
const checkConfigurationFile = (
  { config: { sources } }: CheckedConfiguration,
  file: string | undefined,
  findings: Findings,
): void => {
  if (file === undefined) return;
  for (const { key, root, storageAdapter } of sources)
    if (storageAdapter === 'local' && root !== undefined && resolve(file).startsWith(join(root, '/')))
      findings.risk(
        'settings',
        `sources.${key}.root: ${root} holds ${file}, the configuration of the service`,
        'Give the source a folder of its own, or move the configuration out of it.',
      );
};

/** What can be said of the settings alone. */
export const checkSettings = async (
  definition: ServiceDefinition,
  checked: CheckedConfiguration,
  file: string | undefined,
): Promise<Findings> => {
  const findings = new Findings();
  checkStrangers(definition, checked, findings);
  checkSites(definition, checked, findings);
  checkRisks(checked, findings);
  checkConfigurationFile(checked, file, findings);
  await checkSecrets(definition, file, findings);
  return findings;
};
