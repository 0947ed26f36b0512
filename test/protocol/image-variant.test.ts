import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { colourAt, isNear, QUARTERS, quarters, turned } from '../pictures/pictures.ts';
import { startImages, type ImageService } from './images.ts';
import type { Fields, ServiceOptions } from './service.ts';

const PRESETS = {
  card: { width: 30, height: 30, fit: 'cover', format: 'webp' },
  boxed: { width: 30, height: 30, fit: 'contain', format: 'png' },
  wide: { width: 40 },
  modern: { height: 10, format: 'avif', quality: 60 },
} as const;

const start = (options: ServiceOptions = {}): Promise<ImageService> =>
  startImages({ imagePresets: PRESETS, ...options });

const variant = async (
  { service }: ImageService,
  fields: Fields,
): Promise<{ status: number; type: string | null; bytes: Buffer }> => {
  const response = await service.get('imageVariant', fields);
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, type: response.headers.get('content-type'), bytes };
};

interface ListedFile {
  readonly name: string;
  readonly variants?: Readonly<Record<string, string>>;
  readonly variantSizes?: Readonly<Record<string, { width: number; height: number }>>;
}

const listed = async ({ service }: ImageService, fields: Fields = {}): Promise<readonly ListedFile[]> => {
  const { data } = await service.call('files', {
    'mods[variants]': '1',
    'mods[sortBy]': 'name-asc',
    ...fields,
  });
  return (data['sources'] as { files: ListedFile[] }[])[0]?.files ?? [];
};

