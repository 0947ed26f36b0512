import { constants, deflateRawSync } from 'node:zlib';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { shareOfDay } from '../before-release.ts';
import { avifWithItem } from '../pictures/avif-files.ts';
import { bmpFile, icoFile } from '../pictures/bitmaps.ts';
import { claimingHeic, heicFile } from '../pictures/heic-files.ts';
import { longGif } from '../pictures/long-gif.ts';
import { crc32 } from '../pictures/crc32.ts';
import { claimingPng, quarters } from '../pictures/pictures.ts';
import { startService, type Service } from '../protocol/service.ts';

/** A JPEG with segments more at its beginning. */
const jpegWith = async (
  segments: readonly (readonly [marker: number, content: Buffer])[],
): Promise<Buffer> => {
  const jpeg = await quarters().jpeg().toBuffer();
  const encoded = segments.map(([marker, content]) => {
    const head = Buffer.from([0xff, marker, 0, 0]);
    head.writeUInt16BE(content.length + 2, 2);
    return Buffer.concat([head, content]);
  });
  return Buffer.concat([jpeg.subarray(0, 2), ...encoded, jpeg.subarray(2)]);
};

const claimingJpeg = async (): Promise<Buffer> => {
  const jpeg = await quarters().jpeg().toBuffer();
  const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
  jpeg.writeUInt16BE(65_500, frame + 5);
  jpeg.writeUInt16BE(65_500, frame + 7);
  return jpeg;
};

const claimingWebp = async (): Promise<Buffer> => {
  const frames = ['#f00', '#0f0'].map((background) => ({
    create: { width: 20, height: 20, channels: 3 as const, background },
  }));
  const pngs = await Promise.all(frames.map((frame) => sharp(frame).png().toBuffer()));
  const webp = await sharp(pngs, { join: { animated: true } })
    .webp()
    .toBuffer();
  webp.writeUIntLE(16_383, 24, 3);
  webp.writeUIntLE(16_383, 27, 3);
  return webp;
};

const claimingAvif = async (): Promise<Buffer> =>
  claimingHeic(await quarters().avif({ effort: 0 }).toBuffer(), 60_000, 60_000);

/** A TIFF of pages that are all the same strip: a few bytes a page, a hundred megapixels each. */
const longTiff = (pages: number, side: number): Buffer => {
  const tags = [
    [256, side],
    [257, side],
    [258, 8],
    [259, 1],
    [262, 1],
    [273, 8],
    [277, 1],
    [278, side],
    [279, 1],
  ] as const;
  const bytes = 2 + tags.length * 12 + 4;
  const file = Buffer.alloc(9 + pages * bytes);
  file.write('II*\0', 'latin1');
  file.writeUInt32LE(9, 4);
  for (let page = 0, at = 9; page < pages; page += 1, at += bytes) {
    file.writeUInt16LE(tags.length, at);
    for (const [index, [tag, value]] of tags.entries()) {
      const entry = at + 2 + index * 12;
      file.writeUInt16LE(tag, entry);
      file.writeUInt16LE(4, entry + 2);
      file.writeUInt32LE(1, entry + 4);
      file.writeUInt32LE(value, entry + 8);
    }
    file.writeUInt32LE(page + 1 < pages ? at + bytes : 0, at + bytes - 4);
  }
  return file;
};

const claimingBmp = (): Buffer => {
  const bmp = bmpFile({ width: 8, height: 8, bits: 24, pixels: Buffer.alloc(8 * 24) });
  bmp.writeInt32LE(65_000, 18);
  bmp.writeInt32LE(65_000, 22);
  return bmp;
};

