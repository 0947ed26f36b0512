import { SaxesParser } from 'saxes';
import { describe, expect, it } from 'vitest';
import type { IconEntry } from '../../packages/stowage/dist/pictures/kept/thumbnails.js';
import { bytesAt, createGallery, entriesOf, pathOf, put } from './gallery.ts';

const wellFormed = (svg: string): boolean => {
  let sound = true;
  const parser = new SaxesParser({ xmlns: true });
  parser.on('error', () => {
    sound = false;
  });
  parser.write(svg).close();
  return sound;
};

describe('default icons', () => {
  it('are one file for each extension and one for folders', async () => {
    const gallery = createGallery();
    for (const name of ['a.pdf', 'b.PDF', 'c.zip', 'README']) await put(gallery.storage, name, 'x');
    await gallery.storage.makeFolder(pathOf('one'));
    await gallery.storage.makeFolder(pathOf('two'));
    const thumbs = await gallery.list();
    expect(thumbs['a.pdf']).toBe(thumbs['b.PDF']);
    expect(thumbs['one']).toBe(thumbs['two']);
    expect(new Set(Object.values(thumbs)).size).toBe(4);
    expect((await entriesOf(gallery.storage, '_thumbs')).length).toBe(4);
    for (const thumb of Object.values(thumbs)) {
      expect(thumb).toMatch(/^_thumbs\/.+\.svg$/u);
      expect(wellFormed((await bytesAt(gallery.storage, thumb ?? '')).toString())).toBe(true);
    }
    expect((await bytesAt(gallery.storage, thumbs['a.pdf'] ?? '')).toString()).toContain('>PDF<');
  });

  it('do not count as new thumbnails', async () => {
    const gallery = createGallery({ safeThumbsCountInOneTime: 0 });
    await put(gallery.storage, 'a.txt', 'x');
    expect((await gallery.list())['a.txt']).toMatch(/\.svg$/u);
  });

  it('are written once, and again when the size changes or the file is gone', async () => {
    const gallery = createGallery();
    await put(gallery.storage, 'a.txt', 'x');
    const first = (await gallery.list())['a.txt'] ?? '';
    const { modifiedAt } = await gallery.storage.stat(pathOf(first));
    expect((await gallery.list())['a.txt']).toBe(first);
    expect((await gallery.storage.stat(pathOf(first))).modifiedAt).toBe(modifiedAt);
    await gallery.storage.removeFile(pathOf(first));
    expect((await gallery.list())['a.txt']).toBe(first);
    expect((await bytesAt(gallery.storage, first)).length).toBeGreaterThan(0);
    const larger = createGallery({ svgThumbWidth: 320, svgThumbHeight: 200 }, { storage: gallery.storage });
    const svg = (await bytesAt(gallery.storage, (await larger.list())['a.txt'] ?? '')).toString();
    expect(svg).toContain('width="320" height="200"');
  });

  it('escape the extension', async () => {
    const gallery = createGallery();
    for (const name of ['a.<b>', 'b.&"\'', 'c.日本', `d.${'x'.repeat(200)}`])
      await put(gallery.storage, name, 'x');
    for (const thumb of Object.values(await gallery.list())) {
      expect(thumb).toMatch(/^_thumbs\/[0-9A-Za-z._~-]+\.svg$/u);
      expect(wellFormed((await bytesAt(gallery.storage, thumb ?? '')).toString())).toBe(true);
    }
  });

  it('are left out when they are switched off: items point to themselves', async () => {
    const gallery = createGallery({ generateSvgThumbs: false });
    await put(gallery.storage, 'a.txt', 'x');
    await gallery.storage.makeFolder(pathOf('folder'));
    expect(await gallery.list()).toEqual({ 'a.txt': 'a.txt', folder: 'folder' });
    await expect(gallery.storage.stat(pathOf('_thumbs'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('vanish with everything else when thumbnails are switched off', async () => {
    const gallery = createGallery({ createThumb: false });
    await put(gallery.storage, 'a.txt', 'x');
    expect(await gallery.list()).toEqual({ 'a.txt': undefined });
    await expect(gallery.storage.stat(pathOf('_thumbs'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('icons of a generator', () => {
  const svgOf = (text: string): string =>
    `<svg xmlns="http://www.w3.org/2000/svg"><text>${text}</text></svg>`;

  it('are drawn for each item with what is known of it', async () => {
    const seen: (IconEntry & { width: number; height: number })[] = [];
    const gallery = createGallery(
      { svgThumbWidth: 64, svgThumbHeight: 48 },
      {
        svgGenerator: (entry, width, height) => {
          seen.push({ ...entry, width, height });
          return svgOf(entry.path);
        },
      },
    );
    await put(gallery.storage, 'sub/a.txt', 'four');
    await put(gallery.storage, 'sub/b.txt', 'x');
    await gallery.storage.makeFolder(pathOf('sub/deep'));
    const thumbs = await gallery.list('sub');
    expect(new Set(Object.values(thumbs)).size).toBe(3);
    expect(seen).toContainEqual({
      path: 'sub/a.txt',
      isFile: true,
      isDirectory: false,
      size: 4,
      width: 64,
      height: 48,
    });
    expect(seen).toContainEqual({
      path: 'sub/deep',
      isFile: false,
      isDirectory: true,
      size: undefined,
      width: 64,
      height: 48,
    });
    expect((await bytesAt(gallery.storage, `sub/${thumbs['b.txt'] ?? ''}`)).toString()).toBe(
      svgOf('sub/b.txt'),
    );
  });

  it('may come later, are kept, and are drawn again when the item changes', async () => {
    let drawn = 0;
    const svgGenerator = async (): Promise<string> => {
      drawn += 1;
      return Promise.resolve(svgOf(String(drawn)));
    };
    const gallery = createGallery({}, { svgGenerator });
    expect((await gallery.show('a.txt', 'x')).bytes.toString()).toBe(svgOf('1'));
    await gallery.list();
    expect(drawn).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await gallery.show('a.txt', 'changed')).bytes.toString()).toBe(svgOf('2'));
  });

  it('count as new thumbnails', async () => {
    const gallery = createGallery({ safeThumbsCountInOneTime: 2 }, { svgGenerator: () => svgOf('x') });
    for (const name of ['a.txt', 'b.txt', 'c.txt']) await put(gallery.storage, name, 'x');
    expect((await gallery.list())['c.txt']).toBeUndefined();
    expect((await gallery.list())['c.txt']).toMatch(/\.svg$/u);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('no ink'))],
    ['returns no text', () => 42 as unknown as string],
  ])('give way to the default icon when the generator %s', async (_, svgGenerator) => {
    const gallery = createGallery({}, { svgGenerator });
    const { bytes } = await gallery.show('a.pdf', 'x');
    expect(bytes.toString()).toContain('>PDF<');
  });
});
