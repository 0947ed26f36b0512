import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import sharp from 'sharp';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exiftool, hasExiftool, located } from '../pictures/located.ts';
import { animation, quarters } from '../pictures/pictures.ts';
import { tiffFile } from '../pictures/tiff-files.ts';
import { boxOf, startImages, type ImageService } from './images.ts';

const EXTENSIONS = 'jpg webp avif tif'.split(' ');

const start = (uploadImages: object): Promise<ImageService> =>
  startImages({ extensions: EXTENSIONS, uploadImages });

const upload = ({ service }: ImageService, name: string, bytes: Uint8Array) =>
  service.upload([['files[0]', name, new Uint8Array(bytes)]]);

/** The file with metadata written by exiftool. */
const tagged = async (name: string, bytes: Uint8Array, ...values: readonly string[]): Promise<Buffer> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'stowage-tagged-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, name);
  await writeFile(file, bytes);
  execFileSync('exiftool', ['-q', '-q', '-overwrite_original', ...values, file]);
  return readFile(file);
};

/** A picture as a camera and a press agency leave it: turned, with a preview, IPTC and a comment. */
const press = async (): Promise<Buffer> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'stowage-press-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const preview = path.join(folder, 'preview.jpg');
  const small = sharp({ create: { width: 16, height: 8, channels: 3, background: 'red' } });
  await writeFile(preview, await small.jpeg().toBuffer());
  const picture = quarters(80, 40).withExif({ IFD0: { Artist: 'Ada' } });
  const values = [
    '-Orientation#=6',
    '-IPTC:By-line=Ada',
    '-IPTC:Caption-Abstract=A harbour',
    '-Comment=hello',
  ];
  return tagged('a.jpg', await picture.jpeg().toBuffer(), ...values, `-ThumbnailImage<=${preview}`);
};

describe('Metadata of pictures that come in', () => {
  it.skipIf(!hasExiftool)(
    'stays when they are turned: IPTC and comments too, but not the preview',
    async () => {
      const original = await press();
      expect((await exiftool(original, 'jpg')).join('\n')).toContain('ThumbnailImage');
      const started = await start({});
      expect((await upload(started, 'a.jpg', original)).status).toBe(200);
      const stored = await started.bytes('a.jpg');
      const lines = await exiftool(stored, 'jpg');
      for (const kept of [
        '[IPTC] By-line : Ada',
        '[IPTC] Caption-Abstract : A harbour',
        '[File] Comment : hello',
      ])
        expect(lines).toContain(kept);
      expect(lines.join('\n')).toMatch(/\[EXIF\] Artist : Ada/u);
      expect(lines.join('\n')).not.toMatch(/Thumbnail|Rotate/u);
      expect(await sharp(stored).metadata()).toMatchObject({ width: 40, height: 80 });
    },
  );

  it.skipIf(!hasExiftool)('stays when they are scaled: IPTC in PNG, XMP and comments in GIF', async () => {
    const values = ['-XMP-dc:Title=Quay', '-XMP-exif:GPSLatitude=51.5', '-Comment=hello'];
    const png = await tagged('a.png', await quarters().png().toBuffer(), ...values, '-IPTC:By-line=Ada');
    const gif = await tagged('a.gif', await animation('gif', ['red', 'lime', 'blue']), ...values);
    for (const metadata of ['keep', 'strip-location', 'strip'] as const) {
      const started = await startImages({ uploadImages: { maxWidth: 20, metadata } });
      const readBack = async (name: string, bytes: Buffer): Promise<string> => {
        const { data } = await upload(started, name, bytes);
        expect(data['items']).toEqual([expect.objectContaining({ about: { title: 'Quay' } })]);
        return (await exiftool(await started.bytes(name), path.extname(name).slice(1))).join('\n');
      };
      const [fromPng, fromGif] = [await readBack('a.png', png), await readBack('a.gif', gif)];
      const isKept = metadata !== 'strip';
      expect(fromPng.includes('[IPTC] By-line : Ada')).toBe(isKept);
      for (const lines of [fromPng, fromGif]) {
        expect([/Title : Quay/u, /Comment : hello/u].map((line) => line.test(lines))).toEqual([
          isKept,
          isKept,
        ]);
        expect(lines.includes('GPSLatitude')).toBe(metadata === 'keep');
      }
      expect((await started.shown('a.gif')).frames).toBe(3);
    }
  });

  it('goes out of AVIF pictures without a new encoding of their pixels', async () => {
    const original = await located(quarters(80, 40)).avif({ quality: 30 }).toBuffer();
    expect((await sharp(original).metadata()).exif).toBeDefined();
    const started = await start({ metadata: 'strip' });
    expect((await upload(started, 'a.avif', original)).status).toBe(200);
    const stored = await started.bytes('a.avif');
    expect(stored.length).toBe(original.length);
    expect(stored.equals(original)).toBe(false);
    const { exif, xmp } = await sharp(stored).metadata();
    expect([exif, xmp]).toEqual([undefined, undefined]);
    for (const text of ['Ada', 'Bob', 'hello', 'GPS']) expect(stored.includes(text)).toBe(false);
    const pixels = (file: Buffer): Promise<Buffer> => sharp(file).raw().toBuffer();
    expect((await pixels(stored)).equals(await pixels(original))).toBe(true);
  });
});

