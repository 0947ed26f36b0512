import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { FileResponse, defineAction } from '#internals';
import { startEdge } from './edge.ts';
import { RawConnection } from './raw-http.ts';

const PIECE = Buffer.alloc(100_000);
const PIECES = 1000;

/** A download that fills every buffer on its way. */
const large = defineAction({
  name: 'large',
  summary: 'For tests.',
  methods: ['GET'],
  changes: false,
  takesFiles: false,
  parameters: z.object({}),
  result: z.object({}),
  run: async () =>
    new FileResponse({
      filename: 'large.bin',
      contentType: 'application/octet-stream',
      stat: { size: PIECE.length * PIECES, etag: '"v1"', modifiedAt: 0 },
      open: async () => Readable.from(Array.from({ length: PIECES }, () => PIECE)),
    }),
});

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

const statusesIn = (received: string): readonly string[] =>
  [...received.matchAll(/HTTP\/1\.1 (\d+)/gu)].map(([, status = '']) => status);

describe('requests that are sent without waiting for answers', () => {
  it('are answered in their order', async () => {
    const edge = await startEdge();
    const connection = await RawConnection.open(edge.port);
    await connection.write(`${get('/wait')}${get('/missing')}${get('/other')}${get('/nothing')}`);
    await expect.poll(() => statusesIn(connection.received)).toEqual(['200', '404', '200', '404']);
    expect(connection.received).toContain('"other":true');
    expect(edge.leases()).toBe(0);
    connection.destroy();
  });

  it('begin one after the other', async () => {
    const edge = await startEdge();
    const connection = await RawConnection.open(edge.port);
    await connection.write(get('/wait').repeat(3));
    const most: number[] = [];
    await expect
      .poll(() => {
        most.push(edge.leases());
        return statusesIn(connection.received).length;
      })
      .toBe(3);
    expect(Math.max(...most)).toBe(1);
    connection.destroy();
  });

  it('leave nothing open when the client leaves before their turn', async () => {
    const edge = await startEdge({ actions: [large] });
    const connection = await RawConnection.open(edge.port);
    connection.pause();
    await connection.write(get('/large').repeat(20));
    await expect.poll(edge.leases).toBeGreaterThan(0);
    // What has arrived together has been taken up together by the time that another connection is served.
    await fetch(`${edge.url}/nothing`);
    connection.destroy();
    await expect.poll(edge.leases).toBe(0);
  });

  it('do not keep a service from closing', async () => {
    const edge = await startEdge();
    const connection = await RawConnection.open(edge.port);
    await connection.write(`${get('/wait')}${get('/wait').repeat(20)}`);
    await expect.poll(edge.leases).toBeGreaterThan(0);
    await edge.server.close();
    await expect.poll(() => connection.isClosed).toBe(true);
    expect(statusesIn(connection.received).length).toBeLessThan(21);
    await expect.poll(edge.leases).toBe(0);
  });
});
