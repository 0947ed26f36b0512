import { readdir } from 'node:fs/promises';
import sharp from 'sharp';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mostly, runsEverything } from '../before-release.ts';
import { decodeHeic } from '#internals';
import { claimingHeic, heicFile, p3Heic, turnedHeic } from '../pictures/heic-files.ts';
import { colourAt, isNear, quarters, QUARTERS } from '../pictures/pictures.ts';
import { startSite } from '../network/loopback.ts';
import { startImages, type ImageService } from './images.ts';
import { type Answer, type ServiceOptions } from './service.ts';
import { create, patch, startTus } from './tus-client.ts';

const EXTENSIONS = ['jpg', 'jpeg', 'png', 'webp', 'avif', 'heic', 'heif'];

const start = (uploadImages: object = {}, options: ServiceOptions = {}): Promise<ImageService> =>
  startImages({ extensions: EXTENSIONS, createThumb: false, uploadImages, ...options });

const send = ({ service }: ImageService, name: string, file: Buffer): Promise<Answer> =>
  service.upload([['files[0]', name, new Uint8Array(file)]]);

const isQuarters = async (file: Buffer): Promise<boolean> => {
  // In sRGB, whatever the profile says.
  const shown = await sharp(file).png().toBuffer();
  const [upper, lower] = [await colourAt(shown, 60, 10), await colourAt(shown, 20, 30)];
  return isNear(upper, QUARTERS.green, 16) && isNear(lower, QUARTERS.white, 16);
};

