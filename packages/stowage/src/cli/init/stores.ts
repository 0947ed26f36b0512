import { homedir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { packagesOfAdapter } from '../../adapters/table.ts';
import type { Questions } from './questions.ts';

/** A part of the configuration. */
export type Written = Readonly<Record<string, unknown>>;

/** What was answered, as a part of the configuration, and what is to be done besides. */
export interface Answer {
  readonly written: Written;
  readonly steps: readonly string[];
}

/** A source, and its name. */
interface NamedAnswer {
  readonly name: string;
  readonly answer: Answer;
}

const askFolder = async (ask: Questions): Promise<NamedAnswer> => {
  const root = await ask.text('Folder', './files');
  const name = basename(resolve(root)) || 'files';
  return { name, answer: { written: { title: name, root, serve: 'public' }, steps: [] } };
};

const askBucket = async (ask: Questions): Promise<NamedAnswer> => {
  const bucket = await ask.text('Bucket', 'files');
  const region = await ask.text('Region', 'us-east-1');
  const endpoint = await ask.text('URL of the service; empty for AWS', '');
  const address = endpoint === '' ? {} : { endpoint, forcePathStyle: true };
  const s3 = { bucket, region, ...address };
  return {
    name: bucket,
    answer: {
      written: { title: bucket, storageAdapter: 's3', s3, serve: 'public' },
      steps: ['export AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=...'],
    },
  };
};

const askWebdav = async (ask: Questions): Promise<NamedAnswer> => {
  const url = await ask.text('URL of the folder', 'https://dav.example.com/files/');
  const username = await ask.text('User', 'stowage');
  const webdav = { url, username, password: { env: 'DAV_PASSWORD' } };
  return {
    name: 'files',
    answer: {
      written: { title: 'Files', storageAdapter: 'webdav', webdav, serve: 'public' },
      steps: ['export DAV_PASSWORD=...'],
    },
  };
};

const askSftp = async (ask: Questions): Promise<NamedAnswer> => {
  const host = await ask.text('Host', 'sftp.example.com');
  const username = await ask.text('User', 'stowage');
  const directory = await ask.text('Folder there; empty for the one after the login', '');
  const knownHostsFile = await ask.text('File with the key of the host', join(homedir(), '.ssh/known_hosts'));
  const login = { host, username, password: { env: 'SFTP_PASSWORD' }, knownHostsFile };
  const sftp = directory === '' ? login : { ...login, directory };
  return {
    name: 'files',
    answer: {
      written: { title: 'Files', storageAdapter: 'sftp', sftp, serve: 'public' },
      steps: ['export SFTP_PASSWORD=...'],
    },
  };
};

const askFtp = async (ask: Questions): Promise<NamedAnswer> => {
  const host = await ask.text('Host', 'ftp.example.com');
  const username = await ask.text('User', 'stowage');
  const directory = await ask.text('Folder there; empty for the one after the login', '');
  const tls = await ask.choose('How is the connection?', [
    { value: 'tls', text: 'with TLS (FTPS, explicit)' },
    { value: 'plain', text: 'plain: the password and the files can be read on the way' },
  ]);
  const login = { host, username, password: { env: 'FTP_PASSWORD' }, tls: tls === 'tls' };
  const ftp = directory === '' ? login : { ...login, directory };
  return {
    name: 'files',
    answer: {
      written: { title: 'Files', storageAdapter: 'ftp', ftp, serve: 'public' },
      steps: ['export FTP_PASSWORD=...'],
    },
  };
};

const askAzure = async (ask: Questions): Promise<NamedAnswer> => {
  const container = await ask.text('Container', 'files');
  const accountUrl = await ask.text('URL of the account', 'https://ACCOUNT.blob.core.windows.net');
  const login = await ask.choose('Who asks for the files?', [
    { value: 'key', text: 'the account, with its key' },
    { value: 'machine', text: 'the login of this machine (managed identity, environment)' },
  ]);
  const key = login === 'key' ? { accountKey: { env: 'AZURE_STORAGE_KEY' } } : {};
  const azure = { container, accountUrl, ...key };
  return {
    name: container,
    answer: {
      written: { title: container, storageAdapter: 'azure', azure, serve: 'public' },
      steps: login === 'key' ? ['export AZURE_STORAGE_KEY=...'] : [],
    },
  };
};

const askGcs = async (ask: Questions): Promise<NamedAnswer> => {
  const bucket = await ask.text('Bucket', 'files');
  const file = await ask.text(
    'File with the key of a service account; empty for the login of this machine',
    '',
  );
  const gcs = file === '' ? { bucket } : { bucket, credentialsFile: file };
  return {
    name: bucket,
    answer: {
      written: { title: bucket, storageAdapter: 'gcs', gcs, serve: 'public' },
      steps: [],
    },
  };
};

const questionsOf = {
  local: askFolder,
  s3: askBucket,
  webdav: askWebdav,
  azure: askAzure,
  gcs: askGcs,
  sftp: askSftp,
  ftp: askFtp,
} as const;

/** Asks where the files are. */
export const askStore = async (ask: Questions): Promise<NamedAnswer> => {
  const kind = await ask.choose('Where are the files?', [
    { value: 'local', text: 'in a folder of this machine' },
    { value: 's3', text: 'in a bucket (S3)' },
    { value: 'webdav', text: 'on a WebDAV server' },
    { value: 'azure', text: 'in a container of Azure' },
    { value: 'gcs', text: 'in a bucket of Google Cloud Storage' },
    { value: 'sftp', text: 'on an SFTP server' },
    { value: 'ftp', text: 'on an FTP server' },
  ]);
  const { name, answer } = await questionsOf[kind](ask);
  const packages = packagesOfAdapter(kind, answer.written[kind], false).map((one) => one.name);
  const install = packages.length === 0 ? [] : [`npm install ${packages.join(' ')}`];
  return { name, answer: { ...answer, steps: [...install, ...answer.steps] } };
};
