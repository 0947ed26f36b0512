import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { registerStorageAdapter, type ServiceEvent } from 'stowage';
import { SourcePath, StorageDeniedError } from 'stowage/storage';
import { describe, expect, it } from 'vitest';
import { MemoryAdapter } from '#internals';
import { put } from '../pictures/gallery.ts';
import { quarters } from '../pictures/pictures.ts';
import { replacing } from './changing-store.ts';
import { formOf, startService, type Fields, type FormFile, type Service } from './service.ts';

interface Item {
  readonly name: string;
  readonly path?: string;
  readonly about?: Readonly<Record<string, unknown>>;
}

const WORDS = { alt: 'A cat', title: 'Cat', caption: 'A cat on a roof', credit: 'Jane' };
const ALL: Fields = {
  ...WORDS,
  'tags[0]': 'animal',
  'tags[1]': 'roof',
  'focalPoint[x]': '0.25',
  'focalPoint[y]': '1',
};
const ABOUT = { ...WORDS, tags: ['animal', 'roof'], focalPoint: { x: 0.25, y: 1 } };

const say = (service: Service, name: string, fields: Fields = ALL, path = '') =>
  service.call('fileDescribe', { path, name, ...fields });

const listed = async (
  service: Service,
  path = '',
  fields: Fields = { 'mods[details]': '1' },
): Promise<Item[]> => {
  const { data } = await service.call('files', {
    source: 'files',
    path,
    'mods[withFolders]': '1',
    ...fields,
  });
  return (data['sources'] as { files: Item[] }[])[0]?.files ?? [];
};

const aboutOf = async (service: Service, name: string, path = '', source = 'files'): Promise<unknown> =>
  (await listed(service, path, { 'mods[details]': '1', source })).find((item) => item.name === name)?.about;

/** A service with `a.txt` and `dir/b.txt`, of which all is said. */
const startDescribed = async (
  settings: Parameters<typeof startService>[0] = {},
  hooks: Parameters<typeof startService>[1] = {},
): Promise<Service> => {
  const service = await startService({ trash: {}, ...settings }, hooks);
  await service.source('files').put({ 'a.txt': 'a', 'dir/b.txt': 'b', 'other/': '' });
  expect((await say(service, 'a.txt')).data['about']).toEqual(ABOUT);
  await say(service, 'b.txt', ALL, 'dir');
  return service;
};

