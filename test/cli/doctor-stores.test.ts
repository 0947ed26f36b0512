import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startFtpStub } from '../../tools/test-servers/ftp-stub.ts';
import { hasSshd, startSshd } from '../../tools/test-servers/ssh.ts';
import { S3Stub } from '../../tools/test-servers/s3-stub.ts';
import { makeCertificate, startTlsFront } from '../../tools/test-servers/tls-front.ts';
import {
  closed,
  examine,
  expectFinding,
  healthy,
  here,
  useFolders,
  withSource,
  type Config,
  type Row,
} from './doctor.ts';
import { answerAll, proxyTo, refuse } from './web-servers.ts';

useFolders();

const readable = (source: Config, more: Config = {}): Config => {
  const config = withSource({}, { sources: { photos: source }, ...more });
  // Not a setting: `examine` makes the file readable for everybody.
  return Object.defineProperty(config, 'mode', { value: 0o644, enumerable: false });
};

const s3 = (endpoint: string, more: Config = {}): Config => ({
  ...healthy(),
  sources: {
    photos: {
      title: 'Bucket',
      storageAdapter: 's3',
      serve: 'public',
      s3: {
        bucket: 'photos',
        endpoint,
        forcePathStyle: true,
        maxAttempts: 1,
        credentials: { accessKeyId: 'k', secretAccessKey: 's' },
        ...more,
      },
    },
  },
});

let bucket: S3Stub;

const stub = async (): Promise<S3Stub> => {
  bucket = await S3Stub.start();
  onTestFinished(() => bucket.close());
  return bucket;
};

/** A bucket that refuses what this says. */
const bucketBut = async (
  refused: (method: string, url: URL) => readonly [status: number, code: string] | undefined,
): Promise<Config> => {
  const { endpoint } = await stub();
  const proxy = await proxyTo(endpoint, {
    meddle: ({ method = '', url = '/' }, response) => {
      const refusal = refused(method, new URL(url, endpoint));
      return refusal !== undefined && refuse(response, ...refusal);
    },
  });
  return s3(proxy);
};

const denied = [403, 'AccessDenied'] as const;
const isListing = (url: URL): boolean => url.searchParams.has('list-type');

const stores: readonly Row[] = [
  [
    'a key that may not write',
    () => bucketBut((method) => (method === 'PUT' ? denied : undefined)),
    'store.write',
    'broken',
    /files cannot be written: .*AccessDenied/u,
    /Allow s3:PutObject/u,
  ],
  [
    'a key that may not read',
    () => bucketBut((method, url) => (method === 'GET' && !isListing(url) ? denied : undefined)),
    'store.read',
    'broken',
    /files cannot be read: .*AccessDenied/u,
    /Allow s3:GetObject/u,
  ],
  [
    'a key that may not list',
    () => bucketBut((_method, url) => (isListing(url) ? denied : undefined)),
    'store.list',
    'broken',
    /files cannot be listed: .*AccessDenied/u,
    /Allow s3:ListBucket/u,
  ],
  [
    'a key that may not remove',
    () =>
      bucketBut((method, url) =>
        method === 'DELETE' || url.searchParams.has('delete') ? denied : undefined,
      ),
    'store.remove',
    'broken',
    /files cannot be removed: .*AccessDenied/u,
    /Allow s3:DeleteObject/u,
  ],
  [
    'what could not be removed',
    () =>
      bucketBut((method, url) =>
        method === 'DELETE' || url.searchParams.has('delete') ? denied : undefined,
      ),
    'left-behind',
    'risk',
    /stowage-doctor-.* is left in the root/u,
    /yourself/u,
  ],
  [
    'a wrong key',
    () => bucketBut(() => [403, 'InvalidAccessKeyId']),
    'store.write',
    'broken',
    /InvalidAccessKeyId/u,
    /Correct sources\.photos\.s3\.credentials/u,
  ],
  [
    'a clock that the store refuses',
    () => bucketBut(() => [403, 'RequestTimeTooSkewed']),
    'store.write',
    'broken',
    /RequestTimeTooSkewed/u,
    /timedatectl/u,
  ],
  [
    'a bucket that is not there',
    () => bucketBut(() => [404, 'NoSuchBucket']),
    'store.write',
    'broken',
    /NoSuchBucket/u,
    /Make the bucket, or correct/u,
  ],
  [
    'nobody at the endpoint',
    () => s3(closed),
    'store.write',
    'broken',
    /ECONNREFUSED/u,
    /Correct sources\.photos\.s3\.endpoint/u,
  ],
  [
    'a wrong password',
    async () => ({
      ...healthy(),
      sources: {
        photos: {
          title: 'D',
          storageAdapter: 'webdav',
          serve: 'public',
          webdav: {
            url: `${await answerAll(401, '', { 'www-authenticate': 'Basic realm="a"' })}/`,
            username: 'a',
            password: 'b',
          },
        },
      },
    }),
    'store.write',
    'broken',
    /files cannot be written/u,
    /Correct username and password/u,
  ],
  [
    'secrets in a file for all',
    async () =>
      readable({
        title: 'D',
        storageAdapter: 'webdav',
        serve: 'public',
        webdav: { url: `${await answerAll(500)}/`, username: 'a', password: 'b' },
      }),
    'secrets',
    'risk',
    /every user of this machine can read sources\.photos\.webdav\.password/u,
    /^chmod o-rwx/u,
  ],
  [
    'secrets of all kinds in a file for all',
    () => {
      vi.stubEnv('SAS', 'sig=secret');
      return readable(
        {
          title: 'D',
          root: here.root,
          serve: 'public',
          azure: { accountKey: 'a', connectionString: 'b', sasToken: { env: 'SAS' } },
          webdav: { token: 'c', headers: { 'X-Api-Key': 'd' }, username: 'e' },
        },
        {
          stateDirectory: here.folder,
          webhooks: [{ url: 'https://hooks.example/', secret: 's'.repeat(32) }],
          redis: { url: 'redis://user:password@127.0.0.1:1' },
        },
      );
    },
    'secrets',
    'risk',
    /can read sources\.photos\.azure\.accountKey, sources\.photos\.azure\.connectionString, sources\.photos\.webdav\.token, sources\.photos\.webdav\.headers\.X-Api-Key, webhooks\.0\.secret, redis\.url in /u,
    /^chmod o-rwx/u,
  ],
];

