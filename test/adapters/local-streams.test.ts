import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ChangedMeanwhileError, SourcePath, StowageError } from 'stowage/storage';
import { createSilentLogger, openLocalAdapter } from '#internals';

const MEGABYTE = 2 ** 20;
const READERS = 200;
const content = randomBytes(2 * MEGABYTE + 7);
const path = SourcePath.parse('large.bin');

let root: string;
let adapter: Awaited<ReturnType<typeof openLocalAdapter>>;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'stowage-streams-'));
  await writeFile(join(root, 'large.bin'), content);
  adapter = await openLocalAdapter({ root, log: createSilentLogger() });
});
afterAll(async () => {
  await adapter.close();
  await rm(root, { recursive: true });
});

const open = async (range?: { start: number; end: number }): Promise<Readable> =>
  (await adapter.read(path, range === undefined ? {} : { range })).stream;

/** A reader that takes the first bytes, and then nothing more until it is asked to go on. */
const stalled = async (): Promise<{ readonly first: Buffer; readonly stream: Readable }> => {
  const stream = await open();
  const first = await new Promise<Buffer>((resolve, reject) => {
    stream.once('error', reject).once('data', (chunk: Buffer) => {
      stream.pause();
      resolve(chunk);
    });
  });
  return { first, stream };
};

describe('streams of local files', () => {
  it('hold little for readers that take nothing, and give each of them the whole', async () => {
    const readers = await Promise.all(Array.from({ length: READERS }, stalled));
    await nextTurn();
    const held = readers.map(({ first, stream }) => first.length + stream.readableLength);
    const total = held.reduce((sum, bytes) => sum + bytes, 0);
    expect(total).toBeLessThanOrEqual(16 * MEGABYTE + READERS * 64 * 1024);
    for (const { first, stream } of readers) {
      const rest = await buffer(stream);
      expect(Buffer.concat([first, rest]).equals(content)).toBe(true);
    }
  });

  it('hold no large piece of memory for a few bytes', async () => {
    const [few] = (await (await open({ start: 5, end: 14 })).toArray()) as Buffer[];
    expect(few?.equals(content.subarray(5, 15))).toBe(true);
    expect(few?.buffer.byteLength).toBeLessThan(100);
  });

  it('give a range, also as a stream of the web', async () => {
    const range = { start: 5, end: MEGABYTE };
    const wanted = content.subarray(range.start, range.end + 1);
    expect((await buffer(await open(range))).equals(wanted)).toBe(true);
    const web = Readable.toWeb(await open(range)) as ReadableStream<Uint8Array>;
    expect(Buffer.from(await new Response(web).arrayBuffer()).equals(wanted)).toBe(true);
  });

  it('fail when the file becomes shorter meanwhile', async () => {
    await writeFile(join(root, 'shorter.bin'), content);
    const { stream } = await adapter.read(SourcePath.parse('shorter.bin'));
    await truncate(join(root, 'shorter.bin'), MEGABYTE);
    await expect(buffer(stream)).rejects.toBeInstanceOf(ChangedMeanwhileError);
  });

  it.skipIf(!existsSync('/sys/class/net/lo/speed'))(
    'fail with errors of the storage port (needs /sys)',
    async () => {
      const devices = await openLocalAdapter({
        root: '/sys/class/net/lo',
        log: createSilentLogger(),
        sweeps: false,
      });
      // A file of which the system refuses every read.
      const { stream } = await devices.read(SourcePath.parse('speed'));
      await expect(buffer(stream)).rejects.toBeInstanceOf(StowageError);
      await devices.close();
    },
  );

  it.skipIf(!existsSync('/proc/self/fd'))('close their files, read or not (needs /proc)', async () => {
    const openHere = async (): Promise<number> => (await readdir('/proc/self/fd')).length;
    const before = await openHere();
    const streams = await Promise.all(Array.from({ length: 50 }, () => open()));
    for (const [index, stream] of streams.entries()) {
      const closed = new Promise((resolve) => stream.once('close', resolve));
      // Some in the midst of a read.
      if (index % 2 === 0) stream.resume();
      if (index % 4 === 0) await nextTurn();
      stream.destroy();
      await closed;
    }
    // What else this process has opened meanwhile are a few at most.
    expect((await openHere()) - before).toBeLessThan(10);
  });
});
