import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type CheckedConfiguration, openActions, UNGUARDED } from '../../checked-configuration.ts';
import { risksOnDisk } from '../../config/risks/setting-risks.ts';
import type { SettingRisk } from '../../config/risks/value-risks.ts';
import { isPlainObject, type PlainObject, without } from '../../config/values.ts';
import type { ServiceDefinition } from '../../app.ts';
import { inTimeLimit, orAborted } from '../../basics/concurrency/abort.ts';
import { overlapsOf } from '../../sources/source-group.ts';
import type { SourceGroup } from '../../sources/source.ts';
import { SourcePath } from '../../storage/source-path.ts';
import { Findings } from './finding.ts';
import { type Connector, createConnector } from '../../connector.ts';
import type { ConfigInput, SourceConfig } from '../../config/types.ts';
import { type FetchHandler, toFetchHandler } from '../../http/bridges/fetch.ts';
import type { Logger } from '../../basics/log/logger.ts';
import { createProbe } from './store-checks.ts';

const checkStrangers = (
  { hooks = {} }: ServiceDefinition,
  checked: CheckedConfiguration,
  findings: Findings,
): void => {
  const open = openActions(checked, hooks);
  if (open === undefined)
    return findings.ok('strangers', 'requests need a role that a hook, a proxy or a token vouches for');
  if (open.length === 0) return findings.ok('strangers', 'no request may write without a role of their own');
  findings.risk(
    'strangers',
    `every client that reaches the service may, without any login: ${open.join(', ')}`,
    'Set auth, or a checkAuthentication hook, and rules for the role (docs/deployment.md).',
  );
};

const checkRisks = (
  { warnings, unused }: CheckedConfiguration,
  risks: readonly SettingRisk[],
  findings: Findings,
): void => {
  // Requests without a login are checked separately.
  for (const warning of warnings)
    if (warning !== UNGUARDED)
      findings.risk('settings', warning, 'Correct this setting; docs/configuration.md explains it.');
  for (const { key, text, fix, isOfStrangers } of risks)
    if (isOfStrangers !== true) findings.risk('settings', `${key}: ${text}`, fix);
  if (unused.length > 0)
    findings.note('settings', `accepted for compatibility, without effect: ${unused.join(', ')}`);
};

/** Checks whether pages of other sites may act with visitors' cookies; the start warns about tokens. */
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

/** Keys whose texts are secrets, for all stores, including registered ones. */
const SECRET_KEYS =
  /secret(?:s|AccessKey)?$|password$|passphrase$|token$|^(?:accountKey|privateKey|connectionString)$/iu;

const LOGIN_IN_ADDRESS = /^[a-z][a-z\d+.-]*:\/\/[^/@\s]*:[^/@\s]+@/iu;

