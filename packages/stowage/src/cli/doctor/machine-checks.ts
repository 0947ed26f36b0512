import { constants, existsSync } from 'node:fs';
import { access, readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isPlainObject } from '../../config/values.ts';
import { entryOf, type OptionalPackage, packagesOf } from '../../checked-configuration.ts';
import { readBrowser } from '../../config/environment.ts';
import type { ConnectorConfig } from '../../config/types.ts';
import { findBrowser } from '../../documents/pdf/started-browser.ts';
import { findProgram } from '../../pictures/previews/programs.ts';
import { partsDirectory } from '../../http/tus/resumable-uploads.ts';
import { TimeLimit } from '../../basics/concurrency/abort.ts';
import { humanSize, shellWord } from '../../basics/content/message-values.ts';
import { createSilentLogger } from '../../basics/log/logger.ts';
import { exceedsStreamLimit, pingClamd } from '../../operations/inspection/clamd.ts';
import { createRedisConnection } from '../../operations/state/redis-connection.ts';
import { Findings, reasonOf } from './finding.ts';

/** Packages that any service may need: for actions of the protocol, and for photos of phones. */
export const partPackages: readonly OptionalPackage[] = [
  { name: 'puppeteer-core', purpose: 'PDF files' },
  { name: 'docx', purpose: 'DOCX files' },
  { name: 'parse5', purpose: 'DOCX files and the links of texts' },
  { name: 'heic-decode', purpose: 'HEIC pictures with uploadImages' },
];

const versionIn = async (file: string, name: string): Promise<string | undefined> => {
  try {
    const manifest: unknown = JSON.parse(await readFile(file, 'utf8'));
    const version = isPlainObject(manifest) && manifest['name'] === name ? manifest['version'] : undefined;
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
};

/** The version of a package that this service would load; undefined when it is not installed. */
export const installedVersion = async (name: string): Promise<string | undefined> => {
  const entry = entryOf(name);
  if (entry === undefined) return undefined;
  // Not every package exports its manifest.
  for (let folder = dirname(entry); folder !== dirname(folder); folder = dirname(folder)) {
    const version = await versionIn(join(folder, 'package.json'), name);
    if (version !== undefined) return version;
  }
  return 'unknown';
};

const checkPackages = async (config: ConnectorConfig, findings: Findings): Promise<void> => {
  const needed = packagesOf(config);
  for (const one of [...needed, ...partPackages]) {
    const { name, purpose } = one;
    const version = await installedVersion(name);
    const text = `${purpose}: the npm package "${name}" is not installed`;
    if (version !== undefined) findings.ok('packages', `${purpose}: ${name} ${version}`);
    else if (needed.includes(one)) findings.broken('packages', text, `npm install ${name}`);
    else findings.note('packages', `${text} (npm install ${name})`);
  }
};

/** Checks whether pictures can be decoded here: the library has binaries for each platform. */
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
  if ((await installedVersion('puppeteer-core')) === undefined) return;
  const { path } = readBrowser();
  const browser = await findBrowser(path).catch(() => undefined);
  if (browser !== undefined) findings.ok('browser', `PDF files: ${browser.path}`);
  else if (path === undefined)
    findings.risk('browser', 'PDF files: there is no Chromium', 'apt-get install chromium-headless-shell');
  else
    findings.broken('browser', `PDF files: ${path} cannot be run`, 'Correct STOWAGE_CHROMIUM, or unset it.');
};

/** Checks the configured preview programs: files of a missing one have icons. */
const checkPrograms = async ({ settings }: ConnectorConfig, findings: Findings): Promise<void> => {
  for (const [kind, provider] of [
    ['pdf', 'poppler-utils'],
    ['video', 'ffmpeg'],
  ] as const) {
    const command = settings.thumbPrograms[kind];
    if (command === undefined) continue;
    const path = await findProgram(command);
    if (path !== undefined) findings.ok('programs', `thumbnails (${kind}): ${path}`);
    else
      findings.broken(
        'programs',
        `thumbnails (${kind}): ${command} cannot be run`,
        `apt-get install ${provider}, or correct thumbPrograms.${kind}.`,
      );
  }
};

/** A write as the service does it: the user may have fewer rights, or the memory may be full. */
const TRY_REDIS = `redis.call('SET', KEYS[1], redis.call('TIME')[1], 'PX', 1)`;

