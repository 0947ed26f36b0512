import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { bmpFile, gradient, packColours } from '../pictures/bitmaps.ts';
import { chunk, pngWith } from '../pictures/containers.ts';
import { animation, colourAt, fromRgba, isNear, QUARTERS, quarters, turned } from '../pictures/pictures.ts';
import { startImages } from './images.ts';

/** The names of the colours that a picture of four quarters shows, clockwise from the upper left. */
const coloursOf = async (file: Buffer): Promise<string> => {
  const bytes = await sharp(file).autoOrient().png().toBuffer();
  const { width, height } = await sharp(bytes).metadata();
  const corners = [
    [0.25, 0.25],
    [0.75, 0.25],
    [0.75, 0.75],
    [0.25, 0.75],
  ] as const;
  const names = await Promise.all(
    corners.map(async ([x, y]) => {
      const colour = await colourAt(bytes, Math.floor(width * x), Math.floor(height * y));
      return Object.entries(QUARTERS).find(([, expected]) => isNear(colour, expected))?.[0] ?? '?';
    }),
  );
  return names.join(' ');
};

/** What the user sees after each turn of red, green over white, blue. */
const TURNS: readonly (readonly [fields: Record<string, string>, seen: string])[] = [
  [{ angle: '90' }, 'white red green blue'],
  [{ angle: '180' }, 'blue white red green'],
  [{ angle: '270' }, 'green blue white red'],
  [{ flip: 'horizontal' }, 'green red white blue'],
  [{ flip: 'vertical' }, 'white blue green red'],
  [{ angle: '90', flip: 'horizontal' }, 'red white blue green'],
  [{ angle: '90', flip: 'vertical' }, 'blue green red white'],
  [{ angle: '270', flip: 'vertical' }, 'red white blue green'],
];

/** The pixels of a JPEG as they are stored, not turned. */
const stored = (file: Buffer): Promise<Buffer> => sharp(file, { autoOrient: false }).raw().toBuffer();