describe('fileDescribe', () => {
  it('says something about a file, which listings with details show', async () => {
    const service = await startDescribed();
    expect(await aboutOf(service, 'a.txt')).toEqual(ABOUT);
    expect((await listed(service, '', {})).every((item) => item.about === undefined)).toBe(true);
    expect((await listed(service)).find(({ name }) => name === 'dir')).not.toHaveProperty('about');
  });

  it('leaves absent fields, and drops empty ones', async () => {
    const service = await startDescribed();
    await say(service, 'a.txt', { alt: 'A dog', title: '', 'tags[]': '', focalPoint: '' });
    const rest = { alt: 'A dog', caption: WORDS.caption, credit: WORDS.credit };
    expect(await aboutOf(service, 'a.txt')).toEqual(rest);
    const gone = await say(service, 'a.txt', { alt: '', caption: ' ', credit: '' });
    expect(gone.data['about']).toEqual({});
    expect(await aboutOf(service, 'a.txt')).toBeUndefined();
    expect(await service.source('files').paths()).not.toContain('.stowage-about/');
  });

  it('takes JSON', async () => {
    const service = await startDescribed();
    const body = { name: 'a.txt', alt: '', tags: ['x', 'x', ' y '], focalPoint: {}, title: '' };
    const response = await fetch(`${service.url}/fileDescribe`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    expect(await aboutOf(service, 'a.txt')).toEqual({
      caption: WORDS.caption,
      credit: WORDS.credit,
      tags: ['x', 'y'],
    });
  });

  it('keeps HTML as text, and two thousand characters of any script', async () => {
    const service = await startDescribed();
    const caption = '<b>Roofs</b> & "cats" <script>alert(1)</script>\nline';
    const alt = '🐱'.repeat(2000);
    await say(service, 'a.txt', { caption, alt });
    expect(await aboutOf(service, 'a.txt')).toMatchObject({ caption, alt });
  });

  it.each<[string, Fields]>([
    ['a longer text', { alt: 'x'.repeat(2001) }],
    ['a longer text of wide characters', { caption: '🐱'.repeat(2001) }],
    ['a much longer text', { caption: 'x'.repeat(100_000) }],
    [
      'too many tags',
      Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`tags[${String(at)}]`, `t${String(at)}`])),
    ],
    ['a longer tag', { 'tags[]': 'x'.repeat(65) }],
    ['a point outside', { 'focalPoint[x]': '1.01', 'focalPoint[y]': '0' }],
    ['nothing at all', {}],
    ['half a point', { 'focalPoint[x]': '0.5' }],
    ['a point of words', { 'focalPoint[x]': 'left', 'focalPoint[y]': '0' }],
    ['a text in place of a point', { focalPoint: 'centre' }],
  ])('refuses %s', async (_, fields) => {
    const service = await startDescribed();
    expect((await say(service, 'a.txt', fields)).status).toBe(400);
    expect(await aboutOf(service, 'a.txt')).toEqual(ABOUT);
  });

  it.each<[Fields, string]>([
    [{ 'focalPoint[x]': '0.5' }, 'focalPoint[y]: must be a number'],
    [{ 'focalPoint[x]': 'left', 'focalPoint[y]': '0' }, 'focalPoint[x]: must be a number'],
    [{ focalPoint: 'centre' }, 'focalPoint: must be a set of values'],
  ])('names the part of a point that is wrong: %j', async (fields, message) => {
    const service = await startDescribed();
    expect((await say(service, 'a.txt', fields)).messages).toEqual([message]);
  });

  it('refuses a folder, what is missing, and what is hidden', async () => {
    const service = await startDescribed();
    const statuses = [];
    for (const [name, path] of [
      ['dir', ''],
      ['none.txt', ''],
      ['a.txt', '.stowage-about'],
      ['.stowage-about', ''],
    ] as const)
      statuses.push((await say(service, name, ALL, path)).status);
    expect(statuses).toEqual([400, 404, 404, 404]);
  });

  it('refuses a text of a megabyte', async () => {
    const service = await startDescribed();
    const answer = await say(service, 'a.txt', { caption: 'x'.repeat(1_000_000) });
    expect([answer.status, answer.messages]).toEqual([413, [expect.stringMatching(/too large/u)]]);
    expect(await aboutOf(service, 'a.txt')).toEqual(ABOUT);
  });

  it('needs its key', async () => {
    const service = await startService({ accessControl: [{ FILE_DESCRIBE: false }] });
    await service.source('files').put({ 'a.txt': 'a' });
    expect((await say(service, 'a.txt')).status).toBe(403);
    expect(await service.source('files').paths()).toEqual(['a.txt']);
  });

  it('is told as file.described, and asked for before', async () => {
    const [asked, told]: [ServiceEvent[], ServiceEvent[]] = [[], []];
    const service = await startDescribed(
      {},
      { beforeEvent: (event) => void asked.push(event), onEvent: (event) => void told.push(event) },
    );
    await expect.poll(() => told.length).toBe(2);
    expect(asked.map(({ type }) => type)).toEqual(['file.described', 'file.described']);
    expect(told[1]).toMatchObject({ type: 'file.described', path: 'dir/b.txt', source: 'files' });
    expect(await aboutOf(service, 'a.txt')).toEqual(ABOUT);
  });

  it('loses nothing when many write about one file', async () => {
    const service = await startDescribed();
    const fields = ['alt', 'title', 'caption', 'credit'];
    await Promise.all(fields.map((field) => say(service, 'a.txt', { [field]: `new ${field}` })));
    expect(await aboutOf(service, 'a.txt')).toMatchObject(
      Object.fromEntries(fields.map((field) => [field, `new ${field}`])),
    );
  });
});

