import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, lstat, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { SourceConfig } from '../../config/types.ts';
import { ifMissing, StorageDeniedError, UnsupportedError } from '../../errors/errors.ts';
import { type Findings, reasonOf, UNTRUSTED } from './finding.ts';
import { inTimeLimit, orAborted } from '../../basics/concurrency/abort.ts';
import { shellWord } from '../../basics/content/message-values.ts';
import type { Source } from '../../sources/source.ts';
import type { StorageAdapter } from '../../storage/adapter.ts';
import { capabilityNames, capabilityTexts } from '../../storage/capabilities.ts';
import { ABOUT_FOLDER } from '../../storage/about/about.ts';
import { MOVED_FOLDER } from '../../storage/moved/name-events.ts';
import type { BuiltInName } from '../../storage/registry.ts';
import { SourcePath } from '../../storage/source-path.ts';
import { TRASH_FOLDER } from '../../storage/trash/trash-folder.ts';

/** An operation on the files of a source. */
export type Right = 'open' | 'write' | 'list' | 'read' | 'remove';

const WORDS: Readonly<Record<string, Readonly<Record<Right, string>>>> = {
  s3: {
    ...{ open: 's3:ListBucket', list: 's3:ListBucket' },
    ...{ write: 's3:PutObject', read: 's3:GetObject', remove: 's3:DeleteObject' },
  },
  azure: { open: 'list', list: 'list', write: 'create and write', read: 'read', remove: 'delete' },
  gcs: {
    ...{ open: 'storage.objects.list', list: 'storage.objects.list', write: 'storage.objects.create' },
    ...{ read: 'storage.objects.get', remove: 'storage.objects.delete' },
  },
  local: { open: 'rwX', list: 'rX', write: 'rwX', read: 'rX', remove: 'rwX' },
};

type Advice = readonly [reason: RegExp, fix: string];

const ANY = /^/u;
/** First words of the reason when a store denies access. */
const DENIED = /^denied: /u;

const LOGIN: Advice = [DENIED, 'Correct the login of WHERE, or give this user more rights there.'];
const HOST: Advice = [ANY, 'Correct host, port or directory of WHERE, or start the server that it names.'];
/** Those of all stores that are reached over the network. */
const REMOTE: readonly Advice[] = [
  [
    UNTRUSTED,
    'Give the server a certificate that is trusted for this host, or set WHERE.ca to the certificate of its authority.',
  ],
  [/STORAGE_FULL/u, 'Make room in the store of WHERE, or raise its quota.'],
];

/** Fixes by adapter: the first that matches. WHERE stands for the key, RIGHT for the permission. */
const ADVICE: Readonly<Record<Exclude<BuiltInName, 'memory'>, readonly Advice[]>> = {
  local: [
    [/EROFS/u, 'Mount ROOT for writing (a volume without ":ro").'],
    [/ENOSPC/u, 'Make room on the disk of ROOT.'],
    [/kept silent|ETIMEDOUT|ESTALE|EIO/u, 'Mount ROOT anew, or repair the disk or server that it lies on.'],
    [/ENOTDIR|ELOOP|ENAMETOOLONG/u, 'Correct WHERE.'],
    [ANY, 'Let user USER use the folder: setfacl -R -m u:USER:RIGHT ROOT'],
  ],
  s3: [
    [
      /InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|CredentialsProvider/u,
      'Correct WHERE.credentials: the service does not accept the key.',
    ],
    [/RequestTimeTooSkewed/u, 'Set the clock of this machine: timedatectl set-ntp true'],
    [DENIED, 'Allow RIGHT to the key of WHERE, on the bucket and its objects (docs/s3.md).'],
    [/NoSuchBucket/u, 'Make the bucket, or correct WHERE.bucket.'],
    [ANY, 'Correct WHERE.endpoint, region or bucket, or start the service that it names.'],
  ],
  azure: [
    [
      /AuthenticationFailed|AuthenticationError|CredentialUnavailable/u,
      'Correct the key or signature of WHERE, or the login of this machine, and set its clock.',
    ],
    [DENIED, 'Allow to RIGHT blobs of WHERE.container (docs/azure.md).'],
    [/ContainerNotFound/u, 'Make the container, or correct WHERE.container.'],
    [ANY, 'Correct the address of WHERE, or let this machine reach it.'],
  ],
  gcs: [
    [DENIED, 'Correct WHERE.credentialsFile, or allow RIGHT to its account on the bucket (docs/gcs.md).'],
    [ANY, 'Make the bucket, correct WHERE.bucket or endpoint, or let this machine reach it.'],
  ],
  webdav: [
    [DENIED, 'Correct username and password of WHERE, or give this user more rights there.'],
    [ANY, 'Correct WHERE.url, or start the server that it names.'],
  ],
  sftp: [
    [
      /unknown host key/u,
      'Ask who runs the server whether the key is its own, and only then add it to WHERE.hostKey or knownHostsFile.',
    ],
    LOGIN,
    HOST,
  ],
  ftp: [[/does not offer TLS/u, 'Let the server offer TLS; without it WHERE.tls is false.'], LOGIN, HOST],
};

