import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { deflateSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { avifWithExif } from '../pictures/avif-files.ts';
import { chunk, jpegWith, pngWith, resource, segment } from '../pictures/containers.ts';
import { exiftool, hasExiftool, located, LOCATED_XMP } from '../pictures/located.ts';
import { quarters } from '../pictures/pictures.ts';
import { startImages, type ImageService } from '../protocol/images.ts';
import { type FormFile, formOf } from '../protocol/service.ts';
import { create, patch, startTus } from '../protocol/tus-client.ts';
import { startSite } from '../network/loopback.ts';

/**
 * Where pictures were taken, in files of cameras and in files made to break their readers.
 */

const EXTENSIONS = 'jpg jpeg png gif webp avif tiff'.split(' ');

const start = (): Promise<ImageService> =>
  startImages({ extensions: EXTENSIONS, uploadImages: { metadata: 'strip-location' } });

/** What is stored of a picture; undefined when it was refused as broken. */
const stored = async (
  { service, bytes }: ImageService,
  name: string,
  file: Uint8Array,
): Promise<Buffer | undefined> => {
  const { status, data } = await service.upload([['files[0]', name, new Uint8Array(file)]]);
  expect([200, 400]).toContain(status);
  return status === 200 ? bytes((data['files'] as string[])[0] ?? '') : undefined;
};

const exifOf = async (): Promise<Buffer> => {
  const { exif } = await sharp(await located(quarters()).jpeg().toBuffer()).metadata();
  return exif ?? Buffer.alloc(0);
};

const LOCATED = /gps/iu;

describe.skipIf(!hasExiftool)('the position of a picture (needs exiftool)', () => {
  it.each(['jpeg', 'png', 'webp', 'avif', 'tiff'] as const)(
    'leaves a %s, and nothing else does',
    async (format) => {
      const started = await start();
      const file = await located(quarters().withIccProfile('p3')).toFormat(format).toBuffer();
      const before = await exiftool(file, format);
      expect(before.some((line) => LOCATED.test(line))).toBe(true);
      const result = await stored(started, `a.${format}`, file);
      expect(result).toBeDefined();
      if (result === undefined) return;
      const after = await exiftool(result, format);
      expect(after.filter((line) => LOCATED.test(line))).toEqual([]);
      const kept = /(?:Copyright|Artist|UserComment|Creator|ProfileDescription) :/u;
      const values = (lines: readonly string[]): string[] =>
        lines
          .filter((line) => kept.test(line))
          .map((line) => line.replace(/^\[\w+\] /u, ''))
          .sort();
      expect(values(after)).toEqual(values(before));
      expect((await sharp(result).raw().toBuffer()).equals(await sharp(file).raw().toBuffer())).toBe(true);
      const again = await stored(started, `b.${format}`, result);
      expect(again?.equals(result)).toBe(true);
    },
  );

  it('leaves previews, long packets, resources of editors and the data of makers', async () => {
    const started = await start();
    const exif = await exifOf();
    const more = Buffer.from(LOCATED_XMP.replaceAll('GPSMapDatum', 'GPSStatus'));
    const piece = (start: number, end: number): Buffer => {
      const header = Buffer.alloc(8);
      header.writeUInt32BE(more.length, 0);
      header.writeUInt32BE(start, 4);
      const mark = 'http://ns.adobe.com/xmp/extension/\0' + 'A'.repeat(32);
      return segment(0xe1, mark, header, more.subarray(start, end));
    };
    const middle = more.indexOf('GPSLongitude') + 5;
    const first = await jpegWith(
      piece(middle, more.length),
      piece(0, middle),
      segment(
        0xed,
        'Photoshop 3.0\0',
        resource(0x0424, Buffer.from(LOCATED_XMP)),
        resource(0x0422, exif.subarray(6)),
      ),
      segment(0xe6, 'GoPro\0DEVC\0\0\0\0GPS5'),
    );
    const second = await located(quarters(20, 10)).jpeg().toBuffer();
    const film = Buffer.from('\0\0\0\x10ftypmp42 ©xyz +51.5-000.1/ GPSLatitude', 'latin1');
    const result = await stored(started, 'a.jpg', Buffer.concat([first, Buffer.from('?'), second, film]));
    expect((await exiftool(result ?? Buffer.from('x'), 'jpg')).filter((line) => LOCATED.test(line))).toEqual(
      [],
    );
    expect(result?.length).toBe(first.length + 1 + second.length);
    const preview = result?.subarray(first.length + 1) ?? Buffer.alloc(0);
    expect((await exiftool(preview, 'jpg')).filter((line) => LOCATED.test(line))).toEqual([]);
    expect((await sharp(preview).metadata()).width).toBe(20);
    for (const text of ['WGS-84', '51.5', '51,30']) expect(result?.includes(text)).toBe(false);
  });

  it('leaves the keywords and texts of its EXIF data, in one byte a character or two', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'stowage-keywords-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, 'a.jpg');
    await quarters().jpeg().toFile(path);
    const texts = [
      '-XPKeywords=geo:lat=51.523;town',
      '-XPComment=geo:lon=7.523',
      '-ImageDescription=harbour geo:lat=51.523',
      '-UserComment=geo:long=7.523',
    ];
    execFileSync('exiftool', ['-q', '-overwrite_original', ...texts, path]);
    const file = await readFile(path);
    const result = await stored(await start(), 'a.jpg', file);
    const lines = (await exiftool(result ?? file, 'jpg')).join('\n');
    expect(lines).not.toMatch(/geo:|\.523/u);
    expect(lines).toMatch(/XPKeywords : ;town/u);
    expect(lines).toMatch(/ImageDescription : harbour/u);
  });

  it.each(['extents', 'idat', 'twice'] as const)(
    'leaves an AVIF whose EXIF data lies in odd ways: %s',
    async (layout) => {
      const started = await start();
      const file = avifWithExif(await located(quarters()).avif({ effort: 0 }).toBuffer(), layout);
      const { exif } = await sharp(file).metadata();
      const [name, latitude] = [Buffer.from('Ada'), Buffer.from([0, 0, 0, 51, 0, 0, 0, 1, 0, 0, 0, 30])];
      expect(exif?.includes(name)).toBe(true);
      const isAt = (data: Buffer | undefined): boolean =>
        [latitude, Buffer.from(latitude).swap32()].some((bytes) => data?.includes(bytes) === true);
      expect(isAt(exif)).toBe(true);
      const result = await stored(started, 'a.avif', file);
      expect(
        (await exiftool(result ?? Buffer.from('x'), 'avif')).filter((line) => LOCATED.test(line)),
      ).toEqual([]);
      expect([isAt(result), (await sharp(result).metadata()).width]).toEqual([false, 80]);
    },
  );

  it('leaves an AVIF that has XMP data in a box of its own', async () => {
    const started = await start();
    const id = Buffer.from('be7acfcb97a942e89c71999491e3afac', 'hex');
    const box = Buffer.concat([Buffer.from('\0\0\0\0uuid', 'latin1'), id, Buffer.from(LOCATED_XMP)]);
    box.writeUInt32BE(box.length, 0);
    const file = Buffer.concat([await quarters().avif({ effort: 0 }).toBuffer(), box]);
    expect((await exiftool(file, 'avif')).some((line) => LOCATED.test(line))).toBe(true);
    const result = await stored(started, 'a.avif', file);
    expect((await exiftool(result ?? Buffer.from('x'), 'avif')).filter((line) => LOCATED.test(line))).toEqual(
      [],
    );
    expect((await sharp(result).metadata()).width).toBe(80);
  });

  it('leaves texts of a PNG, packed or not', async () => {
    const started = await start();
    const exif = await exifOf();
    const hex = `\nexif\n${String(exif.length).padStart(8)}\n${exif.toString('hex')}\n`;
    const packed = deflateSync(Buffer.from(LOCATED_XMP));
    for (const [name, added] of [
      ['plain', chunk('iTXt', Buffer.from(`XML:com.adobe.xmp\0\0\0\0\0${LOCATED_XMP}`))],
      ['packed', chunk('iTXt', Buffer.concat([Buffer.from('XML:com.adobe.xmp\0\x01\0\0\0'), packed]))],
      ['profile', chunk('zTXt', Buffer.concat([Buffer.from('Raw profile type exif\0\0'), deflateSync(hex)]))],
      ['text', chunk('tEXt', Buffer.from('exif:GPSLatitude\0 51/1, 30/1, 0/1'))],
      ['exif', chunk('eXIf', exif.subarray(6))],
    ] as const) {
      const result = await stored(started, `${name}.png`, await pngWith(added));
      const lines = await exiftool(result ?? Buffer.from('x'), 'png');
      expect([
        name,
        lines.filter((line) => LOCATED.test(line) || /\] (?:Warning|Error) :/u.test(line)),
      ]).toEqual([name, []]);
    }
  });
});