/** An animated WebP file with this orientation. */
const withExif = (webp: Buffer, orientation: number): Buffer => {
  const tiff = Buffer.from(
    `MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0${String.fromCharCode(orientation)}\0\0\0\0\0\0`,
    'latin1',
  );
  const header = Buffer.from('EXIF\0\0\0\0', 'latin1');
  header.writeUInt32LE(tiff.length, 4);
  const file = Buffer.concat([webp, header, tiff]);
  file.writeUInt32LE(file.length - 8, 4);
  // Of the extended header that animations have.
  file.writeUInt8((file[20] ?? 0) | 0x08, 20);
  return file;
};

describe('Odd pictures that come in', () => {
  it('stay byte for byte: TIFF pages of different sizes', async () => {
    const original = tiffFile({ width: 20, height: 10 }, { width: 12, height: 30 });
    expect((await sharp(original).metadata()).pages).toBe(2);
    const started = await start({ maxWidth: 100 });
    expect(await upload(started, 'a.tif', original)).toMatchObject({ status: 200 });
    expect((await started.bytes('a.tif')).equals(original)).toBe(true);
    const broken = original.subarray(0, original.length - 200);
    expect((await upload(started, 'b.tif', broken)).status).toBe(400);
  });

  it('are cleaned however many pages they have, as those of scanners', async () => {
    const pages = Array.from({ length: 60 }, () => ({ width: 20, height: 10 }));
    for (const metadata of ['strip', 'strip-location']) {
      const started = await start({ metadata });
      expect(await upload(started, 'a.tif', tiffFile(...pages))).toMatchObject({ status: 200 });
      expect((await started.shown('a.tif')).frames).toBe(60);
    }
  });

  it('are scaled and edited without a turn: animations with an EXIF orientation', async () => {
    const moving = withExif(await animation('webp', ['#f00', '#0f0']), 6);
    expect((await sharp(moving).metadata()).orientation).toBe(6);
    const started = await start({ maxWidth: 30 });
    expect(await upload(started, 'a.webp', moving)).toMatchObject({ status: 200 });
    expect(await started.shown('a.webp')).toMatchObject({ width: 30, height: 20, frames: 2 });
    const { service } = started;
    const box = boxOf({ x: 0, y: 0, w: 10, h: 20 });
    expect((await service.call('imageCrop', { name: 'a.webp', ...box })).status).toBe(200);
    expect(await started.shown('a.webp')).toMatchObject({ width: 10, height: 20, frames: 2 });
  });

  it.each([
    ['Lab colours', { photometric: 8, bits: 16 }],
    ['floating-point numbers', { bits: 32 }],
  ] as const)('are not edited when that would cost what they hold: TIFF of %s', async (_what, page) => {
    const original = tiffFile({ width: 8, height: 4, ...page });
    const started = await start({});
    await started.put('a.tif', original);
    const { status, messages } = await started.service.call('imageRotate', { name: 'a.tif', angle: '90' });
    expect([status, messages.join()]).toEqual([400, expect.stringContaining('cannot be edited')]);
    expect((await started.bytes('a.tif')).equals(original)).toBe(true);
  });
});
