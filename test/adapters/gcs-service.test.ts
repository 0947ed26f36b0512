import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { type App, type StorageAdapterOptions } from 'stowage';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { GcsAdapter, parseGcsOptions } from '#internals';
import { at, itIsAnObjectService, MB, openServiceWith } from './object-service.ts';
import { inPieces, outcomeOf } from './outcomes.ts';
import { FaultProxy } from '../../tools/test-servers/fault-proxy.ts';
import { startGcs, type GcsServer } from '../../tools/test-servers/gcs-login.ts';

type Options = NonNullable<StorageAdapterOptions['gcs']>;

const operationOf = ({ method = '', url = '' }: IncomingMessage): string => {
  const { searchParams, pathname } = new URL(url, 'http://proxy');
  if (pathname.includes('/rewriteTo/')) return 'COPY';
  if (searchParams.has('upload_id')) return `${method} session`;
  if (searchParams.has('uploadType')) return `POST ${searchParams.get('uploadType') ?? ''}`;
  return searchParams.get('alt') === 'media' ? 'media' : method;
};

describe('a source in a bucket of Google Cloud Storage', () => {
  let server: GcsServer;
  let proxy: FaultProxy;

  beforeAll(async () => {
    server = await startGcs('secret-bucket');
    proxy = await FaultProxy.start(server.emulator.endpoint, operationOf);
  });
  afterEach(() => {
    proxy.reset();
    server.emulator.sessionsAt = undefined;
  });
  afterAll(async () => {
    await proxy?.close();
    await server?.stop();
  });

  const optionsOf = (more: Partial<Options> = {}) => ({
    bucket: server.emulator.bucket,
    endpoint: server.emulator.endpoint,
    credentialsFile: server.credentialsFile,
    ...more,
    prefix: randomUUID(),
  });

  const openApp = (gcs: Options): App => openServiceWith('gcs', gcs);

  /** A store behind the proxy, whose upload sessions are there too. */
  const openStore = (prefix: string): GcsAdapter => {
    server.emulator.sessionsAt = proxy.endpoint;
    const parsed = parseGcsOptions({ ...optionsOf({ endpoint: proxy.endpoint, timeout: 2 }), prefix });
    if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
    const adapter = new GcsAdapter(parsed.value);
    onTestFinished(() => adapter.close());
    return adapter;
  };

  itIsAnObjectService(() => ({
    storageAdapter: 'gcs',
    storing: {
      options: { cacheControl: 'max-age=3600', storageClass: 'NEARLINE' },
      storageClass: 'NEARLINE',
    },
    optionsOf: (prefix) => ({ ...optionsOf(), prefix }),
    kept: async (key) => {
      const found = server.emulator.objects.get(key);
      if (found === undefined) throw new Error(`nothing has the key ${key}`);
      const { contentType, cacheControl, storageClass } = found.attributes as Record<string, string>;
      return { content: found.content, contentType, cacheControl, storageClass };
    },
    put: async (key, content) => {
      server.emulator.put(key, content);
    },
    setAttributes: async (key, attributes) => {
      server.emulator.put(key, server.emulator.objects.get(key)?.content ?? '', { ...attributes });
    },
    attributes: async (key) => server.emulator.objects.get(key)?.attributes ?? {},
    keys: async (prefix) => server.emulator.keys(prefix),
    openStore,
    proxy,
    operations: { look: 'GET', download: 'media' },
    secrets: ['secret-bucket', '127.0.0.1'],
    expectEnd: ({ searchParams }) => expect(searchParams.get('X-Goog-Expires')).toBe('300'),
  }));

  it('lets a project pay for requests only when it is to', async () => {
    server.emulator.sessionsAt = proxy.endpoint;
    for (const [more, expected] of [
      [{ projectId: 'ours' }, [null]],
      [{ projectId: 'ours', userProject: 'payer' }, ['payer']],
    ] as const) {
      proxy.reset();
      const app = openApp(optionsOf({ endpoint: proxy.endpoint, ...more }));
      onTestFinished(() => app.close());
      expect((await app.fetch(new Request('http://localhost/?action=files'))).status).toBe(200);
      const paying = proxy.seen.map(({ url }) =>
        new URL(url, 'http://proxy').searchParams.get('userProject'),
      );
      expect([...new Set(paying)]).toEqual(expected);
    }
  });

  it('leaves no session of an upload that is cut off', async () => {
    const adapter = openStore(randomUUID());
    const broken = Readable.from(
      (async function* () {
        for (let sent = 0; sent < 20; sent += 1) yield Buffer.alloc(MB);
        throw new Error('broken');
      })(),
      { objectMode: false },
    );
    await expect(adapter.write(at('new.bin'), broken)).rejects.toThrow('broken');
    expect(server.emulator.sessions.size).toBe(0);
  });

  it('recognises its own writes and copies whose answers were lost', async () => {
    const prefix = randomUUID();
    const adapter = openStore(prefix);
    const bytes = Buffer.from(
      Uint8Array.from({ length: 17 * MB + 5 }, (_, index) => (index * 31 + (index >> 8)) & 255),
    );
    for (const [operation, size, from] of [
      ['POST multipart', 5, 1],
      ['PUT session', 17 * MB + 5, 2],
      ['PUT session', 17 * MB + 4, 3],
    ] as const) {
      proxy.fail({ operation, effect: { kind: 'lose' }, from, times: 1 });
      const name = `${String(size)}.bin`;
      const content = bytes.subarray(0, size);
      const { etag } = await adapter.write(at(name), inPieces(content), { createOnly: true });
      expect((await adapter.stat(at(name))).etag).toBe(etag);
      expect(server.emulator.objects.get(`${prefix}/${name}`)?.content.equals(content)).toBe(true);
    }
    // In several steps, and the last answer is lost.
    proxy.fail({ operation: 'COPY', effect: { kind: 'lose' }, from: 5, times: 1 });
    const large = at(`${String(17 * MB + 5)}.bin`);
    await adapter.copyFile(large, at('copy.bin'), { createOnly: true });
    expect(server.emulator.objects.get(`${prefix}/copy.bin`)?.content.equals(bytes)).toBe(true);
    expect(await outcomeOf(adapter.copyFile(large, at('copy.bin'), { createOnly: true }), [])).toBe(
      'ALREADY_EXISTS',
    );
  });

  it('takes a removal whose answer was lost for made, and keeps what has come in place of the file', async () => {
    const prefix = randomUUID();
    const adapter = openStore(prefix);
    const lost = () => proxy.fail({ operation: 'DELETE', effect: { kind: 'lose' }, times: 1 });
    for (const name of ['a.txt', 'f/b.txt', 'g/c.txt', 'd.txt'])
      await adapter.write(at(name), inPieces(Buffer.from(name)));
    lost();
    await adapter.removeFile(at('a.txt'));
    lost();
    await adapter.removeFolder(at('f'));
    lost();
    await adapter.moveFolder(at('g'), at('h'));
    expect(server.emulator.keys(`${prefix}/`)).toEqual(['d.txt', 'h/', 'h/c.txt']);
    lost();
    proxy.before('DELETE', 2, async () => server.emulator.put(`${prefix}/d.txt`, 'newer'));
    expect(await outcomeOf(adapter.removeFile(at('d.txt')), [])).toBe('CHANGED_MEANWHILE');
    expect(server.emulator.keys(`${prefix}/`)).toContain('d.txt');
  });

  it('sends a request again that was one too many in a second', async () => {
    const adapter = openStore(randomUUID());
    const body = JSON.stringify({ error: { errors: [{ reason: 'rateLimitExceeded' }] } });
    proxy.fail({ operation: 'POST multipart', effect: { kind: 'answer', status: 403, body }, times: 1 });
    await adapter.write(at('a.txt'), inPieces(Buffer.from('a')));
    expect(proxy.counts()).toMatchObject({ 'POST multipart': 2 });
  });

  it('sends again what the service has not kept of a part', async () => {
    const prefix = randomUUID();
    const adapter = openStore(prefix);
    const bytes = Buffer.alloc(9 * MB, 'stowage');
    proxy.fail({ operation: 'PUT session', effect: { kind: 'answer', status: 308 }, times: 1 });
    await adapter.write(at('a.bin'), inPieces(bytes));
    // More requests for each part than are sent without progress.
    server.emulator.mostOfPart = MB / 2;
    onTestFinished(() => void (server.emulator.mostOfPart = Infinity));
    await adapter.write(at('b.bin'), inPieces(bytes));
    for (const name of ['a.bin', 'b.bin'])
      expect(server.emulator.objects.get(`${prefix}/${name}`)?.content.equals(bytes)).toBe(true);
  });

  it('stores content whole that holds what another upload was marked off with', async () => {
    const prefix = randomUUID();
    const adapter = openStore(prefix);
    const boundaries = async (content: string): Promise<string> => {
      await adapter.write(at('a.txt'), inPieces(Buffer.from(content)));
      expect(server.emulator.objects.get(`${prefix}/a.txt`)?.content.toString()).toBe(content);
      return server.emulator.boundary;
    };
    const first = await boundaries('a');
    expect(await boundaries(`before\r\n--${first}--\r\nafter`)).not.toBe(first);
  });

  it('reads what another tool has stored compressed, whole and in part', async () => {
    const prefix = randomUUID();
    const adapter = openStore(prefix);
    const packed = gzipSync('body { color: red }');
    server.emulator.put(`${prefix}/a.css`, packed, { contentEncoding: 'gzip' });
    const { stat, stream } = await adapter.read(at('a.css'));
    expect(stat.size).toBe(packed.length);
    expect((await buffer(stream)).equals(packed)).toBe(true);
    const part = await adapter.read(at('a.css'), { range: { start: 1, end: 4 } });
    expect((await buffer(part.stream)).equals(packed.subarray(1, 5))).toBe(true);
  });

  it('reads what has just replaced a file, also in a bucket that everybody can read', async () => {
    server.emulator.isPublic = true;
    onTestFinished(() => void (server.emulator.isPublic = false));
    const adapter = openStore(randomUUID());
    for (const content of ['old', 'newer']) {
      await adapter.write(at('a.txt'), inPieces(Buffer.from(content)));
      const { stat, stream } = await adapter.read(at('a.txt'));
      expect(String(await buffer(stream))).toBe(content);
      expect(stat.etag).toBe((await adapter.stat(at('a.txt'))).etag);
    }
  });

  it('reveals nothing of the bucket when the login is wrong or the service does not respond', async () => {
    for (const more of [
      { credentialsFile: server.strangersFile },
      { credentialsFile: '/missing/secret.json' },
      { bucket: 'other-secret-bucket' },
      { endpoint: 'http://127.0.0.1:9', maxAttempts: 1 },
    ]) {
      const app = openApp(optionsOf(more));
      for (const path of ['/files?source=files', '/folderCreate?source=files&name=a']) {
        const answer = await app.fetch(new Request(`http://service${path}`));
        expect([403, 500, 503]).toContain(answer.status);
        expect(await answer.text()).not.toMatch(/secret|127\.0\.0\.1|tests\.iam|missing\//u);
      }
    }
  });
});
