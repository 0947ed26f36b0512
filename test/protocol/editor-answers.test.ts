import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { type Fields, formOf, startService, type Service, type ServiceOptions } from './service.ts';

const BY_NAME = { 'mods[sortBy]': 'name-asc' };
const SECRET = ['0123456789abcdef0123456789abcdef'];

const picture = async (width: number, height: number): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(
    await sharp({ create: { width, height, channels: 3, background: '#a40' } })
      .png()
      .toBuffer(),
  );

/** Serves the files of a folder that the service does not serve, as a web server would. */
const linkReader =
  (service: Service, isServed: boolean) =>
  async (link: string): Promise<{ readonly status: number; readonly bytes: Buffer }> => {
    if (isServed) {
      const response = await fetch(new URL(link, service.url));
      return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
    }
    const path = decodeURIComponent(link.slice('https://files.example/files/'.length));
    return { status: 200, bytes: await service.source('files').bytes(path) };
  };

const widthOf = async (bytes: Buffer): Promise<number | undefined> => (await sharp(bytes).metadata()).width;

const modes: readonly (readonly [mode: string, source: object])[] = [
  ['off', {}],
  ['public', { serve: 'public', baseurl: undefined }],
  ['protected', { serve: 'protected', baseurl: undefined }],
  ['signed', { serve: 'signed', baseurl: undefined }],
];

const startIn = (source: object, more: ServiceOptions = {}): Promise<Service> =>
  startService({ ...more, signingSecret: SECRET, sources: { files: source } });

/** What each editor sends: its field, the name of a pasted picture, and its other fields; and where it finds the link. */
const senders: readonly (readonly [
  editor: string,
  field: string,
  filename: string,
  others: Fields,
  linkOf: (answer: never) => unknown,
])[] = [
  [
    'ckeditor',
    'upload',
    'image.png',
    { ckCsrfToken: 'a'.repeat(40) },
    ({ uploaded, url }: { uploaded: number; url: string }) => uploaded === 1 && url,
  ],
  ['tinymce', 'file', 'mceclip0.png', {}, ({ location }: { location: string }) => location],
  [
    'editorjs',
    'image',
    'photo.png',
    { caption: 'A cat' },
    ({ success, file }: { success: number; file: { url: string } }) => success === 1 && file.url,
  ],
  ['froala', 'file', 'image.png', { id: 'my_editor' }, ({ link }: { link: string }) => link],
  [
    'suneditor',
    'file-0',
    'photo.png',
    {},
    ({ result: [first] }: { result: { url: string }[] }) => first?.url,
  ],
  [
    'easymde',
    'image',
    'smile ) (1.png',
    { csrfmiddlewaretoken: 'x' },
    ({ data }: { data: { filePath: string } }) => /!\[\]\(([^()]+)\)$/u.exec(`![](${data.filePath})`)?.[1],
  ],
  [
    'trumbowyg',
    'fileToUpload',
    'photo.png',
    { alt: 'A cat' },
    ({ success, file }: { success: boolean; file: string }) => success && file,
  ],
  ['url', 'blob', 'photo.png', {}, ({ url }: { url: string }) => url],
];

