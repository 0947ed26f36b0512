import { randomUUID } from 'node:crypto';
import { registerStorageAdapter } from 'stowage';
import { withFaults } from 'stowage/testing';
import { describe, expect, it } from 'vitest';
import { SourcePath } from 'stowage/storage';
import type { StorageAdapter } from '../../packages/stowage/dist/storage/adapter.js';
import { bytesAt, put } from '../pictures/gallery.ts';
import { CaseFoldingStore } from './changing-store.ts';
import { startService } from './service.ts';

const namesIn = async (storage: StorageAdapter): Promise<string[]> => {
  const names: string[] = [];
  for await (const page of storage.list(SourcePath.root)) names.push(...page.map(({ name }) => name));
  return names.filter((one) => one !== '_thumbs').sort();
};

describe('fileRename', () => {
  it.each([
    ['a.txt', 'b.txt', 'b.txt'],
    ['a.txt', 'b', 'b.txt'],
    ['a.txt', 'b.php', 'b.php.txt'],
    ['a.txt', 'b.html', 'b.html.txt'],
    ['a.txt', 'b.v2', 'b.v2.txt'],
    ['a.txt', 'B.TXT', 'B.TXT'],
    ['a.txt', 'A.txt', 'A.txt'],
    ['a.txt', 'c/d', 'c_d.txt'],
    ['a.txt', '../d', '.._d.txt'],
    ['a.txt', 'x.php.', 'x.php_.txt'],
    ['a.txt', 'x#y?z%', 'x_y_z_.txt'],
    ['a.txt', 'con', '_.txt'],
    ['a.txt', 'Überblick für alle', 'Überblick für alle.txt'],
    ['PHOTO.JPG', 'new', 'new.JPG'],
    ['PHOTO.JPG', 'new.jpg', 'new.jpg'],
  ])('renames %s to «%s» as %s', async (name, newname, expected) => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ [`sub/${name}`]: 'content' });
    const answer = await service.call('fileRename', { path: 'sub/', name, newname });
    expect(answer.status).toBe(expected.startsWith('.') ? 400 : 200);
    const stored = expected.startsWith('.') ? name : expected;
    expect(await files.paths()).toEqual(['sub/', `sub/${stored}`]);
    expect(await files.text(`sub/${stored}`)).toBe('content');
  });

  it('confirms with the code alone', async () => {
    const service = await startService();
    await service.source('files').put({ 'a.txt': 'a' });
    expect((await service.call('fileRename', { name: 'a.txt', newname: 'b' })).data).toEqual({ code: 220 });
  });

  it('cuts a new name that is too long and keeps the extension', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'a.txt': 'a' });
    expect((await service.call('fileRename', { name: 'a.txt', newname: 'b'.repeat(600) })).status).toBe(200);
    expect(await files.paths()).toEqual([`${'b'.repeat(251)}.txt`]);
  });

  it.each([
    ['no name', { newname: 'x' }, 400],
    ['no new name', { name: 'a.txt' }, 400],
    ['a blank new name', { name: 'a.txt', newname: ' ' }, 400],
    ['an invisible new name', { name: 'a.txt', newname: '\u200b\u200d' }, 400],
    ['a name with a separator', { name: 'sub/c.txt', newname: 'x' }, 400],
    ['a name above', { name: '..', newname: 'x' }, 400],
    ['a taken name', { name: 'a.txt', newname: 'b' }, 400],
    ['a name that a folder has', { name: 'a.txt', newname: 'dir.txt' }, 400],
    ['its own name', { name: 'a.txt', newname: 'a.txt' }, 400],
    ['a hidden name', { name: 'noext.tmb', newname: 'x' }, 404],
    ['a name that servers obey', { name: 'a.txt', newname: '.htaccess' }, 403],
    ['a name that hides', { name: 'a.txt', newname: '.a' }, 400],
    ['a name that would lead out', { name: 'a.txt', newname: '../a' }, 400],
    ['an unknown file', { name: 'z.txt', newname: 'x' }, 404],
    ['an unknown source', { name: 'a.txt', newname: 'x', source: 'nowhere' }, 404],
    ['a file of a type that is not shown', { name: 'id_rsa', newname: 'x.txt' }, 404],
    ['a hidden folder', { path: '_thumbs', name: 'a.png', newname: 'b' }, 404],
  ])('refuses %s', async (_what, fields, status) => {
    const service = await startService();
    const files = service.source('files');
    await files.put({
      'a.txt': 'a',
      'b.txt': 'b',
      'sub/c.txt': 'c',
      'dir.txt/': '',
      id_rsa: 'key',
      '_thumbs/a.png': 't',
    });
    const before = await files.paths();
    expect((await service.call('fileRename', fields)).status).toBe(status);
    expect(await files.paths()).toEqual(before);
    expect(await files.text('b.txt')).toBe('b');
  });

  it('gives no reserved name', async () => {
    const service = await startService({ excludeDirectoryNames: ['secret.txt'] });
    const files = service.source('files');
    await files.put({ 'a.txt': 'a', 'secret.txt': 's' });
    expect((await service.call('fileRename', { name: 'a.txt', newname: 'SECRET' })).status).toBe(400);
    expect((await service.call('fileRename', { name: 'secret.txt', newname: 'x' })).status).toBe(404);
    expect(await files.paths()).toEqual(['a.txt', 'secret.txt']);
  });

  it('asks the rules for the old and the new name', async () => {
    const service = await startService({
      accessControl: [
        { path: '/a.txt', FILE_RENAME: false },
        { path: '/free/b.txt', FILE_RENAME: false },
      ],
    });
    const files = service.source('files');
    await files.put({ 'a.txt': 'a', 'free/c.txt': 'c' });
    expect((await service.call('fileRename', { name: 'a.txt', newname: 'x' })).status).toBe(403);
    expect((await service.call('fileRename', { path: 'free', name: 'c.txt', newname: 'b' })).status).toBe(
      403,
    );
    expect((await service.call('fileRename', { path: 'free', name: 'c.txt', newname: 'd' })).status).toBe(
      200,
    );
    expect(await files.paths()).toEqual(['a.txt', 'free/', 'free/d.txt']);
  });

  it('renames a folder, by the key of folders and without giving it an extension', async () => {
    const service = await startService({ accessControl: [{ extensions: 'txt', FILE_RENAME: false }] });
    const files = service.source('files');
    await files.put({ 'v1.2/a.txt': 'a' });
    expect((await service.call('fileRename', { name: 'v1.2', newname: 'v2' })).status).toBe(200);
    expect((await service.call('fileRename', { path: 'v2', name: 'a.txt', newname: 'b' })).status).toBe(403);
    expect(await files.paths()).toEqual(['v2/', 'v2/a.txt']);
    const denied = await startService({ accessControl: [{ FOLDER_RENAME: false }] });
    await denied.source('files').put({ 'v1.2/a.txt': 'a' });
    expect((await denied.call('fileRename', { name: 'v1.2', newname: 'v2' })).status).toBe(403);
  });

  it('changes the letter case of a name, also where the store ignores it', async () => {
    const folding = new CaseFoldingStore();
    await put(folding, 'a.png', Buffer.from('a'));
    await put(folding, 'dir/b.txt', Buffer.from('b'));
    await put(folding, 'other.png', Buffer.from('other'));
    const name = `folding-${randomUUID()}`;
    registerStorageAdapter(name, { create: () => folding });
    const service = await startService({ sources: { files: { storageAdapter: name } } });
    expect((await service.call('fileRename', { name: 'a.png', newname: 'A' })).status).toBe(200);
    expect((await service.call('folderRename', { name: 'dir', newname: 'Dir' })).status).toBe(200);
    expect((await service.call('fileRename', { name: 'A.png', newname: 'OTHER' })).status).toBe(400);
    expect(await namesIn(folding)).toEqual(['A.png', 'Dir', 'other.png']);
    expect((await bytesAt(folding, 'Dir/b.txt')).toString()).toBe('b');
    expect((await bytesAt(folding, 'other.png')).toString()).toBe('other');
  });

  it.each([
    ['gives the old name back when the second step fails', 2, 'fail-before', ['a.png']],
    ['gives the old name back when the answer to the first step is lost', 1, 'fail-after', ['a.png']],
    ['keeps the new name when the answer to the second step is lost', 2, 'fail-after', ['A.png']],
  ] as const)('changing the letter case %s', async (_title, call, effect, expected) => {
    const folding = new CaseFoldingStore();
    await put(folding, 'a.png', Buffer.from('a'));
    const name = `folding-${randomUUID()}`;
    const failing = withFaults(folding, [{ operation: 'moveFile', call, effect }]);
    registerStorageAdapter(name, { create: () => failing });
    const service = await startService({ createThumb: false, sources: { files: { storageAdapter: name } } });
    expect((await service.call('fileRename', { name: 'a.png', newname: 'A' })).status).toBe(500);
    expect(await namesIn(folding)).toEqual(expected);
  });

  it('says which name a file has that could not get its old one back, and shows it', async () => {
    const folding = new CaseFoldingStore();
    await put(folding, 'a.png', Buffer.from('a'));
    const name = `folding-${randomUUID()}`;
    const failing = withFaults(folding, [
      { operation: 'moveFile', call: 2, effect: 'fail-before' },
      { operation: 'moveFile', call: 3, effect: 'fail-before' },
    ]);
    registerStorageAdapter(name, { create: () => failing });
    const service = await startService({ createThumb: false, sources: { files: { storageAdapter: name } } });
    const answer = await service.call('fileRename', { name: 'a.png', newname: 'A' });
    expect(answer.data['code']).toBe(500);
    const [now = ''] = await namesIn(folding);
    expect(answer.messages.join()).toContain(`"${now}"`);
    const listing = await service.call('files');
    expect(JSON.stringify(listing.data)).toContain(`"${now}"`);
  });
});
