import { Hono } from 'hono';
import { compress } from 'hono/compress';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { createRouter } from 'stowage';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startService } from '../protocol/service.ts';
import { startEdge } from './edge.ts';

interface Raw {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** Without what `fetch` asks for and unpacks by itself. */
const send = async (
  url: string,
  headers: Record<string, string> = {},
  { method = 'GET', form = '' } = {},
): Promise<Raw> => {
  const asking = request(url, { method, headers, agent: false });
  asking.end(form);
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  const body = Buffer.concat(await response.toArray());
  return { status: response.statusCode ?? 0, headers: response.headers, body };
};

const folderOf = async (count: number, options: Parameters<typeof startService>[0] = {}) => {
  const service = await startService(options);
  const files = Array.from({ length: count }, (_, index) => [`note-${String(index)}.txt`, 'x'] as const);
  await service.source('files').put(Object.fromEntries(files));
  return service;
};

const edge = await startEdge();
let plain: Raw;

beforeAll(async () => {
  plain = await send(`${edge.url}/many`);
});

describe('a long JSON answer', () => {
  it('comes as it is to clients that ask for nothing', () => {
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.headers.vary).toBe('Accept-Encoding');
    expect(plain.body.length).toBeGreaterThan(1_000_000);
  });

  it.each([
    ['gzip', 'gzip', gunzipSync],
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['br;q=0.5, gzip;q=0.8', 'gzip', gunzipSync],
    ['BR; q=0.1, identity;q=0', 'br', brotliDecompressSync],
    ['*', 'br', brotliDecompressSync],
    ['*;q=0.1, br;q=0', 'gzip', gunzipSync],
  ])('is streamed for "%s" as %s, the same text', async (accepted, coding, unpack) => {
    const { headers, body } = await send(`${edge.url}/many`, { 'accept-encoding': accepted });
    expect(headers['content-encoding']).toBe(coding);
    expect(headers['content-length']).toBeUndefined();
    expect(unpack(body).equals(plain.body)).toBe(true);
    expect(body.length).toBeLessThan(plain.body.length / 5);
  });

  it.each([
    ...['identity', 'deflate', 'gzip;q=0, br;q=0', 'identity, gzip;q=0.5', 'gzip;q=0.000', ';;,,'],
    ...['gzip;q=0.0000', 'gzip; q= 0', 'br;q=-1', 'gzip;q="0"'],
  ])('is not compressed for "%s"', async (accepted) => {
    const { headers, body } = await send(`${edge.url}/many`, { 'accept-encoding': accepted });
    expect(headers['content-encoding']).toBeUndefined();
    expect(body.equals(plain.body)).toBe(true);
  });

  it('tells HEAD what a GET would say', async () => {
    const asked = { 'accept-encoding': 'gzip' };
    const { headers, body } = await send(`${edge.url}/many`, asked, { method: 'HEAD' });
    expect([headers['content-encoding'], headers.vary, body.length]).toEqual(['gzip', 'Accept-Encoding', 0]);
    expect(headers['content-length']).toBeUndefined();
  });

  it('stays out of what is short, a file, or a range', async () => {
    const asked = { 'accept-encoding': 'gzip' };
    const short = await send(`${edge.url}/other`, asked);
    const file = await send(`${edge.url}/download`, asked);
    const part = await send(`${edge.url}/download`, { ...asked, range: 'bytes=0-9' });
    for (const { headers } of [short, file, part]) {
      expect(headers['content-encoding']).toBeUndefined();
      expect(headers.vary).toBeUndefined();
    }
    expect([file.body.length, part.status, part.body.length]).toEqual([100_000, 206, 10]);
  });

  it('varies by the origin too where that decides', async () => {
    const crossing = await startEdge({ settings: { allowCrossOrigin: true } });
    const { headers } = await send(`${crossing.url}/many`, { 'accept-encoding': 'gzip' });
    expect(headers.vary).toBe('Accept-Encoding, Origin');
  });

  it('ends its request when the client leaves in the midst of it', async () => {
    const leaving = request(`${edge.url}/many`, { headers: { 'accept-encoding': 'gzip' }, agent: false });
    leaving.end();
    onTestFinished(() => void leaving.destroy());
    const [response] = (await once(leaving, 'response')) as [IncomingMessage];
    response.destroy();
    await expect.poll(() => edge.leases()).toBe(0);
  });

  it('is left to a proxy where the setting says so', async () => {
    const bare = await startEdge({ settings: { compressAnswers: false } });
    const { headers, body } = await send(`${bare.url}/many`, { 'accept-encoding': 'gzip' });
    expect([headers['content-encoding'], headers.vary]).toEqual([undefined, undefined]);
    expect(body.equals(plain.body)).toBe(true);
  });
});

