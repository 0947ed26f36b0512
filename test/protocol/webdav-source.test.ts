import { createServer, request as httpRequest, type Server } from 'node:http';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import sharp from 'sharp';
import { createApp } from 'stowage';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { DavStub } from '../../tools/test-servers/webdav-stub.js';
import { login, programs, startApache, type DavServer } from '../../tools/test-servers/webdav.js';
import { startService } from './service.js';

const nothing = (): void => undefined;
const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Passes everything on and notes the methods. */
const startCounter = async (target: URL): Promise<{ server: Server; url: string; methods: string[] }> => {
  const methods: string[] = [];
  const server = createServer((incoming, outgoing) => {
    methods.push(incoming.method ?? '');
    const passed = httpRequest(
      {
        host: target.hostname,
        port: target.port,
        method: incoming.method,
        path: incoming.url,
        headers: incoming.headers,
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${String(port)}${target.pathname}`, methods };
};

describe.skipIf(!programs.apache)(
  `a source on WebDAV${programs.apache ? '' : ' (apache2 is not installed)'}`,
  () => {
    let dav: DavServer;
    let counter: Awaited<ReturnType<typeof startCounter>>;
    let app: ReturnType<typeof createApp>;

    beforeAll(async () => {
      dav = await startApache('basic');
      counter = await startCounter(new URL(dav.url));
      const source = {
        title: 'Dav',
        baseurl: 'https://files.example/',
        storageAdapter: 'webdav',
        webdav: { url: counter.url, ...login },
      };
      app = createApp({ sources: { dav: source } }, {}, { logger });
    });
    afterAll(async () => {
      await app.close();
      counter.server.closeAllConnections();
      counter.server.close();
      await dav.stop();
    });

    const call = async (path: string, body?: FormData): Promise<Record<string, unknown>> => {
      const answer = await app.fetch(
        new Request(`http://service${path}`, body === undefined ? {} : { method: 'POST', body }),
      );
      return { status: answer.status, ...((await answer.json()) as { data: Record<string, unknown> }).data };
    };

    it('uploads, lists with thumbnails, renames, copies, moves and removes', async () => {
      const picture = await sharp({ create: { width: 800, height: 600, channels: 3, background: '#36c' } })
        .jpeg()
        .toBuffer();
      const form = new FormData();
      form.set('files[0]', new Blob([new Uint8Array(picture)]), 'blau ü.jpg');
      form.set('files[1]', new Blob(['text']), 'notes.txt');
      expect(await call('/fileUpload', form)).toMatchObject({
        status: 200,
        files: ['blau ü.jpg', 'notes.txt'],
      });
      expect(await readFile(join(dav.data, 'blau ü.jpg'))).toEqual(picture);

      const listing = (await call('/files?mods[sortBy]=name-asc')) as {
        sources: { files: { thumb: string }[] }[];
      };
      const thumb = listing.sources[0]?.files[0]?.thumb ?? '';
      const { width, height } = await sharp(join(dav.data, thumb)).metadata();
      expect([width, height]).toEqual([250, 188]);

      expect(await call('/folderCreate?name=sub')).toMatchObject({ status: 200 });
      expect(await call('/fileRename?name=notes.txt&newname=renamed')).toMatchObject({ status: 200 });
      expect(await call('/fileCopy?from=renamed.txt')).toMatchObject({ status: 200 });
      expect(await call('/fileMove?from=renamed.txt&path=sub')).toMatchObject({ status: 200 });
      expect(await readdir(join(dav.data, 'sub'))).toEqual(['renamed.txt']);
      expect(await call('/folderRename?name=sub&newname=moved')).toMatchObject({ status: 200 });
      expect(await call('/folderRemove?name=moved')).toMatchObject({ status: 200 });
      expect((await readdir(dav.data)).sort()).toEqual(['_thumbs', 'blau ü.jpg', 'renamed (1).txt']);
    });

    it('lists a folder with its thumbnails by two PROPFINDs', async () => {
      await call('/files');
      counter.methods.length = 0;
      expect(await call('/files')).toMatchObject({ status: 200 });
      expect(counter.methods).toEqual(['PROPFIND', 'PROPFIND']);
    });

    it('says nothing of the server when it is gone', async () => {
      const source = {
        title: 'Dav',
        baseurl: 'https://files.example/',
        storageAdapter: 'webdav',
        webdav: { url: 'http://127.0.0.1:9/secret-name/', timeout: 2 },
      };
      const lost = createApp({ sources: { dav: source } }, {}, { logger });
      const answer = await lost.fetch(new Request('http://service/files'));
      const text = await answer.text();
      expect(answer.status).toBe(500);
      expect(text).not.toMatch(/127\.0\.0\.1|secret-name|ECONN/u);
      await lost.close();
    });
  },
);

it('edits pictures, makes thumbnails and copies elsewhere where the server reports no sizes and times', async () => {
  const stub = await DavStub.start({ untold: ['getcontentlength', 'getlastmodified'] });
  onTestFinished(() => stub.close());
  const dav = { storageAdapter: 'webdav', webdav: { url: stub.url }, root: '/' };
  const service = await startService({ sources: { dav, disk: {} } });
  const picture = await sharp({ create: { width: 80, height: 60, channels: 3, background: '#36c' } })
    .png()
    .toBuffer();
  const uploaded = await service.upload([['files[0]', 'a.png', new Uint8Array(picture)]], { source: 'dav' });
  expect(uploaded.status).toBe(200);
  const box = { 'box[w]': '40', 'box[h]': '30' };
  expect((await service.call('imageResize', { source: 'dav', name: 'a.png', ...box })).status).toBe(200);
  const from = { fromSource: 'dav', from: 'a.png' };
  expect((await service.call('fileCopy', { source: 'disk', ...from })).status).toBe(200);
  const { width, height } = await sharp(await service.source('disk').bytes('a.png')).metadata();
  expect([width, height]).toEqual([40, 30]);
  const { data } = await service.call('files', { source: 'dav' });
  expect(data).toMatchObject({ sources: [{ files: [{ file: 'a.png', thumb: '_thumbs/a.png' }] }] });
});
