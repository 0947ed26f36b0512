import { randomUUID } from 'node:crypto';
import { stat, statfs } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { inTimeLimit } from '../../concurrency/time-limit.ts';
import type { SourceConfig } from '../../config/types.ts';
import { NotFoundError, StorageDeniedError, UnsupportedError } from '../../errors/errors.ts';
import type { Source } from '../../sources/source.ts';
import type { StorageAdapter } from '../../storage/adapter.ts';
import { SourcePath } from '../../storage/source-path.ts';
import { Findings, reasonOf } from './finding.ts';

/** What may be done to the files of a source. */
type Right = 'open' | 'write' | 'list' | 'read' | 'remove';

const RIGHTS: Readonly<Record<Right, Readonly<Record<'s3' | 'azure' | 'gcs' | 'local' | 'text', string>>>> = {
  open: {
    s3: 's3:ListBucket',
    azure: 'list',
    gcs: 'storage.objects.list',
    local: 'rwX',
    text: 'cannot be opened',
  },
  write: {
    s3: 's3:PutObject',
    azure: 'create and write',
    gcs: 'storage.objects.create',
    local: 'rwX',
    text: 'files cannot be written',
  },
  list: {
    s3: 's3:ListBucket',
    azure: 'list',
    gcs: 'storage.objects.list',
    local: 'rX',
    text: 'files cannot be listed',
  },
  read: {
    s3: 's3:GetObject',
    azure: 'read',
    gcs: 'storage.objects.get',
    local: 'rX',
    text: 'files cannot be read',
  },
  remove: {
    s3: 's3:DeleteObject',
    azure: 'delete',
    gcs: 'storage.objects.delete',
    local: 'rwX',
    text: 'files cannot be removed',
  },
};

/** The words of stores for a refusal that has nothing to do with the single right. */
const KEYS_REFUSED =
  /InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|CredentialsProvider/u;

/** The words of stores for a bucket that is not there. */
const MISSING = /NoSuchBucket|ContainerNotFound/u;

const userName = (): string => `user ${String(process.getuid?.() ?? '')}`.trim();

const adviceForS3 = (reason: string, error: unknown, right: Right, { key }: SourceConfig): string => {
  const where = `sources.${key}.s3`;
  if (error instanceof UnsupportedError) return 'npm install @aws-sdk/client-s3';
  if (KEYS_REFUSED.test(reason)) return `Correct ${where}.credentials: the service does not accept the key.`;
  if (reason.includes('RequestTimeTooSkewed'))
    return 'Set the clock of this machine: timedatectl set-ntp true';
  if (error instanceof StorageDeniedError)
    return `Allow ${RIGHTS[right].s3} to the key of ${where}, on the bucket and its objects (docs/s3.md).`;
  if (reason.includes('NoSuchBucket')) return `Make the bucket, or correct ${where}.bucket.`;
  return `Correct ${where}.endpoint, region or bucket, or start the service that it names.`;
};

const adviceForSftp = (reason: string, error: unknown, key: string): string => {
  const where = `sources.${key}.sftp`;
  if (error instanceof UnsupportedError) return 'npm install ssh2';
  if (reason.includes('unknown host key'))
    return (
      'Ask who runs the server whether the key is its own, and only then add it to ' +
      `${where}.hostKey or knownHostsFile.`
    );
  if (error instanceof StorageDeniedError)
    return `Correct the login of ${where}, or give this user more rights there.`;
  return `Correct host, port or directory of ${where}, or start the server that it names.`;
};

const adviceForFtp = (reason: string, error: unknown, key: string): string => {
  const where = `sources.${key}.ftp`;
  if (error instanceof UnsupportedError) return 'npm install basic-ftp';
  if (reason.includes('does not offer TLS'))
    return `Let the server offer TLS; without it ${where}.tls is false.`;
  if (/CERT|ISSUER/u.test(reason))
    return `Give the server a certificate that is trusted for this host, or name who has signed it in ${where}.ca.`;
  if (error instanceof StorageDeniedError)
    return `Correct the login of ${where}, or give this user more rights there.`;
  return `Correct host, port or directory of ${where}, or start the server that it names.`;
};

