import { randomUUID } from 'node:crypto';
import sharp, { type Sharp } from 'sharp';
import { registerStorageAdapter } from 'stowage';
import { type SourcePath, StorageDeniedError, StorageFullError } from 'stowage/storage';
import { describe, expect, it } from 'vitest';
import { runsEverything } from '../before-release.ts';
import { MemoryAdapter } from '#internals';
import { put } from '../pictures/gallery.ts';
import { replacing } from '../protocol/changing-store.ts';
import { startService, type Service } from '../protocol/service.ts';

const picture = (width = 600, height = 400, background = '#336699'): Sharp =>
  sharp({ create: { width, height, channels: 3, background } });

interface Item {
  readonly name: string;
  readonly thumb?: string;
}

const listed = async (service: Service): Promise<readonly Item[]> => {
  const { data } = await service.call('files', { 'mods[withFolders]': 'true' });
  return (data['sources'] as { files: readonly Item[] }[])[0]?.files ?? [];
};

const start = async (options: object = {}, top: object = {}): Promise<Service> => {
  const service = await startService({
    ...top,
    sources: { files: { baseurl: undefined, serve: 'public', safeThumbsCountInOneTime: 1, ...options } },
  });
  const jpeg = await picture().jpeg().toBuffer();
  await service.source('files').put({
    'a.jpg': jpeg,
    'Köln (1).jpg': jpeg,
    'wide.bmp.png': await picture(900, 100).png().toBuffer(),
    'b.webp': await picture().webp().toBuffer(),
    'broken.jpg': 'not a picture',
    'letter.pdf': '%PDF-1.4',
    'trip/': '',
  });
  return service;
};

