import { describe, expect, it } from 'vitest';
import { startService } from './service.ts';

describe('folderCreate', () => {
  it.each([
    ['new', 'new'],
    ['My pictures', 'My pictures'],
    ['תמונות', 'תמונות'],
    ['a<b>c:d"e|f?g*h', 'a_b_c_d_e_f_g_h'],
    ['a/b', 'a_b'],
    ['../evil', '.._evil'],
    ['C:\\evil', 'C__evil'],
    ['..', '_'],
    ['#1 100%', '_1 100_'],
    ['nul\u0000byte', 'nul_byte'],
    ['CON', '_'],
  ])('creates «%s» as %s', async (name, expected) => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'sub/': '' });
    const answer = await service.call('folderCreate', { path: 'sub', name });
    expect(answer.status).toBe(200);
    expect(answer.data).toEqual({ code: 220, messages: [expect.stringContaining(expected)] });
    expect(await files.paths()).toEqual(['sub/', `sub/${expected}/`]);
    expect(await service.outside.paths()).toEqual(['files/', 'files/sub/', `files/sub/${expected}/`]);
  });

  it('creates in the root when no path is given', async () => {
    const service = await startService({ sources: { one: {}, two: {} } });
    expect((await service.get('folderCreate', { name: 'a' })).status).toBe(200);
    expect((await service.call('folderCreate', { name: 'b', path: '/', source: 'two' })).status).toBe(200);
    expect(await service.source('one').paths()).toEqual(['a/']);
    expect(await service.source('two').paths()).toEqual(['b/']);
  });

  it.each([
    ['no name', {}, 400],
    ['a blank name', { name: '  ' }, 400],
    ['an invisible name', { name: '\u200b' }, 400],
    ['an existing folder', { name: 'dir' }, 400],
    ['the name of a file', { name: 'a.txt' }, 400],
    ['the thumbnail folder', { name: '_thumbs' }, 400],
    ['an excluded name in other letters', { name: '.Quarantine' }, 400],
    ['a path out of the source', { path: '..', name: 'x' }, 400],
    ['an unknown path', { path: 'nowhere', name: 'x' }, 404],
    ['a file as path', { path: 'a.txt', name: 'x' }, 404],
    ['a hidden path', { path: '_thumbs', name: 'x' }, 404],
    ['an unknown source', { name: 'x', source: 'nowhere' }, 404],
  ])('refuses %s', async (_what, fields, status) => {
    const service = await startService();
    const files = service.source('files');
    await files.put({ 'dir/': '', 'a.txt': 'a', '_thumbs/': '' });
    const answer = await service.call('folderCreate', fields);
    expect(answer.status).toBe(status);
    expect(answer.messages.length).toBeGreaterThan(0);
    expect(await files.paths()).toEqual(['_thumbs/', 'a.txt', 'dir/']);
  });

  it('obeys rules about the new folder', async () => {
    const service = await startService({
      accessControl: [
        { path: '/closed', FOLDER_CREATE: false },
        { path: '/open/taboo', FOLDER_CREATE: false },
      ],
    });
    await service.source('files').put({ 'closed/': '', 'open/': '' });
    expect((await service.call('folderCreate', { path: 'closed', name: 'x' })).status).toBe(403);
    expect((await service.call('folderCreate', { path: 'open', name: 'taboo' })).status).toBe(403);
    expect((await service.call('folderCreate', { path: 'open', name: 'taboo-2' })).status).toBe(200);
  });
});
