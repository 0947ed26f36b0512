import { symlink, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type AccessRule, createRouter } from 'stowage';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MemoryAdapter } from '#internals';
import { put } from '../pictures/gallery.ts';
import { replacing } from '../protocol/changing-store.ts';
import { silent, startService, type Fields, type Service } from '../protocol/service.ts';

const SECRET = 'the canary sings';

/** A root with a little of everything, links that lead out of it, and secrets beside it. */
const startBaited = async (): Promise<Service> => {
  const service = await startService();
  await service.outside.put({
    'secret.txt': SECRET,
    'beside/secret.txt': SECRET,
  });
  const files = service.source('files');
  await files.put({ 'a.txt': 'a', 'dir/b.txt': 'b', 'target/': '' });
  await symlink(service.outside.root, join(files.root, 'link'));
  await symlink(join(service.outside.root, 'secret.txt'), join(files.root, 'link.txt'));
  await symlink(join(service.outside.root, 'nothing.txt'), join(files.root, 'dangling.txt'));
  return service;
};

/** Values that try to leave the root, or to break whoever reads them. */
const traversals = (service: Service): readonly string[] => [
  '..',
  '../secret.txt',
  '../beside',
  '../../etc/passwd',
  'dir/../../secret.txt',
  'dir/../../beside',
  '/../secret.txt',
  '/etc/passwd',
  `${service.outside.root}/secret.txt`,
  `${service.source('files').root}//..//secret.txt`,
  '..\\secret.txt',
  'dir\\..\\..\\secret.txt',
  'C:\\Windows\\win.ini',
  '%2e%2e%2fsecret.txt',
  '%252e%252e%252fsecret.txt',
  '..%5csecret.txt',
  '....//secret.txt',
  '．．/secret.txt',
  '．．／secret.txt',
  '‥/secret.txt',
  '\u0000',
  'a.txt\u0000.png',
  'secret.txt\u0000',
  'a.txt\n',
  'a.txt::$DATA',
  '\u202etxt.a',
  'link',
  'link/secret.txt',
  'link/beside',
  'link/new',
  'link.txt',
  'dangling.txt',
  'file:///etc/passwd',
  'x'.repeat(5000),
  'x/'.repeat(1500),
  '../'.repeat(500),
];

/** Every parameter of every action that leads to a place, beside others that are fine. */
const places: readonly (readonly [action: string, parameter: string, others: Fields])[] = [
  ['files', 'path', {}],
  ['folders', 'path', {}],
  ['fileRemove', 'name', {}],
  ['fileRemove', 'path', { name: 'secret.txt' }],
  ['fileMove', 'from', { path: 'target' }],
  ['fileMove', 'path', { from: 'a.txt' }],
  ['fileCopy', 'from', { path: 'target' }],
  ['fileCopy', 'path', { from: 'a.txt' }],
  ['fileRename', 'name', { newname: 'x' }],
  ['fileRename', 'path', { name: 'secret.txt', newname: 'x' }],
  ['fileDownload', 'name', {}],
  ['fileDownload', 'path', { name: 'secret.txt' }],
  ['folderCreate', 'path', { name: 'x' }],
  ['folderRemove', 'name', {}],
  ['folderRemove', 'path', { name: 'beside' }],
  ['folderMove', 'from', { path: 'target' }],
  ['folderMove', 'path', { from: 'dir' }],
  ['folderCopy', 'from', { path: 'target' }],
  ['folderCopy', 'path', { from: 'dir' }],
  ['folderRename', 'name', { newname: 'x' }],
  ['folderRename', 'path', { name: 'beside', newname: 'x' }],
  ['getLocalFileByUrl', 'url', {}],
];

/**
 * Every parameter whose value becomes a name: it is cleaned, so success is fine as long as it stays inside.
 */
const names: readonly (readonly [action: string, parameter: string, others: Fields])[] = [
  ['folderCreate', 'name', {}],
  ['fileRename', 'newname', { name: 'a.txt' }],
  ['folderRename', 'newname', { name: 'dir' }],
];

const send = async (
  service: Service,
  action: string,
  fields: Fields,
  by: 'POST' | 'GET',
): Promise<{ status: number; text: string }> => {
  const body = new URLSearchParams(fields);
  const response = await (by === 'POST'
    ? fetch(`${service.url}/${action}`, { method: 'POST', body })
    : fetch(`${service.url}/?action=${action}&${body.toString()}`));
  return { status: response.status, text: await response.text() };
};

const expectDiscreet = (service: Service, { text }: { text: string }, what: string): void => {
  expect(text, what).not.toContain(SECRET);
  expect(text, what).not.toContain(service.outside.root);
  expect(text, what).not.toMatch(/\bat .+:\d+:\d+|node_modules|ENOENT|EINVAL/u);
};

