import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createApp, registerStorageAdapter } from 'stowage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mostly } from '../before-release.ts';
import { StorageUnavailableError, UnsupportedError } from 'stowage/storage';
import type { Entry, ListOptions, StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { silent, startService, type Fields, type Service } from './service.ts';

const refuse = async (): Promise<never> => {
  throw new UnsupportedError();
};

/** A store that can only be listed. */
const listOnly = (
  list: StorageAdapter['list'],
  statMany?: NonNullable<StorageAdapter['statMany']>,
): StorageAdapter => ({
  capabilities: {
    atomicCreate: false,
    ifMatch: false,
    caseSensitive: true,
  },
  stat: refuse,
  list,
  read: refuse,
  write: refuse,
  makeFolder: refuse,
  removeFile: refuse,
  removeFolder: refuse,
  removeEmptyFolder: refuse,
  copyFile: refuse,
  moveFile: refuse,
  ...(statMany === undefined ? {} : { statMany }),
});

const withStore = async (name: string, store: StorageAdapter): Promise<Service> => {
  registerStorageAdapter(name, { create: () => store });
  return startService({
    createThumb: false,
    datetimeFormat: 'YYYY',
    sources: { files: { storageAdapter: name } },
  });
};

const items = async (service: Service, fields: Fields = {}): Promise<readonly Record<string, unknown>[]> => {
  const { status, data } = await service.call('files', { 'mods[withFolders]': 'true', ...fields });
  expect(status).toBe(200);
  const [part] = data['sources'] as readonly { readonly files: readonly Record<string, unknown>[] }[];
  return part?.files ?? [];
};

const YEAR_2026 = Date.UTC(2026, 6);

/** A server that accepts connections and never answers. Returns its port. */
const startSilentServer = async (): Promise<number> => {
  const server = createServer();
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket.on('error', () => undefined)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
};

/** 25,000 entries in no order, with and without what stores know of them, with names of all kinds. */
const many: readonly Entry[] = Array.from({ length: 25_000 }, (_, index) => {
  const mixed = (index * 7919) % 25_000;
  const letter = ['a', 'é', '写', '\uE000', '\uFFFD', '😀', '\u{10FFFD}', 'Ω'][mixed % 8] ?? '';
  const isFolder = mixed % 5 === 0;
  return {
    name: `${letter}${letter}-${String(mixed)}${isFolder ? '' : '.txt'}`,
    kind: isFolder ? 'folder' : 'file',
    size: isFolder || mixed % 7 === 0 ? undefined : mixed % 1000,
    modifiedAt: mixed % 11 === 0 ? undefined : YEAR_2026 + (mixed % 500),
    etag: mixed % 3 === 0 || isFolder ? undefined : `"${String(mixed)}"`,
  };
});

describe('a very long listing', () => {
  const text = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0);
  const byName = (left: Entry, right: Entry) => text(left.name, right.name);
  const bySize = (left: Entry, right: Entry) => (left.size ?? -1) - (right.size ?? -1) || byName(left, right);
  const byTime = (left: Entry, right: Entry) =>
    (right.modifiedAt ?? -1) - (left.modifiedAt ?? -1) || byName(left, right);
  const foldersFirst = (left: Entry, right: Entry) =>
    Number(right.kind === 'folder') - Number(left.kind === 'folder') || byName(left, right);

  it.each(
    mostly(2, [
      ['name-asc', 'default', byName],
      ['name-desc', 'default', (left: Entry, right: Entry) => byName(right, left)],
      ['size-asc', 'default', bySize],
      ['changed-desc', 'default', byTime],
      ['name-asc', 'top', foldersFirst],
    ] as const),
  )('holds every entry as the store has it, by %s with folders %s', async (sortBy, position, order) => {
    const service = await withStore(
      `very-long-${sortBy}-${position}`,
      listOnly(async function* list() {
        for (let start = 0; start < many.length; start += 1000) yield many.slice(start, start + 1000);
      }),
    );
    const fields = { 'mods[sortBy]': sortBy, 'mods[foldersPosition]': position, 'mods[details]': 'true' };
    const expected = many.toSorted(order).map(({ name, kind, size, modifiedAt, etag }) => ({
      name,
      type: kind === 'folder' ? 'folder' : 'file',
      bytes: size,
      modified: modifiedAt === undefined ? undefined : new Date(modifiedAt).toISOString(),
      etag,
    }));
    const seen = (listed: readonly Record<string, unknown>[]) =>
      listed.map(({ name, type, bytes, modified, etag }) => ({ name, type, bytes, modified, etag }));
    expect(seen(await items(service, fields))).toEqual(expected);
    const middle = { ...fields, 'mods[offset]': '12000', 'mods[limit]': '30' };
    expect(seen(await items(service, middle))).toEqual(expected.slice(12_000, 12_030));
    const beyond = { ...fields, 'mods[offset]': '24999', 'mods[limit]': '5000' };
    expect(seen(await items(service, beyond))).toEqual(expected.slice(24_999));
  });
});