/** Checks that Redis takes writes, and does not evict keys when it is full. */
const checkRedis = async ({ settings: { redis } }: ConnectorConfig, findings: Findings): Promise<void> => {
  if (redis === undefined || (await installedVersion('ioredis')) === undefined) return;
  const connection = createRedisConnection(redis, createSilentLogger());
  try {
    const client = await connection.get();
    await client.eval(TRY_REDIS, 1, `${redis.prefix}:doctor`);
    // Without permission to read the policy, nothing is reported.
    const policy = await client.config('GET', 'maxmemory-policy').then(
      (pair) => (pair as string[])[1],
      () => undefined,
    );
    if (policy === undefined || policy === 'noeviction') return findings.ok('redis', 'Redis responds');
    findings.risk(
      'redis',
      `Redis may forget webhooks that wait when its memory is full (${policy})`,
      'maxmemory-policy noeviction',
    );
  } catch (error) {
    const text = `Redis cannot be used: ${reasonOf(error)}`;
    findings.broken('redis', text, 'Start Redis, or correct redis.url or the rights of its user.');
  } finally {
    await connection.close();
  }
};

/** Time limit for the responses of one clamd. */
const PING_MS = 5000;

/** Checks that each configured clamd responds, and accepts the largest files that it would get. */
const checkClamd = async ({ sources }: ConnectorConfig, findings: Findings): Promise<void> => {
  const largest = new Map<string, number>();
  for (const { settings } of sources) {
    const { clamd, maxBytes } = settings.inspection ?? { clamd: false, maxBytes: 0 };
    if (clamd !== false) largest.set(clamd, Math.max(maxBytes, largest.get(clamd) ?? 0));
  }
  for (const [address, bytes] of largest) {
    const limit = new TimeLimit(PING_MS);
    const options = { address, signal: limit.signal };
    try {
      await pingClamd(options);
      if (await exceedsStreamLimit(bytes, options))
        findings.risk(
          'inspection',
          `clamd at ${address} takes no files of ${humanSize(bytes)} (inspection.maxBytes): they are not scanned`,
          `Set StreamMaxLength, MaxFileSize and MaxScanSize of clamd.conf to at least ${humanSize(bytes)}.`,
        );
      else findings.ok('inspection', `clamd responds at ${address}`);
    } catch (error) {
      findings.broken(
        'inspection',
        `clamd does not respond at ${address}: ${reasonOf(error)}`,
        'Start clamd (systemctl start clamav-daemon), let the service open its socket, or correct inspection.clamd.',
      );
    } finally {
      limit.dispose();
    }
  }
};

const requireWritable = async (path: string, isFile: boolean): Promise<void> => {
  await access(path, isFile ? constants.W_OK : constants.W_OK | constants.X_OK);
  // Not opened: that would wait for the reader of a pipe.
  if (isFile && (await stat(path)).isDirectory()) throw new Error('It is a folder.');
};

/** Checks whether the service can write its own files. It creates missing folders, but not for the audit. */
const checkRecords = async ({ settings }: ConnectorConfig, findings: Findings): Promise<void> => {
  const { audit, redis, stateDirectory, tus, webhooks } = settings;
  const chown = `chown ${String(process.getuid?.() ?? 'USER')}`;
  const records = [
    ['tus', tus && partsDirectory(tus, stateDirectory), '"tus": { "enabled": false }'],
    ['audit', audit?.file, 'correct audit.file'],
    ['webhooks', webhooks.length > 0 && !redis ? stateDirectory : undefined, 'correct stateDirectory'],
  ] as const;
  for (const [check, path, other] of records) {
    if (path === undefined) continue;
    const whole = resolve(path);
    let there = whole;
    while (!existsSync(there) && (check !== 'audit' || there === whole)) there = dirname(there);
    try {
      await requireWritable(there, check === 'audit' && there === whole);
      findings.ok(check, `${path} can be written`);
    } catch {
      const [reason, command] = existsSync(there)
        ? ['the service may not write to', chown]
        : ['there is no folder', 'mkdir -p'];
      findings.broken(
        check,
        `${path} cannot be written: ${reason} ${there}`,
        `${command} ${shellWord(there)}, or ${other}`,
      );
    }
  }
};

export const checkMachine = async (config: ConnectorConfig): Promise<Findings> => {
  const findings = new Findings();
  await checkPackages(config, findings);
  await checkPictures(findings);
  await checkBrowser(findings);
  await checkPrograms(config, findings);
  await checkRedis(config, findings);
  await checkClamd(config, findings);
  await checkRecords(config, findings);
  return findings;
};
