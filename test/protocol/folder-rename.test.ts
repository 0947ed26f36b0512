import { describe, expect, it } from 'vitest';
import { startService } from './service.ts';

describe('folderRename', () => {
  it.each([
    ['new', 'new'],
    ['New name', 'New name'],
    ['v1.2', 'v1.2'],
    ['a/b', 'a_b'],
    ['a:b*c?', 'a_b_c_'],
    ['..', '_'],
    ['dots...', 'dots_'],
    ['Ordner für Bilder', 'Ordner für Bilder'],
  ])('renames to «%s» as %s', async (newname, expected) => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'sub/dir/deep/a.txt': 'a' });
    const answer = await service.call('folderRename', { path: '/sub', name: 'dir', newname });
    expect(answer.status).toBe(200);
    expect(answer.data).toEqual({ code: 220 });
    expect(await files.text(`sub/${expected}/deep/a.txt`)).toBe('a');
    expect((await files.paths()).filter((path) => path.startsWith('sub/dir'))).toEqual([]);
  });

  it.each([
    ['no name', { newname: 'x' }, 400],
    ['no new name', { name: 'dir' }, 400],
    ['a blank new name', { name: 'dir', newname: '' }, 400],
    ['the root', { name: '.', newname: 'x' }, 400],
    ['the folder above', { path: 'dir', name: '..', newname: 'x' }, 400],
    ['a name with a separator', { name: 'dir/deep', newname: 'x' }, 400],
    ['a file', { name: 'a.txt', newname: 'x' }, 400],
    ['a taken name', { name: 'dir', newname: 'other' }, 400],
    ['the name of a file', { name: 'dir', newname: 'a.txt' }, 400],
    ['its own name', { name: 'dir', newname: 'dir' }, 400],
    ['a reserved name', { name: 'dir', newname: '_thumbs' }, 400],
    ['an excluded name', { name: 'dir', newname: '.TMB' }, 400],
    ['a hidden folder', { name: '_thumbs', newname: 'x' }, 404],
    ['an unknown folder', { name: 'nowhere', newname: 'x' }, 404],
    ['an unknown path', { path: 'nowhere', name: 'dir', newname: 'x' }, 404],
    ['an unknown source', { name: 'dir', newname: 'x', source: 'nowhere' }, 404],
  ])('refuses %s', async (_what, fields, status) => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'dir/deep/b.txt': 'b', 'other/c.txt': 'c', 'a.txt': 'a', '_thumbs/x.png': 'x' });
    const before = await files.paths();
    expect((await service.call('folderRename', fields)).status).toBe(status);
    expect(await files.paths()).toEqual(before);
  });

  it('asks the rules for both names and for what lies inside', async () => {
    const service = await startService({
      accessControl: [
        { path: '/taboo', FOLDER_RENAME: false },
        { path: '/dir/secret', FOLDER_RENAME: false },
      ],
    });
    const files = service.source('files');
    await files.put({ 'dir/secret/a.txt': 'a', 'free/': '' });
    expect((await service.call('folderRename', { name: 'dir', newname: 'new' })).status).toBe(403);
    expect((await service.call('folderRename', { name: 'free', newname: 'taboo' })).status).toBe(403);
    expect((await service.call('folderRename', { name: 'free', newname: 'fine' })).status).toBe(200);
    expect(await files.paths()).toEqual(['dir/', 'dir/secret/', 'dir/secret/a.txt', 'fine/']);
  });

  it('needs FOLDER_RENAME alone, for the folder and for what it holds', async () => {
    const service = await startService({
      accessControl: [
        { FILE_RENAME: false, FILE_MOVE: false, FOLDER_MOVE: false },
        { path: '/closed/inner', FOLDER_RENAME: false },
      ],
    });
    const files = service.source('files');
    await files.put({ 'dir/a.txt': 'a', 'closed/inner/b.txt': 'b' });
    expect((await service.call('folderRename', { name: 'dir', newname: 'new' })).status).toBe(200);
    expect((await service.call('folderRename', { name: 'closed', newname: 'open' })).status).toBe(403);
    expect(await files.paths()).toEqual([
      'closed/',
      'closed/inner/',
      'closed/inner/b.txt',
      'new/',
      'new/a.txt',
    ]);
  });

  it('refuses a name by which something inside could no longer be named', async () => {
    const service = await startService();
    const files = service.source('files');
    const deep = `dir/${'a/'.repeat(97)}last`;
    await files.put({ [`${deep}/`]: '', 'to/': '' });
    expect((await service.call('folderMove', { from: 'dir', path: 'to' })).status).toBe(200);
    expect((await service.call('folders', { path: `to/${deep}` })).status).toBe(200);
    await files.put({ 'to2/x/': '' });
    expect((await service.call('folderMove', { from: 'to/dir', path: 'to2/x' })).status).toBe(400);
    expect((await service.call('folderCopy', { from: 'to/dir', path: 'to2/x' })).status).toBe(400);
    expect((await service.call('folders', { path: `to/${deep}` })).status).toBe(200);
  });
});
