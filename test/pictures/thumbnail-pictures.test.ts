import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { createGallery } from './gallery.ts';
import {
  animation,
  claimingPng,
  colourAt,
  fromRgba,
  isNear,
  photo,
  QUARTERS,
  quarters,
  turned,
} from './pictures.ts';
import { gradient } from './bitmaps.ts';

const expectQuarters = async (image: Buffer): Promise<void> => {
  const { width, height } = await sharp(image).metadata();
  const [left, right] = [Math.floor(width / 4), Math.floor((width * 3) / 4)];
  const [top, bottom] = [Math.floor(height / 4), Math.floor((height * 3) / 4)];
  const found = await Promise.all(
    [
      [left, top],
      [right, top],
      [right, bottom],
      [left, bottom],
    ].map(([x = 0, y = 0]) => colourAt(image, x, y)),
  );
  const expected = [QUARTERS.red, QUARTERS.green, QUARTERS.blue, QUARTERS.white];
  found.forEach((colour, index) => expect(isNear(colour, expected[index] ?? [])).toBe(true));
};

describe('thumbnails of pictures', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('shows EXIF orientation %i upright', async (orientation) => {
    const stored = await (await turned(quarters(), orientation)).jpeg({ quality: 95 }).toBuffer();
    const { bytes } = await createGallery({ thumbSize: 40 }).show('cat.jpg', stored);
    const { width, height, orientation: left } = await sharp(bytes).metadata();
    expect([width, height]).toEqual([40, 20]);
    expect(left ?? 1).toBe(1);
    await expectQuarters(bytes);
  });

  it.each([
    ['wide', 1000, 500, 250, 125],
    ['high', 500, 1000, 125, 250],
    ['a line', 5000, 2, 250, 1],
    ['as large as the square', 250, 250, 250, 250],
    ['smaller', 40, 30, 40, 30],
    ['one pixel', 1, 1, 1, 1],
  ])(
    'fits a picture that is %s into the square and never enlarges it',
    async (_, width, height, toWidth, toHeight) => {
      const { bytes } = await createGallery().show('a.png', await quarters(width, height).png().toBuffer());
      const made = await sharp(bytes).metadata();
      expect([made.width, made.height]).toEqual([toWidth, toHeight]);
    },
  );

  it.each([
    ['a.jpg', 'jpeg'],
    ['b.JPG', 'jpeg'],
    ['c.jpeg', 'jpeg'],
    ['d.png', 'png'],
    ['e.gif', 'gif'],
    ['f.webp', 'webp'],
  ] as const)('keeps name and format of %s', async (name, format) => {
    const { thumb, bytes } = await createGallery().show(name, await quarters().toFormat(format).toBuffer());
    expect(thumb).toBe(`_thumbs/${name}`);
    expect((await sharp(bytes).metadata()).format).toBe(format);
  });

  it('turns other formats into JPEG behind their name', async () => {
    const gallery = createGallery({ imageExtensions: ['avif', 'tif'] });
    const avif = await gallery.show('a.avif', await quarters().avif().toBuffer());
    const tiff = await gallery.show('b.tif', await quarters().tiff().toBuffer());
    expect([avif.thumb, tiff.thumb]).toEqual(['_thumbs/a.avif.jpg', '_thumbs/b.tif.jpg']);
    for (const { bytes } of [avif, tiff]) {
      expect((await sharp(bytes).metadata()).format).toBe('jpeg');
      await expectQuarters(bytes);
    }
  });

  it('tells the format by content and writes the one of the name', async () => {
    const { bytes } = await createGallery().show('really-a-jpeg.png', await quarters().jpeg().toBuffer());
    expect((await sharp(bytes).metadata()).format).toBe('png');
    await expectQuarters(bytes);
  });

  it('keeps transparency in PNG and WebP, and puts white behind it in JPEG', async () => {
    const clear = { create: { width: 20, height: 20, channels: 4 as const, background: '#ff000000' } };
    const gallery = createGallery({ imageExtensions: ['png', 'webp', 'avif'] });
    for (const [name, format] of [
      ['a.png', 'png'],
      ['b.webp', 'webp'],
    ] as const) {
      const { bytes } = await gallery.show(name, await sharp(clear).toFormat(format).toBuffer());
      expect((await colourAt(bytes, 10, 10))[3]).toBe(0);
    }
    const { bytes } = await gallery.show('c.avif', await sharp(clear).avif().toBuffer());
    expect(isNear(await colourAt(bytes, 10, 10), [255, 255, 255, 255], 4)).toBe(true);
  });

  it.each([
    ['palette', (): Promise<Buffer> => quarters().png({ palette: true, colours: 4 }).toBuffer()],
    ['16 bits', (): Promise<Buffer> => quarters().toColourspace('rgb16').png().toBuffer()],
    ['interlaced', (): Promise<Buffer> => quarters().png({ progressive: true }).toBuffer()],
  ])('shows a PNG with %s in its colours, 8 bits', async (_, make) => {
    const { bytes } = await createGallery().show('a.png', await make());
    await expectQuarters(bytes);
    expect((await sharp(bytes).metadata()).depth).toBe('uchar');
  });

  it('shows a CMYK JPEG in its colours, as RGB', async () => {
    const cmyk = await quarters().toColourspace('cmyk').jpeg({ quality: 95 }).toBuffer();
    expect((await sharp(cmyk).metadata()).space).toBe('cmyk');
    const { bytes } = await createGallery().show('print.jpg', cmyk);
    expect((await sharp(bytes).metadata()).space).toBe('srgb');
    const colour = await colourAt(bytes, 20, 10);
    // Print colours are duller; red stays red.
    expect((colour[0] ?? 0) > 150 && (colour[1] ?? 255) < 100 && (colour[2] ?? 255) < 100).toBe(true);
  });

  it.each(['srgb', 'rgb16'])(
    'converts a wide colour profile of %s, which the thumbnail no longer carries',
    async (space) => {
      const wide = await quarters().toColourspace(space).withIccProfile('p3').png().toBuffer();
      expect((await sharp(wide).metadata()).hasProfile).toBe(true);
      const { bytes } = await createGallery().show('p3.png', wide);
      expect((await sharp(bytes).metadata()).hasProfile).toBe(false);
      await expectQuarters(bytes);
    },
  );

  it.each(['gif', 'webp'] as const)('shows the first frame of an animated %s', async (format) => {
    const { bytes } = await createGallery().show(
      `a.${format}`,
      await animation(format, ['#e02020', '#20e020', '#2020e0']),
    );
    expect((await sharp(bytes).metadata()).pages ?? 1).toBe(1);
    expect(isNear(await colourAt(bytes, 30, 20), [224, 32, 32])).toBe(true);
  });

  it('follows the quality setting', async () => {
    const picture = await photo(800, 600);
    const [low, high] = await Promise.all(
      [10, 95].map(async (quality) => (await createGallery({ quality }).show('a.jpg', picture)).bytes.length),
    );
    expect(low ?? 0).toBeLessThan((high ?? 0) / 2);
  });

  it('lets SVG images be their own thumbnails without opening them', async () => {
    const { thumb, bytes } = await createGallery().show(
      'logo.svg',
      '<svg xmlns="http://www.w3.org/2000/svg"/>',
    );
    expect(thumb).toBe('logo.svg');
    expect(bytes.toString()).toBe('<svg xmlns="http://www.w3.org/2000/svg"/>');
  });

  describe('that cannot be decoded', () => {
    const expectIcon = async (name: string, content: Buffer | string): Promise<void> => {
      const { thumb, bytes } = await createGallery().show(name, content);
      expect(thumb).toMatch(/^_thumbs\/file-[a-z]+~[0-9a-f]+\.svg$/u);
      expect(bytes.toString()).toContain('<svg ');
    };

    it('gives the icon of the extension for text, nothing, and a cut-off file', async () => {
      await expectIcon('a.jpg', 'this is no picture');
      await expectIcon('a.png', '');
      const jpeg = await photo(600, 400);
      await expectIcon('a.jpg', jpeg.subarray(0, jpeg.length / 2));
      const png = await fromRgba(gradient(300, 300)).png().toBuffer();
      await expectIcon('a.png', png.subarray(0, png.length / 2));
      await expectIcon('a.gif', (await animation('gif', ['#112233', '#445566'])).subarray(0, 40));
    });

    it('gives the icon for a damaged header and for markup that calls itself a picture', async () => {
      const png = await quarters().png().toBuffer();
      await expectIcon('a.png', Buffer.concat([png.subarray(0, 8), Buffer.alloc(400, 0x41)]));
      await expectIcon('a.png', '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>');
      await expectIcon('a.jpg', '<!doctype html><script>alert(1)</script>');
    });

    it('points to the file itself when there are no icons', async () => {
      const { thumb } = await createGallery({ generateSvgThumbs: false }).show('a.jpg', 'no picture');
      expect(thumb).toBe('a.jpg');
    });

    it('remembers what is broken until the file changes', async () => {
      const gallery = createGallery();
      const first = await gallery.show('a.png', 'no picture');
      expect((await gallery.list())['a.png']).toBe(first.thumb);
      const mended = await gallery.show('a.png', await quarters().png().toBuffer());
      expect(mended.thumb).toBe('_thumbs/a.png');
      await expectQuarters(mended.bytes);
    });

    it('refuses a PNG of 50,000 x 50,000 pixels by its header', async () => {
      await expectIcon('a.png', await claimingPng(50_000, 50_000));
    });
  });
});
