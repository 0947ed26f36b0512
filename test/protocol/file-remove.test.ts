import { describe, expect, it } from 'vitest';
import { startService } from './service.ts';

describe('fileRemove', () => {
  it('removes a file and nothing else', async () => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'sub/a.txt': 'a', 'sub/b.txt': 'b', 'a.txt': 'root' });
    const answer = await service.call('fileRemove', { path: '/sub', name: 'a.txt', source: 'files' });
    expect(answer.status).toBe(200);
    expect(answer.data).toEqual({ code: 220 });
    expect(await files.paths()).toEqual(['a.txt', 'sub/', 'sub/b.txt']);
    expect((await service.get('fileRemove', { name: 'a.txt' })).status).toBe(200);
    expect(await files.paths()).toEqual(['sub/', 'sub/b.txt']);
  });

  it('works on the named source alone', async () => {
    const service = await startService({ sources: { one: {}, two: {} } });
    await service.source('one').put({ 'a.txt': 'a' });
    await service.source('two').put({ 'a.txt': 'a' });
    expect((await service.call('fileRemove', { name: 'a.txt', source: 'two' })).status).toBe(200);
    expect(await service.source('one').paths()).toEqual(['a.txt']);
    expect(await service.source('two').paths()).toEqual([]);
  });

  it.each([
    ['no name', {}, 400],
    ['an empty name', { name: '' }, 400],
    ['a blank name', { name: '  ' }, 400],
    ['a name with a separator', { name: 'sub/b.txt' }, 400],
    ['a name with a backslash', { name: 'sub\\b.txt' }, 400],
    ['the folder itself', { path: 'sub', name: '.' }, 400],
    ['the folder above', { path: 'sub', name: '..' }, 400],
    ['a path out of the source', { path: '../', name: 'a.txt' }, 400],
    ['a folder', { name: 'sub' }, 400],
    ['an unknown file', { name: 'z.txt' }, 404],
    ['an unknown folder', { path: 'nowhere', name: 'a.txt' }, 404],
    ['an unknown source', { name: 'a.txt', source: 'nowhere' }, 404],
    ['a file below a file', { path: 'a.txt', name: 'b.txt' }, 404],
    ['a hidden folder', { path: '_thumbs', name: 'a.png' }, 404],
    ['an excluded name', { path: '.quarantine', name: 'a.txt' }, 404],
    ['a file of a type that is not shown', { name: 'id_rsa' }, 404],
  ])('refuses %s', async (_what, fields, status) => {
    const service = await startService();
    const files = service.source('files');
    await files.put({
      'a.txt': 'a',
      'sub/b.txt': 'b',
      '_thumbs/a.png': 't',
      '.quarantine/a.txt': 'q',
      id_rsa: 'key',
    });
    const before = await files.paths();
    const answer = await service.call('fileRemove', fields);
    expect(answer.status).toBe(status);
    expect(answer.data['code']).toBe(status);
    expect(answer.messages.length).toBeGreaterThan(0);
    expect(await files.paths()).toEqual(before);
  });

  it('obeys rules about paths and extensions, and does not tell what exists where it is denied', async () => {
    const service = await startService({
      accessControl: [
        { path: 'private', FILE_REMOVE: false },
        { extensions: ['pdf'], FILE_REMOVE: false },
      ],
    });
    const files = service.source('files');
    await files.put({ 'private/a.txt': 'a', 'private-2/a.txt': 'a', 'b.pdf': 'b' });
    expect((await service.call('fileRemove', { path: 'private', name: 'a.txt' })).status).toBe(403);
    expect((await service.call('fileRemove', { path: './private/.', name: 'missing.txt' })).status).toBe(403);
    expect((await service.call('fileRemove', { name: 'b.pdf' })).status).toBe(403);
    expect((await service.call('fileRemove', { path: 'private-2', name: 'a.txt' })).status).toBe(200);
    expect(await files.paths()).toEqual(['b.pdf', 'private-2/', 'private/', 'private/a.txt']);
  });
});
