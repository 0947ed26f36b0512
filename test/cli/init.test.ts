import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { checkConfiguration } from '#internals';
import { createFolder, portOf, start, type Ending, type Folder } from './service.ts';

let folder: Folder;

beforeEach(async () => {
  folder = await createFolder();
});

afterEach(() => folder.remove());

const file = (): string => join(folder.path, 'stowage.json');

/** Answers one question with each line. */
const init = (answers: readonly string[], ...words: readonly string[]): Promise<Ending> => {
  const { child, ended } = start(['init', ...words], {}, folder.path);
  child.stdin.end(answers.map((line) => `${line}\n`).join(''));
  return ended;
};

const written = async (): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(file(), 'utf8')) as Record<string, unknown>;

const check = (secrets: Record<string, string> = {}): Promise<Ending> =>
  start(['check-config', '--config', 'stowage.json'], secrets, folder.path).ended;

describe('stowage init', () => {
  it('writes a configuration without questions, that serves at once', async () => {
    const { status, stdout, stderr } = await init([], '--yes');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toBe(
      'Written: stowage.json. Next:\n\n' +
        '  npx stowage doctor --config stowage.json\n  npx stowage serve --config stowage.json\n',
    );
    expect((await readdir(folder.path)).sort()).toEqual(['files', 'stowage.json']);
    const service = start(['serve', '--config', 'stowage.json', '--port', '0'], {}, folder.path);
    const body = new FormData();
    body.set('files[0]', new Blob(['text']), 'note.txt');
    const url = `http://127.0.0.1:${String(await portOf(service))}/`;
    expect((await fetch(`${url}fileUpload`, { method: 'POST', body })).status).toBe(200);
    expect(await (await fetch(`${url}file/files/note.txt`)).text()).toBe('text');
    service.child.kill('SIGTERM');
    expect((await service.ended).status).toBe(0);
  });

  it('is what serve names when it is not told to read it', async () => {
    await writeFile(file(), '{}');
    const service = start(['serve', '--port', '0'], { SOURCE_BASEURL: '/files/' }, folder.path);
    await portOf(service);
    service.child.kill('SIGTERM');
    expect((await service.ended).stderr).toContain('stowage.json of this folder is not read');
  });

  it('says what it cannot make', async () => {
    await writeFile(join(folder.path, 'files'), 'mine');
    const { status, stderr } = await init([], '--yes');
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^The folder \.\/files cannot be made: EEXIST.*\n$/u) as string,
    });
    expect(await readdir(folder.path)).toEqual(['files']);
  });

  it('never overwrites', async () => {
    await writeFile(file(), 'mine');
    expect(await init([], '--yes')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: 'stowage.json is there already, and stays as it is.\n',
    });
    expect(await readFile(file(), 'utf8')).toBe('mine');
  });

  it('asks for a folder, a proxy that knows the editors, and the origin of the pages', async () => {
    const { status } = await init(['', './my photos', '2', 'https://www.example.com/']);
    expect(status).toBe(0);
    expect(await written()).toMatchObject({
      auth: { header: 'X-Role', from: ['127.0.0.1', '::1'] },
      allowCrossOrigin: true,
      allowedOrigins: ['https://www.example.com'],
      refuseCrossSite: true,
      accessControl: [{ CHANGE: false }, { role: 'editor', CHANGE: true }],
      sources: { 'my photos': { root: './my photos', serve: 'public' } },
    });
    expect(await check()).toMatchObject({ status: 0, stderr: '' });
    const explain = (role: string): Promise<Ending> =>
      start(['explain', role, 'fileUpload', 'a.jpg', '--config', 'stowage.json'], {}, folder.path).ended;
    expect((await explain('guest')).stdout).toMatch(/^Denied/u);
    expect((await explain('editor')).stdout).toMatch(/^Allowed/u);
  });

  it('asks for a bucket and a login service, and says what to install', async () => {
    const login = 'https://login.example.com/keys';
    const { status, stdout } = await init([
      '2',
      'media',
      'eu-central-1',
      'http://minio:9000',
      '3',
      login,
      'app',
      '',
    ]);
    expect(status).toBe(0);
    expect(stdout).toContain(
      '  npm install @aws-sdk/client-s3\n  export AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=...\n  npm install jose\n',
    );
    expect(await written()).toMatchObject({
      auth: { jwt: { jwksUrl: login, audience: 'app' } },
      sources: { media: { s3: { bucket: 'media', region: 'eu-central-1', endpoint: 'http://minio:9000' } } },
    });
    expect((await check()).status).toBe(0);
  });

  it('asks for a WebDAV server, and writes no password', async () => {
    expect((await init(['3', 'https://dav.example.com/', 'ann', '9', '4', ''])).status).toBe(0);
    expect(await written()).toMatchObject({
      accessControl: [{ CHANGE: false }],
      sources: { files: { webdav: { username: 'ann', password: { env: 'DAV_PASSWORD' } } } },
    });
    expect((await check({ DAV_PASSWORD: 'p' })).status).toBe(0);
  });

  it.each<[string, string[], Record<string, unknown>, string, Record<string, string>]>([
    [
      'a container of Azure with its key',
      ['4', 'media', 'https://acme.blob.core.windows.net', ''],
      {
        media: {
          storageAdapter: 'azure',
          azure: {
            container: 'media',
            accountUrl: 'https://acme.blob.core.windows.net',
            accountKey: { env: 'AZURE_STORAGE_KEY' },
          },
        },
      },
      '  npm install @azure/storage-blob\n  export AZURE_STORAGE_KEY=...\n',
      { AZURE_STORAGE_KEY: 'a2V5' },
    ],
    [
      'a container of Azure with the login of the machine',
      ['4', 'media', 'https://acme.blob.core.windows.net', '2'],
      { media: { azure: { container: 'media', accountUrl: 'https://acme.blob.core.windows.net' } } },
      '  npm install @azure/storage-blob @azure/identity\n',
      {},
    ],
    [
      'a bucket of Google with the login of the machine',
      ['5', 'media', ''],
      { media: { storageAdapter: 'gcs', gcs: { bucket: 'media' } } },
      '  npm install google-auth-library\n',
      {},
    ],
    [
      'a bucket of Google with a key',
      ['5', 'media', './key.json'],
      { media: { gcs: { bucket: 'media', credentialsFile: './key.json' } } },
      '  npm install google-auth-library\n',
      {},
    ],
    [
      'an SFTP server',
      ['6', 'files.example.com', 'ann', '/srv/files', './known_hosts'],
      {
        files: {
          storageAdapter: 'sftp',
          sftp: {
            host: 'files.example.com',
            username: 'ann',
            password: { env: 'SFTP_PASSWORD' },
            directory: '/srv/files',
            knownHostsFile: './known_hosts',
          },
        },
      },
      '  npm install ssh2\n  export SFTP_PASSWORD=...\n',
      { SFTP_PASSWORD: 'p' },
    ],
    [
      'an FTP server with TLS',
      ['7', 'files.example.com', 'ann', '', ''],
      {
        files: {
          storageAdapter: 'ftp',
          ftp: { host: 'files.example.com', username: 'ann', password: { env: 'FTP_PASSWORD' }, tls: true },
        },
      },
      '  npm install basic-ftp\n  export FTP_PASSWORD=...\n',
      { FTP_PASSWORD: 'p' },
    ],
    [
      'an FTP server without TLS',
      ['7', 'files.example.com', 'ann', '/srv/files', '2'],
      { files: { ftp: { directory: '/srv/files', tls: false } } },
      '  npm install basic-ftp\n  export FTP_PASSWORD=...\n',
      { FTP_PASSWORD: 'p' },
    ],
  ])('asks for %s', async (_case, answers, sources, steps, secrets) => {
    const { status, stdout, stderr } = await init([...answers, '4', '']);
    expect({ status, problems: /sources.*/u.exec(stderr)?.[0] }).toEqual({ status: 0, problems: undefined });
    expect(stdout).toContain(`Next:\n\n${steps}  npx stowage doctor`);
    expect(await written()).toMatchObject({ sources });
    expect(await readFile(file(), 'utf8')).not.toContain('later');
    for (const [name, value] of Object.entries(secrets)) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { warnings, unused } = checkConfiguration(await written());
    expect({ warnings, unused }).toEqual({ warnings: [], unused: [] });
  });

  it('asks only that again which was wrong', async () => {
    const wrong = ['3', 'dav', 'ann', '3', 'login', 'app', 'www.example.com'];
    const right = ['https://dav.example.com/', 'https://login.example.com/keys', 'https://www.example.com'];
    const { status, stderr } = await init([...wrong, ...right]);
    expect(status).toBe(0);
    expect(stderr).toContain('sources.files.webdav.url: must be');
    expect(await written()).toMatchObject({
      auth: { jwt: { jwksUrl: right[1], audience: 'app' } },
      allowedOrigins: [right[2]],
      sources: { files: { webdav: { url: right[0], username: 'ann' } } },
    });
  });

  it.each<[string, string[], RegExp]>([
    ['the answers end', ['2', 'media'], /Nothing was written: not all was answered\.\n$/u],
    ['an answer is wrong', ['3', 'dav', 'ann', '4', ''], /sources\.files\.webdav\.url: must be/u],
  ])('writes nothing when %s', async (_case, answers, message) => {
    const { status, stderr } = await init(answers);
    expect(status).toBe(1);
    expect(stderr).toMatch(message);
    expect(await readdir(folder.path)).toEqual([]);
  });
});
