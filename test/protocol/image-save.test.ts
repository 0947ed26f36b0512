import { describe, expect, it } from 'vitest';
import { bmpFile, gradient, icoFile, iconBitmap, packColours } from '../pictures/bitmaps.ts';
import { longGif } from '../pictures/long-gif.ts';
import { animation, claimingPng, quarters, turned } from '../pictures/pictures.ts';
import { boxOf, startImages, type ImageService } from './images.ts';
import { formOf, type Answer, type FormFile } from './service.ts';

const save = async (
  { service }: ImageService,
  files: readonly FormFile[],
  fields: Readonly<Record<string, string>> = {},
): Promise<Answer> => {
  const response = await fetch(`${service.url}/imageSave`, { method: 'POST', body: formOf(files, fields) });
  const body = (await response.json()) as Answer;
  const messages = (body.data['messages'] ?? []) as string[];
  return { ...body, status: response.status, headers: response.headers, messages };
};

const file = (content: Buffer | string, name = 'blob', field = 'files[0]'): FormFile => [
  field,
  name,
  typeof content === 'string' ? content : new Uint8Array(content),
];

describe('imageSave', () => {
  it('stores the bytes as they came over the image of that name', async () => {
    const images = await startImages();
    await images.put('sub/a.png', await quarters(9, 9).png().toBuffer());
    const edited = await quarters(50, 40).png().toBuffer();
    const { status, data } = await save(images, [file(edited)], { path: 'sub/', name: 'a.png' });
    expect(status).toBe(200);
    expect(data).toEqual({ code: 220, newPath: 'https://files.example/files/sub/a.png', name: 'a.png' });
    expect(await images.bytes('sub/a.png')).toEqual(edited);
    expect(await images.service.source('files').paths()).toEqual(['sub/', 'sub/a.png']);
  });

  it('keeps even what a decoder would drop: EXIF, profiles, animations', async () => {
    const images = await startImages();
    const contents = {
      'a.jpg': await (await turned(quarters(), 6)).jpeg().toBuffer(),
      'b.gif': await animation('gif', ['#aa0000', '#00aa00']),
      'c.avif': await quarters().avif().toBuffer(),
      'd.bmp': bmpFile({ width: 9, height: 9, bits: 24, pixels: packColours(gradient(9, 9), 24) }),
      'e.ico': icoFile([
        iconBitmap({ width: 9, height: 9, bits: 24, pixels: packColours(gradient(9, 9), 24) }),
      ]),
      'f.webp': await quarters().webp().toBuffer(),
    };
    for (const [name, content] of Object.entries(contents)) {
      expect((await save(images, [file(content)], { name })).status).toBe(200);
      expect(await images.bytes(name)).toEqual(content);
    }
  });

  it.each([
    [{ name: 'a.png', newname: 'b.png' }, 'b.png'],
    [{ name: 'a.png', newname: 'b' }, 'b.png'],
    [{ name: 'a.png', newname: 'b.webp' }, 'b.webp'],
    [{ name: 'a.png', newname: 'a.png' }, 'a.png'],
    [{ name: 'a.png', newname: 'a' }, 'a-1.png'],
    [{ name: 'a.png', newname: ' ' }, 'a.png'],
    [{ newname: 'b' }, 'b.jpg'],
    [{ newname: 'x/y#z' }, 'x_y_z.jpg'],
    [{ name: 'new.png' }, 'new.png'],
    [{}, 'upload.jpg'],
  ])('chooses for %j the name %s', async (fields, expected) => {
    const images = await startImages();
    await images.put('a.png', await quarters().png().toBuffer());
    const jpeg = await quarters(30, 30).jpeg().toBuffer();
    const { status, data } = await save(images, [file(jpeg, 'upload')], fields);
    expect([status, data['name']]).toEqual([200, expected]);
    expect(data['newPath']).toBe(`https://files.example/files/${expected}`);
    expect(await images.bytes(expected)).toEqual(jpeg);
    expect(await images.service.source('files').paths()).toEqual([...new Set(['a.png', expected])].sort());
  });

  it('treats an existing newname as the strategy says, and tells the name that was taken', async () => {
    for (const [strategy, status, name] of [
      ['replace', 200, 'b.png'],
      ['error', 400, undefined],
      ['addNumber', 200, 'b-1.png'],
    ] as const) {
      const images = await startImages({ saveSameFileNameStrategy: strategy });
      const old = await quarters(20, 20).png().toBuffer();
      await images.put('a.png', old);
      await images.put('b.png', old);
      const answer = await save(images, [file(await quarters(9, 9).png().toBuffer())], {
        name: 'a.png',
        newname: 'b.png',
      });
      expect([answer.status, answer.data['name']]).toEqual([status, name]);
      expect((await images.bytes('b.png')).equals(old)).toBe(strategy !== 'replace');
      expect(await images.bytes('a.png')).toEqual(old);
    }
  });

  it('takes the form field of the settings, and the first file only', async () => {
    const images = await startImages({ defaultFilesKey: 'picture' });
    const [first, second] = [await quarters(5, 5).png().toBuffer(), await quarters(6, 6).png().toBuffer()];
    await save(
      images,
      [file(second, 'x', 'other'), file(first, 'x', 'picture'), file(second, 'x', 'files[1]')],
      { name: 'a.png' },
    );
    expect(await images.bytes('a.png')).toEqual(first);
  });

  it('gives the saved image a new thumbnail', async () => {
    const images = await startImages();
    await images.put('a.png', await quarters(40, 40).png().toBuffer());
    await images.service.call('files');
    expect((await images.shown('_thumbs/a.png')).width).toBe(40);
    await save(images, [file(await quarters(20, 10).png().toBuffer())], { name: 'a.png' });
    await images.service.call('files');
    expect((await images.shown('_thumbs/a.png')).width).toBe(20);
  });

  it('refuses bytes that do not decode to their end, and leaves the old image alone', async () => {
    const images = await startImages();
    const old = await quarters(20, 20).png().toBuffer();
    await images.put('a.png', old);
    const jpeg = await quarters(600, 400).jpeg().toBuffer();
    const png = await quarters(300, 300).png().toBuffer();
    const gif = await animation('gif', ['#aa0000', '#00aa00', '#0000aa']);
    const broken = [
      Buffer.from('<?php system($_GET["c"]);'),
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
      Buffer.alloc(0),
      jpeg.subarray(0, jpeg.length - 300),
      png.subarray(0, png.length - 60),
      gif.subarray(0, gif.length - 40),
      await claimingPng(50_000, 50_000),
      longGif(10_000, 1000, 1000),
    ];
    for (const content of broken) {
      expect((await save(images, [file(content)], { name: 'a.png' })).status).toBe(400);
      expect(await images.bytes('a.png')).toEqual(old);
    }
    expect((await save(images, [file(png)], { name: 'a.svg' })).status).toBe(400);
    // Nobody has said that this would be SVG.
    const { messages } = await save(images, [file(Buffer.from('no picture'))], { newname: 'b' });
    expect(messages).toEqual(['The file is not an image that can be processed.']);
    expect(await images.service.source('files').paths()).toEqual(['a.png']);
  });

  it.each([
    [{ name: 'x.php' }, 403],
    [{ newname: 'evil.html', name: 'a.png' }, 403],
    [{ newname: 'evil.js' }, 403],
    [{ newname: 'evil.php', name: 'a.png' }, 403],
    [{ newname: 'notes.txt' }, 403],
    [{ name: 'notes.txt' }, 403],
    [{ newname: '.htaccess', name: 'a.png' }, 403],
    [{ name: '../a.png' }, 400],
    [{ path: '../..', name: 'a.png' }, 400],
    [{ path: 'none', name: 'a.png' }, 404],
    [{ path: '_thumbs', name: 'a.png' }, 404],
    [{ name: 'folder.png' }, 400],
    [{ path: 'locked', name: 'a.png' }, 403],
    [{ source: 'none', name: 'a.png' }, 404],
  ])('refuses %j with %i', async (fields, status) => {
    const images = await startImages({ accessControl: [{ path: '/locked', IMAGE_SAVE: false }] });
    const png = await quarters().png().toBuffer();
    await images.put('notes.txt', Buffer.from('text'));
    await images.put('folder.png/a.txt', Buffer.from('x'));
    await images.put('locked/a.png', Buffer.from('x'));
    const before = await images.service.outside.paths();
    expect((await save(images, [file(png)], fields)).status).toBe(status);
    expect(await images.service.outside.paths()).toEqual(before);
    expect(await images.bytes('notes.txt')).toEqual(Buffer.from('text'));
  });

  it('refuses what is larger than maxUploadFileSize with 403', async () => {
    const images = await startImages({ maxUploadFileSize: '1kb' });
    const large = await quarters(600, 600).jpeg({ quality: 100 }).toBuffer();
    expect(large.length).toBeGreaterThan(1024);
    expect((await save(images, [file(large)], { name: 'a.jpg' })).status).toBe(403);
    expect(await images.service.source('files').paths()).toEqual([]);
  });

  it('answers to POST only, and 400 without a file', async () => {
    const images = await startImages();
    const { status, headers } = await images.service.get('imageSave', { name: 'a.png' });
    expect([status, headers.get('allow')?.includes('POST')]).toEqual([405, true]);
    expect((await save(images, [], { name: 'a.png' })).status).toBe(400);
  });
});

describe('a full queue of image work', () => {
  it('returns 503 with Retry-After for requests that would wait too long, and serves all others', async () => {
    const images = await startImages();
    await images.put('a.jpg', await quarters(3000, 2000).jpeg().toBuffer());
    const answers = await Promise.all(
      Array.from({ length: 80 }, () =>
        images.service.call('imageResize', { name: 'a.jpg', newname: 'b', ...boxOf({ w: 1500, h: 1500 }) }),
      ),
    );
    const statuses = new Set(answers.map(({ status }) => status));
    expect([...statuses].sort()).toEqual([200, 503]);
    for (const { status, headers, messages } of answers) {
      if (status === 503)
        expect([headers.get('retry-after'), messages.length]).toEqual([expect.stringMatching(/^\d+$/u), 1]);
    }
    const served = answers.filter(({ status }) => status === 200).map(({ data }) => data['newPath']);
    expect(new Set(served).size).toBe(served.length);
    expect((await images.service.source('files').paths()).length).toBe(served.length + 1);
    expect(
      (await images.service.call('imageResize', { name: 'a.jpg', ...boxOf({ w: 9, h: 9 }) })).status,
    ).toBe(200);
  });
});
