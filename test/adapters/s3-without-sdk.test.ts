import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installBare, type BareInstall } from '../package/bare-install.ts';
import { startInstance } from '../../tools/test-servers/instance.ts';

const config = {
  sources: {
    files: { title: 'Files', baseurl: 'http://files.example/', storageAdapter: 'memory' },
    bucket: {
      title: 'Bucket',
      baseurl: 'http://bucket.example/',
      storageAdapter: 's3',
      s3: {
        bucket: 'secret-bucket',
        endpoint: 'http://127.0.0.1:9/',
        credentials: { accessKeyId: 'k', secretAccessKey: 's' },
      },
    },
    container: {
      title: 'Container',
      baseurl: 'http://container.example/',
      storageAdapter: 'azure',
      azure: { container: 'secret-container', accountUrl: 'http://127.0.0.1:9/account' },
    },
    google: {
      title: 'Google',
      baseurl: 'http://google.example/',
      storageAdapter: 'gcs',
      gcs: { bucket: 'secret-bucket', endpoint: 'http://127.0.0.1:9' },
    },
    server: {
      title: 'Server',
      baseurl: 'http://server.example/',
      storageAdapter: 'sftp',
      sftp: { host: 'secret-host', username: 'u', password: 's', hostKey: `SHA256:${'a'.repeat(43)}` },
    },
    old: {
      title: 'Old server',
      baseurl: 'http://old.example/',
      storageAdapter: 'ftp',
      ftp: { host: 'secret-host', username: 'u', password: 's' },
    },
  },
};

/** Asks each source for several actions, and tells statuses and messages. */
const SCRIPT = `
  import { createApp } from 'stowage';
  const warnings = [];
  const quiet = { debug() {}, info() {}, warn: (text) => warnings.push(text), error() {} };
  const app = createApp(${JSON.stringify(config)}, {}, { logger: quiet });
  const ask = async (path, body) => {
    const init = body === undefined ? {} : { method: 'POST', body };
    const response = await app.fetch(new Request('http://x/' + path, init));
    const { data } = await response.json();
    return [response.status, ...(data.messages ?? [])];
  };
  const form = (source) => {
    const body = new FormData();
    body.set('source', source);
    body.set('files[0]', new Blob(['text']), 'a.txt');
    return body;
  };
  const answers = { warnings: warnings.filter((text) => text.includes('npm install')) };
  for (const source of ['bucket', 'files'])
    for (const path of ['files?', 'folders?', 'folderCreate?name=f&', 'fileRemove?name=a.txt&', 'permissions?'])
      answers[source + ' ' + path.replace(/\\?.*/, '')] = await ask(path + 'source=' + source);
  for (const source of ['bucket', 'files']) answers[source + ' fileUpload'] = await ask('fileUpload', form(source));
  answers['container files'] = await ask('files?source=container');
  answers['server files'] = await ask('files?source=server');
  answers['old files'] = await ask('files?source=old');
  answers['google files'] = await ask('files?source=google');
  answers.everything = await ask('files');
  answers.ping = [(await app.fetch(new Request('http://x/ping'))).status];
  await app.close();
  console.log(JSON.stringify(answers));`;

describe('s3 sources where the SDK is not installed', { timeout: 90_000 }, () => {
  let bareInstall: BareInstall;

  beforeAll(async () => {
    bareInstall = await installBare(SCRIPT);
  });
  afterAll(() => bareInstall?.remove());

  it('answer 501 and name what to install, while other sources and actions work', async () => {
    const { stdout, stderr } = await bareInstall.run();
    const missing = [
      501,
      'S3 storage needs the npm package "@aws-sdk/client-s3", which is not installed here.',
    ];
    expect(JSON.parse(stdout)).toEqual({
      // Said at the start, before anybody asks.
      warnings: [
        '@aws-sdk/client-s3',
        'ssh2',
        'basic-ftp',
        '@azure/storage-blob',
        '@azure/identity',
        'google-auth-library',
      ].map(
        (name) =>
          expect.stringMatching(
            new RegExp(`needs the npm package "${name}".*npm install ${name}$`, 'u'),
          ) as string,
      ),
      'bucket files': missing,
      'bucket folders': missing,
      'bucket folderCreate': missing,
      'bucket fileRemove': missing,
      'bucket fileUpload': missing,
      'bucket permissions': [200],
      'files files': [200],
      'files folders': [200],
      'files folderCreate': [200, expect.any(String)],
      'files fileRemove': [404, expect.any(String)],
      'files fileUpload': [200, expect.any(String)],
      'files permissions': [200],
      // A listing of every source leaves out the one that cannot be reached.
      'google files': [
        501,
        'Google Cloud storage needs the npm package "google-auth-library", which is not installed here.',
      ],
      'container files': [
        501,
        'Azure storage needs the npm package "@azure/storage-blob", which is not installed here.',
      ],
      'server files': [501, 'SFTP storage needs the npm package "ssh2", which is not installed here.'],
      'old files': [501, 'FTP storage needs the npm package "basic-ftp", which is not installed here.'],
      everything: [
        200,
        'The source "Bucket" cannot be reached now.',
        'The source "Container" cannot be reached now.',
        'The source "Google" cannot be reached now.',
        'The source "Server" cannot be reached now.',
        'The source "Old server" cannot be reached now.',
      ],
      ping: [200],
    });
    expect(stderr).toBe('');
  });

  it('are named by check-config, with what to install', async () => {
    const file = join(bareInstall.folder, 'config.json');
    const main = join(bareInstall.folder, 'node_modules', 'stowage', 'dist', 'cli.js');
    const check = (settings: object): { status: number | null; stderr: string } => {
      writeFileSync(file, JSON.stringify({ ...config, ...settings }));
      return spawnSync(process.execPath, [main, 'check-config', '--config', file], { encoding: 'utf8' });
    };
    expect(check({})).toMatchObject({
      status: 1,
      stderr:
        'Missing: the source "bucket" needs the npm package "@aws-sdk/client-s3", which is not installed here: ' +
        'npm install @aws-sdk/client-s3\n' +
        'Missing: the source "server" needs the npm package "ssh2", which is not installed here: ' +
        'npm install ssh2\n' +
        'Missing: the source "old" needs the npm package "basic-ftp", which is not installed here: ' +
        'npm install basic-ftp\n' +
        'Missing: the source "container" needs the npm package "@azure/storage-blob", which is not installed here: ' +
        'npm install @azure/storage-blob\n' +
        'Missing: the login of the source "container" needs the npm package "@azure/identity", which is not ' +
        'installed here: npm install @azure/identity\n' +
        'Missing: the source "google" needs the npm package "google-auth-library", which is not installed here: ' +
        'npm install google-auth-library\n',
    });
    const bucket = { ...config.sources.bucket, serve: 'public', delivery: 'redirect' };
    expect(check({ sources: { bucket } }).stderr).toContain('npm install @aws-sdk/s3-request-presigner');
    // Without it nobody could log in.
    const auth = { jwt: { secret: 'a secret that is longer than thirty-two bytes' } };
    expect(check({ auth }).stderr).toContain('auth.jwt: needs the npm package "jose": npm install jose');
  });

  it('let the service start', async () => {
    const main = join(bareInstall.folder, 'node_modules', 'stowage', 'dist', 'cli.js');
    const instance = await startInstance(config, { main });
    try {
      expect((await fetch(`${instance.url}/files?source=files`)).status).toBe(200);
      expect((await fetch(`${instance.url}/files?source=bucket`)).status).toBe(501);
    } finally {
      await instance.stop();
    }
  });
});
