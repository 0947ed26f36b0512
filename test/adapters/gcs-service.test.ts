import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import sharp from 'sharp';
import { createApp, type App, type StorageAdapterOptions } from 'stowage';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { GcsAdapter, SourcePath, parseGcsOptions } from '../../dist/internals.js';
import { silent } from '../protocol/service.ts';
import { inPieces, outcomeOf } from './outcomes.ts';
import { FaultProxy } from './servers/fault-proxy.ts';
import { startGcs, type GcsServer } from './servers/gcs-login.ts';

type Options = NonNullable<StorageAdapterOptions['gcs']>;

const MB = 1024 * 1024;
const at = (text: string) => SourcePath.parse(text);

const operationOf = ({ method = '', url = '' }: IncomingMessage): string => {
  const { searchParams, pathname } = new URL(url, 'http://proxy');
  if (pathname.includes('/rewriteTo/')) return 'COPY';
  if (searchParams.has('upload_id')) return `${method} session`;
  if (searchParams.has('uploadType')) return `POST ${searchParams.get('uploadType') ?? ''}`;
  return searchParams.get('alt') === 'media' ? 'media' : method;
};

describe('a source in a bucket of Google Cloud Storage', () => {
  let server: GcsServer;
  let proxy: FaultProxy;

  beforeAll(async () => {
    server = await startGcs('secret-bucket');
    proxy = await FaultProxy.start(server.emulator.endpoint, operationOf);
  });
  afterEach(() => {
    proxy.reset();
    server.emulator.sessionsAt = undefined;
  });
  afterAll(async () => {
    await proxy?.close();
    await server?.stop();
  });

  const optionsOf = (more: Partial<Options> = {}) => ({
    bucket: server.emulator.bucket,
    endpoint: server.emulator.endpoint,
    credentialsFile: server.credentialsFile,
    ...more,
    prefix: randomUUID(),
  });

  const openApp = (gcs: Options, more: object = {}): App => {
    const source = { title: 'Files', baseurl: 'https://f.test/', storageAdapter: 'gcs', gcs, ...more };
    const app = createApp({ sources: { files: source } }, {}, { logger: silent });
    onTestFinished(() => app.close());
    return app;
  };

  const call = async (app: App, path: string, body?: FormData) => {
    const init = body === undefined ? {} : { method: 'POST', body };
    const answer = await app.fetch(new Request(`http://service${path}`, init));
    const { data } = (await answer.json()) as { data: Record<string, unknown> };
    return { status: answer.status, ...data };
  };

  /** A store behind the proxy, whose upload sessions are there too. */
  const openStore = (more: Partial<Options> = {}) => {
    server.emulator.sessionsAt = proxy.endpoint;
    const options = optionsOf({ endpoint: proxy.endpoint, ...more });
    const parsed = parseGcsOptions(options);
    if ('problems' in parsed) throw new Error(parsed.problems.join('; '));
    const adapter = new GcsAdapter(parsed.value);
    onTestFinished(() => adapter.close());
    return { adapter, prefix: `${options.prefix}/` };
  };

  it('uploads, lists with thumbnails, downloads, renames, copies, moves and removes', async () => {
    const options = optionsOf({ cacheControl: 'max-age=60', storageClass: 'NEARLINE' });
    const app = openApp(options);
    const key = (name: string) => `${options.prefix}/${name}`;
    const kept = (name: string) => server.emulator.objects.get(key(name));
    const picture = await sharp({ create: { width: 800, height: 600, channels: 3, background: '#36c' } })
      .jpeg()
      .toBuffer();
    const form = new FormData();
    form.set('files[0]', new Blob([new Uint8Array(picture)]), 'blau ü.jpg');
    form.set('files[1]', new Blob(['text']), 'notes.txt');
    expect(await call(app, '/fileUpload', form)).toMatchObject({
      status: 200,
      files: ['blau ü.jpg', 'notes.txt'],
    });
    const stored = { cacheControl: 'max-age=60', storageClass: 'NEARLINE' };
    expect(kept('blau ü.jpg')).toMatchObject({
      content: picture,
      attributes: { ...stored, contentType: 'image/jpeg' },
    });

    const listing = (await call(app, '/files?mods[sortBy]=name-asc')) as unknown as {
      sources: { files: { thumb: string }[] }[];
    };
    const thumb = kept(listing.sources[0]?.files[0]?.thumb ?? '')?.content;
    expect((await sharp(thumb).metadata()).width).toBe(250);
    const download = await app.fetch(
      new Request(`http://service/fileDownload?name=${encodeURIComponent('blau ü.jpg')}`),
    );
    expect(Buffer.from(await download.arrayBuffer())).toEqual(picture);

    expect((await call(app, '/folderCreate?name=sub')).status).toBe(200);
    expect((await call(app, '/fileRename?name=notes.txt&newname=renamed')).status).toBe(200);
    expect((await call(app, '/fileCopy?from=renamed.txt')).status).toBe(200);
    expect((await call(app, '/fileMove?from=renamed.txt&path=sub')).status).toBe(200);
    expect(server.emulator.keys(key('sub/'))).toEqual(['', 'renamed.txt']);
    expect(kept('sub/renamed.txt')).toMatchObject({
      content: Buffer.from('text'),
      attributes: { ...stored, contentType: 'text/plain; charset=utf-8' },
    });
    expect((await call(app, '/folderRename?name=sub&newname=moved')).status).toBe(200);
    expect((await call(app, '/folderRemove?name=moved')).status).toBe(200);
    const left = server.emulator.keys(key('')).filter((name) => !name.startsWith('_thumbs'));
    expect(left).toEqual(['blau ü.jpg', 'renamed (1).txt']);
  });

  it('gives a name to one of many writers, whatever their sizes', async () => {
    const { adapter, prefix } = openStore();
    const sizes = [1, 9 * MB, 2, 9 * MB + 1];
    const outcomes = await Promise.all(
      sizes.map((size, index) => {
        const content = inPieces(Buffer.alloc(size, index));
        const parsed = parseGcsOptions(optionsOf());
        if ('problems' in parsed) throw new Error('refused');
        const other = new GcsAdapter({ ...parsed.value, prefix });
        onTestFinished(() => other.close());
        return outcomeOf(
          (index % 2 ? other : adapter).write(at('one.bin'), content, { createOnly: true }),
          [],
        );
      }),
    );
    const won = outcomes.findIndex((outcome) => outcome === 'succeeded');
    expect(outcomes.filter((outcome) => outcome === 'ALREADY_EXISTS')).toHaveLength(3);
    expect(server.emulator.objects.get(`${prefix}one.bin`)?.content.length).toBe(sizes[won]);
  });

  it('keeps nothing of an upload that is cut off, and the old file under its name', async () => {
    const { adapter, prefix } = openStore();
    await adapter.write(at('old.bin'), inPieces(Buffer.from('old')));
    const abort = new AbortController();
    const pieces = (end: () => void): Readable =>
      Readable.from(
        (async function* () {
          for (let sent = 0; sent < 20; sent += 1) {
            yield Buffer.alloc(MB);
            await turn();
          }
          end();
          yield Buffer.alloc(MB);
        })(),
        { objectMode: false },
      );
    const aborted = pieces(() => abort.abort(new Error('gone')));
    await expect(adapter.write(at('old.bin'), aborted, { signal: abort.signal })).rejects.toThrow('gone');
    const broken = pieces(() => {
      throw new Error('broken');
    });
    await expect(adapter.write(at('new.bin'), broken)).rejects.toThrow('broken');
    expect(server.emulator.keys(prefix)).toEqual(['old.bin']);
    expect(server.emulator.sessions.size).toBe(0);
    expect(String(await buffer((await adapter.read(at('old.bin'))).stream))).toBe('old');
  });

  it('recognises its own writes and copies whose answers were lost', async () => {
    const { adapter, prefix } = openStore();
    const bytes = Buffer.from(
      Uint8Array.from({ length: 17 * MB + 5 }, (_, index) => (index * 31 + (index >> 8)) & 255),
    );
    for (const [operation, size, from] of [
      ['POST multipart', 5, 1],
      ['PUT session', 17 * MB + 5, 2],
      ['PUT session', 17 * MB + 4, 3],
    ] as const) {
      proxy.fail({ operation, effect: { kind: 'lose' }, from, times: 1 });
      const name = `${String(size)}.bin`;
      const content = bytes.subarray(0, size);
      const { etag } = await adapter.write(at(name), inPieces(content), { createOnly: true });
      expect((await adapter.stat(at(name))).etag).toBe(etag);
      expect(server.emulator.objects.get(`${prefix}${name}`)?.content.equals(content)).toBe(true);
    }
    // In several steps, and the last answer is lost.
    proxy.fail({ operation: 'COPY', effect: { kind: 'lose' }, from: 5, times: 1 });
    const large = at(`${String(17 * MB + 5)}.bin`);
    await adapter.copyFile(large, at('copy.bin'), { createOnly: true });
    expect(server.emulator.objects.get(`${prefix}copy.bin`)?.content.equals(bytes)).toBe(true);
    expect(await outcomeOf(adapter.copyFile(large, at('copy.bin'), { createOnly: true }), [])).toBe(
      'ALREADY_EXISTS',
    );
  });

  it('goes on after the server is silent or away for a moment, and ends with the signal', async () => {
    const { adapter } = openStore({ timeout: 2 });
    await adapter.write(at('a.bin'), inPieces(Buffer.alloc(3 * MB, 1)));
    proxy.fail({ operation: 'GET', effect: { kind: 'stall' }, times: 1 });
    expect((await adapter.stat(at('a.bin'))).size).toBe(3 * MB);
    proxy.fail({ operation: 'GET', effect: { kind: 'answer', status: 503 }, times: 2 });
    expect((await adapter.stat(at('a.bin'))).size).toBe(3 * MB);
    proxy.fail({ operation: 'media', effect: { kind: 'cut' } });
    const { stream } = await adapter.read(at('a.bin'));
    expect(await outcomeOf(buffer(stream), ['secret-bucket', '127.0.0.1'])).toMatch(/^STORAGE_|^CORRUPT/u);
    proxy.fail({ operation: 'GET', effect: { kind: 'stall' } });
    const abort = new AbortController();
    const waiting = adapter.stat(at('a.bin'), { signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });

  it('says nothing of the bucket when the login is wrong or nobody answers', async () => {
    for (const more of [
      { credentialsFile: server.strangersFile },
      { credentialsFile: '/missing/secret.json' },
      { bucket: 'other-secret-bucket' },
      { endpoint: 'http://127.0.0.1:9', maxAttempts: 1 },
    ]) {
      const app = openApp(optionsOf(more));
      for (const path of ['/files?source=files', '/folderCreate?source=files&name=a']) {
        const answer = await app.fetch(new Request(`http://service${path}`));
        expect([403, 500, 503]).toContain(answer.status);
        expect(await answer.text()).not.toMatch(/secret|127\.0\.0\.1|tests\.iam|missing\//u);
      }
    }
  });

  it('sends readers to a URL of the private bucket that expires', async () => {
    const options = optionsOf();
    const app = openApp(options, { serve: 'public', delivery: 'redirect' });
    server.emulator.put(`${options.prefix}/trip/Köln (1)*.html`, '<script>alert(1)</script>');
    const answer = await app.fetch(new Request('http://service/file/files/trip/K%C3%B6ln%20(1)*.html'));
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([302, 'private, max-age=240']);
    const location = answer.headers.get('location') ?? '';
    expect(new URL(location).searchParams.get('X-Goog-Expires')).toBe('300');
    const file = await fetch(location, { headers: { range: 'bytes=1-6' } });
    expect([file.status, await file.text()]).toEqual([206, 'script']);
    expect(file.headers.get('content-disposition')).toMatch(/^attachment;/u);
    expect((await fetch(location.replace('Expires=300', 'Expires=301'))).status).toBe(403);
    expect((await fetch(location.split('?')[0] ?? '')).ok).toBe(false);
  });
});
