import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFile,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
  type FileHandle,
} from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import sharp from 'sharp';
import { createApp, HttpError, registerStorageAdapter, type HookRequest } from 'stowage';
import { withFaults } from 'stowage/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { memoryFactory, UnfinishedUploads } from '#internals';
import { quarters } from '../pictures/pictures.ts';
import { installBare } from '../package/bare-install.ts';
import { silent } from './service.ts';
import { ask, create, offsetOf, patch, startTus, TUS, type TusService } from './tus-client.ts';

interface Answer {
  readonly data: { readonly error: string };
}

/** A whole upload in one part. */
const upload = async (url: string, filename: string, bytes: Uint8Array | string, values = {}) => {
  const begun = await create(url, Buffer.byteLength(bytes), { filename, ...values });
  return begun.status === 201 ? patch(begun.address, 0, bytes) : begun;
};

/** Another process over the parts of a service. */
const nextProcess = async (service: TusService, address: string) => {
  const [bytes = ''] = await service.kept();
  const source = { title: 'files', baseurl: 'https://files.example/', root: service.source('files').root };
  const directory = bytes.replace(/\/[^/]+\/bytes$/u, '');
  const app = createApp({ sources: { files: source }, tus: { directory } }, {}, { logger: silent });
  onTestFinished(() => app.close());
  const send = (method: string, offset?: number, body?: string): Promise<Response> => {
    const type = { 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) };
    const init = {
      method,
      headers: { ...TUS, ...(body === undefined ? {} : type) },
      ...(body === undefined ? {} : { body }),
    };
    return app.fetch(new Request(`http://localhost/tus/${address.split('/').at(-1) ?? ''}`, init));
  };
  return { bytes, send };
};

