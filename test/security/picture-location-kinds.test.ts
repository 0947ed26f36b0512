import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import {
  chunk,
  icoWith,
  jpegWith,
  latin1,
  pngWith,
  resource,
  segment,
  tiffWith,
  webpWith,
} from '../pictures/containers.ts';
import { exiftool, hasExiftool } from '../pictures/located.ts';
import { animation, quarters } from '../pictures/pictures.ts';
import { startImages } from '../protocol/images.ts';

/**
 * Positions in every kind of data that programs and cameras are known to write, looked for by exiftool and
 * byte by byte.
 */

const NORTH = 51.507351;

const located = {
  IFD0: { Artist: 'Ada' },
  IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 7351/100' },
};

const exifOf = async (): Promise<Buffer> => {
  const { exif } = await sharp(await quarters().withExif(located).jpeg().toBuffer()).metadata();
  return (exif ?? Buffer.alloc(0)).subarray(6);
};

/** EXIF data with a number in its header that no specification has. */
const oddExif = async (): Promise<Buffer> => {
  const exif = await exifOf();
  exif[exif[2] === 0x2a ? 2 : 3] = 0x55;
  return exif;
};

const preview = (): Promise<Buffer> => quarters(16, 8).withExif(located).jpeg().toBuffer();

/** EXIF data without a position whose preview has one. */
const exifWithPreview = async (): Promise<Buffer> => {
  const picture = await preview();
  const numbers = [
    0x4949, 42, 8, 0, 0, 14, 0, 3, 0x103, 3, 1, 0, 6, 0, 0x201, 4, 1, 0, 56, 0, 0x202, 4, 1, 0,
  ];
  const header = Buffer.alloc(56);
  for (const [index, number] of [...numbers, picture.length].entries())
    header.writeUInt16LE(number, index * 2);
  return Buffer.concat([header, picture]);
};

const xmp = (attributes: string, inner = ''): Buffer =>
  Buffer.from(
    '<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">' +
      '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" ' +
      `xmlns:dc="http://purl.org/dc/elements/1.1/" dc:format="image/x" ${attributes}>${inner}` +
      '</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>',
  );

const GEO = 'xmlns:geo="http://www.w3.org/2003/01/geo/wgs84_pos#"';
const geo = (): Buffer => xmp(`${GEO} geo:lat="${String(NORTH)}" geo:long="-0.1"`);

const jpegWithXmp = (packet: Buffer): Promise<Buffer> =>
  jpegWith(segment(0xe1, 'http://ns.adobe.com/xap/1.0/\0', packet));

/** What a thermal camera keeps: a file with one record, the position. */
const thermal = (): Buffer => {
  const record = Buffer.alloc(0x80);
  record.writeUInt32LE(1, 0);
  record.write('\x02\x02\0\0N\0W\0', 4, 'latin1');
  record.writeDoubleLE(NORTH, 0x10);
  const head = Buffer.alloc(0x60);
  head.write('FFF\0', 'latin1');
  for (const [at, value] of [
    [0x14, 100],
    [0x18, 0x40],
    [0x1c, 1],
    [0x4c, head.length],
    [0x50, record.length],
  ] as const)
    head.writeUInt32BE(value, at);
  head.writeUInt16BE(0x2b, 0x40);
  return Buffer.concat([head, record]);
};

const betweenScans = async (): Promise<Buffer> => {
  const jpeg = await quarters().jpeg({ progressive: true }).toBuffer();
  const second = jpeg.indexOf('ffda', jpeg.indexOf('ffda', 0, 'hex') + 2, 'hex');
  const exif = segment(0xe1, 'Exif\0\0', await exifOf());
  return Buffer.concat([jpeg.subarray(0, second), exif, jpeg.subarray(second)]);
};

const doubles = (...numbers: readonly number[]): Buffer => Buffer.from(new Float64Array(numbers).buffer);

const gifWith = async (...added: readonly (Buffer | string)[]): Promise<Buffer> => {
  const gif = await animation('gif', ['#f00', '#0f0']);
  const blocks = added.map((part) => (typeof part === 'string' ? latin1(part) : part));
  return Buffer.concat([gif.subarray(0, -1), ...blocks, latin1(';')]);
};

const profile = (name: string, content: Buffer): Buffer => {
  const text = `Raw profile type ${name}\0\n${name}\n${String(content.length)}\n${content.toString('hex')}\n`;
  return chunk('tEXt', latin1(text));
};

