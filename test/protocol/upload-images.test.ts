import sharp, { type Metadata } from 'sharp';
import { registerStorageAdapter } from 'stowage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MemoryAdapter } from '#internals';
import { bmpFile, gradient, packColours } from '../pictures/bitmaps.ts';
import { counting } from '../pictures/counting.ts';
import { bytesAt } from '../pictures/gallery.ts';
import { located } from '../pictures/located.ts';
import { animation, colourAt, fromRgba, isNear, QUARTERS, quarters, turned } from '../pictures/pictures.ts';
import { startSite } from '../network/loopback.ts';
import { startImages, type ImageService } from './images.ts';
import { type Answer, type Fields, formOf, type ServiceOptions, startService } from './service.ts';

type Wanted = Readonly<Record<string, unknown>>;

const EXTENSIONS = 'jpg jpeg png gif webp avif bmp ico tif tiff svg txt heic'.split(' ');

const start = (uploadImages: Wanted, options: ServiceOptions = {}): Promise<ImageService> =>
  startImages({ extensions: EXTENSIONS, uploadImages, ...options });

/** Uploads a file and gives the name that it has got. */
const upload = async ({ service }: ImageService, name: string, bytes: Uint8Array): Promise<string> => {
  const { status, data, messages } = await service.upload([['files[0]', name, new Uint8Array(bytes)]]);
  expect([name, status, messages]).toEqual([name, 200, messages]);
  return (data['files'] as string[])[0] ?? '';
};

const refusal = async (
  { service }: ImageService,
  name: string,
  bytes: Uint8Array,
): Promise<[number, string]> => {
  const answer = await service.upload([['files[0]', name, new Uint8Array(bytes)]]);
  return [answer.status, answer.messages.join()];
};