describe('listings of stores', () => {
  it('leaves out what the store does not tell', async () => {
    const told: readonly Entry[] = [
      { name: 'all.txt', kind: 'file', size: 1024, modifiedAt: YEAR_2026 },
      { name: 'nothing.txt', kind: 'file', size: undefined, modifiedAt: undefined },
      { name: 'size.txt', kind: 'file', size: 0, modifiedAt: undefined },
      { name: 'time.txt', kind: 'file', size: undefined, modifiedAt: YEAR_2026 },
      { name: 'folder', kind: 'folder', size: undefined, modifiedAt: undefined },
      { name: 'never.txt', kind: 'file', size: 1, modifiedAt: Number.MAX_SAFE_INTEGER },
    ];
    const service = await withStore(
      'silent-store',
      listOnly(async function* () {
        yield told.slice(0, 2);
        yield [];
        yield told.slice(2);
      }),
    );
    const file = (name: string) => ({ file: name, name, type: 'file', isImage: false });
    expect(await items(service, { 'mods[sortBy]': 'name-asc' })).toEqual([
      { ...file('all.txt'), size: '1KB', changed: '2026' },
      { file: 'folder', name: 'folder', type: 'folder' },
      { ...file('never.txt'), size: '1B' },
      file('nothing.txt'),
      { ...file('size.txt'), size: '0B' },
      { ...file('time.txt'), changed: '2026' },
    ]);
    const names = (await items(service)).map(({ name }) => name);
    expect(names).toEqual(['never.txt', 'all.txt', 'time.txt', 'folder', 'nothing.txt', 'size.txt']);
  });

  it('asks for the details of a page only, where names tell the order and the store can', async () => {
    const asked: string[] = [];
    const details: (string | undefined)[] = [];
    const names = Array.from({ length: 3000 }, (_, index) => `${String(index).padStart(4, '0')}.txt`);
    const service = await withStore(
      'frugal-store',
      listOnly(
        async function* (_folder, options: ListOptions = {}) {
          details.push(options.detail);
          const size = options.detail === 'names' ? undefined : 5;
          yield names.toReversed().map((name) => ({ name, kind: 'file', size, modifiedAt: undefined }));
        },
        async (_folder, wanted) => {
          asked.push(...wanted);
          return wanted.map((name) => {
            // One was removed, another has become a folder since the names were read.
            if (name === '0101.txt') return undefined;
            if (name === '0102.txt') return { name, kind: 'folder', size: undefined, modifiedAt: undefined };
            return { name, kind: 'file', size: 5, modifiedAt: YEAR_2026 };
          });
        },
      ),
    );
    const page = { 'mods[sortBy]': 'name-asc', 'mods[offset]': '100', 'mods[limit]': '5' };
    const changed = { type: 'file', isImage: false, size: '5B', changed: '2026' };
    const known = (name: string) => ({ file: name, name, ...changed });
    const unknown = (name: string) => ({ file: name, name, type: 'file', isImage: false });
    expect(await items(service, page)).toEqual([
      known('0100.txt'),
      unknown('0101.txt'),
      unknown('0102.txt'),
      known('0103.txt'),
      known('0104.txt'),
    ]);
    expect(asked).toEqual(names.slice(100, 105));
    expect(details).toEqual(['names']);

    // By size, every entry must be known.
    expect(await items(service, { 'mods[sortBy]': 'size-asc', 'mods[limit]': '5' })).toHaveLength(5);
    expect(asked).toHaveLength(5);
    expect(details).toEqual(['names', 'full']);
  });

  it('leaves out sources whose servers accept and never answer, and waits for one that is only slow', async () => {
    const port = await startSilentServer();
    const [host, user] = ['127.0.0.1', { username: 'u', password: 'p' }];
    const keys = { accessKeyId: 'a', secretAccessKey: 'b' };
    const slow = listOnly(async function* () {
      await delay(5000);
      yield [{ name: 'late.txt', kind: 'file', size: 1, modifiedAt: undefined }];
    });
    registerStorageAdapter('slow-store', { create: () => ({ ...slow, checkRoot: async () => undefined }) });
    const service = await startService({
      createThumb: false,
      sources: {
        s3: {
          storageAdapter: 's3',
          s3: { endpoint: `http://${host}:${port}`, bucket: 'bucket', region: 'x', credentials: keys },
        },
        ftp: { storageAdapter: 'ftp', ftp: { host, port, ...user } },
        dav: { storageAdapter: 'webdav', webdav: { url: `http://${host}:${port}/`, ...user } },
        other: { storageAdapter: 'webdav', webdav: { url: `http://${host}:${port}/other/`, ...user } },
        slow: { storageAdapter: 'slow-store' },
        local: {},
      },
    });
    const answers = await Promise.all(['files', 'folders'].map((action) => service.call(action)));
    for (const { status, data } of answers) {
      expect(status).toBe(200);
      const names = (data['sources'] as readonly { readonly name: string }[]).map(({ name }) => name);
      expect(names).toEqual(['slow', 'local']);
      const unreachable = (name: string) => `The source "${name}" cannot be reached now.`;
      expect(data['messages']).toEqual(['s3', 'ftp', 'dav', 'other'].map(unreachable));
    }
  }, 30_000);

  it.each(['filesSearch', 'trashList'])(
    'leaves out a source whose server keeps silent: %s',
    async (action) => {
      const url = `http://127.0.0.1:${await startSilentServer()}/`;
      const webdav = { url, username: 'u', password: 'p' };
      const sources = { before: {}, silent: { storageAdapter: 'webdav', webdav }, after: {} };
      const service = await startService({ createThumb: false, trash: {}, sources });
      for (const source of ['before', 'after']) {
        await service.upload([['files[0]', 'cat.txt', 'a']], { source });
        if (action === 'trashList') await service.call('fileRemove', { source, name: 'cat.txt' });
      }
      const { status, data } = await service.call(action, { query: 'cat' });
      expect(status).toBe(200);
      const found = (data['items'] as readonly { readonly source: string }[]).map(({ source }) => source);
      expect(found.toSorted()).toEqual(['after', 'before']);
      expect(data['messages']).toEqual(['The source "silent" cannot be reached now.']);
    },
    30_000,
  );

  it('stops scanning when the client leaves', async () => {
    let pages = 0;
    let tellEnd: (isAborted: boolean) => void = () => undefined;
    const ended = new Promise<boolean>((resolve) => {
      tellEnd = resolve;
    });
    const service = await withStore(
      'endless-store',
      listOnly(async function* (_folder, { signal }: ListOptions = {}) {
        try {
          for (;;) {
            pages += 1;
            // Empty ones at last, as of a store that looks for long and finds nothing.
            yield pages > 5
              ? []
              : [{ name: `${String(pages)}.txt`, kind: 'file', size: 1, modifiedAt: pages }];
            await delay(1);
          }
        } finally {
          tellEnd(signal?.aborted === true);
        }
      }),
    );
    const leaving = get(`${service.url}/files`).on('error', () => undefined);
    while (pages < 5) await delay(5);
    leaving.destroy();
    expect(await ended).toBe(true);
  });

  it.each(['files', 'filesSearch?query=a'])(
    'ends when the client leaves, also where the store takes no notice: %s',
    async (action) => {
      const [leaving, storageAdapter] = [new AbortController(), `deaf-${randomUUID()}`];
      const store = listOnly(async function* () {
        leaving.abort();
        yield await new Promise<never>(() => undefined);
      });
      registerStorageAdapter(storageAdapter, { create: () => store });
      const files = { title: 'Files', baseurl: 'https://files.example/', storageAdapter };
      const app = createApp({ createThumb: false, sources: { files } }, {}, { logger: silent });
      onTestFinished(() => app.close());
      const asked = new Request(`http://localhost/${action}`, { signal: leaving.signal });
      await expect(app.fetch(asked)).resolves.toHaveProperty('status', 500);
    },
  );

  it('gathers a few large listings at once, while small ones go on', async () => {
    let inside = 0;
    let most = 0;
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const entry = (index: number): Entry => ({
      name: `${String(index)}.txt`,
      kind: 'file',
      size: 1,
      modifiedAt: index,
    });
    const service = await withStore(
      'large-store',
      listOnly(async function* (folder) {
        yield Array.from({ length: folder.isRoot ? 10_000 : 3 }, (_, index) => entry(index));
        if (!folder.isRoot) return;
        yield [entry(10_000)];
        inside += 1;
        most = Math.max(most, inside);
        try {
          await gate;
          yield [entry(10_001)];
        } finally {
          inside -= 1;
        }
      }),
    );
    const leaving = Array.from({ length: 6 }, () => get(`${service.url}/files`).on('error', () => undefined));
    await expect.poll(() => inside).toBe(2);
    const staying = Array.from({ length: 6 }, () => items(service));
    expect(await items(service, { path: 'small' })).toHaveLength(3);
    // Some leave their turn, some the queue.
    for (const request of leaving) request.destroy();
    open();
    for (const listed of await Promise.all(staying)) expect(listed).toHaveLength(10_002);
    await expect.poll(() => inside).toBe(0);
    expect(most).toBe(2);
    expect(await items(service)).toHaveLength(10_002);
  });

  it('tells a failing store by its cause, without a word of what lies behind it', async () => {
    const service = await withStore(
      'broken-store',
      listOnly(async function* () {
        yield [{ name: 'a.txt', kind: 'file', size: 1, modifiedAt: 1 }];
        throw new TypeError('connect ECONNREFUSED 10.1.2.3:9000 (key AKIA)');
      }),
    );
    for (const action of ['files', 'folders']) {
      const { status, success, data, messages } = await service.call(action);
      expect([status, success, data['code']]).toEqual([500, false, 500]);
      expect(messages).toHaveLength(1);
      expect(JSON.stringify(data)).not.toMatch(/ECONNREFUSED|10\.1\.2\.3|AKIA/u);
    }
  });
});