describe('imageVariant', () => {
  it('has true colours where a palette would take its encoder minutes', async () => {
    const huge = { width: 2600, height: 2400, fit: 'cover' } as const;
    const started = await start({ imagePresets: { huge, small: { width: 20 } } });
    await started.put('a.png', await quarters(26, 24).png({ palette: true }).toBuffer());
    const isPalette = async (preset: string): Promise<boolean> =>
      (await sharp((await variant(started, { name: 'a.png', preset })).bytes).metadata()).isPalette === true;
    expect([await isPalette('huge'), await isPalette('small')]).toEqual([false, true]);
  });

  it('makes each preset once, upright, in its size and format, beside the thumbnails', async () => {
    const started = await start();
    await started.put('a.jpg', await (await turned(quarters(80, 40), 6)).jpeg().toBuffer());
    for (const [preset, type, size, stored] of [
      ['card', 'image/webp', [30, 30], '_thumbs/card/a.jpg.webp'],
      ['boxed', 'image/png', [30, 30], '_thumbs/boxed/a.jpg.png'],
      ['wide', 'image/jpeg', [40, 20], '_thumbs/wide/a.jpg'],
      ['modern', 'image/avif', [20, 10], '_thumbs/modern/a.jpg.avif'],
    ] as const) {
      const answer = await variant(started, { name: 'a.jpg', preset });
      expect([preset, answer.status, answer.type]).toEqual([preset, 200, type]);
      const { width, height } = await sharp(answer.bytes).metadata();
      expect([preset, width, height]).toEqual([preset, ...size]);
      expect((await started.bytes(stored)).equals(answer.bytes)).toBe(true);
    }
    const card = await variant(started, { name: 'a.jpg', preset: 'card' });
    expect(isNear(await colourAt(card.bytes, 24, 6), QUARTERS.green, 40)).toBe(true);
    const boxed = await variant(started, { name: 'a.jpg', preset: 'boxed' });
    expect((await colourAt(boxed.bytes, 15, 2))[3]).toBe(0);
    // What is stored is given again, not made again.
    await started.put('_thumbs/card/a.jpg.webp', boxed.bytes);
    expect((await variant(started, { name: 'a.jpg', preset: 'card' })).bytes.equals(boxed.bytes)).toBe(true);
  });

  it('leaves the space around a picture transparent, and white in JPEG, as are its transparent parts', async () => {
    const square = { width: 20, height: 20, fit: 'contain' } as const;
    const imagePresets = { own: square, jpeg: { ...square, format: 'jpeg' } } as const;
    const started = await start({ imagePresets });
    const background = { r: 255, g: 0, b: 0, alpha: 0.5 };
    const create = { width: 40, height: 20, channels: 4, background } as const;
    await started.put('half.png', await sharp({ create }).png().toBuffer());
    await started.put('full.jpg', await sharp({ create }).flatten().jpeg().toBuffer());
    const pixels = async (name: string, preset: string) => {
      const { bytes } = await variant(started, { name, preset });
      return [await colourAt(bytes, 10, 1), await colourAt(bytes, 10, 10)] as const;
    };
    const [around, inside] = await pixels('half.png', 'jpeg');
    expect(isNear(around, QUARTERS.white), String(around)).toBe(true);
    expect(isNear(inside, [255, 127, 127]), String(inside)).toBe(true);
    const [aroundFull] = await pixels('full.jpg', 'jpeg');
    expect(isNear(aroundFull, QUARTERS.white), String(aroundFull)).toBe(true);
    const [aroundOwn, insideOwn] = await pixels('half.png', 'own');
    expect([aroundOwn[3], insideOwn[3]]).toEqual([0, 128]);
  });

  it('is made once however many ask at the same time', async () => {
    const started = await start();
    await started.put('a.png', await quarters(400, 300).png().toBuffer());
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => variant(started, { name: 'a.png', preset: 'modern' })),
    );
    expect(
      new Set(answers.map(({ status, bytes }) => `${String(status)}${bytes.toString('hex')}`)).size,
    ).toBe(1);
  });

  it('follows its picture: anew when it changes, along when it moves, away with it', async () => {
    const started = await start();
    const { service, put } = started;
    const files = service.source('files');
    await put('a.png', await quarters(80, 40).png().toBuffer());
    await files.put({ 'sub/': '' });
    await variant(started, { name: 'a.png', preset: 'wide' });
    await service.call('imageRotate', { name: 'a.png', angle: '90' });
    const { bytes } = await variant(started, { name: 'a.png', preset: 'wide' });
    expect((await sharp(bytes).metadata()).height).toBe(80);
    await service.call('fileRename', { name: 'a.png', newname: 'b' });
    await service.call('fileMove', { from: 'b.png', path: 'sub' });
    await service.call('fileCopy', { from: 'sub/b.png', path: 'sub' });
    const variants = async (): Promise<string[]> =>
      (await files.paths()).filter((path) => path.endsWith('.png') && path.includes('_thumbs'));
    expect(await variants()).toEqual(['sub/_thumbs/wide/b (1).png', 'sub/_thumbs/wide/b.png']);
    await service.call('fileRemove', { path: 'sub', name: 'b.png' });
    expect(await variants()).toEqual(['sub/_thumbs/wide/b (1).png']);
  });

  it('refuses other presets, and what is not a picture that is drawn', async () => {
    const started = await start({ accessControl: [{ path: '/no.png', IMAGE_VARIANT: false }] });
    await started.service.source('files').put({
      'a.png': await quarters().png().toBuffer(),
      'no.png': await quarters().png().toBuffer(),
      'broken.png': 'broken',
      'a.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
      'a.txt': 'text',
    });
    for (const [name, preset, status] of [
      ['a.png', 'other', 400],
      ['a.png', '../card', 400],
      ['a.png', '__proto__', 400],
      ['a.png', '', 400],
      ['broken.png', 'card', 400],
      ['a.svg', 'card', 400],
      ['a.txt', 'card', 400],
      ['missing.png', 'card', 404],
      ['no.png', 'card', 403],
    ] as const) {
      const answer = await variant(started, { name, preset });
      expect([name, preset, answer.status]).toEqual([name, preset, status]);
    }
  });

  it('has the size that listings with details say, for pictures of every shape', async () => {
    const started = await start({ safeThumbsCountInOneTime: 1000 });
    // By itself the library makes some of these a pixel narrower or lower.
    const shapes = [
      [287, 694, 6],
      [308, 1931, 1],
      [2252, 1297, 1],
      [744, 31, 6],
      [25, 8, 1],
    ] as const;
    for (const [index, [width, height, orientation]] of shapes.entries()) {
      const picture = sharp({ create: { width, height, channels: 3, background: '#888' } });
      await started.put(
        `${String(index)}.jpg`,
        await picture.withMetadata({ orientation }).jpeg().toBuffer(),
      );
    }
    const items = await listed(started, { 'mods[details]': '1' });
    expect(items.map(({ variantSizes }) => Object.keys(variantSizes ?? {}))).toEqual(
      shapes.map(() => Object.keys(PRESETS)),
    );
    for (const { name, variantSizes = {} } of items) {
      for (const [preset, size] of Object.entries(variantSizes)) {
        const { width, height } = await sharp((await variant(started, { name, preset })).bytes).metadata();
        expect([name, preset, { width, height }]).toEqual([name, preset, size]);
      }
    }
    expect(items[4]?.variantSizes?.['wide']).toEqual({ width: 25, height: 8 });
    expect((await listed(started))[0]).not.toHaveProperty('variantSizes');
  });

  it('stands in listings, as many as may be made at once', async () => {
    const { imagePresets, ...rest } = { imagePresets: { card: PRESETS.card }, safeThumbsCountInOneTime: 2 };
    const started = await startImages({ imagePresets, ...rest, createThumb: false });
    const png = await quarters().png().toBuffer();
    await started.service.source('files').put({ 'a.png': png, 'b é.png': png, 'c.png': png, 'n.txt': '' });
    const first = await listed(started);
    expect(first.map(({ variants }) => variants?.['card'])).toEqual([
      '_thumbs/card/a.png.webp',
      expect.stringMatching(/^_thumbs\/card\/b-e\.png~[0-9a-f]{10}\.webp$/u),
      undefined,
      undefined,
    ]);
    for (const { variants } of first) {
      if (variants !== undefined)
        expect((await started.bytes(variants['card'] ?? '')).length).toBeGreaterThan(50);
    }
    expect((await listed(started))[2]?.variants).toEqual({ card: '_thumbs/card/c.png.webp' });
    // The folder is out of reach also where there are no thumbnails.
    expect((await started.service.call('files', { path: '_thumbs' })).status).toBe(404);
    expect((await started.service.call('folderCreate', { name: '_thumbs' })).status).toBe(400);
    expect(await listed(started, { 'mods[variants]': '' })).not.toContainEqual(
      expect.objectContaining({ variants: expect.anything() as unknown }),
    );
  });

  it('is left out of listings of folders in which no request could name it', async () => {
    const started = await start();
    const path = Array.from({ length: 99 }, () => 'd').join('/');
    await started.put(`${path}/a.png`, await quarters().png().toBuffer());
    const items = await listed(started, { path });
    expect(items.map(({ name, variants }) => [name, variants])).toEqual([['a.png', undefined]]);
  });

  it('is made behind pictures that cannot be drawn', async () => {
    const presets = { card: PRESETS.card, wide: PRESETS.wide };
    const started = await startImages({
      imagePresets: presets,
      safeThumbsCountInOneTime: 2,
      createThumb: false,
    });
    const png = await quarters().png().toBuffer();
    const broken = png.subarray(0, 60);
    await started.service.source('files').put({ 'a.png': broken, 'b.png': broken, 'c.png': png });
    for (let listings = 0; listings < 3; listings += 1) await listed(started);
    expect(Object.keys((await listed(started))[2]?.variants ?? {})).toEqual(['card', 'wide']);
  });

  it('is made of every preset, also beyond as many as may be made at once', async () => {
    const presets = { card: PRESETS.card, wide: PRESETS.wide };
    const started = await startImages({
      imagePresets: presets,
      safeThumbsCountInOneTime: 2,
      createThumb: false,
    });
    const png = await quarters().png().toBuffer();
    await started.service.source('files').put({ 'a.png': png, 'b.png': png, 'c.png': png });
    for (let listings = 0; listings < 2; listings += 1) await listed(started);
    expect((await listed(started)).map(({ variants }) => Object.keys(variants ?? {}))).toEqual([
      ['card', 'wide'],
      ['card', 'wide'],
      ['card', 'wide'],
    ]);
  });

  it('is made when a browser asks, in sources that serve their files', async () => {
    const started = await start({ sources: { files: { serve: 'public' } } });
    const { service } = started;
    await service.source('files').put({ 'dir/b é.png': await quarters().png().toBuffer() });
    const [file] = await listed(started, { path: 'dir' });
    expect(file?.variants?.['card']).toBe('_thumbs/card/b%20%C3%A9.png');
    expect(await service.source('files').paths()).toEqual(['dir/', 'dir/b é.png']);
    const response = await fetch(`${service.url}/file/files/dir/${file?.variants?.['card'] ?? ''}`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/webp']);
    expect((await sharp(Buffer.from(await response.arrayBuffer())).metadata()).width).toBe(30);
    for (const path of ['_thumbs/other/b%20%C3%A9.png', '_thumbs/card/none.png', '_thumbs/card']) {
      expect([path, (await fetch(`${service.url}/file/files/dir/${path}`)).status]).toEqual([path, 404]);
    }
  });

  it('needs the signature or the right that its picture needs', async () => {
    const signed = await start({
      signingSecret: 'x'.repeat(32),
      sources: { files: { serve: 'signed', baseurl: undefined } },
    });
    await signed.put('a.png', await quarters().png().toBuffer());
    const [file] = await listed(signed);
    const link = new URL(file?.variants?.['card'] ?? '', signed.service.url);
    expect((await fetch(link)).status).toBe(200);
    link.search = '';
    expect((await fetch(link)).status).toBe(403);
    const guarded = await start({
      sources: { files: { serve: 'protected' } },
      accessControl: [{ FILE_DOWNLOAD: false }],
    });
    await guarded.put('a.png', await quarters().png().toBuffer());
    expect((await fetch(`${guarded.service.url}/file/files/_thumbs/card/a.png`)).status).toBe(403);
  });
});