describe('the description of a file', () => {
  it.each<[string, string, Fields, string, string]>([
    ['a rename', 'fileRename', { name: 'a.txt', newname: 'z' }, '', 'z.txt'],
    ['a rename in letter case', 'fileRename', { name: 'a.txt', newname: 'A.txt' }, '', 'A.txt'],
    ['a move', 'fileMove', { from: 'a.txt', path: 'other' }, 'other', 'a.txt'],
    ['a copy', 'fileCopy', { from: 'a.txt', path: '' }, '', 'a (1).txt'],
    ['a rename of the folder', 'folderRename', { name: 'dir', newname: 'd2' }, 'd2', 'b.txt'],
    ['a move of the folder', 'folderMove', { from: 'dir', path: 'other' }, 'other/dir', 'b.txt'],
    ['a copy of the folder', 'folderCopy', { from: 'dir', path: 'other' }, 'other/dir', 'b.txt'],
  ])('follow it through %s', async (_, action, fields, path, name) => {
    const service = await startDescribed();
    expect((await service.call(action, fields)).status).toBe(200);
    expect(await aboutOf(service, name, path)).toEqual(ABOUT);
    if (action === 'fileCopy') expect(await aboutOf(service, 'a.txt')).toEqual(ABOUT);
    const records = (await service.source('files').paths()).filter((one) => one.endsWith('.json'));
    expect(records).toHaveLength(action.endsWith('Copy') ? 3 : 2);
  });

  it.each(['fileCopy', 'fileMove'])('follow it into another source by %s', async (action) => {
    const service = await startDescribed({ sources: { files: {}, more: {} } });
    await service.call(action, { source: 'more', from: 'files:a.txt', path: '' });
    const answer = await service.call(action, {
      source: 'more',
      fromSource: 'files',
      from: 'a.txt',
      path: '',
    });
    expect(answer.status).toBe(200);
    expect(await aboutOf(service, 'a.txt', '', 'more')).toEqual(ABOUT);
    expect(await aboutOf(service, 'a.txt')).toEqual(action === 'fileCopy' ? ABOUT : undefined);
  });

  it.each(['folderCopy', 'folderMove'])('follow a folder into another source by %s', async (action) => {
    const service = await startDescribed({ sources: { files: {}, more: {} } });
    const [files, more] = [service.source('files'), service.source('more')];
    await files.put({ 'dir/sub/c.txt': 'c', 'dir/sub/gone.txt': 'x', 'dir/plain.txt': 'p' });
    await say(service, 'c.txt', { alt: 'deep' }, 'dir/sub');
    await say(service, 'gone.txt', { alt: 'gone' }, 'dir/sub');
    await rm(join(files.root, 'dir/sub/gone.txt'));
    const answer = await service.call(action, { source: 'more', fromSource: 'files', from: 'dir', path: '' });
    expect(answer.messages).toEqual([]);
    expect(answer.status).toBe(200);
    expect(await aboutOf(service, 'b.txt', 'dir', 'more')).toEqual(ABOUT);
    expect(await aboutOf(service, 'c.txt', 'dir/sub', 'more')).toEqual({ alt: 'deep' });
    expect((await more.paths()).filter((one) => one.endsWith('.json'))).toHaveLength(2);
    expect((await files.paths()).includes('dir/')).toBe(action === 'folderCopy');
  });

  it('come back from the trash, under whatever name', async () => {
    const service = await startDescribed();
    await service.call('fileRemove', { name: 'a.txt' });
    await service.call('folderRemove', { name: 'dir' });
    await service.source('files').put({ 'a.txt': 'of another program' });
    expect(await aboutOf(service, 'a.txt')).toBeUndefined();
    const { data } = await service.call('trashList', {});
    for (const { id } of data['items'] as { id: string }[])
      expect((await service.call('trashRestore', { id })).status).toBe(200);
    expect(await aboutOf(service, 'a (1).txt')).toEqual(ABOUT);
    expect(await aboutOf(service, 'a.txt')).toBeUndefined();
    expect(await aboutOf(service, 'b.txt', 'dir')).toEqual(ABOUT);
    const left = (await service.source('files').paths()).filter((one) => one.startsWith('.stowage-trash/'));
    expect(left).toEqual(['.stowage-trash/']);
  });

  it('go with it where there is no trash, and are not of what gets its name', async () => {
    const service = await startDescribed({ trash: undefined });
    await service.call('fileRemove', { name: 'a.txt' });
    expect(await service.source('files').paths()).not.toContain('.stowage-about/');
    await rm(join(service.source('files').root, 'dir/b.txt'));
    await service.upload([['files[0]', 'b.txt', 'new']], { path: 'dir' });
    expect(await aboutOf(service, 'b.txt', 'dir')).toBeUndefined();
  });

  it('stay when its content is replaced, by this service or another program', async () => {
    const service = await startDescribed({ saveSameFileNameStrategy: 'replace' });
    const { data } = await service.upload([['files[0]', 'a.txt', 'newer']]);
    expect((data['items'] as Item[])[0]?.about).toEqual(ABOUT);
    await writeFile(join(service.source('files').root, 'a.txt'), 'written anew');
    expect(await aboutOf(service, 'a.txt')).toEqual(ABOUT);
  });

  it('are searched for, also after a move into another source', async () => {
    const service = await startDescribed({ sources: { files: {}, more: {} } });
    await service.source('files').put({ 'dir/roof.txt': 'named so', 'dir/sub/c.txt': 'c' });
    const find = async (query: string, where?: string): Promise<unknown[]> => {
      const { data } = await service.call('filesSearch', {
        query,
        ...(where === undefined ? {} : { in: where }),
      });
      return (data['items'] as (Item & { source: string })[]).map((item) =>
        [item.source, item.path, item.name, item.about === undefined ? '' : 'about'].join(' '),
      );
    };
    expect(await find('roof')).toEqual(['files dir roof.txt ']);
    expect(await find('ROOF cat', 'about')).toEqual(['files / a.txt about', 'files dir b.txt about']);
    expect(await find('roof', 'all')).toHaveLength(3);
    expect(await find('jane b', 'all')).toEqual(['files dir b.txt about']);
    expect(await find('b.txt', 'about')).toEqual([]);
    await service.call('fileMove', { source: 'more', fromSource: 'files', from: 'dir/b.txt', path: '' });
    await service.call('folderMove', { from: 'dir', path: 'other' });
    expect(await find('roof', 'about')).toEqual(['files / a.txt about', 'more / b.txt about']);
    expect((await service.call('filesSearch', { query: 'a', in: 'tags' })).status).toBe(400);
  });

  it('are found page by page', async () => {
    const service = await startDescribed();
    const names = Array.from({ length: 25 }, (_, at) => `f${String(at).padStart(2, '0')}.txt`);
    await service.source('files').put(Object.fromEntries(names.map((name) => [`many/${name}`, name])));
    for (const name of names.filter((_, at) => at % 2 === 0))
      await say(service, name, { alt: 'even' }, 'many');
    const found: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const { data } = await service.call('filesSearch', { query: 'even', in: 'about', limit: '3', cursor });
      found.push(...(data['items'] as Item[]).map(({ name }) => name));
      cursor = data['cursor'] as string | undefined;
    }
    expect(found).toEqual(names.filter((_, at) => at % 2 === 0));
  });

  it('lie in a folder that no request reaches', async () => {
    const service = await startDescribed({ createThumb: false, extensions: ['txt', 'json'] });
    const [record = ''] = await readdir(join(service.source('files').root, '.stowage-about'));
    const path = '.stowage-about';
    const answers = await Promise.all([
      service.call('files', { path }),
      service.call('fileRemove', { path, name: record }),
      service.call('fileCopy', { from: `${path}/${record}`, path: '' }),
      service.call('folderRemove', { name: path }),
      service.call('folderRename', { name: path, newname: 'mine' }),
      service.call('folderCreate', { name: path }),
      service.call('fileDownload', { path, name: record }),
    ]);
    expect(answers.map(({ success }) => success)).not.toContain(true);
    const found = await service.call('filesSearch', { query: record.slice(0, 8) });
    expect(found.data['items']).toEqual([]);
    expect((await listed(service)).map(({ name }) => name).toSorted()).toEqual(['a.txt', 'dir', 'other']);
  });

  it('count as none where a record is forged', async () => {
    const service = await startDescribed();
    const folder = join(service.source('files').root, '.stowage-about');
    const [record = ''] = await readdir(folder);
    for (const text of [
      '{',
      '[]',
      '{"alt":"x"}',
      '[{"about":{"alt":"x"}}]',
      ...[
        { alt: 5 },
        { focalPoint: { x: 9, y: 0 } },
        { alt: 'x'.repeat(100_000) },
        { tags: Array.from({ length: 1000 }, () => 'x') },
      ].map((about) => JSON.stringify([{ name: 'a.txt', about }])),
    ]) {
      await writeFile(join(folder, record), text);
      expect(await aboutOf(service, 'a.txt')).toBeUndefined();
    }
    await rm(join(folder, record));
    await mkdir(join(folder, record));
    expect(await aboutOf(service, 'a.txt')).toBeUndefined();
  });
});

