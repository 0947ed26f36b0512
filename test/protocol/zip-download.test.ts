import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { unzipSync } from 'fflate';
import { registerStorageAdapter } from 'stowage';
import { createClient } from 'stowage/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { memoryFactory, ZipStream } from '#internals';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { runsEverything } from '../before-release.ts';
import { startService, type Fields, type Service } from './service.ts';

const hasUnzip = spawnSync('unzip', ['-v']).status === 0;

const hasPython = spawnSync('python3', ['--version']).status === 0;
const LIST = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
  for name in sys.argv[2:]: archive.read(name)
  print(json.dumps([[entry.filename, entry.file_size] for entry in archive.infolist()]))`;

/** Names and sizes in an archive, as Python reads them, who also reads the entries named; empty without Python. */
const listedBy = (file: string, ...read: readonly string[]): readonly (readonly [string, number])[] => {
  if (!hasPython) return [];
  const options = { encoding: 'utf8', maxBuffer: 2 ** 26 } as const;
  const { stdout, stderr } = spawnSync('python3', ['-c', LIST, file, ...read], options);
  expect(stderr).toBe('');
  return JSON.parse(stdout) as [string, number][];
};

const several = (...names: readonly string[]): Fields =>
  Object.fromEntries(names.map((name, index) => [`names[${String(index)}]`, name]));

const bytesOf = async (response: Response): Promise<Uint8Array> =>
  new Uint8Array(await response.arrayBuffer());

/** What an archive holds: its names, sorted, and the content of each. */
const read = async (response: Response): Promise<Readonly<Record<string, string>>> => {
  expect(response.status).toBe(200);
  const entries = Object.entries(unzipSync(await bytesOf(response)));
  return Object.fromEntries(
    entries.map(([name, bytes]) => [name, Buffer.from(bytes).toString()] as const).sort(),
  );
};

const download = (service: Service, path: string, ...names: readonly string[]): Promise<Response> =>
  service.get('fileDownload', { path, ...several(...names) });

const oneByOne = <Entry>(entries: readonly Entry[]) =>
  entries.map((entry) => ({ entries: [entry], readAhead: async () => [], release: () => undefined }));

const temporaryFile = async (name: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-zip-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, name);
};

/** A source in memory with some methods of its own. */
const startStore = (name: string, methods: Partial<StorageAdapter>): Promise<Service> => {
  registerStorageAdapter(name, {
    create: async (context) =>
      Object.assign(
        Object.create(await memoryFactory.create({ ...context, options: undefined })) as StorageAdapter,
        methods,
      ),
  });
  return startService({ sources: { files: { storageAdapter: name, root: undefined } } });
};

describe('fileDownload of several items', () => {
  it('sends files and folders as one archive, byte for byte', async () => {
    const service = await startService();
    const content = randomBytes(300_000);
    await service.source('files').put({
      'a/תמונה.png': content,
      'a/leer.txt': '',
      'a/Ordner ü/日本/1.txt': 'eins',
      'a/Ordner ü/empty/': '',
      'a/left.txt': 'not asked for',
    });
    const response = await download(service, 'a', 'תמונה.png', 'leer.txt', 'Ordner ü', 'leer.txt');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/zip');
    expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="?a\.zip"?/u);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('content-length')).toBeNull();
    expect(response.headers.get('accept-ranges')).toBeNull();
    const entries = unzipSync(await bytesOf(response));
    expect(Object.keys(entries).sort()).toEqual(
      [
        'Ordner ü/',
        'Ordner ü/empty/',
        'Ordner ü/日本/',
        'Ordner ü/日本/1.txt',
        'leer.txt',
        'תמונה.png',
      ].sort(),
    );
    expect(Buffer.from(entries['תמונה.png'] ?? []).equals(content)).toBe(true);
    expect(Buffer.from(entries['Ordner ü/日本/1.txt'] ?? []).toString()).toBe('eins');
    expect(entries['leer.txt']).toHaveLength(0);
  });

  it.skipIf(!hasUnzip)('is sound for unzip (left out where unzip is not installed)', async () => {
    const service = await startService();
    await service.source('files').put({ 'd/1.bin': randomBytes(100_000), 'd/e/': '', 'ü.txt': 'x' });
    const file = await temporaryFile('a.zip');
    const handle = await open(file, 'w');
    await handle.writeFile(await bytesOf(await download(service, '', 'd', 'ü.txt')));
    await handle.close();
    const { status, stdout } = spawnSync('unzip', ['-t', file], { encoding: 'utf8' });
    expect(stdout).toContain('No errors detected');
    expect(status).toBe(0);
  });

  it('gives names that meet nowhere, neither on Windows nor where letter case means nothing', async () => {
    const service = await startService();
    const paths = [
      ...['a.txt', 'A.txt', 'a (1).txt', 'Ä.txt', 'ä.txt', 'con.txt', 'x:y?.txt', 'x_y_.txt'],
      ...[
        'DIR/one.txt',
        'dir/ONE.txt',
        'mixed.txt',
        'MIXED.TXT/x.txt',
        'CON/x.txt',
        'end./x.txt',
        'end_/x.txt',
      ],
    ];
    await service.source('files').put(Object.fromEntries(paths.map((path) => [`d/${path}`, path])));
    const got = Object.entries(await read(await download(service, '', 'd')));
    const files = got.filter(([name]) => !name.endsWith('/'));
    expect(files.map(([, text]) => text).sort()).toEqual([...paths].sort());
    expect(new Set(files.map(([name]) => name.toUpperCase())).size).toBe(paths.length);
    const folders = new Set(files.map(([name]) => dirname(name).toUpperCase()));
    for (const [name] of files) {
      expect(folders).not.toContain(name.toUpperCase());
      expect(name).not.toMatch(/[<>:"|?*]|[. ](?:\/|$)|(?:^|\/)con(?:\.|\/|$)/iu);
    }
    expect(Object.fromEntries(files)).toMatchObject({ 'd/_con.txt': 'con.txt', 'd/_CON/x.txt': 'CON/x.txt' });
  });

  it('answers the typed client, HEAD without a body, and one name in the list with an archive', async () => {
    const service = await startService();
    await service.source('files').put({ 'a/1.txt': 'one', 'a/2.txt': 'two' });
    const client = createClient({ url: service.url });
    const both = await client.fileDownload({ path: 'a', names: ['1.txt', '2.txt'] });
    expect(await read(both)).toEqual({ '1.txt': 'one', '2.txt': 'two' });
    const head = await fetch(`${service.url}/fileDownload?names[]=a`, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers.get('content-type')).toBe('application/zip');
    expect(head.headers.get('content-disposition')).toMatch(/filename="?a\.zip"?/u);
    expect(await head.text()).toBe('');
    const one = await download(service, 'a', '1.txt');
    expect(one.headers.get('content-disposition')).toMatch(/filename="?1\.txt\.zip"?/u);
    expect(await read(one)).toEqual({ '1.txt': 'one' });
  });

  it('answers one name as ever', async () => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': 'content' });
    const response = await service.get('fileDownload', { name: 'a.txt' });
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(response.headers.get('content-length')).toBe('7');
    expect(response.headers.get('etag')).toBeTruthy();
    expect(await response.text()).toBe('content');
  });

  it('leaves out what is hidden or denied below a folder', async () => {
    const service = await startService({
      accessControl: [
        { path: 'd/secret', FILES: false, FOLDERS: false },
        { path: 'd/looked-at', FILE_DOWNLOAD: false },
        { path: 'd/one.txt', FILE_DOWNLOAD: false },
        { path: '/', extensions: ['pdf'], FILE_DOWNLOAD: false },
      ],
    });
    await service.source('files').put({
      'd/1.txt': '1',
      'd/one.txt': 'denied',
      'd/a.pdf': 'denied',
      'd/.env': 'hidden',
      'd/id_rsa': 'hidden',
      'd/_thumbs/1.png': 'hidden',
      'd/.quarantine/1.txt': 'hidden',
      'd/secret/1.txt': 'denied',
      'd/looked-at/1.txt': 'denied',
      'd/sub/2.txt': '2',
      'd/sub/b.pdf': 'denied',
    });
    expect(await read(await download(service, '', 'd'))).toEqual({
      'd/': '',
      'd/1.txt': '1',
      'd/sub/': '',
      'd/sub/2.txt': '2',
    });
  });

  it.each([
    ['a missing item', ['a.txt', 'z.txt'], 404],
    ['a hidden item', ['a.txt', '.env'], 404],
    ['a reserved folder', ['a.txt', '_thumbs'], 404],
    ['a denied file', ['a.txt', 'b.pdf'], 403],
    ['a denied file that is not there', ['a.txt', 'z.pdf'], 403],
    ['a denied folder', ['a.txt', 'denied'], 403],
    ['a folder that is not listed', ['a.txt', 'secret'], 403],
    ['a name that leads out', ['a.txt', '../other.txt'], 400],
  ])('refuses the whole request for %s', async (_what, names, status) => {
    const service = await startService({
      accessControl: [
        { path: 'denied', FILE_DOWNLOAD: false },
        { path: 'secret', FOLDERS: false },
        { path: '/', extensions: ['pdf'], FILE_DOWNLOAD: false },
      ],
    });
    await service.source('files').put({
      'a.txt': 'a',
      'b.pdf': 'b',
      '.env': 'hidden',
      '_thumbs/a.png': 'hidden',
      'denied/1.txt': '1',
      'secret/1.txt': '1',
    });
    const response = await download(service, '', ...names);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/u);
  });

  it.each([
    ['items', { zipLimits: { entries: 3 } }],
    ['bytes', { zipLimits: { bytes: 29 } }],
    ['entries to look at', { searchLimits: { entries: 2 } }],
  ])('refuses an archive of too many %s', async (_what, limits) => {
    const service = await startService({ sources: { files: limits, enough: {} } });
    const files = { 'd/1.txt': '0123456789', 'd/2.txt': '0123456789', 'd/e/3.txt': '0123456789' };
    await service.source('files').put(files);
    await service.source('enough').put(files);
    const response = await download(service, '', 'd');
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ success: false, data: { error: 'ARCHIVE_LIMIT' } });
    const allowed = await service.get('fileDownload', { source: 'enough', ...several('d') });
    expect(Object.keys(await read(allowed))).toHaveLength(5);
  });

  it('breaks off when a file has another length than the store has said', async () => {
    const service = await startStore('lying-length', {
      stat: async () => ({ name: 'a', kind: 'file', size: 1, modifiedAt: undefined, etag: undefined }),
      read: async () => ({
        stat: { name: 'a', kind: 'file', size: 5, modifiedAt: undefined, etag: undefined },
        stream: Readable.from([Buffer.from('four')], { objectMode: false }),
      }),
    });
    const response = await download(service, '', 'a.txt', 'b.txt');
    expect(response.status).toBe(200);
    await expect(response.arrayBuffer()).rejects.toThrow();
  });

  it('arrives byte for byte where clients take it slowly, several at a time', async () => {
    const filesOf = (count: number, name: string, sizeOf: (index: number) => number): [string, Buffer][] =>
      Array.from({ length: count }, (_, index) => [
        `${name}${String(index)}.pdf`,
        randomBytes(sizeOf(index)),
      ]);
    const files = [...filesOf(300, 'a', (index) => 100 * index), ...filesOf(5, 'b', () => 700_000)];
    const service = await startService();
    await service.source('files').put(Object.fromEntries(files.map(([name, bytes]) => [`f/${name}`, bytes])));
    const slowly = async (): Promise<Buffer> => {
      const [answer] = (await once(get(`${service.url}/fileDownload?names[0]=f`), 'response')) as [
        IncomingMessage,
      ];
      const chunks: Buffer[] = [];
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        if (chunks.length % 8 === 0) await delay(2);
      }
      return Buffer.concat(chunks);
    };
    for (const archive of await Promise.all([slowly(), slowly(), slowly()])) {
      const entries = unzipSync(archive);
      for (const [name, bytes] of files)
        expect(bytes.equals(entries[`f/${name}`] ?? new Uint8Array(1))).toBe(true);
    }
  });

  it('reads no further when the client has left', async () => {
    const size = 2 ** 30;
    let opened = 0;
    let sent = 0;
    const source = new EventEmitter();
    const closed = once(source, 'closed');
    const stat = { name: 'a', kind: 'file', size, modifiedAt: undefined, etag: undefined } as const;
    const service = await startStore('endless-read', {
      stat: async () => stat,
      read: async () => {
        opened += 1;
        const stream = new Readable({
          read() {
            sent += 65_536;
            this.push(Buffer.alloc(65_536));
          },
          destroy(error, done) {
            source.emit('closed');
            done(error);
          },
        });
        return { stat, stream };
      },
    });
    const query = new URLSearchParams(several('a.txt', 'b.txt')).toString();
    const request = get(`${service.url}/fileDownload?${query}`, (response) => {
      response.once('data', () => request.destroy());
      response.on('error', () => undefined);
    });
    request.on('error', () => undefined);
    await closed;
    expect(opened).toBe(1);
    expect(sent).toBeLessThan(size / 4);
  });
});

describe.runIf(runsEverything)('large archives', () => {
  it.each([65_535, 65_534])(
    'hold %i items (read by unzip and Python where they are installed)',
    async (count) => {
      const folders = Array.from({ length: count }, (_, index) => ({
        name: `${String(index)}/`,
        modifiedAt: 0,
        open: undefined,
      }));
      const archive = await buffer(new ZipStream(oneByOne(folders), 0));
      const entries = unzipSync(archive);
      expect(Object.keys(entries)).toHaveLength(count);
      expect(entries[`${String(count - 1)}/`]).toBeDefined();
      const file = await temporaryFile('many.zip');
      await writeFile(file, archive);
      const names = listedBy(file).map(([name]) => name);
      expect(names).toEqual(hasPython ? folders.map(({ name }) => name) : []);
      if (hasUnzip) expect(spawnSync('unzip', ['-qt', file]).status).toBe(0);
    },
  );

  const zeros = Buffer.alloc(2 ** 26);
  const zerosOf = function* (size: number): Generator<Buffer, void, undefined> {
    for (let left = size; left > 0; left -= zeros.length)
      yield zeros.subarray(0, Math.min(left, zeros.length));
  };
  const entryOf = (name: string, size: number, content: Iterable<Buffer>) => ({
    name,
    modifiedAt: undefined,
    open: async () => ({ size, modifiedAt: 0, content: Readable.from(content) }),
  });

  const sizes = [
    ['as many bytes as 32 bits can say', 2 ** 32 - 1],
    ['as many bytes as 32 bits can say, but one', 2 ** 32 - 2],
  ] as const;

  it.each(sizes)(
    'hold a file of %s (read by unzip and Python where they are installed)',
    async (_, size) => {
      const entries = [
        entryOf('large', size, zerosOf(size)),
        entryOf('behind.txt', 6, [Buffer.from('behind')]),
      ];
      const file = await temporaryFile('large.zip');
      const handle = await open(file, 'w');
      let at = 0;
      const archive = new ZipStream(oneByOne(entries), size + 6);
      for await (const chunk of archive as AsyncIterable<Buffer>) {
        // The file has holes in place of the zeros.
        if (!chunk.equals(zeros.subarray(0, chunk.length))) await handle.write(chunk, 0, chunk.length, at);
        at += chunk.length;
      }
      await handle.close();
      // Info-ZIP takes the offset of the entry behind a file of exactly this length for its size.
      if (hasUnzip && size !== 2 ** 32 - 1) {
        expect(spawnSync('unzip', ['-p', file, 'behind.txt'], { encoding: 'utf8' }).stdout).toBe('behind');
        expect(spawnSync('unzip', ['-l', file], { encoding: 'utf8' }).stdout).toContain(`${String(size)}  `);
      }
      const expected = [
        ['large', size],
        ['behind.txt', 6],
      ];
      expect(listedBy(file, 'behind.txt')).toEqual(hasPython ? expected : []);
    },
    120_000,
  );
});

it('an archive whose client leaves at the header of a file closes that file', async () => {
  const content = Readable.from([Buffer.from('content')], { objectMode: false });
  const entry = {
    name: 'a.txt',
    modifiedAt: 0,
    open: async () => ({ size: 7, modifiedAt: 0, content }),
  };
  const archive = new ZipStream(oneByOne([entry]), 7);
  // The header is the first that comes.
  archive.once('data', () => archive.destroy());
  await expect.poll(() => content.destroyed).toBe(true);
});
