import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConnectorError, createClient } from 'stowage/client';
import { HttpError } from 'stowage';
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest';
import { startService } from '../protocol/service.ts';

/** What stands in front of a service that is down. */
const startProxy = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
};

describe('the client', () => {
  it('uploads, lists and downloads', async () => {
    const service = await startService();
    const client = createClient({ url: `${service.url}/` });
    const bytes = new Uint8Array([0, 13, 10, 255]);
    const stored = await client.fileUpload({
      files: [new File([bytes], 'שלום & 1.txt'), new File(['b'], 'b.txt')],
    });
    expect(stored.files).toEqual(['שלום & 1.txt', 'b.txt']);
    const { sources } = await client.files({ mods: { filterWord: '&', limit: 5 } });
    expect(sources.map(({ files }) => files.map(({ name }) => name))).toEqual([['שלום & 1.txt']]);
    const answer = await client.fileDownload({ name: 'שלום & 1.txt' });
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(bytes);
  });

  it('has types of its own for every action', () => {
    const client = createClient({ url: '/connector' });
    expectTypeOf(client.fileDownload).returns.resolves.toEqualTypeOf<Response>();
    const saved = () => client.generatePdf({ html: '', name: 'a' });
    expectTypeOf(saved).returns.resolves.toHaveProperty('files').toEqualTypeOf<readonly string[]>();
    expectTypeOf(() => client.generatePdf({ html: '' })).returns.resolves.toEqualTypeOf<Response>();
    expectTypeOf(client.imageLoad).returns.resolves.toHaveProperty('content').toEqualTypeOf<string>();
    expectTypeOf(client.files).toBeCallableWith();
    expectTypeOf(client.files).parameter(0).toExtend<{ readonly path?: string | undefined } | undefined>();
    expectTypeOf(client.fileRename).parameter(0).toHaveProperty('newname').toEqualTypeOf<string>();
  });

  it('throws what the service says', async () => {
    const service = await startService({ accessControl: [{ FILE_REMOVE: false }] });
    await service.source('files').put({ 'a.txt': 'a' });
    const client = createClient({ url: service.url });
    await expect(client.fileRemove({ name: 'a.txt' })).rejects.toMatchObject({
      code: 403,
      error: 'ACCESS_DENIED',
    });
    const error = await client.fileRename({ name: ' ', newname: ' ' }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConnectorError);
    expect(error).toMatchObject({ code: 400, messages: [expect.any(String), expect.any(String)] });
    expect(await service.source('files').text('a.txt')).toBe('a');
  });

  it('knows an error by its body, whatever the status line says', async () => {
    const service = await startService({ errorHttpStatus: false });
    const client = createClient({ url: service.url });
    await expect(client.fileRemove({ name: 'a.txt' })).rejects.toMatchObject({ code: 404 });
    await expect(client.fileDownload({ name: 'a.txt' })).rejects.toMatchObject({ code: 404 });
  });

  it('recognises that a page of another program is not a response', async () => {
    const page = await startProxy((_, response) =>
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>'),
    );
    const client = createClient({ url: page });
    await expect(client.files()).rejects.toMatchObject({ code: 502, error: undefined, messages: [] });
    await expect(client.fileDownload({ name: 'a.txt' })).rejects.toMatchObject({ code: 502, messages: [] });
  });

  it('takes no login page for the file that was asked for', async () => {
    const page = await startProxy((_, response) =>
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<title>Log in</title>'),
    );
    const download = createClient({ url: page }).fileDownload({ name: 'a.txt' });
    await expect(download).rejects.toMatchObject({ code: 200, messages: [], reason: 'Log in' });
  });

  const foreign = [
    '',
    '{"success":fal',
    'null',
    '{"success":false,"data":null}',
    '{"success":true,"data":null}',
  ];
  it.each(foreign)('recognises that JSON of another program is not a response: %j', async (body) => {
    const page = await startProxy((_, response) =>
      response.writeHead(503, { 'content-type': 'application/json' }).end(body),
    );
    const error = await createClient({ url: page })
      .files()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConnectorError);
    expect(error).toMatchObject({ code: 503, messages: [] });
  });

  it('asks for the headers of each request', async () => {
    const service = await startService(
      {},
      {
        checkAuthentication: ({ headers }) => {
          if (headers['authorization'] !== 'Bearer 2') throw new HttpError(401, 'Please sign in.');
          return 'editor';
        },
      },
    );
    let count = 0;
    const client = createClient({
      url: service.url,
      headers: async () => ({ Authorization: `Bearer ${String((count += 1))}` }),
    });
    await expect(client.permissions()).rejects.toMatchObject({ code: 401, message: 'Please sign in.' });
    expect((await client.permissions()).permissions.allowFiles).toBe(true);
  });

  it('can be broken off', async () => {
    const never = await startProxy(() => undefined);
    const controller = new AbortController();
    const listing = createClient({ url: never }).files({}, { signal: controller.signal });
    controller.abort();
    await expect(listing).rejects.toMatchObject({ name: 'AbortError' });
  });
});
