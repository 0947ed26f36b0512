import { mkdtemp, readdir, readlink } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express, { type Express, type Request } from 'express';
import multer from 'multer';
import { createRouter } from 'stowage';
import { afterAll, describe, expect, it } from 'vitest';
import { memoryConfig } from './hosts.ts';

const quiet = { logger: { debug() {}, info() {}, warn() {}, error() {} } };
const servers: Server[] = [];

afterAll(() => {
  for (const server of servers) server.close();
});

const mount = async (prepare: (app: Express) => void): Promise<string> => {
  const app = express();
  prepare(app);
  app.use('/fb', createRouter({ ...memoryConfig, accessControl: [] }, {}, quiet).handler);
  const server = createServer(app);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/fb`;
};

const post = async (url: string, type: string, body: string) => {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body });
  return { status: response.status, body: (await response.json()) as { data: Record<string, unknown> } };
};

const upload = async (url: string, field = 'files[0]') => {
  const form = new FormData();
  form.append('path', 'deep');
  form.append(field, new Blob(['hello']), 'фото.txt');
  form.append('mods[x]', '1');
  const response = await fetch(`${url}/fileUpload`, { method: 'POST', body: form });
  return { status: response.status, body: (await response.json()) as unknown };
};

const makeFolder = (url: string) => fetch(`${url}/folderCreate?name=deep`);

describe('a body that the host has parsed', () => {
  it('counts when express.json() or express.urlencoded() came first', async () => {
    const url = await mount((app) => {
      app.use(express.json(), express.urlencoded({ extended: true }));
    });
    const json = '{"action":"folderCreate","name":"a","path":"","mods[x]":"1","__proto__":{"y":1}}';
    expect(await post(url, 'application/json', json)).toMatchObject({ status: 200 });
    expect(await post(url, 'application/x-www-form-urlencoded', 'action=folderCreate&name=b')).toMatchObject({
      status: 200,
    });
    const { body } = await post(url, 'application/x-www-form-urlencoded', 'action=folders');
    expect(body.data['sources']).toMatchObject([{ folders: ['.', 'a', 'b'] }]);
    expect((await post(url, 'application/json', '[1]')).status).toBe(404);
    // What they leave alone still arrives.
    await makeFolder(url);
    expect(await upload(url)).toMatchObject({ status: 200, body: { data: { files: ['deep/фото.txt'] } } });
  });

  it('counts when it was kept as text or bytes', async () => {
    for (const parser of [express.text({ type: '*/*' }), express.raw({ type: '*/*' })]) {
      const url = await mount((app) => {
        app.use(parser);
      });
      expect(await post(url, 'application/json', '{"action":"ping"}')).toMatchObject({ status: 404 });
      expect(await post(url, 'application/json', '{"action":"folderCreate","name":"a"}')).toMatchObject({
        status: 200,
      });
      expect(await post(url, 'application/json', '{"action"')).toMatchObject({ status: 400 });
      const form = new FormData();
      form.append('files[0]', new Blob(['Größe']), 'a.txt');
      expect((await fetch(`${url}/fileUpload`, { method: 'POST', body: form })).status).toBe(200);
    }
  });

  it('counts with its files when multer kept them in memory or on disk', async () => {
    const dest = await mkdtemp(join(tmpdir(), 'stowage-multer-'));
    const parsers = [
      multer().any(),
      multer({ dest }).any(),
      multer().array('files[0]'),
      multer().single('files[0]'),
      multer().fields([{ name: 'files[0]' }]),
    ];
    for (const parser of parsers) {
      const url = await mount((app) => {
        app.use(parser);
      });
      await makeFolder(url);
      expect(await upload(url)).toMatchObject({ status: 200, body: { data: { files: ['deep/фото.txt'] } } });
      const download = await fetch(`${url}/fileDownload?path=deep&name=${encodeURIComponent('фото.txt')}`);
      expect(await download.text()).toBe('hello');
    }
    // The host's own temporary files are the host's to remove.
    expect(await readdir(dest)).toHaveLength(1);
  });

  it('leaves no file open when it is refused', async () => {
    const dest = await mkdtemp(join(tmpdir(), 'stowage-multer-'));
    const url = await mount((app) => {
      app.use(multer({ dest }).any());
    });
    const open = async (): Promise<number> => {
      const links = (await readdir('/proc/self/fd')).map((fd) =>
        readlink(`/proc/self/fd/${fd}`).catch(() => ''),
      );
      return (await Promise.all(links)).filter((link) => link.startsWith(dest)).length;
    };
    for (let round = 0; round < 10; round += 1) {
      const form = new FormData();
      form.append('source', 'nowhere');
      form.append('files[0]', new Blob(['hello']), 'a.txt');
      expect((await fetch(`${url}/fileUpload`, { method: 'POST', body: form })).status).toBe(404);
    }
    await expect.poll(open).toBe(0);
  });

  it('keeps to the rules for uploads all the same', async () => {
    const url = await mount((app) => {
      app.use(multer().any());
    });
    await makeFolder(url);
    expect(await upload(url, 'avatar')).toMatchObject({ status: 400 });
    const form = new FormData();
    form.append('files[0]', new Blob([new Uint8Array(17 * 1024 * 1024)]), 'a.bin');
    expect((await fetch(`${url}/fileUpload`, { method: 'POST', body: form })).status).toBe(403);
  });

  it('arrives whole where a middleware reads along', async () => {
    const seen: Buffer[] = [];
    let ended = 0;
    const url = await mount((app) => {
      app.use((request, _response, next) => {
        request.on('data', (chunk: Buffer) => seen.push(chunk)).on('end', () => (ended += 1));
        next();
      });
    });
    await makeFolder(url);
    expect(await upload(url)).toMatchObject({ status: 200, body: { data: { files: ['deep/фото.txt'] } } });
    expect(Buffer.concat(seen).toString()).toContain('hello');
    const json = '{"action":"folderCreate","name":"a"}';
    expect(await post(url, 'application/json', json)).toMatchObject({ status: 200 });
    // A body that no action reads.
    expect((await post(`${url}/nonsense`, 'text/plain', 'x'.repeat(100_000))).status).toBe(404);
    expect((await post(`${url}/nonsense`, 'text/plain', 'x')).status).toBe(404);
    // With the request that makes the folder.
    await expect.poll(() => ended).toBe(5);
  });

  it('is refused where its files were read as text: their bytes are lost', async () => {
    type Read = (request: Request, next: () => void) => void;
    const readers: readonly Read[] = [
      (request, next) => {
        request.setEncoding('utf8');
        next();
      },
      (request, next) => {
        let text = '';
        request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        request.on('end', () => {
          request.body = text;
          next();
        });
      },
    ];
    for (const read of readers) {
      const url = await mount((app) => {
        app.use((request, _response, next) => read(request, next));
      });
      const json = '{"action":"folderCreate","name":"ä"}';
      expect(await post(url, 'application/json', json)).toMatchObject({ status: 200 });
      const form = new FormData();
      form.append('files[0]', new Blob([Uint8Array.of(0x89, 0x50, 0xff)]), 'a.bin');
      const answer = await fetch(`${url}/fileUpload`, { method: 'POST', body: form });
      expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('read the body')]);
      expect(await (await fetch(`${url}/files`)).text()).not.toContain('a.bin');
    }
  });

  it('is missed with a word about the cause when another parser has kept it for itself', async () => {
    type Keep = (request: { body?: unknown; files?: unknown }) => void;
    const parsers: Readonly<Record<string, Keep>> = {
      'nothing is left': () => undefined,
      'fields beside files of another kind, as express-fileupload leaves them': (request) => {
        request.body = { path: '' };
        request.files = { 'files[0]': { name: 'a.txt', data: Buffer.from('hello') } };
      },
      'a list of files of another kind': (request) => {
        request.body = {};
        request.files = { 'files[]': [{ name: 'a.txt', tempFilePath: '/nowhere' }] };
      },
    };
    for (const [title, keep] of Object.entries(parsers)) {
      const url = await mount((app) => {
        app.use((request, _response, next) => {
          request.resume().on('end', () => {
            keep(request as { body?: unknown; files?: unknown });
            next();
          });
        });
      });
      const answer = await upload(url);
      expect(answer, title).toMatchObject({
        status: 400,
        body: {
          data: { messages: [expect.stringMatching(/read the body before .* reached the connector/u)] },
        },
      });
      expect(await post(url, 'application/json', '{"action":"files"}'), title).toMatchObject(
        title === 'nothing is left' ? { status: 400 } : {},
      );
      expect((await fetch(`${url}/files`)).status, title).toBe(200);
      expect((await fetch(`${url}/files`, { method: 'POST' })).status, title).toBe(200);
      expect((await post(`${url}/files`, 'application/json', '')).status, title).toBe(200);
    }
  });
});
