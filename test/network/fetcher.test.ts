import { once } from 'node:events';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { brotliCompressSync, deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRemoteFetcher, createSilentLogger } from '#internals';
import { startSite, type Site } from './loopback.ts';

const content = Buffer.from('The quick brown fox. '.repeat(40));
const compressions = { gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, br: brotliCompressSync };
const options = { maxBytes: content.length, timeoutMs: 5000, allowPrivate: true };
const fetcher = createRemoteFetcher({ log: createSilentLogger() });

let site: Site;

beforeAll(async () => {
  site = await startSite((request, response) => {
    const path = request.url?.slice(1) ?? '';
    if (path in compressions) {
      const packed = compressions[path as keyof typeof compressions](content);
      response.writeHead(200, { 'content-encoding': path, 'content-length': packed.length }).end(packed);
    } else if (path.startsWith('echo')) {
      response.setHeader('content-type', 'text/plain');
      response.end(`${request.url} ${request.headers.accept} ${request.headers['accept-encoding']}`);
    } else if (path === 'moved') {
      // Many servers write the letters of an address as they are.
      response.socket?.end(
        'HTTP/1.1 302 Found\r\nLocation: /echo/\u0444\u043e\u0442\u043e.jpg?q=\u00e9\r\n\r\n',
      );
    } else if (path.startsWith('archive')) {
      const type = path.endsWith('gz') ? 'application/octet-stream' : 'application/x-gzip';
      response.writeHead(200, { 'content-encoding': 'x-gzip', 'content-type': type }).end(gzipSync(content));
    } else if (path.startsWith('label/')) {
      response.writeHead(200, { 'content-encoding': path.slice(6) }).end(content);
    } else if (path === 'reset') {
      // No length: only the orderly end of the connection says that the body is complete.
      response.socket?.write('HTTP/1.1 200 OK\r\n\r\nbegin');
      setTimeout(() => response.socket?.resetAndDestroy(), 50);
    } else if (path === 'stall') {
      response.writeHead(200);
      response.write('begin');
    } else if (path === 'chunked') {
      response.write(content.subarray(0, 10));
      response.end(content.subarray(10));
    } else {
      response.setHeader('content-length', content.length);
      response.end(content);
    }
  });
});

afterAll(() => site.close());

describe('a remote fetch', () => {
  it('gives content, type and size', async () => {
    const plain = await fetcher.fetch(`${site.origin}/plain`, options);
    expect(plain.size).toBe(content.length);
    expect(await buffer(plain.stream)).toEqual(content);

    const typed = await fetcher.fetch(`${site.origin}/echo`, options);
    expect(typed.contentType).toBe('text/plain');
    await text(typed.stream);
  });

  it('accepts content of unknown length up to the very limit, and not one byte more', async () => {
    const whole = await fetcher.fetch(`${site.origin}/chunked`, options);
    expect(whole.size).toBeUndefined();
    expect(await buffer(whole.stream)).toEqual(content);

    const less = await fetcher.fetch(`${site.origin}/chunked`, { ...options, maxBytes: content.length - 1 });
    await expect(buffer(less.stream)).rejects.toMatchObject({ status: 403 });
  });

  it.each(Object.keys(compressions))('unpacks %s, which it did not ask for', async (name) => {
    const { stream, size } = await fetcher.fetch(`${site.origin}/${name}`, options);
    expect(size).toBeUndefined();
    expect(await buffer(stream)).toEqual(content);
  });

  it.each(['none', 'utf-8', 'aws-chunked', 'constructor'])(
    'takes content as it is under %s',
    async (label) => {
      const { stream } = await fetcher.fetch(`${site.origin}/label/${label}`, options);
      expect(await buffer(stream)).toEqual(content);
    },
  );

  it.each(['archive.tar.gz', 'archive.TGZ', 'archive?latest'])(
    'leaves compressed what is an archive itself: %s',
    async (path) => {
      const { stream } = await fetcher.fetch(`${site.origin}/${path}`, options);
      expect(gunzipSync(await buffer(stream))).toEqual(content);
    },
  );

  it('follows redirects whose address is not encoded', async () => {
    const { stream } = await fetcher.fetch(`${site.origin}/moved`, options);
    expect(await text(stream)).toContain('/echo/%D1%84%D0%BE%D1%82%D0%BE.jpg?q=%C3%A9 ');
  });

  it('sends path, query and the wanted types, and never the fragment', async () => {
    const { stream } = await fetcher.fetch(`${site.origin}/echo/a%20b?c=d&e=%2F#f`, {
      ...options,
      accept: 'image/*',
    });
    expect(await text(stream)).toBe('/echo/a%20b?c=d&e=%2F image/* identity');
  });

  it('names the host of the URL to TLS and does not trust an unknown certificate', async () => {
    const names: string[] = [];
    const server = createTlsServer({
      SNICallback: (name, callback) => {
        names.push(name);
        callback(null);
      },
    });
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const named = createRemoteFetcher({
      log: createSilentLogger(),
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    });
    const { port } = server.address() as AddressInfo;
    await expect(named.fetch(`https://files.example:${port}/`, options)).rejects.toMatchObject({
      status: 400,
    });
    expect(names).toEqual(['files.example']);
    server.close();
  });
});

