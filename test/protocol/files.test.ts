import { readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { startService, type Answer, type Fields, type Service } from './service.ts';

interface Item {
  readonly file: string;
  readonly name: string;
  readonly type: string;
  readonly isImage?: boolean;
  readonly size?: string;
  readonly changed?: string;
  readonly thumb?: string;
}

interface Part {
  readonly name: string;
  readonly title: string;
  readonly baseurl: string;
  readonly path: string;
  readonly files: readonly Item[];
}

const parts = ({ status, data }: Answer): readonly Part[] => {
  expect(status).toBe(200);
  expect(Object.keys(data)).toEqual(['code', 'sources']);
  expect(data['code']).toBe(220);
  return data['sources'] as readonly Part[];
};

const items = (answer: Answer): readonly Item[] => {
  const [part, ...rest] = parts(answer);
  expect(rest).toEqual([]);
  return part?.files ?? [];
};

const list = async (service: Service, fields: Fields = {}): Promise<readonly string[]> =>
  items(await service.call('files', fields)).map(({ name }) => name);

/** `mods({ limit: '5' })` is `{ 'mods[limit]': '5' }`. */
const mods = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [`mods[${key}]`, value]));

const touch = async (
  service: Service,
  times: Readonly<Record<string, string>>,
  source = 'files',
): Promise<void> => {
  for (const [path, iso] of Object.entries(times)) {
    const date = new Date(iso);
    await utimes(join(service.source(source).root, path), date, date);
  }
};

beforeAll(() => {
  process.env['TZ'] = 'America/New_York';
});

