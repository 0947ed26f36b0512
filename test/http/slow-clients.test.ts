import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { stageContent } from 'stowage/storage';
import { FileResponse, MemoryAdapter, defineAction } from '#internals';
import { memoryInUse } from '../memory-in-use.ts';
import { replacing } from '../protocol/changing-store.ts';
import { startService } from '../protocol/service.ts';
import { ask, startEdge, type RunningEdge } from './edge.ts';
import { filePart, formEnd, formType, RawConnection } from './raw-http.ts';

const generous = { stallMs: 60_000, textMs: 60_000, formMs: 60_000, formBytesPerMs: 1 };
const formUrlencoded = 'application/x-www-form-urlencoded';

const begin = async (edge: RunningEdge, type: string, length: number): Promise<RawConnection> => {
  const connection = await RawConnection.open(edge.port);
  const head = `Host: a\r\nContent-Type: ${type}\r\nContent-Length: ${String(length)}`;
  await connection.write(`POST /keep HTTP/1.1\r\n${head}\r\n\r\n`);
  return connection;
};

const expectTimeout = async (edge: RunningEdge, connection: RawConnection): Promise<void> => {
  const { status, text } = await connection.answer();
  expect(status).toBe(408);
  expect(JSON.parse(text)).toMatchObject({ success: false, data: { code: 408, error: 'REQUEST_TIMEOUT' } });
  await expect.poll(edge.leases).toBe(0);
  connection.destroy();
};

/** Sends the same bytes again and again until the service answers. */
const trickle = async (connection: RawConnection, bytes: string): Promise<void> => {
  while (!connection.received.includes('\r\n\r\n') && !connection.isClosed) {
    await connection.write(bytes);
    await pause(20);
  }
};

describe('a client that sends slowly', () => {
  it('is waited for as long as it goes on sending', async () => {
    const edge = await startEdge({ times: { ...generous, stallMs: 1500 } });
    const file = filePart('files[0]', 'a.png', randomBytes(20_000));
    const whole = Buffer.concat([file, formEnd]);
    const connection = await begin(edge, formType, whole.length);
    for (let at = 0; at < whole.length; at += 2000) {
      await connection.write(whole.subarray(at, at + 2000));
      await pause(300);
    }
    expect((await connection.answer()).status).toBe(200);
    connection.destroy();
  });

  it('is waited for although the clock is set meanwhile', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const edge = await startEdge({ times: generous });
    const file = filePart('files[0]', 'a.png', randomBytes(20_000));
    const connection = await begin(edge, formType, file.length + formEnd.length);
    await connection.write(file.subarray(0, 10));
    await expect.poll(edge.leases).toBe(1);
    vi.setSystemTime(Date.now() + 3_600_000);
    await connection.write(Buffer.concat([file.subarray(10), formEnd]));
    expect((await connection.answer()).status).toBe(200);
    connection.destroy();
  });

  it.each([
    ['form', formType, '--line\r\n'],
    ['urlencoded text', formUrlencoded, 'name='],
  ])('is given up when it falls silent (%s)', async (_kind, type, start) => {
    const edge = await startEdge({ times: { ...generous, stallMs: 300 } });
    const connection = await begin(edge, type, 1000);
    await connection.write(start);
    await expectTimeout(edge, connection);
  });

  it('is given up when a text takes too long in all', async () => {
    const edge = await startEdge({ times: { ...generous, textMs: 300 } });
    const connection = await begin(edge, formUrlencoded, 100_000);
    await trickle(connection, 'x');
    await expectTimeout(edge, connection);
  });

  it('is given up when a form comes slower than the least rate', async () => {
    const edge = await startEdge({ times: { ...generous, formMs: 300, formBytesPerMs: 1000 } });
    const connection = await begin(edge, formType, 1_000_000);
    await connection.write(filePart('files[0]', 'a.png', '').subarray(0, -2));
    await trickle(connection, 'x');
    await expectTimeout(edge, connection);
  });
});

describe('a client that has to wait for a slow store', () => {
  it('is not charged for that time', async () => {
    const inner = new MemoryAdapter();
    const storage = replacing(inner, {
      stage: async (...input) => {
        await pause(200);
        return stageContent(inner, ...input);
      },
    });
    // Twenty files take four seconds to store; the client sends each of them immediately.
    const edge = await startEdge({ storage, times: { ...generous, formMs: 1000, formBytesPerMs: 1000 } });
    const files = Array.from({ length: 20 }, (_, index) =>
      filePart('files[]', `${String(index)}.png`, randomBytes(60_000)),
    );
    const whole = Buffer.concat([...files, formEnd]);
    const connection = await begin(edge, formType, whole.length);
    await connection.write(whole);
    expect((await connection.answer()).status).toBe(200);
    connection.destroy();
  });
});

describe('a compressed text', () => {
  it('is bounded as it was sent, also when it unfolds to nothing', async () => {
    const edge = await startEdge();
    const nothing = gzipSync('');
    const body = new ReadableStream({
      pull: (controller) => {
        controller.enqueue(Buffer.concat(Array.from({ length: 7000 }, () => nothing)));
        controller.close();
      },
    });
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
    expect(await ask(edge, '/other', init)).toMatchObject({ status: 413, data: { error: 'BODY_TOO_LARGE' } });
  });
});

describe('a client that does not read its answer', () => {
  const SIZE = 40_000_000;
  const base = { summary: 'For tests.', changes: false, parameters: z.object({}) } as const;
  const actions = [
    defineAction({
      ...base,
      name: 'text',
      result: z.object({}),
      run: async () => ({ text: 'x'.repeat(SIZE) }),
    }),
    defineAction({
      ...base,
      name: 'file',
      result: { contentType: 'application/octet-stream' },
      run: async () =>
        new FileResponse({
          filename: 'a.bin',
          contentType: 'application/octet-stream',
          stat: { size: SIZE, etag: '"1"', modifiedAt: 0 },
          open: async () => Readable.from([Buffer.alloc(SIZE)]),
        }),
    }),
  ];

  it.each(['text', 'file'])(
    'is given up, whatever the answer is made of: a %s',
    async (action) => {
      const edge = await startEdge({ actions, stallMs: 300 });
      const connection = await RawConnection.open(edge.port);
      connection.pause();
      await connection.write(`GET /${action} HTTP/1.1\r\nHost: a\r\n\r\n`);
      await pause(2500);
      await expect.poll(edge.leases, { timeout: 6000 }).toBe(0);
      connection.resume();
      await expect.poll(() => connection.isClosed, { timeout: 5000 }).toBe(true);
      expect(connection.received.length).toBeLessThan(SIZE);
    },
    15_000,
  );

  it('takes little memory for a picture of 8 MB', async () => {
    const service = await startService({ maxUploadFileSize: '16mb' });
    await service.source('files').put({ 'a.png': randomBytes(8_000_000) });
    const port = Number(new URL(service.url).port);
    const used = (): number => {
      const { heapUsed, external } = memoryInUse();
      return heapUsed + external;
    };
    const before = used();
    const connections = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(port)));
    for (const connection of connections) {
      connection.pause();
      const head = `Host: a\r\nContent-Type: ${formUrlencoded}\r\nContent-Length: 10`;
      await connection.write(`POST /imageLoad HTTP/1.1\r\n${head}\r\n\r\nname=a.png`);
    }
    await pause(2500);
    const held = used() - before;
    for (const connection of connections) connection.destroy();
    // As texts they are 220 MB.
    expect(held).toBeLessThan(100_000_000);
  }, 20_000);
});
