import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WebdavAdapter } from '../../packages/stowage/dist/adapters/remote/webdav/adapter.js';
import { SourcePath } from 'stowage/storage';
import { mostly } from '../before-release.ts';
import { davServers, openDavStore, type DavServer } from '../../tools/test-servers/webdav.ts';

const at = (text: string) => SourcePath.parse(text);
const put = (adapter: WebdavAdapter, path: string, text: string, options = {}) =>
  adapter.write(at(path), Readable.from([Buffer.from(text)], { objectMode: false }), options);
const textOf = async (adapter: WebdavAdapter, path: string): Promise<string> =>
  (await buffer((await adapter.read(at(path))).stream)).toString();
const times = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** How many write, copy or move to one name at the same time. */
const CREATORS = 12;

/** Names of all files of a server, and of its temporary folders. */
const namesOnDisk = async ({ data }: DavServer): Promise<readonly string[]> => {
  const entries = await readdir(data, { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => (entry.isFile() || entry.name.startsWith('.') ? [entry.name] : []));
};

for (const { name, installed, start, options } of mostly(1, davServers)) {
  describe.skipIf(!installed)(`many at once on ${name}${installed ? '' : ' (not installed)'}`, () => {
    let server: DavServer;
    beforeAll(async () => {
      server = await start();
    });
    afterAll(async () => {
      await server?.stop();
    });

    const open = async (count: number) => {
      const root = `case-${randomUUID()}`;
      const stores = times(count, () => openDavStore(server, options, root));
      const close = async (): Promise<void> => {
        await Promise.all(stores.map((store) => store.close()));
        await rm(join(server.data, root), { recursive: true, force: true });
      };
      return { stores, close };
    };

    it('folders and files below one missing parent are all made, also by several clients', async () => {
      const { stores, close } = await open(3);
      const made = await Promise.allSettled(
        stores.flatMap((store, client) =>
          times(8, (index) =>
            index % 2 === 0
              ? store.makeFolder(at(`a/b/folder-${String(client)}-${String(index)}`))
              : put(
                  store,
                  `a/b/file-${String(client)}-${String(index)}.txt`,
                  `${String(client)} ${String(index)}`,
                ),
          ),
        ),
      );
      expect(made.filter(({ status }) => status === 'rejected')).toEqual([]);
      const [store] = stores;
      if (store === undefined) throw new Error('no store');
      const kinds: Record<string, number> = {};
      for await (const page of store.list(at('a/b')))
        for (const { kind } of page) kinds[kind] = (kinds[kind] ?? 0) + 1;
      expect(kinds).toEqual({ folder: 12, file: 12 });
      expect(await textOf(store, 'a/b/file-2-7.txt')).toBe('2 7');
      await close();
    });

    it('of several clients that create one name one wins, whole, by writing, copying or moving', async () => {
      const { stores, close } = await open(3);
      const [store] = stores;
      if (store === undefined) throw new Error('no store');
      const createOnly = true;
      await Promise.all(times(CREATORS, (index) => put(store, `from/${String(index)}.txt`, String(index))));
      for (const round of ['a', 'b', 'c']) {
        const target = at(`to/${round}.txt`);
        const outcomes = await Promise.allSettled(
          times(CREATORS, (index) => {
            const client = stores[index % 3] ?? store;
            const from = at(`from/${String(index)}.txt`);
            if (round === 'a') return put(client, target.toString(), String(index), { createOnly });
            if (round === 'b') return client.copyFile(from, target, { createOnly });
            return client.moveFile(from, target, { createOnly });
          }),
        );
        const winners = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
        expect(winners).toHaveLength(1);
        expect(await textOf(store, target.toString())).toBe(String(winners[0]));
        for (const outcome of outcomes)
          if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'ALREADY_EXISTS' });
      }
      // What lost a move is where it was, and nothing temporary remains anywhere.
      expect(await namesOnDisk(server)).toHaveLength(CREATORS - 1 + 3);
      await close();
    });

    it('of several clients that replace one file one leaves its content whole', async () => {
      const { stores, close } = await open(3);
      const [store] = stores;
      if (store === undefined) throw new Error('no store');
      const contents = times(12, (index) => String(index).repeat(2000));
      await put(store, 'f/a.txt', 'first');
      await Promise.all(contents.map((text, index) => put(stores[index % 3] ?? store, 'f/a.txt', text)));
      expect(contents).toContain(await textOf(store, 'f/a.txt'));
      expect(await namesOnDisk(server)).toEqual(['a.txt']);
      await close();
    });

    it('of folders that move to one name one arrives, and the others stay where they are', async () => {
      const { stores, close } = await open(3);
      const [store] = stores;
      if (store === undefined) throw new Error('no store');
      for (const round of ['a', 'b']) {
        const from = (index: number): string => `${round}-${String(index)}`;
        await Promise.all(times(9, (index) => put(store, `${from(index)}/a.txt`, String(index))));
        const outcomes = await Promise.allSettled(
          times(9, (index) => (stores[index % 3] ?? store).moveFolder(at(from(index)), at(round))),
        );
        const winners = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
        expect(winners).toHaveLength(1);
        for (const [index, outcome] of outcomes.entries()) {
          if (outcome.status === 'fulfilled') continue;
          expect(outcome.reason).toMatchObject({ code: 'ALREADY_EXISTS' });
          expect(await textOf(store, `${from(index)}/a.txt`)).toBe(String(index));
        }
        expect(await textOf(store, `${round}/a.txt`)).toBe(String(winners[0]));
      }
      await close();
    });
  });
}
