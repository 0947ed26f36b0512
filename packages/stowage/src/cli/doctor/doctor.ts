import { inTimeLimit, orAborted } from '../../basics/concurrency/abort.ts';
import type { App, ServiceDefinition } from '../../app.ts';
import { type Connector, createConnector } from '../../connector.ts';
import { toFetchHandler } from '../../http/bridges/fetch.ts';
import { checkConfiguration, type CheckedConfiguration } from '../../checked-configuration.ts';
import type { SourceConfig } from '../../config/types.ts';
import { parseByteSize, parseOrigin } from '../../config/values.ts';
import { ConfigError } from '../../errors/errors.ts';
import { createSilentLogger } from '../../basics/log/logger.ts';
import { createSourceGroup } from '../../sources/source-group.ts';
import type { SourceGroup } from '../../sources/source.ts';
import { UsageError } from '../arguments.ts';
import { configurationFile, readDefinition } from '../read-config.ts';
import { type Finding, Findings, reasonOf } from './finding.ts';
import { checkMachine } from './machine-checks.ts';
import { type Addresses, checkBaseurl, checkServing } from './public-address.ts';
import { checkPageInside, checkService } from './service-checks.ts';
import { checkOverlaps, checkOwnSettings, checkSettings, createUnguarded } from './settings-checks.ts';
import { findFolder, type Probe, probeStore } from './store-checks.ts';

/** Values of the command line. */
export type DoctorOptions = Readonly<
  Record<'config' | 'pageOrigin' | 'url' | 'formSize', string | undefined>
>;

interface Question extends Addresses {
  readonly file: string | undefined;
  readonly formSize: number | undefined;
}

