import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { createApp, registerStorageAdapter } from 'stowage';
import { StorageDeniedError } from 'stowage/storage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MemoryAdapter, memoryFactory } from '#internals';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { put } from '../pictures/gallery.ts';
import { replacing } from '../protocol/changing-store.ts';
import { silent, startService, type Service, type ServiceOptions } from '../protocol/service.ts';

const serving = (overrides: object = {}): object => ({
  baseurl: undefined,
  serve: 'public',
  redirectMoved: {},
  createThumb: false,
  ...overrides,
});

const start = (overrides: object = {}, options: ServiceOptions = {}): Promise<Service> =>
  startService({ sources: { files: serving(overrides) }, ...options });

/** The answer to an old link, as it is. */
const ask = (service: Service, path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(new URL(path, service.url), { redirect: 'manual', ...init });

/** The status, and where it leads or what it shows. */
const seen = async (service: Service, path: string, init?: RequestInit): Promise<string> => {
  const response = await ask(service, path, init);
  const location = response.headers.get('location');
  return `${String(response.status)} ${location ?? (response.status === 200 ? await response.text() : '')}`.trim();
};

const done = async (service: Service, action: string, fields: Record<string, string>): Promise<void> => {
  const { success, messages } = await service.call(action, fields);
  expect([success, messages]).toEqual([true, success ? messages : []]);
};

const rename = (service: Service, name: string, newname: string, path = ''): Promise<void> =>
  done(service, 'fileRename', { path, name, newname });

const upload = async (service: Service, name: string, content: string, path = ''): Promise<void> => {
  expect((await service.upload([['files[0]', name, content]], { path })).success).toBe(true);
};

describe('the old link of a file', () => {
  it('leads to the new one in one step', async () => {
    const service = await start();
    await service.source('files').put({ 'a.txt': 'hello', 'sub/': '', 'in/er/': '' });
    await rename(service, 'a.txt', 'b ü.txt');
    const answer = await ask(service, '/file/files/a.txt');
    expect([answer.status, answer.headers.get('location'), answer.headers.get('cache-control')]).toEqual([
      308,
      '/file/files/b%20%C3%BC.txt',
      'no-cache',
    ]);
    await done(service, 'fileMove', { from: 'b ü.txt', path: 'sub' });
    await done(service, 'folderMove', { from: 'sub', path: 'in/er' });
    await done(service, 'folderRename', { path: '', name: 'in', newname: 'out' });
    for (const old of ['a.txt', 'b%20%C3%BC.txt', 'sub/b%20%C3%BC.txt', 'in/er/sub/b%20%C3%BC.txt'])
      expect([old, await seen(service, `/file/files/${old}`)]).toEqual([
        old,
        '308 /file/files/out/er/sub/b%20%C3%BC.txt',
      ]);
    expect(await (await fetch(`${service.url}/file/files/a.txt`)).text()).toBe('hello');
  });

  it('leads to the name that another source has given an item of a folder', async () => {
    const service = await startService({ sources: { files: serving(), other: serving() } });
    await service.source('files').put({ 'a/1 #.txt': 'one', 'a/b %/c.txt': 'c', 'a/b %/#.txt': 'd' });
    await done(service, 'folderRename', { name: 'a', newname: 'f' });
    await done(service, 'folderMove', { source: 'other', fromSource: 'files', from: 'f' });
    await done(service, 'folderRename', { source: 'other', name: 'f', newname: 'g' });
    for (const folder of ['a', 'f'])
      expect([
        await seen(service, `/file/files/${folder}/1%20%23.txt`),
        await seen(service, `/file/files/${folder}/b%20%25/c.txt`),
        await seen(service, `/file/files/${folder}/b%20%25/%23.txt`),
      ]).toEqual([
        '308 /file/other/g/1%20_.txt',
        '308 /file/other/g/b%20_/c.txt',
        '308 /file/other/g/b%20_/_.txt',
      ]);
  });

  it('leads there for HEAD, ranges and conditional requests too', async () => {
    const service = await start();
    await service.source('files').put({ 'a.txt': 'hello' });
    await rename(service, 'a.txt', 'b.txt');
    for (const init of [
      { method: 'HEAD' },
      { headers: { range: 'bytes=1-2' } },
      { headers: { 'if-none-match': '*' } },
      { headers: { 'if-modified-since': new Date().toUTCString() } },
    ])
      expect(await seen(service, '/file/files/a.txt', init)).toBe('308 /file/files/b.txt');
    const part = await fetch(`${service.url}/file/files/a.txt`, { headers: { range: 'bytes=1-2' } });
    expect([part.status, await part.text()]).toEqual([206, 'el']);
  });

  it('leads there also when the client leaves while the file moves', async () => {
    const [leaving, store] = [new AbortController(), new MemoryAdapter()];
    const moveFile: MemoryAdapter['moveFile'] = async (...move) => {
      await store.moveFile(...move);
      leaving.abort();
    };
    const create = async () => replacing(store, { moveFile });
    registerStorageAdapter('left-amid-a-move', { ...memoryFactory, create });
    await put(store, 'a.txt', Buffer.from('hello'));
    const source = { title: 'Files', storageAdapter: 'left-amid-a-move', serve: 'public', redirectMoved: {} };
    const app = createApp({ sources: { files: source as never } }, {}, { logger: silent });
    onTestFinished(() => app.close());
    const body = new URLSearchParams({ name: 'a.txt', newname: 'b.txt' });
    const request = new Request('http://host/fileRename', { method: 'POST', body, signal: leaving.signal });
    await app.fetch(request).catch(() => undefined);
    const answer = await app.fetch(new Request('http://host/file/files/a.txt'));
    expect([answer.status, answer.headers.get('location')]).toEqual([308, '/file/files/b.txt']);
  });

  it('is missing, and no failure, where the store refuses to show what has moved', async () => {
    const store = new MemoryAdapter();
    let isClosed = false;
    const read: MemoryAdapter['read'] = async (path, options) => {
      if (isClosed && path.segments[0] === '.stowage-moved') throw new StorageDeniedError();
      return store.read(path, options);
    };
    registerStorageAdapter('closed-histories', {
      ...memoryFactory,
      create: async () => replacing(store, { read }),
    });
    await put(store, 'a.txt', Buffer.from('hello'));
    const service = await start({ storageAdapter: 'closed-histories' });
    await rename(service, 'a.txt', 'b.txt');
    isClosed = true;
    expect(await seen(service, '/file/files/a.txt')).toBe('404');
    isClosed = false;
    expect(await seen(service, '/file/files/a.txt')).toBe('308 /file/files/b.txt');
  });

  it('shows what came back, and nothing that was removed', async () => {
    const service = await start({ trash: {} });
    await service.source('files').put({ 'a.txt': 'hello' });
    const back = async (fields: Record<string, string> = {}): Promise<void> => {
      const { data } = await service.call('trashList');
      const [item] = data['items'] as { id: string }[];
      await done(service, 'trashRestore', { id: item?.id ?? '', ...fields });
    };
    await rename(service, 'a.txt', 'b.txt');
    await done(service, 'fileRemove', { name: 'b.txt' });
    expect(await seen(service, '/file/files/a.txt')).toBe('404');
    await upload(service, 'b.txt', 'another');
    // What has the name now is another file.
    expect(await seen(service, '/file/files/a.txt')).toBe('404');
    await done(service, 'fileRemove', { name: 'b.txt' });
    const { data } = await service.call('trashList');
    const first = (data['items'] as { id: string; removedAt: string }[]).sort((one, other) =>
      one.removedAt < other.removedAt ? -1 : 1,
    )[0];
    await done(service, 'trashRestore', { id: first?.id ?? '' });
    expect(await seen(service, '/file/files/a.txt')).toBe('308 /file/files/b.txt');
    expect(await seen(service, '/file/files/b.txt')).toBe('200 hello');
    await done(service, 'fileRemove', { name: 'b.txt' });
    await service.call('trashList');
    await done(service, 'folderCreate', { name: 'sub' });
    await back({ path: 'sub' });
    for (const old of ['a.txt', 'b.txt'])
      expect(await seen(service, `/file/files/${old}`)).toBe('308 /file/files/sub/b.txt');
  });

  it('ends when something new gets its name', async () => {
    const service = await start();
    await service
      .source('files')
      .put({ 'a.txt': 'hello', 'c.txt': 'other', 'd.txt': 'third', 'sub/a.txt': 'copied' });
    const takes: readonly [string, () => Promise<void>, () => Promise<void>][] = [
      ['upload', () => upload(service, 'a.txt', 'new'), () => done(service, 'fileRemove', { name: 'a.txt' })],
      [
        'copy',
        () => done(service, 'fileCopy', { from: 'sub/a.txt', path: '' }),
        () => done(service, 'fileRemove', { name: 'a.txt' }),
      ],
      [
        'rename',
        () => rename(service, 'c.txt', 'a.txt'),
        () => done(service, 'fileRemove', { name: 'a.txt' }),
      ],
      [
        'folder',
        () => done(service, 'folderCreate', { name: 'a.txt' }),
        () => done(service, 'folderRemove', { name: 'a.txt' }),
      ],
    ];
    let name = 'a.txt';
    for (const [how, take, leave] of takes) {
      if (name !== 'a.txt') await rename(service, name, 'a.txt');
      name = `gone-${how}.txt`;
      await rename(service, 'a.txt', name);
      expect(await seen(service, '/file/files/a.txt')).toBe(`308 /file/files/${name}`);
      await take();
      expect(await seen(service, '/file/files/a.txt')).not.toContain('308');
      await leave();
      expect([how, await seen(service, '/file/files/a.txt')]).toEqual([how, '404']);
    }
  });

  it('goes on through a name that another file has got since', async () => {
    const service = await start();
    await service.source('files').put({ 'a.txt': 'one', 'c.txt': 'two' });
    await rename(service, 'a.txt', 'b.txt');
    await rename(service, 'b.txt', 'd.txt');
    await rename(service, 'c.txt', 'b.txt');
    expect(await seen(service, '/file/files/a.txt')).toBe('308 /file/files/d.txt');
    expect(await seen(service, '/file/files/b.txt')).toBe('200 two');
    await rename(service, 'b.txt', 'e.txt');
    expect(await seen(service, '/file/files/b.txt')).toBe('308 /file/files/e.txt');
    expect(await seen(service, '/file/files/a.txt')).toBe('308 /file/files/d.txt');
    // There and back again.
    await rename(service, 'd.txt', 'a.txt');
    expect(await seen(service, '/file/files/a.txt')).toBe('200 one');
    expect(await seen(service, '/file/files/d.txt')).toBe('308 /file/files/a.txt');
  });

  it('follows a replaced and an edited file', async () => {
    const service = await start({ saveSameFileNameStrategy: 'replace' });
    await service.source('files').put({ 'a.txt': 'one' });
    await rename(service, 'a.txt', 'b.txt');
    await upload(service, 'b.txt', 'two');
    const reply = await fetch(`${service.url}/file/files/a.txt`);
    expect([reply.url, await reply.text()]).toEqual([`${service.url}/file/files/b.txt`, 'two']);
  });
});

describe('the old links of what a folder holds', () => {
  it('end for the names that a new folder really holds', async () => {
    const service = await start();
    await service
      .source('files')
      .put({ 'a/x.txt': 'x', 'a/y.txt': 'y', 'a/deep/z.txt': 'z', 'other/y.txt': 'other' });
    await done(service, 'folderRename', { name: 'a', newname: 'b' });
    const look = async (): Promise<Record<string, string>> =>
      Object.fromEntries(
        await Promise.all(
          ['x', 'y', 'deep/z'].map(
            async (name) => [name, await seen(service, `/file/files/a/${name}.txt`)] as const,
          ),
        ),
      );
    const all = {
      x: '308 /file/files/b/x.txt',
      y: '308 /file/files/b/y.txt',
      'deep/z': '308 /file/files/b/deep/z.txt',
    };
    expect(await look()).toEqual(all);
    await done(service, 'folderCreate', { name: 'a' });
    expect(await look()).toEqual(all);
    await upload(service, 'x.txt', 'new', 'a');
    expect(await look()).toEqual({ ...all, x: '200 new' });
    await done(service, 'folderRemove', { name: 'a' });
    expect(await look()).toEqual({ ...all, x: '404' });
    // A folder that comes with content takes the names of this content.
    await done(service, 'folderRename', { name: 'other', newname: 'a' });
    await done(service, 'folderRemove', { name: 'a' });
    expect(await look()).toEqual({ x: '404', y: '404', 'deep/z': all['deep/z'] });
  });

  it('lead to a file that came just before the folder was renamed', async () => {
    const memory = new MemoryAdapter();
    let renaming: Promise<void> | undefined;
    const read: StorageAdapter['read'] = async (path, options) => {
      if (isUploading && renaming === undefined && path.segments[0] === '.stowage-moved') {
        renaming = done(service, 'folderRename', { name: 'a', newname: 'b' });
        // Enough for the rename, unless it waits for the upload.
        for (let turns = 0; turns < 300; turns += 1) await turn();
      }
      return memory.read(path, options);
    };
    const storageAdapter = `moved-${randomUUID()}`;
    registerStorageAdapter(storageAdapter, { create: () => replacing(memory, { read }) });
    let isUploading = false;
    await put(memory, 'old/x.txt', 'x');
    const service = await start({ storageAdapter });
    await done(service, 'folderRename', { name: 'old', newname: 'a' });
    isUploading = true;
    await upload(service, 'new.txt', 'new', 'a');
    await renaming;
    expect(await seen(service, '/file/files/a/new.txt')).toBe('308 /file/files/b/new.txt');
  });

  it('do not show what was never there', async () => {
    const service = await start();
    await service.source('files').put({ 'a/x.txt': 'x', 'a/y.txt': 'y' });
    await done(service, 'fileRemove', { path: 'a', name: 'x.txt' });
    await done(service, 'folderRename', { name: 'a', newname: 'b' });
    await upload(service, 'x.txt', 'new', 'b');
    expect(await seen(service, '/file/files/a/x.txt')).toBe('404');
    await done(service, 'fileRemove', { path: 'b', name: 'y.txt' });
    await upload(service, 'y.txt', 'new', 'b');
    expect(await seen(service, '/file/files/a/y.txt')).toBe('404');
  });
});
