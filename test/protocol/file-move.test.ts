import { describe, expect, it } from 'vitest';
import { startService } from './service.ts';

describe('fileMove', () => {
  it('moves a file into another folder', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'sub/a.txt': 'a', 'other/': '' });
    const answer = await service.call('fileMove', { from: 'sub/a.txt', path: '/other', source: 'files' });
    expect(answer.status).toBe(200);
    expect(answer.data).toEqual({ code: 220 });
    expect(await files.paths()).toEqual(['other/', 'other/a.txt', 'sub/']);
    expect(await files.text('other/a.txt')).toBe('a');
  });

  it('moves into the root when no path is given, in every spelling of from', async () => {
    const service = await startService();
    const files = service.source('files');
    for (const from of ['/sub/a.txt', 'sub/../sub/a.txt', './sub//a.txt']) {
      await files.put({ 'sub/a.txt': from });
      expect((await service.call('fileMove', { from })).status, from).toBe(200);
      expect(await files.text('a.txt')).toBe(from);
      expect((await service.call('fileRemove', { name: 'a.txt' })).status).toBe(200);
    }
  });

  it('moves folders too', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'dir/deep/a.txt': 'a', 'target/': '' });
    expect((await service.call('fileMove', { from: 'dir/', path: 'target/' })).status).toBe(200);
    expect(await files.paths()).toEqual([
      'target/',
      'target/dir/',
      'target/dir/deep/',
      'target/dir/deep/a.txt',
    ]);
  });

  it('understands the path that the editor sends for a drop onto «..»', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'sub/deep/a.txt': 'a' });
    expect((await service.call('fileMove', { from: 'sub/deep/a.txt', path: 'sub/deep/../' })).status).toBe(
      200,
    );
    expect(await files.paths()).toEqual(['sub/', 'sub/a.txt', 'sub/deep/']);
  });

  it.each([
    ['no from', { path: 'other' }, 400],
    ['an empty from', { from: '', path: 'other' }, 400],
    ['a blank from', { from: '  ', path: 'other' }, 400],
    ['the root', { from: '/', path: 'other' }, 400],
    ['the root in disguise', { from: 'dir/..', path: 'other' }, 400],
    ['a way out of the source', { from: '../a.txt', path: 'other' }, 400],
    ['a target out of the source', { from: 'a.txt', path: '../' }, 400],
    ['an unknown file', { from: 'z.txt', path: 'other' }, 404],
    ['an unknown target folder', { from: 'a.txt', path: 'nowhere' }, 404],
    ['an unknown source', { from: 'a.txt', source: 'nowhere' }, 404],
    ['a target that is a file', { from: 'a.txt', path: 'b.txt' }, 404],
    ['a name that exists at the target', { from: 'a.txt', path: 'other' }, 400],
    ['a name that a folder has at the target', { from: 'b.txt', path: 'other' }, 400],
    ['its own folder', { from: 'a.txt', path: '/' }, 400],
    ['a folder into itself', { from: 'dir', path: 'dir' }, 400],
    ['a folder into its own sub-folder', { from: 'dir', path: 'dir/deep' }, 400],
    ['a folder where it is', { from: 'dir', path: '' }, 400],
    ['a hidden folder', { from: '_thumbs', path: 'other' }, 404],
    ['something inside a hidden folder', { from: '_thumbs/a.png', path: 'other' }, 404],
    ['a hidden target', { from: 'a.txt', path: '_THUMBS' }, 404],
    ['a file of a type that is not shown', { from: '.env', path: 'other' }, 404],
  ])('refuses %s', async (_what, fields, status) => {
    const service = await startService();
    const files = service.source('files');
    await files.put({
      'a.txt': 'a',
      'b.txt': 'b',
      'dir/deep/c.txt': 'c',
      'other/a.txt': 'other',
      'other/b.txt/': '',
      '_thumbs/a.png': 't',
      '.env': 'secret',
    });
    const before = await files.paths();
    expect((await service.call('fileMove', fields)).status).toBe(status);
    expect(await files.paths()).toEqual(before);
    expect(await files.text('other/a.txt')).toBe('other');
  });

  it('does not reach into another source', async () => {
    const service = await startService({ sources: { one: {}, two: {} } });
    await service.source('one').put({ 'a.txt': 'a' });
    expect((await service.call('fileMove', { from: 'a.txt', source: 'two' })).status).toBe(404);
    expect(await service.source('one').paths()).toEqual(['a.txt']);
  });

  describe('under access rules', () => {
    const tree = { 'open/a.txt': 'a', 'open/dir/b.txt': 'b', 'closed/c.txt': 'c', 'target/': '' };

    it.each([
      ['from a denied folder', { from: 'closed/c.txt', path: 'open' }],
      ['into a denied folder', { from: 'open/a.txt', path: 'closed' }],
      ['a folder into a denied one', { from: 'open/dir', path: 'closed' }],
      ['from a denied folder that it does not know', { from: 'closed/missing.txt', path: 'open' }],
    ])('refuses a move %s', async (_what, fields) => {
      const service = await startService({
        accessControl: [{ path: '/closed', FILE_MOVE: false, FOLDER_MOVE: false }],
      });
      await service.source('files').put(tree);
      const before = await service.source('files').paths();
      expect((await service.call('fileMove', fields)).status).toBe(403);
      expect(await service.source('files').paths()).toEqual(before);
    });

    it('evaluates the rules about folders for a folder', async () => {
      const service = await startService({ accessControl: [{ path: '/open', FOLDER_MOVE: false }] });
      await service.source('files').put(tree);
      expect((await service.call('fileMove', { from: 'open/dir', path: 'target' })).status).toBe(403);
      expect((await service.call('fileMove', { from: 'open/a.txt', path: 'target' })).status).toBe(200);
    });

    /** @see https://github.com/filebrowser/filebrowser/security/advisories/GHSA-77x8-73f4-5485 */
    it.each([
      ['a denied sub-folder', [{ path: '/open/dir', FOLDER_MOVE: false }]],
      ['a file that may not be moved', [{ extensions: 'txt', FILE_MOVE: false }]],
      ['something denied at its new place', [{ path: '/target/open/dir', FOLDER_MOVE: false }]],
    ])('refuses a folder that holds %s', async (_what, accessControl) => {
      const service = await startService({ accessControl });
      await service.source('files').put(tree);
      const before = await service.source('files').paths();
      expect((await service.call('fileMove', { from: 'open', path: 'target' })).status).toBe(403);
      expect(await service.source('files').paths()).toEqual(before);
    });
  });
});
