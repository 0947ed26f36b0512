import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { avifWithItem } from '../pictures/avif-files.ts';
import { chunk, jpegWith, latin1, pngWith, resource, segment, tiffWith } from '../pictures/containers.ts';
import { exiftool, hasExiftool, located, LOCATED_XMP } from '../pictures/located.ts';
import { animation, quarters } from '../pictures/pictures.ts';
import { startImages } from '../protocol/images.ts';

/**
 * Positions where few programs write them and exiftool reads them all the same.
 */

const exifOf = async (): Promise<Buffer> => {
  const { exif } = await sharp(await located(quarters()).jpeg().toBuffer()).metadata();
  return (exif ?? Buffer.alloc(0)).subarray(6);
};

/** Two segments of an image editor's resources; one of them, with a position, lies in both. */
const splitResources = (): Promise<Buffer> => {
  const xmp = Buffer.from(LOCATED_XMP);
  const all = resource(0x0424, xmp);
  const half = all.indexOf('exif:GPSLatitude') - 20;
  const mark = 'Photoshop 3.0\0';
  return jpegWith(segment(0xed, mark, all.subarray(0, half)), segment(0xed, mark, all.subarray(half)));
};

const END_BYTES = 12;

/** A PNG with these chunks behind its pixels. */
const pngBehind = async (...chunks: readonly Buffer[]): Promise<Buffer> => {
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
  ['a PNG with EXIF data behind its pixels', 'png', async () => pngBehind(chunk('eXIf', await exifOf()))],
  [
    'a PNG with the mark of a JPEG before its EXIF data',
    'png',
    async () => pngBehind(chunk('eXIf', Buffer.concat([latin1('Exif\0\0'), await exifOf()]))),
  ],
  [
    'a PNG with packed EXIF data',
    'png',
    async () => {
      const exif = await exifOf();
      const length = Buffer.alloc(5);
      length.writeUInt32BE(exif.length, 1);
      return pngBehind(chunk('zxIf', Buffer.concat([length, deflateSync(exif)])));
    },
  ],
  ['a PNG with XMP data as of 2001', 'png', () => pngBehind(chunk('tXMP', Buffer.from(LOCATED_XMP)))],
  [
    'a PNG without its end',
    'png',
    async () => (await pngBehind(chunk('eXIf', await exifOf()))).subarray(0, -END_BYTES),
  ],
  [
    'a TIFF with resources of an editor',
    'tif',
    () => tiffWith(0x8649, 7, resource(0x0424, Buffer.from(LOCATED_XMP))),
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
    expect((await exiftool(file, extension)).some((line) => LOCATED.test(line))).toBe(true);
    const name = `a.${extension}`;
    const { status } = await service.upload([['files[0]', name, new Uint8Array(file)]]);
    expect(status).toBe(200);
    const result = await bytes(name);
    expect((await exiftool(result, extension)).filter((line) => LOCATED.test(line))).toEqual([]);
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

  it.each([80, 20])(
    'leaves EXIF data that ImageMagick writes as a text of a PNG: %i pixels',
    async (maxWidth) => {
      const { service, bytes } = await startImages({
        extensions: ['png'],
        uploadImages: { metadata: 'strip-location', maxWidth },
      });
      // Nothing applies the orientation in a text.
      const lying = await located(quarters()).withMetadata({ orientation: 6 }).jpeg().toBuffer();
      const { exif = Buffer.alloc(0) } = await sharp(lying).metadata();
      const keyword = 'Raw profile type exif';
      const text = deflateSync(`\nexif\n${String(exif.length).padStart(8)}\n${exif.toString('hex')}\n`);
      const title = chunk('tEXt', latin1('Creation Time\0today'));
      const file = await pngWith(chunk('zTXt', Buffer.concat([latin1(`${keyword}\0\0`), text])), title);
      expect((await exiftool(file, 'png')).some((line) => LOCATED.test(line))).toBe(true);
      const { status, messages } = await service.upload([['files[0]', 'a.png', new Uint8Array(file)]]);
      expect([status, messages]).toEqual([200, ['The file "a.png" was uploaded.']]);
      const result = await bytes('a.png');
      const { width, orientation = 1, comments = [] } = await sharp(result).metadata();
      expect([width, orientation]).toEqual([maxWidth, 1]);
      expect(comments.map((comment) => comment.keyword).sort()).toEqual(['Creation Time', keyword]);
      const lines = (await exiftool(result, 'png')).join('\n');
      expect([/Artist : Bob/u.test(lines), LOCATED.test(lines)]).toEqual([true, false]);
    },
  );
});

it.each(['strip-location', 'strip'] as const)(
  'a packet that a TIFF names a thousand times over is answered in the time of a test: %s',
  async (metadata) => {
    const { service } = await startImages({ extensions: ['tif'], uploadImages: { metadata } });
    const packet = Buffer.from(LOCATED_XMP.replace('<!--', `<!--${' '.repeat(3_000_000)}`));
    const file = await tiffWith(0x02bc, 1, packet, { times: 1500 });
    const { status } = await service.upload([['files[0]', 'a.tif', new Uint8Array(file)]]);
    expect([200, 400]).toContain(status);
  },
);
