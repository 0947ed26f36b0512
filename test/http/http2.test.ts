import {
  connect,
  createServer,
  type ClientHttp2Session,
  type Http2Server,
  type IncomingHttpHeaders,
} from 'node:http2';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import { createRouter, type HookRequest } from 'stowage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memoryConfig } from './hosts.ts';

const quiet = { logger: { debug() {}, info() {}, warn() {}, error() {} } };

let server: Http2Server;
let session: ClientHttp2Session;
/** Those of the last request, as a hook gets them. */
let heard: HookRequest['headers'];

beforeAll(async () => {
  const { handler } = createRouter(
    { ...memoryConfig, accessControl: [] },
    { checkAuthentication: ({ headers }) => (heard = headers) && 'editor' },
    quiet,
  );
  server = createServer((request, response) => void handler(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  session = connect(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
});

afterAll(() => {
  session.destroy();
  server.close();
});

interface Http2Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const request = (headers: Record<string, string>, body?: Uint8Array): Promise<Http2Answer> =>
  new Promise((resolve, reject) => {
    const stream = session.request(headers);
    const chunks: Buffer[] = [];
    let head: IncomingHttpHeaders = {};
    stream.on('response', (received) => {
      head = received;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    // Not 'close': the client's stream keeps the bytes that it could not send.
    stream.on('end', () => {
      resolve({ status: Number(head[':status']), headers: head, body: Buffer.concat(chunks) });
    });
    stream.end(body);
  });

const form = (bytes: Uint8Array): Uint8Array =>
  Buffer.concat([
    Buffer.from('--line\r\nContent-Disposition: form-data; name="files[0]"; filename="a.bin"\r\n\r\n'),
    bytes,
    Buffer.from('\r\n--line--\r\n'),
  ]);

const upload = (bytes: Uint8Array) =>
  request(
    { ':method': 'POST', ':path': '/fileUpload', 'content-type': 'multipart/form-data; boundary=line' },
    form(bytes),
  );

describe('HTTP/2', () => {
  it('serves all the same, without a reason phrase', async () => {
    expect((await request({ ':path': '/ping' })).body.toString()).toBe('{"success":true}');
    const missing = await request({ ':path': '/fileDownload?name=none.bin' });
    expect([missing.status, JSON.parse(missing.body.toString())]).toMatchObject([
      404,
      { data: { code: 404 } },
    ]);
    const bytes = randomBytes(7 * 1024 * 1024);
    expect((await upload(bytes)).status).toBe(200);
    const download = await request({ ':path': '/fileDownload?name=a.bin' });
    expect(download.body.equals(bytes)).toBe(true);
    expect((await request({ ':path': '/files', ':method': 'HEAD' })).status).toBe(200);
    const json = await request(
      { ':method': 'POST', ':path': '/', 'content-type': 'application/json' },
      Buffer.from('{"action":"files"}'),
    );
    expect(json.status).toBe(200);
  });

  it('gives hooks the headers that HTTP/1 has: libraries for logins read them as web headers', async () => {
    await request({ ':path': '/files', cookie: 'session=1' });
    const { host } = new URL(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
    expect([...new Headers(heard as Record<string, string>)]).toEqual([
      ['cookie', 'session=1'],
      ['host', host],
    ]);
  });

  it('stops a refused upload when the client has its answer', async () => {
    const type = { 'content-type': 'multipart/form-data; boundary=line' };
    const stream = session.request({ ':method': 'POST', ':path': '/fileUpload', ...type });
    const file = 'Content-Disposition: form-data; name="files[0]"; filename="a.unknown"';
    // The client is still sending, and the rest never comes.
    stream.resume().write(`--line\r\n${file}\r\n\r\n${'x'.repeat(1_000_000)}`);
    const [{ ':status': status }] = (await once(stream, 'response')) as [Record<string, unknown>];
    await once(stream, 'close');
    expect([status, stream.rstCode]).toEqual([403, 0]);
  });

  it('answers a refused upload and keeps the connection', async () => {
    const refused = await upload(randomBytes(20 * 1024 * 1024));
    expect([refused.status, JSON.parse(refused.body.toString())]).toMatchObject([
      403,
      { data: { code: 403 } },
    ]);
    expect((await request({ ':path': '/ping' })).status).toBe(200);
    expect((await upload(randomBytes(7 * 1024 * 1024))).status).toBe(200);
    expect(session.destroyed).toBe(false);
  });
});