describe('uploads in parts', () => {
  it('are safe on disk when a part is acknowledged', async () => {
    const service = await startTus();
    const { address } = await create(service.tus, 10, { filename: 'a.txt' });
    const handle = await open((await service.kept())[0] ?? '');
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const flush = vi.spyOn(prototype, 'sync');
    onTestFinished(() => flush.mockRestore());
    expect((await patch(address, 0, 'part')).status).toBe(204);
    expect(flush).toHaveBeenCalledTimes(1);
  });

  it('put the parts together, and answer what fileUpload answers', async () => {
    const service = await startTus();
    await service.source('files').put({ 'sub/': '' });
    const begun = await create(service.tus, 10, {
      filename: 'C:\\x\\Grüße 1.txt',
      path: 'sub',
      source: 'files',
    });
    expect([begun.status, begun.address]).toEqual([201, expect.stringMatching(/\/tus\/[0-9a-f]{40}$/u)]);
    expect(Date.parse(begun.headers.get('upload-expires') ?? '')).toBeGreaterThan(Date.now());
    const first = await patch(begun.address, 0, 'abcd');
    expect([first.status, first.headers.get('upload-offset')]).toEqual([204, '4']);
    const head = await ask('HEAD', begun.address);
    const seen = ['upload-offset', 'upload-length', 'tus-resumable', 'cache-control'];
    expect(seen.map((name) => head.headers.get(name))).toEqual(['4', '10', '1.0.0', 'no-store']);
    // Proxies that cache, such as Varnish, send GET for HEAD.
    const read = await ask('GET', begun.address);
    expect(seen.map((name) => read.headers.get(name))).toEqual(['4', '10', '1.0.0', 'no-store']);
    expect(await service.source('files').paths()).toEqual(['sub/']);
    const last = await patch(begun.address, 4, 'efghij');
    const inForm = await service.upload([['files[0]', 'Grüße 1.txt', 'abcdefghij']], { path: 'sub' });
    const asInForm = JSON.parse(
      JSON.stringify(inForm.data).replaceAll('Grüße 1-1', 'Grüße 1').replaceAll('1-1', '1'),
    ) as unknown;
    expect([last.status, last.data]).toEqual([200, asInForm]);
    expect(await service.source('files').text('sub/Grüße 1.txt')).toBe('abcdefghij');
    await expect.poll(() => service.kept()).toEqual([]);
  });

  it('go on with `onlyPOST`, which rejects every GET', async () => {
    const service = await startTus({ onlyPOST: true });
    const { address } = await create(service.tus, 3, { filename: 'a.txt' });
    expect((await ask('GET', address)).status).toBe(405);
    expect(await offsetOf(address)).toBe(0);
  });

  it('store a file once, however often its end is asked for', async () => {
    const service = await startTus();
    const { address } = await create(service.tus, 3, { filename: 'a.txt' });
    const first = await patch(address, 0, 'abc');
    const again = await patch(address, 3, '');
    expect(again.data).toEqual(first.data);
    expect([again.status, again.data['files']]).toEqual([200, ['a.txt']]);
    expect(await offsetOf(address)).toBe(3);
    expect((await ask('DELETE', address)).status).toBe(400);
    expect((await patch(address, 3, 'more')).status).toBe(413);
    expect(await service.source('files').paths()).toEqual(['a.txt']);
    expect(await service.source('files').text('a.txt')).toBe('abc');
  });

  it('go on for a client that reconnects, while its lost request is no failure of the service', async () => {
    const service = await startTus();
    const { address } = await create(service.tus, 6, { filename: 'a.txt' });
    const type = 'application/offset+octet-stream';
    const headers = { ...TUS, 'content-type': type, 'upload-offset': '0', 'content-length': '6' };
    const lost = request(address, { method: 'PATCH', headers });
    const ended = once(lost, 'response') as Promise<[IncomingMessage]>;
    lost.write('abc');
    await expect.poll(async () => (await stat((await service.kept())[0] ?? '')).size).toBe(3);
    expect(await offsetOf(address)).toBe(3);
    expect((await ended)[0].statusCode).toBe(409);
    expect((await patch(address, 3, 'def')).status).toBe(200);
    expect(await service.source('files').text('a.txt')).toBe('abcdef');
  });

  it('may begin with their first part, and may be empty', async () => {
    const service = await startTus();
    const type = { 'content-type': 'application/offset+octet-stream' };
    const headers = { ...TUS, ...type, 'upload-length': '5', 'upload-metadata': 'filename YS50eHQ=' };
    const response = await fetch(service.tus, { method: 'POST', headers, body: 'hel' });
    expect([response.status, response.headers.get('upload-offset')]).toEqual([201, '3']);
    const address = new URL(response.headers.get('location') ?? '', service.tus).href;
    expect((await patch(address, 3, 'lo')).status).toBe(200);
    const empty = await create(service.tus, 0, { filename: 'empty.txt' });
    expect([empty.status, empty.data['files']]).toEqual([201, ['empty.txt']]);
    expect(await service.source('files').text('a.txt')).toBe('hello');
    expect(await service.source('files').text('empty.txt')).toBe('');
  });

  it('keep nothing of a first part that breaks off: its client has not learnt where to go on', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'stowage-tus-'));
    const source = { title: 'files', baseurl: 'https://files.example/', storageAdapter: 'memory' };
    const app = createApp(
      { sources: { files: source }, tus: { directory, maxUploads: 1 } },
      {},
      { logger: silent },
    );
    onTestFinished(async () => {
      await app.close();
      await rm(directory, { recursive: true });
    });
    const parts = [Buffer.from('hel')];
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        const part = parts.pop();
        if (part === undefined) controller.error(new Error('the client has left'));
        else controller.enqueue(part);
      },
    });
    const type = { 'content-type': 'application/offset+octet-stream' };
    const headers = { ...TUS, ...type, 'upload-length': '5', 'upload-metadata': 'filename YS50eHQ=' };
    const send = async (content: ReadableStream | string): Promise<number> => {
      const init = { method: 'POST', headers, body: content, duplex: 'half' };
      return (await app.fetch(new Request('http://localhost/tus', init))).status;
    };
    expect(await send(body)).toBe(400);
    expect(await readdir(directory)).toEqual([]);
    expect(await send('hel')).toBe(201);
  });

  it('go on after a restart', async () => {
    const service = await startTus();
    const { address } = await create(service.tus, 6, { filename: 'a.txt' });
    await patch(address, 0, 'abc');
    const { send } = await nextProcess(service, address);
    expect((await send('HEAD')).headers.get('upload-offset')).toBe('3');
    expect((await send('PATCH', 3, 'def')).status).toBe(200);
    expect(await service.source('files').text('a.txt')).toBe('abcdef');
  });

  it('stay where a process cannot read what is known of them', async () => {
    const service = await startTus();
    const { address } = await create(service.tus, 6, { filename: 'a.txt' });
    await patch(address, 0, 'abc');
    const folder = dirname((await service.kept())[0] ?? '');
    const [known, aside] = [join(folder, 'upload.json'), join(folder, 'aside')];
    await rename(known, aside);
    await mkdir(known);
    expect((await (await nextProcess(service, address)).send('HEAD')).status).toBe(404);
    await rmdir(known);
    await rename(aside, known);
    const { send } = await nextProcess(service, address);
    expect((await send('HEAD')).headers.get('upload-offset')).toBe('3');
  });

  it('are stored once where a process has ended behind their last byte', async () => {
    const service = await startTus();
    const { address } = await create(service.tus, 6, { filename: 'a.txt' });
    await patch(address, 0, 'abc');
    const { bytes, send } = await nextProcess(service, address);
    await appendFile(bytes, 'def');
    await service.source('files').put({ 'a.txt': 'abcdef' });
    const answer = await send('PATCH', 6, '');
    expect([answer.status, await answer.json()]).toMatchObject([200, { data: { files: ['a.txt'] } }]);
    expect(await service.source('files').paths()).toEqual(['a.txt']);
  });

  it('say what they offer, also to pages of other origins', async () => {
    const service = await startTus({ allowCrossOrigin: true, allowedOrigins: ['https://page.example'] });
    const headers = {
      origin: 'https://page.example',
      'access-control-request-method': 'PATCH',
      'access-control-request-headers': 'tus-resumable,upload-offset,content-type',
    };
    const preflight = await fetch(service.tus, { method: 'OPTIONS', headers });
    expect(preflight.headers.get('tus-extension')).toBe(
      'creation,creation-with-upload,expiration,termination',
    );
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PATCH');
    expect(preflight.headers.get('access-control-allow-headers')).toContain('upload-offset');
    // Otherwise a page would learn of a connection error, not of a 404.
    const strange = await fetch(`${service.tus}/strange`, { method: 'OPTIONS', headers });
    expect(strange.headers.get('access-control-allow-methods')).toContain('PATCH');
    for (const method of ['HEAD', 'PATCH', 'DELETE'])
      expect((await ask(method, `${service.tus}/strange`)).status).toBe(404);
    const begun = await create(service.tus, 1, { filename: 'a.txt' }, { origin: 'https://page.example' });
    expect(begun.headers.get('access-control-allow-origin')).toBe('https://page.example');
    expect(begun.headers.get('access-control-expose-headers')).toMatch(/Location.*Upload-Offset/u);
    const foreign = { ...headers, origin: 'https://other.example' };
    expect((await fetch(service.tus, { method: 'OPTIONS', headers: foreign })).status).toBe(403);
    const guarded = await startTus({ refuseCrossSite: true });
    const other = await create(guarded.tus, 1, { filename: 'a.txt' }, { 'sec-fetch-site': 'cross-site' });
    expect([other.status, other.error]).toEqual([403, 'ORIGIN_REFUSED']);
  });

  it('need no setting where there is a state directory', async () => {
    const service = await startTus({ tus: undefined as never });
    const limits = async (): Promise<unknown> => (await service.call('permissions')).data['limits'];
    expect(await limits()).toMatchObject({ tus: true });
    const { address } = await create(service.tus, 3, { filename: 'a.txt' });
    expect((await patch(address, 0, 'abc')).status).toBe(200);
    expect(await service.source('files').text('a.txt')).toBe('abc');
  });

  it('are not stored where their directory cannot be used, and the log says why', async () => {
    const root = await mkdtemp(join(tmpdir(), 'stowage-tus-'));
    onTestFinished(() => rm(root, { recursive: true }));
    await writeFile(join(root, 'file'), '');
    const sources = { files: { title: 'files', baseurl: 'https://files.example/', root } };
    for (const directory of [join(root, 'file'), join(root, 'file/tus')]) {
      const logged: unknown[] = [];
      const error = (_message: string, fields?: object): unknown => logged.push(fields);
      const app = createApp({ sources, tus: { directory } }, {}, { logger: { ...silent, error } });
      onTestFinished(() => app.close());
      const headers = { ...TUS, 'upload-length': '1', 'upload-metadata': `filename ${btoa('a.txt')}` };
      const answer = await app.fetch(new Request('http://localhost/tus', { method: 'POST', headers }));
      expect([answer.status, ((await answer.json()) as Answer).data.error]).toEqual([
        500,
        'STORAGE_UNAVAILABLE',
      ]);
      expect(logged).toEqual([expect.objectContaining({ detail: expect.stringMatching(/EEXIST|ENOTDIR/u) })]);
    }
  });

  it('are off when they are switched off, and without a directory', async () => {
    const off = [
      { tus: { enabled: false } },
      { tus: undefined as never, stateDirectory: undefined as never },
    ];
    for (const options of off) {
      const service = await startTus(options);
      expect((await create(service.tus, 1, { filename: 'a.txt' })).status).toBe(404);
      expect((await service.call('permissions')).data['limits']).not.toHaveProperty('tus');
    }
    expect(() => createApp({ sources: {}, tus: {} }, {}, { logger: silent })).toThrow(/stateDirectory/u);
  });

  it('need no optional package', async () => {
    const bare = await installBare(`
      import { createApp } from 'stowage';
      const source = { title: 'a', baseurl: 'http://a.example/', storageAdapter: 'memory' };
      const app = createApp({ sources: { a: source }, tus: { directory: './parts' } });
      const headers = { 'tus-resumable': '1.0.0', 'upload-length': '1', 'upload-metadata': 'filename YS50eHQ=' };
      const answer = await app.fetch(new Request('http://localhost/tus', { method: 'POST', headers }));
      console.log(answer.status, await answer.text());
      await app.close();`);
    onTestFinished(() => bare.remove());
    expect((await bare.run()).stdout).toMatch(/^201 /u);
  });
});

