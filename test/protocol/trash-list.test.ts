import { randomBytes } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { registerStorageAdapter } from 'stowage';
import { describe, expect, it } from 'vitest';
import { startService, type Answer, type Service, type ServiceOptions } from './service.ts';

interface Item {
  readonly id: string;
  readonly source: string;
  readonly path: string;
  readonly name: string;
  readonly kind: string;
  readonly bytes: number;
  readonly removedAt: string;
  readonly role: string;
  readonly subject?: string;
  readonly replaced: boolean;
}

const itemsOf = ({ data }: Answer): readonly Item[] => data['items'] as Item[];
const startWithTrash = (options: ServiceOptions = {}): Promise<Service> =>
  startService({ trash: {}, createThumb: false, ...options });
const namesIn = async (service: Service, fields: Record<string, string> = {}): Promise<string[]> =>
  itemsOf(await service.call('trashList', fields)).map(({ name }) => name);

describe('trashList', () => {
  it('lists removed items, the newest first, with the user and the time of each removal', async () => {
    const service = await startService(
      { trash: {} },
      { checkAuthentication: () => ({ role: 'editor', subject: 'ann' }) },
    );
    const files = service.source('files');
    await files.put({ 'sub/a.txt': 'four', 'photos/deep/b.txt': '12', 'photos/c.txt': '345' });
    const before = Date.now();
    expect((await service.call('fileRemove', { path: 'sub', name: 'a.txt' })).status).toBe(200);
    expect((await service.call('folderRemove', { name: 'photos' })).status).toBe(200);
    expect((await files.paths()).filter((path) => !path.startsWith('.stowage-trash/'))).toEqual(['sub/']);
    const answer = await service.call('trashList');
    expect(answer.status).toBe(200);
    const by = { source: 'files', role: 'editor', subject: 'ann', replaced: false };
    expect(itemsOf(answer)).toEqual([
      {
        ...by,
        path: '/',
        name: 'photos',
        kind: 'folder',
        bytes: 5,
        id: expect.any(String),
        removedAt: expect.any(String),
      },
      {
        ...by,
        path: 'sub',
        name: 'a.txt',
        kind: 'file',
        bytes: 4,
        id: expect.any(String),
        removedAt: expect.any(String),
      },
    ]);
    for (const { removedAt } of itemsOf(answer)) {
      expect(Date.parse(removedAt)).toBeGreaterThanOrEqual(before);
      expect(Date.parse(removedAt)).toBeLessThanOrEqual(Date.now());
    }
  });

  it('is empty where the source has no trash: what is removed is gone', async () => {
    const service = await startService({ sources: { files: {}, off: { trash: { retentionDays: 0 } } } });
    for (const source of ['files', 'off']) {
      await service.source(source).put({ 'a.txt': 'a', 'f/b.txt': 'b' });
      await service.call('fileRemove', { source, name: 'a.txt' });
      await service.call('folderRemove', { source, name: 'f' });
      expect(await service.source(source).paths()).toEqual([]);
    }
    const answer = await service.call('trashList');
    expect([answer.status, itemsOf(answer)]).toEqual([200, []]);
    const { data } = await service.call('permissions');
    expect(data['permissions']).toMatchObject({ allowTrashList: false, allowTrashRestore: false });
  });

  it('leaves out a source whose store fails, and says so', async () => {
    registerStorageAdapter('dead-trash', {
      create: () => Promise.reject(new Error('not now')),
    });
    const sources = { one: {}, dead: { storageAdapter: 'dead-trash', root: undefined } };
    const service = await startWithTrash({ sources });
    await service.source('one').put({ 'a.txt': 'a' });
    await service.call('fileRemove', { source: 'one', name: 'a.txt' });
    const answer = await service.call('trashList');
    expect([answer.status, itemsOf(answer).map(({ name }) => name)]).toEqual([200, ['a.txt']]);
    expect(answer.messages).toEqual(['The source "dead" cannot be reached now.']);
    expect((await service.call('trashList', { source: 'dead' })).status).toBe(500);
  });

  it('gives pages, over all sources or one', async () => {
    const service = await startWithTrash({ sources: { one: {}, two: {} } });
    for (const [index, source] of ['one', 'two', 'one', 'two'].entries()) {
      await service.source(source).put({ [`${String(index)}.txt`]: 'x' });
      await service.call('fileRemove', { source, name: `${String(index)}.txt` });
      // Ids sort by milliseconds.
      const removed = Date.now();
      await expect.poll(() => Date.now()).toBeGreaterThan(removed);
    }
    expect(await namesIn(service)).toEqual(['3.txt', '2.txt', '1.txt', '0.txt']);
    expect(await namesIn(service, { source: 'two' })).toEqual(['3.txt', '1.txt']);
    expect(await namesIn(service, { offset: '1', limit: '2' })).toEqual(['2.txt', '1.txt']);
    expect(await namesIn(service, { offset: '4' })).toEqual([]);
    expect(await namesIn(service, { limit: '0' })).toEqual([]);
  });

  it.each([
    ['a limit that is not a number', { limit: 'many' }, 422],
    ['a negative offset', { offset: '-1' }, 400],
    ['an unknown source', { source: 'nowhere' }, 404],
  ])('refuses %s', async (_what, fields, status) => {
    const service = await startWithTrash();
    expect((await service.call('trashList', fields)).status).toBe(status);
  });

  it('shows a role only what it could see where it was', async () => {
    const service = await startService(
      {
        trash: {},
        createThumb: false,
        accessControl: [
          { role: 'guest', path: 'secret', FILES: false },
          { role: 'guest', path: 'hidden', FOLDERS: false },
          { role: 'guest', extensions: ['pdf'], FILES: false },
          { role: 'guest', path: 'kept', TRASH_LIST: false },
          { role: 'nobody', TRASH_LIST: false },
        ],
      },
      { checkAuthentication: ({ headers }) => headers['x-role'] ?? 'admin' },
    );
    const paths = ['secret/a.txt', 'hidden/', 'b.pdf', 'kept/c.txt', 'open/d.txt'];
    await service.source('files').put(Object.fromEntries(paths.map((path) => [path, 'x'])));
    await service.call('folderRemove', { name: 'hidden' });
    for (const path of ['secret/a.txt', 'b.pdf', 'kept/c.txt', 'open/d.txt']) {
      const [name = '', folder = ''] = path.split('/').reverse();
      expect((await service.call('fileRemove', { path: folder, name })).status).toBe(200);
    }
    const listAs = async (role: string): Promise<Response> =>
      fetch(`${service.url}/trashList`, { headers: { 'x-role': role } });
    const seenBy = async (role: string): Promise<string[]> => {
      const { data } = (await (await listAs(role)).json()) as { data: { items: Item[] } };
      return data.items.map(({ name }) => name).sort();
    };
    expect(await seenBy('admin')).toEqual(['a.txt', 'b.pdf', 'c.txt', 'd.txt', 'hidden']);
    expect(await seenBy('guest')).toEqual(['d.txt']);
    expect((await listAs('nobody')).status).toBe(403);
  });

  it('keeps the trash out of reach of every other action', async () => {
    const service = await startWithTrash({ serve: 'public' });
    const files = service.source('files');
    await files.put({ 'a.txt': 'a' });
    await service.call('fileRemove', { name: 'a.txt' });
    const [id = ''] = await readdir(join(files.root, '.stowage-trash'));
    const path = `.stowage-trash/${id}/item`;
    const listed = (await service.call('files', { 'mods[withFolders]': 'true' })).data['sources'];
    expect(JSON.stringify(listed)).not.toContain('stowage-trash');
    expect(JSON.stringify((await service.call('folders')).data)).not.toContain('stowage-trash');
    for (const [action, fields] of [
      ['files', { path }],
      ['files', { path: path.toUpperCase() }],
      ['fileRemove', { path, name: 'a.txt' }],
      ['fileMove', { from: `${path}/a.txt` }],
      ['fileCopy', { from: `${path}/a.txt` }],
      ['folderCopy', { from: '.stowage-trash' }],
      ['folderMove', { from: '.stowage-trash/', path: '' }],
      ['folderRemove', { name: '.stowage-trash' }],
      ['imageLoad', { path, name: 'a.txt' }],
    ] as const) {
      expect([action, (await service.call(action, fields)).status]).toEqual([action, 404]);
    }
    expect((await service.get('fileDownload', { path, name: 'a.txt' })).status).toBe(404);
    expect((await fetch(`${service.url}/file/files/${path}/a.txt`)).status).toBe(404);
    expect((await service.upload([['files[0]', 'x.txt', 'x']], { path: '.stowage-trash' })).status).toBe(404);
    for (const name of ['.stowage-trash', '.Stowage-Trash'])
      expect((await service.call('folderCreate', { name })).status).toBe(400);
    expect(await files.text(`${path}/a.txt`)).toBe('a');
  });

  it('distrusts what somebody else has put into the trash', async () => {
    const service = await startWithTrash();
    const files = service.source('files');
    const forged = async (text: string): Promise<string> => {
      const id = `${Date.now().toString(36).padStart(9, '0')}-${randomBytes(16).toString('hex')}`;
      await files.put({
        [`.stowage-trash/${id}/record.json`]: text,
        [`.stowage-trash/${id}/item/a.txt`]: 'a',
      });
      return id;
    };
    const good = { path: 'a.txt', kind: 'file', bytes: 1, role: 'guest' };
    for (const written of [
      { ...good, path: '../a.txt' },
      { ...good, path: '' },
      { ...good, path: '.stowage-trash/a.txt' },
      { ...good, path: 'elsewhere/b.txt' },
      { ...good, kind: 'folder' },
      { ...good, bytes: 'many' },
      'text',
    ]) {
      const id = await forged(JSON.stringify(written));
      expect([written, await namesIn(service)]).toEqual([written, []]);
      expect((await service.call('trashRestore', { id })).status).toBe(404);
    }
    for (const text of ['', '{', ' '.repeat(70_000)]) {
      await forged(text);
      expect(await namesIn(service)).toEqual([]);
    }
    await files.put({
      '.stowage-trash/note.txt': 'n',
      '.stowage-trash/other/record.json': JSON.stringify(good),
    });
    await forged(JSON.stringify(good));
    expect(await namesIn(service)).toEqual(['a.txt']);
  });

  it('forgets what is older than the retention or half erased, with the next use of the trash', async () => {
    const service = await startWithTrash({ trash: { retentionDays: 2 } });
    const files = service.source('files');
    const trash = join(files.root, '.stowage-trash');
    const aged = (days: number): string =>
      `${(Date.now() - days * 86_400_000).toString(36).padStart(9, '0')}-${'0123456789abcdef'.repeat(2)}`;
    await mkdir(trash);
    for (const days of [1, 3]) {
      const folder = join(trash, aged(days));
      await mkdir(join(folder, 'item'), { recursive: true });
      const name = `${String(days)}.txt`;
      await writeFile(
        join(folder, 'record.json'),
        JSON.stringify({ path: name, kind: 'file', bytes: 1, role: '' }),
      );
      await writeFile(join(folder, 'item', name), 'x');
    }
    // An erasing that was cut off has made the record its mark; a record may be lost for another reason.
    const [erased, lost] = [aged(0.5), aged(0.6)];
    await files.put({
      [`.stowage-trash/${erased}/item/a.txt`]: 'x',
      [`.stowage-trash/${erased}/erased.json`]: '',
    });
    await files.put({ [`.stowage-trash/${lost}/item/a.txt`]: 'x' });
    await service.call('trashList');
    await expect.poll(() => namesIn(service)).toEqual(['1.txt']);
    await expect.poll(() => readdir(trash)).toHaveLength(2);
    expect(await readdir(trash)).toContain(lost);
  });

  it('drops the oldest when it holds more than it may', async () => {
    const service = await startWithTrash({ trash: { maxBytes: 10 } });
    const files = service.source('files');
    for (const name of ['a.txt', 'b.txt']) {
      await files.put({ [name]: 'x'.repeat(5) });
      await service.call('fileRemove', { name });
      // Ids sort by milliseconds.
      const removed = Date.now();
      await expect.poll(() => Date.now()).toBeGreaterThan(removed);
    }
    expect(await namesIn(service)).toEqual(['b.txt', 'a.txt']);
    await files.put({ 'c.txt': 'xx' });
    await service.call('fileRemove', { name: 'c.txt' });
    await expect.poll(() => namesIn(service)).toEqual(['c.txt', 'b.txt']);
  });
});

