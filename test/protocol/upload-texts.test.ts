import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startSite } from '../network/loopback.ts';
import { heicFile } from '../pictures/heic-files.ts';
import { formOf, startService, type Service } from './service.ts';
import { create, patch, startTus } from './tus-client.ts';

const run = promisify(execFile);
const hasExiftool = existsSync('/usr/bin/exiftool');

type Format = 'jpeg' | 'png' | 'webp' | 'tiff' | 'avif' | 'heic';

type Picture = Uint8Array<ArrayBuffer>;
interface Wanted {
  readonly format: Format;
  readonly tags: readonly string[];
}

/** Pictures about which exiftool has written this: one process, as a start takes longer than its work. */
const picturesSaying = async (wanted: readonly Wanted[]): Promise<readonly Picture[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-texts-'));
  try {
    const plain = sharp({ create: { width: 30, height: 20, channels: 3, background: 'teal' } });
    const commands: string[] = [];
    const paths = wanted.map(({ format }, index) => join(folder, `${String(index)}.${format}`));
    for (const [index, { format, tags }] of wanted.entries()) {
      const path = paths[index] ?? '';
      const isHeic = format === 'heic';
      await writeFile(path, isHeic ? heicFile('plain') : await plain.clone().toFormat(format).toBuffer());
      commands.push('-q', '-overwrite_original', '-sep', '|', ...tags, path, '-execute');
    }
    await run('exiftool', commands.slice(0, -1));
    return await Promise.all(paths.map(async (path) => new Uint8Array(await readFile(path))));
  } finally {
    await rm(folder, { recursive: true });
  }
};

const pictureSaying = async (format: Format, ...tags: readonly string[]): Promise<Picture> => {
  const [picture] = await picturesSaying([{ format, tags }]);
  if (picture === undefined) throw new Error('exiftool has written nothing');
  return picture;
};

const sendTo = async (service: Service, name: string, bytes: Uint8Array<ArrayBuffer>): Promise<unknown> => {
  const { data } = await service.upload([['files[0]', name, bytes]]);
  return (data['items'] as { about?: unknown }[])[0]?.about;
};

const IPTC = [
  '-IPTC:CodedCharacterSet=UTF8',
  '-IPTC:ObjectName=Título',
  '-IPTC:Caption-Abstract=Caption ünd',
  '-IPTC:Keywords=cat|roof',
  '-IPTC:Credit=Agency',
];
const XMP = [
  '-XMP-dc:Title=XMP title',
  '-XMP-dc:Title-de=Deutscher Titel',
  '-XMP-dc:Description=XMP <caption> & more',
  '-XMP-dc:Subject=dog|house',
  '-XMP-photoshop:Credit=XMP credit',
  '-XMP-iptcCore:AltTextAccessibility=A dog',
];
const EXIF = ['-EXIF:ImageDescription=EXIF words'];
const POSITION = ['-GPSLatitude=51.5', '-GPSLongitude=7.1', '-XMP-photoshop:City=Bochum'];

const OF_XMP = {
  alt: 'A dog',
  title: 'XMP title',
  caption: 'XMP <caption> & more',
  credit: 'XMP credit',
  tags: ['dog', 'house'],
};
const OF_IPTC = { title: 'Título', caption: 'Caption ünd', credit: 'Agency', tags: ['cat', 'roof'] };

