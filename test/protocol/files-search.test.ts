import { rm, symlink, utimes } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { registerStorageAdapter } from 'stowage';
import { withFaults } from 'stowage/testing';
import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from 'stowage/storage';
import { memoryFactory } from '#internals';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { startService, type Fields, type Service, type ServiceOptions } from './service.ts';

type Item = Readonly<Record<string, unknown>>;

const search = async (service: Service, fields: Fields) => {
  const answer = await service.call('filesSearch', fields);
  expect(answer.messages).toEqual(answer.data['messages'] ?? []);
  expect(answer.status).toBe(200);
  const items = answer.data['items'] as readonly Item[];
  return {
    items,
    cursor: answer.data['cursor'] as string | undefined,
    messages: answer.messages,
    names: items.map(({ source, path, name }) => `${String(source)}:${String(path)}:${String(name)}`),
  };
};

const found = async (service: Service, query: string, more: Fields = {}): Promise<string[]> =>
  (await search(service, { query, source: 'files', ...more })).names.map((name) =>
    name.replace('files:', ''),
  );

const withFiles = async (files: Readonly<Record<string, string>>, options: ServiceOptions = {}) => {
  const service = await startService(options);
  await service.source('files').put(files);
  return service;
};

describe('filesSearch', () => {
  it('finds files and folders below the folder by all words of the query', async () => {
    const service = await withFiles({
      'Summer/Beach 2026.jpg': 'b',
      'Summer/notes.txt': 'n',
      'deep/er/summer beach.txt': 's',
      'winter.jpg': 'w',
    });
    expect(await found(service, 'SUMMER')).toEqual(['/:Summer', 'deep/er:summer beach.txt']);
    expect(await found(service, ' beach   2026 ')).toEqual(['Summer:Beach 2026.jpg']);
    expect(await found(service, 'beach', { path: 'deep' })).toEqual(['deep/er:summer beach.txt']);
    expect(await found(service, 'nothing')).toEqual([]);
  });

  it('compares names without their case and in one spelling of Unicode', async () => {
    const service = await withFiles({
      'e\u0301te\u0301/PLAGE\u0301.jpg': '1',
      'ΟΔΟΣ.txt': '2',
      '🏖 ferien.txt': '3',
      'İzmir.txt': '4',
    });
    for (const query of ['izmir', 'İZMİR', 'i\u0307zmir']) {
      expect(await found(service, query)).toEqual(['/:İzmir.txt']);
    }
    expect(await found(service, 'ÉTÉ')).toEqual(['/:été']);
    expect(await found(service, 'plagé')).toEqual(['été:PLAGÉ.jpg']);
    expect(await found(service, 'οδος')).toEqual(['/:ΟΔΟΣ.txt']);
    expect(await found(service, '🏖 FERIEN')).toEqual(['/:🏖 ferien.txt']);
    const { items } = await search(service, { query: 'plagé' });
    const download = await service.get('fileDownload', {
      path: String(items[0]?.['path']),
      name: String(items[0]?.['name']),
    });
    expect(await download.text()).toBe('1');
  });

  it('answers items as `files` does, with source, folder and link', async () => {
    const service = await withFiles({ 'a/photo 1.jpg': 'no picture', 'a/photo': '', 'a/photo.d/': '' });
    const { items } = await search(service, { query: 'photo', 'mods[details]': 'true' });
    const listing = await service.call('files', {
      path: 'a',
      'mods[details]': 'true',
      'mods[withFolders]': 'true',
      'mods[sortBy]': 'name-asc',
    });
    const [{ files = [] } = {}] = listing.data['sources'] as { files?: Item[] }[];
    const listed = files.map(({ thumb: _thumb, ...item }) => ({ ...item, source: 'files', path: 'a' }));
    const url = 'https://files.example/files/a/photo%201.jpg';
    expect(items).toEqual(listed.map((item) => ('size' in item ? { ...item, url } : item)));
    expect(items.map(({ type }) => type)).toEqual(['image', 'folder']);
  });

  it('filters by type, size and time', async () => {
    const service = await withFiles({
      'x1.jpg': 'a'.repeat(10),
      'x2.txt': 'a'.repeat(20),
      'd/x3.txt': '',
      'xd/': '',
    });
    const root = service.source('files').root;
    await utimes(join(root, 'x1.jpg'), 1, Date.UTC(2020, 0, 1) / 1000);
    await utimes(join(root, 'x2.txt'), 1, Date.UTC(2020, 5, 1) / 1000);
    const names = async (more: Fields) =>
      (await found(service, 'x', more)).map((one) => one.replace(/.*:/u, ''));
    expect(await names({ type: 'image' })).toEqual(['x1.jpg']);
    expect(await names({ type: 'file' })).toEqual(['x3.txt', 'x2.txt']);
    expect(await names({ type: 'folder' })).toEqual(['xd']);
    expect(await names({ minBytes: '10' })).toEqual(['x1.jpg', 'x2.txt']);
    expect(await names({ minBytes: '11' })).toEqual(['x2.txt']);
    expect(await names({ maxBytes: '10' })).toEqual(['x3.txt', 'x1.jpg']);
    expect(await names({ modifiedBefore: '2020-06-01' })).toEqual(['x1.jpg']);
    expect(await names({ modifiedAfter: '2020-01-01', modifiedBefore: '2020-06-01T00:00:01Z' })).toEqual([
      'x1.jpg',
      'x2.txt',
    ]);
    expect(await names({ modifiedAfter: '2020-01-01T01:00:00+00:30', type: 'image' })).toEqual([]);
  });

  it('shows nothing that listings hide', async () => {
    const service = await withFiles({
      '_thumbs/x.jpg': '1',
      '.quarantine/x.txt': '2',
      'a/_THUMBS/x.jpg': '3',
      x_rsa: '4',
      'x.env': '5',
      'a/x.txt': '6',
    });
    await service.outside.put({ 'secret/x.txt': '7' });
    await symlink(join(service.outside.root, 'secret'), join(service.source('files').root, 'link'));
    await symlink(
      join(service.outside.root, 'secret/x.txt'),
      join(service.source('files').root, 'x-link.txt'),
    );
    expect(await found(service, 'x')).toEqual(['a:x.txt']);
    expect(await found(service, 'thumbs')).toEqual([]);
    for (const path of ['_thumbs', '.quarantine', 'missing', 'link']) {
      expect((await service.call('filesSearch', { query: 'x', path })).status).toBe(404);
    }
  });

  it.each(['local', 'memory'])('obeys the rules for every item and folder (%s)', async (storageAdapter) => {
    const service = await startService({
      sources: { files: storageAdapter === 'memory' ? { storageAdapter, root: undefined } : {} },
      accessControl: [
        { path: 'unlisted', FILES: false },
        { path: 'unentered', FOLDERS: false },
        { path: 'unsearched', FILES_SEARCH: false },
        { path: 'unsearched/but', FILES_SEARCH: true },
        { extensions: ['pdf'], FILES: false },
        { extensions: ['doc'], FILES_SEARCH: false },
      ],
    });
    for (const path of ['unlisted', 'unentered', 'unsearched', 'unsearched/but', 'open']) {
      const [folder, name = ''] = [path.split('/').slice(0, -1).join('/'), path.split('/').at(-1)];
      expect((await service.call('folderCreate', { path: folder, name })).status).toBe(200);
      const files = ['x.txt', 'x.pdf', 'x.doc'].map(
        (one, index) => [`files[${String(index)}]`, one, one] as const,
      );
      expect((await service.upload(files, { path })).status).toBe(200);
    }
    expect(await found(service, 'x')).toEqual(['open:x.txt', 'unsearched/but:x.txt']);
    expect(await found(service, 'un')).toEqual([]);
    expect((await service.call('filesSearch', { query: 'x', path: 'unsearched' })).status).toBe(403);
    expect(await found(service, 'x', { path: 'unsearched/but' })).toEqual(['unsearched/but:x.txt']);
  });

  it.each(['local', 'memory'])('pages without a miss or a repetition (%s)', async (storageAdapter) => {
    const service = await startService({
      sources: { files: storageAdapter === 'memory' ? { storageAdapter, root: undefined } : {} },
      searchLimits: { entries: 3 },
    });
    const paths: string[] = [];
    for (const folder of ['', 'a', 'a/b', 'a-b', 'c']) {
      if (folder !== '') {
        const at = folder.lastIndexOf('/');
        await service.call('folderCreate', {
          path: folder.slice(0, Math.max(at, 0)),
          name: folder.slice(at + 1),
        });
      }
      const names = ['x1.txt', 'x2.txt', '1.md', '2.md', '3.md', '4.md'];
      await service.upload(
        names.map((name, index) => [`files[${String(index)}]`, name, name] as const),
        { path: folder },
      );
      paths.push(...names.slice(0, 2).map((name) => `${folder || '/'}:${name}`));
    }
    for (const limit of ['1', '3', '1000']) {
      const names: string[] = [];
      let cursor = '';
      let answers = 0;
      do {
        const page = await search(service, { query: 'x', limit, cursor });
        expect(page.items.length).toBeLessThanOrEqual(Number(limit));
        names.push(...page.names.map((name) => name.replace('files:', '')));
        cursor = page.cursor ?? '';
        answers += 1;
      } while (cursor !== '' && answers < 100);
      expect([...names].sort()).toEqual([...paths].sort());
      expect(answers).toBeGreaterThanOrEqual(Math.ceil(paths.length / Number(limit)));
    }
  });

  it('tells nothing of folders below which the role may list nothing, and shows no file of an unlisted folder', async () => {
    const service = await withFiles(
      { 'hr/merger/plan.txt': '', 'some/a.png': '', 'some/a.txt': '' },
      {
        accessControl: [
          { path: 'hr', FILES: false, FOLDERS: false },
          { path: 'some', FILES: false },
          { path: 'some', extensions: 'png', FILES: true },
        ],
      },
    );
    for (const path of ['hr', 'hr/merger', 'hr/none']) {
      const answer = await service.call('filesSearch', { path, query: 'a' });
      expect([path, answer.status, answer.messages]).toEqual([path, 404, ['The folder was not found.']]);
    }
    expect((await service.call('files', { path: 'some' })).status).toBe(403);
    expect((await service.call('filesSearch', { query: 'a', type: 'image' })).data['items']).toEqual([]);
  });

  it('tells nothing in its cursors of what is denied', async () => {
    const service = await startService({
      searchLimits: { entries: 100 },
      accessControl: [{ path: 'private', FILES: false, FOLDERS: false }],
    });
    const files: Record<string, string> = { 'z/secret.txt': '' };
    for (let index = 0; index < 1500; index += 1) files[`private/secret-${String(index)}.txt`] = '';
    await service.source('files').put(files);
    const seen: string[] = [];
    const cursors: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page: Awaited<ReturnType<typeof search>> = await search(service, { query: 'secret', cursor });
      seen.push(...page.names);
      cursor = page.cursor;
      if (cursor !== undefined) cursors.push(cursor);
    }
    expect(seen).toEqual(['files:z:secret.txt']);
    expect(cursors.length).toBeGreaterThan(0);
    for (const cursor of cursors) {
      for (const encoding of ['base64url', 'latin1'] as const)
        expect(Buffer.from(cursor, encoding).toString('latin1')).not.toMatch(/secret|private/u);
    }
  });

  it('gives cursors that every instance with its `signingSecret` takes, and no other', async () => {
    const files = { 'a/x.txt': '1', 'b/x.txt': '2' };
    const keys = ['first key of 32 bytes: 0123456789', 'second key of 32 bytes: 0123456789'];
    const first = await withFiles(files, { signingSecret: keys[1] });
    const [rotated, other] = [
      await withFiles(files, { signingSecret: keys }),
      await withFiles(files, { signingSecret: keys[0] }),
    ];
    const { cursor = '' } = await search(first, { query: 'x', limit: '1' });
    const rest = { query: 'x', limit: '1', cursor };
    expect((await search(rotated, rest)).names).toEqual(['files:b:x.txt']);
    expect((await other.call('filesSearch', rest)).status).toBe(400);
  });

  it('goes on where it was when entries have come and gone meanwhile', async () => {
    const service = await withFiles({ 'a/x1.txt': '', 'a/x2.txt': '', 'b/x3.txt': '', 'c/x4.txt': '' });
    const first = await search(service, { query: 'x', limit: '2' });
    expect(first.names).toEqual(['files:a:x1.txt', 'files:a:x2.txt']);
    const files = service.source('files');
    await rm(join(files.root, 'a'), { recursive: true });
    await files.put({ 'b/x2.txt': '', '0/x.txt': '' });
    const second = await search(service, { query: 'x', limit: '10', cursor: first.cursor ?? '' });
    expect(second.names).toEqual(['files:b:x2.txt', 'files:b:x3.txt', 'files:c:x4.txt']);
    expect(second.cursor).toBeUndefined();
  });

  it('searches all sources, also when one of them is dead or lacks the folder', async () => {
    const dead = async (): Promise<never> => {
      throw new StorageUnavailableError();
    };
    registerStorageAdapter('dead-search', {
      create: async (context) => {
        const store = await memoryFactory.create({ ...context, options: undefined });
        return Object.assign(Object.create(store) as StorageAdapter, { stat: dead });
      },
    });
    const service = await startService({
      sources: { one: {}, dead: { storageAdapter: 'dead-search', root: undefined }, two: {} },
    });
    await service.source('one').put({ 'a/x.txt': '1' });
    await service.source('two').put({ 'b/x.txt': '2', 'x.txt': '3' });
    const all = await search(service, { query: 'x' });
    expect(all.names).toEqual(['one:a:x.txt', 'two:b:x.txt', 'two:/:x.txt']);
    expect(all.messages).toEqual(['The source "dead" cannot be reached now.']);
    const names: string[] = [];
    for (let cursor: string | undefined = '', pages = 0; cursor !== undefined && pages < 10; pages += 1) {
      const page = await search(service, { query: 'x', limit: '1', cursor });
      names.push(...page.names);
      cursor = page.cursor;
    }
    expect(names).toEqual(all.names);
    expect((await search(service, { query: 'x', path: 'b' })).names).toEqual(['two:b:x.txt']);
    expect((await service.call('filesSearch', { query: 'x', path: 'c' })).status).toBe(404);
    expect((await service.call('filesSearch', { query: 'x', source: 'dead' })).status).toBe(500);
  });

  it('searches one source while many searches wait for another one whose store keeps silent', async () => {
    let waiting = 0;
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    registerStorageAdapter('silent-search', {
      create: async (context) => {
        const store = await memoryFactory.create({ ...context, options: undefined });
        return Object.assign(Object.create(store) as StorageAdapter, {
          async *list() {
            waiting += 1;
            await gate;
            yield [];
          },
        });
      },
    });
    const service = await startService({
      sources: { silent: { storageAdapter: 'silent-search', root: undefined }, files: {} },
    });
    await service.source('files').put({ 'a.txt': '1' });
    const fields = { query: 'a', source: 'silent' };
    const held = Array.from({ length: 20 }, () => service.call('filesSearch', fields));
    try {
      await expect.poll(() => waiting).toBeGreaterThanOrEqual(6);
      expect(await found(service, 'a')).toEqual(['/:a.txt']);
    } finally {
      release();
      await Promise.all(held);
    }
  });

  it('gives links that expire, and thumbnails without making them, in sources that serve their files', async () => {
    const service = await startService({
      signingSecret: 's'.repeat(32),
      sources: { files: { serve: 'signed', baseurl: undefined } },
    });
    await service.source('files').put({ 'a b/x.txt': 'text' });
    const { items } = await search(service, { query: 'x' });
    const [item = {}] = items;
    expect(item['file']).toBe(item['url']);
    expect(await (await fetch(new URL(String(item['url']), service.url))).text()).toBe('text');
    expect((await fetch(new URL(String(item['thumb']), service.url))).status).toBe(200);
    expect(await service.source('files').paths()).toEqual(['a b/', 'a b/x.txt']);
  });

  it.each([
    ['no query', {}],
    ['an empty query', { query: '' }],
    ['a blank query', { query: ' \t' }],
    ['a long query', { query: 'x'.repeat(401) }],
    ['a very long query', { query: 'x'.repeat(100_000) }],
    ['a type that is none', { query: 'x', type: 'video' }],
    ['a time that is none', { query: 'x', modifiedAfter: 'yesterday' }],
    ['a date that is none', { query: 'x', modifiedBefore: '2026-13-01' }],
    ['a day that no month has', { query: 'x', modifiedAfter: '2026-02-30' }],
    ['a time on a day that no month has', { query: 'x', modifiedAfter: '2026-02-30T12:00:00Z' }],
    ['a negative size', { query: 'x', minBytes: '-1' }],
    ['a limit of nothing', { query: 'x', limit: '0' }],
    ['a negative limit', { query: 'x', limit: '-1' }],
    ['a path that leads out', { query: 'x', path: '../' }],
    ['a cursor that is none', { query: 'x', cursor: '%%%' }],
    ['a cursor without JSON', { query: 'x', cursor: 'eHl6' }],
    ['a cursor of another shape', { query: 'x', cursor: Buffer.from('{"a":1}').toString('base64url') }],
    [
      'a cursor that leads out',
      { query: 'x', cursor: Buffer.from('["files","../../etc/"]').toString('base64url') },
    ],
    [
      'a cursor of another source',
      { query: 'x', cursor: Buffer.from('["other","a/"]').toString('base64url') },
    ],
    [
      'a cursor with control characters',
      { query: 'x', cursor: Buffer.from('["files","a\\u0000b"]').toString('base64url') },
    ],
    ['a very long cursor', { query: 'x', cursor: 'A'.repeat(100_000) }],
  ])('refuses %s', async (_what, fields: Fields) => {
    const service = await withFiles({ 'x.txt': '' });
    const { status, messages } = await service.call('filesSearch', fields);
    expect(status).toBe(400);
    expect(messages.join(' ').length).toBeLessThan(200);
  });

  it('refuses a query of a megabyte', async () => {
    const service = await startService();
    expect((await service.call('filesSearch', { query: 'x'.repeat(1_000_000) })).status).toBe(413);
  });

  it('takes a number that is none for 422, and a limit of very much for what is possible', async () => {
    const service = await withFiles({ 'x1.txt': '', 'x2.txt': '' });
    expect((await service.call('filesSearch', { query: 'x', limit: 'many' })).status).toBe(422);
    expect(await found(service, 'x', { limit: '100000' })).toEqual(['/:x1.txt', '/:x2.txt']);
  });

  it('answers GET as well, and a denied role nothing', async () => {
    const service = await withFiles({ 'x.txt': '' });
    expect((await service.get('filesSearch', { query: 'x' })).status).toBe(200);
    const denied = await withFiles({ 'x.txt': '' }, { accessControl: [{ FILES_SEARCH: false }] });
    expect((await denied.call('filesSearch', { query: 'x' })).status).toBe(403);
    expect((await denied.call('filesSearch', {})).status).toBe(403);
  });

  it('stops to walk when the client leaves', async () => {
    let listed = 0;
    registerStorageAdapter('endless-search', {
      create: async (context) => {
        const store = await memoryFactory.create({ ...context, options: undefined });
        // A tree that never ends.
        return Object.assign(Object.create(store) as StorageAdapter, {
          stat: async () => ({
            name: 'd',
            kind: 'folder',
            size: undefined,
            modifiedAt: undefined,
            etag: undefined,
          }),
          async *list() {
            listed += 1;
            await delay(1);
            yield [1, 2].map((name) => ({
              name: `d${String(name)}`,
              kind: 'folder',
              size: undefined,
              modifiedAt: undefined,
            }));
          },
        });
      },
    });
    const service = await startService({
      sources: { files: { storageAdapter: 'endless-search', root: undefined } },
      searchLimits: { seconds: 600 },
    });
    const request = get(`${service.url}/filesSearch?query=x`);
    request.on('error', () => undefined);
    while (listed < 10) await delay(5);
    request.destroy();
    let before = -1;
    // Until nothing is listed any more: the test ends by its time limit otherwise.
    while (before !== listed) {
      before = listed;
      await delay(100);
    }
    expect((await fetch(`${service.url}/ping`)).status).toBe(200);
  });
});

it('a search in a store whose listings fail is an error, not an empty result', async () => {
  const storageAdapter = 'search-without-listings';
  registerStorageAdapter(storageAdapter, {
    create: async (context) => {
      const memory = await memoryFactory.create({ ...context, options: undefined });
      return withFaults(memory, [{ operation: 'list', effect: 'fail-before' }]);
    },
  });
  const service = await startService({ createThumb: false, sources: { files: { storageAdapter } } });
  expect((await service.call('filesSearch', { source: 'files', query: 'a' })).status).toBe(500);
});
