import { describe, expect, it } from 'vitest';
import { startService } from './service.ts';

describe('folderCopy', () => {
  it('copies a folder with all it holds', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'dir/deep/a.txt': 'a', 'dir/empty/': '', 'dir/b.txt': 'b', 'target/': '' });
    const answer = await service.call('folderCopy', { from: 'dir', path: 'target' });
    expect(answer.status).toBe(200);
    expect(answer.data).toEqual({ code: 220 });
    const inside = ['', 'b.txt', 'deep/', 'deep/a.txt', 'empty/'];
    expect(await files.paths()).toEqual([
      ...inside.map((path) => `dir/${path}`),
      'target/',
      ...inside.map((path) => `target/dir/${path}`),
    ]);
    expect(await files.text('target/dir/deep/a.txt')).toBe('a');
  });

  it('numbers copies whose name is taken, dots or not', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'v1.2/a.txt': 'a' });
    await service.call('folderCopy', { from: 'v1.2' });
    await service.call('folderCopy', { from: 'v1.2/', path: '/' });
    expect(await files.paths()).toEqual([
      'v1.2 (1)/',
      'v1.2 (1)/a.txt',
      'v1.2 (2)/',
      'v1.2 (2)/a.txt',
      'v1.2/',
      'v1.2/a.txt',
    ]);
  });

  it.each([
    ['no from', {}, 400],
    ['the root', { from: '/' }, 400],
    ['the root in disguise', { from: 'dir/..', path: 'dir' }, 400],
    ['a file', { from: 'a.txt' }, 400],
    ['itself', { from: 'dir', path: 'dir' }, 400],
    ['its own sub-folder', { from: 'dir', path: 'dir/deep' }, 400],
    ['an unknown folder', { from: 'nowhere' }, 404],
    ['an unknown target', { from: 'dir', path: 'nowhere' }, 404],
    ['a file as target', { from: 'dir', path: 'a.txt' }, 404],
    ['a hidden folder', { from: '.quarantine' }, 404],
    ['a hidden target', { from: 'dir', path: '.quarantine' }, 404],
  ])('refuses %s', async (_what, fields, status) => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'a.txt': 'a', 'dir/deep/b.txt': 'b', '.quarantine/c.txt': 'c' });
    const before = await files.paths();
    expect((await service.call('folderCopy', fields)).status).toBe(status);
    expect(await files.paths()).toEqual(before);
  });

  it('refuses a folder that holds something denied, at either place', async () => {
    const service = await startService({
      accessControl: [
        { path: '/dir/secret', FOLDER_COPY: false },
        { path: '/target/other', FILE_COPY: false },
      ],
    });
    const files = service.source('files');
    await files.put({ 'dir/secret/a.txt': 'a', 'other/b.txt': 'b', 'target/': '' });
    const before = await files.paths();
    expect((await service.call('folderCopy', { from: 'dir', path: 'target' })).status).toBe(403);
    expect((await service.call('folderCopy', { from: 'other', path: 'target' })).status).toBe(403);
    expect(await files.paths()).toEqual(before);
    expect((await service.call('folderCopy', { from: 'other' })).status).toBe(200);
  });

  it('keeps hidden names inside of a copy hidden', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'dir/.quarantine/a.txt': 'q', 'dir/b.txt': 'b' });
    expect((await service.call('folderCopy', { from: 'dir' })).status).toBe(200);
    expect((await service.call('fileRemove', { path: 'dir (1)/.quarantine', name: 'a.txt' })).status).toBe(
      404,
    );
  });
});
