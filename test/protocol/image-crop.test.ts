import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { bmpFile, gradient, packColours } from '../pictures/bitmaps.ts';
import { animation, colourAt, fromRgba, isNear, QUARTERS, quarters, turned } from '../pictures/pictures.ts';
import { boxOf, startImages } from './images.ts';

describe('imageCrop', () => {
  it.each(['jpeg', 'png', 'gif', 'webp', 'avif'] as const)('cuts a box out of a %s', async (format) => {
    const { put, service, shown } = await startImages();
    const name = `a.${format}`;
    await put(name, await quarters(80, 40).toFormat(format).toBuffer());
    const answer = await service.call('imageCrop', { name, ...boxOf({ x: 45, y: 25, w: 20, h: 10 }) });
    expect(answer.data).toEqual({ code: 220, newPath: `https://files.example/files/${name}` });
    const made = await shown(name);
    expect([made.width, made.height]).toEqual([20, 10]);
    expect(isNear(await colourAt(made.bytes, 10, 5), QUARTERS.blue)).toBe(true);
  });

  it('cuts exactly the pixels of the box, without loss where the format has none', async () => {
    const { put, service, bytes } = await startImages();
    const picture = gradient(60, 50);
    const expected = await fromRgba(picture)
      .extract({ left: 7, top: 11, width: 30, height: 20 })
      .removeAlpha()
      .raw()
      .toBuffer();
    await put('a.png', await fromRgba(picture).removeAlpha().png().toBuffer());
    await put('a.bmp', bmpFile({ width: 60, height: 50, bits: 24, pixels: packColours(picture, 24) }));
    for (const name of ['a.png', 'a.bmp']) {
      await service.call('imageCrop', { name, ...boxOf({ x: 7, y: 11, w: 30, h: 20 }) });
    }
    expect(
      (
        await sharp(await bytes('a.png'))
          .raw()
          .toBuffer()
      ).equals(expected),
    ).toBe(true);
    const file = await bytes('a.bmp');
    const stride = Math.ceil((30 * 3) / 4) * 4;
    for (let y = 0; y < 20; y += 1) {
      const row = file.subarray(54 + (19 - y) * stride, 54 + (19 - y) * stride + 90);
      const want = expected.subarray(y * 90, y * 90 + 90);
      for (let at = 0; at < 90; at += 3) {
        expect([row[at + 2], row[at + 1], row[at]]).toEqual([want[at], want[at + 1], want[at + 2]]);
      }
    }
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'means the box as it is seen with EXIF orientation %i',
    async (orientation) => {
      const { put, service, shown } = await startImages();
      await put(
        'a.jpg',
        await (await turned(quarters(80, 40), orientation)).jpeg({ quality: 95 }).toBuffer(),
      );
      await service.call('imageCrop', { name: 'a.jpg', ...boxOf({ x: 44, y: 4, w: 32, h: 12 }) });
      const made = await shown('a.jpg');
      expect([made.width, made.height, made.metadata.orientation ?? 1]).toEqual([32, 12, 1]);
      expect(isNear(await colourAt(made.bytes, 16, 6), QUARTERS.green)).toBe(true);
    },
  );

  it.each(['gif', 'webp'] as const)('crops every frame of an animated %s', async (format) => {
    const { put, service, shown } = await startImages();
    await put(`a.${format}`, await animation(format, ['#e02020', '#20e020', '#2020e0']));
    await service.call('imageCrop', { name: `a.${format}`, ...boxOf({ x: 10, y: 20, w: 15, h: 20 }) });
    const made = await shown(`a.${format}`);
    expect([made.width, made.height, made.frames]).toEqual([15, 20, 3]);
    expect([made.metadata.delay, made.metadata.loop]).toEqual([[100, 150, 200], 3]);
    const last = await sharp(made.bytes, { page: 2 }).png().toBuffer();
    expect(isNear(await colourAt(last, 7, 10), [32, 32, 224])).toBe(true);
  });

  it('keeps the length of an animation in a box where nothing moves', async () => {
    const { put, service, shown } = await startImages();
    const still = { create: { width: 20, height: 40, channels: 3 as const, background: '#808080' } };
    const corner = await sharp(still).png().toBuffer();
    const frames = await Promise.all(
      ['#e02020', '#20e020', '#2020e0'].map((background) =>
        sharp({ create: { width: 60, height: 40, channels: 3, background } })
          .composite([{ input: corner, left: 0, top: 0 }])
          .png()
          .toBuffer(),
      ),
    );
    const delay = [30, 700, 250];
    await put(
      'a.gif',
      await sharp(frames, { join: { animated: true } })
        .gif({ loop: 2, delay })
        .toBuffer(),
    );
    await service.call('imageCrop', { name: 'a.gif', ...boxOf({ x: 2, y: 2, w: 10, h: 10 }) });
    const { metadata } = await shown('a.gif');
    expect([metadata.pages, metadata.delay, metadata.loop]).toEqual([3, delay, 2]);
  });

  it.each([
    ['as the client computes them', { x: '265.3063763608087', y: '10.6', w: '100.49', h: '33.5' }, [100, 34]],
    [
      'over the right and lower edge by less than 2 pixels',
      { x: 300, y: 150, w: '101.9', h: '51.99' },
      [100, 50],
    ],
    ['of nearly nothing', { x: 1, y: 1, w: '0.2', h: '0.4' }, [1, 1]],
    ['that begin at the last pixel', { x: '399.7', y: '199.6', w: 1, h: 1 }, [1, 1]],
    ['with a tiny error below zero', { x: '-1.4e-14', y: '-0.3', w: 400, h: 200 }, [400, 200]],
    ['of the whole', { x: 0, y: 0, w: 400, h: 200 }, [400, 200]],
  ])('accepts decimals %s', async (_, box, size) => {
    const { put, service, shown } = await startImages();
    await put('a.png', await quarters(400, 200).png().toBuffer());
    expect((await service.call('imageCrop', { name: 'a.png', ...boxOf(box) })).status).toBe(200);
    const made = await shown('a.png');
    expect([made.width, made.height]).toEqual(size);
  });

  it.each([
    { x: 301, y: 0, w: 101, h: 10 },
    { x: 0, y: 151, w: 10, h: 51 },
    { x: 400, y: 0, w: 1, h: 1 },
    { x: 0, y: 200, w: 1, h: 1 },
    { x: 1e9, y: 0, w: 1, h: 1 },
    { x: -1, y: 0, w: 10, h: 10 },
    { x: 0, y: -1, w: 10, h: 10 },
    { x: 0, y: 0, w: 0, h: 10 },
    { x: 0, y: 0, w: 10, h: -5 },
    { x: 0, y: 0, w: 'NaN', h: 10 },
    { x: 0, y: 0, w: '1e400', h: 10 },
    { x: '0x10', y: 0, w: 10, h: 10 },
    { x: 'Infinity', y: 0, w: 10, h: 10 },
    { x: '', y: 0, w: 10, h: 10 },
    { y: 0, w: 10, h: 10 },
    { x: 0, y: 0 },
    {},
  ])('refuses the box %j', async (box) => {
    const { put, service, bytes } = await startImages();
    const original = await quarters(400, 200).png().toBuffer();
    await put('a.png', original);
    const answer = await service.call('imageCrop', { name: 'a.png', ...boxOf(box) });
    expect(answer.status).toBe(400);
    expect(answer.messages.join()).toMatch(/^The (?:box|width|height|left edge|top edge) /u);
    expect(await bytes('a.png')).toEqual(original);
  });

  it('saves beside the original', async () => {
    const { put, service, shown, bytes } = await startImages();
    const original = await quarters(400, 200).png().toBuffer();
    await put('sub/a.png', original);
    const { data } = await service.call('imageCrop', {
      path: 'sub',
      name: 'a.png',
      newname: 'corner',
      ...boxOf({ x: 0, y: 0, w: 20, h: 20 }),
    });
    expect(data['newPath']).toBe('https://files.example/files/sub/corner.png');
    expect((await shown('sub/corner.png')).width).toBe(20);
    expect(await bytes('sub/a.png')).toEqual(original);
  });

  it('drops what would go on showing the picture as it was', async () => {
    const { put, service, bytes } = await startImages();
    const tagged = await quarters(80, 40)
      .withExif({ IFD0: { Artist: 'somebody', ImageDescription: 'secret-preview' } })
      .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"><a>secret-preview</a></x:xmpmeta>')
      .jpeg()
      .toBuffer();
    expect(tagged.includes('secret-preview')).toBe(true);
    await put('a.jpg', tagged);
    await service.call('imageCrop', { name: 'a.jpg', ...boxOf({ x: 0, y: 0, w: 10, h: 10 }) });
    expect((await bytes('a.jpg')).includes('secret-preview')).toBe(false);
  });

  it('is denied by its own rule', async () => {
    const { put, service } = await startImages({ accessControl: [{ IMAGE_CROP: false }] });
    await put('a.png', await quarters().png().toBuffer());
    const box = boxOf({ x: 0, y: 0, w: 5, h: 5 });
    expect((await service.call('imageCrop', { name: 'a.png', ...box })).status).toBe(403);
    expect((await service.call('imageResize', { name: 'a.png', ...box })).status).toBe(200);
  });
});
