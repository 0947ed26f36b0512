import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  azuriteMissing,
  makeContainer,
  startAzurite,
  type Azurite,
} from '../../tools/test-servers/azurite.ts';
import { startGcs, type GcsServer } from '../../tools/test-servers/gcs-login.ts';
import { closed, examine, expectFinding, healthy, useFolders, type Config, type Row } from './doctor.ts';
import { proxyTo, refuse } from './web-servers.ts';

useFolders();

type Refuses = (method: string, url: URL) => boolean;

const isListing = ({ searchParams }: URL): boolean =>
  searchParams.get('comp') === 'list' || searchParams.has('maxResults');

/** Requests that need each right; writing is all that changes an object. */
const needing = {
  write: (method) => method === 'PUT' || method === 'POST',
  list: (method, url) => method === 'GET' && isListing(url),
  read: (method, url) =>
    method === 'GET' && !isListing(url) && (url.searchParams.get('alt') ?? 'media') === 'media',
  remove: (method) => method === 'DELETE',
} as const satisfies Record<string, Refuses>;

const source = (storageAdapter: string, options: object): Config => ({
  ...healthy(),
  sources: { photos: { title: 'Cloud', storageAdapter, serve: 'public', [storageAdapter]: options } },
});

const storeFindings = async (config: Config): Promise<readonly string[]> =>
  (await examine(config))
    .filter(({ check, level }) => level !== 'note' && (check.startsWith('store') || check === 'left-behind'))
    .map(({ check, level }) => `${check}: ${level}`);

describe.skipIf(azuriteMissing !== undefined)(
  `the doctor finds in a container of Azure${azuriteMissing === undefined ? '' : ` (skipped: ${azuriteMissing})`}`,
  () => {
    let server: Azurite;
    let container: string;

    beforeAll(async () => {
      server = await startAzurite();
      container = (await makeContainer(server)).name;
    });
    afterAll(() => server?.stop());

    const azure = (more: Config = {}): Config => {
      const { accountUrl, accountKey } = server;
      return source('azure', { container, accountUrl, accountKey, maxAttempts: 1, ...more });
    };

    /** A container that refuses what this says with this code. */
    const refusing = async (refused: Refuses, code = 'AuthorizationPermissionMismatch', status = 403) => {
      const { origin, pathname } = new URL(server.accountUrl);
      const proxy = await proxyTo(origin, {
        meddle: ({ method = '', url = '/' }, response) =>
          refused(method, new URL(url, origin)) &&
          refuse(response.setHeader('x-ms-error-code', code), status, code),
      });
      return azure({ accountUrl: `${proxy}${pathname}` });
    };

    const rows: readonly Row[] = [
      ...(
        [
          ['write', 'create and write'],
          ['list', 'list'],
          ['read', 'read'],
          ['remove', 'delete'],
        ] as const
      ).map(([right, words]): Row => [
        `a login without the right to ${words}`,
        () => refusing(needing[right]),
        `store.${right}`,
        'broken',
        /AuthorizationPermissionMismatch/u,
        new RegExp(`^Allow to ${words} blobs of sources\\.photos\\.azure\\.container`, 'u'),
      ]),
      [
        'a wrong key',
        () => azure({ accountKey: Buffer.from('wrong').toString('base64') }),
        'store.write',
        'broken',
        /AuthorizationFailure|AuthenticationFailed/u,
        /^(?:Correct the key or signature|Allow to create and write)/u,
      ],
      [
        'a key that the service does not accept',
        () => refusing(() => true, 'AuthenticationFailed'),
        'store.write',
        'broken',
        /AuthenticationFailed/u,
        /^Correct the key or signature of sources\.photos\.azure/u,
      ],
      [
        'a container that is not there',
        () => azure({ container: 'missing' }),
        'store.write',
        'broken',
        /ContainerNotFound/u,
        /^Make the container, or correct sources\.photos\.azure\.container/u,
      ],
      [
        'nobody at the address',
        () => azure({ accountUrl: `${closed}/stowagetests` }),
        'store.write',
        'broken',
        /ECONNREFUSED|REQUEST_SEND_ERROR/u,
        /^Correct the address of sources\.photos\.azure/u,
      ],
    ];

    it.each(rows)('%s', async (...row) => {
      await expectFinding(row);
    });

    it('nothing where all is well, and leaves nothing', async () => {
      expect(await storeFindings(azure())).toEqual(['store: ok']);
      const names: string[] = [];
      for await (const { name } of server.service.getContainerClient(container).listBlobsFlat())
        names.push(name);
      // What could not be removed in the case about that.
      expect(names.filter((name) => !name.startsWith('.stowage-tmp/'))).toHaveLength(1);
    });

    it('says nothing of the key', async () => {
      const { accountKey } = server;
      const findings = await examine(await refusing(() => true, 'AuthenticationFailed'));
      expect(JSON.stringify(findings)).not.toContain(accountKey);
    });
  },
);