describe('files: the answer', () => {
  it('describes files, images and folders', async () => {
    const service = await startService({ createThumb: false });
    await service
      .source('files')
      .put({ 'Ünï 1.txt': 'x'.repeat(1157), 'b.PNG': 'no real picture', 'sub/x.txt': '', 'c.json': '' });
    await touch(service, {
      'Ünï 1.txt': '2026-03-08T06:59:59Z',
      'b.PNG': '2026-03-08T07:00:00Z',
      'c.json': '1969-12-31T23:00:00Z',
      sub: '2026-07-04T04:05:06Z',
    });
    const answer = await service.call('files', mods({ withFolders: 'true', sortBy: 'name-asc' }));
    expect(answer.success).toBe(true);
    expect(parts(answer)).toEqual([
      {
        name: 'files',
        title: 'files',
        baseurl: 'https://files.example/files/',
        path: '/',
        files: [
          {
            file: 'b.PNG',
            name: 'b.PNG',
            type: 'image',
            isImage: true,
            size: '15B',
            changed: '3/8/2026 3:00:00 AM',
          },
          {
            file: 'c.json',
            name: 'c.json',
            type: 'file',
            isImage: false,
            size: '0B',
            changed: '12/31/1969 6:00:00 PM',
          },
          { file: 'sub', name: 'sub', type: 'folder' },
          {
            file: 'Ünï 1.txt',
            name: 'Ünï 1.txt',
            type: 'file',
            isImage: false,
            size: '1.13KB',
            changed: '3/8/2026 1:59:59 AM',
          },
        ],
      },
    ]);
  });

  it('answers GET, POST, JSON and the action in the query alike', async () => {
    const service = await startService({ createThumb: false });
    await service.source('files').put({ 'a.txt': '', 'b.txt': '', 'sub/': '' });
    const fields = mods({ withFolders: 'true', limit: '2', sortBy: 'name-desc' });
    const { data } = await service.call('files', fields);
    expect(items(await service.call('files', fields)).map(({ name }) => name)).toEqual(['sub', 'b.txt']);
    const query = new URLSearchParams(fields).toString();
    const json = (body: object): RequestInit => ({
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const responses = await Promise.all([
      fetch(`${service.url}/files?${query}`),
      fetch(`${service.url}/?action=files&${query}`),
      fetch(`${service.url}/files`, json({ mods: { withFolders: true, limit: 2, sortBy: 'name-desc' } })),
      fetch(`${service.url}/`, json({ action: 'files', ...fields })),
    ]);
    for (const response of responses) {
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(await response.json()).toEqual({ success: true, data });
    }
  });

  it.each([
    ['', '/', 'root.txt'],
    ['/', '/', 'root.txt'],
    ['/.', '/', 'root.txt'],
    ['sub/..', '/', 'root.txt'],
    ['sub', 'sub', 'inner.txt'],
    ['/sub/', 'sub', 'inner.txt'],
    ['sub/deep/../', 'sub', 'inner.txt'],
    ['sub//./deep', 'sub/deep', 'deepest.txt'],
  ])('reads the path %j', async (path, told, name) => {
    const service = await startService();
    await service.source('files').put({ 'root.txt': '', 'sub/inner.txt': '', 'sub/deep/deepest.txt': '' });
    const [part] = parts(await service.call('files', { path }));
    expect(part?.path).toBe(told);
    expect(part?.files.map((item) => item.name)).toEqual([name]);
  });

  it('gives an empty list for an empty folder', async () => {
    const service = await startService();
    expect(await list(service)).toEqual([]);
    expect(await list(service, mods({ withFolders: 'true', sortBy: 'name-asc', limit: '10' }))).toEqual([]);
  });
});

describe('files: order, filter and pages', () => {
  const filled = async (settings: object = {}): Promise<Service> => {
    const service = await startService({ createThumb: false, ...settings });
    await service.source('files').put({
      'b.txt': 'xx',
      'A.txt': 'xxxx',
      'a.txt': 'xx',
      'z.png': '',
      'm/': '',
      'B/': '',
    });
    await touch(service, {
      'b.txt': '2026-01-03',
      'A.txt': '2026-01-01',
      'a.txt': '2026-01-03',
      'z.png': '2026-01-02',
      m: '2026-01-04',
      B: '2025-01-01',
    });
    return service;
  };

  it.each([
    ['', ['a.txt', 'b.txt', 'z.png', 'A.txt']],
    ['name-asc', ['A.txt', 'a.txt', 'b.txt', 'z.png']],
    ['name-desc', ['z.png', 'b.txt', 'a.txt', 'A.txt']],
    ['changed-asc', ['A.txt', 'z.png', 'a.txt', 'b.txt']],
    ['changed-desc', ['a.txt', 'b.txt', 'z.png', 'A.txt']],
    ['size-asc', ['z.png', 'a.txt', 'b.txt', 'A.txt']],
    ['size-desc', ['A.txt', 'a.txt', 'b.txt', 'z.png']],
  ])('sorts by %j', async (sortBy, names) => {
    const service = await filled();
    expect(await list(service, mods({ sortBy }))).toEqual(names);
    expect(await list(service, mods({ sortBy, limit: '3' }))).toEqual(names.slice(0, 3));
    expect(await list(service, mods({ sortBy, limit: '2', offset: '1' }))).toEqual(names.slice(1, 3));
  });

  it('sorts by defaultSortBy when no order is asked for', async () => {
    expect(await list(await filled({ defaultSortBy: 'size-asc' }))).toEqual([
      'z.png',
      'a.txt',
      'b.txt',
      'A.txt',
    ]);
  });

  it.each([
    ['', 'name-asc', ['A.txt', 'B', 'a.txt', 'b.txt', 'm', 'z.png']],
    ['default', 'name-asc', ['A.txt', 'B', 'a.txt', 'b.txt', 'm', 'z.png']],
    ['default', 'changed-desc', ['m', 'a.txt', 'b.txt', 'z.png', 'A.txt', 'B']],
    ['top', 'name-asc', ['B', 'm', 'A.txt', 'a.txt', 'b.txt', 'z.png']],
    ['top', 'name-desc', ['m', 'B', 'z.png', 'b.txt', 'a.txt', 'A.txt']],
    ['top', 'changed-asc', ['B', 'm', 'A.txt', 'z.png', 'a.txt', 'b.txt']],
    ['bottom', 'changed-desc', ['a.txt', 'b.txt', 'z.png', 'A.txt', 'm', 'B']],
    ['bottom', 'size-asc', ['z.png', 'a.txt', 'b.txt', 'A.txt', 'B', 'm']],
  ])('puts folders %j in the order %s', async (foldersPosition, sortBy, names) => {
    const service = await filled();
    expect(await list(service, mods({ foldersPosition, sortBy, withFolders: 'true' }))).toEqual(names);
    const page = mods({ foldersPosition, sortBy, withFolders: 'true', offset: '1', limit: '3' });
    expect(await list(service, page)).toEqual(names.slice(1, 4));
  });

  it('lists folders only on request', async () => {
    const service = await filled();
    for (const withFolders of ['false', '', '0']) {
      expect(await list(service, mods({ withFolders, sortBy: 'name-asc' }))).toEqual([
        'A.txt',
        'a.txt',
        'b.txt',
        'z.png',
      ]);
    }
  });

  it('lists only images on request, and folders all the same', async () => {
    const service = await filled();
    expect(await list(service, mods({ onlyImages: 'true' }))).toEqual(['z.png']);
    expect(
      await list(service, mods({ onlyImages: 'true', withFolders: 'true', sortBy: 'name-asc' })),
    ).toEqual(['B', 'm', 'z.png']);
  });

  it('filters files and folders by a word, whatever the letter case', async () => {
    const service = await startService({ createThumb: false });
    await service.source('files').put({
      'Été 2026.txt': '',
      'été.png': '',
      'ПРИВЕТ.txt': '',
      'Straße.txt': '',
      'ΟΔΟΣ.txt': '',
      'agent 007.txt': '',
      'agent 7.txt': '',
      '1.10.txt': '',
      'summer/': '',
      'a%b [c].txt': '',
    });
    const found = (filterWord: string): Promise<readonly string[]> =>
      list(service, mods({ filterWord, withFolders: 'true', sortBy: 'name-asc' }));
    expect(await found('ÉTÉ')).toEqual(['Été 2026.txt', 'été.png']);
    expect(await found('e\u0301te\u0301')).toEqual(['Été 2026.txt', 'été.png']);
    expect(await found('привет')).toEqual(['ПРИВЕТ.txt']);
    expect(await found('STRASSE')).toEqual(['Straße.txt']);
    expect(await found('οδοσ')).toEqual(['ΟΔΟΣ.txt']);
    expect(await found('007')).toEqual(['agent 007.txt']);
    expect(await found('2026')).toEqual(['Été 2026.txt']);
    expect(await found('1.10')).toEqual(['1.10.txt']);
    expect(await found('SUM')).toEqual(['summer']);
    expect(await found('%B [')).toEqual(['a%b [c].txt']);
    expect(await found('.*')).toEqual([]);
    expect(await found('')).toHaveLength(10);
  });

  it('cuts pages after filter and sort', async () => {
    const service = await filled();
    const page = (fields: Fields): Promise<readonly string[]> =>
      list(service, mods({ sortBy: 'name-asc', ...fields }));
    expect(await page({ filterWord: 'TXT', offset: '1', limit: '1' })).toEqual(['a.txt']);
    expect(await page({ limit: '0' })).toEqual([]);
    expect(await page({ limit: '0', offset: '2' })).toEqual([]);
    expect(await page({ offset: '3' })).toEqual(['z.png']);
    expect(await page({ offset: '4' })).toEqual([]);
    expect(await page({ offset: '1000000000000', limit: '1000000000000' })).toEqual([]);
    expect(await page({ offset: '0', limit: '100' })).toHaveLength(4);
  });

  it('takes countInChunk for a limit that is not given', async () => {
    const service = await filled({ countInChunk: 2 });
    expect(await list(service, mods({ sortBy: 'name-asc' }))).toEqual(['A.txt', 'a.txt']);
    expect(await list(service, mods({ sortBy: 'name-asc', offset: '3' }))).toEqual(['z.png']);
    expect(await list(service, mods({ sortBy: 'name-asc', limit: '3' }))).toHaveLength(3);
  });

  it.each(['undefined', 'null'])(
    'takes the word %j for a value that the client does not have',
    async (word) => {
      const service = await filled();
      const names = [
        'withFolders',
        'onlyImages',
        'offset',
        'limit',
        'sortBy',
        'foldersPosition',
        'filterWord',
      ];
      const all = await list(service, {});
      expect(all).not.toEqual([]);
      expect(await list(service, mods(Object.fromEntries(names.map((name) => [name, word]))))).toEqual(all);
      expect(await list(service, { mods: word })).toEqual(all);
    },
  );

  it.each(['007', '1.10', '1e3', 'true', '12345678901234567890'])(
    'finds the word %j as it is',
    async (word) => {
      const service = await startService();
      const names = [`a${word}.txt`, `${String(Number(word))}.txt`];
      await service.source('files').put(Object.fromEntries(names.map((name) => [name, ''])));
      expect(await list(service, mods({ filterWord: word }))).toEqual([`a${word}.txt`]);
    },
  );

  it.each<[Fields, number, RegExp[]]>([
    [{ 'mods[offset]': 'x' }, 422, [/^mods\[offset\]: /u]],
    [{ 'mods[limit]': 'ten' }, 422, [/^mods\[limit\]: /u]],
    [{ 'mods[offset]': '' }, 422, [/^mods\[offset\]: /u]],
    [{ 'mods[limit]': '' }, 422, [/^mods\[limit\]: /u]],
    [{ 'mods[limit]': '5 files' }, 422, [/^mods\[limit\]: /u]],
    [{ 'mods[limit]': 'true' }, 422, [/^mods\[limit\]: /u]],
    [{ 'mods[limit]': 'Infinity' }, 422, [/^mods\[limit\]: /u]],
    [{ 'mods[limit][]': '1' }, 400, [/^Parameters nest by one level only/u]],
    [{ 'mods[limit][x]': '1' }, 400, [/^Parameters nest by one level only/u]],
    [{ 'mods[offset]': 'x', 'mods[limit]': 'y' }, 422, [/^mods\[offset\]: /u, /^mods\[limit\]: /u]],
    [{ 'mods[offset]': '-1' }, 400, [/^mods\[offset\]: /u]],
    [{ 'mods[limit]': '-5' }, 400, [/^mods\[limit\]: /u]],
    [{ 'mods[limit]': '1.5' }, 400, [/^mods\[limit\]: /u]],
    [{ 'mods[sortBy]': 'newest' }, 400, [/^mods\[sortBy\]: /u]],
    [{ 'mods[sortBy]': 'NAME-ASC' }, 400, [/^mods\[sortBy\]: /u]],
    [{ 'mods[foldersPosition]': 'left' }, 400, [/^mods\[foldersPosition\]: /u]],
    [{ 'mods[withFolders]': 'maybe' }, 400, [/^mods\[withFolders\]: /u]],
    [{ 'mods[onlyImages]': 'TRUE' }, 400, [/^mods\[onlyImages\]: /u]],
    [{ 'mods[filterWord][a]': 'b' }, 400, [/^Parameters nest by one level only/u]],
    [{ mods: 'x' }, 400, [/^mods: /u]],
    [
      { 'mods[sortBy]': 'x', 'mods[foldersPosition]': 'y', path: '../z' },
      400,
      [/^The path /u, /^mods\[sortBy\]: /u, /^mods\[foldersPosition\]: /u],
    ],
    [{ path: '..' }, 400, [/^The path /u]],
    [{ path: '/../../etc' }, 400, [/^The path /u]],
    [{ path: 'a\\..\\..\\b' }, 400, [/^The path /u]],
    [{ path: 'a\u0000.txt' }, 400, [/^The path /u]],
    [{ path: 'none' }, 404, [/./u]],
    [{ path: 'a.txt' }, 404, [/./u]],
    [{ source: 'none' }, 404, [/./u]],
  ])('refuses %j', async (fields, status, messages) => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': '' });
    const answer = await service.call('files', fields);
    expect([answer.status, answer.success, answer.data['code']]).toEqual([status, false, status]);
    expect(answer.messages).toHaveLength(messages.length);
    for (const [index, message] of messages.entries()) expect(answer.messages[index]).toMatch(message);
    expect(JSON.stringify(answer.data)).not.toContain(service.outside.root);
  });

  it('refuses nested values of a JSON body where a number or a word is meant', async () => {
    const service = await startService();
    const post = async (mods: unknown): Promise<unknown> => {
      const response = await fetch(`${service.url}/files`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ mods }),
      });
      return [response.status, await response.json()];
    };
    const refusal = (code: number, message: RegExp): unknown => [
      code,
      expect.objectContaining({
        data: expect.objectContaining({ messages: [expect.stringMatching(message)] }),
      }),
    ];
    expect(await post({ limit: { x: 1 } })).toEqual(refusal(422, /^mods\[limit\]: /u));
    expect(await post({ filterWord: { a: 'b' } })).toEqual(refusal(400, /^mods\[filterWord\]: /u));
  });

  it.each(['1e400', '9'.repeat(400)])('takes %s for a large number, as text and in JSON', async (number) => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': '' });
    const ask = async (body: string, type: string): Promise<unknown> => {
      const init = { method: 'POST', headers: { 'content-type': type }, body };
      const response = await fetch(`${service.url}/files`, init);
      const { data } = (await response.json()) as { data: { sources?: { files: unknown[] }[] } };
      return data.sources?.[0]?.files.length ?? response.status;
    };
    const form = (name: string, value: string) =>
      ask(`mods[${name}]=${value}`, 'application/x-www-form-urlencoded');
    const json = (name: string, value: string) => ask(`{"mods":{"${name}":${value}}}`, 'application/json');
    expect([await form('limit', number), await form('offset', number)]).toEqual([1, 0]);
    expect([await json('limit', number), await json('offset', number)]).toEqual([1, 0]);
    expect([await form('limit', `-${number}`), await json('limit', `-${number}`)]).toEqual([400, 400]);
  });

  it('refuses a path that is too deep or too long', async () => {
    const service = await startService();
    for (const path of ['a/'.repeat(1000), 'a'.repeat(256), `${'a'.repeat(200)}/`.repeat(20)]) {
      expect((await service.call('files', { path })).status).toBe(400);
    }
  });

  it('refuses a parameter that is given twice', async () => {
    const service = await startService();
    const response = await fetch(`${service.url}/files?path=a&path=b`);
    expect(response.status).toBe(400);
  });
});

