import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import sharp from 'sharp';
import { HttpError } from 'stowage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { formOf, startService, type Fields, type FormFile, type Service } from './service.ts';

type Body = Readonly<Record<string, unknown>>;

interface PlainAnswer {
  readonly status: number;
  readonly body: Body;
}

const send = async (
  service: Service,
  query: Fields,
  files: readonly FormFile[],
  fields: Fields = {},
): Promise<PlainAnswer> => {
  const url = `${service.url}/fileUpload?${new URLSearchParams(query).toString()}`;
  const response = await fetch(url, { method: 'POST', body: formOf(files, fields) });
  return { status: response.status, body: (await response.json()) as Body };
};

/** A picture of noise, 90 x 60 as stored, in one of the formats that keep their sizes in various ways. */
const picture = async (
  format: 'jpeg' | 'png' | 'gif' | 'webp' | 'avif' | 'tiff',
  { width = 90, height = 60, orientation = 1 } = {},
): Promise<Uint8Array<ArrayBuffer>> => {
  const raw = Buffer.alloc(width * height * 3).map((_, index) => (index * 7919) % 251);
  const encoded = sharp(raw, { raw: { width, height, channels: 3 } }).withMetadata({ orientation });
  return new Uint8Array(await encoded.toFormat(format).toBuffer());
};