/** EXIF data whose entries all say that another directory lies where they do. */
const crowdedExif = (entries: number): Buffer => {
  const tiff = Buffer.alloc(8 + 2 + entries * 12 + 4);
  tiff.write('II*\0', 'latin1');
  tiff.writeUInt32LE(8, 4);
  tiff.writeUInt16LE(entries, 8);
  for (let index = 0; index < entries; index += 1) {
    const at = 10 + index * 12;
    tiff.writeUInt16LE(index % 2 === 0 ? 0x8825 : 0x8769, at);
    tiff.writeUInt16LE(4, at + 2);
    tiff.writeUInt32LE(1, at + 4);
    tiff.writeUInt32LE(8, at + 8);
  }
  return Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), tiff]);
};

/** Zeros as a zlib stream, without ever having them in memory. */
const packedZeros = (megabytes: number): Buffer => {
  const options = { level: 9, finishFlush: constants.Z_SYNC_FLUSH };
  const block = deflateRawSync(Buffer.alloc(1_000_000), options);
  const sum = Buffer.alloc(4);
  sum.writeUInt16BE((megabytes * 1_000_000) % 65_521, 0);
  sum.writeUInt16BE(1, 2);
  const blocks = Array.from({ length: megabytes }, () => block);
  return Buffer.concat([Buffer.from([0x78, 0xda]), ...blocks, Buffer.from([3, 0]), sum]);
};

const pngWith = async (kind: string, keyword: string, packed: Buffer, times: number): Promise<Buffer> => {
  const chunks = Array.from({ length: times }, (_, index) => {
    const content = Buffer.concat([Buffer.from(keyword.replace('#', String(index)), 'latin1'), packed]);
    const body = Buffer.concat([Buffer.from(kind, 'latin1'), content]);
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(content.length, 0);
    frame.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
  });
  const png = await quarters().png().toBuffer();
  return Buffer.concat([png.subarray(0, 33), ...chunks, png.subarray(33)]);
};

/** EXIF data with an entry that is said to hold half a gigabyte. */
const claimingExif = (): Buffer => {
  const tiff = Buffer.alloc(26);
  tiff.write('Exif\0\0II*\0\x08\0\0\0\x01\0\x0e\x01\x02\0', 'latin1');
  tiff.writeUInt32LE(500_000_000, 20);
  return Buffer.concat([tiff, Buffer.alloc(100, 1)]);
};

const webpWith = async (kind: 'EXIF' | 'XMP ', bytes: number): Promise<Buffer> => {
  const webp = await quarters()
    .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"></x:xmpmeta>')
    .withExif({ IFD0: { Artist: 'Ada' } })
    .webp()
    .toBuffer();
  webp.writeUInt32LE(bytes, webp.indexOf(kind) + 4);
  return webp;
};

/** Small files with data about the picture that becomes huge, or is said to be. */
const TALKATIVE: Readonly<Record<string, () => Promise<Buffer>>> = {
  'png: a comment of 500 megabytes': () => pngWith('zTXt', 'Comment\0\0', packedZeros(500), 1),
  'png: XMP data of 500 megabytes': () =>
    pngWith('iTXt', 'XML:com.adobe.xmp\0\x01\0\0\0', packedZeros(500), 1),
  'png: a profile of 500 megabytes': () => pngWith('iCCP', 'icc\0\0', packedZeros(500), 1),
  'png: 60 comments of 7 megabytes': () => pngWith('zTXt', 'k#\0\0', packedZeros(7), 60),
  'png: 60 translated comments of 7 megabytes': () => pngWith('iTXt', 'k#\0\x01\0\0\0', packedZeros(7), 60),
  'jpeg: EXIF data that claims 500 megabytes': () => jpegWith([[0xe1, claimingExif()]]),
  'webp: EXIF data of four gigabytes': () => webpWith('EXIF', 0xffff_fff0),
  'webp: XMP data of 500 megabytes': () => webpWith('XMP ', 500_000_000),
  'avif: XMP data of 500 megabytes': async () =>
    avifWithItem(await quarters().avif({ effort: 0 }).toBuffer(), packedZeros(500), 'deflate'),
};