describe('the doctor finds in a bucket of Google', () => {
  let server: GcsServer;

  beforeAll(async () => {
    server = await startGcs('photos-of-trips');
  });
  afterAll(() => server?.stop());

  const gcs = (more: Config = {}): Config => {
    const { endpoint, bucket } = server.emulator;
    const { credentialsFile } = server;
    return source('gcs', { bucket, endpoint, credentialsFile, maxAttempts: 1, ...more });
  };

  const refusing = async (refused: Refuses): Promise<Config> => {
    const { endpoint } = server.emulator;
    const text = JSON.stringify({ error: { code: 403, errors: [{ reason: 'forbidden' }] } });
    const proxy = await proxyTo(endpoint, {
      meddle: ({ method = '', url = '/' }, response) => {
        if (!refused(method, new URL(url, endpoint))) return false;
        response.writeHead(403, { 'content-type': 'application/json' }).end(text);
        return true;
      },
    });
    return gcs({ endpoint: proxy });
  };

  const rows: readonly Row[] = [
    ...(
      [
        ['write', 'create'],
        ['list', 'list'],
        ['read', 'get'],
        ['remove', 'delete'],
      ] as const
    ).map(([right, word]): Row => [
      `a login without the right to ${right}`,
      () => refusing(needing[right]),
      `store.${right}`,
      'broken',
      /forbidden/u,
      new RegExp(`allow storage\\.objects\\.${word} to its account on the bucket`, 'u'),
    ]),
    [
      'a login that nobody knows',
      () => gcs({ credentialsFile: server.strangersFile }),
      'store.write',
      'broken',
      /files cannot be written/u,
      /^Correct sources\.photos\.gcs\.credentialsFile/u,
    ],
    [
      'a login that is not there',
      () => gcs({ credentialsFile: '/missing/key.json' }),
      'store.write',
      'broken',
      /ENOENT.*the file with the key cannot be read/u,
      /^Correct sources\.photos\.gcs\.credentialsFile/u,
    ],
    [
      'a bucket that is not there',
      () => gcs({ bucket: 'another-bucket' }),
      'store.list',
      'broken',
      /no such bucket/u,
      /^Make the bucket, correct sources\.photos\.gcs\.bucket/u,
    ],
    [
      'nobody at the endpoint',
      () => gcs({ endpoint: closed }),
      'store.write',
      'broken',
      /ECONNREFUSED/u,
      /^Make the bucket, correct sources\.photos\.gcs\.bucket or endpoint/u,
    ],
  ];

  it.each(rows)('%s', async (...row) => {
    await expectFinding(row);
  });

  it('nothing where all is well, and leaves nothing', async () => {
    server.emulator.objects.clear();
    expect(await storeFindings(gcs())).toEqual(['store: ok']);
    expect(server.emulator.keys('').filter((name) => !name.startsWith('.stowage-tmp/'))).toEqual([]);
  });
});
