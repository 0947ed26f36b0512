import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp, type App, type ConfigInput, type ConnectorHooks } from 'stowage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createActions } from '#internals';
import { redisMissing, startRedis } from '../operations/redis.ts';
import { freePort } from '../../tools/test-servers/server-processes.ts';

type RateLimits = NonNullable<ConfigInput['rateLimits']>;

let root: string;
/** What lies in the root, without the temporary folder of the service. */
const stored = async (): Promise<string[]> => (await readdir(root)).filter((name) => name !== '.stowage-tmp');
let apps: App[] = [];
let warnings: string[] = [];
let notes: string[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'stowage-rates-'));
  warnings = [];
  notes = [];
});
afterEach(async () => {
  await Promise.all(apps.map((app) => app.close()));
  apps = [];
  await rm(root, { recursive: true });
});

const logger = {
  debug() {},
  info: (message: string) => void notes.push(message),
  warn: (message: string) => void warnings.push(message),
  error() {},
};

const serve = async (
  rateLimits: RateLimits,
  hooks: ConnectorHooks = {},
  more: ConfigInput = {},
): Promise<string> => {
  const config = { rateLimits, ...more, sources: { files: { title: 'Files', root, baseurl: '/files/' } } };
  const app = createApp(config, hooks, { logger });
  apps.push(app);
  const { port } = await app.listen(0, '127.0.0.1');
  return `http://127.0.0.1:${String(port)}/`;
};