/** Everything beside the root. */
const beside = async (service: Service): Promise<string[]> =>
  (await service.outside.paths()).filter((path) => !path.startsWith('files/'));

describe('values that try to leave the root', () => {
  it.each(places)('%s refuses them in %s and touches nothing', async (action, parameter, others) => {
    const service = await startBaited();
    const before = await service.outside.paths();
    for (const value of traversals(service)) {
      const what = `${action} ${parameter}=${JSON.stringify(value).slice(0, 60)}`;
      const answer = await send(service, action, { ...others, [parameter]: value }, 'POST');
      expect(answer.status, what).toBeGreaterThanOrEqual(400);
      expect(answer.status, what).toBeLessThan(500);
      expect(JSON.parse(answer.text), what).toMatchObject({
        success: false,
        data: { code: answer.status },
      });
      expectDiscreet(service, answer, what);
    }
    expect(await service.outside.paths()).toEqual(before);
    expect(await service.outside.text('secret.txt')).toBe(SECRET);
  });

  it.each(names)('%s makes harmless names of them in %s', async (action, parameter, others) => {
    const service = await startBaited();
    const before = await beside(service);
    for (const value of traversals(service)) {
      const what = `${action} ${parameter}=${JSON.stringify(value).slice(0, 60)}`;
      await service.source('files').put({ 'a.txt': 'a', 'dir/': '' });
      const answer = await send(service, action, { ...others, [parameter]: value }, 'GET');
      expect([200, 400, 403], what).toContain(answer.status);
      expectDiscreet(service, answer, what);
    }
    expect(await beside(service)).toEqual(before);
    expect(await service.outside.text('secret.txt')).toBe(SECRET);
  });

  it('fileUpload stores under the last part of a name, inside, and never through a link', async () => {
    const service = await startBaited();
    const before = await beside(service);
    for (const value of traversals(service)) {
      const named = await service.upload([['files[0]', `${value}.txt`, 'x']]);
      expect([200, 400, 403], value.slice(0, 60)).toContain(named.status);
      const placed = await service.upload([['files[0]', 'secret.txt', 'x']], {
        path: value,
      });
      expect(placed.status, value.slice(0, 60)).toBeGreaterThanOrEqual(400);
      expect(placed.status, value.slice(0, 60)).toBeLessThan(500);
    }
    const over = await service.upload([['files[0]', 'dangling.txt', 'x']]);
    expect(over.data['files']).toEqual(['dangling-1.txt']);
    expect(await beside(service)).toEqual(before);
    expect(await service.outside.text('secret.txt')).toBe(SECRET);
  });

  it('an upload that replaces puts nothing behind a link', async () => {
    const service = await startService({ saveSameFileNameStrategy: 'replace' });
    await service.outside.put({ 'secret.txt': SECRET });
    const link = join(service.source('files').root, 'link.txt');
    await symlink(join(service.outside.root, 'secret.txt'), link);
    const { status } = await service.upload([['files[0]', 'link.txt', 'x']]);
    expect([200, 400, 404]).toContain(status);
    expect(await service.outside.text('secret.txt')).toBe(SECRET);
    await unlink(link);
  });

  it('a source is not chosen by a path', async () => {
    const service = await startBaited();
    for (const source of ['../files', 'files/../files', '/', '..', '__proto__', 'constructor', 'toString']) {
      expect((await service.call('files', { source })).status, source).toBe(404);
    }
  });
});

