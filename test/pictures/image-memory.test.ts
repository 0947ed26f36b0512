import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { createImagePool } from '#internals';
import { boxOf } from '../protocol/images.ts';
import { startService } from '../protocol/service.ts';
import { bytesAt, createGallery } from './gallery.ts';

const MB = 1024 * 1024;

const deep = (progressive: boolean): Promise<Buffer> =>
  sharp({ create: { width: 2000, height: 1000, channels: 4, background: '#c04080' } })
    .toColourspace('rgb16')
    .png({ progressive })
    .toBuffer();

/** A screenshot: few colours, sharp edges. */
const screenshot = async (): Promise<Buffer> => {
  const colours = ['#fff', '#234', '#c33', '#3a6', '#25c', '#999'];
  const lines = Array.from(
    { length: 60 },
    (_, index) =>
      `<rect x="${String((index * 37) % 500)}" y="${String(index * 9)}" width="${String(20 + ((index * 53) % 90))}" height="6" fill="${colours[index % 6] ?? ''}"/>`,
  );
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="600" height="560">${lines.join('')}</svg>`;
  return sharp(Buffer.from(svg)).flatten({ background: '#eee' }).png({ palette: true }).toBuffer();
};

describe('the memory for pictures', () => {
  it('counts the bytes that decoding takes, not pixels: 16 bits, and interlaced pictures whole', async () => {
    const thumbOf = async (memory: number, progressive: boolean): Promise<string | undefined> => {
      const gallery = createGallery({}, { pool: createImagePool({ memory }) });
      return (await gallery.show('a.png', await deep(progressive))).thumb;
    };
    expect(await thumbOf(12 * MB, true)).toMatch(/^_thumbs\/file-png~.+\.svg$/u);
    expect(await thumbOf(24 * MB, true)).toBe('_thumbs/a.png');
    expect(await thumbOf(12 * MB, false)).toBe('_thumbs/a.png');
  });

  it('is a setting; pictures and results that need more alone are refused', async () => {
    const service = await startService({ imageMemory: '4mb' });
    await service.source('files').put({
      'a.png': await deep(true),
      'b.webp': await sharp(await deep(false))
        .resize(90, 90)
        .webp()
        .toBuffer(),
    });
    const before = await service.source('files').bytes('a.png');
    const large = await service.call('imageResize', { name: 'a.png', ...boxOf({ w: 9, h: 9 }) });
    expect([large.status, large.messages]).toEqual([400, ['The image has too many pixels.']]);
    expect(await service.source('files').bytes('a.png')).toEqual(before);
    const result = await service.call('imageResize', { name: 'b.webp', ...boxOf({ w: 900, h: 900 }) });
    expect([result.status, result.messages]).toEqual([400, ['The image has too many pixels.']]);
    expect((await service.call('imageResize', { name: 'b.webp', ...boxOf({ w: 90, h: 80 }) })).status).toBe(
      200,
    );
  });

  it('does not make results possible that take their encoder minutes', async () => {
    const service = await startService({ imageMemory: '64gb' });
    const small = sharp({ create: { width: 9, height: 9, channels: 3, background: '#c04080' } });
    await service.source('files').put({ 'a.webp': await small.webp({ lossless: true }).toBuffer() });
    const started = performance.now();
    const { status, messages } = await service.call('imageResize', {
      name: 'a.webp',
      ...boxOf({ w: 9000, h: 9000 }),
    });
    expect([status, messages]).toEqual([400, ['The result would have too many pixels.']]);
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});

describe('PNG pictures with a palette', () => {
  it('keep it when they are edited, and all colours of what is left', async () => {
    const service = await startService();
    const original = await screenshot();
    await service.source('files').put({ 'a.png': original });
    const answer = await service.call('imageCrop', {
      name: 'a.png',
      ...boxOf({ x: 10, y: 10, w: 580, h: 540 }),
    });
    expect(answer.status).toBe(200);
    const edited = await service.source('files').bytes('a.png');
    expect((await sharp(edited).metadata()).isPalette).toBe(true);
    expect(edited.length).toBeLessThan(original.length * 1.5);
    const wanted = sharp(original).extract({ left: 10, top: 10, width: 580, height: 540 });
    const [one, other] = await Promise.all([wanted.raw().toBuffer(), sharp(edited).raw().toBuffer()]);
    expect(one.equals(other)).toBe(true);
  });

  it('get thumbnails with one', async () => {
    const gallery = createGallery();
    await gallery.show('a.png', await screenshot());
    expect((await sharp(await bytesAt(gallery.storage, '_thumbs/a.png')).metadata()).isPalette).toBe(true);
  });
});
