import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { listen, toNodeHandler } from '#internals';
import { createEdge, keepTemporaryFilesApart, leftovers, startEdge } from './edge.ts';
import { filePart, formEnd, formType, RawConnection } from './raw-http.ts';

keepTemporaryFilesApart();

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

describe('listening', () => {
  it('rejects when the address is taken', async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    const { port } = blocker.address() as { port: number };
    await expect(listen(async () => undefined, { port, host: '127.0.0.1' })).rejects.toThrow('EADDRINUSE');
    blocker.close();
  });

  it('rejects options in the form of other servers, which would open it to all addresses', async () => {
    const port = { port: 0 } as unknown as number;
    await expect(listen(async () => undefined, { port, host: '127.0.0.1' })).rejects.toThrow(TypeError);
  });
});

describe('closing', () => {
  it('finishes running requests and closes idle connections, with or without a request before', async () => {
    const edge = await startEdge();
    const silent = await RawConnection.open(edge.port);
    const kept = await RawConnection.open(edge.port);
    await kept.write(get('/other'));
    expect((await kept.answer()).status).toBe(200);
    const busy = await RawConnection.open(edge.port);
    await busy.write(get('/wait'));
    await expect.poll(edge.leases).toBe(1);

    const closed = edge.server.close();
    await expect.poll(() => silent.isClosed && kept.isClosed).toBe(true);
    expect(busy.isClosed).toBe(false);
    expect((await busy.answer()).status).toBe(200);
    expect(busy.received).toMatch(/connection: close/iu);
    await closed;
    // The client learns of it a moment later.
    await expect.poll(() => busy.isClosed).toBe(true);
    await expect(fetch(`${edge.url}/ping`)).rejects.toThrow();
    await edge.server.close();
  });

  it('refuses what comes behind a running request', async () => {
    const edge = await startEdge();
    const connection = await RawConnection.open(edge.port);
    await connection.write(get('/wait'));
    await expect.poll(edge.leases).toBe(1);
    const closed = edge.server.close();
    await connection.write(get('/other'));
    await closed;
    await expect.poll(() => connection.isClosed).toBe(true);
    const statuses = [...connection.received.matchAll(/HTTP\/1\.1 (\d+)/gu)].map(([, status]) => status);
    expect(statuses[0]).toBe('200');
    // Refused, or not answered any more; never served.
    expect(['503', undefined]).toContain(statuses[1]);
  });

  it('lets an upload finish that has begun', async () => {
    const edge = await startEdge();
    const file = filePart('files[0]', 'a.png', randomBytes(1_000_000));
    const connection = await RawConnection.open(edge.port);
    await connection.write(
      `POST /keep HTTP/1.1\r\nHost: a\r\nContent-Type: ${formType}\r\nContent-Length: ${String(file.length + formEnd.length)}\r\n\r\n`,
    );
    await connection.write(file.subarray(0, 500_000));
    await expect.poll(edge.leases).toBe(1);
    const closed = edge.server.close();
    await pause(50);
    await connection.write(Buffer.concat([file.subarray(500_000), formEnd]));
    const { status, text } = await connection.answer();
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ data: { uploads: [{ size: 1_000_000 }] } });
    await closed;
    await expect.poll(leftovers).toEqual([]);
  });

  it('gives up what takes longer than the grace', async () => {
    const edge = createEdge();
    const server = await listen(toNodeHandler(edge.handle), { port: 0, host: '127.0.0.1' });
    const connection = await RawConnection.open(server.port);
    await connection.write(
      `POST /keep HTTP/1.1\r\nHost: a\r\nContent-Type: ${formType}\r\nContent-Length: 5000000\r\n\r\n`,
    );
    await connection.write(filePart('files[0]', 'a.png', randomBytes(100_000)).subarray(0, -2));
    await expect.poll(async () => (await leftovers()).length).toBe(1);
    await server.close(50);
    await expect.poll(() => connection.isClosed).toBe(true);
    await expect.poll(edge.leases).toBe(0);
    await expect.poll(leftovers).toEqual([]);
  });
});

describe('an idle connection', () => {
  // The hour is that of Envoy and Istio; Cloudflare keeps them for 15 minutes, Google's load balancers for ten.
  it('is kept longer than proxies keep it, which would send a request into its end', async () => {
    const edge = await startEdge();
    const connection = await RawConnection.open(edge.port);
    await connection.write(get('/other'));
    await connection.answer();
    const [, seconds] = /^keep-alive: timeout=(\d+)/imu.exec(connection.received) ?? [];
    expect(Number(seconds)).toBeGreaterThan(3600);
    connection.destroy();
  });
});

describe('requests at the edge of HTTP', () => {
  it('are refused in the envelope when they name no host', async () => {
    const edge = await startEdge();
    const connection = await RawConnection.open(edge.port);
    await connection.write('GET /other HTTP/1.1\r\n\r\n');
    const { status, text } = await connection.answer();
    expect(status).toBe(400);
    expect(JSON.parse(text)).toEqual({
      success: false,
      data: { code: 400, error: 'INVALID_PARAMETERS', messages: ['The request is not valid.'] },
    });
    await expect.poll(() => connection.isClosed).toBe(true);
  });

  it('are served by HTTP/1.0 without a host, and whatever else they expect', async () => {
    const edge = await startEdge();
    for (const request of [
      'GET /other HTTP/1.0\r\n\r\n',
      'GET /other HTTP/1.1\r\nHost: a\r\nExpect: the-best\r\n\r\n',
    ]) {
      const connection = await RawConnection.open(edge.port);
      await connection.write(request);
      expect((await connection.answer()).status).toBe(200);
      connection.destroy();
    }
  });
});
