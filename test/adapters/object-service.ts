import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { createApp, type App, type StorageAdapterOptions } from 'stowage';
import { expect, it, onTestFinished } from 'vitest';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { SourcePath } from 'stowage/storage';
import { silent } from '../protocol/service.ts';
import { inPieces, outcomeOf } from './outcomes.ts';
import type { FaultProxy } from '../../tools/test-servers/fault-proxy.ts';

export const MB = 1024 * 1024;
export const at = (text: string): SourcePath => SourcePath.parse(text);

/** An object as the service has it. */
interface KeptObject {
  readonly content: Buffer;
  readonly contentType: string | undefined;
  readonly cacheControl: string | undefined;
  readonly storageClass: string | undefined;
}

interface Attributes {
  readonly cacheControl: string;
  readonly contentDisposition: string;
  readonly contentLanguage: string;
  readonly metadata: Record<string, string>;
}

/** A service of objects under keys, seen past the adapter. */
export interface ObjectService {
  readonly storageAdapter: 'azure' | 'gcs';
  /** Options that say how objects are stored: for an hour of caching, and in this class. */
  readonly storing: { readonly options: object; readonly storageClass: string };
  /** Options of a source below this prefix. */
  readonly optionsOf: (prefix: string) => object;
  readonly kept: (key: string) => Promise<KeptObject>;
  readonly put: (key: string, content: string | Buffer) => Promise<void>;
  /** Gives an object these attributes, and reads them: the rest is that of the write that stored it. */
  readonly setAttributes: (key: string, attributes: Attributes) => Promise<unknown>;
  readonly attributes: (key: string) => Promise<object>;
  /** Keys that begin so, without that beginning, sorted. */
  readonly keys: (prefix: string) => Promise<readonly string[]>;
  /** A store below this prefix, behind the proxy. It waits two seconds for data. */
  readonly openStore: (prefix: string) => StorageAdapter;
  readonly proxy: FaultProxy;
  /** How the proxy calls a look at an object, and a download. */
  readonly operations: { readonly look: string; readonly download: string };
  /** What no error may tell. */
  readonly secrets: readonly string[];
  /** What a redirect says of its end. */
  readonly expectEnd: (location: URL) => void;
}

/** A service with one source. */
export const openServiceWith = (
  storageAdapter: keyof StorageAdapterOptions,
  options: object,
  more: object = {},
): App => {
  const source = {
    title: 'Files',
    baseurl: 'https://f.test/',
    storageAdapter,
    [storageAdapter]: options,
    ...more,
  };
  const app = createApp({ sources: { files: source } }, {}, { logger: silent });
  onTestFinished(() => app.close());
  return app;
};

/** Calls an action of a service. */
export const callIn = async (app: App, path: string, body?: FormData) => {
  const init = body === undefined ? {} : { method: 'POST', body };
  const answer = await app.fetch(new Request(`http://service${path}`, init));
  const { data } = (await answer.json()) as { data: Record<string, unknown> };
  return { status: answer.status, ...data };
};

/** 20 MB in pieces, and one more after `end`. */
const piecesUntil = (end: () => void): Readable =>
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