describe('uploadImages', () => {
  it('stores byte for byte what needs no change, whatever its kind', async () => {
    const started = await start({ maxWidth: 80, maxHeight: 80, metadata: 'strip' });
    const files: Record<string, Buffer> = {
      'a.jpg': await quarters().jpeg().toBuffer(),
      'a.png': await quarters().png().toBuffer(),
      'a.webp': await animation('webp', ['#f00', '#0f0']),
      'a.gif': await animation('gif', ['#f00', '#0f0']),
      'a.avif': await quarters().avif().toBuffer(),
      'a.txt': Buffer.from('GPS'),
      'a.svg': Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    };
    for (const [name, bytes] of Object.entries(files)) {
      expect(await upload(started, name, bytes)).toBe(name);
      if (name !== 'a.svg') expect([name, (await started.bytes(name)).equals(bytes)]).toEqual([name, true]);
    }
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('stores pictures of EXIF orientation %i upright', async (orientation) => {
    const started = await start({});
    for (const format of ['jpeg', 'webp', 'avif', 'png'] as const) {
      const picture = await turned(quarters(80, 40), orientation);
      const file = await sharp(await picture.png().toBuffer())
        .keepMetadata()
        .toFormat(format)
        .toBuffer();
      const name = await upload(started, `a.${format}`, file);
      const made = await started.shown(name);
      expect([format, made.width, made.height, made.metadata.orientation ?? 1]).toEqual([format, 80, 40, 1]);
      expect(isNear(await colourAt(made.bytes, 60, 10), QUARTERS.green, 32)).toBe(true);
      expect(isNear(await colourAt(made.bytes, 20, 30), QUARTERS.white, 32)).toBe(true);
    }
  });

  it('leaves them lying with `autoOrient` false, unless their metadata goes', async () => {
    const file = await (await turned(quarters(80, 40), 6)).jpeg().toBuffer();
    const lying = await start({ autoOrient: false });
    expect((await lying.bytes(await upload(lying, 'a.jpg', file))).equals(file)).toBe(true);
    const bare = await start({ autoOrient: false, metadata: 'strip' });
    const made = await bare.shown(await upload(bare, 'a.jpg', file));
    expect([made.width, made.height, made.metadata.exif]).toEqual([80, 40, undefined]);
  });

  it('scales what is larger, as it is seen, and says its size', async () => {
    const started = await start({ maxWidth: 40, maxHeight: 30 });
    const { service, shown } = started;
    for (const [name, picture, size] of [
      ['a.jpg', await turned(quarters(80, 40), 8), [40, 20]],
      ['b.png', quarters(30, 90), [10, 30]],
      ['c.webp', quarters(40, 30), [40, 30]],
      ['d.tif', quarters(400, 1), [40, 1]],
    ] as const) {
      const format = { jpg: 'jpeg', png: 'png', webp: 'webp', tif: 'tiff' } as const;
      const bytes = await picture.toFormat(format[name.slice(2) as keyof typeof format]).toBuffer();
      const { data } = await service.upload([['files[0]', name, new Uint8Array(bytes)]]);
      const [item] = data['items'] as { width: number; height: number; bytes: number }[];
      const made = await shown(name);
      expect([name, made.width, made.height]).toEqual([name, ...size]);
      expect([item?.width, item?.height, item?.bytes]).toEqual([...size, made.bytes.length]);
    }
  });

  it('keeps colour profiles, depths, print colours and movement when it scales', async () => {
    const started = await start({ maxWidth: 20, metadata: 'strip' });
    const p3 = await quarters().withIccProfile('p3').jpeg().toBuffer();
    const deep = await sharp(
      Uint16Array.from({ length: 40 * 40 * 3 }, (_, index) => index * 13),
      {
        raw: { width: 40, height: 40, channels: 3 },
      },
    )
      .toColourspace('rgb16')
      .png()
      .toBuffer();
    const print = await quarters().toColourspace('cmyk').withIccProfile('cmyk').jpeg().toBuffer();
    const of = async (name: string, bytes: Buffer): Promise<Metadata> =>
      (await started.shown(await upload(started, name, bytes))).metadata;
    const [first, second, third] = [
      await of('p3.jpg', p3),
      await of('deep.png', deep),
      await of('print.jpg', print),
    ];
    expect([first.width, first.icc]).toEqual([20, (await sharp(p3).metadata()).icc]);
    expect([second.width, second.depth]).toEqual([20, 'ushort']);
    expect([third.width, third.space, third.hasProfile]).toEqual([20, 'cmyk', true]);
    for (const format of ['gif', 'webp'] as const) {
      const moving = await of(`a.${format}`, await animation(format, ['#f00', '#0f0', '#00f']));
      expect([moving.width, moving.pages, moving.delay, moving.loop]).toEqual([20, 3, [100, 150, 200], 3]);
    }
  });

  it.each([
    ['webp', 'webp'],
    ['avif', 'heif'],
    ['jpeg', 'jpeg'],
  ] as const)('stores pictures as %s, with the name and colours of it', async (format, sniffed) => {
    const extension = format === 'jpeg' ? 'jpg' : format;
    const started = await start({ format, quality: 80 });
    const print = await quarters().toColourspace('cmyk').withIccProfile('cmyk').jpeg().toBuffer();
    const rgba = { width: 80, height: 40, data: await quarters().ensureAlpha().raw().toBuffer() };
    for (const [name, bytes] of [
      ['a.png', await quarters().png().toBuffer()],
      ['b.tiff', await quarters().tiff().toBuffer()],
      ['c.v2.bmp', bmpFile({ width: 80, height: 40, bits: 24, pixels: packColours(rgba, 24) })],
      ['grey.png', await quarters().greyscale().png().toBuffer()],
    ] as const) {
      const stored = await upload(started, name, bytes);
      expect(stored).toBe(name.replace(/\w+$/u, extension));
      const made = await started.shown(stored);
      expect([made.format, made.width]).toEqual([sniffed, 80]);
      if (name === 'grey.png') continue;
      expect(isNear(await colourAt(made.bytes, 60, 10), QUARTERS.green, 40)).toBe(true);
    }
    const made = await started.shown(await upload(started, 'print.jpg', print));
    expect(isNear(await colourAt(made.bytes, 60, 10), QUARTERS.green, 80)).toBe(true);
  });

  it('keeps formats that hold what the wanted one cannot: movement, transparency, icons', async () => {
    const clear = fromRgba({ ...gradient(20, 20), data: Buffer.alloc(1600, 60) });
    const jpeg = await start({ format: 'jpeg' });
    expect(await upload(jpeg, 'a.png', await clear.png().toBuffer())).toBe('a.png');
    expect(await upload(jpeg, 'a.gif', await animation('gif', ['#f00', '#0f0']))).toBe('a.gif');
    const webp = await start({ format: 'webp' });
    const moving = await webp.shown(await upload(webp, 'a.gif', await animation('gif', ['#f00', '#0f0'])));
    expect([moving.format, moving.frames, moving.metadata.loop]).toEqual(['webp', 2, 3]);
  });

  it('keeps formats where the wanted one has no such long sides, as of panoramas and long screenshots', async () => {
    const long = quarters(40, 16_400);
    const webp = await start({ format: 'webp' });
    expect(await upload(webp, 'a.png', await long.png().toBuffer())).toBe('a.png');
    const scaled = await start({ format: 'webp', maxHeight: 8200 });
    expect(await upload(scaled, 'a.png', await long.png().toBuffer())).toBe('a.webp');
    const avif = await start({ format: 'avif', metadata: 'strip' });
    expect(await upload(avif, 'a.jpg', await long.jpeg().toBuffer())).toBe('a.jpg');
  });

  it('takes animations without an end marker, or with zeros between their blocks, whole', async () => {
    const started = await start({ metadata: 'strip' });
    const gif = await animation('gif', ['#f00', '#0f0', '#00f']);
    const open = gif.subarray(0, -1);
    for (const [name, bytes] of [
      ['open.gif', open],
      ['zeros.gif', Buffer.concat([open, Buffer.alloc(3), gif.subarray(-1)])],
    ] as const) {
      const stored = await started.shown(await upload(started, name, bytes));
      expect([name, stored.frames]).toEqual([name, 3]);
    }
    expect((await refusal(started, 'cut.gif', gif.subarray(0, -2)))[0]).toBe(400);
  });

  it('names a picture by its content, and refuses a name that the source does not allow', async () => {
    const png = await quarters().png().toBuffer();
    const started = await start({});
    expect(await upload(started, 'a.jpg', png)).toBe('a.png');
    const strict = await start({ format: 'avif' }, { extensions: ['png', 'jpg'] });
    expect((await refusal(strict, 'a.png', png))[0]).toBe(403);
    const wide = await start({ format: 'webp' }, { extensions: ['webp'] });
    expect(await upload(wide, 'a.png', png)).toBe('a.webp');
    const ruled = await start(
      { format: 'webp' },
      { accessControl: [{ extensions: ['webp'], FILE_UPLOAD: false }] },
    );
    expect((await refusal(ruled, 'a.png', png))[0]).toBe(403);
    for (const { service } of [strict, ruled]) expect(await service.source('files').paths()).toEqual([]);
  });

  it('refuses what does not decode, and leaves nothing', async () => {
    const started = await start({ keepOriginal: '_originals' });
    const jpeg = await fromRgba(gradient(300, 300)).removeAlpha().jpeg().toBuffer();
    const gif = await animation('gif', ['#f00', '#0f0']);
    for (const [name, bytes] of [
      ['a.jpg', jpeg.subarray(0, jpeg.length / 2)],
      ['a.gif', gif.subarray(0, gif.length / 2)],
      ['a.png', Buffer.from('no picture')],
      ['b.png', Buffer.alloc(0)],
    ] as const) {
      const [got, message] = await refusal(started, name, bytes);
      expect([name, got]).toEqual([name, 400]);
      expect(message).not.toBe('');
    }
    const good = new Uint8Array(jpeg);
    const mixed = await started.service.upload([
      ['files[0]', 'good.jpg', good],
      ['files[1]', 'bad.jpg', new Uint8Array(jpeg.subarray(0, 500))],
    ]);
    expect(mixed.status).toBe(400);
    expect(await started.service.source('files').paths()).toEqual([]);
  });

  it('takes a file for the picture that the host calls it', async () => {
    const service = await startService(
      { extensions: EXTENSIONS, uploadImages: { maxWidth: 40 } },
      { beforeEvent: ({ path }) => path.replace('.txt', '.jpg') },
    );
    expect((await service.upload([['files[0]', 'a.txt', 'no picture']])).status).toBe(400);
    const picture = new Uint8Array(await quarters(80, 40).jpeg().toBuffer());
    expect((await service.upload([['files[0]', 'b.txt', picture]])).status).toBe(200);
    expect((await service.source('files').paths()).filter((path) => !path.startsWith('_thumbs/'))).toEqual([
      'b.jpg',
    ]);
    expect(await sharp(await service.source('files').bytes('b.jpg')).metadata()).toMatchObject({ width: 40 });
  });

  it('keeps originals in a folder that requests cannot reach', async () => {
    const started = await start({ maxWidth: 40, format: 'webp', keepOriginal: '_originals' });
    const { service } = started;
    const files = service.source('files');
    const png = await quarters().png().toBuffer();
    const small = await quarters(20, 10).webp().toBuffer();
    expect(await upload(started, 'a.png', png)).toBe('a.webp');
    expect(await upload(started, 'a.png', png)).toBe('a-1.webp');
    expect(await upload(started, 'small.webp', small)).toBe('small.webp');
    expect((await files.paths()).filter((path) => !path.startsWith('_thumbs/'))).toEqual([
      '_originals/',
      '_originals/a-1.png',
      '_originals/a.png',
      'a-1.webp',
      'a.webp',
      'small.webp',
    ]);
    expect((await files.bytes('_originals/a.png')).equals(png)).toBe(true);
    const listed = await service.call('files', { 'mods[withFolders]': 'true' });
    expect(JSON.stringify(listed.data)).not.toContain('_originals');
    for (const [action, fields] of [
      ['files', { path: '_originals' }],
      ['fileDownload', { path: '_originals', name: 'a.png' }],
      ['fileRemove', { path: '_Originals', name: 'a.png' }],
      ['imageRotate', { path: '_originals', name: 'a.png', angle: '90' }],
    ] as const) {
      expect([action, (await service.call(action, fields)).status]).toEqual([action, 404]);
    }
    expect((await service.call('folderCreate', { name: '_originals' })).status).toBe(400);
  });

  it('keeps originals with the extension of what was sent, whatever the host calls the picture', async () => {
    const service = await startService(
      { extensions: EXTENSIONS, uploadImages: { format: 'webp', keepOriginal: '_originals' } },
      { beforeEvent: ({ path }) => path.replace('a.', 'b.') },
    );
    const files = service.source('files');
    const png = await quarters().png().toBuffer();
    expect((await service.upload([['files[0]', 'a.png', new Uint8Array(png)]])).status).toBe(200);
    expect((await files.paths()).filter((path) => !path.startsWith('_thumbs/'))).toEqual([
      '_originals/',
      '_originals/b.png',
      'b.webp',
    ]);
    expect((await files.bytes('_originals/b.png')).equals(png)).toBe(true);
  });

  it('changes what an image editor saves; the name of an existing picture stays', async () => {
    const started = await start({ maxWidth: 40, format: 'webp', keepOriginal: '.orig' });
    const { service, put, shown } = started;
    const png = new Uint8Array(await quarters().png().toBuffer());
    await put('old.png', png);
    const save = async (fields: Fields): Promise<unknown> => {
      const body = formOf([['files[0]', 'blob.png', png]], fields);
      const response = await fetch(`${service.url}/imageSave`, { method: 'POST', body });
      return ((await response.json()) as Answer).data['name'];
    };
    expect(await save({ name: 'old.png' })).toBe('old.png');
    expect(await shown('old.png')).toMatchObject({ format: 'png', width: 40 });
    expect(await save({ newname: 'new' })).toBe('new.webp');
    expect(await shown('new.webp')).toMatchObject({ format: 'webp', width: 40 });
    expect((await service.source('files').paths()).filter((path) => path.startsWith('.orig/'))).toEqual([
      '.orig/',
      '.orig/new.png',
      '.orig/old.png',
    ]);
  });

  it('makes the thumbnail of as many pixels as the source wants, and reads nothing for it or a listing', async () => {
    const { storage, calls } = counting(new MemoryAdapter());
    registerStorageAdapter('counted', { create: () => storage });
    const source = { title: 'Files', storageAdapter: 'counted', baseurl: 'https://files.example/' };
    const uploadImages = { maxWidth: 60, format: 'webp' } as const;
    const started = await start(uploadImages, {
      thumbSize: 20,
      thumbDensity: 2,
      saveSameFileNameStrategy: 'replace',
      sources: { files: source },
    });
    const sides = async (): Promise<unknown> =>
      (await sharp(await bytesAt(storage, '_thumbs/a.webp')).metadata()).height;
    await upload(started, 'a.png', await quarters(80, 40).png().toBuffer());
    await upload(started, 'b.png', await quarters(20, 20).png().toBuffer());
    expect(calls.filter((call) => call.startsWith('read '))).toEqual([]);
    calls.length = 0;
    const { data } = await started.service.call('files');
    const [{ files }] = data['sources'] as [{ files: { name: string; thumb: string }[] }];
    expect(files.map(({ thumb }) => thumb).sort()).toEqual(['_thumbs/a.webp', '_thumbs/b.webp']);
    expect(calls.filter((call) => /^(?:read|write) /u.test(call))).toEqual([]);
    expect(await sides()).toBe(20);
    await upload(started, 'a.png', await quarters(80, 80).png().toBuffer());
    expect(await sides()).toBe(40);
  });

  it('changes pictures of other servers, in a store without files of its own', async () => {
    const jpeg = await located(quarters()).jpeg().toBuffer();
    const site = await startSite(
      (request, response) => void response.end(request.url === '/broken.jpg' ? 'no picture' : jpeg),
    );
    onTestFinished(() => site.close());
    const { service } = await startImages({
      allowPrivateNetworkUploads: true,
      uploadImages: { maxWidth: 40, format: 'webp', keepOriginal: '.orig' },
      sources: { files: { storageAdapter: 'memory' } },
      accessControl: [{ extensions: ['avif'], FILE_UPLOAD_REMOTE: false }],
    });
    const { data } = await service.call('fileUploadRemote', { url: `${site.origin}/photo.jpg` });
    expect(data).toMatchObject({ newfilename: 'photo.webp', items: [{ width: 40, height: 20 }] });
    const refused = await service.call('fileUploadRemote', { url: `${site.origin}/broken.jpg` });
    expect(refused.status).toBe(400);
    const made = await service.get('fileDownload', { name: 'photo.webp' });
    expect((await sharp(Buffer.from(await made.arrayBuffer())).metadata()).width).toBe(40);
    const listed = await service.call('files');
    const [source] = listed.data['sources'] as { files: { file: string }[] }[];
    expect(source?.files.map(({ file }) => file)).toEqual(['photo.webp']);
  });

  it('changes pictures that come from another source, in the format that they have', async () => {
    const uploadImages = { maxWidth: 40, metadata: 'strip', format: 'webp' };
    const { service } = await startImages({ sources: { files: { uploadImages }, other: {} } });
    const [files, other] = [service.source('files'), service.source('other')];
    const jpeg = await located(quarters()).jpeg().toBuffer();
    await other.put({
      'a.jpg': jpeg,
      'dir/b.jpg': jpeg,
      'dir/note.txt': 'hello',
      'c.jpg': 'broken',
      'd.jpg': jpeg,
    });
    const across = { source: 'files', fromSource: 'other' };
    for (const [action, from] of [
      ['fileCopy', 'a.jpg'],
      ['folderCopy', 'dir'],
      ['fileMove', 'd.jpg'],
    ] as const) {
      expect([from, (await service.call(action, { ...across, from })).status]).toEqual([from, 200]);
    }
    for (const path of ['a.jpg', 'dir/b.jpg', 'd.jpg']) {
      const { width, format, exif, xmp } = await sharp(await files.bytes(path)).metadata();
      expect([path, width, format, exif, xmp]).toEqual([path, 40, 'jpeg', undefined, undefined]);
    }
    expect(await files.text('dir/note.txt')).toBe('hello');
    expect((await service.call('fileMove', { ...across, from: 'c.jpg' })).status).toBe(400);
    expect(await other.paths()).toEqual(['a.jpg', 'c.jpg', 'dir/', 'dir/b.jpg', 'dir/note.txt']);
  });
});