describe('wrong requests', () => {
  it('are refused with a reason, and nothing is lost', async () => {
    const service = await startTus();
    const { address } = await create(service.tus, 6, { filename: 'a.txt' });
    await patch(address, 0, 'abc');
    const wrong: readonly [Promise<{ status: number; error: string | undefined }>, number, string][] = [
      [patch(address, 0, 'abc'), 409, 'OFFSET_CONFLICT'],
      [patch(address, 4, 'ef'), 409, 'OFFSET_CONFLICT'],
      [patch(address, -1, 'ef'), 400, 'INVALID_PARAMETERS'],
      [patch(address, '3x', 'ef'), 400, 'INVALID_PARAMETERS'],
      [patch(address, '1e1', 'ef'), 400, 'INVALID_PARAMETERS'],
      [patch(address, 3, 'def-too-much'), 413, 'BODY_TOO_LARGE'],
      [patch(address, 3, 'def', { 'content-type': 'text/plain' }), 415, 'UNSUPPORTED_MEDIA_TYPE'],
      [patch(address, 3, 'def', { 'content-encoding': 'gzip' }), 400, 'BROKEN_BODY'],
      [patch(address, 3, 'def', { 'tus-resumable': '0.2.0' }), 412, 'TUS_VERSION'],
      [patch(`${service.tus}/${'0'.repeat(40)}`, 0, 'abc'), 404, 'NOT_FOUND'],
      [ask('GET', service.tus), 405, 'METHOD_NOT_ALLOWED'],
      [patch(address, 3, 'def', { 'upload-length': '9' }), 501, 'UNSUPPORTED'],
      [ask('POST', address), 405, 'METHOD_NOT_ALLOWED'],
      [ask('POST', address, { 'x-http-method-override': 'GET' }), 405, 'METHOD_NOT_ALLOWED'],
      [ask('POST', service.tus, { 'x-http-method-override': 'DELETE' }), 405, 'METHOD_NOT_ALLOWED'],
      [ask('PATCH', service.tus), 405, 'METHOD_NOT_ALLOWED'],
    ];
    for (const [answer, status, error] of wrong) {
      const { status: got, error: told } = await answer;
      expect([got, told]).toEqual([status, error]);
    }
    const plain = await fetch(service.tus, { method: 'POST' });
    expect([plain.status, plain.headers.get('tus-version')]).toEqual([412, '1.0.0']);
    expect(await offsetOf(address)).toBe(3);
    const partType = { 'content-type': 'Application/Offset+Octet-Stream; charset=utf-8' };
    expect((await patch(address, 3, 'def', partType)).status).toBe(200);
    expect(await service.source('files').text('a.txt')).toBe('abcdef');
  });

  it('begin nothing', async () => {
    const service = await startTus({ maxUploadFileSize: '1kb' });
    const good = { filename: 'a.txt' };
    const named = (header: string) => create(service.tus, 1, {}, { 'upload-metadata': header });
    const wrong: readonly [ReturnType<typeof create>, number, string][] = [
      [create(service.tus, -1, good), 400, 'INVALID_PARAMETERS'],
      [create(service.tus, 'many', good), 400, 'INVALID_PARAMETERS'],
      [create(service.tus, '1.5', good), 400, 'INVALID_PARAMETERS'],
      [create(service.tus, 1025, good), 403, 'FILE_TOO_LARGE'],
      [create(service.tus, Number.MAX_SAFE_INTEGER, good), 403, 'FILE_TOO_LARGE'],
      [create(service.tus, 1, { filename: 'a.exe' }), 403, 'TYPE_NOT_ALLOWED'],
      [create(service.tus, 1, { filename: '.htaccess' }), 403, 'TYPE_NOT_ALLOWED'],
      [create(service.tus, 1, { filename: 'a\0.txt' }), 400, 'INVALID_PARAMETERS'],
      [create(service.tus, 1, { filename: ' ' }), 400, 'INVALID_PARAMETERS'],
      [create(service.tus, 1, { filetype: 'text/plain' }), 400, 'INVALID_PARAMETERS'],
      [create(service.tus, 1, { ...good, path: '../x' }), 400, 'INVALID_PARAMETERS'],
      [create(service.tus, 1, { ...good, path: 'missing' }), 404, 'NOT_FOUND'],
      [create(service.tus, 1, { ...good, source: 'other' }), 404, 'UNKNOWN_SOURCE'],
      [named('filename YS50eH'), 400, 'INVALID_PARAMETERS'],
      [named('filename /w=='), 400, 'INVALID_PARAMETERS'],
      [named('filename YS50eHQ=,filename YS50eHQ='), 400, 'INVALID_PARAMETERS'],
      [named(`filename YS50eHQ=,more ${'QUFB'.repeat(2000)}`), 400, 'INVALID_PARAMETERS'],
      [create(service.tus, '0x10', good), 400, 'INVALID_PARAMETERS'],
      [create(service.tus, '9'.repeat(20), good), 400, 'INVALID_PARAMETERS'],
      [create(service.tus, 1, { ...good, path: 'x/../../y' }), 400, 'INVALID_PARAMETERS'],
      [create(service.tus, 1, { ...good, path: '.stowage-trash' }), 404, 'NOT_FOUND'],
      [create(service.tus, 1, { ...good, source: '__proto__' }), 404, 'UNKNOWN_SOURCE'],
      [create(service.tus, 1, { filename: '..' }), 403, 'TYPE_NOT_ALLOWED'],
      [create(service.tus, 1, good, { 'upload-concat': 'partial' }), 501, 'UNSUPPORTED'],
      [create(service.tus, 1, good, { 'upload-concat': `final;/tus/${'0'.repeat(40)}` }), 501, 'UNSUPPORTED'],
      [create(service.tus, 1, good, { 'upload-concat': 'final;/tus/../x' }), 501, 'UNSUPPORTED'],
      [create(service.tus, 1, good, { 'upload-concat': 'final' }), 400, 'INVALID_PARAMETERS'],
      [create(service.tus, 1, good, { 'upload-defer-length': '1' }), 501, 'UNSUPPORTED'],
      [create(service.tus, 1, good, { 'upload-defer-length': '2' }), 400, 'INVALID_PARAMETERS'],
      [
        create(service.tus, 1, good, { 'upload-length': '', 'upload-defer-length': '1' }),
        400,
        'INVALID_PARAMETERS',
      ],
    ];
    for (const [answer, status, error] of wrong) {
      const { status: got, error: told } = await answer;
      expect([got, told]).toEqual([status, error]);
    }
    expect(await service.kept()).toEqual([]);
    expect(await service.source('files').paths()).toEqual([]);
  });
});