describe('words that the store refuses to show, as those of another user after a restore', () => {
  const start = async (refused: (path: SourcePath) => boolean): Promise<Service & { deny: () => void }> => {
    const memory = new MemoryAdapter();
    for (const name of ['a.txt', 'b.txt']) await put(memory, name, name);
    let isDenied = false;
    const check = (path: SourcePath): void => {
      if (isDenied && refused(path)) throw new StorageDeniedError();
    };
    const storage = replacing(memory, {
      read: async (path, options) => {
        check(path);
        return memory.read(path, options);
      },
      list: (folder, options) => {
        check(folder);
        return memory.list(folder, options);
      },
      statMany: async (folder, names, options) => {
        check(folder);
        return memory.statMany(folder, names, options);
      },
    });
    const storageAdapter = `refusing-words-${randomUUID()}`;
    registerStorageAdapter(storageAdapter, { create: () => storage });
    const service = await startService({ createThumb: false, sources: { files: { storageAdapter } } });
    for (const name of ['a.txt', 'b.txt']) await say(service, name);
    return { ...service, deny: () => (isDenied = true) };
  };
  const found = async (service: Service): Promise<unknown> => {
    const { status, data } = await service.call('filesSearch', { in: 'about', query: 'roof' });
    return [status, (data['items'] as Item[] | undefined)?.map(({ name }) => name)];
  };

  const BY_NAME = { 'mods[details]': '1', 'mods[sortBy]': 'name-asc' };

  it('are missing alone in listings and searches', async () => {
    const own = createHash('sha256').update('A.TXT').digest('hex').slice(0, 40);
    const service = await start(({ name }) => name === `${own}.json`);
    service.deny();
    const items = await listed(service, '', BY_NAME);
    expect(items.map(({ name, about }) => [name, about])).toEqual([
      ['a.txt', undefined],
      ['b.txt', ABOUT],
    ]);
    expect(await found(service)).toEqual([200, ['b.txt']]);
  });

  it('hide no file where their whole folder is closed', async () => {
    const service = await start(({ name }) => name === '.stowage-about');
    service.deny();
    expect((await listed(service, '', BY_NAME)).map(({ name }) => name)).toEqual(['a.txt', 'b.txt']);
    expect(await found(service)).toEqual([200, []]);
  });
});