describe('files: several sources', () => {
  it('lists every source, each with its own settings and page', async () => {
    const service = await startService({
      createThumb: false,
      sources: {
        one: { title: 'First' },
        two: {
          name: 'second',
          datetimeFormat: 'YYYY-MM-DD[T]HH:mm',
          extensions: ['dat', 'jpg'],
          imageExtensions: ['dat'],
          defaultSortBy: 'name-desc',
          countInChunk: 2,
          excludeDirectoryNames: ['hidden.dat'],
        },
      },
    });
    await service.source('one').put({ 'a.txt': '', 'b.dat': '' });
    await service
      .source('two')
      .put({ 'a.txt': '', 'b.dat': 'x', 'c.JPG': '', 'd.dat': '', 'hidden.dat': '' });
    await touch(service, { 'a.txt': '2026-01-01T12:00:00Z' }, 'one');
    await touch(service, { 'b.dat': '2026-01-01T12:00:00Z', 'c.JPG': '2026-01-02T12:00:00Z' }, 'two');

    const [one, two, ...rest] = parts(await service.call('files'));
    expect(rest).toEqual([]);
    expect([one?.name, one?.title, one?.baseurl, one?.path]).toEqual([
      'one',
      'First',
      'https://files.example/one/',
      '/',
    ]);
    expect(one?.files).toEqual([
      {
        file: 'a.txt',
        name: 'a.txt',
        type: 'file',
        isImage: false,
        size: '0B',
        changed: '1/1/2026 7:00:00 AM',
      },
    ]);
    expect([two?.name, two?.title, two?.baseurl]).toEqual(['second', 'two', 'https://files.example/two/']);
    expect(two?.files.map(({ name, type, isImage }) => [name, type, isImage])).toEqual([
      ['d.dat', 'image', true],
      ['c.JPG', 'file', false],
    ]);
    expect(two?.files[1]?.changed).toBe('2026-01-02T07:00');

    const paged = parts(await service.call('files', mods({ offset: '1', limit: '1' })));
    expect(paged.map(({ files }) => files.map(({ name }) => name))).toEqual([[], ['c.JPG']]);
  });

  it('needs the path in all of them, or a source by its name or key', async () => {
    const service = await startService({ sources: { one: {}, two: { name: 'second' } } });
    await service.source('one').put({ 'both/a.txt': '', 'only/b.txt': '' });
    await service.source('two').put({ 'both/c.txt': '' });
    expect(parts(await service.call('files', { path: 'both' })).map(({ name }) => name)).toEqual([
      'one',
      'second',
    ]);
    expect(parts(await service.call('files', { path: 'both', source: 'default' }))).toHaveLength(2);
    expect(await list(service, { path: 'only', source: 'one' })).toEqual(['b.txt']);
    expect(await list(service, { path: 'both', source: 'second' })).toEqual(['c.txt']);
    expect(await list(service, { path: 'both', source: 'two' })).toEqual(['c.txt']);
    expect((await service.call('files', { path: 'only' })).status).toBe(404);
    expect((await service.call('files', { path: 'only', source: 'second' })).status).toBe(404);
  });

  it('takes a source that is really named default', async () => {
    const service = await startService({ sources: { other: {}, default: {} } });
    await service.source('default').put({ 'a.txt': '' });
    expect(await list(service, { source: 'default' })).toEqual(['a.txt']);
  });

  it('takes the position that Jodit before 3.6 sends only for the one source there is', async () => {
    const single = await startService({ sources: { only: {} } });
    await single.source('only').put({ 'pets/cat.png': '' });
    expect(await list(single, { source: '0', path: '/pets/' })).toEqual(['cat.png']);
    expect((await single.call('files', { source: '1' })).status).toBe(404);
    const several = await startService({ sources: { one: {}, two: {} } });
    expect((await several.call('files', { source: '0' })).status).toBe(404);
    const named = await startService({ sources: { other: {}, 0: {} } });
    await named.source('0').put({ 'a.txt': '' });
    expect(await list(named, { source: '0' })).toEqual(['a.txt']);
  });

  it('has nothing to list where there is no source', async () => {
    const service = await startService({ sources: {} });
    expect(parts(await service.call('files'))).toEqual([]);
    expect((await service.call('files', { source: 'files' })).status).toBe(404);
  });

  it('lists more sources than it reads at once, in their order', async () => {
    const names = Array.from({ length: 11 }, (_, index) => `source-${String(10 - index)}`);
    const service = await startService({ sources: Object.fromEntries(names.map((name) => [name, {}])) });
    for (const name of names) await service.source(name).put({ [`${name}.txt`]: '' });
    const all = parts(await service.call('files'));
    expect(all.map(({ name, files }) => [name, files.map((item) => item.name)])).toEqual(
      names.map((name) => [name, [`${name}.txt`]]),
    );
  });
});