describe('a listing of several sources', () => {
  registerStorageAdapter('unreachable', {
    create: () => {
      throw new StorageUnavailableError();
    },
  });
  registerStorageAdapter('without-package', {
    create: () => {
      throw new UnsupportedError();
    },
  });
  const dead = { storageAdapter: 'unreachable', title: 'Archive' };
  const namesOf = ({ data }: { readonly data: Record<string, unknown> }): string[] =>
    (data['sources'] as { readonly name: string }[]).map(({ name }) => name);

  it.each(['files', 'folders'])(
    'leaves out those that cannot be reached, and says so: %s',
    async (action) => {
      const warnings: string[] = [];
      const logger = { ...silent, warn: (message: string) => warnings.push(message) };
      const sources = { a: dead, b: {}, c: { storageAdapter: 'without-package', title: '' }, d: {} };
      const service = await startService({ sources }, {}, logger);
      const answer = await service.call(action);
      expect(answer.status).toBe(200);
      expect(namesOf(answer)).toEqual(['b', 'd']);
      expect(answer.messages).toEqual([
        'The source "Archive" cannot be reached now.',
        'The source "c" cannot be reached now.',
      ]);
      expect(warnings.filter((text) => text.startsWith('A listing leaves out'))).toHaveLength(2);
      expect((await service.call(action, { source: 'a' })).status).toBe(500);
      expect((await service.call(action, { source: 'c' })).status).toBe(501);
      // A missing path is the same as ever.
      expect((await service.call(action, { path: 'nowhere' })).status).toBe(404);
    },
  );

  it('fails when none can be reached', async () => {
    const service = await startService({ sources: { a: dead, b: dead } });
    expect(await service.call('files')).toMatchObject({
      status: 500,
      messages: ['The storage is not available.'],
    });
  });

  it('ends the other listings when one of them fails for good', async () => {
    const isAborted: Promise<void>[] = [];
    registerStorageAdapter('waiting', {
      create: () =>
        listOnly(async function* (_folder, { signal } = {}) {
          const aborted = new Promise<void>((resolve) => {
            signal?.addEventListener('abort', () => {
              resolve();
            });
          });
          isAborted.push(aborted);
          await aborted;
          yield [];
        }),
    });
    const service = await startService({ sources: { a: { storageAdapter: 'waiting' }, b: {} } });
    expect((await service.call('files', { path: 'nowhere' })).status).toBe(404);
    expect(isAborted).toHaveLength(1);
    await Promise.all(isAborted);
  });

  it('holds no listing of the store open while many entries wait for their turn', async () => {
    let open = 0;
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    let returns = 0;
    registerStorageAdapter('large', {
      create: () =>
        listOnly(async function* () {
          open += 1;
          try {
            const entries = (from: number): Entry[] =>
              Array.from({ length: 2500 }, (_, index) => ({
                name: `${String(from + index)}.txt`,
                kind: 'file',
                size: 1,
                modifiedAt: 0,
              }));
            yield entries(10_000);
            await gate;
            yield entries(20_000);
          } finally {
            open -= 1;
            returns += 1;
          }
        }),
    });
    const service = await startService({
      createThumb: false,
      sources: { files: { storageAdapter: 'large' } },
    });
    const all = Array.from({ length: 6 }, () =>
      service.call('files', { 'mods[limit]': '3', 'mods[details]': 'true' }),
    );
    await expect.poll(() => returns).toBe(4);
    expect(open).toBe(2);
    release();
    for (const { status, data } of await Promise.all(all)) {
      expect(status).toBe(200);
      expect(data['sources']).toMatchObject([{ total: 5000, files: [{}, {}, {}] }]);
    }
    expect(open).toBe(0);
  });

  it('lists many entries of one source while a store with as many takes its time', async () => {
    let waiting = 0;
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const entries = Array.from({ length: 2500 }, (_, index): Entry => ({
      name: `${String(index)}.txt`,
      kind: 'file',
      size: 1,
      modifiedAt: 0,
    }));
    registerStorageAdapter('slow-and-large', {
      create: () =>
        listOnly(async function* () {
          yield entries;
          waiting += 1;
          await gate;
        }),
    });
    registerStorageAdapter('quick-and-large', {
      create: () =>
        listOnly(async function* () {
          yield entries;
        }),
    });
    const service = await startService({
      createThumb: false,
      sources: { slow: { storageAdapter: 'slow-and-large' }, quick: { storageAdapter: 'quick-and-large' } },
    });
    const list = (source: string) =>
      service.call('files', { source, 'mods[limit]': '3', 'mods[details]': 'true' });
    const held = Array.from({ length: 4 }, () => list('slow'));
    try {
      await expect.poll(() => waiting).toBeGreaterThanOrEqual(2);
      expect((await list('quick')).status).toBe(200);
    } finally {
      release();
      await Promise.all(held);
    }
  });

  it('counts in the log what it cannot show, once for each folder', async () => {
    registerStorageAdapter('omitting', {
      create: () =>
        listOnly(async function* (folder, { onOmitted } = {}) {
          yield [];
          onOmitted?.(folder.isRoot ? 3 : 1);
        }),
    });
    const lines: unknown[] = [];
    const logger = { ...silent, warn: (...line: unknown[]) => lines.push(line) };
    const sources = { files: { storageAdapter: 'omitting' } };
    const service = await startService({ createThumb: false, sources, accessControl: [{}] }, {}, logger);
    lines.length = 0;
    for (const path of ['', 'sub', '', 'sub']) {
      for (const action of ['files', 'folders']) await service.call(action, { path });
    }
    const why = 'cannot be shown: links, special files, or names that cannot be part of a path.';
    expect(lines).toEqual([
      [`3 entries of this folder ${why}`, { source: 'files', path: '' }],
      [`1 entry of this folder ${why}`, { source: 'files', path: 'sub' }],
    ]);
  });
});