const adviceForAzure = (reason: string, error: unknown, right: Right, { key }: SourceConfig): string => {
  const where = `sources.${key}.azure`;
  if (error instanceof UnsupportedError) return 'npm install @azure/storage-blob @azure/identity';
  if (/AuthenticationFailed|AuthenticationError|CredentialUnavailable/u.test(reason))
    return `Correct the key or signature of ${where}, or the login of this machine, and set its clock.`;
  if (error instanceof StorageDeniedError)
    return `Allow to ${RIGHTS[right].azure} blobs of ${where}.container (docs/azure.md).`;
  if (reason.includes('ContainerNotFound')) return `Make the container, or correct ${where}.container.`;
  return `Correct the address of ${where}, or let this machine reach it.`;
};

const adviceForGcs = (error: unknown, right: Right, { key }: SourceConfig): string => {
  const where = `sources.${key}.gcs`;
  if (error instanceof UnsupportedError) return 'npm install google-auth-library';
  return error instanceof StorageDeniedError
    ? `Correct ${where}.credentialsFile, or allow ${RIGHTS[right].gcs} to its account on the bucket (docs/gcs.md).`
    : `Make the bucket, correct ${where}.bucket or endpoint, or let this machine reach it.`;
};

/** One line that gives a right back. */
const adviceFor = (config: SourceConfig, right: Right, error: unknown): string => {
  const { key, storageAdapter, root = '' } = config;
  const reason = reasonOf(error);
  if (storageAdapter === 's3') return adviceForS3(reason, error, right, config);
  if (storageAdapter === 'azure') return adviceForAzure(reason, error, right, config);
  if (storageAdapter === 'gcs') return adviceForGcs(error, right, config);
  if (storageAdapter === 'webdav')
    return error instanceof StorageDeniedError
      ? `Correct username and password of sources.${key}.webdav, or give this user more rights there.`
      : `Correct sources.${key}.webdav.url, or start the server that it names.`;
  if (storageAdapter === 'ftp') return adviceForFtp(reason, error, key);
  if (storageAdapter === 'sftp') return adviceForSftp(reason, error, key);
  if (storageAdapter !== 'local') return `Correct sources.${key}.${storageAdapter}.`;
  if (reason.includes('EROFS')) return `Mount ${root} for writing (a volume without ":ro").`;
  if (reason.includes('ENOSPC')) return `Make room on the disk of ${root}.`;
  return `Let ${userName()} use the folder: setfacl -R -m u:${String(process.getuid?.() ?? 0)}:${RIGHTS[right].local} ${root}`;
};

/** A file that is there for a moment. */
export interface Probe {
  readonly name: string;
  readonly content: string;
}

/** A probe of a type that the source shows. */
export const createProbe = ({ settings: { extensions } }: SourceConfig): Probe => {
  const extension = ['txt', 'csv', 'json', 'png', 'jpg'].find((one) => extensions.includes(one));
  const id = randomUUID();
  return { name: `stowage-doctor-${id}.${extension ?? extensions[0] ?? 'txt'}`, content: `Stowage ${id}\n` };
};

/** Runs a step and notes its failure. */
const attempt = async (
  findings: Findings,
  config: SourceConfig,
  right: Right,
  step: () => Promise<void>,
): Promise<boolean> => {
  try {
    await step();
    return true;
  } catch (error) {
    const advice = adviceFor(config, right, error);
    const isMissing = MISSING.test(reasonOf(error));
    // One cause would make every other step fail too, in other words.
    if (isMissing && findings.all.some(({ fix }) => fix === advice)) return false;
    const reason = isMissing
      ? `it is not there (${MISSING.exec(reasonOf(error))?.[0] ?? ''})`
      : reasonOf(error);
    findings.broken(`store.${right}`, `${RIGHTS[right].text}: ${reason}`, advice);
    return false;
  }
};

const isListed = async (storage: StorageAdapter, name: string, signal: AbortSignal): Promise<boolean> => {
  for await (const page of storage.list(SourcePath.root, { signal, detail: 'names' }))
    if (page.some((entry) => entry.name === name)) return true;
  return false;
};

/** How long the removal may take, whatever has become of the rest. */
const REMOVAL_MS = 10_000;

