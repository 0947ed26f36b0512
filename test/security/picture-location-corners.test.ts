import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { avifWithItem } from '../images/avif-files.ts';
import { crc32 } from '../images/crc32.ts';
import { exiftool, hasExiftool, located, LOCATED_XMP } from '../images/located.ts';
import { animation, quarters } from '../images/pictures.ts';
import { startImages } from '../protocol/images.ts';

/**
 * Positions where few programs write them and exiftool reads them all the same.
 */

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

const exifOf = async (): Promise<Buffer> => {
  const { exif } = await sharp(await located(quarters()).jpeg().toBuffer()).metadata();
  return (exif ?? Buffer.alloc(0)).subarray(6);
};

const segment = (marker: number, ...content: readonly (Buffer | string)[]): Buffer => {
  const body = Buffer.concat(content.map((part) => (typeof part === 'string' ? latin1(part) : part)));
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(body.length + 2, 2);
  return Buffer.concat([head, body]);
};

const jpegWith = async (...segments: readonly Buffer[]): Promise<Buffer> => {
  const jpeg = await quarters().jpeg().toBuffer();
  return Buffer.concat([jpeg.subarray(0, 2), ...segments, jpeg.subarray(2)]);
};

/** Two segments of an image editor's resources; one of them, with a position, lies in both. */
const splitResources = (): Promise<Buffer> => {
  const xmp = Buffer.from(LOCATED_XMP);
  const head = latin1('8BIM\x04\x24\0\0\0\0\0\0');
  head.writeUInt32BE(xmp.length, 8);
  const all = Buffer.concat([head, xmp, Buffer.alloc(xmp.length % 2)]);
  const half = all.indexOf('exif:GPSLatitude') - 20;
  const mark = 'Photoshop 3.0\0';
  return jpegWith(segment(0xed, mark, all.subarray(0, half)), segment(0xed, mark, all.subarray(half)));
};

const chunk = (kind: string, content: Buffer): Buffer => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(content.length, 0);
  head.write(kind, 4, 'latin1');
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(Buffer.concat([head.subarray(4), content])), 0);
  return Buffer.concat([head, content, sum]);
};

const END_BYTES = 12;

/** A PNG with these chunks behind its pixels. */
const pngWith = async (...chunks: readonly Buffer[]): Promise<Buffer> => {
  const png = await quarters().png().toBuffer();
  return Buffer.concat([png.subarray(0, -END_BYTES), ...chunks, png.subarray(-END_BYTES)]);
};

/** A GIF with as many XMP packets, each in a block of its own. */
const gifWith = async (packets: number): Promise<Buffer> => {
  const gif = await animation('gif', ['#f00', '#0f0']);
  const trailer = Buffer.from([1, ...Array.from({ length: 256 }, (_, index) => 255 - index), 0]);
  const block = Buffer.concat([latin1('\x21\xff\x0bXMP DataXMP'), Buffer.from(LOCATED_XMP), trailer]);
  const blocks = Array.from({ length: packets }, () => block);
  return Buffer.concat([gif.subarray(0, -1), ...blocks, gif.subarray(-1)]);
};

/** A TIFF with an entry more, or several of them, whose value lies behind its end. */
const tiffWith = async (tag: number, type: number, value: Buffer, times = 1): Promise<Buffer> => {
  const tiff = await quarters().tiff().toBuffer();
  const at = tiff.readUInt32LE(4);
  const count = tiff.readUInt16LE(at);
  const entries = Array.from({ length: count }, (_, index) =>
    tiff.subarray(at + 2 + index * 12, at + 14 + index * 12),
  );
  const start = tiff.length + (tiff.length % 2);
  const added = Buffer.alloc(12);
  added.writeUInt16LE(tag, 0);
  added.writeUInt16LE(type, 2);
  added.writeUInt32LE(value.length, 4);
  added.writeUInt32LE(start, 8);
  const all = [...entries, ...Array.from({ length: times }, () => added)].sort(
    (one, other) => one.readUInt16LE(0) - other.readUInt16LE(0),
  );
  const number = Buffer.alloc(2);
  number.writeUInt16LE(all.length, 0);
  const even = Buffer.concat([value, Buffer.alloc(value.length % 2)]);
  const result = Buffer.concat([tiff, Buffer.alloc(tiff.length % 2), even, number, ...all, Buffer.alloc(4)]);
  result.writeUInt32LE(start + even.length, 4);
  return result;
};

const movingWebp = async (): Promise<Buffer> =>
  located(sharp(await animation('webp', ['#f00', '#0f0', '#00f']), { animated: true }))
    .webp()
    .toBuffer();

