import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRouter, HttpError, registerStorageAdapter, type Router } from 'stowage';
import { expect, it, onTestFinished } from 'vitest';
import { MemoryAdapter } from '#internals';
import { quiet } from '../http/hosts.ts';
import { counting } from '../pictures/counting.ts';
import { put } from '../pictures/gallery.ts';
import { Folder } from '../protocol/service.ts';

type Hooks = Parameters<typeof createRouter>[1];

const routerOf = (sources: Readonly<Record<string, object>>, more: object = {}, hooks?: Hooks): Router => {
  const served = Object.entries(sources).map(([name, source]): [string, object] => [
    name,
    { title: name, serve: 'public', redirectMoved: {}, createThumb: false, ...source },
  ]);
  const config = { signingSecret: 'a secret of at least 32 bytes, for this', ...more };
  const router = createRouter({ ...config, sources: Object.fromEntries(served) as never }, hooks, quiet);
  onTestFinished(() => router.close());
  return router;
};

const folderWith = async (files: Readonly<Record<string, string>>): Promise<Folder> => {
  const root = await mkdtemp(join(tmpdir(), 'stowage-moved-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const folder = new Folder(root);
  await folder.put(files);
  return folder;
};

const call = async (
  router: Router,
  action: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Record<string, unknown>> => {
  const body = new URLSearchParams(fields);
  const answer = await router.fetch(new Request(`http://host/${action}`, { method: 'POST', body, headers }));
  return (await answer.json()) as Record<string, unknown>;
};

const rename = async (
  router: Router,
  name: string,
  newname: string,
  headers?: Record<string, string>,
): Promise<void> => {
  expect(await call(router, 'fileRename', { name, newname }, headers)).toMatchObject({ success: true });
};

const seen = async (router: Router, url: string, init: RequestInit = {}): Promise<string> => {
  const answer = await router.fetch(new Request(new URL(url, 'http://host'), init));
  const location = answer.headers.get('location');
  return location === null ? String(answer.status) : `${String(answer.status)} ${location}`;
};

const recordOf = (path: string): string =>
  `.stowage-moved/${createHash('sha256').update(path.toUpperCase()).digest('hex').slice(0, 40)}.json`;

const forged = (path: string, to: string, at: number, toAt: number): Record<string, string> => {
  const events = [{ type: 'left', kind: 'file', at, to: { source: 'files', path: to, at: toAt } }];
  return { [recordOf(path)]: JSON.stringify({ path, since: 0, events }) };
};

/** A store in which `0.txt` was renamed so often, an hour ago. */
const longWay = async (steps: number): Promise<{ storageAdapter: string } & ReturnType<typeof counting>> => {
  const { storage, calls } = counting(new MemoryAdapter({ maxBytes: 64 * 1024 ** 2 }));
  const at = Date.now() - 3_600_000;
  for (let step = 0; step < steps; step += 1) {
    const record = forged(`${String(step)}.txt`, `${String(step + 1)}.txt`, at + step, at + step);
    for (const [path, text] of Object.entries(record)) await put(storage, path, text);
  }
  await put(storage, `${String(steps)}.txt`, 'hello');
  const storageAdapter = `moved-${randomUUID()}`;
  registerStorageAdapter(storageAdapter, { create: () => storage });
  return { storageAdapter, calls, storage };
};

it('reads a long way once, and then what is new of it', async () => {
  const { storageAdapter, calls, storage } = await longWay(100);
  const router = routerOf({ files: { storageAdapter, trash: {} } });
  const askedFor = async (url: string, expected: string): Promise<number> => {
    calls.splice(0);
    expect(await seen(router, url)).toBe(expected);
    return calls.length;
  };
  expect(await askedFor('/file/files/0.txt', '308 /file/files/100.txt')).toBeGreaterThan(100);
  expect(await askedFor('/file/files/0.txt', '308 /file/files/100.txt')).toBeLessThan(10);
  await rename(router, '100.txt', 'end.txt');
  expect(await askedFor('/file/files/0.txt', '308 /file/files/end.txt')).toBeLessThan(15);
  // Another file that gets a name of the way, or its last one.
  await put(storage, 'other.txt', 'other');
  await rename(router, 'other.txt', '50.txt');
  await rename(router, '50.txt', '100.txt');
  expect(await seen(router, '/file/files/0.txt')).toBe('308 /file/files/end.txt');
  expect(await seen(router, '/file/files/50.txt')).toBe('308 /file/files/100.txt');
  await call(router, 'fileRemove', { name: 'end.txt' });
  expect(await seen(router, '/file/files/0.txt')).toBe('404');
  await rename(router, '100.txt', 'end.txt');
  expect(await seen(router, '/file/files/0.txt')).toBe('404');
});

it('follows as many steps as are remembered, and reads their records many at a time', async () => {
  const { storageAdapter, calls } = await longWay(6000);
  const ask = async (entries: number): Promise<[string, string[]]> => {
    const router = routerOf({ files: { storageAdapter, redirectMoved: { entries } } });
    calls.splice(0);
    return [await seen(router, '/file/files/0.txt'), [...calls]];
  };
  const [answer, asked] = await ask(10_000);
  expect(answer).toBe('308 /file/files/6000.txt');
  // Some hundreds follow one another; the rest is listed.
  expect(asked.filter((one) => one.startsWith('stat')).length).toBeLessThan(300);
  expect(asked.length).toBeLessThan(6600);
  expect((await ask(10))[0]).toBe('404');
});

it('ends where forged records lead round, or are none', async () => {
  const now = Date.now();
  const folder = await folderWith({
    'present.txt': 'hello',
    ...forged('a.txt', 'b.txt', now, now - 1000),
    ...forged('b.txt', 'a.txt', now, now - 1000),
    ...forged('outside.txt', '../../etc/passwd.txt', now, now),
    ...forged('hidden.txt', '.stowage-moved/x.txt', now, now),
    ...forged('late.txt', 'present.txt', now + 3 * 86_400_000, now + 3 * 86_400_000),
    [recordOf('wrong.txt')]: forged('another.txt', 'present.txt', now, now)[recordOf('another.txt')] ?? '',
    [recordOf('long.txt')]: ' '.repeat(100_000),
    [recordOf('none.txt')]: '{"path":"none.txt","events":7}',
  });
  const router = routerOf({ files: { root: folder.root } });
  for (const name of ['a', 'b', 'outside', 'hidden', 'late', 'wrong', 'long', 'none'])
    expect([name, await seen(router, `/file/files/${name}.txt`)]).toEqual([name, '404']);
  // What moves there from now on is remembered all the same.
  for (const name of ['long', 'none']) {
    await folder.put({ [`${name}.txt`]: 'hello' });
    await rename(router, `${name}.txt`, `${name}-2.txt`);
    expect(await seen(router, `/file/files/${name}.txt`)).toBe(`308 /file/files/${name}-2.txt`);
  }
});

it('forgets the oldest first, and the rest not by a restart', async () => {
  const folder = await folderWith({});
  const names = Array.from({ length: 12 }, (_, index) => String(index));
  for (const name of names) await folder.put({ [`${name}.txt`]: name });
  const source = { root: folder.root, redirectMoved: { entries: 4 } };
  const first = routerOf({ files: source });
  for (const name of names) await rename(first, `${name}.txt`, `new-${name}.txt`);
  const records = async (): Promise<number> => (await readdir(join(folder.root, '.stowage-moved'))).length;
  expect(await records()).toBeLessThanOrEqual(8);
  await first.close();
  const again = routerOf({ files: source });
  const answers = await Promise.all(names.map((name) => seen(again, `/file/files/${name}.txt`)));
  expect(answers.slice(0, 8)).toEqual(Array.from({ length: 8 }, () => '404'));
  expect(answers.slice(8)).toEqual(names.slice(8).map((name) => `308 /file/files/new-${name}.txt`));
});

it('reveals the current path of a file only to roles that may read it', async () => {
  const folder = await folderWith({ 'a.txt': 'hello', 'board/x.txt': 'x' });
  const router = routerOf(
    { files: { root: folder.root, serve: 'protected' } },
    {
      accessControl: [
        { role: 'member', path: '/board', FILE_DOWNLOAD: false },
        { role: 'chair', FILE_DOWNLOAD: true },
      ],
    },
    {
      checkAuthentication: ({ headers }) => {
        const role = headers['x-role'];
        if (typeof role !== 'string') throw new HttpError(401, 'Log in first.');
        return role;
      },
    },
  );
  const as = (role: string): { headers: Record<string, string> } => ({ headers: { 'x-role': role } });
  expect(await call(router, 'fileMove', { from: 'a.txt', path: 'board' }, as('chair').headers)).toMatchObject(
    {
      success: true,
    },
  );
  expect(await seen(router, '/file/files/a.txt', as('chair'))).toBe('308 /file/files/board/a.txt');
  expect(await seen(router, '/file/files/a.txt', { method: 'HEAD', ...as('chair') })).toContain('308');
  expect(await seen(router, '/file/files/a.txt')).toBe('401');
  const answerOf = async (name: string): Promise<unknown[]> => {
    const answer = await router.fetch(new Request(`http://host/file/files/${name}`, as('member')));
    const changing = new Set(['date', 'x-request-id']);
    return [answer.status, [...answer.headers].filter(([key]) => !changing.has(key)), await answer.text()];
  };
  expect(await answerOf('a.txt')).toEqual(await answerOf('never.txt'));
});

it('leads to other sources that serve, by links of old thumbnails, and not longer than a signature', async () => {
  const [one, two, shut] = [
    await folderWith({ 'a.png': 'a', 'b.png': 'b', 'c.png': 'c' }),
    await folderWith({}),
    await folderWith({}),
  ];
  const presets = { createThumb: true, imagePresets: { card: { width: 10, format: 'webp' } } };
  const router = routerOf({
    files: { root: one.root, ...presets },
    signed: { root: two.root, serve: 'signed' },
    off: { root: shut.root, serve: 'off', baseurl: 'http://elsewhere.example/', redirectMoved: undefined },
  });
  await rename(router, 'a.png', 'new.png');
  expect(await seen(router, '/file/files/a.png')).toBe('308 /file/files/new.png');
  expect(await seen(router, '/file/files/_thumbs/a.png')).toMatch(/^308 \/file\/files\/_thumbs\/new\.png/u);
  expect(await seen(router, '/file/files/_thumbs/card/a.png')).toMatch(
    /^308 \/file\/files\/_thumbs\/card\/new/u,
  );
  for (const [from, source] of Object.entries({ 'b.png': 'signed', 'c.png': 'off' })) {
    const fields = { fromSource: 'files', from, source, path: '' };
    expect(await call(router, 'fileMove', fields)).toMatchObject({ success: true });
    expect(await seen(router, `/file/files/${from}`)).toBe('404');
  }
  const old = router.urlFor('signed', 'b.png', { lifetime: 60 });
  expect(
    await call(router, 'fileRename', { source: 'signed', name: 'b.png', newname: 'd.png' }),
  ).toMatchObject({
    success: true,
  });
  const answer = await seen(router, old);
  expect(answer).toMatch(/^308 .*d\.png/u);
  const endOf = (url: string): string | null => new URL(url, 'http://host').searchParams.get('expires');
  expect(Number(endOf(answer.slice(4)))).toBeGreaterThan(Date.now() / 1000);
  expect(endOf(answer.slice(4))).toBe(endOf(old));
  expect(await seen(router, answer.slice(4))).toBe('200');
  expect(await seen(router, old.replace(/\?.*/u, ''))).toBe('403');
  expect(await seen(router, `${old}0`)).toBe('403');
});

it('is out of reach of actions', async () => {
  const folder = await folderWith({ 'a.txt': 'hello', 'sub/x.txt': 'x' });
  const router = routerOf({ files: { root: folder.root, extensions: ['txt', 'json'] } });
  await rename(router, 'a.txt', 'b.txt');
  const kept = await folder.paths();
  const records = kept.filter((path) => path.startsWith('.stowage-moved/') && path.endsWith('.json'));
  expect(records.length).toBeGreaterThan(0);
  const path = '.stowage-moved';
  const name = (records[0] ?? '').slice(path.length + 1);
  for (const [action, fields] of [
    ['files', { path }],
    ['fileRemove', { path, name }],
    ['fileRename', { path, name, newname: 'x.json' }],
    ['fileRename', { path: '', name: 'b.txt', newname: path }],
    ['fileMove', { from: `${path}/${name}`, path: '' }],
    ['fileCopy', { from: `${path}/${name}`, path: '' }],
    ['fileMove', { from: 'b.txt', path }],
    ['fileDownload', { path, name }],
    ['folderRemove', { path: '', name: path }],
    ['folderRename', { path: '', name: path, newname: 'open' }],
    ['folderRename', { path: '', name: 'sub', newname: path.toUpperCase() }],
    ['folderCreate', { path, name: 'x' }],
    ['folderCreate', { path: '', name: path }],
    ['folderMove', { from: path, path: 'sub' }],
  ] as const)
    expect([action, fields, await call(router, action, fields)]).toMatchObject([
      action,
      fields,
      { success: false },
    ]);
  expect(await seen(router, `/file/files/${path}/${name}`)).toBe('404');
  expect(JSON.stringify(await call(router, 'filesSearch', { query: name.slice(0, 6) }))).not.toContain(name);
  expect(await folder.paths()).toEqual(kept);
});

it('a source switches redirects of all sources off, and keeps no record', async () => {
  const folder = await folderWith({ 'a.txt': 'a' });
  const router = routerOf(
    { files: { root: folder.root, redirectMoved: { days: 0 } } },
    { redirectMoved: {} },
  );
  await rename(router, 'a.txt', 'b.txt');
  expect(await seen(router, '/file/files/a.txt')).toBe('404');
  expect(await seen(router, '/file/files/b.txt')).toBe('200');
  const kept = await readdir(folder.root, { recursive: true });
  expect(kept.filter((name) => !name.startsWith('.stowage-tmp'))).toEqual(['b.txt']);
});
