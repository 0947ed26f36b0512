import { execFileSync } from 'node:child_process';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startService, type Answer, type Fields } from './service.ts';

interface Part {
  readonly name: string;
  readonly title: string;
  readonly baseurl: string;
  readonly path: string;
  readonly folders: readonly string[];
}

const parts = ({ status, data }: Answer): readonly Part[] => {
  expect(status).toBe(200);
  expect(Object.keys(data)).toEqual(['code', 'sources']);
  expect(data['code']).toBe(220);
  return data['sources'] as readonly Part[];
};

const names = (answer: Answer): readonly string[] => {
  const [part, ...rest] = parts(answer);
  expect(rest).toEqual([]);
  return part?.folders ?? [];
};

describe('folders', () => {
  it('lists the sub-folders by name, the dot first', async () => {
    const service = await startService();
    await service.source('files').put({
      'b/': '',
      'a/deep/': '',
      'B/': '',
      'ä/': '',
      '10/': '',
      '9/': '',
      'file.txt': '',
      'a/x.txt': '',
    });
    expect(parts(await service.call('folders'))).toEqual([
      {
        name: 'files',
        title: 'files',
        baseurl: 'https://files.example/files/',
        path: '/',
        folders: ['.', '10', '9', 'B', 'a', 'b', 'ä'],
      },
    ]);
    expect(parts(await service.call('folders', { path: '/a/' }))).toEqual([
      {
        name: 'files',
        title: 'files',
        baseurl: 'https://files.example/files/',
        path: 'a',
        folders: ['..', 'deep'],
      },
    ]);
  });

  it('leaves out the dots on request', async () => {
    const service = await startService();
    await service.source('files').put({ 'a/b/': '' });
    expect(names(await service.call('folders', { dots: 'false' }))).toEqual(['a']);
    expect(names(await service.call('folders', { dots: 'false', path: 'a' }))).toEqual(['b']);
    expect(names(await service.call('folders', { dots: 'false', path: 'a/b' }))).toEqual([]);
    for (const dots of ['true', '']) {
      expect(names(await service.call('folders', { dots }))).toEqual(['.', 'a']);
      expect(names(await service.call('folders', { dots, path: 'a/b' }))).toEqual(['..']);
    }
  });

  it.each([
    ['', '/', ['.', 'sub']],
    ['/', '/', ['.', 'sub']],
    ['/.', '/', ['.', 'sub']],
    ['sub/..', '/', ['.', 'sub']],
    ['sub', 'sub', ['..', 'deep']],
    ['/sub/', 'sub', ['..', 'deep']],
    ['sub/deep/../', 'sub', ['..', 'deep']],
    ['./sub//deep', 'sub/deep', ['..']],
  ])('reads the path %j', async (path, told, folders) => {
    const service = await startService();
    await service.source('files').put({ 'sub/deep/': '' });
    expect(parts(await service.call('folders', { path }))).toMatchObject([{ path: told, folders }]);
  });

  it('covers every source unless one is named', async () => {
    const service = await startService({ sources: { one: { title: 'First' }, two: { name: 'second' } } });
    await service.source('one').put({ 'both/x/': '', 'only/': '' });
    await service.source('two').put({ 'both/y/': '' });
    const all = parts(await service.call('folders', { path: 'both' }));
    expect(all.map(({ name, title, folders }) => [name, title, folders])).toEqual([
      ['one', 'First', ['..', 'x']],
      ['second', 'two', ['..', 'y']],
    ]);
    expect(names(await service.call('folders', { path: 'both', source: 'second' }))).toEqual(['..', 'y']);
    expect(names(await service.call('folders', { path: 'both', source: 'two' }))).toEqual(['..', 'y']);
    expect(names(await service.call('folders', { path: 'only', source: 'one' }))).toEqual(['..']);
    expect((await service.call('folders', { path: 'only' })).status).toBe(404);
    expect((await service.call('folders', { path: 'only', source: 'two' })).status).toBe(404);
    expect((await service.call('folders', { source: 'three' })).status).toBe(404);
    expect(parts(await service.call('folders', { source: 'default' }))).toHaveLength(2);
  });

  it('has nothing to list where there is no source', async () => {
    const service = await startService({ sources: {} });
    expect(parts(await service.call('folders'))).toEqual([]);
    expect((await service.call('folders', { source: 'any' })).status).toBe(404);
  });

  it('hides reserved names, links and pipes, and does not enter them', async () => {
    const service = await startService({ excludeDirectoryNames: ['.tmb', 'Secret'] });
    const files = service.source('files');
    await files.put({ '_thumbs/x/': '', '.tmb/': '', 'SECRET/x/': '', 'shown/': '', '.quarantine/': '' });
    await symlink(join(files.root, 'shown'), join(files.root, 'link'));
    await symlink('/', join(files.root, 'rootlink'));
    execFileSync('mkfifo', [join(files.root, 'pipe')]);
    expect(names(await service.call('folders'))).toEqual(['.', '.quarantine', 'shown']);
    for (const path of [
      '_thumbs',
      '_THUMBS',
      '_thumbs/x',
      'secret',
      'SECRET/x',
      '.tmb',
      'link',
      'rootlink',
      'rootlink/etc',
    ]) {
      expect((await service.call('folders', { path })).status, path).toBe(404);
    }
  });

  it('shows the thumbnail folder like any other when thumbnails are off', async () => {
    const service = await startService({ createThumb: false });
    await service.source('files').put({ '_thumbs/x/': '' });
    expect(names(await service.call('folders'))).toEqual(['.', '_thumbs']);
    expect(names(await service.call('folders', { path: '_thumbs' }))).toEqual(['..', 'x']);
  });

  it('obeys the access rules folder by folder', async () => {
    const service = await startService({
      accessControl: [
        { path: '/closed', FOLDERS: false },
        { path: '/a/b', FOLDERS: false },
        { path: '/filesonly', FILES: false },
      ],
    });
    await service
      .source('files')
      .put({ 'closed/x/': '', 'closed-2/': '', 'a/b/': '', 'a/c/': '', 'filesonly/': '' });
    expect(names(await service.call('folders'))).toEqual(['.', 'a', 'closed-2', 'filesonly']);
    expect(names(await service.call('folders', { path: 'a' }))).toEqual(['..', 'c']);
    expect(names(await service.call('folders', { path: 'filesonly' }))).toEqual(['..']);
    for (const path of ['closed', '/closed/', 'closed/x', './a/../closed', 'closed/none']) {
      const { status, data } = await service.call('folders', { path });
      expect([status, data['code']], path).toEqual([403, 403]);
    }
    const everywhere = await startService({ accessControl: [{ FOLDERS: false }] });
    expect((await everywhere.call('folders')).status).toBe(403);
  });

  it.each<[Fields, number, RegExp]>([
    [{ dots: 'maybe' }, 400, /^dots: /u],
    [{ dots: '2' }, 400, /^dots: /u],
    [{ path: '../x' }, 400, /^The path /u],
    [{ path: 'a/../../x' }, 400, /^The path /u],
    [{ path: 'a\\..\\x' }, 400, /^The path /u],
    [{ path: 'a\u0000' }, 400, /^The path /u],
    [{ path: 'x'.repeat(256) }, 400, /^The path /u],
    [{ path: 'none' }, 404, /./u],
    [{ path: 'file.txt' }, 404, /./u],
    [{ path: 'file.txt/x' }, 404, /./u],
  ])('refuses %j', async (fields, status, message) => {
    const service = await startService();
    await service.source('files').put({ 'file.txt': '', 'a/': '' });
    const answer = await service.call('folders', fields);
    expect([answer.status, answer.success, answer.data['code']]).toEqual([status, false, status]);
    expect(answer.messages).toHaveLength(1);
    expect(answer.messages[0]).toMatch(message);
    expect(JSON.stringify(answer.data)).not.toContain(service.outside.root);
  });
});
