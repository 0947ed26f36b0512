import { spawn } from 'node:child_process';
import dns from 'node:dns';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent as PlainAgent, createServer } from 'node:http';
import { Agent } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { runsEverything } from '../before-release.ts';
import { SourcePath } from 'stowage/storage';
import { KnownServices, S3Adapter, parseS3Options } from '#internals';
import { startInstance } from '../../tools/test-servers/instance.ts';
import { S3Stub, type Dialect } from '../../tools/test-servers/s3-stub.ts';

const MB = 1024 * 1024;
const at = (path: string) => SourcePath.parse(path);
const credentials = { accessKeyId: 'key-of-the-options', secretAccessKey: 'secret' };

const openAdapter = (options: Readonly<Record<string, unknown>>, services?: KnownServices): S3Adapter => {
  const parsed = parseS3Options({ bucket: 'bucket', credentials: { ...credentials }, ...options });
  if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
  const adapter = new S3Adapter(parsed.value, undefined, services);
  onTestFinished(() => adapter.close());
  return adapter;
};

const startStub = async (dialect: Dialect = {}): Promise<S3Stub> => {
  const stub = await S3Stub.start(dialect);
  onTestFinished(() => stub.close());
  return stub;
};

const put = (adapter: S3Adapter, path: string, content: string | Buffer, options = {}) =>
  adapter.write(at(path), Readable.from([Buffer.from(content)], { objectMode: false }), options);

describe('what objects of an s3 source are stored with', () => {
  const all = {
    serverSideEncryption: 'aws:kms',
    sseKmsKeyId: 'key-1',
    storageClass: 'STANDARD_IA',
    cacheControl: 'max-age=60',
  };
  const sealed = {
    'x-amz-server-side-encryption': 'aws:kms',
    'x-amz-server-side-encryption-aws-kms-key-id': 'key-1',
    'x-amz-storage-class': 'STANDARD_IA',
  };

  it('is sent with every request that makes an object, also with copies and uploads in parts', async () => {
    const stub = await startStub();
    const adapter = openAdapter({ endpoint: stub.endpoint, forcePathStyle: true, ...all });
    await put(adapter, 'small.jpg', 'small');
    await put(adapter, 'large.mp4', Buffer.alloc(9 * MB));
    await adapter.makeFolder(at('folder'));
    await adapter.copyFile(at('small.jpg'), at('copy.jpg'));
    await adapter.copyFile(at('large.mp4'), at('copy.mp4'));
    const headersOf = (operation: string, key: string) =>
      stub.requests.find((one) => one.operation === operation && one.path.startsWith(`/bucket/${key}?`))
        ?.headers;
    const own = { ...sealed, 'cache-control': 'max-age=60' };
    expect(headersOf('PutObject', 'small.jpg')).toMatchObject({ ...own, 'content-type': 'image/jpeg' });
    expect(headersOf('PutObject', 'folder/')).toMatchObject(own);
    expect(headersOf('CreateMultipartUpload', 'large.mp4')).toMatchObject({
      ...own,
      'content-type': 'video/mp4',
    });
    // What the copy of a whole object takes along by itself must not be given.
    expect(headersOf('CopyObject', 'copy.jpg')).toMatchObject(sealed);
    expect(headersOf('CopyObject', 'copy.jpg')).not.toHaveProperty('x-amz-metadata-directive');
    expect(headersOf('CreateMultipartUpload', 'copy.mp4')).toMatchObject({
      ...own,
      'content-type': 'video/mp4',
    });
    expect(headersOf('UploadPartCopy', 'copy.mp4')).toMatchObject({
      'x-amz-copy-source': 'bucket/large.mp4',
      'x-amz-copy-source-range': `bytes=0-${9 * MB - 1}`,
    });
    const acl = stub.requests
      .flatMap(({ headers }) => Object.keys(headers))
      .filter((name) => /acl|grant/u.test(name));
    expect(acl).toEqual([]);
  });

  it('is nothing of its own where the options say nothing', async () => {
    const stub = await startStub();
    const adapter = openAdapter({ endpoint: stub.endpoint, forcePathStyle: true });
    await put(adapter, 'a.jpg', 'a');
    const names = stub.requests.flatMap(({ headers }) => Object.keys(headers));
    expect(names.filter((name) => /server-side|storage-class|cache-control/u.test(name))).toEqual([]);
  });
});

/** Names of hosts are asked of this function until the test is over. */
const resolveWith = (answer: (host: string, done: (...found: unknown[]) => void) => void): void => {
  const { lookup } = dns;
  dns.lookup = ((host: string, { all }: { all?: boolean }, done: (...found: unknown[]) => void) =>
    answer(host, (error, found) => {
      const [first] = (found ?? []) as readonly { address: string; family: number }[];
      if (all === true) done(error, found);
      else done(error, first?.address, first?.family);
    })) as typeof lookup;
  onTestFinished(() => {
    dns.lookup = lookup;
  });
};

