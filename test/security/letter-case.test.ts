import { Readable } from 'node:stream';
import { registerStorageAdapter, SourcePath, type StorageAdapter } from 'stowage/storage';
import { describe, expect, it } from 'vitest';
import { MemoryAdapter } from '#internals';
import { formOf, startService, type Fields, type Service } from '../protocol/service.ts';

const folded = (value: unknown): unknown =>
  value instanceof SourcePath ? SourcePath.parse(value.toString().toLowerCase()) : value;

/**
 * A store that takes `Private` and `private` for one name, as the disks of some systems and most shares of
 * Windows do.
 */
const foldingStore = (): StorageAdapter =>
  new Proxy<StorageAdapter>(new MemoryAdapter(), {
    get: (store, name) => {
      if (name === 'capabilities') return { ...store.capabilities, caseSensitive: false };
      // Staged content would get its name without passing here.
      const member: unknown = name === 'stage' ? undefined : Reflect.get(store, name, store);
      return typeof member === 'function'
        ? (...given: readonly unknown[]): unknown => Reflect.apply(member, store, given.map(folded))
        : member;
    },
  });

registerStorageAdapter('folding', {
  create: async () => {
    const store = foldingStore();
    for (const path of ['a.txt', 'open/a.txt', 'private/a.txt', 'private/a.png']) {
      await store.write(SourcePath.parse(path), Readable.from([Buffer.from(path)]));
    }
    return store;
  },
});

const KEYS = [
  'FILES FOLDERS FILE_DOWNLOAD FILE_REMOVE FILE_RENAME FILE_MOVE FILE_COPY FILE_UPLOAD FOLDER_CREATE FOLDER_REMOVE',
  'FOLDER_RENAME FOLDER_MOVE FOLDER_COPY IMAGE_RESIZE IMAGE_CROP IMAGE_SAVE IMAGE_LOAD GET_LOCAL_FILE_BY_URL',
].flatMap((keys) => keys.split(' '));

const start = (): Promise<Service> =>
  startService({
    createThumb: false,
    sources: { files: { storageAdapter: 'folding' } },
    accessControl: [{ path: '/private', ...Object.fromEntries(KEYS.map((key) => [key, false])) }],
  });

const attempts: readonly (readonly [action: string, fields: Fields])[] = [
  ['files', { path: 'PRIVATE' }],
  ['folders', { path: 'Private/' }],
  ['fileDownload', { path: 'Private', name: 'a.txt' }],
  ['fileRemove', { path: 'pRIVATE', name: 'a.txt' }],
  ['fileRename', { path: 'PRIVATE', name: 'a.txt', newname: 'b' }],
  ['fileMove', { from: 'PRIVATE/a.txt', path: 'open' }],
  ['fileMove', { from: 'open/a.txt', path: 'PRIVATE' }],
  ['fileCopy', { from: 'PRIVATE/a.txt', path: 'open' }],
  ['fileCopy', { from: 'a.txt', path: 'PRIVATE' }],
  ['folderCreate', { path: '', name: 'PRIVATE' }],
  ['folderCreate', { path: 'PRIVATE', name: 'deep' }],
  ['folderRemove', { name: 'PRIVATE' }],
  ['folderRename', { name: 'PRIVATE', newname: 'b' }],
  ['folderRename', { name: 'open', newname: 'PRIVATE' }],
  ['folderMove', { from: 'PRIVATE', path: 'open' }],
  ['folderCopy', { from: 'PRIVATE', path: 'open' }],
  ['imageLoad', { path: 'PRIVATE', name: 'a.png' }],
  ['imageResize', { path: 'PRIVATE', name: 'a.png', 'box[w]': '1', 'box[h]': '1' }],
  [
    'imageCrop',
    { path: 'PRIVATE', name: 'a.png', 'box[x]': '0', 'box[y]': '0', 'box[w]': '1', 'box[h]': '1' },
  ],
];

describe('a folder that rules keep closed, on a store without letter case', () => {
  it.each(attempts)('stays closed under other spellings: %s %j', async (action, fields) => {
    const service = await start();
    expect(await service.call(action, fields)).toMatchObject({ status: 403, success: false });
  });

  it('takes no uploads under other spellings', async () => {
    const service = await start();
    for (const action of ['fileUpload', 'imageSave']) {
      const body = formOf([['files[0]', 'a.png', 'a']], { path: 'PRIVATE', name: 'a.png' });
      const { status } = await fetch(`${service.url}/${action}`, { method: 'POST', body });
      expect(status).toBe(403);
    }
  });

  it('is not told to exist by its URL', async () => {
    const service = await start();
    for (const [path, status] of [
      ['open/A.txt', 200],
      ['PRIVATE/a.txt', 403],
    ] as const) {
      expect(
        await service.call('getLocalFileByUrl', { url: `https://files.example/files/${path}` }),
      ).toMatchObject({ status });
    }
  });

  it('stays closed to links', async () => {
    const service = await startService({
      createThumb: false,
      sources: { files: { storageAdapter: 'folding', baseurl: undefined, serve: 'protected' } },
      accessControl: [{ path: '/private', FILE_DOWNLOAD: false }],
    });
    const status = async (path: string): Promise<number> =>
      (await fetch(`${service.url}/file/files/${path}`)).status;
    for (const path of ['private/a.txt', 'Private/a.txt', 'PRIVATE/A.txt'])
      expect(await status(path)).toBe(403);
    expect(await status('OPEN/a.txt')).toBe(200);
  });

  it('closes nothing else', async () => {
    const service = await start();
    expect(await service.call('files', { path: 'OPEN' })).toMatchObject({ status: 200 });
    expect(await service.call('fileCopy', { from: 'OPEN/A.txt', path: '' })).toMatchObject({ status: 200 });
  });
});

describe('a store without letter case', () => {
  it('keeps both files of a form whose names differ by case alone', async () => {
    const service = await startService({
      saveSameFileNameStrategy: 'replace',
      sources: { files: { storageAdapter: 'folding' } },
    });
    const { data } = await service.upload([
      ['files[0]', 'b.txt', 'one'],
      ['files[1]', 'B.TXT', 'two'],
    ]);
    expect(data['files']).toEqual(['b.txt', 'B-1.TXT']);
    const text = async (name: string): Promise<string> =>
      (await service.get('fileDownload', { name })).text();
    expect([await text('b.txt'), await text('b-1.txt')]).toEqual(['one', 'two']);
  });

  it('is open under other spellings of what a rule opens', async () => {
    const service = await startService({
      createThumb: false,
      sources: { files: { storageAdapter: 'folding' } },
      accessControl: [{ FILES: false }, { path: '/OPEN', FILES: true }],
    });
    expect((await service.call('files', { path: 'open' })).status).toBe(200);
    expect((await service.call('files', { path: 'private' })).status).toBe(403);
  });
});