it('the position leaves a picture on every way in', async () => {
  const jpeg = await located(quarters()).jpeg().toBuffer();
  const site = await startSite((_request, response) => void response.end(jpeg));
  onTestFinished(() => site.close());
  const service = await startTus({
    allowPrivateNetworkUploads: true,
    sources: { files: { uploadImages: { metadata: 'strip-location' } }, other: {} },
  });
  const [files, other] = [service.source('files'), service.source('other')];
  await other.put({ 'copied.jpg': jpeg, 'moved.jpg': jpeg, 'dir/copied.jpg': jpeg });
  const photo: FormFile = ['files[0]', 'sent.jpg', new Uint8Array(jpeg)];
  const save = { method: 'POST', body: formOf([photo], { newname: 'saved.jpg' }) };
  const begun = await create(service.tus, jpeg.length, { filename: 'parts.jpg' });
  const across = { source: 'files', fromSource: 'other' };
  const answers = [
    await service.upload([photo]),
    await service.call('fileUploadRemote', { url: `${site.origin}/remote.jpg` }),
    await fetch(`${service.url}/imageSave`, save),
    await patch(begun.address, 0, new Uint8Array(jpeg)),
    await service.call('fileCopy', { ...across, from: 'copied.jpg' }),
    await service.call('fileMove', { ...across, from: 'moved.jpg' }),
    await service.call('folderCopy', { ...across, from: 'dir' }),
  ];
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const sent = await files.bytes('sent.jpg');
  expect([sent.includes('GPS'), sent.includes('Bob')]).toEqual([false, true]);
  for (const name of 'remote saved parts copied moved dir/copied'.split(' ')) {
    expect([name, (await files.bytes(`${name}.jpg`)).equals(sent)]).toEqual([name, true]);
  }
});

