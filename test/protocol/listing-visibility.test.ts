import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { utimesSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mostly } from '../before-release.ts';
import { startService, type Fields, type Service } from './service.ts';

interface Item {
  readonly name: string;
  readonly type: string;
  readonly thumb?: string;
}

const itemsOf = async (service: Service, fields: Fields = {}): Promise<readonly Item[]> => {
  const { status, data } = await service.call('files', {
    'mods[sortBy]': 'name-asc',
    'mods[withFolders]': 'true',
    ...fields,
  });
  expect(status).toBe(200);
  const [part] = data['sources'] as readonly { readonly files: readonly Item[] }[];
  return part?.files ?? [];
};

const list = async (service: Service, fields: Fields = {}): Promise<readonly string[]> =>
  (await itemsOf(service, fields)).map(({ name }) => name);

/** Whether reading a file here shows in its access time. */
const showsReading = async (): Promise<boolean> => {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-atime-'));
  const file = join(folder, 'probe');
  await writeFile(file, 'x');
  await utimes(file, new Date('2020-01-01'), new Date('2020-01-02'));
  await readFile(file);
  const { atimeMs } = await stat(file);
  await rm(folder, { recursive: true });
  return atimeMs > new Date('2020-01-01').getTime();
};

const readingShows = await showsReading();

