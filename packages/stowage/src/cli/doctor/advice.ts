import type { SourceConfig } from '../../config/types.ts';
import { StorageDeniedError, UnsupportedError } from '../../errors/errors.ts';
import { reasonOf } from './finding.ts';

/** What may be done to the files of a source. */
export type Right = 'open' | 'write' | 'list' | 'read' | 'remove';

/** The right in the words of each store. */
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
/** Begins the reason of a refusal by the rights of a store. */
const DENIED = /^denied: /u;

const LOGIN: Advice = [DENIED, 'Correct the login of WHERE, or give this user more rights there.'];
const HOST: Advice = [ANY, 'Correct host, port or directory of WHERE, or start the server that it names.'];

/** By adapter what fixes a failure: the first whose reason fits. WHERE is the key, RIGHT the missing right. */
const ADVICE: Readonly<Record<string, readonly Advice[]>> = {
  local: [
    [/EROFS/u, 'Mount ROOT for writing (a volume without ":ro").'],
    [/ENOSPC/u, 'Make room on the disk of ROOT.'],
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
  ftp: [
    [/does not offer TLS/u, 'Let the server offer TLS; without it WHERE.tls is false.'],
    [
      /CERT|ISSUER/u,
      'Give the server a certificate that is trusted for this host, or name who has signed it in WHERE.ca.',
    ],
    LOGIN,
    HOST,
  ],
};

/** One line that lets a source do what has failed. */
export const adviceFor = (config: SourceConfig, right: Right, error: unknown): string => {
  const { key, storageAdapter, root = '' } = config;
  if (error instanceof UnsupportedError) return 'npm install what is named here';
  const reason = `${error instanceof StorageDeniedError ? 'denied: ' : ''}${reasonOf(error)}`;
  const [, fix = 'Correct WHERE.'] = ADVICE[storageAdapter]?.find(([one]) => one.test(reason)) ?? [];
  const words: Readonly<Record<string, string>> = {
    WHERE: `sources.${key}.${storageAdapter}`,
    RIGHT: WORDS[storageAdapter]?.[right] ?? right,
    USER: String(process.getuid?.() ?? 0),
    ROOT: root,
  };
  return fix.replaceAll(/\b(?:WHERE|RIGHT|USER|ROOT)\b/gu, (word) => words[word] ?? word);
};
