import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { decodeBmp, decodeIcoBitmap, readIco } from '#internals';
import type { Pixels } from '../../packages/stowage/dist/pictures/bmp-header.js';
import {
  bmpFile,
  gradient,
  icoFile,
  iconBitmap,
  packColours,
  packIndexes,
  packRuns,
  stripes,
  type BitmapParts,
  type Rgba,
} from './bitmaps.ts';
import { createGallery } from './gallery.ts';
import { colourAt, isNear, quarters } from './pictures.ts';

/** The pixels of a decoded picture as RGBA. */
const rgbaOf = ({ data, channels }: Pixels): number[] =>
  Array.from({ length: (data.length / channels) * 4 }, (_, at) => {
    const channel = at % 4;
    return channel < channels ? (data[Math.floor(at / 4) * channels + channel] ?? NaN) : 255;
  });

const decode = async (name: string, file: Buffer): Promise<Pixels> => {
  if (name.endsWith('.bmp')) return decodeBmp(file);
  const [largest] = readIco(file);
  if (largest === undefined) throw new Error('The icon is empty.');
  return decodeIcoBitmap(largest);
};

/**
 * Every pixel is right (but for what `rounding` allows), and the file gets a thumbnail that looks like it.
 */
const expectShown = async (name: string, file: Buffer, picture: Rgba, rounding = 0): Promise<void> => {
  const pixels = await decode(name, file);
  expect([pixels.width, pixels.height]).toEqual([picture.width, picture.height]);
  const wrong = rgbaOf(pixels).filter((value, at) => Math.abs(value - (picture.data[at] ?? NaN)) > rounding);
  expect(wrong).toEqual([]);
  const { thumb, bytes } = await createGallery().show(name, file);
  expect(thumb).toBe(`_thumbs/${name}.jpg`);
  const made = await sharp(bytes).metadata();
  expect([made.width, made.height]).toEqual([picture.width, picture.height]);
};

const expectIcon = async (name: string, file: Buffer): Promise<void> => {
  const { thumb } = await createGallery().show(name, file);
  expect(thumb).toMatch(/^_thumbs\/file-(?:bmp|ico)~[0-9a-f]+\.svg$/u);
};

describe('thumbnails of BMP files', () => {
  it.each([1, 2, 4, 8])('shows %i bits a pixel, whatever the width', async (bits) => {
    for (const width of [33, 36, 37]) {
      const { picture, indexes, palette } = stripes(width, 21, Math.min(9, 2 ** bits));
      const pixels = packIndexes(indexes, width, bits);
      // A palette as long as the format allows leaves no doubt where the pixels begin; a gap tells whether
      // the offset is read.
      await expectShown('a.bmp', bmpFile({ width, height: 21, bits, palette, pixels, gap: 7 }), picture);
    }
  });

  it.each([16, 24, 32] as const)('shows %i bits a pixel, whatever the width', async (bits) => {
    for (const width of [33, 34, 35, 36]) {
      const picture = gradient(width, 20);
      const rounding = bits === 16 ? 8 : 0;
      const file = bmpFile({ width, height: 20, bits, pixels: packColours(picture, bits) });
      await expectShown('a.bmp', file, picture, rounding);
    }
  });

  it('shows rows that come from the top', async () => {
    const picture = gradient(31, 22);
    const pixels = packColours(picture, 24, { topDown: true });
    await expectShown('a.bmp', bmpFile({ width: 31, height: -22, bits: 24, pixels }), picture);
  });

  it('reads bit masks behind and inside of the header', async () => {
    const picture = gradient(30, 30);
    const pixels = packColours(picture, 16, { five65: true });
    const parts = { width: 30, height: 30, bits: 16, compression: 3, pixels };
    const masks = [0xf800, 0x07e0, 0x001f];
    await expectShown('a.bmp', bmpFile({ ...parts, masks }), picture, 8);
    await expectShown('a.bmp', bmpFile({ ...parts, masks: [...masks, 0], headerSize: 108 }), picture, 8);
  });

  it('reads OS/2 headers', async () => {
    const { picture, indexes, palette } = stripes(20, 20, 16);
    const pixels = packIndexes(indexes, 20, 4);
    const whole = [...palette];
    await expectShown(
      'a.bmp',
      bmpFile({ width: 20, height: 20, bits: 4, palette: whole, pixels, headerSize: 12 }),
      picture,
    );
  });

  it.each([
    [4, 2],
    [8, 1],
  ] as const)('unpacks runs, literals and skips of %i bits', async (bits, compression) => {
    for (const width of [20, 23]) {
      const { picture, indexes, palette } = stripes(width, 18, 11);
      const pixels = packRuns(indexes, width, bits);
      await expectShown('a.bmp', bmpFile({ width, height: 18, bits, compression, palette, pixels }), picture);
    }
  });

  it('takes an alpha channel that is empty for none, and a used one for what it says', async () => {
    const picture = gradient(24, 24);
    const parts = { width: 24, height: 24, bits: 32, compression: 3, headerSize: 108 as const };
    const masks = [0xff0000, 0xff00, 0xff, 0xff000000];
    const empty = bmpFile({ ...parts, masks, pixels: packColours(picture, 32, { alpha: 0 }) });
    await expectShown('a.bmp', empty, picture);
    const { bytes } = await createGallery().show(
      'b.bmp',
      bmpFile({ ...parts, masks, pixels: packColours(picture, 32, { alpha: 1 }) }),
    );
    expect(isNear(await colourAt(bytes, 12, 12), [254, 254, 254, 255], 6)).toBe(true);
  });

  const sound: BitmapParts = { width: 30, height: 30, bits: 24, pixels: packColours(gradient(30, 30), 24) };

  it('gives the icon for files that are cut off, malformed or of an unknown kind', async () => {
    const file = bmpFile(sound);
    for (const length of [2, 14, 20, 53, 54, 500]) await expectIcon('a.bmp', file.subarray(0, length));
    await expectIcon('a.bmp', bmpFile({ ...sound, bits: 7 }));
    await expectIcon('a.bmp', bmpFile({ ...sound, compression: 4 }));
    await expectIcon('a.bmp', bmpFile({ ...sound, width: 0 }));
    await expectIcon('a.bmp', bmpFile({ ...sound, width: -30 }));
    const { indexes, palette } = stripes(20, 20, 5);
    const runs = packRuns(indexes, 20, 8).subarray(0, 60);
    await expectIcon(
      'a.bmp',
      bmpFile({ width: 20, height: 20, bits: 8, compression: 1, palette, pixels: runs }),
    );
  });

  it('refuses a bitmap that claims gigapixels, or more than its runs could hold, before it takes memory', async () => {
    const before = process.memoryUsage().rss;
    await expectIcon('a.bmp', bmpFile({ ...sound, width: 50_000, height: 50_000 }));
    await expectIcon('a.bmp', bmpFile({ ...sound, width: 9000, height: 9000 }));
    const pixels = Buffer.from([255, 1, 0, 1]);
    await expectIcon('a.bmp', bmpFile({ width: 9000, height: 9000, bits: 8, compression: 1, pixels }));
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
  });
});

