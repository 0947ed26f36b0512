import { registerStorageAdapter } from 'stowage';
import { describe, expect, it } from 'vitest';
import { MemoryAdapter } from '#internals';
import { put } from '../pictures/gallery.ts';
import { photo } from '../pictures/pictures.ts';
import { replacing, withCapabilities } from './changing-store.ts';
import { startService, type Service, type ServiceOptions } from './service.ts';

const start = (options: ServiceOptions = {}): Promise<Service> =>
  startService({ trash: {}, createThumb: false, ...options });

/** Removes an item and returns its id. */
const remove = async (service: Service, path: string, source = 'files'): Promise<string> => {
  const [name = '', ...folders] = path.split('/').reverse();
  const fields = { source, path: folders.reverse().join('/'), name };
  const isFile = (await service.call('fileRemove', fields)).status === 200;
  if (!isFile) expect((await service.call('folderRemove', fields)).status).toBe(200);
  const { items } = (await service.call('trashList', { source, limit: '1' })).data as {
    items: { id: string }[];
  };
  return items[0]?.id ?? '';
};

const remaining = async (service: Service): Promise<number> =>
  ((await service.call('trashList')).data['items'] as unknown[]).length;

describe('trashRestore', () => {
  it('brings a file and a folder back to where they were, and forgets them', async () => {
    const service = await start();
    const files = service.source('files');
    const all = {
      'sub/a.txt': 'a',
      'sub/photos/b.txt': 'b',
      'sub/photos/deep/c.txt': 'c',
      'sub/photos/none/': '',
    };
    await files.put(all);
    const before = await files.paths();
    const file = await remove(service, 'sub/a.txt');
    const folder = await remove(service, 'sub/photos');
    expect((await service.call('trashRestore', { id: file })).data).toEqual({
      code: 220,
      path: 'sub',
      name: 'a.txt',
    });
    expect((await service.call('trashRestore', { id: folder })).data).toMatchObject({
      path: 'sub',
      name: 'photos',
    });
    expect((await files.paths()).filter((path) => path !== '.stowage-trash/')).toEqual(before);
    expect(await files.text('sub/photos/deep/c.txt')).toBe('c');
    expect(await remaining(service)).toBe(0);
    expect((await service.call('trashRestore', { id: file })).status).toBe(404);
  });

  it('gives a number where the name is taken, and makes a folder that is gone', async () => {
    const service = await start();
    const files = service.source('files');
    await files.put({ 'a.txt': 'old', 'sub/deep/b.txt': 'b', 'photos/c.txt': 'c' });
    const first = await remove(service, 'a.txt');
    const second = await remove(service, 'sub/deep/b.txt');
    const third = await remove(service, 'photos');
    await service.call('folderRemove', { name: 'sub' });
    await files.put({ 'a.txt': 'new', 'photos/': '' });
    expect((await service.call('trashRestore', { id: first })).data).toMatchObject({
      path: '/',
      name: 'a (1).txt',
    });
    expect((await service.call('trashRestore', { id: second })).data).toMatchObject({
      path: 'sub/deep',
      name: 'b.txt',
    });
    expect((await service.call('trashRestore', { id: third })).data).toMatchObject({ name: 'photos (1)' });
    expect(await files.text('a.txt')).toBe('new');
    expect(await files.text('a (1).txt')).toBe('old');
    expect(await files.text('sub/deep/b.txt')).toBe('b');
    expect(await files.text('photos (1)/c.txt')).toBe('c');
  });

  it('restores into another folder, the root too', async () => {
    const service = await start();
    const files = service.source('files');
    await files.put({ 'sub/a.txt': 'a', 'sub/b.txt': 'b' });
    const [first, second] = [await remove(service, 'sub/a.txt'), await remove(service, 'sub/b.txt')];
    expect((await service.call('trashRestore', { id: first, path: 'new/er' })).data).toMatchObject({
      path: 'new/er',
    });
    expect((await service.call('trashRestore', { id: second, path: '/' })).data).toMatchObject({ path: '/' });
    expect(await files.text('new/er/a.txt')).toBe('a');
    expect(await files.text('b.txt')).toBe('b');
  });

  it('makes no folder by a name that folderCreate would not give, but brings back one that had it', async () => {
    const service = await start();
    const files = service.source('files');
    await files.put({ 'a.txt': 'a', 'old #1/b.txt': 'b' });
    const id = await remove(service, 'a.txt');
    for (const path of ['"><img src=x onerror=alert(1)>', 'new/100%', 'con/deep', 'old #1/../old #2']) {
      const { status, data } = await service.call('trashRestore', { id, path });
      expect([path, status, data['error']]).toEqual([path, 400, 'UNSAFE_NAME']);
    }
    const inside = await remove(service, 'old #1/b.txt');
    await service.call('folderRemove', { name: 'old #1' });
    expect((await service.call('trashRestore', { id: inside })).data).toMatchObject({ path: 'old #1' });
    expect((await files.paths()).filter((path) => !path.startsWith('.stowage-trash/'))).toEqual([
      'old #1/',
      'old #1/b.txt',
    ]);
  });

  it('shows a restored picture with a thumbnail of its own', async () => {
    const service = await startService({ trash: {} });
    const files = service.source('files');
    await files.put({ 'a.jpg': await photo(40, 30) });
    await service.call('files');
    expect(await files.paths()).toContain('_thumbs/a.jpg');
    const id = await remove(service, 'a.jpg');
    expect(await files.paths()).not.toContain('_thumbs/a.jpg');
    await service.call('trashRestore', { id });
    await service.call('files');
    expect(await files.paths()).toContain('_thumbs/a.jpg');
  });

  it.each([
    ['no id', {}, 400],
    ['an empty id', { id: ' ' }, 400],
    ['an unknown id', { id: `000000000-${'0'.repeat(32)}` }, 404],
    ['a path', { id: '../a.txt' }, 404],
    ['a path inside the trash', { id: './' }, 404],
    ['an unknown source', { source: 'nowhere', id: 'x' }, 404],
  ])('refuses %s', async (_what, fields, status) => {
    const service = await start();
    await service.source('files').put({ 'a.txt': 'a' });
    await remove(service, 'a.txt');
    const before = await service.source('files').paths();
    expect((await service.call('trashRestore', fields)).status).toBe(status);
    expect(await service.source('files').paths()).toEqual(before);
  });

  it.each([
    ['a path out of the source', { path: '../x' }, 400],
    ['a hidden folder', { path: '.quarantine' }, 404],
    ['the trash itself', { path: '.stowage-trash' }, 404],
    ['a folder that is a file', { path: 'b.txt' }, 404],
    ['a folder below a file', { path: 'b.txt/c' }, 404],
    ['the id of another source', { source: 'other' }, 404],
  ])('refuses to restore into %s', async (_what, fields, status) => {
    const service = await start({ sources: { files: {}, other: {} } });
    await service.source('files').put({ 'a.txt': 'a', 'b.txt': 'b' });
    const id = await remove(service, 'a.txt');
    expect((await service.call('trashRestore', { id, ...fields })).status).toBe(status);
    expect((await service.call('trashRestore', { id })).status).toBe(200);
  });

  it('says why it cannot restore into a path', async () => {
    const { messages } = await (await start()).call('trashRestore', { id: 'x', path: '../x' });
    expect(messages).toEqual(['The path leaves the source.']);
  });

  it('obeys the rules at both locations, for all that a folder holds', async () => {
    const service = await startService(
      {
        trash: {},
        createThumb: false,
        accessControl: [
          { role: 'guest', path: 'fixed', FILE_UPLOAD: false },
          { role: 'guest', path: 'narrow', FOLDER_CREATE: false },
          { role: 'guest', path: 'mine', TRASH_RESTORE: false },
          { role: 'guest', extensions: ['pdf'], FILE_UPLOAD: false },
          { role: 'guest', path: 'secret', FILES: false },
        ],
      },
      { checkAuthentication: ({ headers }) => headers['x-role'] ?? 'admin' },
    );
    const files = service.source('files');
    await files.put({
      'fixed/a.txt': 'a',
      'mine/b.txt': 'b',
      'papers/c.pdf': 'c',
      'd.txt': 'd',
      'secret/e.txt': 'e',
    });
    const restoreAsGuest = async (id: string, path = ''): Promise<number> => {
      const url = `${service.url}/trashRestore?${new URLSearchParams({ id, path }).toString()}`;
      return (await fetch(url, { headers: { 'x-role': 'guest' } })).status;
    };
    const other = await remove(service, 'd.txt');
    expect(await restoreAsGuest(await remove(service, 'fixed/a.txt'))).toBe(403);
    expect(await restoreAsGuest(await remove(service, 'mine/b.txt'))).toBe(403);
    expect(await restoreAsGuest(await remove(service, 'papers'))).toBe(403);
    expect(await restoreAsGuest(await remove(service, 'secret/e.txt'))).toBe(404);
    expect(await restoreAsGuest(other, 'fixed')).toBe(403);
    expect(await restoreAsGuest(other, 'narrow/new')).toBe(403);
    expect(await restoreAsGuest(other, 'mine')).toBe(403);
    expect(await remaining(service)).toBe(5);
    expect(await restoreAsGuest(other)).toBe(200);
  });

  it('brings nothing out of a folder that the role may not see', async () => {
    const service = await startService(
      {
        trash: {},
        createThumb: false,
        accessControl: [{ role: 'guest', path: '/a/secret', READ: false, CHANGE: false }],
      },
      { checkAuthentication: ({ headers }) => headers['x-role'] ?? 'admin' },
    );
    const files = service.source('files');
    await files.put({ 'a/plan.txt': 'open', 'a/secret/plan.txt': 'secret', 'public/': '' });
    const id = await remove(service, 'a');
    const lying = await files.paths();
    const asGuest = async (action: string, path = ''): Promise<Response> =>
      fetch(`${service.url}/${action}?${new URLSearchParams({ id, path }).toString()}`, {
        headers: { 'x-role': 'guest' },
      });
    expect(await (await asGuest('trashList')).json()).toMatchObject({ data: { items: [] } });
    expect((await asGuest('trashRestore', 'public')).status).toBe(404);
    expect((await asGuest('trashRemove')).status).toBe(404);
    expect(await (await asGuest('trashEmpty')).json()).toMatchObject({ data: { removed: 0 } });
    expect(await files.paths()).toEqual(lying);
    expect((await service.call('trashRestore', { id, path: 'public' })).status).toBe(200);
    expect(await files.text('public/a/secret/plan.txt')).toBe('secret');
  });

  it.each(['file', 'folder'])('lets one of two restores of a %s win', async (kind) => {
    const service = await start();
    const files = service.source('files');
    await files.put({ 'sub/a.txt': 'a' });
    const id = await remove(service, kind === 'file' ? 'sub/a.txt' : 'sub');
    const answers = await Promise.all([1, 2, 3].map(() => service.call('trashRestore', { id })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404]);
    expect((await files.paths()).filter((path) => path.endsWith('.txt'))).toEqual(['sub/a.txt']);
  });

  it('finds a file gone that another request has restored since this one saw it', async () => {
    const memory = new MemoryAdapter();
    let goOn = (): void => undefined;
    let isRead: Promise<void> | undefined;
    let read = (): void => undefined;
    const stat: MemoryAdapter['stat'] = async (path, options) => {
      const found = await memory.stat(path, options);
      if (isRead !== undefined && path.toString().startsWith('.stowage-trash/')) {
        isRead = undefined;
        const restored = new Promise<void>((resolve) => (goOn = resolve));
        read();
        await restored;
      }
      return found;
    };
    // Such a store is asked for the file at its old path first, as WebDAV servers are.
    const storage = withCapabilities(replacing(memory, { stat }), { atomicCreate: false });
    registerStorageAdapter('restored meanwhile', { create: () => storage });
    const events: string[] = [];
    const service = await startService(
      { trash: {}, sources: { files: { storageAdapter: 'restored meanwhile', root: undefined } } },
      { onEvent: ({ type }) => void events.push(type) },
    );
    await put(memory, 'a.txt', 'a');
    const id = await remove(service, 'a.txt');
    const hasRead = (isRead = new Promise<void>((resolve) => (read = resolve)));
    const late = service.call('trashRestore', { id });
    await hasRead;
    expect((await service.call('trashRestore', { id })).status).toBe(200);
    goOn();
    expect((await late).status).toBe(404);
    expect(events).toEqual(['file.removed', 'file.restored']);
  });
});