describe('what a listing shows', () => {
  it('leaves out files of other extensions, whatever their case', async () => {
    const service = await startService({ extensions: ['txt', 'JPG'], createThumb: false });
    await service.source('files').put({
      'a.txt': '',
      'B.TXT': '',
      'c.jpg': '',
      'd.exe': '',
      e: '',
      'f.': '',
      '.txt': '',
      '.htaccess': '',
      'g.txt.exe': '',
      'h.exe.txt': '',
      'folder.exe/': '',
    });
    expect(await list(service)).toEqual(['B.TXT', 'a.txt', 'c.jpg', 'folder.exe', 'h.exe.txt']);
  });

  it('hides reserved names of files and folders and does not enter them', async () => {
    const service = await startService({ excludeDirectoryNames: ['.tmb', 'secret', 'secret.txt'] });
    await service.source('files').put({
      '_thumbs/a.txt': '',
      '.tmb/a.txt': '',
      'Secret/a.txt': '',
      'SECRET.txt': '',
      'secret-2.txt': '',
      'sub/secret/a.txt': '',
      'sub/_Thumbs/a.txt': '',
      '.quarantine/a.txt': '',
    });
    expect(await list(service)).toEqual(['.quarantine', 'secret-2.txt', 'sub']);
    expect(await list(service, { path: 'sub' })).toEqual([]);
    expect(await list(service, { 'mods[filterWord]': 'secret' })).toEqual(['secret-2.txt']);
    for (const path of [
      '_thumbs',
      '_THUMBS',
      'secret',
      'Secret/',
      'SECRET.txt',
      'sub/secret',
      'sub/_Thumbs',
      'sub/../.tmb',
    ]) {
      const { status, data } = await service.call('files', { path });
      expect([status, data['code']], path).toEqual([404, 404]);
    }
  });

  it('shows the thumbnail folder like any other when thumbnails are off', async () => {
    const service = await startService({ createThumb: false, thumbFolderName: 'small' });
    await service.source('files').put({ 'small/a.txt': '', '.tmb/x.txt': '' });
    expect(await list(service)).toEqual(['small']);
    expect(await list(service, { path: 'small' })).toEqual(['a.txt']);
  });

  it('skips links, pipes and sockets and does not go through them', async () => {
    const service = await startService({ createThumb: false });
    const { root } = service.source('files');
    await service.source('files').put({ 'real.txt': 'x', 'real/inner.txt': '' });
    await service.outside.put({ 'outside/secret.txt': '' });
    await symlink(join(root, 'real.txt'), join(root, 'link.txt'));
    await symlink('real', join(root, 'linked'));
    await symlink('../outside', join(root, 'away'));
    await symlink('nowhere.txt', join(root, 'dangling.txt'));
    execFileSync('mkfifo', [join(root, 'pipe.txt')]);
    const socket = createServer().listen(join(root, 'socket.txt'));
    await once(socket, 'listening');
    try {
      expect(await list(service)).toEqual(['real', 'real.txt']);
      expect(await list(service, { 'mods[limit]': '10' })).toEqual(['real', 'real.txt']);
      expect(await list(service, { 'mods[sortBy]': 'changed-asc' })).toHaveLength(2);
      for (const path of ['linked', 'away', 'linked/..//away', 'dangling.txt', 'pipe.txt', 'socket.txt']) {
        expect((await service.call('files', { path })).status, path).toBe(404);
      }
    } finally {
      socket.close();
    }
  });

  it('obeys the access rules item by item', async () => {
    const service = await startService(
      {
        createThumb: false,
        accessControl: [
          { extensions: 'zip, html', FILES: false },
          { path: '/closed', FILES: false },
          { path: '/treeless', FOLDERS: false },
          { path: '/mixed/one.txt', FILES: false },
          { role: 'editor', extensions: ['zip'], FILES: true },
          { role: 'editor', path: 'closed', FILES: true },
        ],
      },
      { checkAuthentication: async (request) => request.headers['x-role'] ?? 'guest' },
    );
    await service.source('files').put({
      'a.ZIP': '',
      'b.html': '',
      'c.txt': '',
      'closed/d.txt': '',
      'closed-2/d.txt': '',
      'treeless/d.txt': '',
      'mixed/one.txt': '',
      'mixed/two.txt': '',
    });
    expect(await list(service)).toEqual(['c.txt', 'closed-2', 'mixed']);
    expect(await list(service, { path: 'mixed' })).toEqual(['two.txt']);
    expect(await list(service, { path: 'treeless' })).toEqual(['d.txt']);
    for (const path of ['closed', '/closed/', './mixed/../closed', 'closed/none']) {
      expect((await service.call('files', { path, 'mods[limit]': 'x' })).status, path).toBe(403);
    }
    const response = await fetch(`${service.url}/files?mods[sortBy]=name-asc&mods[withFolders]=true`, {
      headers: { 'x-role': 'editor' },
    });
    const { data } = (await response.json()) as { data: { sources: { files: Item[] }[] } };
    expect(data.sources[0]?.files.map(({ name }) => name)).toEqual([
      'a.ZIP',
      'c.txt',
      'closed',
      'closed-2',
      'mixed',
    ]);
  });

  it.each([{ FOLDERS: false }, { path: '/', FOLDERS: false }, { path: '/tree', FOLDERS: false }])(
    'shows no folders where a rule denies them: %j',
    async (rule) => {
      const service = await startService({ createThumb: false, accessControl: [rule] });
      await service.source('files').put({ 'a.txt': '', 'tree/inner/b.txt': '' });
      expect(await list(service)).toEqual(['a.txt']);
      expect(await list(service, { path: 'tree' })).toEqual([]);
      expect(await list(service, { path: 'tree/inner' })).toEqual(['b.txt']);
    },
  );

  it('counts only what it shows for its pages', async () => {
    const service = await startService({
      createThumb: false,
      accessControl: [{ path: '/b.txt', FILES: false }],
    });
    await service
      .source('files')
      .put({ 'a.txt': '', 'b.txt': '', 'c.exe': '', 'd.txt': '', '_x.txt': '', 'e.txt': '' });
    expect(await list(service, { 'mods[limit]': '2', 'mods[offset]': '1' })).toEqual(['a.txt', 'd.txt']);
  });

  it('lists a deep folder even where rules cannot speak of its longest names', async () => {
    const service = await startService({
      createThumb: false,
      accessControl: [{ path: '0'.repeat(250), extensions: 'exe', FILES: false }],
    });
    const path = Array.from({ length: 8 }, (_, index) => String(index).repeat(250)).join('/');
    await service
      .source('files')
      .put({ [`${path}/short.txt`]: '', [`${path}/${'long'.repeat(25)}.txt`]: '' });
    expect(await list(service, { path })).toEqual(['short.txt']);
  });

  it('keeps names that only look alike apart', async () => {
    const service = await startService({ createThumb: false });
    const names = [
      '<img src=x>.txt',
      'a&amp;b.txt',
      '"quoted".txt',
      '日本語.txt',
      '😀.txt',
      "it's.txt",
      ' lead.txt',
    ];
    for (const name of names) await writeFile(join(service.source('files').root, name), '');
    expect(await list(service)).toEqual([...names].sort());
  });
});