describe('items of an upload', () => {
  it('describe every stored file, with its link', async () => {
    const service = await startService();
    await service.source('files').put({ 'sub/deep/': '' });
    const photo = await picture('jpeg', { orientation: 6 });
    const { data } = await service.upload(
      [
        ['files[0]', 'my photo.jpg', photo],
        ['files[1]', 'notes.txt', 'words'],
      ],
      { path: 'sub/deep' },
    );
    const stored = await service.source('files').bytes('sub/deep/my photo.jpg');
    expect(data['items']).toEqual([
      {
        source: 'files',
        path: 'sub/deep',
        name: 'my photo.jpg',
        url: 'https://files.example/files/sub/deep/my%20photo.jpg',
        bytes: stored.length,
        mime: 'image/jpeg',
        // The picture lies on its side: this is how it is seen.
        width: 60,
        height: 90,
      },
      {
        source: 'files',
        path: 'sub/deep',
        name: 'notes.txt',
        url: 'https://files.example/files/sub/deep/notes.txt',
        bytes: 5,
        mime: 'text/plain',
      },
    ]);
  });

  it('have the name that the file has got, and the root as listings write it', async () => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': 'old' });
    const { data } = await service.upload([['files[0]', 'a.txt', 'new']]);
    expect(data['items']).toMatchObject([{ path: '/', name: 'a-1.txt', bytes: 3 }]);
  });

  it('have links that work in signed sources', async () => {
    const service = await startService({
      signingSecret: ['0123456789abcdef0123456789abcdef'],
      sources: { files: { serve: 'signed', baseurl: undefined } },
    });
    const { data } = await service.upload([['files[0]', 'a.txt', 'words']]);
    const [{ url } = { url: '' }] = data['items'] as { url: string }[];
    expect(await (await fetch(new URL(url, service.url))).text()).toBe('words');
    expect((await fetch(new URL(url.split('?')[0] ?? '', service.url))).status).toBe(403);
  });

  it.each(['jpeg', 'png', 'gif', 'webp', 'avif', 'tiff'] as const)('know the size of %s', async (format) => {
    const service = await startService({ extensions: [format] });
    const size = { width: 640, height: 480 };
    const { data } = await service.upload([['files[0]', `a.${format}`, await picture(format, size)]]);
    expect(data['items']).toMatchObject([size]);
  });

  it('leave the size out when the content is not a picture', async () => {
    const service = await startService();
    const cut = (await picture('webp')).slice(0, 20);
    const { status, data } = await service.upload([
      ['files[0]', 'a.png', 'words'],
      ['files[1]', 'b.webp', cut],
      ['files[2]', 'c.png', ''],
    ]);
    expect(status).toBe(200);
    for (const item of data['items'] as Body[]) expect(item).not.toHaveProperty('width');
  });

  it('come with remote uploads too', async () => {
    const content = await picture('png');
    const server = createServer((_, response) => response.end(content)).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    const service = await startService({ allowPrivateNetworkUploads: true });
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/a.png`;
    const { data, messages } = await service.call('fileUploadRemote', { url });
    expect(messages).toEqual([]);
    expect(data['items']).toMatchObject([{ name: 'a.png', bytes: content.length, width: 90, height: 60 }]);
    const form = new URLSearchParams({ url, responseType: 'editorjs' });
    const response = await fetch(`${service.url}/fileUploadRemote`, { method: 'POST', body: form });
    const link = 'https://files.example/files/a-1.png';
    const size = { width: 90, height: 60, size: content.length };
    expect(await response.json()).toEqual({
      success: 1,
      file: { url: link, name: 'a-1.png', extension: 'png', ...size },
    });
  });
});

const URL_OF_A = 'https://files.example/files/a.png';

const editors: readonly (readonly [
  editor: string,
  field: string,
  done: Body,
  failed: (message: unknown) => Body,
  status: number,
])[] = [
  [
    'ckeditor',
    'upload',
    { uploaded: 1, fileName: 'a.png', url: URL_OF_A },
    (message) => ({ uploaded: 0, error: { message } }),
    200,
  ],
  ['tinymce', 'file', { location: URL_OF_A }, (message) => ({ error: { message } }), 403],
  [
    'editorjs',
    'image',
    { success: 1, file: { url: URL_OF_A, name: 'a.png', extension: 'png', size: 6 } },
    (message) => ({ success: 0, message }),
    403,
  ],
  ['froala', 'file', { link: URL_OF_A }, (error) => ({ error }), 403],
  [
    'suneditor',
    'file-0',
    { result: [{ url: URL_OF_A, name: 'a.png', size: 6 }] },
    (errorMessage) => ({ errorMessage }),
    403,
  ],
  ['easymde', 'image', { data: { filePath: URL_OF_A } }, (error) => ({ error }), 403],
  [
    'trumbowyg',
    'fileToUpload',
    { success: true, file: URL_OF_A },
    (message) => ({ success: false, message }),
    403,
  ],
];

describe.each(editors)('responseType=%s', (responseType, field, done, failed, status) => {
  it('answers as the editor reads it, whether query or form says so', async () => {
    const service = await startService();
    expect(await send(service, { responseType }, [[field, 'a.png', 'pixels']])).toEqual({
      status: 200,
      body: done,
    });
    expect(await service.source('files').text('a.png')).toBe('pixels');
    const inForm = await startService();
    const action = { action: 'fileUpload', responseType };
    const form = formOf([[field, 'a.png', 'pixels']], action);
    const response = await fetch(inForm.url, { method: 'POST', body: form });
    expect(await response.json()).toEqual(done);
  });

  it('answers about the first of several files, or all where the editor reads all', async () => {
    const service = await startService();
    const files: FormFile[] = [
      [field, 'a.png', 'pixels'],
      ['files[0]', 'b.png', 'pixels'],
    ];
    const { body } = await send(service, { responseType }, files);
    const url = 'https://files.example/files/b.png';
    const all = {
      result: [...((done['result'] as Body[] | undefined) ?? []), { url, name: 'b.png', size: 6 }],
    };
    expect(body).toEqual(responseType === 'suneditor' ? all : done);
    expect(await service.source('files').paths()).toEqual(['a.png', 'b.png']);
  });

  it('refuses in the form of the editor', async () => {
    const service = await startService({ maxUploadFileSize: '1kb' });
    const type = await send(service, { responseType }, [[field, 'a.exe', 'program']]);
    expect(type).toEqual({ status, body: failed(expect.stringContaining('a.exe')) });
    const size = await send(service, { responseType }, [[field, 'a.png', 'x'.repeat(2000)]]);
    expect(size).toEqual({ status, body: failed(expect.stringMatching(/"a\.png".*1KB/u)) });
    const inForm = await send(service, {}, [[field, 'a.exe', 'program']], { responseType });
    expect(inForm).toEqual({ status, body: failed(expect.stringContaining('a.exe')) });
    expect(await service.source('files').paths()).toEqual([]);
  });

  it('refuses in the form of the editor what comes no further than the door', async () => {
    const file: FormFile = [field, 'a.png', 'pixels'];
    const denied = await startService({ accessControl: [{ FILE_UPLOAD: false }] });
    const rule = await send(denied, { responseType, language: 'de' }, [file]);
    expect(rule).toEqual({ status, body: failed('Zugriff verweigert.') });
    const stranger = (): string => {
      throw new HttpError(403, 'Members only.');
    };
    const closed = await startService({}, { checkAuthentication: stranger });
    const hook = await send(closed, { responseType, action: 'fileUpload' }, [file]);
    expect(hook).toEqual({ status, body: failed('Members only.') });
    expect((await send(closed, { responseType: 'word' }, [file])).body).toMatchObject({ success: false });
  });

  it('refuses a form without files', async () => {
    const service = await startService();
    const answer = await send(service, { responseType }, []);
    expect(answer.body).toEqual(failed('No files were sent.'));
  });

  it('takes files of whatever field', async () => {
    const service = await startService();
    const answer = await send(service, { responseType }, [['avatar[picture]', 'a.png', 'pixels']]);
    expect(answer).toEqual({ status: 200, body: done });
  });
});

it('answers in the envelope for editors that it does not know, and for other actions', async () => {
  const service = await startService();
  const files: FormFile[] = [['files[0]', 'a.png', 'pixels']];
  const unknown = await send(service, { responseType: 'word' }, files);
  expect(unknown).toMatchObject({ status: 400, body: { data: { error: 'INVALID_PARAMETERS' } } });
  expect((await send(service, { responseType: '' }, files)).body).toMatchObject({ success: true });
  expect((await service.call('fileRemove', { name: 'b.png', responseType: 'froala' })).data['code']).toBe(
    404,
  );
});

it('answers programs with the address alone, and with errors in the envelope', async () => {
  const service = await startService();
  const content = await picture('png');
  const query = { responseType: 'url' };
  expect(await send(service, query, [['anything', 'a.png', content]])).toEqual({
    status: 200,
    body: { url: URL_OF_A, name: 'a.png', bytes: content.length, width: 90, height: 60 },
  });
  const refused = await send(service, query, [['anything', 'a.exe', 'program']]);
  expect(refused).toMatchObject({ status: 403, body: { data: { error: 'TYPE_NOT_ALLOWED' } } });
});

it('tells the editors that keep it the size of a picture', async () => {
  const service = await startService();
  const files: FormFile[] = [['file', 'a.png', await picture('png')]];
  const size = { width: 90, height: 60 };
  const answerTo = async (responseType: string) => (await send(service, { responseType }, files)).body;
  expect(await answerTo('froala')).toEqual({ link: URL_OF_A, ...size });
  const second = 'https://files.example/files/a-1.png';
  expect(await answerTo('trumbowyg')).toEqual({ success: true, file: second, ...size });
  expect(await answerTo('editorjs')).toMatchObject({ file: size });
});

it('takes the fields of editors for files only when an editor is named', async () => {
  const service = await startService();
  for (const field of ['upload', 'file', 'image']) {
    expect((await send(service, {}, [[field, 'a.png', 'pixels']])).status).toBe(400);
  }
});

it.each(['con.txt', 'NUL', 'aux.tar.gz'])(
  'names a reserved name of Windows as it was sent: %s',
  async (name) => {
    const service = await startService();
    const { status, messages, data } = await service.upload([['files[0]', name, 'x']]);
    expect([status, data['details']]).toEqual([403, { name }]);
    expect(messages).toEqual([
      `"${name}": this name is not allowed.`,
      `Nothing was uploaded because of "${name}".`,
    ]);
  },
);