describe('thumbnails of served sources', () => {
  it('are in the listing at once, and made when a browser asks for them', async () => {
    const service = await start();
    const before = await service.source('files').paths();
    const items = await listed(service);
    expect(items.filter(({ thumb }) => thumb === undefined)).toEqual([]);
    expect(await service.source('files').paths()).toEqual(before);
    for (const { name, thumb = '' } of items) {
      const response = await fetch(`${service.url}/file/files/${thumb}`);
      const bytes = Buffer.from(await response.arrayBuffer());
      expect([name, response.status]).toEqual([name, 200]);
      const { width = 0, height = 0, format } = await sharp(bytes).metadata();
      const isDrawn = ['a.jpg', 'Köln (1).jpg', 'wide.bmp.png', 'b.webp'].includes(name);
      expect([name, Math.max(width, height)]).toEqual([name, isDrawn ? 250 : 100]);
      expect(response.headers.get('content-type')).toBe(
        `image/${format === 'svg' ? 'svg+xml' : String(format)}`,
      );
    }
    expect(
      (await service.source('files').paths()).filter((path) => path.startsWith('_thumbs/')),
    ).toHaveLength(5);
  });

  it('show the new picture after it was replaced', async () => {
    const service = await start();
    const colour = async (): Promise<number[]> => {
      const response = await fetch(`${service.url}/file/files/_thumbs/a.jpg`);
      const { channels } = await sharp(Buffer.from(await response.arrayBuffer())).stats();
      return channels.map(({ mean }) => Math.round(mean / 16));
    };
    expect(await colour()).toEqual([3, 6, 10]);
    await service.source('files').put({ 'a.jpg': await picture(600, 400, '#ff0000').jpeg().toBuffer() });
    expect(await colour()).toEqual([16, 0, 0]);
  });

  it('are made once when many ask at the same time', async () => {
    const service = await start();
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const response = await fetch(`${service.url}/file/files/_thumbs/a.jpg`);
        return [response.status, (await response.arrayBuffer()).byteLength] as const;
      }),
    );
    expect(new Set(answers.map(String)).size).toBe(1);
    expect(answers[0]?.[0]).toBe(200);
  });

  it('of what does not exist or is hidden are not there, however often they are asked for', async () => {
    const service = await start();
    await service.source('files').put({ 'secret.key': 'key', '.tmb/x.jpg': 'hidden' });
    const paths = [
      '_thumbs/missing.jpg',
      '_thumbs/secret.key',
      '.tmb/_thumbs/x.jpg',
      '_thumbs/.tmb',
      '_thumbs/_thumbs',
    ];
    for (const path of paths) {
      for (let round = 0; round < 20; round += 1) {
        expect((await fetch(`${service.url}/file/files/${path}`)).status).toBe(404);
      }
    }
  });

  it.runIf(runsEverything)(
    'of a thousand broken or missing pictures leave nothing behind and delay no request',
    async () => {
      const service = await start();
      const names = [
        '_thumbs/broken.jpg',
        ...Array.from({ length: 9 }, (_, index) => `_thumbs/no-${String(index)}.jpg`),
      ];
      await fetch(`${service.url}/file/files/${names[0] ?? ''}`);
      const before = await service.source('files').paths();
      const asked = Array.from({ length: 1000 }, async (_, index) => {
        const response = await fetch(`${service.url}/file/files/${names[index % 10] ?? ''}`);
        return `${String(response.status)} ${String((await response.arrayBuffer()).byteLength > 0)}`;
      });
      expect((await fetch(`${service.url}/file/files/_thumbs/a.jpg`)).status).toBe(200);
      const counted = new Map<string, number>();
      for (const answer of await Promise.all(asked)) counted.set(answer, (counted.get(answer) ?? 0) + 1);
      expect(Object.fromEntries(counted)).toEqual({ '200 true': 100, '404 true': 900 });
      const added = (await service.source('files').paths()).filter((path) => !before.includes(path));
      expect(added).toEqual(['_thumbs/', '_thumbs/a.jpg']);
    },
  );

  it('of denied pictures are denied', async () => {
    const service = await start(
      { serve: 'protected' },
      { accessControl: [{ extensions: ['webp'], FILE_DOWNLOAD: false }] },
    );
    const status = async (path: string): Promise<number> =>
      (await fetch(`${service.url}/file/files/${path}`)).status;
    expect(await status('_thumbs/a.jpg')).toBe(200);
    expect([await status('b.webp'), await status('_thumbs/b.webp')]).toEqual([403, 403]);
  });

  it('are not kept by browsers for long while something stands in for them', async () => {
    const inner = new MemoryAdapter();
    await put(inner, 'a.jpg', await picture().jpeg().toBuffer());
    let isFull = true;
    const storageAdapter = `full-${randomUUID()}`;
    registerStorageAdapter(storageAdapter, {
      create: () =>
        replacing(inner, {
          write: (...input) => {
            if (isFull) throw new StorageFullError();
            return inner.write(...input);
          },
        }),
    });
    const service = await startService({
      imagePresets: { card: { width: 20 } },
      sources: {
        files: {
          storageAdapter,
          baseurl: undefined,
          serve: 'public',
          serveCacheControl: 'public, max-age=86400',
        },
      },
    });
    const kept = async (path: string): Promise<unknown> => {
      const response = await fetch(`${service.url}/file/files/${path}`);
      await response.arrayBuffer();
      return [path, response.status, response.headers.get('cache-control')];
    };
    for (const path of ['_thumbs/a.jpg', '_thumbs/card/a.jpg'])
      expect(await kept(path)).toEqual([path, 200, 'public, no-cache']);
    expect(await kept('a.jpg')).toEqual(['a.jpg', 200, 'public, max-age=86400']);
    const variant = await service.call('imageVariant', { name: 'a.jpg', preset: 'card' });
    expect([variant.status, variant.data['error']]).toEqual([500, 'STORAGE_FULL']);
    isFull = false;
    await put(inner, 'b.jpg', await picture().jpeg().toBuffer());
    // A folder that has refused one is left alone for a while.
    const other = await startService({
      sources: {
        files: {
          storageAdapter,
          baseurl: undefined,
          serve: 'public',
          serveCacheControl: 'public, max-age=86400',
        },
      },
    });
    const drawn = await fetch(`${other.url}/file/files/_thumbs/b.jpg`);
    expect(drawn.headers.get('cache-control')).toBe('public, max-age=86400');
    expect((await sharp(Buffer.from(await drawn.arrayBuffer())).metadata()).width).toBe(250);
  });

  it('are made anew where the store refuses to show them, as those of another user after a restore', async () => {
    const inner = new MemoryAdapter();
    await put(inner, 'a.jpg', await picture().jpeg().toBuffer());
    let isClosed = false;
    const check = (path: SourcePath): void => {
      if (isClosed && path.segments.includes('_thumbs')) throw new StorageDeniedError();
    };
    const storageAdapter = `closed-${randomUUID()}`;
    registerStorageAdapter(storageAdapter, {
      create: () =>
        replacing(inner, {
          stat: async (path, options) => {
            check(path);
            return inner.stat(path, options);
          },
          read: async (path, options) => {
            check(path);
            return inner.read(path, options);
          },
          list: (folder, options) => {
            check(folder);
            return inner.list(folder, options);
          },
          write: async (...input) => {
            isClosed = false;
            return inner.write(...input);
          },
        }),
    });
    const files = { storageAdapter, baseurl: undefined, serve: 'public' };
    const shown = { ...files, serve: 'off', baseurl: '/photos/' };
    const service = await startService({ imagePresets: { card: { width: 20 } }, sources: { files, shown } });
    for (const path of ['_thumbs/a.jpg', '_thumbs/card/a.jpg']) {
      isClosed = true;
      const answer = await fetch(`${service.url}/file/files/${path}`);
      expect([path, answer.status, answer.headers.get('content-type')]).toEqual([path, 200, 'image/jpeg']);
    }
    isClosed = true;
    const { status } = await service.call('files', { source: 'shown', 'mods[variants]': '1' });
    expect(status).toBe(200);
  });

  it('are made anew for conditions and ranges too, where the store shows them without their content', async () => {
    const inner = new MemoryAdapter();
    await put(inner, 'a.jpg', await picture().jpeg().toBuffer());
    let isClosed = false;
    const read: MemoryAdapter['read'] = async (path, options) => {
      if (isClosed && path.segments.includes('_thumbs')) throw new StorageDeniedError();
      return inner.read(path, options);
    };
    const write: MemoryAdapter['write'] = async (...input) => {
      isClosed = false;
      return inner.write(...input);
    };
    const storageAdapter = `unreadable-${randomUUID()}`;
    registerStorageAdapter(storageAdapter, { create: () => replacing(inner, { read, write }) });
    const files = { storageAdapter, baseurl: undefined, serve: 'public' };
    const service = await startService({ imagePresets: { card: { width: 20 } }, sources: { files } });
    for (const path of ['_thumbs/a.jpg', '_thumbs/card/a.jpg']) {
      await fetch(`${service.url}/file/files/${path}`);
      for (const [name, value] of [
        ['if-none-match', '"other"'],
        ['range', 'bytes=0-9'],
      ] as const) {
        isClosed = true;
        const started = await startService({ imagePresets: { card: { width: 20 } }, sources: { files } });
        const answer = await fetch(`${started.url}/file/files/${path}`, { headers: { [name]: value } });
        const { length } = new Uint8Array(await answer.arrayBuffer());
        expect([path, answer.status, length > 9]).toEqual([path, name === 'range' ? 206 : 200, true]);
      }
    }
    isClosed = true;
    const started = await startService({ imagePresets: { card: { width: 20 } }, sources: { files } });
    const variant = await started.get('imageVariant', { path: '', name: 'a.jpg', preset: 'card' });
    expect([variant.status, (await variant.arrayBuffer()).byteLength > 99]).toEqual([200, true]);
  });

  it.each(['before it is opened', 'before it is looked up'])(
    'are there when their picture is replaced or renamed just %s',
    async (moment) => {
      const [inner, storageAdapter] = [new MemoryAdapter(), `amid-${randomUUID()}`];
      let happen: (() => Promise<unknown>) | undefined;
      const first = async ({ segments }: SourcePath, is: string): Promise<void> => {
        if (moment !== is || !segments.includes('_thumbs')) return;
        const once = happen;
        happen = undefined;
        await once?.();
      };
      const store = replacing(inner, {
        stat: (path, options) => first(path, 'before it is looked up').then(() => inner.stat(path, options)),
        read: (path, options) => first(path, 'before it is opened').then(() => inner.read(path, options)),
      });
      registerStorageAdapter(storageAdapter, { create: () => store });
      const files = { storageAdapter, baseurl: undefined, serve: 'public', redirectMoved: {} };
      const service = await startService({ imagePresets: { card: { width: 20 } }, sources: { files } });
      const png = await picture().png().toBuffer();
      await service.upload([['files[0]', 'a.png', new Uint8Array(png)]]);
      for (const path of ['_thumbs/a.png', '_thumbs/card/a.png']) {
        await fetch(`${service.url}/file/files/${path}`);
        happen = () => service.call('imageRotate', { name: 'a.png', angle: '90' });
        const answer = await fetch(`${service.url}/file/files/${path}`);
        const { width = 0, height = 0 } = await sharp(Buffer.from(await answer.arrayBuffer())).metadata();
        const isTurned = height > width;
        happen = () => service.call('fileRename', { name: 'a.png', newname: 'b.png' });
        const renamed = await fetch(`${service.url}/file/files/${path}`, { redirect: 'manual' });
        expect([answer.status, isTurned, renamed.status]).toEqual([200, true, 308]);
        await service.call('fileRename', { name: 'b.png', newname: 'a.png' });
        await service.call('imageRotate', { name: 'a.png', angle: '270' });
      }
    },
  );

  it('are the pictures themselves where the store takes no thumbnails', async () => {
    const service = await start({ createThumb: false });
    expect((await listed(service)).every(({ thumb }) => thumb === undefined)).toBe(true);
    expect((await fetch(`${service.url}/file/files/_thumbs/a.jpg`)).status).toBe(404);
  });
});