describe('replaced files', () => {
  it('are kept on request', async () => {
    const service = await startWithTrash({
      trash: { keepReplaced: true },
      saveSameFileNameStrategy: 'replace',
    });
    const files = service.source('files');
    await files.put({ 'a.txt': 'old' });
    expect((await service.upload([['files[0]', 'a.txt', 'new']])).status).toBe(200);
    expect((await service.upload([['files[0]', 'b.txt', 'first']])).status).toBe(200);
    const [item, ...others] = itemsOf(await service.call('trashList'));
    expect(others).toEqual([]);
    expect(item).toMatchObject({ name: 'a.txt', kind: 'file', bytes: 3, replaced: true });
    expect((await service.call('trashRestore', { id: item?.id ?? '' })).data).toMatchObject({
      name: 'a (1).txt',
    });
    expect([await files.text('a.txt'), await files.text('a (1).txt')]).toEqual(['new', 'old']);
  });

  it('are all kept when several replace one file at the same moment', async () => {
    const service = await startWithTrash({
      trash: { keepReplaced: true },
      saveSameFileNameStrategy: 'replace',
    });
    const files = service.source('files');
    await files.put({ 'a.txt': '0' });
    const contents = Array.from({ length: 8 }, (_, index) => String(index + 1));
    await Promise.all(contents.map((content) => service.upload([['files[0]', 'a.txt', content]])));
    const items = itemsOf(await service.call('trashList'));
    const kept = await Promise.all(items.map(({ id }) => files.text(`.stowage-trash/${id}/item/a.txt`)));
    expect([...kept, await files.text('a.txt')].sort()).toEqual(['0', ...contents]);
  });

  it('leave nothing in the trash when nothing was replaced', async () => {
    const service = await startWithTrash({
      trash: { keepReplaced: true },
      saveSameFileNameStrategy: 'replace',
    });
    await service.source('files').put({ 'a.txt/': '' });
    expect((await service.upload([['files[0]', 'a.txt', 'new']])).status).toBe(400);
    expect(itemsOf(await service.call('trashList'))).toEqual([]);
  });
});