describe('the doctor finds', () => {
  it.each(stores)('%s', async (...row) => {
    const problems = await expectFinding(row);
    const left = problems.some(({ check }) => check === 'left-behind');
    if (!row[0].startsWith('a key')) return;
    const keys = [...bucket.objects.keys()].filter((key) => !key.startsWith('.stowage-tmp/'));
    expect(keys).toHaveLength(left ? 1 : 0);
  });

  it.skipIf(!hasSshd)(
    `the unknown key of a server${hasSshd ? '' : ' (openssh-server is not installed)'}`,
    async () => {
      const server = await startSshd();
      onTestFinished(() => server.stop());
      const files = { title: 'Files', storageAdapter: 'sftp', serve: 'public' };
      const known = { ...files, sftp: server.options };
      const ofStore = async (source: Config): Promise<readonly string[]> =>
        (await examine({ ...healthy(), sources: { photos: source } }))
          .filter(({ check, level }) => check.startsWith('store') && level !== 'note')
          .map(({ level, text, fix }) => `${level}: ${text} ${fix ?? ''}`);
      expect(await ofStore(known)).toEqual([expect.stringMatching(/^ok: /u)]);
      const unknown = { ...files, sftp: { ...server.options, hostKey: `SHA256:${'a'.repeat(43)}` } };
      expect(await ofStore(unknown)).toContainEqual(
        expect.stringMatching(
          /^broken: .*unknown host key, SHA256:.* only then add it to sources\.photos\.sftp/u,
        ),
      );
    },
  );

  it('a server that does not offer the TLS that is wanted', async () => {
    const server = await startFtpStub();
    onTestFinished(() => server.close());
    const ftp = { host: '127.0.0.1', port: server.port, username: 'u', password: 'p', tls: true };
    const photos = { title: 'Files', storageAdapter: 'ftp', serve: 'public', ftp };
    const found = await examine({ ...healthy(), sources: { photos } });
    expect(found.map(({ level, text, fix }) => `${level}: ${text} ${fix ?? ''}`)).toContainEqual(
      expect.stringMatching(/^broken: .*does not offer TLS.* sources\.photos\.ftp\.tls/u),
    );
  });

  it('a store that is full', async () => {
    const webdav = { url: `${await answerAll(507)}/` };
    const photos = { title: 'Files', storageAdapter: 'webdav', serve: 'public', webdav };
    const found = await examine({ ...healthy(), sources: { photos } });
    expect(found.find(({ check }) => check === 'store.write')?.fix).toMatch(
      /^Make room in the store of sources\.photos\.webdav/u,
    );
  });

  it.each([
    ['redirects to a bucket right', false, 'ok', /redirects to the bucket, which responds/u],
    [
      'redirects to a bucket that refuses its visitors',
      true,
      'broken',
      /leads to something else: .*AccessDenied/u,
    ],
  ] as const)('%s', async (_title, isRefused, level, text) => {
    const config = await bucketBut((_method, url) =>
      isRefused && url.searchParams.has('X-Amz-Signature') ? denied : undefined,
    );
    const { photos } = config['sources'] as { photos: Config };
    const sources = { photos: { ...photos, delivery: 'redirect' } };
    expect(await examine({ ...config, sources })).toContainEqual(
      expect.objectContaining({ check: 'serve', level, text: expect.stringMatching(text) as string }),
    );
  });

  it('a certificate that is not trusted, once', async () => {
    const front = await startTlsFront(await makeCertificate(), closed);
    onTestFinished(() => front.close());
    const broken = (await examine(s3(front.origin))).filter(({ level }) => level === 'broken');
    expect(broken.map(({ fix }) => fix)).toEqual([
      expect.stringMatching(/certificate that is trusted .* sources\.photos\.s3\.ca/u),
    ]);
  });

  it('a server that cannot be reached, once', async () => {
    const photos = { title: 'Files', storageAdapter: 'webdav', serve: 'public', webdav: { url: closed } };
    const found = await examine({ ...healthy(), sources: { photos } });
    const broken = found.filter(({ level }) => level === 'broken');
    expect(broken.map(({ check }) => check)).toEqual(['store.write']);
  });

  it('tells the rights of a bucket apart', async () => {
    const config = await bucketBut((method, url) =>
      method === 'DELETE' || (method === 'GET' && !isListing(url)) ? denied : undefined,
    );
    const broken = (await examine(config)).filter(({ level }) => level === 'broken');
    expect(broken.map(({ check }) => check)).toEqual(['store.read', 'serve', 'store.remove']);
  });

  it('a secret in a file for all that CONFIG_FILE names', async () => {
    vi.stubEnv('CONFIG_FILE', join(here.folder, 'stowage.json'));
    const found = await examine(
      readable({ title: 'D', root: here.root, serve: 'public' }, { signingSecret: 's'.repeat(32) }),
      {
        config: undefined,
      },
    );
    expect(found).toContainEqual(
      expect.objectContaining({
        check: 'secrets',
        level: 'risk',
        text: expect.stringMatching(/signingSecret/u),
      }),
    );
  });
});