describe('thumbnails of sources that others serve', () => {
  const startOff = async (options: object): Promise<Service> => {
    const service = await startService({
      safeThumbsCountInOneTime: 2,
      defaultSortBy: 'name-asc',
      sources: { files: options },
    });
    const jpeg = await picture().jpeg().toBuffer();
    await service
      .source('files')
      .put(Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [`${name}.jpg`, jpeg])));
    return service;
  };
  const thumbs = async (service: Service) => (await listed(service)).map(({ thumb }) => thumb);

  it('are made up to the quota by a listing, and the rest of the folder after it', async () => {
    const service = await startOff({});
    expect(await thumbs(service)).toEqual([
      '_thumbs/a.jpg',
      '_thumbs/b.jpg',
      undefined,
      undefined,
      undefined,
    ]);
    await expect
      .poll(async () => (await service.source('files').paths()).filter((path) => path.startsWith('_thumbs/')))
      .toHaveLength(6);
    expect(await thumbs(service)).toEqual(['a', 'b', 'c', 'd', 'e'].map((name) => `_thumbs/${name}.jpg`));
  });

  it('are icons until they are made, when the source says so', async () => {
    const service = await startOff({ thumbPlaceholder: true });
    const [, , third, fourth] = await thumbs(service);
    expect([third, third]).toEqual([expect.stringMatching(/^_thumbs\/file-jpg~\w+\.svg$/u), fourth]);
    expect(await service.source('files').text(third ?? '')).toContain('JPG');
  });
});