describe('denied places', () => {
  const spellings = [
    'private',
    './private',
    '/private/',
    '//private',
    '/private/.',
    'open/../private',
    'private//',
    'open/.././private',
  ];

  /** @see https://github.com/xdan/jodit-nodejs/blob/main/CHANGELOG.md */
  it.each(spellings)('stay denied when spelt %s', async (path) => {
    const service = await startService({
      accessControl: [
        {
          path: '/private',
          FILE_REMOVE: false,
          FILE_RENAME: false,
          FILE_UPLOAD: false,
          FOLDER_CREATE: false,
        },
      ],
    });
    const files = service.source('files');
    await files.put({ 'private/a.txt': 'a', 'open/': '' });
    const before = await files.paths();
    expect((await service.call('fileRemove', { path, name: 'a.txt' })).status).toBe(403);
    expect((await service.call('fileRename', { path, name: 'a.txt', newname: 'b' })).status).toBe(403);
    expect((await service.call('folderCreate', { path, name: 'b' })).status).toBe(403);
    expect((await service.upload([['files[0]', 'b.txt', 'b']], { path })).status).toBe(403);
    expect(await files.paths()).toEqual(before);
  });

  it('are judged for the role of the request', async () => {
    const service = await startService(
      {
        accessControl: [{ FILE_REMOVE: false }, { role: 'editor', FILE_REMOVE: true }],
      },
      {
        checkAuthentication: (request) => request.headers['x-role'] ?? 'guest',
      },
    );
    await service.source('files').put({ 'a.txt': 'a' });
    const remove = (role: string): Promise<Response> =>
      fetch(`${service.url}/fileRemove?name=a.txt`, {
        headers: { 'x-role': role },
      });
    expect((await remove('guest')).status).toBe(403);
    expect((await remove('Editor')).status).toBe(403);
    expect((await remove('editor')).status).toBe(200);
  });

  it('deny before parameters are looked at', async () => {
    const service = await startService({
      accessControl: [{ FILE_MOVE: false, FOLDER_CREATE: false, FILE_UPLOAD: false }],
    });
    expect((await service.call('fileMove')).status).toBe(403);
    expect((await service.call('folderCreate', { name: '' })).status).toBe(403);
    expect((await service.upload([['files[0]', 'a.exe', 'x']])).status).toBe(403);
  });

  it.each([
    ['fileMove', { from: 'a.txt', path: 'closed' }],
    ['fileCopy', { from: 'a.txt', path: 'closed' }],
    ['fileRename', { path: 'closed', name: 'a.md', newname: 'b.md' }],
  ])('keep what rules about single files deny there from coming: %s', async (action, fields) => {
    const key = action.replace('file', 'FILE_').toUpperCase();
    const denied = (rule: object): AccessRule => ({ ...rule, [key]: false });
    const service = await startService({
      extensions: ['txt', 'md'],
      accessControl: [denied({ path: '/closed', extensions: 'txt' }), denied({ path: '/closed/b.md' })],
    });
    await service.source('files').put({ 'a.txt': 'a', 'closed/a.md': 'a' });
    const before = await service.source('files').paths();
    expect((await service.call(action, fields)).status).toBe(403);
    expect(await service.source('files').paths()).toEqual(before);
  });

  it('judges what a folder holds where it goes, also under a shorter name', async () => {
    const service = await startService({
      accessControl: [{ path: '/a/x', FOLDER_RENAME: false, FOLDER_MOVE: false }],
    });
    await service.source('files').put({ 'long/x/b.txt': 'b', 'in/a/x/c.txt': 'c' });
    const before = await service.source('files').paths();
    expect((await service.call('folderRename', { name: 'long', newname: 'a' })).status).toBe(403);
    expect((await service.call('folderMove', { from: 'in/a', path: '' })).status).toBe(403);
    expect(await service.source('files').paths()).toEqual(before);
  });

  it('do not open when a renamed parent is a neighbour by its letters', async () => {
    const service = await startService({
      accessControl: [{ path: '/dir/private', FOLDER_RENAME: false, FOLDER_MOVE: false }],
    });
    const files = service.source('files');
    await files.put({ 'dir/private-2/a.txt': 'a', 'target/': '' });
    expect((await service.call('folderRename', { name: 'dir', newname: 'new' })).status).toBe(200);
    expect(await files.paths()).toEqual(['new/', 'new/private-2/', 'new/private-2/a.txt', 'target/']);
  });
});

/** The key follows what the item really is, also where the other key is denied to everybody. */
describe('actions for files and folders', () => {
  it.each([
    ['fileMove', { FILE_MOVE: false }, 'folder'],
    ['folderMove', { FILE_MOVE: false }, 'folder'],
    ['fileMove', { FOLDER_MOVE: false }, 'file'],
    ['folderMove', { FOLDER_MOVE: false }, 'file'],
    ['fileRename', { FILE_RENAME: false }, 'folder'],
    ['fileRename', { FOLDER_RENAME: false }, 'file'],
  ])('%s under %j works for a %s, and for nothing else', async (action, rule, allowed) => {
    const service = await startService({ accessControl: [rule] });
    await service.source('files').put({ 'file.txt': 'a', 'folder/': '', 'to/': '' });
    const names = { file: 'file.txt', folder: 'folder' };
    for (const [kind, name] of Object.entries(names)) {
      const fields = action === 'fileRename' ? { name, newname: `new-${kind}` } : { from: name, path: 'to' };
      const { status } = await service.call(action, fields);
      expect([kind, status]).toEqual([kind, kind === allowed ? 200 : 403]);
    }
  });
});

it('denies before it says what is missing, by the key that the name of the action promises', async () => {
  const service = await startService({
    accessControl: [{ FILE_RENAME: false }],
  });
  await service.source('files').put({ 'a.txt': 'a' });
  expect((await service.call('fileRename', { name: 'a.txt' })).status).toBe(403);
  expect((await service.call('folderRename', { name: 'a.txt' })).status).toBe(400);
});

