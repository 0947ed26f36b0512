import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { withFaults, type Fault } from 'stowage/testing';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { StorageDeniedError } from 'stowage/storage';
import { MemoryAdapter, createImagePool, createPictureSizes, orAborted } from '#internals';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { runsEverything } from '../before-release.ts';
import { counting } from './counting.ts';
import { bytesAt, createGallery, entriesOf, pathOf, put, type Gallery } from './gallery.ts';
import { longGif } from './long-gif.ts';
import { claimingPng, colourAt, isNear, photo } from './pictures.ts';

const fill = async (storage: StorageAdapter, count: number): Promise<void> => {
  const picture = await photo(400, 300);
  for (let index = 0; index < count; index += 1) {
    await put(storage, `p${String(index).padStart(3, '0')}.jpg`, picture);
  }
};

const flat = (background: string): Promise<Buffer> =>
  sharp({ create: { width: 30, height: 30, channels: 3, background } })
    .png()
    .toBuffer();

const madeIn = (thumbs: Record<string, string | undefined>): number =>
  Object.values(thumbs).filter((thumb) => thumb !== undefined).length;

describe('making thumbnails', () => {
  it('makes each once and whole, however many listings ask for a new folder at the same time', async () => {
    const { storage, calls } = counting(new MemoryAdapter());
    const gallery = createGallery({}, { storage });
    await fill(storage, 12);
    calls.length = 0;
    const answers = await Promise.all(Array.from({ length: 50 }, () => gallery.list()));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(madeIn(answers[0] ?? {})).toBe(12);
    const written = calls.filter((call) => call.startsWith('write '));
    expect(new Set(written).size).toBe(12);
    expect(written.length).toBe(12);
    expect(calls.filter((call) => call.startsWith('read ')).length).toBe(12);
    for (const { name } of await entriesOf(storage, '_thumbs')) {
      const { width, height } = await sharp(await bytesAt(storage, `_thumbs/${name}`))
        .raw()
        .toBuffer({ resolveWithObject: true })
        .then(({ info }) => info);
      expect([width, height]).toEqual([250, 188]);
    }
  });

  it("does not make again what was made between a listing's look at the folder and its turn", async () => {
    const { storage, calls } = counting(new MemoryAdapter());
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    let looks = 0;
    const slow = new Proxy(storage, {
      get: (target, key) =>
        key === 'statMany'
          ? async (...input: Parameters<NonNullable<StorageAdapter['statMany']>>): Promise<unknown> => {
              looks += 1;
              const isFirst = looks === 1;
              const found = await target.statMany?.(...input);
              if (isFirst) await gate;
              return found;
            }
          : (Reflect.get(target, key) as unknown),
    });
    const gallery = createGallery({}, { storage: slow });
    await fill(storage, 3);
    await storage.makeFolder(pathOf('_thumbs'));
    const late = gallery.list();
    while (looks === 0) await sleep(1);
    expect(madeIn(await gallery.list())).toBe(3);
    open();
    expect(madeIn(await late)).toBe(3);
    expect(calls.filter((call) => call.startsWith('write _thumbs/')).length).toBe(3);
  });

  it('asks the store one question a listing when nothing is missing, and opens no file', async () => {
    for (const hide of [[], ['statMany']] as const) {
      const { storage, calls } = counting(withFaults(new MemoryAdapter(), [], { hide }));
      const gallery = createGallery({}, { storage });
      await fill(storage, 15);
      const entries = await entriesOf(storage);
      await gallery.thumbnails.describe(gallery.source, pathOf(''), entries, {});
      calls.length = 0;
      await gallery.thumbnails.describe(gallery.source, pathOf(''), entries, {});
      expect(calls.length).toBe(1);
      expect(calls[0]).toMatch(/^(?:statMany|list) _thumbs$/u);
    }
  });

  it('costs one read, one write and one look at the image for each new thumbnail, and no other call', async () => {
    const { storage, calls } = counting(withFaults(new MemoryAdapter(), [], { hide: ['statMany'] }));
    const gallery = createGallery({}, { storage });
    await fill(storage, 3);
    const entries = await entriesOf(storage);
    calls.length = 0;
    await gallery.thumbnails.describe(gallery.source, pathOf(''), entries, {});
    expect(calls.map((call) => call.split(' ')[0]).sort()).toEqual([
      'list',
      'read',
      'read',
      'read',
      'stat',
      'stat',
      'stat',
      'write',
      'write',
      'write',
    ]);
  });

  it('reads each picture once for its thumbnail and its size', async () => {
    const { storage, calls } = counting(new MemoryAdapter());
    const pool = createImagePool();
    const sizes = createPictureSizes(pool);
    const gallery = createGallery({}, { storage, pool, sizes });
    await fill(storage, 3);
    const entries = await entriesOf(storage);
    calls.length = 0;
    await gallery.list();
    const seen = await sizes.of(gallery.source, pathOf(''), entries, new AbortController().signal);
    expect(seen).toEqual(Array(3).fill({ width: 400, height: 300 }));
    const reads = calls.filter((call) => call.startsWith('read '));
    expect(reads.sort()).toEqual(['read p000.jpg', 'read p001.jpg', 'read p002.jpg']);
  });

  it('makes no more than the quota in one listing, the first of the page, and always tells those that exist', async () => {
    const gallery = createGallery({ safeThumbsCountInOneTime: 4 });
    await fill(gallery.storage, 10);
    const first = await gallery.list();
    expect(Object.values(first).map((thumb) => thumb !== undefined)).toEqual([
      ...Array<boolean>(4).fill(true),
      ...Array<boolean>(6).fill(false),
    ]);
    expect([
      madeIn(await gallery.list()),
      madeIn(await gallery.list()),
      madeIn(await gallery.list()),
    ]).toEqual([8, 10, 10]);
    const frozen = createGallery({ safeThumbsCountInOneTime: 0 }, { storage: gallery.storage });
    expect(madeIn(await frozen.list())).toBe(10);
  });

  it('makes a thumbnail anew that is older than its image', async () => {
    const clock = { now: Date.UTC(2026, 0, 1) };
    const storage = new MemoryAdapter({}, () => clock.now);
    const gallery = createGallery({}, { storage });
    await gallery.show('a.png', await flat('#d02020'));
    clock.now += 1000;
    const { bytes } = await gallery.show('a.png', await flat('#20d020'));
    expect(isNear(await colourAt(bytes, 10, 10), [32, 208, 32])).toBe(true);
  });

  it('makes a thumbnail anew of which a power failure has left an empty file', async () => {
    const gallery = createGallery();
    await gallery.show('a.png', await flat('#d02020'));
    await put(gallery.storage, '_thumbs/a.png', '');
    // As after a restart: nothing is known of what was made before.
    const restarted = createGallery({}, { storage: gallery.storage });
    expect(await restarted.list()).toEqual({ 'a.png': '_thumbs/a.png' });
    const bytes = await bytesAt(gallery.storage, '_thumbs/a.png');
    expect(isNear(await colourAt(bytes, 10, 10), [208, 32, 32])).toBe(true);
  });

  it('keeps a thumbnail of the same second as its image, after a restart too', async () => {
    // Many stores count whole seconds: what is listed right after its upload has the time of its thumbnail.
    const { storage, calls } = counting(new MemoryAdapter({}, () => Date.UTC(2026, 0, 1)));
    await fill(storage, 2);
    await createGallery({}, { storage }).list();
    calls.length = 0;
    expect(madeIn(await createGallery({}, { storage }).list())).toBe(2);
    expect(calls.filter((call) => /^(read|write) /.test(call))).toEqual([]);
  });

  it('makes a thumbnail anew whose image is replaced in the same second', async () => {
    const storage = new MemoryAdapter({}, () => Date.UTC(2026, 0, 1));
    const gallery = createGallery({}, { storage });
    for (const colour of ['#d02020', '#20d020'] as const) {
      await put(storage, 'a.png', await flat(colour));
      await gallery.list();
    }
    const bytes = await bytesAt(storage, '_thumbs/a.png');
    expect(isNear(await colourAt(bytes, 10, 10), [32, 208, 32])).toBe(true);
  });

  it('does not make the thumbnail of an image from the future again and again', async () => {
    const clock = { now: Date.UTC(2030, 0, 1) };
    const { storage, calls } = counting(new MemoryAdapter({}, () => clock.now));
    const gallery = createGallery({}, { storage });
    await fill(storage, 2);
    clock.now = Date.UTC(2026, 0, 1);
    await gallery.list();
    calls.length = 0;
    expect(madeIn(await gallery.list())).toBe(2);
    expect(calls.some((call) => call.startsWith('read '))).toBe(false);
  });

  it('goes on for the others when one caller leaves', async () => {
    const gallery = createGallery({ safeThumbsCountInOneTime: 8 });
    await fill(gallery.storage, 8);
    const leaving = new AbortController();
    const left = gallery.list('', leaving.signal);
    const stays = gallery.list();
    await sleep(1);
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect(madeIn(await stays)).toBe(8);
    expect(madeIn(await gallery.list())).toBe(8);
  });

  it('finishes what an abandoned listing began when it is asked again at once', async () => {
    const gallery = createGallery();
    await fill(gallery.storage, 6);
    for (let round = 0; round < 5; round += 1) {
      const leaving = new AbortController();
      const left = gallery.list('', leaving.signal);
      await sleep(round);
      leaving.abort(new Error('gone'));
      await left.catch(() => undefined);
    }
    const thumbs = await gallery.list();
    expect(madeIn(thumbs)).toBe(6);
    for (const thumb of Object.values(thumbs)) {
      await expect(sharp(await bytesAt(gallery.storage, thumb ?? '')).stats()).resolves.toBeDefined();
    }
  });
});

