import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Upload } from 'tus-js-client';
import { ask, create, offsetOf, patch, sendAndCut, startTus } from './tus-client.ts';

const sizeOf = async (path: string): Promise<number> => (await stat(path)).size;

/** A way to the service on which the first connections are cut, each after so many bytes from the client. */
const startCutting = async (target: string, cuts: readonly number[]): Promise<string> => {
  const left = [...cuts];
  const server = createServer((client) => {
    const service = connect(Number(new URL(target).port), '127.0.0.1');
    const end = (): void => {
      client.destroy();
      service.destroy();
    };
    let seen = 0;
    client.on('data', (chunk) => {
      seen += chunk.length;
      service.write(chunk);
      const [next] = left;
      if (next === undefined || seen < next) return;
      left.shift();
      client.destroy();
      service.destroySoon();
    });
    service.pipe(client);
    for (const socket of [client, service]) socket.on('error', end).on('close', end);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
};

describe('uploads in parts over broken connections', () => {
  it('arrive whole when they are cut a hundred times', async () => {
    const service = await startTus();
    const content = randomBytes(3_000_000);
    const { address } = await create(service.tus, content.length, { filename: 'a.bin.txt' });
    let offset = 0;
    let moved = 0;
    for (let cut = 0; cut < 100; cut += 1) {
      await sendAndCut(address, offset, content.subarray(offset), 20_000);
      const now = await offsetOf(address);
      expect(now).toBeGreaterThanOrEqual(offset);
      expect(now).toBeLessThanOrEqual(offset + 20_000);
      if (now > offset) moved += 1;
      offset = now;
    }
    expect(moved).toBeGreaterThan(50);
    const { status, data } = await patch(address, offset, content.subarray(offset));
    expect([status, data['files']]).toEqual([200, ['a.bin.txt']]);
    expect((await service.source('files').bytes('a.bin.txt')).equals(content)).toBe(true);
    await expect.poll(() => service.kept()).toEqual([]);
  });

  it('go on while the service still holds the connection that was lost', async () => {
    const service = await startTus();
    const { address } = await create(service.tus, 6, { filename: 'a.txt' });
    const { port, pathname } = new URL(address);
    const lost = connect(Number(port), '127.0.0.1');
    onTestFinished(() => void lost.destroy());
    lost.on('error', () => undefined);
    lost.write(
      `PATCH ${pathname} HTTP/1.1\r\nHost: a\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n` +
        'Content-Type: application/offset+octet-stream\r\nContent-Length: 6\r\n\r\nabc',
    );
    await expect.poll(() => service.kept().then(([path = '']) => sizeOf(path))).toBe(3);
    expect(await offsetOf(address)).toBe(3);
    expect((await patch(address, 3, 'def')).status).toBe(200);
    expect(await service.source('files').text('a.txt')).toBe('abcdef');
    expect((await ask('HEAD', address)).status).toBe(200);
  });

  it('arrive from tus-js-client when the connection breaks three times', async () => {
    const service = await startTus();
    const content = randomBytes(4_000_000);
    const way = await startCutting(service.url, [400, 1_000_000, 1_500_000, 700_000]);
    const answer = await new Promise<string>((resolve, reject) => {
      const upload = new Upload(content, {
        endpoint: `${way}/tus`,
        retryDelays: [0, 0, 0, 0, 0, 0],
        metadata: { filename: 'a.txt' },
        onError: reject,
        onSuccess: ({ lastResponse }) => resolve(lastResponse.getBody()),
      });
      upload.start();
    });
    expect(JSON.parse(answer)).toMatchObject({ success: true, data: { files: ['a.txt'] } });
    expect((await service.source('files').bytes('a.txt')).equals(content)).toBe(true);
  });
});