describe('words of files that come and go together', () => {
  it('are written while those of the last other file in the folder are removed', async () => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': 'a', 'b.txt': 'b' });
    for (let round = 0; round < 40; round += 1) {
      const [written] = await Promise.all([
        say(service, 'a.txt', { title: `round ${String(round)}` }),
        say(service, 'b.txt', { title: round % 2 === 0 ? 'said' : '' }),
      ]);
      expect(written.status).toBe(200);
      expect(await aboutOf(service, 'a.txt')).toEqual({ title: `round ${String(round)}` });
      await say(service, 'a.txt', { title: '' });
    }
  });

  it('stay when they are written of a file of a form whose others are still stored', async () => {
    const service = await startService();
    const files = Array.from({ length: 60 }, (_, number): FormFile => {
      const name = `f${String(number)}.txt`;
      return [`files[${String(number)}]`, name, name];
    });
    const upload = service.upload(files);
    let said = 404;
    while (said === 404) said = (await say(service, 'f0.txt', { title: 'early' })).status;
    expect(said).toBe(200);
    await upload;
    expect(await aboutOf(service, 'f0.txt')).toEqual({ title: 'early' });
  });

  it('are in the response of an upload only for roles that may list the file', async () => {
    let role = 'guest';
    const service = await startService(
      { saveSameFileNameStrategy: 'replace', accessControl: [{ role: 'writer', FILES: false }] },
      { checkAuthentication: () => role },
    );
    await service.source('files').put({ 'a.txt': 'a' });
    await say(service, 'a.txt');
    role = 'writer';
    const { data } = await service.upload([['files[0]', 'a.txt', 'new']]);
    expect((data['items'] as Item[])[0]?.name).toBe('a.txt');
    expect(JSON.stringify(data)).not.toContain('A cat');
  });
});