describe('imageRotate', () => {
  for (const format of ['jpeg', 'png', 'webp', 'gif', 'avif', 'tiff'] as const) {
    it(`turns and mirrors a ${format}`, async () => {
      const { put, service, bytes } = await startImages({
        extensions: ['jpeg', 'png', 'webp', 'gif', 'avif', 'tiff'],
      });
      const file = await quarters(80, 40).toFormat(format).toBuffer();
      for (const [fields, seen] of TURNS) {
        const name = `${JSON.stringify(fields).replaceAll(/\W+/gu, '-')}.${format}`.replace(/^-+/u, '');
        await put(name, file);
        const answer = await service.call('imageRotate', { name, ...fields });
        expect(answer.data).toEqual({ code: 220, newPath: `https://files.example/files/${name}` });
        expect([fields, await coloursOf(await bytes(name))]).toEqual([fields, seen]);
      }
    });
  }

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'turns a JPEG of EXIF orientation %i from how it is seen, and leaves its pixels alone',
    async (orientation) => {
      const { put, service, bytes } = await startImages();
      const file = await (await turned(quarters(80, 40), orientation)).jpeg({ quality: 95 }).toBuffer();
      for (const [fields, seen] of [TURNS[0], TURNS[3], TURNS[6]].flatMap((turn) => (turn ? [turn] : []))) {
        await put('a.jpg', file);
        await service.call('imageRotate', { name: 'a.jpg', ...fields });
        const result = await bytes('a.jpg');
        expect([fields, await coloursOf(result)]).toEqual([fields, seen]);
        expect((await stored(result)).equals(await stored(file))).toBe(true);
      }
    },
  );

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('stores a PNG of EXIF orientation %i upright', async (orientation) => {
    const { put, service, shown } = await startImages();
    await put('a.png', await (await turned(quarters(80, 40), orientation)).png().toBuffer());
    await service.call('imageRotate', { name: 'a.png', angle: '90' });
    const made = await shown('a.png');
    expect([made.width, made.height, made.metadata.orientation ?? 1]).toEqual([40, 80, 1]);
    expect(await coloursOf(made.bytes)).toBe('white red green blue');
  });

  it('keeps what else a camera wrote into a JPEG, with and without an orientation before', async () => {
    const { put, service, bytes } = await startImages();
    const exif = { IFD0: { Copyright: 'Ada', Artist: 'Bob' }, IFD2: { UserComment: 'hello' } };
    const xmp = '<x:xmpmeta xmlns:x="adobe:ns:meta/"/>';
    const plain = await quarters().withExif(exif).withXmp(xmp).jpeg().toBuffer();
    await put('a.jpg', plain);
    for (const orientation of [6, 3, 8, 1]) {
      await service.call('imageRotate', { name: 'a.jpg', angle: '90' });
      const metadata = await sharp(await bytes('a.jpg')).metadata();
      expect(metadata.orientation).toBe(orientation);
      const text = metadata.exif?.toString('latin1') ?? '';
      for (const kept of ['Ada', 'Bob', 'hello']) expect(text).toContain(kept);
      expect(metadata.xmp?.toString()).toBe(xmp);
    }
    expect((await bytes('a.jpg')).length).toBeLessThan(plain.length + 200);
  });

  it('adds the orientation where EXIF data has none, before everything or behind JFIF', async () => {
    const { put, service, bytes } = await startImages();
    const bare = await quarters().jpeg().toBuffer();
    const app0 = Buffer.from('ffe000104a46494600010100000100010000', 'hex');
    const jfif = Buffer.concat([bare.subarray(0, 2), app0, bare.subarray(2)]);
    // One entry, in the order of Intel: Make, with its text behind the directory.
    const tiff = Buffer.from(
      'II*\0\x08\0\0\0\x01\0\x0f\x01\x02\0\x06\0\0\0\x1a\0\0\0\0\0\0\0Canon\0',
      'latin1',
    );
    const app1 = Buffer.concat([
      Buffer.from([0xff, 0xe1, 0, tiff.length + 8]),
      Buffer.from('Exif\0\0'),
      tiff,
    ]);
    const camera = Buffer.concat([bare.subarray(0, 2), app1, bare.subarray(2)]);
    for (const file of [jfif, bare, camera]) {
      await put('a.jpg', file);
      await service.call('imageRotate', { name: 'a.jpg', angle: '90' });
      const result = await bytes('a.jpg');
      expect(await coloursOf(result)).toBe('white red green blue');
      expect((await stored(result)).equals(await stored(file))).toBe(true);
      expect(result.includes('Canon')).toBe(file === camera);
      if (file === jfif) expect(result.subarray(2, 20).equals(app0)).toBe(true);
    }
  });

  it('draws a JPEG anew whose EXIF data cannot be understood or has no room', async () => {
    const { put, service, bytes } = await startImages();
    const jpeg = await quarters().jpeg({ quality: 95 }).toBuffer();
    const withExif = (tiff: Buffer): Buffer => {
      const content = Buffer.concat([Buffer.from('Exif\0\0'), tiff]);
      const head = Buffer.from([0xff, 0xe1, 0, 0]);
      head.writeUInt16BE(content.length + 2, 2);
      return Buffer.concat([jpeg.subarray(0, 2), head, content, jpeg.subarray(2)]);
    };
    const full = Buffer.alloc(0xffff - 8);
    full.write('II*\0\x08\0\0\0', 'latin1');
    const far = Buffer.from('MM\0*\x7f\xff\xff\xff', 'latin1');
    const lying = Buffer.from('MM\0*\0\0\0\x08\xff\xff\0\0', 'latin1');
    for (const tiff of [full, far, lying, Buffer.from('nonsense')]) {
      await put('a.jpg', withExif(tiff));
      await service.call('imageRotate', { name: 'a.jpg', angle: '90' });
      expect(await coloursOf(await bytes('a.jpg'))).toBe('white red green blue');
    }
  });

  it.each(['gif', 'webp'] as const)('turns every frame of an animated %s', async (format) => {
    const { put, service, shown } = await startImages();
    await put(`a.${format}`, await animation(format, ['#e02020', '#20e020', '#2020e0']));
    await service.call('imageRotate', { name: `a.${format}`, angle: '90', flip: 'vertical' });
    const made = await shown(`a.${format}`);
    expect([made.width, made.height, made.frames]).toEqual([40, 60, 3]);
    expect([made.metadata.delay, made.metadata.loop]).toEqual([[100, 150, 200], 3]);
    for (const [page, colour] of [
      [0, [224, 32, 32]],
      [2, [32, 32, 224]],
    ] as const) {
      const frame = await sharp(made.bytes, { page }).png().toBuffer();
      expect(isNear(await colourAt(frame, 7, 50), colour)).toBe(true);
    }
  });

  it('turns what is inside the frames too', async () => {
    const { put, service, bytes } = await startImages();
    const frames = await Promise.all(
      [quarters(), quarters().negate()].map((frame) => frame.png().toBuffer()),
    );
    await put(
      'a.gif',
      await sharp(frames, { join: { animated: true } })
        .gif()
        .toBuffer(),
    );
    await service.call('imageRotate', { name: 'a.gif', flip: 'vertical' });
    expect(await coloursOf(await bytes('a.gif'))).toBe('white blue green red');
  });

  it('turns exactly, where the format has no loss', async () => {
    const { put, service, bytes } = await startImages();
    const picture = gradient(37, 21);
    await put('a.bmp', bmpFile({ width: 37, height: 21, bits: 24, pixels: packColours(picture, 24) }));
    const deep = { width: 37, height: 21, channels: 3 as const };
    const samples = Uint16Array.from({ length: 37 * 21 * 3 }, (_, index) => (index * 977) % 65536);
    await put('a.png', await sharp(samples, { raw: deep }).toColourspace('rgb16').png().toBuffer());
    const before = await sharp(await bytes('a.png'))
      .rotate(270)
      .raw({ depth: 'ushort' })
      .toBuffer();
    for (const name of ['a.bmp', 'a.png']) await service.call('imageRotate', { name, angle: '270' });
    const file = await bytes('a.png');
    expect((await sharp(file).metadata()).depth).toBe('ushort');
    expect((await sharp(file).raw({ depth: 'ushort' }).toBuffer()).equals(before)).toBe(true);
    const expected = await fromRgba(picture).removeAlpha().rotate(270).raw().toBuffer();
    const bmp = await bytes('a.bmp');
    const last = bmp.subarray(54 + 36 * 64, 54 + 36 * 64 + 3);
    expect([last[2], last[1], last[0]]).toEqual([...expected.subarray(0, 3)]);
  });

  it('turns a large picture with a palette exactly', async () => {
    const { put, service, bytes } = await startImages();
    const dots = Buffer.alloc(1100 * 1000 * 3, Buffer.from('fffffff02010ffffff', 'hex'));
    const raw = { width: 1100, height: 1000, channels: 3 } as const;
    await put('a.png', await sharp(dots, { raw }).png({ palette: true }).toBuffer());
    const before = await sharp(await bytes('a.png'))
      .rotate(90)
      .raw()
      .toBuffer();
    expect((await service.call('imageRotate', { name: 'a.png', angle: '90' })).status).toBe(200);
    const file = await bytes('a.png');
    expect((await sharp(file).metadata()).isPalette).toBe(true);
    expect((await sharp(file).raw().toBuffer()).equals(before)).toBe(true);
  });

  it('keeps the colours of a PNG that names them by numbers, as screenshots do', async () => {
    const { put, service, bytes } = await startImages({ uploadImages: { maxWidth: 40 } });
    // Display P3, and another gamma than that of sRGB for older programs.
    const colours = [chunk('cICP', Buffer.from([12, 13, 0, 1])), chunk('gAMA', Buffer.from([0, 1, 0, 0]))];
    const file = await pngWith(...colours);
    await put('a.png', file);
    await service.upload([['files[0]', 'b.png', new Uint8Array(file)]]);
    await service.call('imageRotate', { name: 'a.png', angle: '90' });
    for (const name of ['a.png', 'b.png']) {
      const result = await bytes(name);
      expect((await sharp(result).metadata()).width).toBe(40);
      const pixels = result.indexOf('IDAT');
      for (const one of colours) expect(result.subarray(0, pixels).includes(one)).toBe(true);
    }
  });

  it('keeps the resolution of a TIFF scan', async () => {
    const { put, service, bytes } = await startImages({ extensions: ['tif'] });
    const scan = quarters(80, 40).tiff({ xres: 300 / 25.4, yres: 200 / 25.4 });
    await put('a.tif', await scan.toBuffer());
    expect((await service.call('imageRotate', { name: 'a.tif', flip: 'vertical' })).status).toBe(200);
    expect((await sharp(await bytes('a.tif')).metadata()).density).toBe(300);
  });

  it('stores the result under another name, with its thumbnail anew', async () => {
    const { put, service, bytes } = await startImages();
    const file = await quarters(80, 40).jpeg().toBuffer();
    await put('a.jpg', file);
    await service.call('files');
    const answer = await service.call('imageRotate', { name: 'a.jpg', newname: 'b', angle: '90' });
    expect(answer.data['newPath']).toBe('https://files.example/files/b.jpg');
    expect((await bytes('a.jpg')).equals(file)).toBe(true);
    await service.call('imageRotate', { name: 'a.jpg', angle: '180' });
    await service.call('files');
    const thumb = await bytes('_thumbs/b.jpg');
    const { width, height } = await sharp(thumb).metadata();
    expect([width, height]).toEqual([40, 80]);
    expect(await coloursOf(thumb)).toBe('white red green blue');
    expect(await coloursOf(await bytes('_thumbs/a.jpg'))).toBe('blue white red green');
  });

  it.each([
    [{}, 'One of angle and flip must be given.'],
    [{ angle: '45' }, 'angle: must be 90, 180 or 270'],
    [{ angle: '90; rm -rf /' }, 'angle: must be 90, 180 or 270'],
    [{ angle: '1e2' }, 'angle: must be 90, 180 or 270'],
    [{ flip: 'both' }, 'flip: must be horizontal or vertical'],
  ])('refuses %j', async (fields, message) => {
    const { put, service } = await startImages();
    await put('a.png', await quarters().png().toBuffer());
    const answer = await service.call('imageRotate', { name: 'a.png', ...fields });
    expect(answer.status).toBe(400);
    expect(answer.messages.join()).toContain(message);
  });

  it('refuses what is cut off, SVG and other content, and leaves the file as it was', async () => {
    const { put, service, bytes } = await startImages();
    const jpeg = await fromRgba(gradient(300, 300)).removeAlpha().jpeg().toBuffer();
    const files = {
      'cut.jpg': jpeg.subarray(0, jpeg.length / 2),
      'a.svg': Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
      'text.png': Buffer.from('not a picture'),
    };
    for (const [name, content] of Object.entries(files)) {
      await put(name, content);
      const answer = await service.call('imageRotate', { name, angle: '90' });
      expect([name, answer.status]).toEqual([name, 400]);
      expect((await bytes(name)).equals(content)).toBe(true);
    }
  });

  it('obeys its access key, for the result too', async () => {
    const { put, service, bytes } = await startImages({
      accessControl: [{ IMAGE_ROTATE: false, path: '/b.png' }],
    });
    const file = await quarters().png().toBuffer();
    await put('a.png', file);
    const refused = await service.call('imageRotate', { name: 'a.png', newname: 'b.png', angle: '90' });
    expect(refused.status).toBe(403);
    const allowed = await service.call('imageRotate', { name: 'a.png', newname: 'c.png', angle: '90' });
    expect(allowed.status).toBe(200);
    expect((await bytes('a.png')).equals(file)).toBe(true);
  });
});