describe('a listing', () => {
  it('has the length of what is sent', async () => {
    const { url } = await folderOf(40);
    const whole = await send(`${url}/files`);
    const packed = await send(`${url}/files`, { 'accept-encoding': 'gzip' });
    const head = await send(`${url}/files`, { 'accept-encoding': 'gzip' }, { method: 'HEAD' });
    expect(gunzipSync(packed.body).equals(whole.body)).toBe(true);
    expect(packed.headers['content-length']).toBe(String(packed.body.length));
    expect(head.headers['content-length']).toBe(String(packed.body.length));
    expect(head.body.length).toBe(0);
  });

  it('is not sent again while nothing in it has changed, and is as soon as something has', async () => {
    const service = await folderOf(40);
    const url = `${service.url}/files?mods[sortBy]=name-asc`;
    const first = await send(url);
    const { etag = '' } = first.headers;
    expect(etag).toMatch(/^W\/"[\w-]{27}"$/u);
    expect(first.headers['cache-control']).toBe('private, no-cache');
    for (const accepted of ['identity', 'br', 'gzip']) {
      const asked = { 'if-none-match': `"other", ${etag}`, 'accept-encoding': accepted };
      const again = await send(url, asked);
      expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, etag]);
      expect(again.headers.vary).toBe('Accept-Encoding');
    }
    expect((await send(url, { 'if-none-match': etag }, { method: 'HEAD' })).status).toBe(304);
    // Content of a file alone: no folder has another time by that.
    await service.source('files').put({ 'note-3.txt': 'longer than before' });
    const changed = await send(url, { 'if-none-match': etag });
    expect([changed.status, changed.headers.etag === etag]).toEqual([200, false]);
  });

  it('is sent again to whom other rules show something else', async () => {
    const accessControl = [
      { role: 'guest', FILES: true },
      { role: 'guest', path: '/secret', FILES: false, FOLDERS: false },
    ];
    const service = await folderOf(40, { defaultRole: 'guest', accessControl });
    const open = await folderOf(40);
    for (const one of [service, open]) await one.source('files').put({ 'secret/a.txt': 'x' });
    const query = '/files?mods[withFolders]=true&mods[sortBy]=name-asc';
    const { etag = '' } = (await send(open.url + query)).headers;
    const { status, body } = await send(service.url + query, { 'if-none-match': etag });
    expect([status, body.includes('secret')]).toEqual([200, false]);
  });

  it('comes whole by POST, whatever the client has', async () => {
    const { url } = await folderOf(40);
    const { etag = '' } = (await send(`${url}/files`)).headers;
    const { status, headers } = await send(
      `${url}/files`,
      { 'if-none-match': etag, 'content-type': 'application/x-www-form-urlencoded' },
      { method: 'POST', form: 'source=files' },
    );
    expect([status, headers.etag, headers['cache-control']]).toEqual([200, undefined, 'no-store']);
  });

  it('with signed links is neither compressed nor kept', async () => {
    const { url } = await folderOf(40, {
      sources: { files: { serve: 'signed' } },
      signingSecret: 'a secret for tests of 32 characters',
    });
    const { headers, body } = await send(`${url}/files`, { 'accept-encoding': 'gzip, br' });
    expect(headers).not.toHaveProperty('content-encoding');
    expect(headers).not.toHaveProperty('etag');
    expect(headers['cache-control']).toBe('no-store, no-transform');
    expect(body.toString()).toMatch(/signature|sig=|expires/iu);
  });

  it.each(['public', 'signed'] as const)(
    'and %s links may be compressed by its host or not',
    async (serve) => {
      const { root } = (await folderOf(40)).source('files');
      const router = createRouter({
        sources: { files: { title: 'Files', root, serve } },
        signingSecret: 'a secret for tests of 32 characters',
        compressAnswers: false,
      });
      onTestFinished(() => router.close());
      const host = new Hono().use(compress()).all('/*', (context) => router.fetch(context.req.raw));
      const { headers } = await host.request('/files', { headers: { 'accept-encoding': 'gzip' } });
      expect(headers.get('content-encoding')).toBe(serve === 'public' ? 'gzip' : null);
    },
  );
});
