import { describe, expect, it } from 'vitest';
import { startService } from './service.ts';

describe('folderMove', () => {
  it('moves a folder with its contents', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'dir/deep/a.txt': 'a', 'dir/empty/': '', 'target/': '' });
    const answer = await service.call('folderMove', { from: 'dir/', path: 'target' });
    expect(answer.status).toBe(200);
    expect(answer.data).toEqual({ code: 220 });
    expect(await files.paths()).toEqual([
      'target/',
      'target/dir/',
      'target/dir/deep/',
      'target/dir/deep/a.txt',
      'target/dir/empty/',
    ]);
  });

  it('moves files too, judged by the rules about files', async () => {
    const service = await startService({ accessControl: [{ path: '/closed', FILE_MOVE: false }] });
    const files = service.source('files');
    await files.put({ 'a.txt': 'a', 'closed/b.txt': 'b', 'target/': '' });
    expect((await service.call('folderMove', { from: 'a.txt', path: 'target' })).status).toBe(200);
    expect((await service.call('folderMove', { from: 'closed/b.txt', path: 'target' })).status).toBe(403);
    expect(await files.paths()).toEqual(['closed/', 'closed/b.txt', 'target/', 'target/a.txt']);
  });

  it('moves next to a folder whose name begins alike', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'dir/a.txt': 'a', 'dir-2/': '' });
    expect((await service.call('folderMove', { from: 'dir', path: 'dir-2' })).status).toBe(200);
    expect(await files.paths()).toEqual(['dir-2/', 'dir-2/dir/', 'dir-2/dir/a.txt']);
  });

  it.each([
    ['no from', { path: 'other' }, 400],
    ['the root', { from: '.', path: 'other' }, 400],
    ['a way out of the source', { from: '../files', path: 'other' }, 400],
    ['itself', { from: 'dir', path: 'dir' }, 400],
    ['its own sub-folder', { from: 'dir', path: 'dir/deep' }, 400],
    ['its own missing sub-folder', { from: 'dir', path: 'dir/missing' }, 400],
    ['its own place', { from: 'dir', path: '/' }, 400],
    ['a taken name', { from: 'dir', path: 'other' }, 400],
    ['an unknown folder', { from: 'nowhere', path: 'other' }, 404],
    ['an unknown target', { from: 'dir', path: 'nowhere' }, 404],
    ['a file as target', { from: 'dir', path: 'a.txt' }, 404],
    ['a hidden folder', { from: '.tmb', path: 'other' }, 404],
  ])('refuses %s', async (_what, fields, status) => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'dir/deep/c.txt': 'c', 'other/dir/d.txt': 'd', 'a.txt': 'a', '.tmb/x.png': 'x' });
    const before = await files.paths();
    expect((await service.call('folderMove', fields)).status).toBe(status);
    expect(await files.paths()).toEqual(before);
  });
});
