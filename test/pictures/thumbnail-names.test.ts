import { describe, expect, it } from 'vitest';
import { createGallery, entriesOf, put } from './gallery.ts';
import { quarters } from './pictures.ts';
import { bmpFile, gradient, packColours } from './bitmaps.ts';

const jpeg = async (): Promise<Buffer> => quarters(20, 10).jpeg().toBuffer();
const bmp = bmpFile({ width: 8, height: 8, bits: 24, pixels: packColours(gradient(8, 8), 24) });

describe('names of thumbnails', () => {
  it.each([
    ['a b (1).jpg', '_thumbs/a b (1).jpg'],
    ['.hidden.jpg', '_thumbs/.hidden.jpg'],
    ['many.dots.in.png', '_thumbs/many.dots.in.png'],
  ])('are those of the images: %s', async (name, expected) => {
    expect((await createGallery().show(name, await jpeg())).thumb).toBe(expected);
  });

  it.each([
    'фото.jpg',
    '写真.png',
    'café.jpg',
    'a#b.jpg',
    '100%.jpg',
    'what?.jpg',
    'x".jpg',
    '<b>.jpg',
    `${'n'.repeat(251)}.jpg`,
  ])('are plain ASCII of bounded length with a hash for %s', async (name) => {
    const { thumb, bytes } = await createGallery().show(name, await jpeg());
    expect(thumb).toMatch(/^_thumbs\/[0-9A-Za-z._-]+~[0-9a-f]{10}\.(?:jpg|png)$/u);
    expect(Buffer.byteLength(thumb ?? '')).toBeLessThan(255);
    expect(bytes.length).toBeGreaterThan(0);
  });

  it('differ for names of another script of equal length', async () => {
    const gallery = createGallery();
    for (const name of ['кот.jpg', 'пёс.jpg', 'дом.jpg']) await put(gallery.storage, name, await jpeg());
    expect(new Set(Object.values(await gallery.list())).size).toBe(3);
  });

  it('never meet: every image of a folder has a thumbnail of its own', async () => {
    const gallery = createGallery();
    const hashed = (await gallery.show('фото.jpg', await jpeg())).thumb?.replace('_thumbs/', '') ?? '';
    const names = [
      'a.bmp',
      'a.bmp.jpg',
      'A.bmp.JPG',
      'a.bmp.bmp',
      'a.bmp.bmp.jpg',
      'a.jpg',
      'a.jpeg',
      'a.png',
      hashed,
    ];
    for (const name of names) await put(gallery.storage, name, name.endsWith('.bmp') ? bmp : await jpeg());
    const thumbs = Object.values(await gallery.list());
    expect(thumbs).not.toContain(undefined);
    expect(new Set(thumbs.map((thumb) => thumb?.toLowerCase())).size).toBe(names.length + 1);
    expect(await gallery.list()).toMatchObject({
      'a.bmp': '_thumbs/a.bmp.jpg',
      'a.bmp.bmp': '_thumbs/a.bmp.bmp.jpg',
    });
    expect((await entriesOf(gallery.storage, '_thumbs')).length).toBe(names.length + 1);
  });

  it('stand in the folder of the settings', async () => {
    const gallery = createGallery({ thumbFolderName: 'previews' });
    expect((await gallery.show('a.jpg', await jpeg())).thumb).toBe('previews/a.jpg');
  });

  it('lie beside their images in sub-folders', async () => {
    const gallery = createGallery();
    await put(gallery.storage, 'deep/er/a.jpg', await jpeg());
    expect(await gallery.list('deep/er')).toEqual({ 'a.jpg': '_thumbs/a.jpg' });
    expect((await entriesOf(gallery.storage, 'deep/er/_thumbs')).map(({ name }) => name)).toEqual(['a.jpg']);
  });
});
