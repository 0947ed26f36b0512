import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { SourcePath } from 'stowage/storage';
import { createMemoryStaging, createSilentLogger, openLocalAdapter } from '#internals';
import { memoryInUse } from '../memory-in-use.ts';

const CAPACITY = 4096;

const at = (path: string): SourcePath => SourcePath.parse(path);
const bytesOf = (length: number, value = 7): Buffer => Buffer.alloc(length, value);
/** In small chunks, as a request brings it. */
const contentOf = (bytes: Buffer): Readable =>
  Readable.from(
    Array.from({ length: Math.ceil(bytes.length / 100) }, (_, index) =>
      bytes.subarray(index * 100, index * 100 + 100),
    ),
    { objectMode: false },
  );

const start = async () => {
  const root = await mkdtemp(join(tmpdir(), 'stowage-memory-staging-'));
  const adapter = await openLocalAdapter({ root, log: createSilentLogger() });
  onTestFinished(async () => {
    await adapter.close?.();
    await rm(root, { recursive: true });
  });
  const stageInMemory = createMemoryStaging(CAPACITY);
  return {
    root,
    adapter,
    stage: (content: Readable, signal?: AbortSignal) => stageInMemory(adapter, content, { signal }),
    /** What lies on the disk, under a name or without one. */
    stored: async () => {
      const names = await readdir(root, { recursive: true });
      // The temporary folder of the process itself holds nothing.
      return names.filter((name) => !/^\.stowage-tmp(?:\/[^/]+)?$/u.test(name));
    },
  };
};

it('keeps small content off the disk until it gets a name', async () => {
  const { root, stage, stored } = await start();
  const bytes = bytesOf(CAPACITY / 4);
  const staged = await stage(contentOf(bytes));
  expect([staged.size, await stored()]).toEqual([bytes.length, []]);
  for (let times = 0; times < 2; times += 1)
    expect(Buffer.concat(await staged.open().toArray()).equals(bytes)).toBe(true);
  await staged.commit(at('a.bin'), { createOnly: true });
  await staged.discard();
  expect((await readFile(join(root, 'a.bin'))).equals(bytes)).toBe(true);
  const taken = await stage(contentOf(bytesOf(10)));
  await expect(taken.commit(at('a.bin'), { createOnly: true })).rejects.toMatchObject({
    code: 'ALREADY_EXISTS',
  });
  await taken.commit(at('b.bin'), { createOnly: true });
  await taken.discard();
  expect((await stored()).sort()).toEqual(['a.bin', 'b.bin']);
});

it('gives what is longer, or finds the memory taken, to the store, whole', async () => {
  const { root, stage, stored } = await start();
  const long = Buffer.from(Array.from({ length: CAPACITY / 4 + 1 }, (_, index) => index % 251));
  const onDisk = await stage(contentOf(long));
  expect(await stored()).toHaveLength(1);
  await onDisk.commit(at('long.bin'));
  expect((await readFile(join(root, 'long.bin'))).equals(long)).toBe(true);

  const quarter = bytesOf(CAPACITY / 4);
  const full = await Promise.all(Array.from({ length: 4 }, () => stage(contentOf(quarter))));
  expect(await stored()).toEqual(['long.bin']);
  const more = await stage(contentOf(bytesOf(100)));
  expect(await stored()).toHaveLength(2);
  await more.discard();
  for (const one of full) await one.discard();
  const again = await Promise.all(Array.from({ length: 4 }, () => stage(contentOf(quarter))));
  expect(await stored()).toEqual(['long.bin']);
  for (const one of again) await one.discard();
});

it('counts nothing for content that goes on to the store while it arrives', async () => {
  const { root, stage } = await start();
  let [goesOn, end] = [(): void => undefined, (): void => undefined];
  const wentOn = new Promise<void>((resolve) => (goesOn = resolve));
  const ended = new Promise<void>((resolve) => (end = resolve));
  async function* slow(): AsyncGenerator<Buffer, void, undefined> {
    yield bytesOf(CAPACITY / 4 + 1);
    yield bytesOf(1);
    // Asked for behind what was in memory.
    goesOn();
    await ended;
  }
  const staging = stage(Readable.from(slow(), { objectMode: false, highWaterMark: 1 }));
  await wentOn;
  const quarters = await Promise.all(
    Array.from({ length: 4 }, () => stage(contentOf(bytesOf(CAPACITY / 4)))),
  );
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  expect(entries.filter((entry) => entry.isFile())).toHaveLength(1);
  end();
  for (const one of [await staging, ...quarters]) await one.discard();
});

it('gives the memory back when content fails or its reading is aborted', async () => {
  const { stage, stored } = await start();
  for (let times = 0; times < 8; times += 1) {
    const failing = new PassThrough();
    failing.write(bytesOf(CAPACITY / 5));
    setTimeout(() => failing.destroy(new Error('cut off')), 1);
    await expect(stage(failing)).rejects.toThrow('cut off');
    const silent = new PassThrough();
    silent.write(bytesOf(CAPACITY / 5));
    const abort = new AbortController();
    setTimeout(() => abort.abort(new Error('gone')), 1);
    await expect(stage(silent, abort.signal)).rejects.toThrow('gone');
    expect(silent.destroyed).toBe(true);
  }
  const staged = await stage(contentOf(bytesOf(CAPACITY / 4)));
  expect(await stored()).toEqual([]);
  await staged.discard();
});

it('takes no more memory for content that comes byte by byte', async () => {
  const { adapter } = await start();
  const count = 200_000;
  let heap = 0;
  async function* bytes(): AsyncGenerator<Buffer, void, undefined> {
    const before = memoryInUse().heapUsed;
    for (let index = 0; index < count; index += 1) {
      if (index % 1000 === 0) await nextTurn();
      yield Buffer.of(index % 251);
    }
    await nextTurn();
    heap = memoryInUse().heapUsed - before;
  }
  const staged = await createMemoryStaging(count * 4)(adapter, Readable.from(bytes()));
  // As chunks they took tens of megabytes.
  expect(heap).toBeLessThan(3_000_000);
  const [whole] = (await staged.open().toArray()) as Buffer[];
  expect(whole?.equals(Buffer.from(Array.from({ length: count }, (_, index) => index % 251)))).toBe(true);
  await staged.discard();
});

it('gives what has become too long to the store, whole, in whatever chunks it came', async () => {
  const { root, adapter } = await start();
  const long = Buffer.from(Array.from({ length: 400_000 }, (_, index) => index % 251));
  for (const chunk of [1000, 65_536, 65_537, 200_000]) {
    const chunks = Array.from({ length: Math.ceil(long.length / chunk) }, (_, index) =>
      long.subarray(index * chunk, (index + 1) * chunk),
    );
    const staged = await createMemoryStaging(1_200_000)(adapter, Readable.from(chunks));
    expect(await readdir(root)).toHaveLength(1);
    await staged.commit(at('long.bin'));
    expect((await readFile(join(root, 'long.bin'))).equals(long)).toBe(true);
    await rm(join(root, 'long.bin'));
  }
});
