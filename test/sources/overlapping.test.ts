import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from 'stowage';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createSilentLogger } from '#internals';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stowage-overlapping-'));
  await mkdir(join(folder, 'all/photos'), { recursive: true });
  await mkdir(join(folder, 'other'));
});
afterEach(() => rm(folder, { recursive: true }));

/** The warnings about these sources once all of them are open. */
const pairsOf = async (roots: Record<string, string>): Promise<unknown[]> => {
  const pairs: unknown[] = [];
  const warn = (message: string, details?: unknown): void => {
    if (message.startsWith('Sources lie in each other')) pairs.push((details as { pairs: unknown }).pairs);
  };
  const sources = Object.fromEntries(
    Object.entries(roots).map(([name, root]) => [
      name,
      { title: name, root: join(folder, root), baseurl: 'http://localhost/' },
    ]),
  );
  const config = { createThumb: false, sources };
  const app = createApp(config, {}, { logger: { ...createSilentLogger(), warn } });
  try {
    const asked = await app.fetch(new Request('http://localhost/files'));
    await asked.text();
    await new Promise((resolve) => setImmediate(resolve));
    return pairs;
  } finally {
    await app.close();
  }
};

it('warns once, with the names, about sources that lie in each other or are one folder', async () => {
  await symlink('all', join(folder, 'link'));
  const roots = { inner: 'all/photos', outer: 'all', same: 'link', other: 'other' };
  expect(await pairsOf(roots)).toEqual([['outer > inner', 'outer > same', 'same > inner']]);
});

it('does not warn about sources side by side, of like names too', async () => {
  expect(await pairsOf({ one: 'all', two: 'all-2', three: 'other' })).toEqual([]);
});

it.each([
  ['folderRemove', { name: 'all' }],
  ['fileRename', { path: 'all', name: 'photos', newname: 'pictures' }],
  ['folderRename', { name: 'all', newname: 'every' }],
  ['fileMove', { from: 'all/photos', path: 'other' }],
  ['folderMove', { from: 'all', path: 'other' }],
])('rejects the removal of the root of another source: %s %o', async (action, fields) => {
  const sources = Object.fromEntries(
    Object.entries({ outer: '.', inner: 'all/photos' }).map(([name, root]) => [
      name,
      { title: name, root: join(folder, root), baseurl: 'http://localhost/', trash: { retentionDays: 1 } },
    ]),
  );
  const app = createApp({ createThumb: false, sources }, {}, { logger: createSilentLogger() });
  try {
    const call = async (path: string, query: Record<string, string>) => {
      const search = String(new URLSearchParams(query));
      const answer = await app.fetch(new Request(`http://localhost/${path}?${search}`));
      return [answer.status, ((await answer.json()) as { data: { error?: string } }).data.error];
    };
    // The store of the other source has not been opened yet.
    expect(await call(action, { source: 'outer', ...fields })).toEqual([403, 'ACCESS_DENIED']);
    expect(await call('files', { source: 'inner' })).toEqual([200, undefined]);
    expect(await call('folderCreate', { source: 'inner', name: 'sub' })).toEqual([200, undefined]);
    expect(await call('folderRemove', { source: 'outer', path: 'all/photos', name: 'sub' })).toEqual([
      200,
      undefined,
    ]);
  } finally {
    await app.close();
  }
});