describe.each(modes)('in a source with serve: %s', (mode, source) => {
  const isServed = mode !== 'off';

  it.each(senders)('%s gets links that open', async (responseType, field, filename, others, linkOf) => {
    const site = await startIn({ serve: 'public', baseurl: undefined });
    const content = await picture(30, 20);
    await site.source('files').put({ 'far.png': content });
    const service = await startIn(source, { allowPrivateNetworkUploads: true });
    const read = linkReader(service, isServed);
    const body = formOf([[field, filename, content]], others);
    const query = new URLSearchParams({ responseType }).toString();
    const sent = await fetch(`${service.url}/fileUpload?${query}`, { method: 'POST', body });
    // As Editor.js sends an address.
    const fetched = await fetch(`${service.url}/fileUploadRemote?${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ url: `${site.url}/file/files/far.png`, ...others }),
    });
    for (const response of [sent, fetched]) {
      const link = linkOf((await response.json()) as never);
      expect([response.status, await read(String(link))]).toEqual([
        200,
        { status: 200, bytes: Buffer.from(content) },
      ]);
    }
    const paths = await service.source('files').paths();
    expect(paths).toEqual(['far.png', filename].toSorted());
  });

  it('CKEditor gets the widths of presets that keep the shape, by links that open', async () => {
    const imagePresets = {
      small: { width: 120 },
      square: { width: 50, height: 50, fit: 'cover' },
      exact: { width: 300, height: 200, fit: 'cover' },
      low: { height: 100, fit: 'inside', format: 'webp' },
      huge: { width: 4000 },
    };
    const service = await startIn({ ...source, imagePresets });
    await service.source('files').put({ 'my trip/': '' });
    const read = linkReader(service, isServed);
    const form = formOf([['upload', 'Köln 1.png', await picture(600, 400)]]);
    const query = 'responseType=ckeditor&path=my%20trip';
    const response = await fetch(`${service.url}/fileUpload?${query}`, { method: 'POST', body: form });
    const { url, urls } = (await response.json()) as { url: string; urls: Record<string, string> };
    expect(Object.keys(urls).sort()).toEqual(['120', '150', '300', '600', 'default']);
    expect(urls['default']).toBe(url);
    for (const [key, link] of Object.entries(urls)) {
      const { status, bytes } = await read(link);
      expect([key, status, await widthOf(bytes)]).toEqual([key, 200, key === 'default' ? 600 : Number(key)]);
    }
  });

  it('Froala and SunEditor get the pictures of one folder, by links that open', async () => {
    const service = await startIn(source);
    await service.source('files').put({
      'trip/100% Köln.png': await picture(300, 200),
      'trip/b.jpg': new Uint8Array(await sharp(await picture(30, 20)).toBuffer()),
      'trip/notes.txt': 'words',
      'trip/inner/c.png': await picture(3, 2),
    });
    const read = linkReader(service, isServed);
    const froala = await service.get('files', { responseType: 'froala', path: 'trip', ...BY_NAME });
    expect(froala.headers.get('content-type')).toMatch(/^application\/json/u);
    const items = (await froala.json()) as { url: string; thumb: string; name: string; tag: string }[];
    expect(items.map(({ name, tag }) => [name, tag])).toEqual([
      ['100% Köln.png', 'trip'],
      ['b.jpg', 'trip'],
    ]);
    for (const item of items) {
      expect(Object.keys(item)).toEqual(['url', 'thumb', 'name', 'tag']);
      expect((await read(item.url)).bytes).toEqual(await service.source('files').bytes(`trip/${item.name}`));
      expect(await widthOf((await read(item.thumb)).bytes)).toBeLessThanOrEqual(250);
    }
    const sun = await service.get('files', { responseType: 'suneditor', path: 'trip', ...BY_NAME });
    const { result } = (await sun.json()) as { result: Record<string, string>[] };
    expect(result.map(({ name, alt, tag }) => [name, alt, tag])).toEqual([
      ['100% Köln.png', '100% Köln', 'trip'],
      ['b.jpg', 'b', 'trip'],
    ]);
    for (const { src = '', thumbnail = '' } of result)
      expect([(await read(src)).status, (await read(thumbnail)).status]).toEqual([200, 200]);
  });
});

describe('urls for CKEditor', () => {
  const upload = async (service: Service, name: string, content: Uint8Array<ArrayBuffer> | string) => {
    const form = formOf([['upload', name, content]]);
    const response = await fetch(`${service.url}/fileUpload?responseType=ckeditor`, {
      method: 'POST',
      body: form,
    });
    return (await response.json()) as Record<string, unknown>;
  };

  it('are absent without presets that keep the shape, and for files that are not pictures', async () => {
    const cropped = {
      square: { width: 50, height: 50, fit: 'cover' },
      box: { width: 99, height: 20, fit: 'contain' },
    };
    const content = await picture(600, 400);
    expect(await upload(await startIn({}), 'a.png', content)).not.toHaveProperty('urls');
    expect(await upload(await startIn({ imagePresets: cropped }), 'a.png', content)).not.toHaveProperty(
      'urls',
    );
    const service = await startIn({ imagePresets: { small: { width: 120 } } });
    expect(await upload(service, 'a.txt', 'words')).not.toHaveProperty('urls');
    expect(await upload(service, 'a.png', 'no picture')).not.toHaveProperty('urls');
    const drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="600" height="400"/>';
    expect(await upload(service, 'a.svg', drawing)).not.toHaveProperty('urls');
  });

  it('hold no link that the reader may not have', async () => {
    const accessControl = [{ IMAGE_VARIANT: false }];
    const source = { serve: 'signed', baseurl: undefined, imagePresets: { small: { width: 120 } } };
    const service = await startIn(source, { accessControl });
    const answer = await upload(service, 'a.png', await picture(600, 400));
    expect(answer['url']).toMatch(/signature=/u);
    expect(answer).not.toHaveProperty('urls');
  });

  it('come for a picture of another address too', async () => {
    const served = await startIn({ serve: 'public', baseurl: undefined });
    await served.source('files').put({ 'a.png': await picture(600, 400) });
    const source = { serve: 'public', baseurl: undefined, imagePresets: { small: { width: 120 } } };
    const service = await startIn(source, { allowPrivateNetworkUploads: true });
    const url = `${served.url}/file/files/a.png`;
    const response = await service.get('fileUploadRemote', { url, responseType: 'ckeditor' });
    expect(await response.json()).toMatchObject({
      urls: { default: '/file/files/a.png', '120': '/file/files/_thumbs/small/a.png' },
    });
  });
});

describe('listings for editors', () => {
  it('obey the rules, and leave out what the reader may not open', async () => {
    const source = { serve: 'signed', baseurl: undefined };
    const accessControl = [
      { FILES: false, path: '/secret' },
      { FILE_DOWNLOAD: false, extensions: 'gif' },
    ];
    const service = await startIn(source, { accessControl });
    const png = await picture(3, 2);
    await service.source('files').put({ 'secret/a.png': png, 'hall/a.png': png, 'hall/b.gif': png });
    const list = (path: string) => service.get('files', { responseType: 'froala', path });
    expect(((await (await list('hall')).json()) as { name: string }[]).map(({ name }) => name)).toEqual([
      'a.png',
    ]);
    const denied = await list('secret');
    expect([denied.status, await denied.json()]).toEqual([403, { error: 'Access denied.' }]);
    const missing = await service.get('files', { responseType: 'suneditor', path: 'nowhere' });
    expect([missing.status, await missing.json()]).toEqual([
      404,
      { errorMessage: 'The folder was not found.' },
    ]);
  });

  it('hold all pictures of the first source, or a part where that is asked for', async () => {
    const service = await startService({ countInChunk: 2, sources: { one: {}, two: {} } });
    const names = ['a', 'b', 'c', 'd'].map((name) => `${name}.svg`);
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>';
    await service.source('one').put(Object.fromEntries(names.map((name) => [name, svg])));
    await service.source('two').put({ 'e.svg': svg });
    const list = async (fields: object): Promise<string[]> => {
      const response = await service.get('files', { responseType: 'froala', ...BY_NAME, ...fields });
      return ((await response.json()) as { name: string }[]).map(({ name }) => name);
    };
    expect(await list({})).toEqual(names);
    expect(await list({ source: 'two' })).toEqual(['e.svg']);
    expect(await list({ 'mods[limit]': '2', 'mods[offset]': '1' })).toEqual(['b.svg', 'c.svg']);
    expect(await list({ 'mods[filterWord]': 'd' })).toEqual(['d.svg']);
  });

  it('are large without being held in one piece', async () => {
    const service = await startService({ createThumb: false });
    const names = Array.from({ length: 3000 }, (_, index) => `${String(index).padStart(4, '0')}.svg`);
    await service.source('files').put(Object.fromEntries(names.map((name) => [name, 'x'])));
    const items = (await (
      await service.get('files', { responseType: 'froala', ...BY_NAME })
    ).json()) as unknown[];
    expect(items).toHaveLength(3000);
    expect(items.at(-1)).toEqual({
      url: 'https://files.example/files/2999.svg',
      thumb: 'https://files.example/files/2999.svg',
      name: '2999.svg',
      tag: 'files',
    });
  });

  it.each(['ckeditor', 'url', 'word'])('do not know %s', async (responseType) => {
    const service = await startService();
    const answer = await service.call('files', { responseType });
    expect([answer.status, answer.data['error']]).toEqual([400, 'INVALID_PARAMETERS']);
    expect(answer.messages.join()).toContain('froala, suneditor');
  });
});