describe('thumbnails of ICO files', () => {
  const png = async (side: number): Promise<{ width: number; height: number; data: Buffer }> => ({
    width: side,
    height: side,
    data: await quarters(side, side).png().toBuffer(),
  });
  const bitmap = (side: number): BitmapParts => ({
    width: side,
    height: side,
    bits: 24,
    pixels: packColours(gradient(side, side), 24),
  });

  it('shows the largest picture, wherever it stands and whichever format it has', async () => {
    const small = iconBitmap(bitmap(16));
    const large = await png(256);
    for (const pictures of [
      [small, large],
      [large, small],
    ]) {
      const { thumb, bytes } = await createGallery().show('app.ico', icoFile(pictures));
      expect(thumb).toBe('_thumbs/app.ico.jpg');
      expect((await sharp(bytes).metadata()).width).toBe(250);
    }
    await expectShown('app.ico', icoFile([await png(24), iconBitmap(bitmap(48))]), gradient(48, 48));
  });

  it('shows bitmaps of 4, 8, 24 and 32 bits', async () => {
    const { picture, indexes, palette } = stripes(31, 31, 7);
    for (const bits of [4, 8]) {
      const parts = { width: 31, height: 31, bits, palette, pixels: packIndexes(indexes, 31, bits) };
      await expectShown('a.ico', icoFile([iconBitmap(parts)]), picture);
    }
    await expectShown('a.ico', icoFile([iconBitmap(bitmap(31))]), gradient(31, 31));
    const deep = { ...bitmap(31), bits: 32, pixels: packColours(gradient(31, 31), 32, { alpha: 255 }) };
    await expectShown('a.ico', icoFile([iconBitmap(deep)]), gradient(31, 31));
  });

  it('puts white where the mask or the alpha channel hides the picture', async () => {
    const left = (x: number): boolean => x < 16;
    const masked = iconBitmap(bitmap(32), left);
    const empty = { ...bitmap(32), bits: 32, pixels: packColours(gradient(32, 32), 32, { alpha: 0 }) };
    for (const icon of [masked, iconBitmap(empty, left)]) {
      const { bytes } = await createGallery({ quality: 100 }).show('a.ico', icoFile([icon]));
      expect(isNear(await colourAt(bytes, 4, 16), [255, 255, 255, 255], 12)).toBe(true);
      expect(isNear(await colourAt(bytes, 28, 16), [230, 132, 60, 255], 40)).toBe(true);
    }
  });

  it('shows what is sound beside what is not, and the icon of the extension when nothing is', async () => {
    const broken = { width: 64, height: 64, data: Buffer.alloc(100, 7) };
    await expectShown('a.ico', icoFile([broken, iconBitmap(bitmap(20))]), gradient(20, 20));
    await expectIcon('a.ico', icoFile([broken]));
    await expectIcon('a.ico', icoFile([]));
    const file = icoFile([iconBitmap(bitmap(20))]);
    for (const length of [3, 6, 22, 60]) await expectIcon('a.ico', file.subarray(0, length));
  });

  it('shows a PNG that calls itself an icon', async () => {
    const { bytes } = await createGallery().show('a.ico', await quarters(40, 40).png().toBuffer());
    expect((await sharp(bytes).metadata()).width).toBe(40);
  });
});