/** @throws UsageError */
const readOptions = ({ config, pageOrigin, url, formSize }: DoctorOptions): Question => {
  const page = pageOrigin === undefined ? undefined : parseOrigin(pageOrigin.replace(/\/$/u, ''));
  if (pageOrigin !== undefined && page === undefined)
    throw new UsageError('--page-origin needs an origin such as https://www.example.com');
  if (
    url !== undefined &&
    (!URL.canParse(url) || !/^https?:\/\/[^/@?#]+(?:\/[^?#]*)?$/u.test(new URL(url).href))
  )
    throw new UsageError('--url needs an http or https URL, without a login or query.');
  const size = formSize === undefined ? undefined : parseByteSize(formSize);
  if (formSize !== undefined && size === undefined)
    throw new UsageError('--form-size needs a size such as 20mb.');
  const service = url === undefined ? undefined : new URL(url.endsWith('/') ? url : `${url}/`);
  return { page, service, file: configurationFile(config), formSize: size };
};

/** Time limit of all checks of a source, and the further time until hanging checks are abandoned. */
const SOURCE_MS = 60_000;
const END_MS = 15_000;
const late = (): Error => new Error('it has taken longer than a minute');

/** Larger forms need a size on the command line: the form is held in memory. */
const MOST_FORM_BYTES = 64 * 1024 ** 2;

interface Patient {
  readonly app: Pick<App, 'fetch' | 'urlFor'>;
  /** The same service without access control. */
  readonly unguarded: Connector;
  readonly group: SourceGroup;
  readonly sources: readonly SourceConfig[];
}

const probeOne = async (
  { app, unguarded, group }: Patient,
  config: SourceConfig,
  findings: Findings,
  { addresses, signal }: { readonly addresses: Addresses; readonly signal: AbortSignal },
): Promise<void> => {
  const source = group.find(config.name);
  if (source === undefined) return;
  const whileThere = async (probe: Probe): Promise<void> => {
    const search = { app, config, probe, findings, signal };
    if (config.settings.serve !== 'off') await checkServing(search);
    if (config.baseurl !== undefined) await checkBaseurl(search, addresses);
  };
  await probeStore(config, source, { findings, whileThere, signal });
  const isSound = findings.all.some(({ check, level }) => check === 'store' && level === 'ok');
  if (isSound && !signal.aborted) await checkOwnSettings(unguarded, config, findings);
};

/** Checks every source. One that hangs or fails does not end the checks of the others. */
const probeAll = async (patient: Patient, addresses: Addresses, signal: AbortSignal) =>
  Promise.all(
    patient.sources.map(async (config) => {
      const findings = new Findings(config.name);
      const probe = (bounded: AbortSignal): Promise<void> =>
        probeOne(patient, config, findings, { addresses, signal: bounded });
      try {
        const probing = inTimeLimit(SOURCE_MS, signal, probe, late);
        await inTimeLimit(SOURCE_MS + END_MS, undefined, (end) => orAborted(probing, end), late);
      } catch (error) {
        signal.throwIfAborted();
        findings.broken(
          'unfinished',
          `the checks of the source were not finished: ${reasonOf(error)}`,
          `Find out what makes the store or the address of sources.${config.key} slow, and run again.`,
        );
      }
      return findings;
    }),
  );

/** Closes what the checks have opened. A hanging store stays open until the process ends. */
const closeAll = async (all: readonly { close(): Promise<void> }[]): Promise<void> => {
  const closing = Promise.all(all.map((one) => one.close()));
  await inTimeLimit(END_MS, undefined, (end) => orAborted(closing, end)).catch(() => undefined);
};

/** The definition with only these sources; those of the environment stay unchanged. */
const withSources = ({ config, ...rest }: ServiceDefinition, sources: readonly SourceConfig[]) => {
  const keys = sources.map(({ key }) => key);
  const written = Object.entries(config?.sources ?? {}).filter(([key]) => keys.includes(key));
  return config?.sources === undefined || config.sources === null
    ? { ...rest, config }
    : { ...rest, config: { ...config, sources: Object.fromEntries(written) } };
};

const examine = async (
  definition: ServiceDefinition,
  checked: CheckedConfiguration,
  question: Question,
  signal: AbortSignal,
): Promise<readonly Findings[]> => {
  const { page, service } = question;
  const around = new Findings();
  const { settings, sources: all } = checked.config;
  // Only existing folders: opening the others would create them.
  const sources: SourceConfig[] = [];
  const folders: Findings[] = [];
  for (const source of all) {
    const findings = new Findings(source.name);
    if (await findFolder(source, findings, signal)) sources.push(source);
    folders.push(findings);
  }
  const found = [await checkSettings(definition, checked, { file: question.file, sources }), ...folders];
  if (sources.length > 0 || all.length === 0) {
    const log = createSilentLogger();
    const seen = withSources(definition, sources);
    // The configured sources are checked, not those of a tenant.
    const hooks = { ...seen.hooks, resolveSources: () => null };
    const connector = createConnector(seen.config, hooks, { logger: log, isInspection: true });
    const unguarded = createUnguarded(seen, log);
    const app = { fetch: toFetchHandler(connector.handle), urlFor: connector.urlFor };
    const group = createSourceGroup(sources, { factories: checked.factories, log, sweeps: false });
    try {
      found.push(...(await probeAll({ app, unguarded, group, sources }, question, signal)));
      found.push(await checkOverlaps(group));
      if (page !== undefined && service === undefined) await checkPageInside(app, page, around);
    } finally {
      await closeAll([group, connector, unguarded]);
    }
  }
  found.push(await checkMachine(checked.config));
  if (service !== undefined) {
    const largest = Math.max(0, ...all.map(({ settings: own }) => own.maxUploadFileSize));
    const formSize = question.formSize ?? Math.min(largest, MOST_FORM_BYTES);
    const { onlyPOST } = settings;
    const hasTus = settings.tus !== undefined;
    await checkService({ url: service, onlyPOST, formSize, hasTus, findings: around, signal }, page);
  }
  return [...found, around];
};

/**
 * Checks everything that a configuration needs, and reports problems with their fixes. Removes everything
 * that it writes, also when the signal is aborted.
 * @throws UsageError, the signal's reason
 */
export const examineService = async (
  options: DoctorOptions,
  signal: AbortSignal,
): Promise<readonly Finding[]> => {
  const question = readOptions(options);
  try {
    const definition = await readDefinition(options.config);
    const checked = checkConfiguration(definition.config, definition.hooks);
    const findings = await examine(definition, checked, question, signal);
    signal.throwIfAborted();
    return findings.flatMap(({ all }) => all);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findings = new Findings();
    for (const problem of error.problems)
      findings.broken('configuration', problem, 'Correct this key; docs/configuration.md explains it.');
    return findings.all;
  }
};
