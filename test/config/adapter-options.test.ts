import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError, createApp } from 'stowage';
import { createSilentLogger, parseGcsOptions, parseSftpOptions } from '#internals';

const problemsOf = (adapter: string, options: unknown): readonly string[] => {
  const source = {
    title: 'Files',
    baseurl: 'https://files.test/',
    storageAdapter: adapter,
    [adapter]: options,
  };
  try {
    createApp({ sources: { files: source } }, {}, { logger: createSilentLogger() });
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  throw new Error('The options were accepted.');
};

const cases: readonly (readonly [adapter: string, options: unknown, problems: readonly string[]])[] = [
  ['webdav', {}, ['.url: is required']],
  ['webdav', 'https://dav.test/', [': must be an object']],
  ['webdav', { url: 5 }, ['.url: must be text']],
  ['s3', { bucket: 'b', regoin: 'x' }, ['.regoin: is not a known key; did you mean "region"?']],
  ['webdav', { url: 'ftp://dav.test/' }, ['.url: must be an http:// or https:// URL']],
  ['webdav', { url: 'https://me:pw@dav.test/' }, ['.url: must not hold a login: use username and password']],
  [
    'webdav',
    {
      url: 'https://dav.test/',
      username: '',
      auth: 'ntlm',
      verifyCertificate: 'no',
      timeout: 0,
      connections: '8',
      user: 'me',
    },
    [
      '.username: must not be empty',
      '.auth: must be "basic" or "digest"',
      '.verifyCertificate: must be true or false',
      '.timeout: must be more than 0 seconds',
      '.connections: must be a whole number',
      '.user: is not a known key',
    ],
  ],
  [
    'webdav',
    { url: 'https://dav.test/', timeout: 86_401, connections: 65 },
    ['.timeout: must be at most 86400 seconds', '.connections: must be at most 64'],
  ],
  ['webdav', { url: 'https://dav.test/', password: 'pw' }, ['.username: is required with password']],
  [
    'webdav',
    { url: 'https://dav.test/', username: 'me', token: 't' },
    ['.token: must not be used together with username'],
  ],
  ['sftp', {}, ['.host: is required', '.username: is required']],
  [
    'sftp',
    { host: 'h', username: 'u' },
    ['.password: is required, or privateKey or privateKeyFile', '.hostKey: is required, or knownHostsFile'],
  ],
  [
    'sftp',
    {
      host: 'ftp://h/',
      port: 0,
      username: 'u',
      password: 'p',
      hostKey: 'AAAA',
      connections: 65,
      key: 'k',
    },
    [
      '.host: must be the name or address of a host',
      '.port: must be at least 1',
      '.hostKey: must be a public key (ssh-ed25519 AAAA...) or a fingerprint (SHA256:...)',
      '.connections: must be at most 64',
      '.key: is not a known key',
    ],
  ],
  [
    'sftp',
    {
      host: 'h',
      username: 'u',
      password: 'p',
      privateKey: '-----BEGIN OPENSSH PRIVATE KEY-----',
      passphrase: 's',
      hostKey: [`SHA256:${'a'.repeat(43)}`],
      knownHostsFile: 'f',
    },
    [
      '.privateKey: must not be used together with password',
      '.knownHostsFile: must not be used together with hostKey',
      '.passphrase: is for a private key',
    ],
  ],
  ['ftp', {}, ['.host: is required', '.username: is required', '.password: is required']],
  [
    'ftp',
    { host: 'ftp://h/', username: 'u', password: 'p\r\nDELE a', directory: 'a\0', ca: 'x', tls: 'yes' },
    [
      '.host: must be the name or address of a host',
      '.password: must not hold line breaks or NUL characters',
      '.directory: must not hold line breaks or NUL characters',
      '.tls: must be true or false',
      '.ca: must be certificates in PEM',
    ],
  ],
  [
    'sftp',
    { host: 'h', username: 'u', privateKey: 'ssh-ed25519 AAAA', hostKey: `SHA256:${'a'.repeat(43)}` },
    ['.privateKey: must be a private key (-----BEGIN ... or PuTTY-User-Key-File-...)'],
  ],
  ...['AccountName=a', 'BlobEndpoint=https://a.test/;AccountKey=', 'AccountKey=a2V5'].map(
    (connectionString) =>
      [
        'azure',
        { container: 'media', connectionString },
        ['.connectionString: must be a connection string of a storage account, with its key or a signature'],
      ] as const,
  ),
  ...(['azure', 'gcs', 's3'] as const).map(
    (adapter) =>
      [
        adapter,
        {
          ...(adapter === 'azure'
            ? { container: 'media', accountUrl: 'https://a.blob.test/' }
            : { bucket: 'media' }),
          cacheControl: 'no-store\r\nx: y',
        },
        ['.cacheControl: must be the value of a header, in ASCII'],
      ] as const,
  ),
  ['azure', { container: 'Media' }, ['.container: must be the name of a container']],
  [
    's3',
    { bucket: 'b', prefix: 'a//b' },
    ['.prefix: must not hold //: no path of a source names such a key'],
  ],
  [
    'azure',
    { container: 'media', connectionString: 'UseDevelopmentStorage=true', prefix: 'a./b' },
    ['.prefix: must not hold a part that ends with a dot'],
  ],
  ['azure', { container: 'media' }, ['.accountUrl: one of accountUrl and connectionString is needed']],
  [
    'azure',
    { container: 'media', accountUrl: 'https://files.test/', accountKey: 'a2V5' },
    ['.accountKey: the address does not name the account; use connectionString'],
  ],
  [
    'azure',
    { container: 'media', accountUrl: 'https://a.blob.test/', accountKey: 'a2V5', sasToken: '?sv=1&sig=2' },
    ['.sasToken: only one of accountKey and sasToken can be used'],
  ],
  [
    'azure',
    { container: 'media', connectionString: 'AccountName=a;AccountKey=a2V5', accountKey: 'a2V5' },
    ['.connectionString: holds the key itself, so accountKey and sasToken must be absent'],
  ],
  ...['Archive', 'cool', 'P4'].map(
    (accessTier) =>
      [
        'azure',
        { container: 'media', accountUrl: 'https://a.blob.test/', accessTier },
        ['.accessTier: must be one of Hot, Cool, Cold: objects in other tiers cannot be read immediately'],
      ] as const,
  ),
  [
    'gcs',
    { bucket: 'media', storageClass: 'nearline' },
    ['.storageClass: must be the name of a storage class in capitals, such as NEARLINE'],
  ],
  ['gcs', { bucket: 'Media' }, ['.bucket: must be the name of a bucket']],
  [
    'gcs',
    { bucket: 'media', anonymous: true, credentialsFile: 'key.json' },
    ['.anonymous: must not be used together with credentialsFile'],
  ],
  [
    'gcs',
    { bucket: 'media', endpoint: 'storage.test', timeout: 0, projectId: '' },
    [
      '.projectId: must not be empty',
      '.endpoint: must be an http or https URL without a query',
      '.timeout: must be more than 0 seconds',
    ],
  ],
  ['s3', {}, ['.bucket: is required']],
  ['s3', 'bucket', [': must be an object']],
  [
    's3',
    {
      bucket: 'a/b',
      region: 5,
      connectTimeout: 3601,
      readTimeout: '60',
      maxAttempts: 11,
      credentials: { accessKeyId: 'a' },
      key: 'b',
    },
    [
      '.bucket: must be the name of a bucket',
      '.region: must be text',
      '.credentials.secretAccessKey: is required',
      '.connectTimeout: must be at most 3600 seconds',
      '.readTimeout: must be a number of seconds',
      '.maxAttempts: must be at most 10',
      '.key: is not a known key',
    ],
  ],
  ['memory', 5, [': must be an object']],
  [
    'memory',
    { maxBytes: 0, bytes: 1 },
    ['.maxBytes: must be a whole number of bytes above 0', '.bytes: is not a known key'],
  ],
];

describe('options of an adapter', () => {
  it.each([
    ['webdav', { url: 'https://dav.test/', username: null, timeout: null }],
    ['s3', { bucket: 'b', prefix: null, credentials: null }],
    ['s3', { bucket: 'b', credentials: { accessKeyId: 'a', secretAccessKey: 'b', sessionToken: null } }],
    [
      'sftp',
      {
        host: 'h',
        username: 'u',
        password: 'p',
        privateKey: null,
        hostKey: `SHA256:${'a'.repeat(43)}`,
        port: null,
      },
    ],
    ['memory', { maxBytes: null }],
  ])('keep their defaults where they are null: %s %j', async (adapter, options) => {
    const source = {
      title: 'Files',
      baseurl: 'https://files.test/',
      storageAdapter: adapter,
      [adapter]: options,
    };
    await createApp({ sources: { files: source } }, {}, { logger: createSilentLogger() }).close();
  });
});

describe('wrong options of an adapter', () => {
  it.each(cases)('are told in plain words: %s %j', (adapter, options, problems) => {
    expect(problemsOf(adapter, options)).toEqual(
      problems.map((problem) => `sources.files.${adapter}${problem}`),
    );
  });
});

it('makes the paths of files absolute: the process may change its directory later', () => {
  const gcs = parseGcsOptions({ bucket: 'media', credentialsFile: 'key.json' });
  expect(gcs).toMatchObject({ value: { credentialsFile: resolve('key.json') } });
  const login = { host: 'h', username: 'u', privateKeyFile: './id', knownHostsFile: 'hosts' };
  expect(parseSftpOptions(login)).toMatchObject({
    value: { privateKeyFile: resolve('id'), knownHostsFile: resolve('hosts') },
  });
});

it('have a type for configurations in TypeScript, and a page', () => {
  const page = readFileSync('docs/configuration.md', 'utf8');
  const adapters = [...page.matchAll(/^## Options of the (\w+) adapter$/gmu)].map(([, name = '']) => name);
  const types = readFileSync('packages/stowage/src/config/types.ts', 'utf8');
  expect(adapters).toContain('s3');
  expect(adapters.filter((name) => !types.includes(`readonly ${name}?: Written<`))).toEqual([]);
  expect(adapters.filter((name) => !existsSync(`docs/${name}.md`))).toEqual([]);
});