/** One line that fixes a failed operation of a source. */
export const adviceFor = (config: SourceConfig, right: Right, error: unknown): string => {
  const { key, storageAdapter, root = '' } = config;
  if (error instanceof UnsupportedError) return 'npm install what is named here';
  const reason = `${error instanceof StorageDeniedError ? 'denied: ' : ''}${reasonOf(error)}`;
  const own = new Map(Object.entries(ADVICE)).get(storageAdapter) ?? [];
  const advice = storageAdapter === 'local' ? own : [...REMOTE, ...own];
  const [, fix = 'Correct WHERE.'] = advice.find(([one]) => one.test(reason)) ?? [];
  const words: Readonly<Record<string, string>> = {
    WHERE: `sources.${key}.${storageAdapter === 'local' ? 'root' : storageAdapter}`,
    RIGHT: WORDS[storageAdapter]?.[right] ?? right,
    USER: String(process.getuid?.() ?? 0),
    ROOT: shellWord(root),
  };
  return fix.replaceAll(/\b(?:WHERE|RIGHT|USER|ROOT)\b/gu, (word) => words[word] ?? word);
};

/** A temporary test file. */
export interface Probe {
  readonly name: string;
  readonly content: string;
}

/** Creates a probe of a type that the source lists. */
export const createProbe = ({ settings: { extensions } }: SourceConfig): Probe => {
  const extension = ['txt', 'csv', 'json', 'png', 'jpg'].find((one) => extensions.includes(one));
  const id = randomUUID();
  return { name: `stowage-doctor-${id}.${extension ?? extensions[0] ?? 'txt'}`, content: `Stowage ${id}\n` };
};

const FAILURES: Readonly<Record<Right, string>> = {
  open: 'cannot be opened',
  write: 'files cannot be written',
  list: 'files cannot be listed',
  read: 'files cannot be read',
  remove: 'files cannot be removed',
};

const isListed = async (storage: StorageAdapter, name: string, signal: AbortSignal): Promise<boolean> => {
  for await (const page of storage.list(SourcePath.root, { signal, detail: 'names' }))
    if (page.some((entry) => entry.name === name)) return true;
  return false;
};

/** Time limit of the removal, which runs even if the other checks were aborted. */
const REMOVAL_MS = 10_000;

const removeProbe = (storage: StorageAdapter, path: SourcePath): Promise<void> =>
  inTimeLimit(REMOVAL_MS, undefined, (signal) => storage.removeFile(path, { signal })).catch(ifMissing);

const checkRoom = async ({ root = '.', settings }: SourceConfig, findings: Findings): Promise<void> => {
  const { bavail, bsize, blocks } = await statfs(root);
  const megabytes = `${String(Math.floor((bavail * bsize) / 1024 ** 2))} MB`;
  const fix = `Make room on the disk of ${root}.`;
  if (bavail * bsize < settings.maxUploadFileSize)
    findings.broken('room', `the disk has ${megabytes} left, less than one upload`, fix);
  else if (bavail < blocks / 20) findings.risk('room', `the disk is nearly full: ${megabytes} left`, fix);
  else findings.ok('room', `${megabytes} of the disk are free`);
};

/** Checks the folders of the service in the root: after a restore they often belong to another user. */
const checkOwnFolders = async (config: SourceConfig, findings: Findings): Promise<void> => {
  const { root = '.', settings } = config;
  for (const name of [TRASH_FOLDER, MOVED_FOLDER, ABOUT_FOLDER, settings.thumbFolderName]) {
    const path = join(root, name);
    try {
      const isFolder = (await lstat(path)).isDirectory();
      if (!isFolder) findings.broken('store.own', `${path} is not a folder`, `Move it away: mv ${path} /tmp`);
      else await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      const text = `${path} cannot be used: ${reasonOf(error)}`;
      findings.broken('store.own', text, adviceFor(config, 'write', error));
    }
  }
};