describe('HEIC with uploadImages', () => {
  it('is stored as an upright JPEG, by what the file says of its turns and not by its EXIF', async () => {
    const started = await start();
    const photo = heicFile('photo');
    const { icc } = await sharp(photo).metadata();
    // To be seen as the other formats are, the picture is stored turned the other way.
    for (const [orientation, back] of [1, 2, 3, 4, 5, 8, 7, 6].entries()) {
      const file = turnedHeic(turnedHeic(photo, orientation + 1), back);
      const { status, data } = await send(started, `o${String(orientation)}.HEIC`, file);
      expect([orientation, status, data['files']]).toEqual([
        orientation,
        200,
        [`o${String(orientation)}.jpg`],
      ]);
      const [item] = data['items'] as { width: number; height: number; mime: string }[];
      expect(item).toMatchObject({ width: 80, height: 40, mime: 'image/jpeg' });
      const { bytes, metadata, ...made } = await started.shown(`o${String(orientation)}.jpg`);
      expect(made).toEqual({ format: 'jpeg', width: 80, height: 40, frames: 1 });
      expect([metadata.orientation ?? 1, metadata.icc?.equals(icc ?? Buffer.of())]).toEqual([1, true]);
      expect([orientation, await isQuarters(bytes)]).toEqual([orientation, true]);
    }
    await send(started, 'lying.heic', turnedHeic(photo, 6));
    const { bytes, width, height } = await started.shown('lying.jpg');
    expect([width, height]).toEqual([40, 80]);
    const shown = await sharp(bytes).png().toBuffer();
    expect(isNear(await colourAt(shown, 30, 20), QUARTERS.red, 16)).toBe(true);
  });

  it('keeps the colours of ten bits, in eight', async () => {
    const started = await start();
    const deep = heicFile('deep');
    expect((await sharp(deep).metadata()).bitsPerSample).toBe(10);
    expect((await send(started, 'a.heic', deep)).status).toBe(200);
    expect(await isQuarters(await started.bytes('a.jpg'))).toBe(true);
  });

  it('is given up when it takes too long, with its thread', async () => {
    const job = { width: 4000, height: 3000, index: 0, hasAlpha: false, memory: 512 * 1024 ** 2, chunks: {} };
    const flat = { ...job, file: heicFile('flat') };
    const threads = async (): Promise<number> => (await readdir('/proc/self/task')).length;
    // The first one may start threads of the runtime, which stay.
    await expect(decodeHeic(flat, undefined, 0.001)).rejects.toThrow('The image takes too long to decode.');
    const before = await threads();
    for (const seconds of [0.001, 0.2, 0.4]) {
      await expect(decodeHeic(flat, undefined, seconds)).rejects.toThrow(
        'The image takes too long to decode.',
      );
    }
    expect(await threads()).toBeLessThanOrEqual(before);
    const plain = { ...job, file: heicFile('plain'), width: 80, height: 40 };
    expect(await isQuarters(await decodeHeic(plain, undefined))).toBe(true);
  });

  it('keeps the colours of Display P3 that are named by a number', async () => {
    const started = await start();
    await send(started, 'a.heic', p3Heic(heicFile('plain')));
    const { bytes, metadata } = await started.shown('a.jpg');
    const p3 = await sharp(await quarters().withIccProfile('p3').png().toBuffer()).metadata();
    expect(metadata.icc?.equals(p3.icc ?? Buffer.of())).toBe(true);
    // The numbers have some red in this green; it is stronger than any of sRGB.
    expect((await colourAt(await sharp(bytes).png().toBuffer(), 60, 10))[0]).toBe(0);
  });

  it.each(mostly(1, ['strip-location', 'keep', 'strip'] as const))('metadata: %s', async (metadata) => {
    for (const format of metadata === 'strip-location' ? (['keep', 'webp'] as const) : (['keep'] as const)) {
      const started = await start({ metadata, format });
      await send(started, 'a.heic', heicFile('photo'));
      const made = await started.shown(format === 'keep' ? 'a.jpg' : 'a.webp');
      const { exif, xmp, icc, orientation } = made.metadata;
      expect([icc === undefined, orientation ?? 1]).toEqual([false, 1]);
      const isKept = metadata !== 'strip';
      expect([format, exif?.includes('Camera of tests') ?? false]).toEqual([format, isKept]);
      expect([format, xmp?.includes('Somebody') ?? false]).toEqual([format, isKept]);
      expect([format, made.bytes.includes('GPSLatitude')]).toEqual([format, metadata === 'keep']);
      // 51 degrees, 30 minutes as EXIF has them.
      const position = Buffer.from([0, 0, 0, 51, 0, 0, 0, 1, 0, 0, 0, 30, 0, 0, 0, 1]);
      const swapped = Buffer.from(position).swap32();
      const isLocated = exif !== undefined && (exif.includes(position) || exif.includes(swapped));
      expect([format, isLocated]).toEqual([format, metadata === 'keep']);
    }
  });

  it('follows size and format; the name that comes out must be allowed', async () => {
    const webp = await start({ format: 'webp', maxWidth: 20, keepOriginal: '_originals' });
    const photo = heicFile('photo');
    expect((await send(webp, 'a.heic', photo)).data['files']).toEqual(['a.webp']);
    expect(await webp.shown('a.webp')).toMatchObject({ format: 'webp', width: 20, height: 10 });
    expect((await webp.bytes('_originals/a.heic')).equals(photo)).toBe(true);
    const avif = await start({ format: 'avif' });
    expect((await send(avif, 'a.jpg', photo)).data['files']).toEqual(['a.avif']);
    expect((await avif.shown('a.avif')).metadata.compression).toBe('av1');
    await send(webp, 'clear.heif', heicFile('alpha'));
    expect((await colourAt(await webp.bytes('clear.webp'), 2, 1))[3]).toBe(0);
    const jpeg = await start();
    await send(jpeg, 'clear.heif', heicFile('alpha'));
    expect(isNear(await colourAt(await jpeg.bytes('clear.jpg'), 5, 5), [255, 255, 255])).toBe(true);
    const strict = await start({}, { extensions: ['heic'] });
    expect((await send(strict, 'a.heic', photo)).status).toBe(403);
    expect(await strict.service.source('files').paths()).toEqual([]);
  });

  it.runIf(runsEverything)('comes from other servers, from other sources and in parts', async () => {
    const photo = heicFile('photo');
    const site = await startSite((_request, response) => void response.end(photo));
    onTestFinished(() => site.close());
    const started = await start(
      {},
      { allowPrivateNetworkUploads: true, sources: { files: {}, other: { uploadImages: undefined } } },
    );
    const { service } = started;
    await service.source('other').put({ 'a.heic': photo, 'dir/b.heif': photo, 'c.heic': 'no picture' });
    const remote = await service.call('fileUploadRemote', { url: `${site.origin}/r.heic` });
    expect([remote.status, remote.data['newfilename']]).toEqual([200, 'r.jpg']);
    const across = { source: 'files', fromSource: 'other' };
    for (const [action, from, status] of [
      ['folderCopy', 'dir', 200],
      ['fileMove', 'a.heic', 200],
      ['fileMove', 'c.heic', 400],
    ] as const) {
      expect([from, (await service.call(action, { ...across, from })).status]).toEqual([from, status]);
    }
    expect(await service.source('files').paths()).toEqual(['a.jpg', 'dir/', 'dir/b.jpg', 'r.jpg']);
    expect(await service.source('other').paths()).toEqual(['c.heic', 'dir/', 'dir/b.heif']);
    for (const name of ['a.jpg', 'dir/b.jpg', 'r.jpg']) {
      const { format, bytes } = await started.shown(name);
      expect([name, format, await isQuarters(bytes)]).toEqual([name, 'jpeg', true]);
    }
    const tus = await startTus({ extensions: EXTENSIONS, uploadImages: {} });
    const { address } = await create(tus.tus, photo.length, { filename: 't.heic' });
    expect((await patch(address, 0, new Uint8Array(photo))).data['files']).toEqual(['t.jpg']);
  });

  it('is refused when it is broken, too large, or not what it says, and leaves nothing', async () => {
    const started = await start({ keepOriginal: '_originals' }, { imageMemory: '64mb' });
    const photo = heicFile('photo');
    const flat = heicFile('flat');
    for (const [what, file] of [
      ['cut off', photo.subarray(0, photo.length - 200)],
      ['cut in the header', photo.subarray(0, 300)],
      ['no header', Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1')],
      ['needs more memory than there is', flat],
      ['larger than it says', claimingHeic(flat, 80, 40)],
      ['smaller than it says', claimingHeic(photo, 800, 400)],
      ['a bit smaller than it says', claimingHeic(photo, 80, 41)],
      ['huge, as it says', claimingHeic(photo, 60_000, 60_000)],
    ] as const) {
      const { status, messages } = await send(started, 'a.heic', Buffer.from(file));
      expect([what, status, messages.join() === '']).toEqual([what, 400, false]);
    }
    expect(await started.service.source('files').paths()).toEqual([]);
    expect((await send(started, 'a.heic', photo)).status).toBe(200);
  });
});