describe('an upload in parts ends as one in a form', () => {
  it('by rules, for the file that it is', async () => {
    const rules = [
      { FILE_UPLOAD: false },
      { role: 'editor', path: '/open', FILE_UPLOAD: true, extensions: ['txt'] },
    ];
    const checkAuthentication = ({ headers }: HookRequest): string => headers['x-role'] ?? 'guest';
    const service = await startTus({ accessControl: rules }, { checkAuthentication });
    await service.source('files').put({ 'open/': '', 'closed/': '' });
    const begin = (path: string, filename: string, role: string) =>
      create(service.tus, 1, { filename, path }, { 'x-role': role }).then(({ status }) => status);
    expect(await begin('open', 'a.txt', 'editor')).toBe(201);
    expect(await begin('open', 'a.png', 'editor')).toBe(403);
    expect(await begin('closed', 'a.txt', 'editor')).toBe(403);
    expect(await begin('open', 'a.txt', 'guest')).toBe(403);
  });

  it.each([
    ['addNumber', 200, { 'a-1.txt': 'new', 'a.txt': 'old' }],
    ['replace', 200, { 'a.txt': 'new' }],
    ['error', 400, { 'a.txt': 'old' }],
  ] as const)('when its name is taken under %s', async (strategy, status, files) => {
    const service = await startTus({ saveSameFileNameStrategy: strategy });
    const { address } = await create(service.tus, 3, { filename: 'a.txt' });
    // Taken while the bytes come.
    await service.source('files').put({ 'a.txt': 'old' });
    expect((await patch(address, 0, 'new')).status).toBe(status);
    expect(await service.source('files').paths()).toEqual(Object.keys(files));
    for (const [name, text] of Object.entries(files))
      expect(await service.source('files').text(name)).toBe(text);
    expect((await upload(service.tus, 'a.txt', 'new')).status).toBe(status === 400 ? 400 : 200);
    await expect.poll(() => service.kept()).toEqual([]);
  });

  it('by quota, before and after the bytes', async () => {
    const service = await startTus({ quota: { bytes: 1000 }, saveSameFileNameStrategy: 'replace' });
    await service.source('files').put({ 'a.txt': 'x'.repeat(500) });
    expect((await create(service.tus, 1001, { filename: 'a.txt' })).error).toBe('QUOTA_EXCEEDED');
    const { address } = await create(service.tus, 900, { filename: 'a.txt' });
    // What it was to replace, and would have taken the room of, goes while the bytes come.
    await service.call('fileRemove', { path: '', name: 'a.txt' });
    await service.upload([['files[0]', 'b.txt', 'x'.repeat(500)]]);
    const late = await patch(address, 0, 'x'.repeat(900));
    expect([late.status, late.error]).toEqual([413, 'QUOTA_EXCEEDED']);
    expect(await service.source('files').paths()).toEqual(['b.txt']);
    expect(await service.kept()).toEqual([]);
  });

  it('by content: pictures are turned and checked, drawings cleaned', async () => {
    const service = await startTus({ uploadImages: { maxWidth: 20 }, extensions: ['jpg', 'svg'] });
    const picture = await sharp(await quarters(80, 40).png().toBuffer())
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    const { data } = await upload(service.tus, 'a.jpg', picture);
    expect(data['items']).toMatchObject([{ name: 'a.jpg', width: 20, height: 40 }]);
    const { width, height } = await sharp(await service.source('files').bytes('a.jpg')).metadata();
    expect([width, height]).toEqual([20, 40]);
    expect((await upload(service.tus, 'b.jpg', 'no picture')).error).toBe('BROKEN_IMAGE');
    const drawing = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
    expect((await upload(service.tus, 'c.svg', drawing)).status).toBe(200);
    expect(await service.source('files').text('c.svg')).not.toContain('script');
    expect(await service.source('files').paths()).toEqual(['a.jpg', 'c.svg']);
    await expect.poll(() => service.kept()).toEqual([]);
  });

  it('with its events, which may rename and refuse it', async () => {
    const seen: unknown[] = [];
    const service = await startTus(
      {},
      {
        checkAuthentication: () => ({ role: 'editor', subject: 'anna' }),
        beforeEvent: ({ path }) => {
          if (path === 'no.txt') throw new HttpError(402, 'Please pay.');
          return 'other.txt';
        },
        onEvent: ({ type, path, bytes, subject }) => void seen.push([type, path, bytes, subject]),
      },
    );
    expect((await upload(service.tus, 'a.txt', 'abc')).data['files']).toEqual(['other.txt']);
    const refused = await upload(service.tus, 'no.txt', 'abc');
    expect([refused.status, refused.data['messages']]).toEqual([402, ['Please pay.']]);
    expect(seen).toEqual([['file.created', 'other.txt', 3, 'anna']]);
    expect(await service.source('files').paths()).toEqual(['other.txt']);
    await expect.poll(() => service.kept()).toEqual([]);
  });

  it('counted as one upload', async () => {
    const service = await startTus({ rateLimits: { uploads: { requests: 1, seconds: 3600 } } });
    const { address } = await create(service.tus, 3, { filename: 'a.txt' });
    for (const [index, text] of [...'abc'].entries()) await patch(address, index, text);
    expect(await service.source('files').text('a.txt')).toBe('abc');
    const second = await create(service.tus, 3, { filename: 'b.txt' });
    expect([second.status, second.error]).toEqual([429, 'RATE_LIMITED']);
  });

  it('and waits for a store that is down', async () => {
    const storageAdapter = `down-${randomUUID()}`;
    registerStorageAdapter(storageAdapter, {
      create: async (context) =>
        withFaults(await memoryFactory.create({ ...context, options: undefined }), [
          { operation: 'write', effect: 'fail-before', call: 1 },
          { operation: 'write', effect: 'fail-before', call: 2 },
        ]),
    });
    const service = await startTus({ sources: { files: { storageAdapter } } });
    const { address } = await create(service.tus, 3, { filename: 'a.txt' });
    expect((await patch(address, 0, 'abc')).status).toBe(500);
    // A client that only asks must not believe that all is done.
    expect((await ask('HEAD', address)).status).toBe(500);
    const together = await Promise.all([patch(address, 3, ''), ask('HEAD', address), patch(address, 3, '')]);
    // Whoever comes later interrupts.
    for (const { status } of together) expect([200, 409]).toContain(status);
    const done = await patch(address, 3, '');
    expect([done.status, done.data['files']]).toEqual([200, ['a.txt']]);
    const listed = (await service.call('files')).data['sources'] as { files: { name: string }[] }[];
    expect(listed[0]?.files.map(({ name }) => name)).toEqual(['a.txt']);
    expect(await (await service.get('fileDownload', { name: 'a.txt' })).text()).toBe('abc');
    await expect.poll(() => service.kept()).toEqual([]);
  });
});

