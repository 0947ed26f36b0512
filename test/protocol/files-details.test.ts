import { randomUUID } from 'node:crypto';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { createApp, registerStorageAdapter } from 'stowage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MemoryAdapter } from '#internals';
import type { Entry, StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { put } from '../pictures/gallery.ts';
import { replacing } from './changing-store.ts';
import { formOf, silent, startService, type Service } from './service.ts';

const picture = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#336699' } });

/** More than what is read of a picture, whatever the encoder makes of it. */
const noisy = (width: number, height: number) =>
  sharp({
    create: {
      width,
      height,
      channels: 3,
      background: '#888',
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    },
  });

interface Listed {
  readonly total?: number;
  readonly files: readonly Readonly<Record<string, unknown>>[];
}

const listed = async (service: Service, mods: Record<string, string>): Promise<Listed> => {
  const fields = Object.fromEntries(Object.entries(mods).map(([key, value]) => [`mods[${key}]`, value]));
  const { data } = await service.call('files', fields);
  const [source] = data['sources'] as Listed[];
  if (source === undefined) throw new Error('no source');
  return source;
};

const contents = (async () => ({
  'a.txt': 'hello',
  'broken.jpg': 'not a picture',
  'empty.png': '',
  'large.gif': await noisy(500, 300).gif({ effort: 1 }).toBuffer(),
  'large.jpg': await noisy(600, 400).withMetadata({ orientation: 6 }).jpeg({ quality: 95 }).toBuffer(),
  'large.png': await noisy(300, 200).png().toBuffer(),
  'large.webp': await noisy(500, 400).webp({ quality: 95 }).toBuffer(),
  'lossless.webp': await noisy(300, 250).webp({ lossless: true }).toBuffer(),
  'small.avif': await picture(64, 48).avif({ effort: 0 }).toBuffer(),
  'small.webp': await picture(30, 20).withMetadata({ orientation: 8 }).webp().toBuffer(),
  'trip/x.txt': 'x',
}))();

it.each([
  ['width="120" height="50"', [120, 50]],
  ['width="1in" height="25.4mm" viewBox="0 0 10 10"', [96, 96]],
  ['width="100" viewBox="0 0 40 20"', [100, 50]],
  ['height="10px" viewBox="0,0,40,20"', [20, 10]],
  ['width="76.6" viewBox="-5 -5 10 5"', [77, 38]],
  ['viewBox="0 0 30 20"', [undefined, undefined]],
  ['width="100%" height="100%" viewBox="0 0 30 20"', [undefined, undefined]],
  ['width="100%" height="50"', [undefined, undefined]],
  ['width="0" height="-1" viewBox="0 0 0 5"', [undefined, undefined]],
  ['', [undefined, undefined]],
])('details of a drawing have the size that its root says: %s', async (attributes, [width, height]) => {
  const service = await startService();
  const prolog = '<?xml version="1.0"?><!DOCTYPE svg><!-- <svg width="1" height="1"> -->';
  const rest = '<rect width="7" height="7"/>'.repeat(5000);
  const drawing = `${prolog}<svg xmlns="http://www.w3.org/2000/svg" ${attributes}>${rest}</svg>`;
  await service.source('files').put({ 'a.svg': drawing, 'no.svg': '<html width="1" height="1"/>' });
  const { files } = await listed(service, { details: 'true', sortBy: 'name-asc' });
  expect(files.map((file) => [file['width'], file['height']])).toEqual([
    [width, height],
    [undefined, undefined],
  ]);
  const { data } = await service.upload([['files[0]', 'b.svg', drawing]]);
  const [item] = data['items'] as Readonly<Record<string, unknown>>[];
  expect([item?.['width'], item?.['height']]).toEqual([width, height]);
});

const start = async (): Promise<Service> => {
  const service = await startService({
    defaultSortBy: 'name-asc',
    imageExtensions: ['jpg', 'png', 'gif', 'webp', 'avif', 'bmp'],
    createThumb: false,
  });
  const files = await contents;
  for (const [name, content] of Object.entries(files))
    expect([name, content.length > 64 * 1024]).toEqual([name, /^(?:large|lossless)/u.test(name)]);
  await service.source('files').put(files);
  return service;
};

describe('mods[details]', () => {
  it('says times to the millisecond, of whatever day', async () => {
    const service = await startService({ createThumb: false });
    const times = [
      '1969-12-31T23:59:59.999Z',
      '1970-01-01T00:00:00.000Z',
      '2024-02-29T00:00:00.007Z',
      '2024-02-29T23:59:59.070Z',
      '2024-03-01T09:08:07.700Z',
    ];
    const { root } = service.source('files');
    for (const [index, time] of times.entries()) {
      await service.source('files').put({ [`${String(index)}.txt`]: 'text' });
      // A little later: as seconds most thousandths are a little too small.
      const seconds = index < 2 ? new Date(time) : Date.parse(time) / 1000 + 0.0002;
      await utimes(join(root, `${String(index)}.txt`), seconds, seconds);
    }
    const { files } = await listed(service, { details: 'true', sortBy: 'name-asc' });
    expect(files.map(({ modified }) => modified)).toEqual(times);
  });

  it('says size, time, type, version, and the size of pictures as they are seen', async () => {
    const service = await start();
    const { total, files } = await listed(service, { details: 'true', withFolders: 'true' });
    expect(total).toBe(11);
    const byName = new Map(files.map((item) => [item['name'], item]));
    expect(byName.get('a.txt')).toMatchObject({ bytes: 5, mime: 'text/plain' });
    const { modified, etag } = byName.get('a.txt') ?? {};
    expect(new Date(String(modified)).toISOString()).toBe(modified);
    const download = await service.get('fileDownload', { name: 'a.txt' });
    expect(download.headers.get('etag')).toBe(etag);
    const sizes = [...byName].map(([name, { width, height }]) => [name, width, height]);
    expect(sizes).toEqual([
      ['a.txt', undefined, undefined],
      ['broken.jpg', undefined, undefined],
      ['empty.png', undefined, undefined],
      ['large.gif', 500, 300],
      ['large.jpg', 400, 600],
      ['large.png', 300, 200],
      ['large.webp', 500, 400],
      ['lossless.webp', 300, 250],
      ['small.avif', 64, 48],
      ['small.webp', 20, 30],
      ['trip', undefined, undefined],
    ]);
    expect(byName.get('trip')).not.toHaveProperty('bytes');
  });

  it.each([0, 1])(
    'says the size of a GIF as browsers show it where its canvas is %i pixels wide',
    async (side) => {
      const service = await startService({ createThumb: false });
      const gif = await picture(40, 30).gif().toBuffer();
      gif.writeUInt16LE(side, 6);
      gif.writeUInt16LE(side, 8);
      await service.source('files').put({ 'a.gif': gif });
      const { files } = await listed(service, { details: '1' });
      expect(files.map(({ width, height }) => [width, height])).toEqual([[40, 30]]);
    },
  );

  it('counts what a page leaves out, and follows what has changed', async () => {
    const service = await start();
    const page = await listed(service, { details: '1', offset: '3', limit: '2' });
    expect([page.total, page.files.map(({ width }) => width)]).toEqual([10, [500, 400]]);
    const filtered = await listed(service, { details: '1', onlyImages: '1', filterWord: 'webp', limit: '1' });
    expect([filtered.total, filtered.files.length]).toEqual([3, 1]);
    await service.source('files').put({ 'large.jpg': await picture(50, 40).jpeg().toBuffer() });
    const again = await listed(service, { details: '1', filterWord: 'large.jpg' });
    expect(again.files[0]).toMatchObject({ width: 50, height: 40 });
  });

  it('says the size of a JPEG behind any metadata that cameras write, as it is seen', async () => {
    const service = await startService();
    const [jpeg, profile] = [await picture(40, 20).jpeg().toBuffer(), Buffer.alloc(65_000, 'x')];
    const turned = await picture(40, 20).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    const segment = Buffer.concat([Buffer.from([0xff, 0xe5, 0xfd, 0xea]), profile]);
    const behind = (file: Buffer, at: number, count: number): Buffer =>
      Buffer.concat([file.subarray(0, at), ...Array<Buffer>(count).fill(segment), file.subarray(at)]);
    const afterExif = 4 + turned.readUInt16BE(4);
    await service.source('files').put({
      'plain.jpg': behind(jpeg, 2, 12),
      'turned.jpg': behind(turned, afterExif, 12),
      'endless.jpg': behind(jpeg, 2, 60),
    });
    const { files } = await listed(service, { details: 'true' });
    const sizes = Object.fromEntries(files.map(({ name, width, height }) => [name, [width, height]]));
    expect(sizes).toEqual({
      'plain.jpg': [40, 20],
      'turned.jpg': [20, 40],
      'endless.jpg': [undefined, undefined],
    });
  });

  it('follows what is replaced within a second by a picture of as many bytes', async () => {
    const lying = await picture(40, 20).withMetadata({ orientation: 1 }).jpeg().toBuffer();
    const standing = await picture(40, 20).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    expect(lying.length).toBe(standing.length);
    const inner = new MemoryAdapter({}, () => Date.UTC(2026, 0, 1));
    const versionless = <Found extends Entry>(found: Found): Found => ({ ...found, etag: undefined });
    const stores: Readonly<Record<string, StorageAdapter>> = {
      versions: inner,
      none: replacing(inner, {
        stat: async (...input) => versionless(await inner.stat(...input)),
        statMany: async (...input) =>
          (await inner.statMany(...input)).map((found) => found && versionless(found)),
        read: async (...input) => {
          const { stat, stream } = await inner.read(...input);
          return { stat: versionless(stat), stream };
        },
        async *list(...input) {
          for await (const page of inner.list(...input)) yield page.map(versionless);
        },
      }),
    };
    for (const [kind, storage] of Object.entries(stores)) {
      const storageAdapter = `same-second-${kind}-${randomUUID()}`;
      registerStorageAdapter(storageAdapter, { create: () => storage });
      const service = await startService({ createThumb: false, sources: { files: { storageAdapter } } });
      const seen = async (): Promise<unknown[]> => {
        const { files } = await listed(service, { details: 'true' });
        return files.map(({ width, height }) => [width, height]);
      };
      await put(inner, 'a.jpg', lying);
      expect([kind, await seen()]).toEqual([kind, [[40, 20]]]);
      expect((await service.call('imageRotate', { name: 'a.jpg', angle: '90' })).status).toBe(200);
      expect([kind, await seen()]).toEqual([kind, [[20, 40]]]);
      if (kind === 'none') continue;
      await put(inner, 'a.jpg', lying);
      expect([kind, await seen()]).toEqual([kind, [[40, 20]]]);
    }
  });

  it('changes nothing when it is not asked for', async () => {
    const service = await start();
    const { total, files } = await listed(service, {});
    expect(total).toBeUndefined();
    const keys = new Set(files.flatMap((item) => Object.keys(item)));
    expect([...keys].sort()).toEqual(['changed', 'file', 'isImage', 'name', 'size', 'type']);
  });

  it('says the same of other stores', async () => {
    const sources = { memory: { title: 'M', storageAdapter: 'memory', baseurl: '/m/' } };
    const app = createApp({ sources }, {}, { logger: silent });
    onTestFinished(() => app.close());
    const content = new Uint8Array(await picture(33, 22).png().toBuffer());
    const body = formOf([['files[0]', 'a.png', content]]);
    await app.fetch(new Request('http://x/fileUpload', { method: 'POST', body }));
    const answer = await app.fetch(new Request('http://x/files?mods[details]=true'));
    const { data } = (await answer.json()) as { data: { sources: Listed[] } };
    expect(data.sources[0]).toMatchObject({
      total: 1,
      files: [
        {
          width: 33,
          height: 22,
          bytes: content.length,
          mime: 'image/png',
          etag: expect.any(String) as string,
        },
      ],
    });
  });
});
