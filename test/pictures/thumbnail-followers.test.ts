import { withFaults } from 'stowage/testing';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { MemoryAdapter } from '#internals';
import type { SourceLocation, SourceVersion } from '../../packages/stowage/dist/pictures/kept/thumbnails.js';
import { bytesAt, createGallery, entriesOf, pathOf, put, type Gallery } from './gallery.ts';
import { colourAt, isNear } from './pictures.ts';

const flat = (background: string): Promise<Buffer> =>
  sharp({ create: { width: 30, height: 30, channels: 3, background } })
    .png()
    .toBuffer();

const at = (gallery: Gallery, path: string): SourceLocation => ({
  source: gallery.source,
  path: pathOf(path),
});

/** A location with what lies there now, as an action knows it before it changes anything. */
const seen = async (gallery: Gallery, path: string): Promise<SourceVersion> => ({
  ...at(gallery, path),
  stat: await gallery.storage.stat(pathOf(path)),
});

const thumbsIn = async ({ storage }: Gallery, folder = ''): Promise<string[]> => {
  try {
    return (await entriesOf(storage, `${folder}/_thumbs`)).map(({ name }) => name);
  } catch {
    return [];
  }
};

const withPicture = async (path = 'a.png'): Promise<Gallery> => {
  const gallery = createGallery();
  await put(gallery.storage, path, await flat('#d02020'));
  await gallery.list(pathOf(path).parent.toString());
  return gallery;
};

