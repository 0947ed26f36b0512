import { describe, expect, it } from 'vitest';
import { startService } from './service.ts';

describe('folderRemove', () => {
  it('removes a folder with its contents, thumbnails and hidden things included', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({
      'sub/dir/deep/a.txt': 'a',
      'sub/dir/_thumbs/a.png': 't',
      'sub/dir/id_rsa': 'k',
      'sub/dir-2/b.txt': 'b',
    });
    const answer = await service.call('folderRemove', { path: 'sub', name: 'dir' });
    expect(answer.status).toBe(200);
    expect(answer.data).toEqual({ code: 220 });
    expect(await files.paths()).toEqual(['sub/', 'sub/dir-2/', 'sub/dir-2/b.txt']);
  });

  it.each([
    ['no name', {}, 400],
    ['an empty name', { name: '' }, 400],
    ['the root by «.»', { name: '.' }, 400],
    ['the root by «/»', { name: '/' }, 400],
    ['the root by «..»', { path: 'dir', name: '..' }, 400],
    ['the root by a way down and up', { path: '/', name: 'dir/..' }, 400],
    ['a folder above the root', { name: '..' }, 400],
    ['a path out of the source', { path: '../..', name: 'tmp' }, 400],
    ['a name with a separator', { name: 'dir/deep' }, 400],
    ['a file', { name: 'a.txt' }, 400],
    ['the thumbnail folder', { name: '_thumbs' }, 404],
    ['an excluded folder', { name: '.quarantine' }, 404],
    ['an unknown folder', { name: 'nowhere' }, 404],
    ['an unknown path', { path: 'nowhere', name: 'dir' }, 404],
    ['an unknown source', { name: 'dir', source: 'nowhere' }, 404],
  ])('refuses %s', async (_what, fields, status) => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'dir/deep/b.txt': 'b', 'a.txt': 'a', '_thumbs/a.png': 't', '.quarantine/q.txt': 'q' });
    const before = await service.outside.paths();
    expect((await service.call('folderRemove', fields)).status).toBe(status);
    expect(await service.outside.paths()).toEqual(before);
  });

  /** @see https://github.com/filebrowser/filebrowser/security/advisories/GHSA-77x8-73f4-5485 */
  it.each([
    ['a denied folder far inside', [{ path: '/dir/deep/deeper', FOLDER_REMOVE: false }]],
    ['a file that may not be removed', [{ extensions: 'pdf', FILE_REMOVE: false }]],
    ['a file denied by its path', [{ path: '/dir/deep/b.pdf', FILE_REMOVE: false }]],
    ['a file, where no file may be removed below it', [{ path: '/dir', FILE_REMOVE: false }]],
  ])('refuses a folder that holds %s, and leaves all of it', async (_what, accessControl) => {
    const service = await startService({ accessControl });
    const files = service.source('files');
    await files.put({
      'dir/a.txt': 'a',
      'dir/deep/b.pdf': 'b',
      'dir/deep/deeper/c.txt': 'c',
      'other/d.txt': 'd',
    });
    const before = await files.paths();
    expect((await service.call('folderRemove', { name: 'dir' })).status).toBe(403);
    expect(await files.paths()).toEqual(before);
    expect((await service.call('folderRemove', { name: 'other' })).status).toBe(200);
  });

  it.each(['folderRemove', 'folderMove', 'folderCopy'])(
    '%s takes no file along that nobody may touch, and still takes folders without files',
    async (action) => {
      const service = await startService({
        accessControl: [{ FILE_REMOVE: false, FILE_MOVE: false, FILE_COPY: false }],
      });
      const files = service.source('files');
      await files.put({ 'dir/deep/a.txt': 'a', 'empty/deep/': '', 'to/': '' });
      const before = await files.paths();
      const fieldsOf = (name: string) => (action === 'folderRemove' ? { name } : { from: name, path: 'to' });
      expect((await service.call(action, fieldsOf('dir'))).status).toBe(403);
      expect(await files.paths()).toEqual(before);
      expect((await service.call(action, fieldsOf('empty'))).status).toBe(200);
    },
  );
});