describe('data about pictures that is made to break its readers', () => {
  const tiff = (text: string, length = text.length): Buffer => {
    const bytes = Buffer.alloc(length);
    bytes.write(text, 'latin1');
    return bytes;
  };
  it.each([
    ['a loop of directories', tiff('II*\0\x08\0\0\0\x01\0\x69\x87\x04\0\x01\0\0\0\x08\0\0\0\x08\0\0\0')],
    ['more entries than bytes', tiff('II*\0\x08\0\0\0\xff\xff\x25\x88\x04\0\x01\0\0\0\x08\0\0\0', 600)],
    ['a directory beyond the end', tiff('MM\0*\x7f\xff\xff\xff')],
    [
      'values beyond the end',
      tiff('II*\0\x08\0\0\0\x01\0\x25\x88\x04\0\xff\xff\xff\xff\xf0\xff\xff\xff\0\0\0\0'),
    ],
    [
      'the position where the header is',
      tiff('II*\0\x08\0\0\0\x01\0\x25\x88\x04\0\x01\0\0\0\0\0\0\0\0\0\0\0'),
    ],
    [
      'directories that lie one over the other',
      tiff('II*\0\x14\0\0\0\x01\0\x01\0\x02\0\x02\0\0\0N\0\x01\0\x25\x88\x04\0\x01\0\0\0\x08\0\0\0\0\0\0\0'),
    ],
    ['entries without number', tiff('II*\0\x08\0\0\0\xff\xff', 60_000)],
    ['no header', Buffer.from('nonsense')],
  ])('stores a picture whose EXIF data has %s, still whole', async (_, exif) => {
    const started = await start();
    const raw = async (file: Buffer | undefined): Promise<Buffer> => sharp(file).raw().toBuffer();
    const expected = await quarters().jpeg().toBuffer();
    const jpeg = await stored(started, 'a.jpg', await jpegWith(segment(0xe1, 'Exif\0\0', exif)));
    expect((await raw(jpeg)).equals(await raw(expected))).toBe(true);
    const png = await stored(started, 'a.png', await pngWith(chunk('eXIf', exif)));
    expect((await raw(png)).equals(await quarters().raw().toBuffer())).toBe(true);
  });

  it('refuses a picture whose EXIF data has thousands of directories', async () => {
    const many = ((): Buffer => {
      // Each directory has one entry that points to the next one, as a camera's EXIF directory would be.
      const bytes = Buffer.alloc(60_000);
      bytes.write('II*\0\x08\0\0\0', 'latin1');
      for (let at = 8; at + 36 < bytes.length; at += 18) {
        bytes.writeUInt16LE(1, at);
        bytes.writeUInt16LE(0x8769, at + 2);
        bytes.writeUInt16LE(4, at + 4);
        bytes.writeUInt32LE(1, at + 6);
        bytes.writeUInt32LE(at + 18, at + 10);
      }
      return bytes;
    })();
    const started = await start();
    const jpeg = await jpegWith(segment(0xe1, 'Exif\0\0', many));
    expect(await stored(started, 'a.jpg', jpeg)).toBeUndefined();
    expect(await stored(started, 'a.png', await pngWith(chunk('eXIf', many)))).toBeUndefined();
  });

  it.each([
    ['cut off inside a tag', LOCATED_XMP.slice(0, LOCATED_XMP.indexOf('51,30'))],
    ['without an end', LOCATED_XMP.slice(0, LOCATED_XMP.indexOf('</exif:GPSMapDatum'))],
    ['with a document type', `<!DOCTYPE x [<!ENTITY a "51,30.5N">]>${LOCATED_XMP}`],
    ['in wide characters', Buffer.from(LOCATED_XMP, 'utf16le').toString('latin1')],
    ['of nothing but brackets', `GPS 51,30.5N${'<a "'.repeat(9000)}`],
  ])('blanks a packet %s', async (_, text) => {
    const started = await start();
    const mark = 'http://ns.adobe.com/xap/1.0/\0';
    const result = await stored(started, 'a.jpg', await jpegWith(segment(0xe1, mark, text)));
    const { xmp } = await sharp(result).metadata();
    expect((xmp?.toString('latin1') ?? '').trim()).toBe('');
  });

  it('gives texts of a PNG that become very long no memory', async () => {
    const started = await start();
    const bomb = deflateSync(Buffer.alloc(100_000_000, 0x20));
    const text = chunk('iTXt', Buffer.concat([Buffer.from('XML:com.adobe.xmp\0\x01\0\0\0'), bomb]));
    const small = chunk('zTXt', Buffer.concat([Buffer.from('Note\0\0'), deflateSync('hello')]));
    const result = await stored(started, 'a.png', await pngWith(small, text));
    expect(result?.length).toBeLessThan(2000);
    expect(result?.includes('Note')).toBe(true);
  });

  it('answers lengths that lie in a container, whatever follows', async () => {
    const started = await start();
    const webp = await located(quarters()).webp().toBuffer();
    const jpeg = await jpegWith(segment(0xe1, 'Exif\0\0', await exifOf()));
    const png = await pngWith(chunk('eXIf', await exifOf()));
    for (const [name, file, at] of [
      ['a.webp', webp, webp.indexOf('EXIF') + 4],
      ['b.webp', webp, 4],
      ['a.jpg', jpeg, 4],
      ['a.png', png, 33],
    ] as const) {
      for (const value of [0, 1, 0xff]) {
        const lying = Buffer.from(file);
        lying.fill(value, at, at + (name === 'a.jpg' ? 2 : 4));
        const result = await stored(started, name, lying);
        if (result !== undefined) expect((await sharp(result).metadata()).width).toBe(80);
      }
    }
  });
});