/** Connections to all hosts of AWS lead to the stub, without TLS. */
class ServicesAt extends KnownServices {
  readonly #port: number;

  constructor({ endpoint }: S3Stub) {
    super();
    this.#port = Number(new URL(endpoint).port);
  }

  override takeAgents() {
    const [http, https] = [new PlainAgent(), new Agent({ keepAlive: true })];
    https.createConnection = () => connect(this.#port, '127.0.0.1');
    return { http, https, release: () => https.destroy() };
  }
}

describe('how an s3 source finds its bucket', () => {
  it('in the region that AWS names, which it remembers for requests and signed URLs', async () => {
    const stub = await startStub({ region: 'eu-central-1' });
    const adapter = openAdapter({}, new ServicesAt(stub));
    await put(adapter, 'a.txt', 'a', { createOnly: true });
    await put(adapter, 'large.bin', Buffer.alloc(9 * MB));
    await Promise.all(['b.txt', 'c.txt'].map((name) => adapter.copyFile(at('a.txt'), at(name))));
    expect([...stub.objects.keys()].sort()).toEqual(['a.txt', 'b.txt', 'c.txt', 'large.bin']);
    expect(stub.seen.filter((operation) => operation === 'PermanentRedirect')).toHaveLength(1);
    const as = { lifetime: 60, contentType: 'text/plain', disposition: 'attachment' };
    const url = await adapter.temporaryUrl(at('a.txt'), as);
    expect(url).toMatch(/^https:\/\/bucket\.s3\.eu-central-1\..*-Credential=[^&]*%2Feu-central-1%2F/u);
  });

  it('at AWS, and sends it removals of many with a checksum that any machine can make', async () => {
    const stub = await startStub();
    const adapter = openAdapter({}, new ServicesAt(stub));
    for (const name of ['f/a.txt', 'f/b.txt']) await put(adapter, name, name);
    await adapter.removeFolder(at('f'));
    expect([...stub.objects.keys()]).toEqual([]);
    const { headers } = stub.requests.find(({ operation }) => operation === 'DeleteObjects') ?? {};
    expect(headers).toHaveProperty('x-amz-checksum-crc32');
    expect(headers).not.toHaveProperty('content-md5');
  });

  it.each([
    ['s3.dualstack.us-east-1.amazonaws.com', true],
    ['s3.cn-north-1.amazonaws.com.cn', true],
    ['s3.not-amazonaws.com', false],
  ])('at AWS where the endpoint is a host of it: %s', async (host, isAws) => {
    const stub = await startStub({ conditionalPut: 'obeyed' });
    const adapter = openAdapter({ endpoint: `https://${host}` }, new ServicesAt(stub));
    await put(adapter, 'a.txt', 'a', { createOnly: true });
    await adapter.copyFile(at('a.txt'), at('b.txt'), { createOnly: true });
    await adapter.removeFile(at('a.txt'));
    expect([...stub.objects.keys()]).toEqual(['b.txt']);
    const sent = (operation: string) => stub.requests.filter((one) => one.operation === operation);
    // Neither a trial nor a reservation before the copy; a checksum, and the version that is removed.
    expect(sent('PutObject')).toHaveLength(isAws ? 1 : 6);
    expect(sent('PutObject')[0]?.headers['x-amz-checksum-crc32'] !== undefined).toBe(isAws);
    expect(sent('DeleteObject').at(-1)?.headers['if-match'] !== undefined).toBe(isAws);
  });

  it('by the clock of the service, also in signed URLs', async () => {
    const HOUR = 3_600_000;
    const stub = await startStub({ clockAhead: HOUR });
    const adapter = openAdapter({ endpoint: stub.endpoint, forcePathStyle: true });
    await put(adapter, 'a.txt', 'a');
    const as = { lifetime: 60, contentType: 'text/plain', disposition: 'attachment' };
    const url = new URL((await adapter.temporaryUrl(at('a.txt'), as)) ?? '');
    const written = url.searchParams.get('X-Amz-Date') ?? '';
    const signed = Date.parse(written.replace(/^(....)(..)(..T..)(..)/u, '$1-$2-$3:$4:'));
    expect(Math.abs(signed - Date.now() - HOUR)).toBeLessThan(HOUR / 2);
  });

  it('at AWS where the options name no endpoint, whatever the environment says', async () => {
    const stub = await startStub();
    vi.stubEnv('AWS_ENDPOINT_URL_S3', stub.endpoint);
    vi.stubEnv('AWS_ENDPOINT_URL', stub.endpoint);
    onTestFinished(() => void vi.unstubAllEnvs());
    const hosts: string[] = [];
    resolveWith((host, done) => {
      hosts.push(host);
      done(Object.assign(new Error('no such host'), { code: 'ENOTFOUND' }));
    });
    const adapter = openAdapter({ region: 'eu-central-1', maxAttempts: 1 });
    await expect(adapter.stat(at('a.txt'))).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    expect(hosts).toEqual(['bucket.s3.eu-central-1.amazonaws.com']);
    expect(stub.requests).toEqual([]);
  });

  it('in the path or in the host, as the options say', async () => {
    const stub = await startStub();
    const { port } = new URL(stub.endpoint);
    const endpoint = `http://store.test:${port}`;
    // No resolver knows the name of a bucket on this machine.
    resolveWith((_host, done) => done(null, [{ address: '127.0.0.1', family: 4 }]));
    for (const [forcePathStyle, host, path] of [
      [true, `store.test:${port}`, '/bucket/a.txt?'],
      [false, `bucket.store.test:${port}`, '/a.txt?'],
      [undefined, `bucket.store.test:${port}`, '/a.txt?'],
    ] as const) {
      stub.requests.length = 0;
      await put(
        openAdapter({ endpoint, ...(forcePathStyle === undefined ? {} : { forcePathStyle }) }),
        'a.txt',
        'a',
      );
      const sent = stub.requests.find(({ operation }) => operation === 'PutObject');
      expect(sent?.host).toBe(host);
      expect(sent?.path.startsWith(path)).toBe(true);
    }
  });

  it.each([
    [{ publicBaseUrl: 'https://cdn.example/files' }, 'https://cdn.example/files/p/%C3%A4%20b.jpg'],
    [{ publicBaseUrl: 'https://cdn.example/files/' }, 'https://cdn.example/files/p/%C3%A4%20b.jpg'],
    [{}, 'https://bucket.s3.us-east-1.amazonaws.com/p/%C3%A4%20b.jpg'],
    [
      { region: 'eu-central-1', forcePathStyle: true },
      'https://s3.eu-central-1.amazonaws.com/bucket/p/%C3%A4%20b.jpg',
    ],
    [
      { endpoint: 'https://s3.example/base', forcePathStyle: true },
      'https://s3.example/base/bucket/p/%C3%A4%20b.jpg',
    ],
    [{ endpoint: 'https://s3.example', forcePathStyle: false }, 'https://bucket.s3.example/p/%C3%A4%20b.jpg'],
  ])('public URLs with %j begin with %s', (options, url) => {
    expect(openAdapter({ prefix: 'p', ...options }).publicUrl(at('ä b.jpg'))).toBe(url);
  });
});

describe('the signing key of an s3 source', () => {
  const keyOf = ({ requests }: S3Stub): string | undefined =>
    /Credential=([^/]+)\//u.exec(requests[0]?.headers.authorization ?? '')?.[1];

  it('is the key of the options, with its session token', async () => {
    const stub = await startStub();
    const own = { ...credentials, sessionToken: 'token-of-the-options' };
    await put(openAdapter({ endpoint: stub.endpoint, forcePathStyle: true, credentials: own }), 'a.txt', 'a');
    expect(keyOf(stub)).toBe('key-of-the-options');
    expect(stub.requests[0]?.headers['x-amz-security-token']).toBe('token-of-the-options');
  });

  /** What a service sees of an instance in this environment whose source names no key. */
  const ask = async (environment: NodeJS.ProcessEnv, names: readonly string[] = ['bucket']) => {
    const stub = await startStub();
    const source = {
      title: 'Bucket',
      baseurl: 'https://files.example/',
      storageAdapter: 's3',
      s3: { bucket: 'bucket', endpoint: stub.endpoint, forcePathStyle: true },
    };
    const sources = Object.fromEntries(names.map((name) => [name, source]));
    const none = {
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_ACCESS_KEY_ID: '',
      AWS_SECRET_ACCESS_KEY: '',
      AWS_PROFILE: '',
    };
    const nowhere = { AWS_SHARED_CREDENTIALS_FILE: '/dev/null', AWS_CONFIG_FILE: '/dev/null' };
    const instance = await startInstance(
      { sources },
      { environment: { ...none, ...nowhere, ...environment } },
    );
    onTestFinished(() => instance.stop());
    const answer = await fetch(`${instance.url}/files`);
    const { url } = instance;
    return { stub, url, status: answer.status, text: await answer.text(), log: instance.log() };
  };

  it.runIf(runsEverything)(
    'is the key of the environment, with its session token, and the SDK prints nothing',
    async () => {
      const { stub, status, log } = await ask({
        AWS_ACCESS_KEY_ID: 'key-of-the-environment',
        AWS_SECRET_ACCESS_KEY: 'secret',
        AWS_SESSION_TOKEN: 'token-of-the-environment',
      });
      expect(status).toBe(200);
      expect(keyOf(stub)).toBe('key-of-the-environment');
      expect(stub.requests[0]?.headers['x-amz-security-token']).toBe('token-of-the-environment');
      // Every line is one of the log.
      for (const line of log.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('message');
    },
  );

  it('is the key of the profile in the shared file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'stowage-aws-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'credentials');
    const profile = (name: string): string =>
      `[${name}]\naws_access_key_id = key-of-${name}\naws_secret_access_key = secret\n`;
    await writeFile(file, `${profile('default')}\n${profile('uploads')}`);
    const asDefault = await ask({ AWS_SHARED_CREDENTIALS_FILE: file });
    expect(keyOf(asDefault.stub)).toBe('key-of-default');
    const named = await ask({ AWS_SHARED_CREDENTIALS_FILE: file, AWS_PROFILE: 'uploads' });
    expect(keyOf(named.stub)).toBe('key-of-uploads');
  });

  it.runIf(runsEverything)(
    'is the new key of the shared file when the service says that the one before has expired',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'stowage-aws-'));
      onTestFinished(() => rm(folder, { recursive: true }));
      const file = join(folder, 'credentials');
      const rotate = (day: string): Promise<void> =>
        writeFile(
          file,
          `[default]\naws_access_key_id = key-of-${day}\naws_secret_access_key = s\naws_session_token = ${day}\n`,
        );
      await rotate('monday');
      const { stub, url, status } = await ask({ AWS_SHARED_CREDENTIALS_FILE: file });
      expect([status, keyOf(stub)]).toEqual([200, 'key-of-monday']);
      stub.put('a.txt', 'content');
      await rotate('tuesday');
      stub.expired.add('key-of-monday');
      stub.requests.length = 0;
      const answers = await Promise.all(
        ['files', 'fileDownload?name=a.txt', 'files'].map((action) => fetch(`${url}/${action}`)),
      );
      expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200]);
      expect(keyOf(stub)).toBe('key-of-tuesday');
    },
  );

  it('is the role of the task, which is asked for once however many sources there are', async () => {
    let asked = 0;
    const roles = createServer((_request, response) => {
      asked += 1;
      const key = { AccessKeyId: 'key-of-the-task', SecretAccessKey: 'secret', Token: 'token' };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ ...key, Expiration: new Date(Date.now() + 3_600_000).toISOString() }));
    });
    roles.listen(0, '127.0.0.1');
    await once(roles, 'listening');
    onTestFinished(() => void roles.close());
    const { port } = roles.address() as AddressInfo;
    const url = `http://127.0.0.1:${String(port)}/`;
    const { stub, status } = await ask({ AWS_CONTAINER_CREDENTIALS_FULL_URI: url }, ['a', 'b', 'c', 'd']);
    expect(status).toBe(200);
    expect(keyOf(stub)).toBe('key-of-the-task');
    expect(stub.requests.length).toBeGreaterThanOrEqual(4);
    expect(asked).toBe(1);
  });

  it('is missing where no key is found: an error that reveals nothing of the machine', async () => {
    const { stub, status, text } = await ask({});
    expect(status).toBe(500);
    expect(JSON.parse(text)).toMatchObject({ success: false, data: { code: 500 } });
    expect(text).not.toMatch(/credential|profile|\/|aws/iu);
    expect(stub.requests).toEqual([]);
  });
});

describe('how long an s3 source waits', () => {
  it('connectTimeout for each attempt where no host accepts the connection', async () => {
    const program = fileURLToPath(new URL('../../tools/test-servers/deaf-port.mjs', import.meta.url));
    const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
    const fillers: Socket[] = [];
    onTestFinished(() => {
      for (const socket of fillers) socket.destroy();
      child.kill('SIGKILL');
    });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const port = Number(line.toString());
    // The queue is full when a connection is not answered any more.
    for (let answered = true; answered;) {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      fillers.push(socket);
      const connected = once(socket, 'connect').then(() => true);
      answered = await Promise.race([connected, sleep(1000, false)]);
    }
    const limits = { connectTimeout: 0.5, readTimeout: 30, maxAttempts: 2 };
    const adapter = openAdapter({ endpoint: `http://127.0.0.1:${port}`, forcePathStyle: true, ...limits });
    await expect(adapter.stat(at('a.txt'))).rejects.toMatchObject({ code: 'STORAGE_TIMEOUT' });
    await expect(put(adapter, 'a.txt', 'a')).rejects.toMatchObject({ code: 'STORAGE_TIMEOUT' });
  }, 20_000);
});
