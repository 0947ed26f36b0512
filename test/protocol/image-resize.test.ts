import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { bmpFile, gradient, icoFile, iconBitmap, packColours } from '../pictures/bitmaps.ts';
import { longGif } from '../pictures/long-gif.ts';
import { animatedPng, pagedAvif, pagedTiff, tiledAvif } from '../pictures/several-frames.ts';
import {
  animation,
  claimingPng,
  colourAt,
  isNear,
  QUARTERS,
  quarters,
  turned,
} from '../pictures/pictures.ts';
import { boxOf, startImages } from './images.ts';

const expectQuarters = async (image: Buffer, width: number, height: number): Promise<void> => {
  const corners = [
    [QUARTERS.red, width / 4, height / 4],
    [QUARTERS.green, (width * 3) / 4, height / 4],
    [QUARTERS.blue, (width * 3) / 4, (height * 3) / 4],
    [QUARTERS.white, width / 4, (height * 3) / 4],
  ] as const;
  for (const [colour, x, y] of corners) {
    const found = await colourAt(image, Math.floor(x), Math.floor(y));
    expect(isNear(found, colour), `${found.join()} is not ${colour.join()}`).toBe(true);
  }
};

describe('imageResize', () => {
  it.each(['jpeg', 'png', 'gif', 'webp', 'avif', 'tiff'] as const)(
    'scales %s to exactly the size, over the original, in its format',
    async (format) => {
      const { put, service, shown } = await startImages();
      const name = `sub/a.${format === 'tiff' ? 'tif' : format === 'jpeg' ? 'jpg' : format}`;
      await put(name, await quarters(80, 40).toFormat(format).toBuffer());
      const [path = '', file = ''] = name.split('/');
      const answer = await service.call('imageResize', {
        path: `/${path}/`,
        name: file,
        ...boxOf({ w: 33, h: 77 }),
      });
      expect(answer.status).toBe(200);
      expect(answer.data).toEqual({ code: 220, newPath: `https://files.example/files/${name}` });
      const made = await shown(name);
      expect([made.format, made.width, made.height]).toEqual([format === 'avif' ? 'heif' : format, 33, 77]);
      await expectQuarters(made.bytes, 33, 77);
      expect(await service.source('files').paths()).toEqual(['sub/', name]);
    },
  );

  it('leaves a picture of that size byte for byte, as a crop of all of it does, and stores it under another name', async () => {
    const { put, service, bytes } = await startImages();
    const original = await quarters(80, 40).jpeg({ quality: 70 }).toBuffer();
    await put('a.jpg', original);
    const whole = { ...boxOf({ x: 0, y: 0, w: 80, h: 40 }) };
    for (const action of ['imageResize', 'imageCrop'] as const) {
      expect((await service.call(action, { name: 'a.jpg', ...whole })).data).toEqual({
        code: 220,
        newPath: 'https://files.example/files/a.jpg',
      });
      expect((await bytes('a.jpg')).equals(original)).toBe(true);
    }
    await service.call('imageResize', { name: 'a.jpg', newname: 'b.jpg', ...boxOf({ w: 80, h: 40 }) });
    expect((await sharp(await bytes('b.jpg')).metadata()).width).toBe(80);
  });

  it('answers to GET, JSON and action in the query alike', async () => {
    const { put, service, shown } = await startImages();
    await put('a.png', await quarters().png().toBuffer());
    expect((await service.get('imageResize', { name: 'a.png', ...boxOf({ w: 10, h: 11 }) })).status).toBe(
      200,
    );
    expect((await shown('a.png')).height).toBe(11);
    for (const [url, body] of [
      [`${service.url}/imageResize`, { name: 'a.png', box: { w: 20, h: 21 } }],
      [`${service.url}/?action=imageResize`, { name: 'a.png', 'box[w]': 20, 'box[h]': '21' }],
    ] as const) {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(response.status).toBe(200);
      expect((await shown('a.png')).height).toBe(21);
      await put('a.png', await quarters().png().toBuffer());
    }
  });

  it('saves under another name, keeping original and format', async () => {
    const { put, service, shown, bytes } = await startImages();
    const original = await quarters().png().toBuffer();
    await put('a.png', original);
    for (const [newname, stored] of [
      ['b', 'b.png'],
      ['c.jpg', 'c.jpg.png'],
      ['d#?.png', 'd__.png'],
      ['../e', '.._e.png'],
      ['b', 'b-1.png'],
    ]) {
      const { status, data } = await service.call('imageResize', {
        name: 'a.png',
        newname: newname ?? '',
        ...boxOf({ w: 9, h: 9 }),
      });
      expect([status, data['newPath']]).toEqual(
        stored?.startsWith('.') ? [400, undefined] : [200, `https://files.example/files/${stored ?? ''}`],
      );
      if (status === 200) expect((await shown(stored ?? '')).format).toBe('png');
    }
    expect(await bytes('a.png')).toEqual(original);
  });

  it.each(['', '  ', 'a.png'])('works over the original when newname is «%s»', async (newname) => {
    const { put, service, shown } = await startImages();
    await put('a.png', await quarters().png().toBuffer());
    const { data } = await service.call('imageResize', { name: 'a.png', newname, ...boxOf({ w: 9, h: 9 }) });
    expect(data['newPath']).toBe('https://files.example/files/a.png');
    expect((await shown('a.png')).width).toBe(9);
    expect(await service.source('files').paths()).toEqual(['a.png']);
  });

  it('rejects a result larger than maxUploadFileSize, but not one that only stays as large as it was', async () => {
    const { put, service, bytes } = await startImages({ maxUploadFileSize: '2kb' });
    const shades = (side: number): Promise<Buffer> => {
      const raw = { width: side, height: side, channels: 4 } as const;
      return sharp(gradient(side, side).data, { raw }).png().toBuffer();
    };
    const [small, large] = [await shades(20), await shades(400)];
    expect([small.length < 2048, large.length > 2048]).toEqual([true, true]);
    await put('small.png', small);
    await put('large.png', large);
    for (const newname of ['', 'b']) {
      const box = boxOf({ w: 1000, h: 1000 });
      const answer = await service.call('imageResize', { name: 'small.png', newname, ...box });
      expect([answer.status, answer.data['error']]).toEqual([403, 'FILE_TOO_LARGE']);
    }
    expect((await bytes('small.png')).equals(small)).toBe(true);
    expect(await service.source('files').paths()).toEqual(['large.png', 'small.png']);
    const crop = { name: 'large.png', ...boxOf({ x: 0, y: 0, w: 390, h: 390 }) };
    expect((await service.call('imageCrop', crop)).status).toBe(200);
    expect((await bytes('large.png')).length).toBeGreaterThan(2048);
  });

  it('treats an existing newname as the strategy says', async () => {
    for (const [strategy, status, names] of [
      ['replace', 200, ['a.png', 'b.png']],
      ['error', 400, ['a.png', 'b.png']],
      ['addNumber', 200, ['a.png', 'b-1.png', 'b.png']],
    ] as const) {
      const { put, service, shown } = await startImages({ saveSameFileNameStrategy: strategy });
      await put('a.png', await quarters().png().toBuffer());
      await put('b.png', await quarters(50, 50).png().toBuffer());
      const answer = await service.call('imageResize', {
        name: 'a.png',
        newname: 'b',
        ...boxOf({ w: 9, h: 9 }),
      });
      expect(answer.status).toBe(status);
      expect(await service.source('files').paths()).toEqual(names);
      expect((await shown('b.png')).width).toBe(strategy === 'replace' ? 9 : 50);
      // «Save in new file» with the name of the original, as users type it.
      const own = await service.call('imageResize', {
        name: 'b.png',
        newname: 'b',
        ...boxOf({ w: 7, h: 7 }),
      });
      expect(own.status).toBe(status);
      expect((await shown('b.png')).width).toBe(strategy === 'replace' ? 7 : 50);
    }
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'applies EXIF orientation %i first and does not leave it behind',
    async (orientation) => {
      const { put, service, shown } = await startImages();
      await put(
        'a.jpg',
        await (await turned(quarters(80, 40), orientation)).jpeg({ quality: 95 }).toBuffer(),
      );
      await service.call('imageResize', { name: 'a.jpg', ...boxOf({ w: 60, h: 20 }) });
      const made = await shown('a.jpg');
      expect([made.width, made.height, made.metadata.orientation ?? 1]).toEqual([60, 20, 1]);
      await expectQuarters(made.bytes, 60, 20);
    },
  );

  it('keeps a wide colour profile and the values that belong to it', async () => {
    const { put, service, shown } = await startImages();
    const green = { create: { width: 20, height: 20, channels: 3 as const, background: '#00ff00' } };
    // Pure green of Display P3 lies outside of sRGB: a detour through sRGB would dull it.
    const tagged = await sharp(await sharp(green).png().toBuffer())
      .withIccProfile('p3', { attach: true })
      .png()
      .toBuffer();
    const { data } = await sharp(tagged, { ignoreIcc: true }).raw().toBuffer({ resolveWithObject: true });
    const wide = Buffer.from(data).fill(0);
    for (let at = 1; at < wide.length; at += 3) wide[at] = 255;
    const profile = (await sharp(tagged).metadata()).icc ?? Buffer.alloc(0);
    const pure = await rawWithProfile(wide, 20, profile);
    await put('a.png', pure);
    await service.call('imageResize', { name: 'a.png', ...boxOf({ w: 10, h: 10 }) });
    const made = await shown('a.png');
    expect(made.metadata.icc?.equals(profile)).toBe(true);
    const pixels = await sharp(made.bytes, { ignoreIcc: true }).raw().toBuffer();
    expect(isNear([...pixels.subarray(0, 3)], [0, 255, 0], 2)).toBe(true);
  });

  it.each([
    ['with its profile', true],
    ['without one', false],
  ])('leaves the print colours of CMYK as they are, %s', async (_, hasProfile) => {
    const { put, service, shown } = await startImages();
    const print = quarters().toColourspace('cmyk');
    const cmyk = await (hasProfile ? print.withIccProfile('cmyk') : print).jpeg({ quality: 95 }).toBuffer();
    const before = await sharp(cmyk).metadata();
    await put('a.jpg', cmyk);
    await service.call('imageResize', { name: 'a.jpg', ...boxOf({ w: 40, h: 20 }) });
    const { metadata, bytes } = await shown('a.jpg');
    expect([metadata.space, metadata.channels, metadata.hasProfile]).toEqual(['cmyk', 4, before.hasProfile]);
    expect(metadata.icc).toEqual(before.icc);
    for (const [x, y] of [
      [20, 10],
      [60, 10],
      [20, 30],
      [60, 30],
    ] as const) {
      expect(isNear(await colourAt(bytes, x / 2, y / 2), await colourAt(cmyk, x, y))).toBe(true);
    }
  });

  it.each([
    ['16 bits', 'ushort', (): Promise<Buffer> => quarters().toColourspace('rgb16').png().toBuffer()],
    ['16 bits of grey', 'ushort', (): Promise<Buffer> => quarters().toColourspace('grey16').png().toBuffer()],
    ['8 bits of grey', 'uchar', (): Promise<Buffer> => quarters().toColourspace('b-w').png().toBuffer()],
    ['a palette', 'uchar', (): Promise<Buffer> => quarters().png({ palette: true }).toBuffer()],
    ['alpha', 'uchar', (): Promise<Buffer> => quarters().ensureAlpha(0.5).png().toBuffer()],
  ])('keeps the depth and channels of a PNG with %s', async (_, depth, make) => {
    const { put, service, shown } = await startImages();
    const original = await make();
    const before = await sharp(original).metadata();
    await put('a.png', original);
    await service.call('imageResize', { name: 'a.png', ...boxOf({ w: 20, h: 10 }) });
    const { metadata, bytes } = await shown('a.png');
    expect([metadata.depth, metadata.channels, metadata.space]).toEqual([
      depth,
      before.channels,
      before.space,
    ]);
    const [was, is] = [await colourAt(original, 20, 10), await colourAt(bytes, 5, 2)];
    expect(isNear(is, was, 6)).toBe(true);
  });

  it('keeps WebP without loss without loss', async () => {
    const { put, service, shown } = await startImages();
    await put('a.webp', await quarters().webp({ lossless: true }).toBuffer());
    await service.call('imageResize', { name: 'a.webp', ...boxOf({ w: 80, h: 40 }) });
    const { data } = await sharp((await shown('a.webp')).bytes)
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect(data.equals(await quarters().raw().toBuffer())).toBe(true);
  });

  it.each(['gif', 'webp'] as const)('keeps an animated %s animated: frames, delays, loop', async (format) => {
    const { put, service, shown } = await startImages();
    await put(`a.${format}`, await animation(format, ['#e02020', '#20e020', '#2020e0']));
    await service.call('imageResize', { name: `a.${format}`, ...boxOf({ w: 31, h: 17 }) });
    const made = await shown(`a.${format}`);
    expect([made.width, made.height, made.frames]).toEqual([31, 17, 3]);
    expect([made.metadata.delay, made.metadata.loop]).toEqual([[100, 150, 200], 3]);
    for (const [page, colour] of [
      [224, 32, 32],
      [32, 224, 32],
      [32, 32, 224],
    ].entries()) {
      const frame = await sharp(made.bytes, { page }).png().toBuffer();
      expect(isNear(await colourAt(frame, 15, 8), colour)).toBe(true);
    }
  });

  it('writes BMP back as BMP, with its transparency', async () => {
    const { put, service, bytes } = await startImages();
    const picture = gradient(40, 40);
    const masks = [0xff0000, 0xff00, 0xff, 0xff000000];
    await put('a.bmp', bmpFile({ width: 40, height: 40, bits: 24, pixels: packColours(picture, 24) }));
    const pixels = packColours(picture, 32, { alpha: 128 });
    await put(
      'b.bmp',
      bmpFile({ width: 40, height: 40, bits: 32, compression: 3, headerSize: 108, masks, pixels }),
    );
    for (const [name, bits] of [
      ['a.bmp', 24],
      ['b.bmp', 32],
    ] as const) {
      expect((await service.call('imageResize', { name, ...boxOf({ w: 21, h: 11 }) })).status).toBe(200);
      const file = await bytes(name);
      expect(file.toString('latin1', 0, 2)).toBe('BM');
      expect([file.readInt32LE(18), file.readInt32LE(22), file.readUInt16LE(28)]).toEqual([21, 11, bits]);
      expect(file.length).toBe(file.readUInt32LE(2));
      // Rows come from the bottom: the first stored pixel is the lower left one, blue before green before
      // red.
      const [blue, green, red, alpha] = file.subarray(file.readUInt32LE(10));
      expect(isNear([red ?? 0, green ?? 0, blue ?? 0], [0, 250, 60], 16)).toBe(true);
      if (bits === 32) expect(alpha).toBe(128);
    }
  });

  it('writes ICO back as ICO with its largest picture, up to 256 pixels', async () => {
    const { put, service, bytes } = await startImages();
    const small = iconBitmap({ width: 16, height: 16, bits: 24, pixels: packColours(gradient(16, 16), 24) });
    const large = { width: 64, height: 64, data: await quarters(64, 64).png().toBuffer() };
    await put('a.ico', icoFile([small, large]));
    expect((await service.call('imageResize', { name: 'a.ico', ...boxOf({ w: 48, h: 32 }) })).status).toBe(
      200,
    );
    const file = await bytes('a.ico');
    expect([file.readUInt16LE(2), file.readUInt16LE(4), file[6], file[7]]).toEqual([1, 1, 48, 32]);
    const png = file.subarray(file.readUInt32LE(18));
    expect(png.length).toBe(file.readUInt32LE(14));
    expect((await sharp(png).metadata()).width).toBe(48);
    await expectQuarters(png, 48, 32);
    expect((await service.call('imageResize', { name: 'a.ico', ...boxOf({ w: 256, h: 256 }) })).status).toBe(
      200,
    );
    expect((await bytes('a.ico'))[6]).toBe(0);
    expect((await service.call('imageResize', { name: 'a.ico', ...boxOf({ w: 257, h: 10 }) })).status).toBe(
      400,
    );
  });

  it('gives the edited image a new thumbnail', async () => {
    const { put, service, shown } = await startImages();
    await put('a.png', await quarters(40, 40).png().toBuffer());
    await service.call('files');
    expect((await shown('_thumbs/a.png')).width).toBe(40);
    await service.call('imageResize', { name: 'a.png', ...boxOf({ w: 20, h: 10 }) });
    await service.call('files');
    expect((await shown('_thumbs/a.png')).width).toBe(20);
  });

  const badSizes = [
    '0',
    '-1',
    'NaN',
    'Infinity',
    '1e400',
    '1e9',
    '0x10',
    '',
    ' ',
    'ten',
    '1.5',
    '1_000',
    '١٠',
    '100000001',
  ];

  it.each<[Record<string, string>, RegExp]>([
    [{}, /^The box must hold w and h\./u],
    [{ 'box[w]': '10' }, /^The height /u],
    ...badSizes.map((w): [Record<string, string>, RegExp] => [
      { 'box[w]': w, 'box[h]': '1' },
      /^The (?:width|box) /u,
    ]),
    [{ 'box[w]': '20000', 'box[h]': '20000' }, /box|result|pixels/u],
    [{ 'box[w][]': '10', 'box[h]': '10' }, /one level only/u],
    [{ box: '10' }, /^The box /u],
  ])('refuses the sizes %j', async (fields, named) => {
    const { put, service, bytes } = await startImages();
    const original = await quarters().png().toBuffer();
    await put('a.png', original);
    const answer = await service.call('imageResize', { name: 'a.png', ...fields });
    expect(answer.status).toBe(400);
    expect(answer.messages.join()).toMatch(named);
    expect(await bytes('a.png')).toEqual(original);
  });

  it('names every missing parameter', async () => {
    const { service } = await startImages();
    const { status, messages } = await service.call('imageResize');
    expect(status).toBe(400);
    expect(messages.length).toBe(2);
    expect((await service.call('imageResize', { name: 'sub/a.png', ...boxOf({ w: 1, h: 1 }) })).status).toBe(
      400,
    );
  });

  it('writes large JPEGs row by row, with the usual tables of codes', async () => {
    const { put, service, bytes } = await startImages();
    const usual = Buffer.from('0002010303020403050504040000017d', 'hex');
    await put('a.jpg', await quarters().jpeg({ progressive: true }).toBuffer());
    await service.call('imageResize', { name: 'a.jpg', newname: 'small', ...boxOf({ w: 100, h: 100 }) });
    await service.call('imageResize', { name: 'a.jpg', newname: 'large', ...boxOf({ w: 6000, h: 4100 }) });
    const [small, large] = [await bytes('small.jpg'), await bytes('large.jpg')];
    expect([small.includes(usual), large.includes(usual)]).toEqual([false, true]);
    expect([
      (await sharp(small).metadata()).isProgressive,
      (await sharp(large).metadata()).isProgressive,
    ]).toEqual([true, false]);
  });

  it('rejects AVIF results that would take gigabytes to encode, and sides that the format cannot store', async () => {
    const { put, service } = await startImages();
    await put('a.avif', await quarters().avif({ effort: 0 }).toBuffer());
    await put('a.webp', await quarters().webp().toBuffer());
    await put('a.jpg', await quarters().jpeg().toBuffer());
    for (const [name, w, h] of [
      ['a.avif', 8000, 6000],
      ['a.webp', 16_384, 2],
      ['a.jpg', 2, 65_501],
    ] as const) {
      const { status, messages } = await service.call('imageResize', { name, ...boxOf({ w, h }) });
      expect([status, messages]).toEqual([400, ['The result would have too many pixels.']]);
    }
  });

  it('takes an AVIF picture of tiles for one picture, in uploads, listings, thumbnails and edits', async () => {
    const { service, bytes } = await startImages({
      extensions: ['avif'],
      imageExtensions: ['avif'],
      uploadImages: { metadata: 'strip' },
    });
    const answer = await service.upload([['files[0]', 'a.avif', new Uint8Array(tiledAvif)]]);
    expect(answer.data['items']).toEqual([expect.objectContaining({ width: 512, height: 256 })]);
    await service.call('files');
    await expectQuarters(await bytes('_thumbs/a.avif.jpg'), 250, 125);
    expect((await service.call('imageResize', { name: 'a.avif', ...boxOf({ w: 80, h: 40 }) })).status).toBe(
      200,
    );
    await expectQuarters(await bytes('a.avif'), 80, 40);
  });

  it('refuses pictures of several frames that would come back as one, and leaves them alone', async () => {
    const { put, service, bytes } = await startImages();
    const files = { 'a.png': await animatedPng(2), 'b.tif': await pagedTiff(), 'c.avif': pagedAvif };
    for (const [name, content] of Object.entries(files)) {
      await put(name, content);
      const answer = await service.call('imageResize', { name, ...boxOf({ w: 10, h: 10 }) });
      expect([name, answer.status, answer.messages.join()]).toEqual([
        name,
        400,
        expect.stringMatching(/several pages|Animated/u),
      ]);
      expect(await bytes(name)).toEqual(content);
    }
    await put('d.png', await animatedPng(1));
    expect((await service.call('imageResize', { name: 'd.png', ...boxOf({ w: 10, h: 10 }) })).status).toBe(
      200,
    );
  });

  it('rejects a file that is not an image it can edit, and does not change it', async () => {
    const { put, service, bytes } = await startImages();
    const jpeg = await quarters(400, 300).jpeg().toBuffer();
    const files: Record<string, Buffer> = {
      'a.svg': Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>'),
      'b.png': Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>'),
      'c.jpg': jpeg.subarray(0, jpeg.length / 2),
      'd.txt': Buffer.from('text'),
      'e.gif': Buffer.alloc(0),
      'f.png': await claimingPng(50_000, 50_000),
      'g.gif': longGif(10_000, 1000, 1000),
      'h.bmp': bmpFile({ width: 30_000, height: 30_000, bits: 24, pixels: Buffer.alloc(100) }),
    };
    for (const [name, content] of Object.entries(files)) {
      await put(name, content);
      const answer = await service.call('imageResize', { name, ...boxOf({ w: 10, h: 10 }) });
      expect([name, answer.status]).toEqual([name, 400]);
      expect(await bytes(name)).toEqual(content);
    }
    expect((await service.call('imageResize', { name: 'none.png', ...boxOf({ w: 1, h: 1 }) })).status).toBe(
      404,
    );
    await put('folder.png/x.txt', Buffer.from('x'));
    expect((await service.call('imageResize', { name: 'folder.png', ...boxOf({ w: 1, h: 1 }) })).status).toBe(
      400,
    );
  });

  it('refuses newnames that are reserved, and what rules deny', async () => {
    const accessControl = [
      { path: '/locked', IMAGE_RESIZE: false },
      { extensions: 'gif', IMAGE_RESIZE: false },
    ];
    const { put, service } = await startImages({ accessControl });
    await put('a.png', await quarters().png().toBuffer());
    await put('locked/a.png', await quarters().png().toBuffer());
    await put('a.gif', await quarters().gif().toBuffer());
    const box = boxOf({ w: 5, h: 5 });
    expect((await service.call('imageResize', { name: 'a.png', newname: '.htaccess', ...box })).status).toBe(
      403,
    );
    expect((await service.call('imageResize', { path: '_thumbs', name: 'a.png', ...box })).status).toBe(404);
    expect((await service.call('imageResize', { path: 'locked', name: 'a.png', ...box })).status).toBe(403);
    expect((await service.call('imageResize', { name: 'a.gif', ...box })).status).toBe(403);
    expect(await service.source('files').paths()).toEqual(['a.gif', 'a.png', 'locked/', 'locked/a.png']);
  });
});

/** A PNG of these RGB values as they are, with a profile. */
const rawWithProfile = async (rgb: Buffer, side: number, profile: Buffer): Promise<Buffer> => {
  const { deflateSync } = await import('node:zlib');
  const { crc32 } = await import('../pictures/crc32.ts');
  const plain = await sharp(rgb, { raw: { width: side, height: side, channels: 3 } })
    .png()
    .toBuffer();
  const body = Buffer.concat([Buffer.from('iCCPprofile\0\0', 'latin1'), deflateSync(profile)]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(body.length - 4, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  // Behind the header chunk, which ends at byte 33.
  return Buffer.concat([plain.subarray(0, 33), chunk, plain.subarray(33)]);
};
