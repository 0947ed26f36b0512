import { stat } from 'node:fs/promises';
import { accessKeyOf, mayAllowAction } from '../../actions/action.ts';
import { trashPolicyOf } from '../../actions/removal.ts';
import { compileRules } from '../../access/access.ts';
import type { CheckedConfiguration } from '../../checked-configuration.ts';
import { isPlainObject } from '../../config/plain-values.ts';
import { publicWarnings } from '../../config/warnings.ts';
import type { ServiceDefinition } from '../../app.ts';
import { overlapsOf } from '../../sources/open-at-start.ts';
import type { SourceGroup } from '../../sources/source-group.ts';
import { SourcePath } from '../../storage/source-path.ts';
import { Findings } from './finding.ts';

/** Who may write without having logged in. */
const checkStrangers = (
  { hooks = {} }: ServiceDefinition,
  { config: { settings, sources }, actions, ruleKeys }: CheckedConfiguration,
  findings: Findings,
): void => {
  const { auth, defaultRole, accessControl } = settings;
  const isAsked = hooks.checkAuthentication !== undefined || hooks.accessControl !== undefined;
  if (isAsked || (auth !== undefined && auth.jwt?.optional !== true))
    return findings.ok('strangers', 'requests need a role that a hook, a proxy or a token vouches for');
  const access = compileRules(accessControl, ruleKeys).forRole(defaultRole);
  const hasTrash = sources.some((source) => trashPolicyOf(source.settings) !== undefined);
  const open = [...actions.values()]
    .filter(({ name }) => hasTrash || !accessKeyOf(name).startsWith('TRASH_'))
    .filter(({ name, changes }) => changes && mayAllowAction(access, actions, name, SourcePath.root))
    .map(({ name }) => name);
  if (open.length === 0) return findings.ok('strangers', 'nobody may write without a role of their own');
  findings.risk(
    'strangers',
    `everybody who reaches the service may, without any login: ${open.join(', ')}`,
    'Set auth, or a checkAuthentication hook, and rules for the role (docs/deployment.md).',
  );
};

/** Whether pages of other sites may act with the cookies of their visitors. */
const checkSites = (
  { hooks = {} }: ServiceDefinition,
  { config: { settings } }: CheckedConfiguration,
  findings: Findings,
): void => {
  const { auth, allowCrossOrigin, allowedOrigins, refuseCrossSite, onlyPOST } = settings;
  const isOpen = allowCrossOrigin && allowedOrigins === null && hooks.allowedOrigins === undefined;
  if (isOpen)
    findings.risk(
      'sites.origins',
      'pages of every site may use the service, with the cookies of their visitors',
      'List the sites of your pages: "allowedOrigins": ["https://www.example.com"]',
    );
  const hasCookies =
    hooks.checkAuthentication !== undefined || auth?.header !== undefined || auth?.jwt?.cookie !== undefined;
  if (!hasCookies) return;
  if (!refuseCrossSite)
    findings.risk(
      'sites.cross-site',
      'where users log in with cookies, pages of other sites may act in their name',
      'Set "refuseCrossSite": true',
    );
  else if (!onlyPOST && !isOpen)
    findings.ok('sites.cross-site', 'requests of pages of other sites are refused');
};

/** Keys whose text is a secret. */
const SECRET_KEYS = /^(?:signingSecret|secret|password|secretAccessKey|sessionToken|privateKey|passphrase)$/u;

/** The dotted keys of secrets that stand in the configuration itself. */
const secretsIn = (value: unknown, path: readonly string[] = []): readonly string[] => {
  if (!isPlainObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    SECRET_KEYS.test(key) && (typeof inner === 'string' || Array.isArray(inner))
      ? [[...path, key].join('.')]
      : secretsIn(inner, [...path, key]),
  );
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

const ACTIVE_TYPES = ['html', 'htm', 'xhtml', 'js', 'mjs'];

/** What the settings of single sources allow. */
const checkSources = ({ config: { sources, settings } }: CheckedConfiguration): readonly Findings[] =>
  sources.map(({ name, key, baseurl, settings: own, withoutEffect }) => {
    const findings = new Findings(name);
    const active = ACTIVE_TYPES.filter((type) => own.extensions.includes(type));
    if (baseurl !== undefined && active.length > 0)
      findings.risk(
        'extensions',
        `uploads of ${active.join(', ')} run on the domain of baseurl`,
        `List only what is needed: "sources.${key}.extensions": ["jpg", "png", "pdf"]`,
      );
    if (withoutEffect.length > 0)
      findings.risk(
        'settings',
        `without effect in a source: ${withoutEffect.join(', ')}`,
        'Write it at the top of the configuration.',
      );
    const { signingSecret } = settings;
    if (own.serve === 'signed' && signingSecret !== undefined)
      findings.ok('signing', 'links are signed, with a key of at least 32 bytes');
    return findings;
  });

const checkRules = ({ config, ruleKeys }: CheckedConfiguration, findings: Findings): void => {
  const { settings } = config;
  for (const text of publicWarnings(config))
    findings.risk('rules.public', text, 'Set "serve": "protected" or "signed" (docs/serving.md).');
  const known = new Set(['role', 'path', 'extensions', ...ruleKeys.keys()]);
  const keys = new Set(settings.accessControl.flatMap((rule) => Object.keys(rule)));
  for (const key of keys)
    if (!known.has(key))
      findings.risk(
        'rules',
        `accessControl names an action that does not exist: ${key}`,
        `Correct or remove ${key}.`,
      );
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

/** What can be said of the settings alone. */
export const checkSettings = async (
  definition: ServiceDefinition,
  checked: CheckedConfiguration,
  file: string | undefined,
): Promise<readonly Findings[]> => {
  const findings = new Findings();
  checkStrangers(definition, checked, findings);
  checkSites(definition, checked, findings);
  checkRules(checked, findings);
  await checkSecrets(definition, file, findings);
  return [findings, ...checkSources(checked)];
};