describe.skipIf(!hasExiftool)('what a picture says about itself (needs exiftool)', () => {
  const rows: readonly [string, Format, readonly string[], object][] = [
    ['IPTC before XMP before EXIF in JPEG', 'jpeg', [...IPTC, ...XMP, ...EXIF], { ...OF_IPTC, alt: 'A dog' }],
    ['XMP in JPEG', 'jpeg', [...XMP, ...EXIF, ...POSITION], OF_XMP],
    ['EXIF in JPEG', 'jpeg', EXIF, { caption: 'EXIF words' }],
    [
      'each field by itself',
      'jpeg',
      ['-IPTC:ObjectName=T', '-XMP-photoshop:Credit=C', ...EXIF],
      { title: 'T', credit: 'C', caption: 'EXIF words' },
    ],
    [
      'nothing of what a camera writes into every picture',
      'jpeg',
      [
        '-EXIF:ImageDescription=OLYMPUS DIGITAL CAMERA         ',
        '-XMP-dc:Description=SONY DSC',
        '-IPTC:Caption-Abstract=default',
        ...IPTC.slice(0, 2),
      ],
      { title: 'Título' },
    ],
    [
      'no mode of a phone',
      'jpeg',
      ['-EXIF:Make=HUAWEI', '-EXIF:ImageDescription=oznor', ...IPTC.slice(0, 2)],
      { title: 'Título' },
    ],
    [
      'whole texts of XMP that are cut in IPTC',
      'jpeg',
      [
        ...IPTC,
        ...['IPTC:ObjectName', 'XMP-dc:Title'].map((tag) => `-${tag}=${'Мост через реку '.repeat(5)}1`),
        ...['IPTC:Credit', 'XMP-photoshop:Credit'].map((tag) => `-${tag}=Фотограф Петрова / Агентство`),
      ],
      {
        ...OF_IPTC,
        title: `${'Мост через реку '.repeat(5)}1`,
        credit: 'Фотограф Петрова / Агентство',
      },
    ],
    [
      'IPTC first, also where XMP goes on after the same beginning',
      'jpeg',
      ['-IPTC:ObjectName=Bridge', '-XMP-dc:Title=Bridge at night'],
      { title: 'Bridge' },
    ],
    [
      'old IPTC of one byte a letter',
      'jpeg',
      ['-IPTC:Caption-Abstract=“Café” – 5 €'],
      { caption: '“Café” – 5 €' },
    ],
    ['XMP in PNG', 'png', [...XMP, ...EXIF], OF_XMP],
    ['EXIF in PNG', 'png', EXIF, { caption: 'EXIF words' }],
    ['IPTC in PNG', 'png', IPTC, OF_IPTC],
    ['XMP in WebP', 'webp', [...XMP, ...EXIF], OF_XMP],
    ['EXIF in WebP', 'webp', EXIF, { caption: 'EXIF words' }],
    ['XMP in AVIF', 'avif', [...XMP, ...EXIF], OF_XMP],
    ['EXIF in AVIF', 'avif', EXIF, { caption: 'EXIF words' }],
    ['XMP in HEIC', 'heic', [...XMP, ...EXIF, ...POSITION], OF_XMP],
    ['EXIF in HEIC', 'heic', EXIF, { caption: 'EXIF words' }],
    ['IPTC in TIFF', 'tiff', [...IPTC, ...EXIF], OF_IPTC],
    ['XMP in TIFF', 'tiff', XMP, OF_XMP],
    ['EXIF in TIFF', 'tiff', EXIF, { caption: 'EXIF words' }],
    [
      'no positions, and nothing beyond the bounds',
      'jpeg',
      [
        `-XMP-dc:Description=${'x'.repeat(3000)}`,
        `-XMP-dc:Subject=geo:lat=51.5|geo:lon=7|town|${'y'.repeat(100)}`,
        ...POSITION,
      ],
      { caption: 'x'.repeat(2000), tags: ['town', 'y'.repeat(64)] },
    ],
  ];
  let pictures: readonly Picture[] = [];
  beforeAll(async () => {
    pictures = await picturesSaying(rows.map(([, format, tags]) => ({ format, tags })));
  });

  it.each(rows.map((row, index) => [...row, index] as const))('is read at upload: %s', async (...row) => {
    const [, format, , expected, index] = row;
    const service = await startService({
      extensions: ['jpg', 'png', 'webp', 'tiff', 'avif', 'heic'],
      imageExtensions: ['jpg', 'png', 'webp', 'tiff', 'avif'],
    });
    const bytes = pictures[index] ?? new Uint8Array();
    expect(await sendTo(service, `a.${format === 'jpeg' ? 'jpg' : format}`, bytes)).toEqual(expected);
  });

  it('is read before it is taken out, through every door', async () => {
    const bytes = await pictureSaying('jpeg', ...XMP);
    const service = await startTus({
      uploadImages: { metadata: 'strip', format: 'webp' },
      allowPrivateNetworkUploads: true,
    });
    expect(await sendTo(service, 'a.jpg', bytes)).toEqual(OF_XMP);
    const response = await fetch(`${service.url}/imageSave`, {
      method: 'POST',
      body: formOf([['files[0]', 'b.jpg', bytes]], { newname: 'b.jpg' }),
    });
    expect(response.status).toBe(200);
    const { address } = await create(service.tus, bytes.length, { filename: 'c.jpg' });
    const { data: part } = await patch(address, 0, bytes);
    expect((part['items'] as object[])[0]).toMatchObject({ name: 'c.webp', about: OF_XMP });
    const site = await startSite((_, page) => void page.end(bytes));
    onTestFinished(() => site.close());
    const remote = await service.call('fileUploadRemote', { url: `${site.origin}/d.jpg` });
    expect((remote.data['items'] as object[])[0]).toMatchObject({ name: 'd.webp', about: OF_XMP });
    await service.source('files').put({ 'e.jpg': 'older content' });
    const replaced = await fetch(`${service.url}/fileReplace`, {
      method: 'POST',
      body: formOf([['files[0]', 'new.jpg', bytes]], { name: 'e.jpg' }),
    });
    expect(replaced.status).toBe(200);
    const { data } = await service.call('files', { 'mods[details]': '1' });
    const [{ files = [] } = {}] = data['sources'] as { files: { name: string; about?: unknown }[] }[];
    expect(files.map(({ name, about }) => [name, about]).sort()).toEqual([
      ['a.webp', OF_XMP],
      ['b.webp', OF_XMP],
      ['c.webp', OF_XMP],
      ['d.webp', OF_XMP],
      ['e.jpg', OF_XMP],
    ]);
  });

  it('leaves the words that a file has, and is not read where the source does not want it', async () => {
    const bytes = await pictureSaying('jpeg', ...XMP);
    const service = await startService({ saveSameFileNameStrategy: 'replace' });
    await sendTo(service, 'a.jpg', bytes);
    await service.call('fileDescribe', {
      name: 'a.jpg',
      alt: 'Mine',
      title: '',
      caption: '',
      credit: '',
      'tags[]': '',
    });
    expect(await sendTo(service, 'a.jpg', bytes)).toEqual({ alt: 'Mine' });
    const silent = await startService({ readTexts: false });
    expect(await sendTo(silent, 'a.jpg', bytes)).toBeUndefined();
  });

  it('is nothing where the data is broken, and the upload succeeds', async () => {
    const service = await startService();
    const bytes = await pictureSaying('jpeg', '-XMP-dc:Title=Broken <x>', '-IPTC:ObjectName=T');
    const broken = Buffer.from(bytes);
    broken.write('<<<<<<<<', broken.indexOf('<rdf:Description'));
    expect(await sendTo(service, 'a.jpg', new Uint8Array(broken))).toEqual({ title: 'T' });
  });

  it('is what it says in any language, not what the pictures inside of it say', async () => {
    const service = await startService();
    const part =
      '<rdf:li rdf:parseType="Resource"><dc:title>Part</dc:title><dc:format>image/png</dc:format></rdf:li>';
    const described = (own: string): Promise<Buffer> =>
      sharp({ create: { width: 30, height: 20, channels: 3, background: 'teal' } })
        .withXmp(
          `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
          <rdf:Description rdf:about="" photoshop:Credit="" xmlns:dc="http://purl.org/dc/elements/1.1/"
            xmlns:xmpMM="http://ns.adobe.com/xap/1.0/mm/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/">
          <xmpMM:Pantry><rdf:Bag>${part}<rdf:li><rdf:Description photoshop:Credit="Part"/></rdf:li></rdf:Bag>
          </xmpMM:Pantry><dc:subject><rdf:Bag/></dc:subject>${own}</rdf:Description></rdf:RDF></x:xmpmeta>`,
        )
        .jpeg()
        .toBuffer();
    const own =
      '<dc:title><rdf:Alt><rdf:li xml:lang="x-default"> </rdf:li><rdf:li xml:lang="en">Whole</rdf:li></rdf:Alt></dc:title>' +
      '<photoshop:Credit>Agency</photoshop:Credit>';
    expect(await sendTo(service, 'a.jpg', new Uint8Array(await described('')))).toBeUndefined();
    expect(await sendTo(service, 'b.jpg', new Uint8Array(await described(own)))).toEqual({
      title: 'Whole',
      credit: 'Agency',
    });
  });

  it('is read also where IPTC is not in UTF-8, as it says', async () => {
    const service = await startService();
    const bytes = Buffer.from(await pictureSaying('jpeg', ...IPTC));
    bytes.write('Caption ündü', bytes.indexOf('Caption ünd'), 'latin1');
    expect(await sendTo(service, 'a.jpg', new Uint8Array(bytes))).toEqual({
      ...OF_IPTC,
      caption: 'Caption ündü',
    });
  });

  it('is not searched for behind more segments than programs write', async () => {
    const service = await startService();
    const bytes = Buffer.from(await pictureSaying('jpeg', ...XMP));
    const behind = (segments: number): Uint8Array<ArrayBuffer> =>
      new Uint8Array(
        Buffer.concat([
          bytes.subarray(0, 2),
          Buffer.alloc(4 * segments, 'ffe10002', 'hex'),
          bytes.subarray(2),
        ]),
      );
    expect(await sendTo(service, 'a.jpg', behind(1000))).toEqual(OF_XMP);
    expect(await sendTo(service, 'b.jpg', behind(20_000))).toBeUndefined();
  });
});
