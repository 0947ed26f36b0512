import { createRouter, type Router } from 'stowage';
import {
  NotFoundError,
  type SourcePath,
  StorageUnavailableError,
  type StorageAdapter,
} from 'stowage/storage';
import { expect, it, onTestFinished } from 'vitest';
import { MemoryAdapter } from '#internals';
import { quiet } from '../http/hosts.ts';
import { put } from '../pictures/gallery.ts';

const fails = (): Promise<never> => Promise.reject(new StorageUnavailableError());

interface Stores {
  readonly one: StorageAdapter;
  readonly two: StorageAdapter;
}

/** Two sources with `a.txt` in the first, of which something is said. */
const start = async (): Promise<Stores & { readonly router: Router }> => {
  const stores = {
    one: new MemoryAdapter({ maxBytes: 1024 ** 2 }),
    two: new MemoryAdapter({ maxBytes: 1024 ** 2 }),
  };
  await put(stores.one, 'a.txt', 'content');
  const source = (storageAdapter: string): object => ({
    title: storageAdapter,
    baseurl: 'https://a.test/',
    storageAdapter,
  });
  const storageAdapters = { one: { create: () => stores.one }, two: { create: () => stores.two } };
  const sources = { one: source('one'), two: source('two') };
  const router = createRouter({ sources } as never, {}, { ...quiet, storageAdapters });
  onTestFinished(() => router.close());
  expect(await call(router, 'fileDescribe', { name: 'a.txt', alt: 'About a' })).toBe(200);
  return { ...stores, router };
};

const post = (router: Router, action: string, fields: Record<string, string>): Promise<Response> =>
  router.fetch(new Request(`http://host/${action}`, { method: 'POST', body: new URLSearchParams(fields) }));

const call = async (router: Router, action: string, fields: Record<string, string>): Promise<number> =>
  (await post(router, action, fields)).status;

/** What is said about each file of both sources, or in one folder. */
const words = async (router: Router, where = {}): Promise<Record<string, string | undefined>> => {
  const answer = await post(router, 'files', { ...where, 'mods[details]': '1' });
  const { data } = (await answer.json()) as {
    data: { sources: { name: string; files: { name: string; about?: { alt: string } }[] }[] };
  };
  return Object.fromEntries(
    data.sources.flatMap(({ name, files }) => files.map((file) => [`${name}:${file.name}`, file.about?.alt])),
  );
};

const inside = { name: 'a.txt', newname: 'b.txt' };
const across = { source: 'two', fromSource: 'one', from: 'a.txt', path: '' };

it.each<[string, string, Record<string, string>, (stores: Stores) => void, object]>([
  [
    'before it has begun',
    'fileRename',
    inside,
    ({ one }) => void (one.moveFile = fails),
    { 'one:a.txt': 'About a' },
  ],
  [
    'after it was done',
    'fileRename',
    inside,
    ({ one }) => {
      const move = one.moveFile.bind(one);
      one.moveFile = async (...parameters) => {
        await move(...parameters);
        return fails();
      };
    },
    { 'one:b.txt': 'About a' },
  ],
  [
    'before its copy is there',
    'fileMove',
    across,
    ({ two }) => void (two.write = fails),
    { 'one:a.txt': 'About a' },
  ],
  [
    'before the original is gone',
    'fileMove',
    across,
    ({ one }) => void (one.removeFile = fails),
    { 'one:a.txt': 'About a', 'two:a.txt': 'About a' },
  ],
])('words are where the file is when its move fails %s', async (_, action, fields, breakStore, expected) => {
  const { router, ...stores } = await start();
  breakStore(stores);
  expect(await call(router, action, fields)).toBeGreaterThanOrEqual(400);
  expect(await words(router)).toEqual(expected);
});

it.each([
  ['that has words', 'content', 'About b'],
  ['of another size', 'other content', undefined],
])('a file %s gets none of a file whose move to its name fails', async (_, content, about) => {
  const { router, one } = await start();
  await put(one, 'b.txt', content);
  if (about !== undefined)
    expect(await call(router, 'fileDescribe', { name: 'b.txt', alt: about })).toBe(200);
  one.moveFile = fails;
  expect(await call(router, 'fileRename', inside)).toBe(500);
  expect(await words(router)).toEqual({ 'one:a.txt': 'About a', 'one:b.txt': about });
});

it('words go with the files of a folder into another source when their folder is not shown once', async () => {
  const { router, one } = await start();
  await put(one, 'd/c.txt', 'content');
  expect(await call(router, 'fileDescribe', { path: 'd', name: 'c.txt', alt: 'About c' })).toBe(200);
  const list = one.list.bind(one);
  let isHidden = true;
  one.list = (folder, options) => {
    if (folder.name !== '.stowage-about' || !isHidden) return list(folder, options);
    isHidden = false;
    throw new NotFoundError();
  };
  const move = { source: 'two', fromSource: 'one', from: 'd', path: '' };
  expect([await call(router, 'folderMove', move), isHidden]).toEqual([200, false]);
  expect(await words(router, { source: 'two', path: 'd' })).toEqual({ 'two:c.txt': 'About c' });
});

it.each(['stat', 'read'] as const)(
  'words follow their file when the first %s of them fails',
  async (operation) => {
    const { router, one } = await start();
    const inner = one[operation].bind(one) as (...input: never[]) => Promise<never>;
    let isDown = true;
    const flaky = (path: SourcePath, ...more: never[]): Promise<never> => {
      if (!isDown || !path.segments.includes('.stowage-about')) return inner(path as never, ...more);
      isDown = false;
      return fails();
    };
    Object.assign(one, { [operation]: flaky });
    expect([await call(router, 'fileRename', inside), isDown]).toEqual([200, false]);
    expect(await words(router)).toEqual({ 'one:b.txt': 'About a' });
  },
);