describe('files: thumbnails', () => {
  const picture = (): Promise<Buffer> =>
    sharp({ create: { width: 300, height: 200, channels: 3, background: '#c63' } })
      .png()
      .toBuffer();

  const thumbs = async (
    service: Service,
    fields: Fields = {},
  ): Promise<Readonly<Record<string, string | undefined>>> =>
    Object.fromEntries(
      items(
        await service.call('files', { ...mods({ sortBy: 'name-asc', withFolders: 'true' }), ...fields }),
      ).map(({ name, thumb }) => [name, thumb]),
    );

  it('names thumbnails that are really there', async () => {
    const service = await startService();
    await service
      .source('files')
      .put({ 'a.png': await picture(), 'sub/b.png': await picture(), 'c.txt': '', 'd.svg': '<svg/>' });
    const root = await thumbs(service);
    expect(root['a.png']).toBe('_thumbs/a.png');
    expect(root['d.svg']).toBe('d.svg');
    for (const name of ['c.txt', 'sub']) expect(root[name]).toMatch(/^_thumbs\/[\w~.-]+\.svg$/u);
    const stored = await readdir(join(service.source('files').root, '_thumbs'));
    expect(
      Object.values(root)
        .flatMap((thumb) => thumb?.split('/')[1] ?? [])
        .sort(),
    ).toEqual(stored.sort());
    expect(await thumbs(service, { path: 'sub' })).toEqual({ 'b.png': '_thumbs/b.png' });
    expect(await service.source('files').paths()).toContain('sub/_thumbs/b.png');
  });

  it('makes no more new ones than the quota, counted by source, and goes on with the next listing', async () => {
    const service = await startService({ safeThumbsCountInOneTime: 2, sources: { one: {}, two: {} } });
    for (const source of ['one', 'two']) {
      await service
        .source(source)
        .put({ 'a.png': await picture(), 'b.png': await picture(), 'c.png': await picture() });
    }
    const made = async (): Promise<readonly (string | undefined)[][]> => {
      const all = parts(await service.call('files', mods({ sortBy: 'name-asc' })));
      return all.map(({ files }) => files.map((item) => item.thumb));
    };
    const two = ['_thumbs/a.png', '_thumbs/b.png', undefined];
    expect(await made()).toEqual([two, two]);
    const three = ['_thumbs/a.png', '_thumbs/b.png', '_thumbs/c.png'];
    expect(await made()).toEqual([three, three]);
  });

  it('makes those of the page only', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'a.png': await picture(), 'b.png': await picture(), 'c.png': await picture() });
    expect(await thumbs(service, mods({ offset: '1', limit: '1' }))).toEqual({ 'b.png': '_thumbs/b.png' });
    expect(await readdir(join(files.root, '_thumbs'))).toEqual(['b.png']);
  });

  it('has none, and no folder for them, when they are off', async () => {
    const service = await startService({ createThumb: false });
    await service.source('files').put({ 'a.png': await picture(), 'b.txt': '', 'sub/': '' });
    const all = items(await service.call('files', mods({ withFolders: 'true' })));
    expect(all.filter((item) => 'thumb' in item)).toEqual([]);
    expect(await service.source('files').paths()).toEqual(['a.png', 'b.txt', 'sub/']);
  });

  it('points to the items themselves where no icons are drawn', async () => {
    const service = await startService({ generateSvgThumbs: false });
    await service.source('files').put({ 'a.png': await picture(), 'b.txt': '', 'sub/': '' });
    expect(await thumbs(service)).toEqual({ 'a.png': '_thumbs/a.png', 'b.txt': 'b.txt', sub: 'sub' });
  });
});