/** How long a disk may take to say whether a folder is there. */
const FOLDER_MS = 10_000;
const silent = (): Error => new Error('its disk has kept silent for ten seconds');

/** Checks whether the folder of a local source exists; opening the source would create it. */
export const findFolder = async (
  config: SourceConfig,
  findings: Findings,
  signal: AbortSignal,
): Promise<boolean> => {
  const { key, storageAdapter, root = '' } = config;
  if (storageAdapter !== 'local') return true;
  try {
    const stats = await inTimeLimit(FOLDER_MS, signal, (end) => orAborted(stat(root), end), silent);
    if (stats.isDirectory()) return true;
    findings.broken('store.open', `${root} is not a folder`, `Correct sources.${key}.root.`);
  } catch (error) {
    signal.throwIfAborted();
    const fix = `mkdir -p ${shellWord(root)} (or correct sources.${key}.root)`;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      findings.broken('store.open', `there is no folder ${root}`, fix);
    else
      findings.broken(
        'store.open',
        `${root} cannot be read: ${reasonOf(error)}`,
        adviceFor(config, 'open', error),
      );
  }
  return false;
};

/** Notes the capabilities of the store after a write: some stores detect them by that. */
const notePromises = ({ capabilities }: StorageAdapter, findings: Findings): void => {
  const named = (wanted: boolean): string =>
    capabilityNames
      .filter((name) => capabilities[name] === wanted)
      .map((name) => capabilityTexts[name])
      .join(', ');
  findings.note('store.promises', `the store promises ${named(true) || 'nothing beyond the contract'}`);
  const missing = named(false);
  if (missing !== '') findings.note('store.promises', `the store does not promise ${missing}`);
};

/** A missing bucket or package, or an unreachable service: every other step fails for the same reason. */
const FAILS_ALL =
  /NoSuchBucket|ContainerNotFound|UNSUPPORTED|certificate|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/u;

export interface Probing {
  readonly findings: Findings;
  /** Further checks while the probe exists. */
  readonly whileThere: (probe: Probe) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Writes a file, lists it, reads it, runs `whileThere`, and removes it in every case. */
export const probeStore = async (
  config: SourceConfig,
  source: Source,
  { findings, whileThere, signal }: Probing,
): Promise<void> => {
  if (config.storageAdapter === 'local') await checkRoom(config, findings);
  /** Undefined when the step fails, which adds a finding. */
  const attempt = async <T>(right: Right, step: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await step();
    } catch (error) {
      const [fix, reason] = [adviceFor(config, right, error), reasonOf(error)];
      if (!FAILS_ALL.test(reason) || findings.all.every((one) => one.fix !== fix))
        findings.broken(`store.${right}`, `${FAILURES[right]}: ${reason}`, fix);
      return undefined;
    }
  };
  const storage = await attempt('open', () => orAborted(source.storage(), signal));
  if (storage === undefined) return;
  if (config.storageAdapter === 'local') await checkOwnFolders(config, findings);

  const probe = createProbe(config);
  const path = SourcePath.root.child(probe.name);
  const done: (boolean | undefined)[] = [];
  try {
    const written = await attempt('write', async () => {
      const content = Readable.from([Buffer.from(probe.content)], { objectMode: false });
      await storage.write(path, content, { createOnly: true, size: probe.content.length, signal });
      return true;
    });
    const listed = await attempt('list', async () => {
      const isThere = await isListed(storage, probe.name, signal);
      if (!isThere && written) throw new Error('the listing lacks a file that was just written');
      return true;
    });
    done.push(written, listed);
    if (!written) return;
    notePromises(storage, findings);
    const read = async (): Promise<boolean> => {
      const { stream } = await storage.read(path, { signal });
      if ((await buffer(stream)).toString() !== probe.content) throw new Error('other bytes came back');
      return true;
    };
    done.push(await attempt('read', read));
    // Hooks of the host do not know the signal.
    await orAborted(whileThere(probe), signal);
  } finally {
    // A failed write may have succeeded in the store nevertheless.
    const removed = await attempt('remove', () => removeProbe(storage, path).then(() => true));
    if (!removed && done[0]) findings.leftBehind(probe.name);
    if (removed && done.length === 3 && done.every(Boolean))
      findings.ok('store', 'files can be written, listed, read and removed');
  }
};
