import { registerStorageAdapter } from 'stowage';
import { describe, expect, it } from 'vitest';
import { MemoryAdapter } from '../../dist/adapters/memory/adapter.js';
import { bytesAt, put } from '../images/gallery.ts';
import { changing } from './changing-store.ts';
import { startService } from './service.js';

const two = { sources: { photos: {}, archive: { extensions: ['txt', 'jpg'], imageExtensions: ['jpg'] } } };

describe('copying and moving from one source into another', () => {
  it('copies a file, and numbers the copy where the name is taken', async () => {
    const service = await startService(two);
    const [photos, archive] = [service.source('photos'), service.source('archive')];
    await photos.put({ 'sub/a.txt': 'new' });
    await archive.put({ 'in/a.txt': 'old' });
    const answer = await service.call('fileCopy', {
      source: 'archive',
      path: 'in',
      fromSource: 'photos',
      from: 'sub/a.txt',
    });
    expect(answer.status).toBe(200);
    expect(await archive.paths()).toEqual(['in/', 'in/a (1).txt', 'in/a.txt']);
    expect(await archive.text('in/a (1).txt')).toBe('new');
    expect(await archive.text('in/a.txt')).toBe('old');
    expect(await photos.text('sub/a.txt')).toBe('new');
  });

  it('moves a file: whole at the target, gone at the source', async () => {
    const service = await startService(two);
    await service.source('photos').put({ 'big.txt': 'x'.repeat(3_000_000) });
    const answer = await service.call('fileMove', {
      source: 'archive',
      fromSource: 'photos',
      from: 'big.txt',
    });
    expect(answer.status).toBe(200);
    expect((await service.source('archive').bytes('big.txt')).length).toBe(3_000_000);
    expect(await service.source('photos').paths()).toEqual([]);
  });

  it('never replaces anything by a move', async () => {
    const service = await startService(two);
    await service.source('photos').put({ 'a.txt': 'new' });
    await service.source('archive').put({ 'a.txt': 'old' });
    expect(
      (await service.call('fileMove', { source: 'archive', fromSource: 'photos', from: 'a.txt' })).status,
    ).toBe(400);
    expect(await service.source('archive').text('a.txt')).toBe('old');
    expect(await service.source('photos').text('a.txt')).toBe('new');
  });

  it.each(['folderMove', 'fileMove'])(
    'moves a folder with all it holds by %s, thumbnails left behind',
    async (action) => {
      const service = await startService(two);
      const photos = service.source('photos');
      await photos.put({ 'f/a.txt': '1', 'f/deep/b.txt': '2', 'f/empty/': '', 'f/_thumbs/a.jpg': 'thumb' });
      expect(
        (await service.call(action, { source: 'archive', fromSource: 'photos', from: 'f/' })).status,
      ).toBe(200);
      expect(await service.source('archive').paths()).toEqual([
        'f/',
        'f/a.txt',
        'f/deep/',
        'f/deep/b.txt',
        'f/empty/',
      ]);
      expect(await photos.paths()).toEqual([]);
    },
  );

  it('copies a folder and leaves the source as it was', async () => {
    const service = await startService(two);
    const photos = service.source('photos');
    await photos.put({ 'f/a.txt': '1', 'f/deep/b.jpg': '2' });
    const before = await photos.paths();
    expect(
      (await service.call('folderCopy', { source: 'archive', fromSource: 'photos', from: 'f' })).status,
    ).toBe(200);
    expect(
      (await service.call('folderCopy', { source: 'archive', fromSource: 'photos', from: 'f' })).status,
    ).toBe(200);
    expect(await service.source('archive').paths()).toEqual([
      'f (1)/',
      'f (1)/a.txt',
      'f (1)/deep/',
      'f (1)/deep/b.jpg',
      'f/',
      'f/a.txt',
      'f/deep/',
      'f/deep/b.jpg',
    ]);
    expect(await photos.paths()).toEqual(before);
  });

  it.each([
    ['fileCopy', { from: 'page.html' }],
    ['fileMove', { from: 'page.html' }],
    ['folderCopy', { from: 'f' }],
    ['folderMove', { from: 'f' }],
  ])('obeys the extensions of the target: %s', async (action, fields) => {
    const service = await startService(two);
    await service.source('photos').put({ 'page.html': '<p>', 'f/a.txt': '1', 'f/x/page.html': '<p>' });
    const before = await service.source('photos').paths();
    const answer = await service.call(action, { source: 'archive', fromSource: 'photos', ...fields });
    expect(answer.status).toBe(403);
    expect(await service.source('archive').paths()).toEqual([]);
    expect(await service.source('photos').paths()).toEqual(before);
  });

  it('keeps what somebody replaces while its folder is moved, also by as many bytes', async () => {
    const inner = new MemoryAdapter();
    await put(inner, 'f/a.txt', Buffer.from('old'));
    await put(inner, 'f/b.txt', Buffer.from('same'));
    registerStorageAdapter('replaced', {
      create: () => changing(inner, 'f/a.txt', Buffer.from('new')),
    });
    const service = await startService({ sources: { photos: { storageAdapter: 'replaced' }, archive: {} } });
    const move = { source: 'archive', fromSource: 'photos', from: 'f' };
    expect((await service.call('folderMove', move)).status).toBe(200);
    expect((await bytesAt(inner, 'f/a.txt')).toString()).toBe('new');
    await expect(bytesAt(inner, 'f/b.txt')).rejects.toThrow();
    expect(await service.source('archive').text('f/b.txt')).toBe('same');
  });

  it('refuses to move a folder whose hidden contents would be lost', async () => {
    const service = await startService(two);
    const photos = service.source('photos');
    await photos.put({ 'f/a.txt': '1', 'f/.quarantine/b.txt': '2' });
    const before = await photos.paths();
    expect(
      (await service.call('folderMove', { source: 'archive', fromSource: 'photos', from: 'f' })).status,
    ).toBe(403);
    expect(await photos.paths()).toEqual(before);
    expect(await service.source('archive').paths()).toEqual([]);
  });

  it('judges both ends and every child by the rules', async () => {
    const rules = [
      { path: 'f/secret', FILE_MOVE: false, FOLDER_MOVE: false },
      { path: 'closed', FILE_COPY: false },
    ];
    const service = await startService({ ...two, accessControl: rules });
    await service.source('photos').put({ 'f/secret/a.txt': '1', 'b.txt': '2' });
    await service.source('archive').put({ 'closed/': '' });
    expect(
      (await service.call('folderMove', { source: 'archive', fromSource: 'photos', from: 'f' })).status,
    ).toBe(403);
    const copy = { source: 'archive', path: 'closed', fromSource: 'photos', from: 'b.txt' };
    expect((await service.call('fileCopy', copy)).status).toBe(403);
    expect(await service.source('archive').paths()).toEqual(['closed/']);
    expect(await service.source('photos').text('f/secret/a.txt')).toBe('1');
  });

  it('answers 404 for an unknown source and for what does not exist', async () => {
    const service = await startService(two);
    await service.source('photos').put({ 'a.txt': '1' });
    for (const fields of [
      { source: 'archive', fromSource: 'nowhere', from: 'a.txt' },
      { source: 'archive', fromSource: 'photos', from: 'b.txt' },
      { source: 'archive', path: 'nowhere', fromSource: 'photos', from: 'a.txt' },
    ]) {
      expect((await service.call('fileMove', fields)).status).toBe(404);
      expect((await service.call('fileCopy', fields)).status).toBe(404);
    }
    expect(await service.source('photos').paths()).toEqual(['a.txt']);
  });

  it('takes fromSource to be the source when they are one', async () => {
    const service = await startService(two);
    await service.source('photos').put({ 'f/a.txt': '1' });
    const fields = { source: 'photos', fromSource: 'photos', from: 'f/a.txt' };
    expect((await service.call('fileMove', fields)).status).toBe(200);
    expect(await service.source('photos').paths()).toEqual(['a.txt', 'f/']);
    const into = { source: 'photos', fromSource: 'photos', from: 'f', path: 'f' };
    expect((await service.call('folderCopy', into)).status).toBe(400);
  });
});