describe('pictures that change while their thumbnails are made', () => {
  /** A store in which reading a picture waits, with the content in hand, until the gate opens. */
  const gated = (
    inner: StorageAdapter,
  ): { storage: StorageAdapter; reads: (AbortSignal | undefined)[]; open: () => void } => {
    const reads: (AbortSignal | undefined)[] = [];
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const storage = new Proxy(inner, {
      get: (target, key) =>
        key === 'read'
          ? async (...input: Parameters<StorageAdapter['read']>) => {
              const signal = input[1]?.signal;
              reads.push(signal);
              const { stat, stream } = await target.read(...input);
              const bytes = Buffer.concat((await stream.toArray()) as Buffer[]);
              if (reads.length === 1) await orAborted(gate, signal);
              return { stat, stream: Readable.from([bytes], { objectMode: false }) };
            }
          : typeof Reflect.get(target, key) === 'function'
            ? (Reflect.get(target, key) as () => unknown).bind(target)
            : (Reflect.get(target, key) as unknown),
    });
    return { storage, reads, open: () => open() };
  };
  const shows = async (storage: StorageAdapter, colour: [number, number, number]): Promise<boolean> =>
    isNear(await colourAt(await bytesAt(storage, '_thumbs/a.png'), 10, 10), colour);

  it('are not made of more bytes than a picture may have, also where the store reports no size', async () => {
    const inner = new MemoryAdapter();
    await put(inner, 'a.png', await flat('#d02020'));
    let megabytes = 0;
    const endless = (): Readable =>
      new Readable({
        read() {
          megabytes += 1;
          this.push(megabytes > 300 ? null : Buffer.alloc(2 ** 20, 'a'));
        },
      });
    const storage = new Proxy(inner, {
      get: (target, key) =>
        key === 'read'
          ? async (...input: Parameters<StorageAdapter['read']>) => ({
              stat: (await target.read(...input)).stat,
              stream: endless(),
            })
          : typeof Reflect.get(target, key) === 'function'
            ? (Reflect.get(target, key) as () => unknown).bind(target)
            : (Reflect.get(target, key) as unknown),
    });
    const gallery = createGallery({}, { storage });
    const entry = { name: 'a.png', kind: 'file', size: undefined, modifiedAt: 1 } as const;
    await gallery.thumbnails.describe(gallery.source, pathOf(''), [entry], {});
    expect(megabytes).toBeGreaterThan(60);
    expect(megabytes).toBeLessThan(80);
  });

  it('are not taken for those of what another program has put there meanwhile', async () => {
    const inner = new MemoryAdapter();
    let isReplaced = false;
    const storage = new Proxy(inner, {
      get: (target, key) =>
        key === 'write'
          ? async (...input: Parameters<StorageAdapter['write']>): Promise<unknown> => {
              if (!isReplaced) await put(inner, 'a.png', await flat('#20d020'));
              isReplaced = true;
              return target.write(...input);
            }
          : typeof Reflect.get(target, key) === 'function'
            ? (Reflect.get(target, key) as () => unknown).bind(target)
            : (Reflect.get(target, key) as unknown),
    });
    const presets = { imagePresets: { card: { width: 20 } } };
    const gallery = createGallery(presets, { storage });
    await put(inner, 'a.png', await flat('#d02020'));
    await gallery.list();
    expect((await createGallery(presets, { storage: inner }).list())['a.png']).toBe('_thumbs/a.png');
    expect(await shows(inner, [32, 208, 32])).toBe(true);
    isReplaced = false;
    const [entry] = await entriesOf(inner);
    if (entry === undefined) throw new Error('The picture is gone.');
    const { thumbnails, source } = gallery;
    const make = (): Promise<unknown> =>
      thumbnails.show(source, pathOf('a.png'), entry, {
        preset: 'card',
        signal: new AbortController().signal,
      });
    await put(inner, 'a.png', await flat('#d02020'));
    expect(await make()).toMatchObject({ kind: 'self', failure: { code: 'BUSY' } });
    await expect(inner.stat(pathOf('_thumbs/card/a.png'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('get one of the new content when a listing has seen it', async () => {
    const clock = { now: Date.UTC(2026, 0, 1) };
    const inner = new MemoryAdapter({}, () => clock.now);
    const { storage, reads, open } = gated(inner);
    const gallery = createGallery({}, { storage });
    await put(inner, 'a.png', await flat('#d02020'));
    const early = gallery.list();
    while (reads.length === 0) await sleep(1);
    clock.now += 1000;
    await put(inner, 'a.png', await flat('#20d020'));
    const late = gallery.list();
    await sleep(20);
    open();
    await Promise.all([early, late]);
    expect(await shows(inner, [32, 208, 32])).toBe(true);
  });

  it('are not decoded any more when every client has left', async () => {
    const inner = new MemoryAdapter();
    const { storage, reads } = gated(inner);
    const gallery = createGallery({}, { storage });
    await put(inner, 'a.png', await flat('#d02020'));
    const leaving = [new AbortController(), new AbortController()];
    const left = leaving.map(({ signal }) => gallery.list('', signal).catch(() => undefined));
    while (reads.length === 0) await sleep(1);
    leaving[0]?.abort();
    await sleep(20);
    expect(reads.map((signal) => signal?.aborted)).toEqual([false]);
    leaving[1]?.abort();
    await Promise.all(left);
    await sleep(20);
    expect(reads.map((signal) => signal?.aborted)).toEqual([true]);
    expect(await entriesOf(inner, '_thumbs').catch(() => [])).toEqual([]);
  });
});

describe('a store that fails', () => {
  const failing = async (faults: readonly Fault[]): Promise<{ gallery: Gallery; warnings: string[] }> => {
    const inner = new MemoryAdapter();
    await fill(inner, 3);
    await put(inner, 'z.pdf', 'x');
    const warnings: string[] = [];
    const drop = (): void => undefined;
    const log = {
      debug: drop,
      info: drop,
      error: drop,
      warn: (message: string) => void warnings.push(message),
    };
    return { gallery: createGallery({}, { storage: withFaults(inner, faults), log }), warnings };
  };

  const themselves = {
    'p000.jpg': 'p000.jpg',
    'p001.jpg': 'p001.jpg',
    'p002.jpg': 'p002.jpg',
    'z.pdf': 'z.pdf',
  };

  it('refusing thumbnails leaves the listing alone: items are shown by themselves, and one line is logged', async () => {
    const error = new StorageDeniedError();
    const { gallery, warnings } = await failing([{ operation: 'write', effect: 'fail-before', error }]);
    for (let round = 0; round < 3; round += 1) expect(await gallery.list()).toEqual(themselves);
    expect(warnings).toEqual(['A thumbnail could not be stored.']);
  });

  it('refusing thumbnails is not tried again at once: no image is decoded for nothing', async () => {
    const error = new StorageDeniedError();
    const { storage, calls } = counting(
      withFaults(new MemoryAdapter(), [
        { operation: 'write', effect: 'fail-before', error, path: (path) => path.parent.name === '_thumbs' },
      ]),
    );
    const gallery = createGallery({}, { storage });
    await fill(storage, 3);
    await gallery.list();
    calls.length = 0;
    await gallery.list();
    expect(calls.filter((call) => /^(?:read|write) /u.test(call))).toEqual([]);
  });

  it('whose thumbnail folder cannot be read leaves the listing alone', async () => {
    const { gallery, warnings } = await failing([{ operation: 'statMany', effect: 'fail-before' }]);
    for (let round = 0; round < 3; round += 1) expect(await gallery.list()).toEqual(themselves);
    expect(warnings.length).toBe(1);
  });

  it('with a file in the place of the thumbnail folder leaves the listing alone', async () => {
    const gallery = createGallery();
    await fill(gallery.storage, 2);
    await put(gallery.storage, '_thumbs', 'in the way');
    expect(await gallery.list()).toEqual({ 'p000.jpg': 'p000.jpg', 'p001.jpg': 'p001.jpg' });
    expect((await bytesAt(gallery.storage, '_thumbs')).toString()).toBe('in the way');
  });

  it('that breaks while an image is read makes the others', async () => {
    const { gallery } = await failing([
      { operation: 'read', effect: 'cut', bytes: 100, path: (path) => path.name === 'p001.jpg' },
    ]);
    const thumbs = await gallery.list();
    expect(thumbs['p000.jpg']).toBe('_thumbs/p000.jpg');
    expect(thumbs['p001.jpg']).toBe('p001.jpg');
    expect(thumbs['p002.jpg']).toBe('_thumbs/p002.jpg');
  });

  it('that ends an image early does not leave half a thumbnail behind', async () => {
    const { gallery } = await failing([{ operation: 'read', effect: 'short', bytes: 500, call: 1 }]);
    await gallery.list();
    for (const { name } of await entriesOf(gallery.storage, '_thumbs')) {
      if (name.endsWith('.svg')) continue;
      await expect(sharp(await bytesAt(gallery.storage, `_thumbs/${name}`)).stats()).resolves.toBeDefined();
    }
  });
});

describe('a folder with bombs', () => {
  it.runIf(runsEverything)('is listed at once and in little memory', async () => {
    const gallery = createGallery({}, { pool: createImagePool({ memory: 128 * 1024 * 1024 }) });
    // The first decoding loads the library; that is no part of what a bomb costs.
    await gallery.show('first.png', await flat('#d02020'));
    await put(gallery.storage, 'wide.png', await claimingPng(50_000, 50_000));
    await put(gallery.storage, 'long.gif', longGif(10_000, 1000, 1000));
    await put(
      gallery.storage,
      'huge.svg',
      '<svg xmlns="http://www.w3.org/2000/svg" width="1e9" height="1e9"/>',
    );
    // Decoders need all of these two at once, however few bytes they are.
    const flatPicture = {
      create: { width: 12_000, height: 9000, channels: 3 as const, background: '#c83232' },
    };
    await put(
      gallery.storage,
      'progressive.jpg',
      await sharp(flatPicture).jpeg({ progressive: true }).toBuffer(),
    );
    await put(gallery.storage, 'broad.gif', longGif(1, 65_535, 65_535));
    await put(gallery.storage, 'cut.gif', longGif(10_000, 1000, 1000).subarray(0, 15));
    const before = process.memoryUsage().rss;
    const thumbs = await gallery.list();
    expect(thumbs['progressive.jpg']).toMatch(/^_thumbs\/file-jpg~.+\.svg$/u);
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
    expect(thumbs['wide.png']).toMatch(/^_thumbs\/file-png~.+\.svg$/u);
    expect(thumbs['cut.gif']).toMatch(/^_thumbs\/file-gif~.+\.svg$/u);
    expect(thumbs['huge.svg']).toBe('huge.svg');
    // Of an animation only the first frame is decoded, so its length is no danger.
    const { width, pages } = await sharp(await bytesAt(gallery.storage, thumbs['long.gif'] ?? '')).metadata();
    expect([width, pages ?? 1]).toEqual([250, 1]);
  });
});
