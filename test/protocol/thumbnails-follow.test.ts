import sharp from 'sharp';
import { registerStorageAdapter } from 'stowage';
import { describe, expect, it } from 'vitest';
import { MemoryAdapter } from '#internals';
import { bytesAt, put } from '../pictures/gallery.ts';
import { boxOf } from './images.ts';
import { startService, type Service } from './service.ts';

const picture = (colour: string): Promise<Buffer> =>
  sharp({ create: { width: 40, height: 30, channels: 3, background: colour } })
    .png()
    .toBuffer();

const colourOf = async (service: Service, path: string): Promise<number[]> => {
  const image = sharp(`${service.source('files').root}/${path}`);
  return [...(await image.removeAlpha().raw().toBuffer()).subarray(0, 3)];
};

const RED = [255, 0, 0];
const BLUE = [0, 0, 255];

/** The pictures in the thumbnail folders, without icons. */
const thumbnails = async (service: Service): Promise<string[]> =>
  (await service.source('files').paths()).filter((path) => /_thumbs\/.*\.png$/u.test(path));

const list = async (service: Service, path = ''): Promise<Record<string, unknown>[]> => {
  const { data } = await service.call('files', { path });
  const [source] = data['sources'] as { files: Record<string, unknown>[] }[];
  return source?.files ?? [];
};

const startWithThumbnail = async (): Promise<Service> => {
  const service = await startService({ saveSameFileNameStrategy: 'replace' });
  await service.source('files').put({ 'dir/a.png': await picture('red'), 'other/': '' });
  await list(service, 'dir');
  expect(await thumbnails(service)).toEqual(['dir/_thumbs/a.png']);
  return service;
};

describe('a thumbnail', () => {
  it('goes when its image is removed', async () => {
    const service = await startWithThumbnail();
    await service.call('fileRemove', { path: 'dir', name: 'a.png' });
    expect(await thumbnails(service)).toEqual([]);
  });

  it('gets the new name of its image', async () => {
    const service = await startWithThumbnail();
    await service.call('fileRename', { path: 'dir', name: 'a.png', newname: 'b' });
    expect(await thumbnails(service)).toEqual(['dir/_thumbs/b.png']);
    expect(await colourOf(service, 'dir/_thumbs/b.png')).toEqual(RED);
  });

  it('moves with its image', async () => {
    const service = await startWithThumbnail();
    await service.call('fileMove', { from: 'dir/a.png', path: 'other' });
    await list(service, 'other');
    expect(await thumbnails(service)).toEqual(['other/_thumbs/a.png']);
  });

  it('of a copy shows the copy', async () => {
    const service = await startWithThumbnail();
    await service.call('fileCopy', { from: 'dir/a.png', path: 'dir' });
    const items = await list(service, 'dir');
    expect(items.map(({ thumb }) => thumb).sort()).toEqual(['_thumbs/a (1).png', '_thumbs/a.png']);
    expect(await colourOf(service, 'dir/_thumbs/a (1).png')).toEqual(RED);
  });

  it('is made anew when its image is replaced', async () => {
    const service = await startWithThumbnail();
    const blue = new Uint8Array(await picture('blue'));
    const { data } = await service.upload([['files[0]', 'a.png', blue]], { path: 'dir' });
    expect(data['files']).toEqual(['dir/a.png']);
    await list(service, 'dir');
    expect(await thumbnails(service)).toEqual(['dir/_thumbs/a.png']);
    expect(await colourOf(service, 'dir/_thumbs/a.png')).toEqual(BLUE);
  });

  it('travels inside a folder that is moved, renamed or copied', async () => {
    const service = await startWithThumbnail();
    await service.call('folderRename', { name: 'dir', newname: 'new' });
    await service.call('folderMove', { from: 'new', path: 'other' });
    expect(await thumbnails(service)).toEqual(['other/new/_thumbs/a.png']);
    await service.call('folderCopy', { from: 'other/new', path: 'other' });
    await list(service, 'other/new (1)');
    expect(await thumbnails(service)).toEqual(['other/new (1)/_thumbs/a.png', 'other/new/_thumbs/a.png']);
    expect(await colourOf(service, 'other/new (1)/_thumbs/a.png')).toEqual(RED);
  });

  it('is made anew after an edit in the same second, where the store tells seconds', async () => {
    const store = new MemoryAdapter({}, () => Date.UTC(2026, 0, 1));
    registerStorageAdapter('one-second', { create: () => store });
    const service = await startService({ sources: { files: { storageAdapter: 'one-second' } } });
    const red = { create: { width: 20, height: 30, channels: 3 as const, background: 'red' } };
    const halves = sharp(await picture('blue')).composite([{ input: red, left: 0, top: 0 }]);
    await put(store, 'a.png', await halves.png().toBuffer());
    await list(service);
    const box = boxOf({ x: 20, y: 0, w: 20, h: 30 });
    expect((await service.call('imageCrop', { name: 'a.png', ...box })).status).toBe(200);
    await list(service);
    const shown = sharp(await bytesAt(store, '_thumbs/a.png'));
    expect([...(await shown.removeAlpha().raw().toBuffer()).subarray(0, 3)]).toEqual(BLUE);
  });
});