const secretsIn = (value: unknown, path: readonly string[] = [], isSecret = false): readonly string[] => {
  if (typeof value === 'string')
    return value !== '' && (isSecret || LOGIN_IN_ADDRESS.test(value)) ? [path.join('.')] : [];
  if (Array.isArray(value))
    return value.flatMap((inner, index) => secretsIn(inner, [...path, String(index)], isSecret));
  // Secrets in a variable or a file are fine.
  if (!isPlainObject(value) || isReference(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    secretsIn(inner, [...path, key], SECRET_KEYS.test(key) || isOfHeaders(path)),
  );
};

/** Headers for a store may contain its key under any name. */
const isOfHeaders = (path: readonly string[]): boolean => path.at(-1) === 'headers';

const isReference = (value: PlainObject): boolean => {
  const [key, ...others] = Object.keys(value);
  return others.length === 0 && (key === 'env' || key === 'file');
};

const checkSecrets = async ({ config }: ServiceDefinition, file: string | undefined, findings: Findings) => {
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

/** A store that has not opened within this time is not compared. */
const OPENING_MS = 1000;

/** Checks whether access rules of one source can be bypassed through another. */
export const checkOverlaps = async (sources: SourceGroup): Promise<Findings> => {
  const findings = new Findings();
  const opened = await Promise.all(
    sources.all.map(async ({ name, storage }) => {
      const store = await inTimeLimit(OPENING_MS, undefined, (late) => orAborted(storage(), late)).catch(
        () => undefined,
      );
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

/** `sources`: those whose folders are there. */
export const checkSettings = async (
  definition: ServiceDefinition,
  checked: CheckedConfiguration,
  { file, sources }: { readonly file: string | undefined; readonly sources: readonly SourceConfig[] },
): Promise<Findings> => {
  const findings = new Findings();
  checkStrangers(definition, checked, findings);
  checkSites(definition, checked, findings);
  const onDisk = await risksOnDisk({ ...checked.config, sources });
  checkRisks(checked, [...checked.risks, ...onDisk], findings);
  checkConfigurationFile(checked, file, findings);
  await checkSecrets(definition, file, findings);
  return findings;
};

/** Settings of access, which are checked separately, and those that would store or draw something. */
const LEFT_OUT = [
  ...['accessControl', 'auth', 'onlyPOST', 'refuseCrossSite', 'rateLimits'],
  ...['createThumb', 'quota', 'trash', 'uploadImages', 'inspection'],
];

const withoutTraces = (settings: PlainObject): PlainObject => ({
  ...without(settings, LEFT_OUT),
  createThumb: false,
});

/** The configured service without access control and side effects. */
export const createUnguarded = ({ config }: ServiceDefinition, logger: Logger): Connector => {
  const written = (config ?? {}) as PlainObject;
  const sources = isPlainObject(written['sources'])
    ? Object.entries(written['sources']).map(([key, source]) => [
        key,
        isPlainObject(source) ? withoutTraces(source) : source,
      ])
    : undefined;
  const own: ConfigInput = {
    ...withoutTraces(written),
    ...(sources === undefined ? {} : { sources: Object.fromEntries(sources) as ConfigInput['sources'] }),
  };
  return createConnector(own, {}, { logger, isInspection: true });
};

interface Envelope {
  readonly success: boolean;
  readonly data: {
    readonly error?: string;
    readonly messages?: readonly string[];
    readonly files?: readonly string[];
    readonly sources?: readonly { readonly files: readonly { readonly name: string }[] }[];
  };
}

const ask = async (fetch: FetchHandler, path: string, body?: FormData): Promise<Envelope> => {
  const request = new Request(new URL(path, 'http://doctor.invalid/'), body && { method: 'POST', body });
  return (await (await fetch(request)).json()) as Envelope;
};

const FIXES: Readonly<Record<string, string>> = {
  FILE_TOO_LARGE: 'Write maxUploadFileSize with a unit: "20mb".',
  TYPE_NOT_ALLOWED: 'List what may be uploaded: "extensions": ["jpg", "png", "pdf"].',
};

/** Types whose content is validated, which a probe would fail. */
const CHECKED_TYPES = /\.(?:svg|xml)$/u;

/** Uploads a file like a user, checks that it is listed, and removes it. */
export const checkOwnSettings = async (
  connector: Connector,
  config: SourceConfig,
  findings: Findings,
): Promise<void> => {
  const { name, content } = createProbe(config);
  if (CHECKED_TYPES.test(name)) return;
  const fetch = toFetchHandler(connector.handle);
  const source = `source=${encodeURIComponent(config.name)}`;
  const form = new FormData();
  form.set('files[0]', new Blob([content]), name);
  const { success, data } = await ask(fetch, `fileUpload?${source}`, form);
  const stored = data.files?.[0];
  if (!success || stored === undefined)
    return findings.broken(
      'settings.upload',
      `the service refuses an upload: ${data.messages?.[0] ?? ''}`,
      FIXES[data.error ?? ''] ?? 'Check the settings of the source (docs/configuration.md).',
    );
  const listed = await ask(fetch, `files?${source}&mods[filterWord]=${encodeURIComponent(stored)}`);
  const isListed = listed.data.sources?.some(({ files }) => files.some((file) => file.name === stored));
  if (isListed !== true)
    findings.broken(
      'settings.list',
      'the service does not show a file that was just uploaded',
      'Check extensions, countInChunk and excludeDirectoryNames.',
    );
  const removed = await ask(fetch, `fileRemove?${source}&name=${encodeURIComponent(stored)}`);
  if (!removed.success) findings.leftBehind(stored);
  else if (isListed === true) findings.ok('settings.upload', 'the service takes uploads and shows them');
};