describe.each([
  ['READ', { READ: false }],
  ['FILES and FOLDERS', { FILES: false, FOLDERS: false }],
  ['FILE_DOWNLOAD', { FILE_DOWNLOAD: false }],
])('what %s hides from a role', (_, denied) => {
  const hidden = { path: '/d/secret', ...denied };

  it.each<readonly [action: string, fields: Fields]>([
    ['folderCopy', { from: 'd', path: 'to' }],
    ['folderMove', { from: 'd', path: 'to' }],
    ['folderCopy', { from: 'd', source: 'other', path: 'to' }],
    ['folderMove', { from: 'd', source: 'other', path: 'to' }],
    ['folderRename', { name: 'd', newname: 'e' }],
    ['fileCopy', { from: 'd/secret/x.txt', path: 'to' }],
    ['fileMove', { from: 'd/secret/x.txt', path: 'to' }],
    ['folderCopy', { from: 'd/secret', path: 'to' }],
  ])('%s %j does not carry to where the role sees it', async (action, fields) => {
    const service = await startService({
      accessControl: [hidden],
      sources: { files: {}, other: {} },
    });
    const [files, other] = [service.source('files'), service.source('other')];
    await files.put({ 'd/secret/x.txt': SECRET, 'd/y.txt': 'y', 'to/': '' });
    await other.put({ 'to/': '' });
    const from = fields['source'] === undefined ? {} : { fromSource: 'files' };
    expect((await service.call(action, { ...fields, ...from })).status).toBe(403);
    expect(await files.paths()).toEqual(['d/', 'd/secret/', 'd/secret/x.txt', 'd/y.txt', 'to/']);
    expect(await other.paths()).toEqual(['to/']);
  });

  it('may move where it is hidden too, beside what the role sees', async () => {
    const rules = [hidden, { path: '/to', ...denied }];
    const service = await startService({
      accessControl: rules,
      sources: { files: {} },
    });
    const files = service.source('files');
    await files.put({ 'd/secret/x.txt': SECRET, 'd/y.txt': 'y', 'to/': '' });
    expect((await service.call('folderCopy', { from: 'd', path: 'to' })).status).toBe(200);
    expect((await service.call('fileMove', { from: 'd/y.txt' })).status).toBe(200);
    expect(await files.paths()).toContain('to/d/secret/x.txt');
    expect(await files.paths()).toContain('y.txt');
  });
});

it.each([
  ['fileRemove', 'd/secret', 'x.txt'],
  ['folderRemove', 'd', 'secret'],
  ['folderRemove', '', 'd'],
])(
  '%s in %j and a restore elsewhere do not let a role download what it could not',
  async (action, path, name) => {
    const accessControl = [{ path: '/d/secret', FILE_DOWNLOAD: false }];
    const service = await startService({ accessControl, trash: {} });
    await service.source('files').put({ 'd/secret/x.txt': SECRET, 'to/': '' });
    await service.call(action, { path, name });
    const { items } = (await service.call('trashList')).data as {
      items: readonly { id: string }[];
    };
    const id = items[0]?.id ?? '';
    expect((await service.call('trashRestore', { id, path: 'to' })).status).toBe(403);
    expect((await service.call('trashRestore', { id })).status).toBe(200);
    expect(await service.source('files').text('d/secret/x.txt')).toBe(SECRET);
  },
);

it.each<readonly [AccessRule[], number]>([
  [[{ FILE_DOWNLOAD: false }], 0],
  [[{ READ: false }, { path: '/home', READ: true }], 0],
  [[{ extensions: 'pdf', FILES: false }], 0],
  [[{ path: '/home/abc/secret', FILES: false }], 2],
])(
  'with %j reads %i folders to rename one: only where its contents may become visible',
  async (rules, read) => {
    const inner = new MemoryAdapter();
    await put(inner, 'home/abc/secret/x.txt', 'x');
    let listings = 0;
    const store = replacing(inner, {
      list: (...given) => {
        listings += 1;
        return inner.list(...given);
      },
    });
    const files = {
      title: 'Files',
      baseurl: 'https://files.example/',
      storageAdapter: 'own',
      createThumb: false,
    };
    const router = createRouter(
      { accessControl: rules, sources: { files } },
      {},
      { logger: silent, storageAdapters: { own: { create: () => store } } },
    );
    onTestFinished(() => router.close());
    const url = 'https://site.test/folderRename?path=home&name=abc&newname=def';
    expect((await router.fetch(new Request(url))).status).toBe(read === 0 ? 200 : 403);
    expect(listings).toBe(read);
  },
);