describe('a listing opens no file', () => {
  const names = ['a.txt', 'b.zip', 'c.png', 'd.svg', 'e.webp'];

  it.skipIf(!readingShows)(
    '(file systems that keep access times) leaves every access time as it is',
    async () => {
      // Thumbnails are made again after any change of a file, and setting times is one.
      const service = await startService({ createThumb: false });
      const { root } = service.source('files');
      for (const name of names) {
        await writeFile(join(root, name), name);
      }
      const old = async (): Promise<void> => {
        // Older than the modification time, so that the next reading would show even where access times are
        // kept lazily.
        for (const name of names)
          await utimes(join(root, name), new Date('2020-01-01'), new Date('2020-01-02'));
      };
      await old();
      for (const sortBy of ['name-asc', 'changed-desc', 'size-asc']) {
        expect(await list(service, { 'mods[sortBy]': sortBy })).toHaveLength(names.length);
        expect(await list(service, { 'mods[sortBy]': sortBy, 'mods[limit]': '3' })).toHaveLength(3);
      }
      for (const name of names) {
        expect((await stat(join(root, name))).atimeMs, name).toBe(new Date('2020-01-01').getTime());
      }
    },
  );

  it('lists files that it could not read', async () => {
    const service = await startService();
    const { root } = service.source('files');
    await service.source('files').put({ 'a.txt': 'x', 'b.zip': 'x' });
    await chmod(join(root, 'a.txt'), 0);
    await chmod(join(root, 'b.zip'), 0);
    expect(await list(service)).toEqual(['a.txt', 'b.zip']);
    expect(await list(service, { 'mods[sortBy]': 'size-asc' })).toEqual(['a.txt', 'b.zip']);
  });
});

describe('a big folder', () => {
  const COUNT = 5000;

  let root = '';

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'stowage-big-'));
    for (let index = 0; index < COUNT; index += 1) {
      const path = join(root, `${String((index * 7919) % COUNT)}.txt`);
      writeFileSync(path, 'x'.repeat(index % 50));
      // Many equal times, so that the order of equals shows.
      utimesSync(path, 1_700_000_000, 1_700_000_000 + (index % 100));
    }
  });

  afterAll(() => rm(root, { recursive: true, force: true }));

  const serveIt = (): Promise<Service> => startService({ createThumb: false, sources: { files: { root } } });

  it('gives the same whole in one and in many pages, in every order', async () => {
    const service = await serveIt();
    for (const sortBy of mostly(2, ['name-desc', 'changed-desc', 'name-asc', 'size-asc'])) {
      const order = { 'mods[sortBy]': sortBy };
      const whole = await itemsOf(service, order);
      expect(new Set(whole.map(({ name }) => name)).size).toBe(COUNT);
      const paged: Item[] = [];
      for (let offset = 0; offset < COUNT; offset += 900) {
        paged.push(
          ...(await itemsOf(service, { ...order, 'mods[offset]': String(offset), 'mods[limit]': '900' })),
        );
      }
      expect(paged).toEqual(whole);
    }
  });

  it('serves many listings at once, and goes on when clients leave', async () => {
    const service = await serveIt();
    const url = `${service.url}/files?mods[sortBy]=name-asc`;
    const leavers = Array.from({ length: 10 }, async (_, index) => {
      const leaving = get(url, (response) => response.resume()).on('error', () => undefined);
      await delay(index * 3);
      leaving.destroy();
    });
    const stayers = Array.from({ length: 4 }, async () => (await fetch(url)).text());
    const bodies = new Set(await Promise.all(stayers));
    await Promise.all(leavers);
    expect(bodies.size).toBe(1);
    expect(await list(service, { 'mods[limit]': '1' })).toEqual(['0.txt']);
  });

  it('stays whole while files come and go', async () => {
    const service = await serveIt();
    let isOver = false;
    const stir = (async () => {
      for (let index = 0; !isOver; index += 1) {
        await rename(join(root, '0.txt'), join(root, 'zero.txt'));
        await rename(join(root, 'zero.txt'), join(root, '0.txt'));
      }
    })();
    for (let round = 0; round < 5; round += 1) {
      const names = await list(service);
      expect(names.filter((name) => name !== '0.txt' && name !== 'zero.txt')).toHaveLength(COUNT - 1);
    }
    isOver = true;
    await stir;
  });
});
