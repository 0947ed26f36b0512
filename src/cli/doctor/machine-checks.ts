import { access, constants } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { readBrowser, readVariable } from '../../config/environment.ts';
import { isPlainObject } from '../../config/plain-values.ts';
import type { ConnectorConfig, SourceConfig } from '../../config/types.ts';
import { findBrowser } from '../../documents/pdf/executable.ts';
import { findProgram } from '../../images/previews/find-program.ts';
import { createSilentLogger } from '../../log/logger.ts';
import { createRedisConnection } from '../../state/redis-connection.ts';
import { packagesOf } from '../../optional-packages.ts';
import { installedVersion, neededVersions, partPackages } from '../packages.ts';
import { ask } from './public-address.ts';
import { Findings, reasonOf } from './finding.ts';

const numbersOf = (version: string): readonly number[] => version.split(/[.-]/u).map(Number);

/** Whether a version keeps one of the ranges `^1.2.3` or `>=1`, as peer dependencies have them. */
const keeps = (version: string, ranges: string): boolean =>
  ranges.split('||').some((range) => {
    const [sign = '', lowest = ''] = /^\s*(\^|>=)(.*?)\s*$/u.exec(range)?.slice(1) ?? [];
    const [have, need] = [numbersOf(version), numbersOf(lowest)];
    if (sign === '^' && have[0] !== need[0]) return false;
    const at = need.findIndex((number, index) => (have[index] ?? 0) !== number);
    return at === -1 || (have[at] ?? 0) > (need[at] ?? 0);
  });

const checkPackages = async (config: ConnectorConfig, findings: Findings): Promise<void> => {
  const needed = packagesOf(config);
  const ranges = await neededVersions();
  for (const { name, purpose } of [...needed, ...partPackages]) {
    const version = await installedVersion(name);
    const range = ranges[name] ?? '';
    const isNeeded = needed.some((one) => one.name === name);
    if (version === undefined) {
      const text = `${purpose}: the npm package "${name}" is not installed`;
      if (isNeeded) findings.broken('packages', text, `npm install ${name}`);
      else findings.note('packages', `${text} (npm install ${name})`);
    } else if (version !== 'unknown' && !keeps(version, range))
      findings.broken(
        'packages',
        `${purpose}: "${name}" is version ${version}, and ${range} is needed`,
        `npm install ${name}@latest`,
      );
    else findings.ok('packages', `${purpose}: ${name} ${version}`);
  }
};

/** Whether pictures can be drawn here: the library has a part for each kind of machine. */
const checkPictures = async (findings: Findings): Promise<void> => {
  try {
    const { default: sharp } = await import('sharp');
    const create = { width: 2, height: 2, channels: 3, background: '#fff' } as const;
    await sharp({ create }).webp().toBuffer();
    findings.ok('pictures', `sharp ${sharp.versions.sharp ?? ''}, libvips ${sharp.versions.vips}`);
  } catch (error) {
    findings.broken(
      'pictures',
      `pictures cannot be drawn: ${reasonOf(error)}`,
      'npm install --include=optional sharp (on the machine, or in the image, that runs the service)',
    );
  }
};

const checkBrowser = async (findings: Findings): Promise<void> => {
  const { path } = readBrowser();
  if ((await installedVersion('puppeteer-core')) === undefined) {
    if (path !== undefined)
      findings.risk('browser', 'STOWAGE_CHROMIUM is set and has no effect', 'npm install puppeteer-core');
    return;
  }
  try {
    findings.ok('browser', `PDF files: ${(await findBrowser(path)).path}`);
  } catch {
    const text = path === undefined ? 'PDF files: there is no Chromium' : `PDF files: ${path} cannot be run`;
    const fix =
      path === undefined
        ? 'apt-get install chromium-headless-shell'
        : 'Correct STOWAGE_CHROMIUM, or unset it.';
    if (path === undefined) findings.risk('browser', text, fix);
    else findings.broken('browser', text, fix);
  }
};

/** Programs that the configuration names: without one its files have icons. */
const checkPrograms = async ({ settings }: ConnectorConfig, findings: Findings): Promise<void> => {
  for (const kind of ['pdf', 'video'] as const) {
    const command = settings.thumbPrograms[kind];
    if (command === undefined) continue;
    const path = await findProgram(command);
    if (path !== undefined) findings.ok('programs', `thumbnails (${kind}): ${path}`);
    else
      findings.broken(
        'programs',
        `thumbnails (${kind}): ${command} cannot be run`,
        `apt-get install ${kind === 'pdf' ? 'poppler-utils' : 'ffmpeg'}, or correct thumbPrograms.${kind}.`,
      );
  }
};