describe('thumbnails follow their images', () => {
  it('removed', async () => {
    const gallery = await withPicture();
    await gallery.storage.removeFile(pathOf('a.png'));
    await gallery.thumbnails.removed(at(gallery, 'a.png'));
    expect(await thumbsIn(gallery)).toEqual([]);
  });

  it('moved, and the listing there makes nothing', async () => {
    const gallery = await withPicture();
    const from = await seen(gallery, 'a.png');
    await gallery.storage.moveFile(pathOf('a.png'), pathOf('sub/b.png'));
    await gallery.thumbnails.moved(from, at(gallery, 'sub/b.png'));
    expect(await thumbsIn(gallery)).toEqual([]);
    expect(await thumbsIn(gallery, 'sub')).toEqual(['b.png']);
    const frozen = createGallery({ safeThumbsCountInOneTime: 0 }, { storage: gallery.storage });
    expect(await frozen.list('sub')).toEqual({ 'b.png': '_thumbs/b.png' });
  });

  it('moved onto the name of a thumbnail that belonged to another', async () => {
    const gallery = await withPicture();
    await put(gallery.storage, 'b.png', await flat('#2020d0'));
    await gallery.list();
    const from = await seen(gallery, 'a.png');
    await gallery.storage.moveFile(pathOf('a.png'), pathOf('b.png'));
    await gallery.thumbnails.moved(from, at(gallery, 'b.png'));
    const thumb = (await gallery.list())['b.png'] ?? '';
    expect(isNear(await colourAt(await bytesAt(gallery.storage, thumb), 15, 15), [208, 32, 32])).toBe(true);
  });

  it('moved before they had one: a stale one at the target goes', async () => {
    const gallery = createGallery();
    await put(gallery.storage, 'a.png', await flat('#d02020'));
    await put(gallery.storage, '_thumbs/b.png', await flat('#2020d0'));
    const from = await seen(gallery, 'a.png');
    await gallery.storage.moveFile(pathOf('a.png'), pathOf('b.png'));
    await gallery.thumbnails.moved(from, at(gallery, 'b.png'));
    expect(await thumbsIn(gallery)).toEqual([]);
  });

  it('copied', async () => {
    const gallery = await withPicture();
    const from = await seen(gallery, 'a.png');
    await gallery.storage.copyFile(pathOf('a.png'), pathOf('a (1).png'));
    await gallery.thumbnails.copied(from, at(gallery, 'a (1).png'));
    expect(await thumbsIn(gallery)).toEqual(['a (1).png', 'a.png']);
  });

  it.each([
    ['moveFile', 'moved', 5000],
    ['copyFile', 'copied', 5000],
    ['moveFile', 'moved', 300],
    ['copyFile', 'copied', 300],
  ] as const)(
    'not when the thumbnail is older than the image: %s, %s after %d ms',
    async (verb, told, ms) => {
      // No whole second: that might be a rounded time.
      const clock = { now: 1_000_001 };
      const storage = new MemoryAdapter({}, () => clock.now);
      const gallery = createGallery({}, { storage });
      await gallery.show('a.png', await flat('#d02020'));
      clock.now += ms;
      await put(storage, 'a.png', await flat('#20d020'));
      clock.now += ms;
      const from = await seen(gallery, 'a.png');
      // As on a store where the thumbnail gets a new time with its new path.
      await storage[verb](pathOf('a.png'), pathOf('b.png'));
      clock.now += ms;
      await gallery.thumbnails[told](from, at(gallery, 'b.png'));
      const thumb = (await gallery.list())['b.png'] ?? '';
      expect(isNear(await colourAt(await bytesAt(storage, thumb), 15, 15), [32, 208, 32])).toBe(true);
    },
  );

  it('changed, even in the same millisecond', async () => {
    const storage = new MemoryAdapter({}, () => 1_000_000);
    const gallery = createGallery({}, { storage });
    await gallery.show('a.png', await flat('#d02020'));
    await put(storage, 'a.png', await flat('#20d020'));
    await gallery.thumbnails.changed(at(gallery, 'a.png'));
    const { bytes } = await gallery.show('a.png', await flat('#20d020'));
    expect(isNear(await colourAt(bytes, 15, 15), [32, 208, 32])).toBe(true);
  });

  it('changed while the thumbnail is being made: the old content never shows', async () => {
    const gallery = createGallery();
    const [red, green] = [await flat('#d02020'), await flat('#20d020')];
    for (let round = 0; round < 20; round += 1) {
      const name = `${String(round)}.png`;
      await put(gallery.storage, name, red);
      const listing = gallery.list();
      for (let turn = 0; turn < round; turn += 1) await new Promise(setImmediate);
      await put(gallery.storage, name, green);
      await gallery.thumbnails.changed(at(gallery, name));
      await listing;
      const { [name]: thumb = '' } = await gallery.list();
      expect(isNear(await colourAt(await bytesAt(gallery.storage, thumb), 15, 15), [32, 208, 32])).toBe(true);
    }
  });

  it('between sources of different stores: the old one goes, the new one is made where it is listed', async () => {
    const [from, to] = [await withPicture(), createGallery()];
    const before = await seen(from, 'a.png');
    await from.storage.removeFile(pathOf('a.png'));
    await put(to.storage, 'a.png', await flat('#d02020'));
    await to.thumbnails.moved(before, at(to, 'a.png'));
    expect([await thumbsIn(from), await thumbsIn(to)]).toEqual([[], []]);
    expect(await to.list()).toEqual({ 'a.png': '_thumbs/a.png' });
  });

  it('with icons of a generator: those of removed and moved items go', async () => {
    const svgGenerator = (): string => '<svg xmlns="http://www.w3.org/2000/svg"/>';
    const gallery = createGallery({}, { svgGenerator });
    await put(gallery.storage, 'a.txt', 'x');
    await put(gallery.storage, 'b.txt', 'x');
    await gallery.list();
    expect((await thumbsIn(gallery)).length).toBe(2);
    await gallery.thumbnails.removed(at(gallery, 'a.txt'));
    const from = await seen(gallery, 'b.txt');
    await gallery.thumbnails.moved(from, at(gallery, 'c.txt'));
    expect(await thumbsIn(gallery)).toEqual([]);
  });

  it('removed with their folder: thumbnails that were on their way do not bring it back', async () => {
    const picture = await flat('#d02020');
    for (let round = 0; round < 15; round += 1) {
      const gallery = createGallery();
      for (let index = 0; index < 6; index += 1) {
        await put(gallery.storage, `gone/deep/${String(index)}.png`, picture);
      }
      const listing = gallery.list('gone/deep');
      for (let turn = 0; turn < round * 2; turn += 1) await new Promise(setImmediate);
      await gallery.storage.removeFolder(pathOf('gone'));
      // As when the answer of a slow store takes its time: what is on its way goes on.
      for (let turn = 0; turn < round; turn += 1) await new Promise(setImmediate);
      await gallery.thumbnails.removed(at(gallery, 'gone'));
      await listing;
      await expect(gallery.storage.stat(pathOf('gone'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
  });

  it('moved with their folder, which does not come back either', async () => {
    const gallery = createGallery();
    await put(gallery.storage, 'old/a.png', await flat('#d02020'));
    await gallery.list('old');
    await gallery.storage.moveFolder?.(pathOf('old'), pathOf('new'));
    await put(gallery.storage, 'old/_thumbs/a.png', 'late');
    const from = await seen(gallery, 'old');
    await gallery.thumbnails.moved(from, at(gallery, 'new'));
    expect((await entriesOf(gallery.storage)).map(({ name }) => name)).toEqual(['new']);
    expect(await thumbsIn(gallery, 'new')).toEqual(['a.png']);
  });

  it('removed with their folder, but a new folder of that name keeps what is in it', async () => {
    const gallery = createGallery();
    await put(gallery.storage, 'sub/a.png', await flat('#d02020'));
    await gallery.list('sub');
    await gallery.storage.removeFolder(pathOf('sub'));
    await put(gallery.storage, 'sub/b.txt', 'new');
    await gallery.thumbnails.removed(at(gallery, 'sub'));
    expect((await entriesOf(gallery.storage, 'sub')).map(({ name }) => name)).toEqual(['b.txt']);
  });

  it('without any error when there is none, no thumbnails are wanted, or the store fails', async () => {
    const quiet = createGallery({ createThumb: false });
    const inner = new MemoryAdapter();
    const broken = createGallery(
      {},
      {
        storage: withFaults(inner, [
          { operation: 'removeFile', effect: 'fail-before' },
          { operation: 'moveFile', effect: 'fail-before' },
        ]),
      },
    );
    for (const gallery of [createGallery(), quiet, broken]) {
      const [a, b] = [at(gallery, 'a.png'), at(gallery, 'b.png')];
      await gallery.thumbnails.removed(a);
      await gallery.thumbnails.changed(a);
      const stat = { name: 'a.png', kind: 'file', size: 1, modifiedAt: 1, etag: undefined } as const;
      await gallery.thumbnails.moved({ ...a, stat }, b);
      await gallery.thumbnails.copied({ ...a, stat }, b);
      await gallery.thumbnails.removed(at(gallery, ''));
      await expect(gallery.storage.stat(pathOf('_thumbs'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }
  });
});