describe('giving up', () => {
  it('ends with the reason of the caller, before and after the answer', async () => {
    const reason = new Error('The client has gone.');
    const early = new AbortController();
    early.abort(reason);
    await expect(fetcher.fetch(`${site.origin}/plain`, { ...options, signal: early.signal })).rejects.toBe(
      reason,
    );

    const late = new AbortController();
    const { stream } = await fetcher.fetch(`${site.origin}/stall`, { ...options, signal: late.signal });
    late.abort(reason);
    await expect(buffer(stream)).rejects.toBe(reason);
    await expect.poll(() => site.sockets.size).toBe(0);
  });

  it('an unread stream is closed when the time is over, without harm to the process', async () => {
    const { stream } = await fetcher.fetch(`${site.origin}/stall`, { ...options, timeoutMs: 300 });
    await expect.poll(() => site.sockets.size).toBe(0);
    await expect(buffer(stream)).rejects.toMatchObject({ status: 400 });
  });

  it('takes nothing for complete whose connection is reset', async () => {
    const { stream } = await fetcher.fetch(`${site.origin}/reset`, options);
    await expect(buffer(stream)).rejects.toMatchObject({ status: 400 });
  });

  it('leaves a thread to others, however many names have servers that never respond', async () => {
    const silent = new EventTarget();
    const asked: string[] = [];
    const patient = createRemoteFetcher({
      log: createSilentLogger(),
      resolve: async (name) => {
        asked.push(name);
        if (name.endsWith('silent.example')) await once(silent, 'end');
        return [{ address: '127.0.0.1', family: 4 }];
      },
    });
    const slow = Array.from({ length: 30 }, (_, number) =>
      patient.fetch(`http://${String(number)}.silent.example/`, { ...options, timeoutMs: 200 }),
    );
    const { port } = new URL(site.origin);
    const other = patient.fetch(`http://other.example:${port}/plain`, options);
    const outcomes = await Promise.allSettled(slow);
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
    expect(asked).toEqual(['0.silent.example']);
    silent.dispatchEvent(new Event('end'));
    const { stream } = await other;
    expect(await buffer(stream)).toEqual(content);
    expect(asked).toEqual(['0.silent.example', 'other.example']);
  });

  it('a stream that its reader destroys closes the connection', async () => {
    const { stream } = await fetcher.fetch(`${site.origin}/stall`, options);
    stream.destroy();
    await expect.poll(() => site.sockets.size).toBe(0);
  });
});

describe('a server that closes while its response is not read', () => {
  // Whole buffers of a socket: nothing is left over that would hide the end from the client.
  const sizes = [128, 192, 256].map((kilobytes) => kilobytes * 1024);

  const fetchLate = async (body: Buffer, end: 'fin' | 'reset'): Promise<Buffer> => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write(
          `HTTP/1.1 200 OK\r\nContent-Length: ${String(body.length)}\r\nConnection: close\r\n\r\n`,
        );
        if (end === 'fin') socket.end(body);
        else socket.write(body, () => socket.resetAndDestroy());
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const closed = new Promise((resolve) =>
      server.once('connection', (socket) => socket.once('end', resolve)),
    );
    const url = `http://127.0.0.1:${String(port)}/`;
    const { stream } = await fetcher.fetch(url, { ...options, maxBytes: body.length });
    // Time for whatever the client makes of the end.
    await pause(100);
    const read = buffer(stream);
    if (end === 'fin') await read.then(() => closed);
    server.close();
    return read;
  };

  it.each(sizes)('hands over all of %i bytes', async (size) => {
    const body = Buffer.alloc(size, 'x');
    expect((await fetchLate(body, 'fin')).equals(body)).toBe(true);
  });

  it.each(sizes)('hands over all of %i bytes or fails, when the connection is reset', async (size) => {
    const body = Buffer.alloc(size, 'x');
    const outcome = await fetchLate(body, 'reset').catch((error: unknown) => error);
    if (Buffer.isBuffer(outcome)) expect(outcome.equals(body)).toBe(true);
    else expect(outcome).toMatchObject({ status: 400 });
  });
});

describe('public addresses of this machine', () => {
  const ownAddresses = () => ['198.51.100.0', '8.8.8.8', '2001:4860:4860::8888', '127.0.0.1'];
  const guarded = createRemoteFetcher({
    log: createSilentLogger(),
    resolve: () => Promise.resolve([{ address: '8.8.8.8', family: 4 }]),
    ownAddresses,
  });

  it.each(['http://8.8.8.8/', 'http://[2001:4860:4860:0:0::8888]/', 'http://own.example/'])(
    '%s is refused: a firewall may keep others from what listens there',
    async (url) => {
      await expect(guarded.fetch(url, { ...options, allowPrivate: false })).rejects.toMatchObject({
        status: 403,
      });
    },
  );

  it('are reached where private addresses are allowed', async () => {
    const { stream } = await guarded.fetch(`${site.origin}/plain`, options);
    expect(await buffer(stream)).toEqual(content);
  });
});
