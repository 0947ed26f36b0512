import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { createApp } from 'stowage';
import { createClient, type Client } from 'stowage/client';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { silent } from './service.ts';

const HOUR = 60 * 60_000;

const start = async (source: object, maxBytes?: number): Promise<Client> => {
  const files = { title: 'Files', baseurl: 'https://files.example/', ...source };
  const app = createApp(
    { createThumb: false, trash: maxBytes === undefined ? {} : { maxBytes }, sources: { files } },
    {},
    { logger: silent },
  );
  onTestFinished(() => app.close());
  const { port } = await app.listen(0, '127.0.0.1');
  return createClient({ url: `http://127.0.0.1:${String(port)}` });
};

const scratch = async (): Promise<string> => {
  const folder = await mkdtemp(`${tmpdir()}/stowage-purge-`);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

const FILES = Array.from({ length: 16 }, (_, index) => `f${String(index)}.txt`);
const FOLDERS = Array.from({ length: 5 }, (_, index) => `d${String(index)}`);
const INSIDE = ['one.txt', 'two.txt', 'three.txt'];
const BYTES = 100;
const contentOf = (name: string): string => name.padEnd(BYTES, '.');
const fileOf = (name: string): File => new File([contentOf(name)], name);

const textOf = async (client: Client, path: string, name: string): Promise<string> =>
  (await client.fileDownload({ path, name })).text();

it('gives up an item that is larger than the trash may be, and nothing for it', async () => {
  const client = await start({ storageAdapter: 'memory' }, 1000);
  const large = new File(['x'.repeat(1001)], 'large.txt');
  await client.fileUpload({ path: '', files: [fileOf('a.txt'), large, fileOf('b.txt')] });
  for (const name of ['a.txt', 'large.txt', 'b.txt']) await client.fileRemove({ path: '', name });
  const namesIn = async (): Promise<readonly string[]> => {
    const { items } = await client.trashList({ limit: 1000 });
    return items.map(({ name }) => name);
  };
  await expect.poll(namesIn).toEqual(['b.txt', 'a.txt']);
});

it('gives up what is older than the retention, and looks once an hour', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const client = await start({ storageAdapter: 'memory', trash: { retentionDays: 2 } });
  const namesIn = async (): Promise<readonly string[]> =>
    (await client.trashList({ limit: 1000 })).items.map(({ name }) => name);
  await client.fileUpload({ path: '', files: [fileOf('a.txt'), fileOf('b.txt')] });
  await client.fileRemove({ path: '', name: 'a.txt' });
  vi.setSystemTime(Date.now() + 24 * HOUR);
  await client.fileRemove({ path: '', name: 'b.txt' });
  expect(await namesIn()).toEqual(['b.txt', 'a.txt']);
  vi.setSystemTime(Date.now() + 23 * HOUR);
  expect(await namesIn()).toEqual(['b.txt', 'a.txt']);
  vi.setSystemTime(Date.now() + 2 * HOUR);
  await expect.poll(namesIn).toEqual(['b.txt']);
  vi.setSystemTime(Date.now() + 24 * HOUR);
  await expect.poll(namesIn).toEqual([]);
});

it('is looked through also when the clock is set back', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const client = await start({ storageAdapter: 'memory', trash: { retentionDays: 2 } });
  await client.fileUpload({ path: '', files: [fileOf('a.txt')] });
  await client.fileRemove({ path: '', name: 'a.txt' });
  const namesIn = async () => (await client.trashList({ limit: 1000 })).items.map(({ name }) => name);
  const begun = Date.now();
  // The last sweep seems to be a few minutes ago when the item is too old.
  for (const hours of [47.9, 0]) {
    vi.setSystemTime(begun + hours * HOUR);
    expect(await namesIn()).toEqual(['a.txt']);
  }
  vi.setSystemTime(begun + 48.1 * HOUR);
  await expect.poll(namesIn).toEqual([]);
});

it('keeps young items when the clock is set far ahead', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const client = await start({ storageAdapter: 'memory', trash: { retentionDays: 30 } });
  const begun = Date.now();
  for (const [name, days] of [
    ['young.txt', 0],
    ['old.txt', -40],
    ['next.txt', 3650],
  ] as const) {
    vi.setSystemTime(begun + days * 24 * HOUR);
    await client.fileUpload({ path: '', files: [fileOf(name)] });
    await client.fileRemove({ path: '', name });
  }
  const namesIn = async () => (await client.trashList({ limit: 1000 })).items.map(({ name }) => name);
  await expect.poll(namesIn).toEqual(['next.txt', 'young.txt']);
});

describe('items that are restored while the trash gives up what is too much, and is emptied', () => {
  it.each([
    ['in memory', () => Promise.resolve({ storageAdapter: 'memory' }), 1],
    ['on the local disk', async () => ({ root: await scratch() }), 1],
    ['on the local disk, by two instances', async () => ({ root: await scratch() }), 2],
  ])(
    'are whole where an answer says so, and gone where it says that: %s',
    async (_where, store, instances) => {
      const source = await store();
      const most = (FILES.length + FOLDERS.length * INSIDE.length) * BYTES;
      const client = await start(source, most);
      const other = instances === 1 ? client : await start(source, most);
      await client.fileUpload({ path: '', files: FILES.map(fileOf) });
      for (const name of FOLDERS) {
        await client.folderCreate({ path: '', name });
        await client.fileUpload({ path: name, files: INSIDE.map(fileOf) });
      }
      await client.fileUpload({ path: '', files: [new File(['x'.repeat(most)], 'large.txt')] });
      await client.fileRemove({ path: '', names: FILES });
      for (const name of FOLDERS) await client.folderRemove({ path: '', name });
      const { items } = await client.trashList({ limit: 1000 });
      expect(items).toHaveLength(FILES.length + FOLDERS.length);

      const restored = new Map<string, boolean>();
      const restore = async ({ id, name }: { id: string; name: string }): Promise<void> => {
        try {
          await client.trashRestore({ id });
          restored.set(name, true);
        } catch (error) {
          expect(error).toMatchObject({ code: 404 });
          restored.set(name, false);
        }
      };
      const restoring = items.map((item, index) =>
        // Some of them a little later, so that both meet each other everywhere.
        Promise.all(Array.from({ length: index % 5 }, () => client.permissions({}))).then(() =>
          restore(item),
        ),
      );
      await Promise.all([
        ...restoring,
        other.fileRemove({ path: '', name: 'large.txt' }),
        other.trashEmpty({}),
      ]);

      const { sources } = await client.files({ path: '', mods: { withFolders: true } });
      const there = new Set(sources.flatMap(({ files }) => files.map(({ name }) => name)));
      for (const name of [...FILES, ...FOLDERS])
        expect([name, there.has(name)]).toEqual([name, restored.get(name)]);
      for (const name of FILES.filter((one) => restored.get(one) === true))
        expect(await textOf(client, '', name)).toBe(contentOf(name));
      for (const name of FOLDERS.filter((one) => restored.get(one) === true)) {
        for (const inside of INSIDE) expect(await textOf(client, name, inside)).toBe(contentOf(inside));
      }
      const left = (await client.trashList({ limit: 1000 })).items.map(({ name }) => name);
      expect(left.filter((name) => restored.get(name) !== undefined)).toEqual([]);
    },
  );
});