/** What claims to be more than may be decoded. */
const REFUSED: Readonly<Record<string, () => Buffer | Promise<Buffer>>> = {
  'png: 60,000 pixels a side': () => claimingPng(60_000, 60_000),
  'jpeg: 65,500 pixels a side': claimingJpeg,
  'gif: 4,000 frames of 500 pixels a side': () => longGif(4000, 500, 500),
  'webp: an animation of 16,384 pixels a side': claimingWebp,
  'avif: 60,000 pixels a side': claimingAvif,
  'tiff: a million pixels a side': () => longTiff(1, 1_000_000),
  'tiff: 2,000 pages of 10,000 pixels a side': () => longTiff(2000, 10_000),
  'jpeg: EXIF data that refers to itself': () => jpegWith([[0xe1, crowdedExif(250)]]),
  'bmp: 65,000 pixels a side': claimingBmp,
  'ico: a png of 60,000 pixels a side': async () =>
    icoFile([{ width: 0, height: 0, data: await claimingPng(60_000, 60_000) }]),
  'heic: 60,000 pixels a side': () => claimingHeic(heicFile('photo'), 60_000, 60_000),
  'heic: 12 megapixels that are said to be 3,200': () => claimingHeic(heicFile('flat'), 80, 40),
};

/** @see CVE-2015-1838 and its kind: pictures that are small as files and huge as pixels */
describe('pictures that come in as bombs', () => {
  const start = (): Promise<Service> =>
    startService({
      maxUploadFileSize: '64mb',
      imageMemory: '256mb',
      createThumb: false,
      extensions: ['png', 'jpg', 'gif', 'webp', 'avif', 'tif', 'bmp', 'ico', 'heic', 'svg'],
      uploadImages: { maxWidth: 200, metadata: 'strip-location', keepOriginal: '_originals' },
    });

  const upload = async (service: Service, what: string, content: Buffer) => {
    const extension = what.split(':')[0]?.replace('jpeg', 'jpg').replace('tiff', 'tif') ?? '';
    return service.upload([['files[0]', `a.${extension}`, new Uint8Array(content)]]);
  };

  it('are refused by their header, one after the other, and leave nothing', async () => {
    const service = await start();
    for (const [what, make] of Object.entries(REFUSED)) {
      const { status, messages } = await upload(service, what, await make());
      expect([what, status, messages.join() === '']).toEqual([what, 400, false]);
    }
    expect(await service.source('files').paths()).toEqual([]);
  });

  it('say as much as they like: it costs no memory, at any door', async () => {
    const service = await startService({
      sources: {
        plain: {},
        ...Object.fromEntries(
          ['keep', 'strip', 'strip-location'].map((metadata) => [metadata, { uploadImages: { metadata } }]),
        ),
        drawn: { uploadImages: { maxWidth: 40 } },
      },
      extensions: ['png', 'jpg', 'webp', 'avif'],
    });
    const files = await Promise.all(
      shareOfDay(2, Object.entries(TALKATIVE)).map(async ([what, make]) => [what, await make()] as const),
    );
    const before = process.resourceUsage().maxRSS;
    for (const [what, file] of files) {
      const name = `a.${(what.split(':')[0] ?? '').replace('jpeg', 'jpg')}`;
      for (const source of ['plain', 'keep', 'strip', 'strip-location', 'drawn']) {
        const { status, messages } = await service.upload([['files[0]', name, new Uint8Array(file)]], {
          source,
        });
        expect([what, source, [200, 400].includes(status), status === 200 || messages.join() !== '']).toEqual(
          [what, source, true, true],
        );
        const listed = await service.call('files', { source, 'mods[details]': '1' });
        expect([what, source, listed.status]).toEqual([what, source, 200]);
        expect((await service.call('fileRemove', { source, name })).status).toBe(status === 200 ? 200 : 404);
      }
    }
    expect(process.resourceUsage().maxRSS - before).toBeLessThan(350 * 1024);
    for (const source of ['plain', 'keep', 'strip', 'strip-location', 'drawn'])
      expect((await service.source(source).paths()).filter((path) => !path.startsWith('_thumbs'))).toEqual(
        [],
      );
  });
});