/** What holds in every service that decides all conditions itself. `service`: asked for in each test. */
export const itIsAnObjectService = (service: () => ObjectService): void => {
  it('uploads, lists with thumbnails, downloads, renames, copies, moves and removes', async () => {
    const { storageAdapter, storing, optionsOf, kept, keys } = service();
    const prefix = randomUUID();
    const app = openServiceWith(storageAdapter, { ...optionsOf(prefix), ...storing.options });
    const key = (name: string): string => `${prefix}/${name}`;
    const attributes = { cacheControl: 'max-age=3600', storageClass: storing.storageClass };
    const picture = await sharp({ create: { width: 800, height: 600, channels: 3, background: '#36c' } })
      .jpeg()
      .toBuffer();
    const form = new FormData();
    form.set('files[0]', new Blob([new Uint8Array(picture)]), 'blau ü.jpg');
    form.set('files[1]', new Blob(['text']), 'notes.txt');
    expect(await callIn(app, '/fileUpload', form)).toMatchObject({
      status: 200,
      files: ['blau ü.jpg', 'notes.txt'],
    });
    expect(await kept(key('blau ü.jpg'))).toEqual({
      content: picture,
      contentType: 'image/jpeg',
      ...attributes,
    });

    const listing = (await callIn(app, '/files?mods[sortBy]=name-asc')) as unknown as {
      sources: { files: { thumb: string }[] }[];
    };
    const thumb = await kept(key(listing.sources[0]?.files[0]?.thumb ?? ''));
    expect((await sharp(thumb.content).metadata()).width).toBe(250);
    const download = await app.fetch(
      new Request(`http://service/fileDownload?name=${encodeURIComponent('blau ü.jpg')}`),
    );
    expect(Buffer.from(await download.arrayBuffer())).toEqual(picture);

    expect((await callIn(app, '/folderCreate?name=sub')).status).toBe(200);
    expect((await callIn(app, '/fileRename?name=notes.txt&newname=renamed')).status).toBe(200);
    expect((await callIn(app, '/fileCopy?from=renamed.txt')).status).toBe(200);
    expect((await callIn(app, '/fileMove?from=renamed.txt&path=sub')).status).toBe(200);
    expect(await keys(key('sub/'))).toEqual(['', 'renamed.txt']);
    expect(await kept(key('sub/renamed.txt'))).toEqual({
      content: Buffer.from('text'),
      contentType: 'text/plain; charset=utf-8',
      ...attributes,
    });
    expect((await callIn(app, '/folderRename?name=sub&newname=moved')).status).toBe(200);
    expect((await callIn(app, '/folderRemove?name=moved')).status).toBe(200);
    const left = (await keys(key(''))).filter((name) => !name.startsWith('_thumbs'));
    expect(left).toEqual(['blau ü.jpg', 'renamed (1).txt']);
  });

  it('keeps the attributes of an object whose content is replaced or edited in place', async () => {
    const { storageAdapter, optionsOf, put, setAttributes, attributes } = service();
    const prefix = randomUUID();
    const options = { ...optionsOf(prefix), cacheControl: 'max-age=3600' };
    const app = openServiceWith(storageAdapter, options, { trash: { keepReplaced: true } });
    const picture = await sharp({ create: { width: 80, height: 60, channels: 3, background: '#36c' } })
      .png()
      .toBuffer();
    const own = {
      cacheControl: 'max-age=5',
      contentDisposition: 'attachment',
      contentLanguage: 'de',
      metadata: { author: 'somebody' },
    };
    const key = `${prefix}/a.png`;
    await put(key, picture);
    await setAttributes(key, own);
    const form = new FormData();
    form.set('files[0]', new Blob([new Uint8Array(picture)]), 'other.png');
    for (const [path, body] of [
      ['/imageResize?name=a.png&box[w]=40&box[h]=30'],
      ['/fileReplace?name=a.png', form],
      ['/imageSave?name=a.png', form],
    ] as const) {
      expect(await callIn(app, path, body)).toMatchObject({ status: 200 });
      expect(await attributes(key)).toMatchObject(own);
    }
  });

  it('gives a name to one of many writers, whatever their sizes', async () => {
    const { openStore, kept } = service();
    const prefix = randomUUID();
    const stores = [openStore(prefix), openStore(prefix)] as const;
    const sizes = [1, 9 * MB, 2, 9 * MB + 1];
    const outcomes = await Promise.all(
      sizes.map((size, index) => {
        const content = inPieces(Buffer.alloc(size, index));
        return outcomeOf(
          stores[index % 2 === 0 ? 0 : 1].write(at('one.bin'), content, { createOnly: true }),
          [],
        );
      }),
    );
    const won = outcomes.findIndex((outcome) => outcome === 'succeeded');
    expect(outcomes.filter((outcome) => outcome === 'ALREADY_EXISTS')).toHaveLength(3);
    expect((await kept(`${prefix}/one.bin`)).content.length).toBe(sizes[won]);
  });

  it('keeps nothing of an upload that is cut off, and the old file under its name', async () => {
    const { openStore, keys } = service();
    const prefix = randomUUID();
    const adapter = openStore(prefix);
    await adapter.write(at('old.bin'), inPieces(Buffer.from('old')));
    const abort = new AbortController();
    const aborted = piecesUntil(() => abort.abort(new Error('gone')));
    await expect(adapter.write(at('old.bin'), aborted, { signal: abort.signal })).rejects.toThrow('gone');
    const broken = piecesUntil(() => {
      throw new Error('broken');
    });
    await expect(adapter.write(at('new.bin'), broken)).rejects.toThrow('broken');
    expect(await keys(`${prefix}/`)).toEqual(['old.bin']);
    expect(String(await buffer((await adapter.read(at('old.bin'))).stream))).toBe('old');
  });

  it.each([3, 9 * MB])(
    'waits for a write of %i bytes whose client has left, as it must not come late',
    async (size) => {
      const { openStore, proxy, kept } = service();
      const prefix = randomUUID();
      const adapter = openStore(prefix);
      const write = (byte: number, signal?: AbortSignal) =>
        adapter.write(at('a.bin'), inPieces(Buffer.alloc(size, byte)), { signal });
      proxy.reset();
      await write(1);
      const last = proxy.seen.length;
      let requests = 0;
      let pass = (): void => undefined;
      const after = new Promise<void>((resolve) => (pass = resolve));
      proxy.atRandom(() => ((requests += 1) === last ? { kind: 'late', after } : undefined));
      const abort = new AbortController();
      const left = outcomeOf(write(2, abort.signal), []);
      await expect.poll(() => requests).toBe(last);
      abort.abort(new Error('gone'));
      const newer = outcomeOf(write(3), []);
      // Time for the newer one to be stored, if it could be.
      await sleep(300);
      pass();
      expect(await Promise.all([left, newer])).toEqual(['succeeded', 'succeeded']);
      await sleep(100);
      expect((await kept(`${prefix}/a.bin`)).content[0]).toBe(3);
    },
  );

  it('goes on after the server is silent or away for a moment, and ends with the signal', async () => {
    const { openStore, proxy, operations, secrets } = service();
    const { look, download } = operations;
    const adapter = openStore(randomUUID());
    await adapter.write(at('a.bin'), inPieces(Buffer.alloc(3 * MB, 1)));
    proxy.fail({ operation: look, effect: { kind: 'stall' }, times: 1 });
    expect((await adapter.stat(at('a.bin'))).size).toBe(3 * MB);
    proxy.reset();
    proxy.fail({ operation: look, effect: { kind: 'answer', status: 503 }, times: 2 });
    expect((await adapter.stat(at('a.bin'))).size).toBe(3 * MB);
    proxy.reset();
    proxy.fail({ operation: download, effect: { kind: 'cut' } });
    const { stream } = await adapter.read(at('a.bin'));
    expect(await outcomeOf(buffer(stream), secrets)).toMatch(/^STORAGE_|^CORRUPT/u);
    proxy.reset();
    proxy.fail({ operation: look, effect: { kind: 'stall' } });
    const abort = new AbortController();
    const waiting = adapter.stat(at('a.bin'), { signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });

  it('sends readers to a URL of what is private that expires', async () => {
    const { storageAdapter, optionsOf, put, expectEnd } = service();
    const prefix = randomUUID();
    const app = openServiceWith(storageAdapter, optionsOf(prefix), { serve: 'public', delivery: 'redirect' });
    await put(`${prefix}/trip/Köln (1)*.html`, '<script>alert(1)</script>');
    const answer = await app.fetch(new Request('http://service/file/files/trip/K%C3%B6ln%20(1)*.html'));
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([302, 'private, max-age=240']);
    const location = new URL(answer.headers.get('location') ?? '');
    expectEnd(location);
    const file = await fetch(location, { headers: { range: 'bytes=1-6' } });
    expect([file.status, await file.text()]).toEqual([206, 'script']);
    expect(file.headers.get('content-disposition')).toMatch(/^attachment;/u);
    expect((await fetch(location, { method: 'DELETE' })).ok).toBe(false);
    location.search = '';
    expect((await fetch(location)).ok).toBe(false);
  });
};