const files: readonly (readonly [what: string, extension: string, make: () => Promise<Buffer>])[] = [
  ['a moving WebP', 'webp', movingWebp],
  ['a TIFF', 'tif', () => located(quarters()).tiff().toBuffer()],
  ['a GIF', 'gif', () => gifWith(1)],
  ['a GIF with two packets', 'gif', () => gifWith(2)],
  [
    'a JPEG with a stray byte before its EXIF data',
    'jpg',
    async () => jpegWith(segment(0xe4, 'more'), Buffer.from([0]), segment(0xe1, 'Exif\0\0', await exifOf())),
  ],
  [
    'a JPEG with another mark of EXIF data',
    'jpg',
    async () => jpegWith(segment(0xe1, 'Exif\0\x01', await exifOf())),
  ],
  [
    'a JPEG with bytes before that mark',
    'jpg',
    async () => jpegWith(segment(0xe1, '\0\0Exif\0\0', await exifOf())),
  ],
  ['a JPEG with resources of an editor in two segments', 'jpg', splitResources],
  ['a PNG with EXIF data behind its pixels', 'png', async () => pngWith(chunk('eXIf', await exifOf()))],
  [
    'a PNG with the mark of a JPEG before its EXIF data',
    'png',
    async () => pngWith(chunk('eXIf', Buffer.concat([latin1('Exif\0\0'), await exifOf()]))),
  ],
  [
    'a PNG with packed EXIF data',
    'png',
    async () => {
      const exif = await exifOf();
      const length = Buffer.alloc(5);
      length.writeUInt32BE(exif.length, 1);
      return pngWith(chunk('zxIf', Buffer.concat([length, deflateSync(exif)])));
    },
  ],
  ['a PNG with XMP data as of 2001', 'png', () => pngWith(chunk('tXMP', Buffer.from(LOCATED_XMP)))],
  [
    'a PNG without its end',
    'png',
    async () => (await pngWith(chunk('eXIf', await exifOf()))).subarray(0, -END_BYTES),
  ],
  [
    'a TIFF with resources of an editor',
    'tif',
    () => {
      const xmp = Buffer.from(LOCATED_XMP);
      const head = latin1('8BIM\x04\x24\0\0\0\0\0\0');
      head.writeUInt32BE(xmp.length, 8);
      return tiffWith(0x8649, 7, Buffer.concat([head, xmp, Buffer.alloc(xmp.length % 2)]));
    },
  ],
  [
    'an AVIF with XMP data as an item',
    'avif',
    async () =>
      avifWithItem(await quarters().avif({ effort: 0 }).toBuffer(), Buffer.from(LOCATED_XMP), 'plain'),
  ],
  [
    'an AVIF with XMP data in a box of its own',
    'avif',
    async () => {
      const id = Buffer.from('be7acfcb97a942e89c71999491e3afac', 'hex');
      const box = Buffer.concat([latin1('\0\0\0\0uuid'), id, Buffer.from(LOCATED_XMP)]);
      box.writeUInt32BE(box.length, 0);
      return Buffer.concat([await quarters().avif({ effort: 0 }).toBuffer(), box]);
    },
  ],
];

const LOCATED = /gps/iu;

describe.skipIf(!hasExiftool)('the position (needs exiftool)', () => {
  it.each(
    files.flatMap((file) => (['strip-location', 'strip'] as const).map((mode) => [...file, mode] as const)),
  )('leaves %s', async (_what, extension, make, metadata) => {
    const { service, bytes } = await startImages({
      extensions: ['jpg', 'png', 'webp', 'gif', 'avif', 'tif'],
      uploadImages: { metadata },
    });
    const file = await make();
    expect(exiftool(file, extension).some((line) => LOCATED.test(line))).toBe(true);
    const name = `a.${extension}`;
    const { status } = await service.upload([['files[0]', name, new Uint8Array(file)]]);
    expect(status).toBe(200);
    const result = await bytes(name);
    expect(exiftool(result, extension).filter((line) => LOCATED.test(line))).toEqual([]);
    const [before, after] = await Promise.all([file, result].map((one) => sharp(one).metadata()));
    expect([after?.width, after?.pages, after?.delay]).toEqual([before?.width, before?.pages, before?.delay]);
  });

  it.each(['strip-location', 'strip'] as const)('leaves an AVIF with a packed item: %s', async (metadata) => {
    const { service, bytes } = await startImages({ extensions: ['avif'], uploadImages: { metadata } });
    const packed = deflateSync(Buffer.from(LOCATED_XMP));
    const file = avifWithItem(await quarters().avif({ effort: 0 }).toBuffer(), packed, 'deflate');
    expect((await service.upload([['files[0]', 'a.avif', new Uint8Array(file)]])).status).toBe(200);
    const result = await bytes('a.avif');
    expect([result.includes(packed), result.includes('GPS')]).toEqual([false, false]);
    expect((await sharp(result).metadata()).width).toBe(80);
  });
});

it.each(['strip-location', 'strip'] as const)(
  'a packet that a TIFF names a thousand times over costs no time: %s',
  async (metadata) => {
    const { service } = await startImages({ extensions: ['tif'], uploadImages: { metadata } });
    const packet = Buffer.from(LOCATED_XMP.replace('<!--', `<!--${' '.repeat(3_000_000)}`));
    const file = await tiffWith(0x02bc, 1, packet, 1500);
    const begun = performance.now();
    const { status } = await service.upload([['files[0]', 'a.tif', new Uint8Array(file)]]);
    expect([200, 400]).toContain(status);
    expect(performance.now() - begun).toBeLessThan(4000);
  },
);