/** Uploads to stores that are not local wait there. */
const checkTemporary = async (sources: readonly SourceConfig[], findings: Findings): Promise<void> => {
  if (sources.every(({ storageAdapter }) => storageAdapter === 'local')) return;
  const folder = tmpdir();
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    findings.ok('temporary', `uploads wait in ${folder}`);
  } catch (error) {
    findings.broken(
      'temporary',
      `uploads cannot wait in ${folder}: ${reasonOf(error)}`,
      'Set TMPDIR to a folder that the service may write.',
    );
  }
};

/** What instances share: that it answers, and forgets nothing when it is full. */
const checkRedis = async ({ settings: { redis } }: ConnectorConfig, findings: Findings): Promise<void> => {
  if (redis === undefined || (await installedVersion('ioredis')) === undefined) return;
  const connection = createRedisConnection(redis, createSilentLogger());
  try {
    const client = await connection.get();
    await client.ping();
    // Where that may not be asked, nothing is said about it.
    const [, policy] = await client.config('GET', 'maxmemory-policy').then(
      (answer) => answer as string[],
      () => [],
    );
    if (policy === undefined || policy === 'noeviction') findings.ok('redis', 'Redis answers');
    else
      findings.risk(
        'redis',
        `Redis may forget webhooks that wait when its memory is full (${policy})`,
        'maxmemory-policy noeviction',
      );
  } catch (error) {
    findings.broken(
      'redis',
      `Redis does not answer: ${reasonOf(error)}`,
      'Start Redis, or correct redis.url.',
    );
  } finally {
    await connection.close();
  }
};

const checkZone = (findings: Findings): void => {
  const written = readVariable('TZ')?.replace(/^:/u, '');
  try {
    new Intl.DateTimeFormat('en', { timeZone: written ?? 'UTC' });
  } catch {
    findings.risk(
      'zone',
      `TZ is ${written ?? ''}, which is no time zone: times are shown in UTC`,
      'TZ=Europe/Berlin',
    );
    return;
  }
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  findings.ok('zone', `listings show times in ${zone} (TZ sets another)`);
};

/** Above it the service says so; S3 refuses requests at fifteen minutes. */
const WRONG_SECONDS = 300;
const LATE_SECONDS = 30;

const textAt = (options: unknown, key: string): string | undefined => {
  const value = isPlainObject(options) ? options[key] : undefined;
  return typeof value === 'string' ? value : undefined;
};

/** Servers whose clock decides about signatures and versions. */
const addressOf = ({ storageAdapter, adapterOptions }: SourceConfig): string | undefined => {
  if (storageAdapter === 'webdav') return textAt(adapterOptions, 'url');
  if (storageAdapter === 'gcs') return textAt(adapterOptions, 'endpoint');
  if (storageAdapter === 'azure') return textAt(adapterOptions, 'accountUrl');
  if (storageAdapter !== 's3') return undefined;
  const region = textAt(adapterOptions, 'region') ?? 'us-east-1';
  return textAt(adapterOptions, 'endpoint') ?? `https://s3.${region}.amazonaws.com/`;
};

const checkClock = async (source: SourceConfig, signal: AbortSignal): Promise<Findings> => {
  const findings = new Findings(source.name);
  const address = addressOf(source);
  if (address === undefined) return findings;
  // A store that does not answer is named by those who use it.
  const response = await ask(address, signal, { method: 'HEAD' }).catch(() => undefined);
  const date = Date.parse(response?.headers.get('date') ?? '');
  if (Number.isNaN(date)) return findings;
  const seconds = Math.round(Math.abs(Date.now() - date) / 1000);
  const text = `the clocks of this machine and of the store differ by ${String(seconds)} seconds`;
  const fix = 'timedatectl set-ntp true (on the machine whose clock is wrong)';
  if (seconds > WRONG_SECONDS) findings.broken('clock', text, fix);
  else if (seconds > LATE_SECONDS) findings.risk('clock', text, fix);
  else findings.ok('clock', 'the clocks of this machine and of the store agree');
  return findings;
};

/** What can be said of the machine. */
export const checkMachine = async (
  config: ConnectorConfig,
  signal: AbortSignal,
): Promise<readonly Findings[]> => {
  const findings = new Findings();
  await checkPackages(config, findings);
  await checkPictures(findings);
  await checkBrowser(findings);
  await checkPrograms(config, findings);
  await checkTemporary(config.sources, findings);
  await checkRedis(config, findings);
  checkZone(findings);
  const clocks = await Promise.all(config.sources.map((source) => checkClock(source, signal)));
  return [findings, ...clocks];
};