describe('an unfinished upload', () => {
  it('belongs to the client that began it', async () => {
    const service = await startTus(
      {},
      {
        checkAuthentication: ({ headers: { 'x-user': subject, 'x-role': role = 'editor' } }) => {
          if (subject === undefined) throw new HttpError(401, 'Log in.');
          return { role, subject };
        },
      },
    );
    const anna = { 'x-user': 'anna' };
    const { address } = await create(service.tus, 3, { filename: 'a.txt' }, anna);
    for (const [headers, status] of [
      [{ 'x-user': 'bob' }, 404],
      [{ 'x-user': 'anna', 'x-role': 'guest' }, 404],
      [{}, 401],
    ] as const) {
      expect((await ask('HEAD', address, headers)).status).toBe(status);
      expect((await patch(address, 0, 'xyz', headers)).status).toBe(status);
      expect((await ask('DELETE', address, headers)).status).toBe(status);
      const override = { ...headers, 'x-http-method-override': 'DELETE' };
      expect((await ask('POST', address, override)).status).toBe(status);
    }
    expect((await patch(address, 0, 'abc', anna)).status).toBe(200);
    expect((await patch(address, 3, '', { 'x-user': 'bob' })).status).toBe(404);
    expect(await service.source('files').text('a.txt')).toBe('abc');
  });

  it('is removed when the client says so', async () => {
    const service = await startTus();
    const { address } = await create(service.tus, 6, { filename: 'a.txt' });
    await patch(address, 0, 'abc');
    const [bytes = ''] = await service.kept();
    expect(await readFile(bytes, 'utf8')).toBe('abc');
    expect((await ask('DELETE', address)).status).toBe(204);
    expect((await ask('HEAD', address)).status).toBe(404);
    expect(await service.kept()).toEqual([]);
  });

  it('expires some hours after its last byte', async () => {
    const service = await startTus();
    const { address } = await create(service.tus, 6, { filename: 'a.txt' });
    await patch(address, 0, 'abc');
    const [bytes = ''] = await service.kept();
    const directory = bytes.replace(/\/[^/]+\/bytes$/u, '');
    const bounds = { uploads: 9, bytes: 99 };
    const limits = { all: bounds, client: bounds, milliseconds: 60 * 60 * 1000 };
    const uploads = new UnfinishedUploads(directory, limits);
    await uploads.sweep(() => false);
    expect(await service.kept()).toEqual([bytes]);
    const soon = new UnfinishedUploads(directory, { ...limits, milliseconds: -1 });
    await soon.sweep(() => true);
    expect(await service.kept()).toEqual([bytes]);
    expect(await soon.find(address.split('/').at(-1) ?? '')).toBeUndefined();
    await soon.sweep(() => false);
    expect(await service.kept()).toEqual([]);
    expect(await readdir(directory)).toEqual([]);
    // Whoever has removed the bytes: the client begins anew.
    expect((await patch(address, 3, 'def')).status).toBe(404);
  });

  it('counts against the bounds of the service', async () => {
    const service = await startTus({ tus: { maxUploads: 2, maxBytes: '1kb', maxBytesPerClient: '1kb' } });
    const begin = (bytes: number) => create(service.tus, bytes, { filename: 'a.txt' });
    const first = await begin(600);
    expect((await begin(600)).status).toBe(503);
    expect((await begin(100)).status).toBe(201);
    const third = await begin(1);
    expect([third.status, third.error, third.headers.has('retry-after')]).toEqual([503, 'BUSY', true]);
    await ask('DELETE', first.address);
    expect((await begin(600)).status).toBe(201);
  });

  it('counts no longer when it has expired', async () => {
    const service = await startTus({ tus: { maxUploads: 1, hours: 1e-5 } });
    const { address } = await create(service.tus, 6, { filename: 'a.txt' });
    await expect.poll(async () => (await ask('HEAD', address)).status).toBe(404);
    expect((await create(service.tus, 6, { filename: 'a.txt' })).status).toBe(201);
  });

  it.each([
    ['user', { 'x-user': 'anna' }, { 'x-user': 'bob' }],
    ['address', { 'x-forwarded-for': '192.0.2.1' }, { 'x-forwarded-for': '192.0.2.2' }],
  ])('counts against the bounds of its client: the %s', async (_what, anna, bob) => {
    const tus = { maxUploads: 9, maxBytes: '1kb', maxUploadsPerClient: 2, maxBytesPerClient: 500 } as const;
    const service = await startTus(
      { tus, trustedProxies: ['127.0.0.1'] },
      { checkAuthentication: ({ headers }) => ({ role: 'guest', subject: headers['x-user'] }) },
    );
    const begin = async (bytes: number, headers: Record<string, string>): Promise<number> =>
      (await create(service.tus, bytes, { filename: 'a.txt' }, headers)).status;
    // One that is larger than the bound may be the only one.
    expect(await begin(600, anna)).toBe(201);
    expect(await begin(1, anna)).toBe(503);
    for (const status of [201, 201, 503]) expect(await begin(100, bob)).toBe(status);
    expect(await begin(1, {})).toBe(201);
  });
});