const files: readonly (readonly [what: string, extension: string, make: () => Promise<Buffer>])[] = [
  ['the records of a thermal camera', 'jpg', () => jpegWith(segment(0xe1, 'FLIR\0\x01\0\0', thermal()))],
  [
    'such records in two segments, the second before the first',
    'jpg',
    () =>
      jpegWith(
        segment(0xe1, 'FLIR\0\x01\x01\x01', thermal().subarray(0x70)),
        segment(0xe1, 'FLIR\0\x01\0\x01', thermal().subarray(0, 0x70)),
      ),
  ],
  ['EXIF data with an odd header', 'jpg', async () => jpegWith(segment(0xe1, 'Exif\0\0', await oddExif()))],
  [
    'EXIF data in two segments',
    'jpg',
    async () => {
      const exif = await exifOf();
      const [one, two] = [exif.subarray(0, 100), exif.subarray(100)];
      return jpegWith(segment(0xe1, 'Exif\0\0', one), segment(0xe1, 'Exif\0\0', two));
    },
  ],
  ['EXIF data between scans', 'jpg', betweenScans],
  [
    'the preview in EXIF data',
    'jpg',
    async () => jpegWith(segment(0xe1, 'Exif\0\0', await exifWithPreview())),
  ],
  ['the preview beside EXIF data', 'jpg', async () => jpegWith(segment(0xe0, 'JFXX\0\x10', await preview()))],
  ['a preview in a segment of its own', 'jpg', async () => jpegWith(segment(0xe2, await preview()))],
  ['data of a maker', 'jpg', async () => jpegWith(segment(0xe3, 'Meta\0\0', await exifOf()))],
  [
    'resources of an old image editor',
    'jpg',
    async () => {
      const mark = `Adobe_Photoshop2.5:${'\0'.repeat(8)}`;
      return jpegWith(segment(0xed, mark, resource(0x0422, await exifOf())));
    },
  ],
  [
    'resources behind that of another program',
    'jpg',
    async () => {
      const other = resource(1, latin1('hi'), 'PHUT');
      return jpegWith(segment(0xed, 'Photoshop 3.0\0', other, resource(0x0422, await exifOf())));
    },
  ],
  [
    'the preview of an image editor',
    'jpg',
    async () => {
      const content = Buffer.concat([Buffer.alloc(28), await preview()]);
      return jpegWith(segment(0xed, 'Photoshop 3.0\0', resource(0x040c, content)));
    },
  ],
  [
    'keywords of an image editor',
    'jpg',
    () => {
      const keyword = latin1(`\x1c\x02\x19\0\x11geo:lat=${String(NORTH)}`);
      return jpegWith(segment(0xed, 'Photoshop 3.0\0', resource(0x0404, keyword)));
    },
  ],
  ['a comment', 'jpg', () => jpegWith(segment(0xfe, `GPS ${String(NORTH)}`))],
  ['XMP data of another vocabulary', 'jpg', () => jpegWithXmp(geo())],
  [
    'elements of that vocabulary',
    'jpg',
    () => jpegWithXmp(xmp(GEO, `<geo:Place><geo:lat_long>${String(NORTH)},1</geo:lat_long></geo:Place>`)),
  ],
  [
    'XMP data of a drone',
    'jpg',
    () => jpegWithXmp(xmp(`xmlns:d="http://www.dji.com/drone-dji/1.0/" d:Latitude="${String(NORTH)}"`)),
  ],
  [
    'XMP data of a collection',
    'jpg',
    () => {
      const names = ['decimalLatitude', 'verbatimCoordinates', 'footprintWKT'];
      const inner = names.map((name) => `<dwc:${name}>${String(NORTH)}</dwc:${name}>`).join('');
      return jpegWithXmp(xmp('xmlns:dwc="http://rs.tdwg.org/dwc/index.htm"', inner));
    },
  ],
  ['a comment in XMP data', 'jpg', () => jpegWithXmp(xmp('', `<!-- GPSLatitude ${String(NORTH)} -->`))],
  [
    'keywords in XMP data',
    'jpg',
    () => {
      const keyword = `<rdf:li>geo:lat=${String(NORTH)}</rdf:li>`;
      return jpegWithXmp(xmp('', `<dc:subject><rdf:Bag>${keyword}</rdf:Bag></dc:subject>`));
    },
  ],
  ['XMP data without its mark', 'jpg', () => jpegWith(segment(0xe1, 'XMP\0', geo()))],
  ['a profile as text', 'png', async () => pngWith(profile('8bim', resource(0x0422, await exifOf())))],
  [
    'a profile without a name',
    'png',
    async () => {
      const exif = Buffer.concat([latin1('Exif\0\0'), await exifOf()]);
      const text = `Raw profile type APP1\0\n\n${String(exif.length)}\n${exif.toString('hex')}\n`;
      return pngWith(chunk('tEXt', latin1(text)));
    },
  ],
  ['the name of a text', 'png', () => pngWith(chunk('tEXt', latin1(`geo:lat\0${String(NORTH)}`)))],
  ['a text', 'png', () => pngWith(chunk('tEXt', latin1(`Comment\0Latitude: ${String(NORTH)}`)))],
  ['EXIF data with an odd header', 'png', async () => pngWith(chunk('eXIf', await oddExif()))],
  ['an unknown chunk', 'png', async () => pngWith(chunk('exIF', await exifOf()))],
  ['EXIF data with an odd header', 'webp', async () => webpWith('EXIF', await oddExif())],
  ['an unknown chunk', 'webp', async () => webpWith('EXIf', await exifOf())],
  ['a comment', 'gif', () => gifWith(`\x21\xfe\x0dGPS 51.507351\0`)],
  ['data of an application', 'gif', () => gifWith(`\x21\xff\x0bMAPS    1.0\x0dGPS 51.507351\0`)],
  ['bytes behind the end', 'gif', () => gifWith(`;GPS 51.507351`)],
  ['how a map lies', 'tif', () => tiffWith(0x8482, 12, doubles(0, 0, 0, NORTH, -0.1, 0), { values: 6 })],
  [
    'EXIF data in the resources of an image editor',
    'tif',
    async () => tiffWith(0x8649, 7, resource(0x0422, await exifOf())),
  ],
  ['XMP data of another vocabulary', 'tif', () => tiffWith(0x02bc, 1, geo())],
  ['a picture', 'ico', async () => icoWith(await pngWith(chunk('eXIf', await exifOf())))],
];