const list = (url: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}files`, { headers });

const statuses = async (asked: readonly Promise<Response>[]): Promise<number[]> =>
  (await Promise.all(asked)).map(({ status }) => status).sort();

const upload = (url: string, name: string, named: 'path' | 'before' | 'after'): Promise<Response> => {
  const form = new FormData();
  if (named === 'before') form.append('action', 'fileUpload');
  form.append('files[0]', new Blob(['text']), name);
  if (named === 'after') form.append('action', 'fileUpload');
  return fetch(named === 'path' ? `${url}fileUpload` : url, { method: 'POST', body: form });
};

const byHeader = (header: string): ConnectorHooks => ({
  checkAuthentication: ({ headers }) => ({ role: 'guest', subject: headers[header] }),
});

describe('rate limits', () => {
  it('answer 429 with the seconds to wait, and count what is asked at the same moment', async () => {
    const url = await serve({ listings: { requests: 3, seconds: 60 } });
    expect(await statuses(Array.from({ length: 8 }, () => list(url)))).toEqual([
      200, 200, 200, 429, 429, 429, 429, 429,
    ]);
    const refused = await list(url, { 'accept-language': 'de' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    const body = (await refused.json()) as { success: boolean; data: Record<string, unknown> };
    expect(body).toMatchObject({ success: false, data: { code: 429, error: 'RATE_LIMITED' } });
    expect(body.data['messages']).toEqual(['Zu viele Anfragen. Versuchen Sie es später noch einmal.']);
  });

  it('leave what costs little, and what has no limit, alone', async () => {
    const url = await serve({ listings: { requests: 1, seconds: 60 } });
    expect((await list(url)).status).toBe(200);
    expect((await list(url)).status).toBe(429);
    expect((await fetch(`${url}permissions`)).status).toBe(200);
    expect((await upload(url, 'a.txt', 'path')).status).toBe(200);
    expect((await fetch(`${url}ping`)).status).toBe(200);
  });

  it.each([
    ['listings', 'files'],
    ['listings', 'folders'],
    ['listings', 'filesSearch?query=a'],
    ['pictures', 'imageResize?name=a.png&box[w]=1&box[h]=1'],
    ['pictures', 'imageCrop?name=a.png&box[w]=1&box[h]=1'],
    ['pictures', 'imageRotate?name=a.png&angle=90'],
    ['pictures', 'imageVariant?name=a.png&preset=card'],
    ['documents', 'generatePdf?html=a'],
    ['documents', 'generateDocx?html=a'],
    ['uploads', 'fileUploadRemote?url=https://example.com/a.png'],
  ] as const)('named %s hold for %s, whatever came of the request', async (limit, query) => {
    const url = await serve({ [limit]: { requests: 1, seconds: 60 } });
    expect((await fetch(url + query)).status).not.toBe(429);
    expect((await fetch(url + query)).status).toBe(429);
  });

  it('count a form for the action that it names behind its files', async () => {
    const url = await serve({ documents: { requests: 1, seconds: 60 } });
    const ask = (): Promise<Response> => {
      const form = new FormData();
      // Longer than what arrives at once, so that the file comes before the name of the action.
      form.append('files[0]', new Blob(['x'.repeat(500_000)]), 'a.txt');
      form.append('action', 'generateDocx');
      form.append('html', '<p>a</p>');
      return fetch(url, { method: 'POST', body: form });
    };
    expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(429);
  });

  it('count archives and the trash as listings, and a look at their headers walks through nothing', async () => {
    const zipLimits = { entries: 2 };
    const url = await serve({ listings: { requests: 4, seconds: 60 } }, {}, { zipLimits, trash: {} });
    await mkdir(join(root, 'many'));
    for (const name of ['a', 'b', 'c']) await writeFile(join(root, 'many', `${name}.txt`), name);
    const archive = `${url}fileDownload?names[]=many`;
    expect((await fetch(archive)).status).toBe(413);
    expect((await fetch(archive, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(`${url}trashList`)).status).toBe(200);
    expect((await fetch(`${url}trashEmpty`, { method: 'POST' })).status).toBe(200);
    expect((await fetch(archive, { method: 'HEAD' })).status).toBe(429);
    expect((await fetch(`${url}trashList`)).status).toBe(429);
    expect((await fetch(`${url}trashEmpty`, { method: 'POST' })).status).toBe(429);
    expect((await fetch(`${url}fileDownload?path=many&name=a.txt`)).status).toBe(200);
  });

  it('end when their time is over', async () => {
    const url = await serve({ listings: { requests: 1, seconds: 1 } });
    expect((await list(url)).status).toBe(200);
    expect((await list(url)).status).toBe(429);
    await expect.poll(async () => (await list(url)).status, { interval: 200 }).toBe(200);
  });

  it.each(['path', 'before', 'after'] as const)(
    'count an upload once and store no more, the action being named in the %s of the file',
    async (named) => {
      const url = await serve({ uploads: { requests: 2, seconds: 60 } });
      const asked = Array.from({ length: 5 }, (_, index) => upload(url, `${String(index)}.txt`, named));
      expect(await statuses(asked)).toEqual([200, 200, 429, 429, 429]);
      expect(await stored()).toHaveLength(2);
    },
  );

  it('refuse an upload before its bytes have come', async () => {
    const url = await serve({ uploads: { requests: 1, seconds: 60 } });
    expect((await upload(url, 'a.txt', 'path')).status).toBe(200);
    let sent = 0;
    const chunk = new Uint8Array(64 * 1024);
    const head = '--b\r\nContent-Disposition: form-data; name="files[0]"; filename="b.txt"\r\n\r\n';
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent += chunk.length;
        controller.enqueue(sent === chunk.length ? new TextEncoder().encode(head) : chunk);
        if (sent > 7 * 1024 * 1024) controller.close();
      },
    });
    const answer = await fetch(`${url}fileUpload`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body,
      duplex: 'half',
    } as RequestInit);
    expect(answer.status).toBe(429);
    expect(await stored()).toEqual(['a.txt']);
  });
});

describe('what counts as one client', () => {
  const limits: RateLimits = { listings: { requests: 1, seconds: 60 } };

  it('is the subject where the host knows one, from whatever address', async () => {
    const url = await serve(limits, byHeader('x-user'));
    expect((await list(url, { 'x-user': 'anna' })).status).toBe(200);
    expect((await list(url, { 'x-user': 'anna' })).status).toBe(429);
    expect((await list(url, { 'x-user': 'bert' })).status).toBe(200);
    expect((await list(url)).status).toBe(200);
    expect((await list(url)).status).toBe(429);
  });

  it('is the peer of the connection, whatever headers say', async () => {
    const url = await serve(limits);
    expect((await list(url, { 'x-forwarded-for': '192.0.2.1' })).status).toBe(200);
    expect((await list(url, { 'x-forwarded-for': '192.0.2.2' })).status).toBe(429);
  });

  it.each([
    ['192.0.2.1', '192.0.2.1, 127.0.0.9'],
    ['192.0.2.1', '198.51.100.7, 192.0.2.1'],
    ['192.0.2.1', '192.0.2.1:50123'],
    ['2001:db8::1', '[2001:db8::1]:443'],
    ['2001:db8::1', '2001:db8::ffff:2'],
    ['192.0.2.1', '::ffff:192.0.2.1'],
  ])('is whom a trusted proxy names: %s and %s are one', async (first, second) => {
    const url = await serve(limits, {}, { trustedProxies: ['127.0.0.0/8'] });
    expect((await list(url, { 'x-forwarded-for': first })).status).toBe(200);
    expect((await list(url, { 'x-forwarded-for': second })).status).toBe(429);
    expect((await list(url, { 'x-forwarded-for': '192.0.2.200' })).status).toBe(200);
  });

  it('is an address also when the client resets its connection meanwhile', async () => {
    let reset: (() => void) | undefined;
    const three = { listings: { requests: 3, seconds: 60 } };
    const url = await serve(three, {
      checkAuthentication: async ({ native }) => {
        const { socket } = native as IncomingMessage;
        if (reset === undefined) return 'guest';
        const closed = once(socket, 'close').catch(() => undefined);
        reset();
        await closed;
        return 'guest';
      },
    });
    expect((await list(url)).status).toBe(200);
    const { port } = new URL(url);
    const client = connect(Number(port), '127.0.0.1').on('error', () => undefined);
    await new Promise<void>((resolve) => {
      reset = () => {
        client.resetAndDestroy();
        resolve();
      };
      client.write('GET /files HTTP/1.1\r\nHost: a\r\n\r\n');
    });
    reset = undefined;
    expect((await list(url)).status).toBe(200);
    expect((await list(url)).status).toBe(429);
    expect(warnings.filter((text) => text.includes('address'))).toEqual([]);
  });

  it('is all together where the host tells no address', async () => {
    const sources = { files: { title: 'Files', root, baseurl: '/files/' } };
    const app = createApp({ rateLimits: limits, sources }, {}, { logger });
    apps.push(app);
    const asked = () => app.fetch(new Request('http://localhost/files'));
    expect((await asked()).status).toBe(200);
    expect((await asked()).status).toBe(429);
    expect(warnings.filter((text) => text.includes('address'))).toHaveLength(1);
  });

  it('is not the user of another tenant with the same name', async () => {
    const hooks: ConnectorHooks = {
      ...byHeader('x-user'),
      resolveSources: ({ headers }) => ({
        id: headers['x-tenant'] ?? '',
        sources: { files: { title: 'Files', root, baseurl: '/files/' } },
      }),
    };
    const url = await serve(limits, hooks);
    for (const tenant of ['one', 'two']) {
      const headers = { 'x-user': '1', 'x-tenant': tenant };
      expect((await list(url, headers)).status).toBe(200);
      expect((await list(url, headers)).status).toBe(429);
    }
  });

  it('is the proxy itself where it names no client', async () => {
    const url = await serve(limits, {}, { trustedProxies: ['127.0.0.1'] });
    expect((await list(url, { 'x-forwarded-for': 'unknown' })).status).toBe(200);
    for (const text of ['-, <>', '0xc0.0.2.1', '0300.0.2.1', '3221225985', '192.513'])
      expect((await list(url, { 'x-forwarded-for': text })).status).toBe(429);
  });
});

describe.skipIf(redisMissing !== undefined)('rate limits that instances share (needs redis-server)', () => {
  it('count together, and each for itself once Redis has gone', async () => {
    const redis = await startRedis();
    const limits: RateLimits = { listings: { requests: 2, seconds: 60 } };
    const shared = { redis: { url: redis.url } };
    const [one, two] = [await serve(limits, {}, shared), await serve(limits, {}, shared)];
    expect((await list(one)).status).toBe(200);
    expect((await list(two)).status).toBe(200);
    expect((await list(one)).status).toBe(429);
    expect((await list(two)).status).toBe(429);
    await redis.stop();
    await expect.poll(() => warnings.length).toBeGreaterThan(0);
    expect(await statuses([list(one), list(one), list(one)])).toEqual([200, 200, 429]);
    expect(warnings.join()).not.toContain(new URL(redis.url).port);
  });

  it('log once that Redis rejects their commands, and count by themselves', async () => {
    const redis = await startRedis();
    await redis.client.acl('SETUSER', 'reader', 'on', '>secret', '~*', '+@read', '+info', '+select');
    const url = await serve(
      { listings: { requests: 2, seconds: 60 } },
      {},
      {
        redis: { url: redis.url.replace('//', '//reader:secret@') },
      },
    );
    for (const status of [200, 200, 429]) expect((await list(url)).status).toBe(status);
    expect(warnings.filter((text) => text.includes('Redis'))).toEqual(['Redis rejects a command.']);
  });

  it('count together again when Redis has come back', async () => {
    const redis = await startRedis();
    const limits: RateLimits = { listings: { requests: 2, seconds: 600 } };
    const shared = { redis: { url: redis.url } };
    const [one, two] = [await serve(limits, {}, shared), await serve(limits, {}, shared)];
    await redis.stop();
    for (const url of [one, two])
      expect(await statuses([list(url), list(url), list(url)])).toEqual([200, 200, 429]);
    await redis.start();
    const returned = (): number => notes.filter((text) => text.includes('Redis can be reached')).length;
    await expect.poll(returned).toBe(2);
    await redis.client.flushall();
    expect([(await list(one)).status, (await list(two)).status]).toEqual([200, 200]);
    expect([(await list(one)).status, (await list(two)).status]).toEqual([429, 429]);
  });

  it('hold where Redis never answers', async () => {
    const redis = { url: `redis://127.0.0.1:${String(await freePort())}` };
    const url = await serve({ listings: { requests: 1, seconds: 60 } }, {}, { redis });
    expect(await statuses([list(url), list(url)])).toEqual([200, 429]);
  });
});

it('count the actions that the page about them lists', async () => {
  const page = await readFile(new URL('../../docs/rate-limits.md', import.meta.url), 'utf8');
  const listed = [...page.matchAll(/^\| `(\w+)` \| (.*) \|$/gmu)].flatMap(([, load, text = '']) =>
    [...text.replace(/[:;].*/u, '').matchAll(/\b(?:file|folder|image|generate|trash)\w*/gu)].map(
      ([name]) => `${load ?? ''}: ${name}`,
    ),
  );
  const counted = [...createActions()].flatMap(([name, { load }]) => {
    const known = typeof load === 'function' ? load({ names: ['a', 'b'] }) : load;
    return known === undefined ? [] : [`${known}: ${name}`];
  });
  expect(listed.sort()).toEqual(counted.sort());
});