const removeProbe = async (storage: StorageAdapter, path: SourcePath): Promise<void> => {
  try {
    await inTimeLimit(REMOVAL_MS, undefined, (signal) => storage.removeFile(path, { signal }));
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
};

const checkRoom = async ({ root, settings }: SourceConfig, findings: Findings): Promise<void> => {
  const { bavail, bsize, blocks, ffree, files } = await statfs(root ?? '.');
  const free = bavail * bsize;
  const megabytes = `${String(Math.floor(free / 1024 ** 2))} MB`;
  if (free < settings.maxUploadFileSize)
    findings.broken(
      'room',
      `the disk has ${megabytes} left, less than one upload`,
      `Make room on the disk of ${root ?? ''}.`,
    );
  else if (files > 0 && ffree === 0)
    findings.broken('room', 'the disk has no inodes left', `Remove files from the disk of ${root ?? ''}.`);
  else if (bavail < blocks / 20)
    findings.risk(
      'room',
      `the disk is nearly full: ${megabytes} left`,
      `Make room on the disk of ${root ?? ''}.`,
    );
  else findings.ok('room', `${megabytes} of the disk are free`);
};

/** Whether the folder of a local source is there, which opening it would make. */
export const findFolder = async (
  { key, storageAdapter, root = '' }: SourceConfig,
  findings: Findings,
): Promise<boolean> => {
  if (storageAdapter !== 'local') return true;
  const stats = await stat(root).catch(() => undefined);
  if (stats === undefined)
    findings.broken(
      'store.open',
      `there is no folder ${root}`,
      `mkdir -p ${root} (or correct sources.${key}.root)`,
    );
  else if (!stats.isDirectory())
    findings.broken('store.open', `${root} is not a folder`, `Correct sources.${key}.root.`);
  return stats?.isDirectory() === true;
};

/** What else is to be tried while the probe is there. */
export type WhileThere = (probe: Probe, findings: Findings) => Promise<void>;

/**
 * Writes a file, lists it, reads it, lets others read it, and removes it. What it wrote is removed on every
 * way out; where the store refuses that, a finding names it.
 */
export const probeStore = async (
  config: SourceConfig,
  source: Source,
  whileThere: WhileThere,
  signal: AbortSignal,
): Promise<Findings> => {
  const findings = new Findings(config.name);
  if (config.storageAdapter === 'local') await checkRoom(config, findings);
  let storage: StorageAdapter | undefined;
  const opened = await attempt(findings, config, 'open', async () => {
    storage = await source.storage();
  });
  if (!opened || storage === undefined) return findings;
  await probeOpened({ config, storage, findings, signal }, whileThere);
  return findings;
};

interface Opened {
  readonly config: SourceConfig;
  readonly storage: StorageAdapter;
  readonly findings: Findings;
  readonly signal: AbortSignal;
}

const probeOpened = async (
  { config, storage, findings, signal }: Opened,
  whileThere: WhileThere,
): Promise<void> => {
  const probe = createProbe(config);
  const path = SourcePath.root.child(probe.name);
  const step = (right: Right, run: () => Promise<void>): Promise<boolean> =>
    attempt(findings, config, right, run);
  const results: boolean[] = [];
  try {
    const written = await step('write', async () => {
      const content = Readable.from([Buffer.from(probe.content)], { objectMode: false });
      await storage.write(path, content, { createOnly: true, size: probe.content.length, signal });
    });
    const listed = await step('list', async () => {
      if (!(await isListed(storage, probe.name, signal)) && written)
        throw new Error('the listing lacks a file that was just written');
    });
    results.push(written, listed);
    if (!written) return;
    const read = await step('read', async () => {
      const { stream } = await storage.read(path, { signal });
      if ((await buffer(stream)).toString() !== probe.content) throw new Error('other bytes came back');
    });
    results.push(read);
    await whileThere(probe, findings);
  } finally {
    // A write that has failed may have arrived all the same.
    const removed = await step('remove', () => removeProbe(storage, path));
    if (!removed && results[0] === true)
      findings.risk('left-behind', `${probe.name} is left in the root of the source`, 'Remove it by hand.');
    results.push(removed);
    if (results.length === 4 && results.every(Boolean))
      findings.ok('store', 'files can be written, listed, read and removed');
  }
};