const LOCATED = /gps|latitude|longitude|\blat|tiepoint|51\.507/iu;

const seconds = Buffer.from(new Uint32Array([7351, 100]).buffer);
/** The position as numbers and as texts of these files. */
const SIGNS = [seconds, Buffer.from(seconds).swap32(), doubles(NORTH), latin1('51.507')];

const signsIn = (file: Buffer): readonly number[] =>
  SIGNS.map((sign) => file.indexOf(sign)).filter((at) => at >= 0);

describe.skipIf(!hasExiftool)('the position (needs exiftool)', () => {
  it.each(
    files.flatMap((file) => (['strip-location', 'strip'] as const).map((mode) => [...file, mode] as const)),
  )('leaves %s of a %s', async (_what, extension, make, metadata) => {
    const { service, bytes } = await startImages({
      extensions: ['jpg', 'png', 'webp', 'gif', 'tif', 'ico'],
      uploadImages: { metadata },
    });
    const name = `a.${extension}`;
    const file = await make();
    const isSeen = (await exiftool(file, extension)).some((line) => LOCATED.test(line));
    expect([isSeen, signsIn(file).length > 0]).toContain(true);
    expect((await service.upload([['files[0]', name, new Uint8Array(file)]])).status).toBe(200);
    const result = await bytes(name);
    expect((await exiftool(result, extension)).filter((line) => LOCATED.test(line))).toEqual([]);
    expect(signsIn(result)).toEqual([]);
    if (extension === 'ico') return;
    const [before, after] = await Promise.all([file, result].map((one) => sharp(one).raw().toBuffer()));
    expect(after?.equals(before ?? Buffer.of())).toBe(true);
  });
});

it('leaves all else: what names no position stays byte for byte', async () => {
  const { service, bytes } = await startImages({
    extensions: ['jpg', 'png', 'gif', 'tif'],
    uploadImages: { metadata: 'strip-location' },
  });
  const iptc = resource(0x0404, latin1('\x1c\x02\x5a\0\x06London'));
  const city = xmp('xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" photoshop:City="London"');
  const free = thermal();
  free.writeUInt16BE(0x20, 0x40);
  const exif = await sharp(
    await quarters()
      .withExif({ IFD0: { Artist: 'Ada' } })
      .jpeg()
      .toBuffer(),
  ).metadata();
  const files = {
    'a.jpg': await jpegWith(
      segment(0xe1, exif.exif ?? ''),
      segment(0xe1, 'http://ns.adobe.com/xap/1.0/\0', city),
      segment(0xe1, 'FLIR\0\x01\0\0', free),
      segment(0xe4, 'SCALADO\0'),
      segment(0xed, 'Photoshop 3.0\0', iptc),
      segment(0xfe, 'A comment.'),
    ),
    'a.png': await pngWith(chunk('tEXt', latin1('Comment\0hello')), profile('iptc', iptc)),
    'a.gif': await gifWith('\x21\xfe\x05hello\0'),
    'a.tif': await tiffWith(0x83bb, 7, latin1('\x1c\x02\x5a\0\x06London')),
  };
  for (const [name, file] of Object.entries(files)) {
    expect((await service.upload([['files[0]', name, new Uint8Array(file)]])).status).toBe(200);
    expect([name, (await bytes(name)).equals(file)]).toEqual([name, true]);
  }
});