describe('words of files whose names go to others at that moment', () => {
  /** A service with a described file, where `happen` begins right after the store has done the operation. */
  const startMeanwhile = async (
    operation: 'moveFile' | 'copyFile' | 'write',
    name: string,
    happen: (service: Service) => Promise<unknown>,
  ) => {
    const memory = new MemoryAdapter();
    const storageAdapter = `meanwhile-${randomUUID()}`;
    let isArmed = false;
    let other: Promise<unknown> = Promise.resolve();
    const run = async (...input: readonly unknown[]): Promise<unknown> => {
      const done = await (memory[operation] as (...all: readonly unknown[]) => Promise<unknown>)(...input);
      if (isArmed) {
        isArmed = false;
        other = happen(service);
        // It ends by itself, or waits for the first one.
        await Promise.race([other, new Promise((resolve) => setTimeout(resolve, 100))]);
      }
      return done;
    };
    registerStorageAdapter(storageAdapter, { create: () => replacing(memory, { [operation]: run }) });
    const service = await startService({ createThumb: false, sources: { files: { storageAdapter } } });
    await put(memory, name, name === 'p.png' ? await quarters().png().toBuffer() : name);
    await say(service, name);
    return {
      service,
      call: async (action: string, fields: Fields): Promise<void> => {
        isArmed = true;
        expect((await service.call(action, { name, ...fields })).status).toBe(200);
        await other;
      },
    };
  };

  it('stay with a file that is renamed while an upload of its name comes, which gets a number', async () => {
    const upload = (service: Service) => service.upload([['files[0]', 'a.txt', 'new']]);
    const { service, call } = await startMeanwhile('moveFile', 'a.txt', upload);
    await call('fileRename', { newname: 'n.txt' });
    expect((await listed(service)).map(({ name, about }) => [name, about])).toEqual([
      ['a-1.txt', undefined],
      ['n.txt', ABOUT],
    ]);
  });

  it('come with a copy whose original is removed', async () => {
    const remove = (service: Service) => service.call('fileRemove', { name: 'a.txt' });
    const { service, call } = await startMeanwhile('copyFile', 'a.txt', remove);
    await call('fileCopy', { from: 'a.txt', path: '' });
    expect((await listed(service)).map(({ about }) => about)).toEqual([ABOUT]);
  });

  it('come with an edited picture whose original is renamed', async () => {
    const rename = (service: Service) => service.call('fileRename', { name: 'p.png', newname: 'q.png' });
    const { service, call } = await startMeanwhile('write', 'p.png', rename);
    await call('imageResize', { newname: 'small.png', 'box[w]': '10', 'box[h]': '5' });
    expect((await listed(service)).map(({ about }) => about)).toEqual([ABOUT, ABOUT]);
  });

  it('end with a file that another program removes while it is replaced', async () => {
    const memory = new MemoryAdapter();
    const storageAdapter = `removed-meanwhile-${randomUUID()}`;
    let isArmed = false;
    const stat: MemoryAdapter['stat'] = async (path, options) => {
      const isNow = isArmed && path.segments[0] === '.stowage-about';
      if (isNow) await memory.removeFile(SourcePath.parse('a.txt'));
      isArmed &&= !isNow;
      return memory.stat(path, options);
    };
    registerStorageAdapter(storageAdapter, { create: () => replacing(memory, { stat }) });
    const trash = { keepReplaced: true };
    const service = await startService({ createThumb: false, sources: { files: { storageAdapter, trash } } });
    await put(memory, 'a.txt', 'old');
    await say(service, 'a.txt');
    isArmed = true;
    const body = formOf([['files[0]', 'a.txt', 'new']], { name: 'a.txt' });
    const { status } = await fetch(`${service.url}/fileReplace`, { method: 'POST', body });
    expect([status, isArmed]).toEqual([200, false]);
    expect((await listed(service)).map(({ name, about }) => [name, about])).toEqual([['a.txt', undefined]]);
  });
});
