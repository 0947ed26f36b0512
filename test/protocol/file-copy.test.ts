import { stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startService } from './service.ts';

describe('fileCopy', () => {
  it('copies a file into another folder under its own name', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'sub/a.txt': 'a', 'other/': '' });
    const answer = await service.call('fileCopy', { from: '/sub/a.txt', path: 'other' });
    expect(answer.status).toBe(200);
    expect(answer.data).toEqual({ code: 220 });
    expect(await files.text('sub/a.txt')).toBe('a');
    expect(await files.text('other/a.txt')).toBe('a');
  });

  it('numbers copies whose name is taken', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'a.b.txt': 'a' });
    for (let round = 0; round < 3; round += 1) {
      expect((await service.call('fileCopy', { from: 'a.b.txt' })).status).toBe(200);
    }
    expect(await files.paths()).toEqual(['a.b (1).txt', 'a.b (2).txt', 'a.b (3).txt', 'a.b.txt']);
    expect((await service.call('fileCopy', { from: 'a.b (1).txt' })).status).toBe(200);
    expect(await files.text('a.b (1) (1).txt')).toBe('a');
  });

  it('gives the copy a fresh modification time', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'a.txt': 'a' });
    const old = new Date(2001, 1, 3);
    await utimes(join(files.root, 'a.txt'), old, old);
    await service.call('fileCopy', { from: 'a.txt' });
    const copy = await stat(join(files.root, 'a (1).txt'));
    expect(copy.mtimeMs).toBeGreaterThan(Date.now() - 60_000);
    expect((await stat(join(files.root, 'a.txt'))).mtimeMs).toBe(old.getTime());
  });

  it('makes copies that live on their own', async () => {
    const service = await startService({ saveSameFileNameStrategy: 'replace' });
    const files = service.source('files');
    await files.put({ 'a.txt': 'old' });
    await service.call('fileCopy', { from: 'a.txt' });
    await service.upload([['files[0]', 'a.txt', 'new']]);
    expect(await files.text('a (1).txt')).toBe('old');
  });

  it('makes twenty copies for twenty simultaneous requests', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'a.txt': 'a' });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => service.call('fileCopy', { from: 'a.txt' })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    const expected = ['a.txt', ...Array.from({ length: 20 }, (_, index) => `a (${String(index + 1)}).txt`)];
    expect(await files.paths()).toEqual(expected.sort());
  });

  it.each([
    ['no from', {}, 400],
    ['the root', { from: '/' }, 400],
    ['a folder', { from: 'dir' }, 400],
    ['a way out of the source', { from: 'dir/../../a.txt' }, 400],
    ['an unknown file', { from: 'z.txt' }, 404],
    ['an unknown target', { from: 'a.txt', path: 'nowhere' }, 404],
    ['a file as target', { from: 'a.txt', path: 'a.txt' }, 404],
    ['a hidden target', { from: 'a.txt', path: '_thumbs' }, 404],
    ['a hidden file', { from: '_thumbs/a.png' }, 404],
    ['a file of a type that is not shown', { from: 'id_rsa' }, 404],
    ['an unknown source', { from: 'a.txt', source: 'nowhere' }, 404],
  ])('refuses %s', async (_what, fields, status) => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'a.txt': 'a', 'dir/': '', '_thumbs/a.png': 't', id_rsa: 'key' });
    const before = await files.paths();
    expect((await service.call('fileCopy', fields)).status).toBe(status);
    expect(await files.paths()).toEqual(before);
  });

  it('asks the rules at both ends', async () => {
    const service = await startService({
      accessControl: [
        { path: '/closed', FILE_COPY: false },
        { extensions: 'pdf', FILE_COPY: false },
        { role: 'somebody else', FILE_COPY: false },
      ],
    });
    const files = service.source('files');
    await files.put({ 'a.txt': 'a', 'b.pdf': 'b', 'closed/c.txt': 'c', 'open/': '' });
    expect((await service.call('fileCopy', { from: 'closed/c.txt', path: 'open' })).status).toBe(403);
    expect((await service.call('fileCopy', { from: 'a.txt', path: 'closed' })).status).toBe(403);
    expect((await service.call('fileCopy', { from: 'b.pdf', path: 'open' })).status).toBe(403);
    expect((await service.call('fileCopy', { from: 'a.txt', path: 'open' })).status).toBe(200);
  });
});
