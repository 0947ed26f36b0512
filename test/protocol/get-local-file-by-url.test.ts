import { get } from 'node:http';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { startService } from './service.ts';

const find = async (url: string): Promise<readonly [number, unknown]> => {
  const service = await startService({ sources: { files: {}, other: {} } });
  await service.source('files').put({
    'a.png': 'a',
    'sub dir/é 1.png': 'b',
    'sub dir/100% x.png': 'c',
    '_thumbs/a.png': 't',
    'id_rsa.key': 'k',
    'dir.png/': '',
  });
  await service.source('other').put({ 'sub/o.png': 'o' });
  const { status, data } = await service.call('getLocalFileByUrl', { url });
  return [status, status === 200 ? data : undefined];
};

const unreachable = { storageAdapter: 'webdav', root: '', webdav: { url: 'http://127.0.0.1:9/' } };

const found = (path: string, name: string, source = 'files'): readonly [number, unknown] => [
  200,
  { code: 220, path, name, source },
];

describe('getLocalFileByUrl', () => {
  it.each([
    ['https://files.example/files/a.png', found('/', 'a.png')],
    ['https://files.example/files/a.png?&_tmp=1795000000000', found('/', 'a.png')],
    ['https://files.example/files/a.png#top', found('/', 'a.png')],
    ['HTTPS://FILES.example:443/files/a.png', found('/', 'a.png')],
    ['https://files.example/files//a.png', found('/', 'a.png')],
    ['https://files.example/files/sub%20dir/%C3%A9%201.png', found('/sub dir', 'é 1.png')],
    ['https://files.example/files/sub dir/é 1.png', found('/sub dir', 'é 1.png')],
    ['https://files.example/files/sub%20dir/100%%20x.png', found('/sub dir', '100% x.png')],
    ['https://files.example/files/sub%20dir/100%25%20x.png', found('/sub dir', '100% x.png')],
    ['https://files.example/other/sub/o.png', found('/sub', 'o.png', 'other')],
    ['//files.example/files/a.png', found('/', 'a.png')],
    ['/files/a.png', found('/', 'a.png')],
    ['/other/sub/o.png?x=1', found('/sub', 'o.png', 'other')],
  ])('finds %s', async (url, expected) => {
    expect(await find(url)).toEqual(expected);
  });

  it.each([
    'https://files.example/files/missing.png',
    'https://files.example/files/',
    'https://files.example/files',
    'https://files.example/files/dir.png',
    'https://files.example/files2/a.png',
    'https://files.example/file/a.png',
    'https://files.example/FILES/a.png',
    'https://files.example/a.png',
    'https://files.example.evil.tld/files/a.png',
    'https://evil.tld/files/a.png',
    'https://files.example@evil.tld/files/a.png',
    'https://evil.tld/#https://files.example/files/a.png',
    'https://evil.tld/?https://files.example/files/a.png',
    'https://user:secret@files.example/files/a.png',
    'http://files.example/files/a.png',
    'https://files.example:8443/files/a.png',
    '//evil.tld/files/a.png',
    'ftp://files.example/files/a.png',
    'javascript:alert(1)',
    'file:///etc/passwd',
    '/etc/passwd',
    'a.png',
    'https://files.example/files/../../etc/passwd',
    'https://files.example/files/%2e%2e/%2e%2e/etc/passwd',
    'https://files.example/files/%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    'https://files.example/files/%252e%252e/a.png',
    'https://files.example/files/sub%2fo.png',
    'https://files.example/files/..%5ca.png',
    'https://files.example/files/a.png%00.txt',
    'https://files.example/files/_thumbs/a.png',
    'https://files.example/files/id_rsa.key',
    'https://files.example/other/a.png',
  ])('does not find %s', async (url) => {
    expect((await find(url))[0]).toBe(404);
  });

  it.each(['off', 'public'])('finds the picture that a variant was made of, with serve %s', async (serve) => {
    const imagePresets = { card: { width: 10, format: 'webp' } };
    const service = await startService({ sources: { files: { serve, imagePresets } } });
    const red = { create: { width: 20, height: 20, channels: 3, background: 'red' } } as const;
    const picture = await sharp(red).png().toBuffer();
    await service.source('files').put({ 'sub/a.png': picture, 'sub/é b.png': picture });
    const { data } = await service.call('files', { path: 'sub', 'mods[variants]': 'true' });
    const [source] = data['sources'] as { files: { name: string; variants: { card: string } }[] }[];
    for (const { name, variants } of source?.files ?? []) {
      const url = `https://files.example/files/sub/${variants.card}`;
      const found = await service.call('getLocalFileByUrl', { url });
      expect(found.data).toEqual({ code: 220, path: '/sub', name, source: 'files' });
    }
    expect(source?.files).toHaveLength(2);
    const gone = 'https://files.example/files/sub/_thumbs/card/gone.png.webp';
    expect((await service.call('getLocalFileByUrl', { url: gone })).status).toBe(404);
  });

  it('does not find the picture of a variant in a folder that is missing or a file', async () => {
    const imagePresets = { card: { width: 10, format: 'webp' } };
    const service = await startService({ sources: { files: { imagePresets } } });
    await service.source('files').put({ 'a.png': 'a' });
    for (const folder of ['gone', 'a.png']) {
      const url = `https://files.example/files/${folder}/_thumbs/card/Koln~0123456789.webp`;
      expect([folder, (await service.call('getLocalFileByUrl', { url })).status]).toEqual([folder, 404]);
    }
  });

  it('does not find a name longer than any name', async () => {
    expect((await find(`https://files.example/files/${'x'.repeat(5000)}.png`))[0]).toBe(404);
  });

  it('needs a url', async () => {
    const service = await startService();
    expect((await service.call('getLocalFileByUrl')).status).toBe(400);
    expect((await service.call('getLocalFileByUrl', { url: ' ' })).status).toBe(400);
    expect(
      (await service.get('getLocalFileByUrl', { url: 'https://files.example/files/a.png' })).status,
    ).toBe(404);
  });

  it('asks the closest of base URLs that lie inside one another, then the others', async () => {
    const service = await startService({
      sources: {
        outer: { baseurl: 'https://files.example/' },
        // Nothing listens there: the other sources still find their files.
        dead: { ...unreachable, baseurl: 'https://files.example/My%20files/' },
        inner: { baseurl: 'https://files.example/My%20files/' },
      },
    });
    await service.source('outer').put({ 'My files/a.png': 'outer', 'My files/only.png': 'outer' });
    await service.source('inner').put({ 'a.png': 'inner' });
    const inner = await service.call('getLocalFileByUrl', { url: 'https://files.example/My%20files/a.png' });
    expect(inner.data).toEqual({ code: 220, path: '/', name: 'a.png', source: 'inner' });
    const outer = await service.call('getLocalFileByUrl', {
      url: 'https://files.example/My%20files/only.png',
    });
    expect(outer.data).toEqual({ code: 220, path: '/My files', name: 'only.png', source: 'outer' });
    const nowhere = 'https://files.example/My%20files/missing.png';
    expect((await service.call('getLocalFileByUrl', { url: nowhere })).data['error']).toBe(
      'STORAGE_UNAVAILABLE',
    );
  });

  it('answers with the name that requests use', async () => {
    const service = await startService({ sources: { key: { name: 'shown' } } });
    await service.source('key').put({ 'a.png': 'a' });
    const { data } = await service.call('getLocalFileByUrl', { url: 'https://files.example/key/a.png' });
    expect(data['source']).toBe('shown');
  });

  it('needs the right to find and to see the file', async () => {
    const service = await startService({
      accessControl: [
        { path: '/closed', GET_LOCAL_FILE_BY_URL: false },
        { path: '/unseen', FILES: false },
      ],
    });
    await service.source('files').put({ 'closed/a.png': 'a', 'unseen/a.png': 'a', 'open/a.png': 'a' });
    const status = async (path: string): Promise<number> =>
      (await service.call('getLocalFileByUrl', { url: `https://files.example/files/${path}` })).status;
    expect(await status('closed/a.png')).toBe(403);
    expect(await status('closed/missing.png')).toBe(403);
    expect(await status('unseen/a.png')).toBe(403);
    expect(await status('open/a.png')).toBe(200);
  });

  it('compares the path alone where baseurl is one', async () => {
    const service = await startService({ sources: { files: { baseurl: '/photos/' } } });
    await service.source('files').put({ 'sub/a.png': 'a' });
    const status = async (url: string): Promise<number> =>
      (await service.call('getLocalFileByUrl', { url })).status;
    expect(await status('https://www.example.com/photos/sub/a.png?_tmp=1')).toBe(200);
    expect(await status('//www.example.com/photos/sub/a.png')).toBe(200);
    expect(await status('/photos/sub/a.png')).toBe(200);
    expect(await status('https://www.example.com/photos2/sub/a.png')).toBe(404);
    expect(await status('https://bob:secret@www.example.com/photos/sub/a.png')).toBe(404);
    expect(await status('https://www.example.com@photos/sub/a.png')).toBe(404);
  });

  it('takes no host from a header that holds none', async () => {
    const service = await startService({ sources: { files: { baseurl: '/files/' } } });
    await service.source('files').put({ 'a.png': 'a' });
    const url = `${service.url}/getLocalFileByUrl?url=/files/a.png`;
    const status = await new Promise<number | undefined>((resolve, reject) => {
      get(url, { headers: { host: 'a b' } }, (answer) => resolve(answer.resume().statusCode)).on(
        'error',
        reject,
      );
    });
    expect(status).toBe(200);
  });
});
