import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WebdavAdapter } from '../../dist/adapters/webdav/adapter.js';
import { SourcePath } from '../../dist/storage/source-path.js';
import { davServers, openDavStore, type DavServer } from './servers/webdav.ts';

const at = (text: string) => SourcePath.parse(text);
const put = (adapter: WebdavAdapter, path: string, text: string, options = {}) =>
  adapter.write(at(path), Readable.from([Buffer.from(text)], { objectMode: false }), options);
const textOf = async (adapter: WebdavAdapter, path: string): Promise<string> =>
  (await buffer((await adapter.read(at(path))).stream)).toString();
const times = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index));

for (const { name, installed, start, options } of davServers) {
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
      return { stores, close: () => Promise.all(stores.map((store) => store.close())) };
    };

    it('folders and files below one missing parent are all made, also by several clients', async () => {
      const { stores, close } = await open(3);
      const made = await Promise.allSettled(
        stores.flatMap((store, client) =>
          times(20, (index) =>
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
      expect(kinds).toEqual({ folder: 30, file: 30 });
      expect(await textOf(store, 'a/b/file-2-19.txt')).toBe('2 19');
      await close();
    });

    it('of folders that move to one name one arrives, and the others stay where they are', async () => {
      const { stores, close } = await open(3);
      const [store] = stores;
      if (store === undefined) throw new Error('no store');
      for (const round of ['a', 'b', 'c', 'd']) {
        const from = (index: number): string => `${round}-${String(index)}`;
        await Promise.all(times(15, (index) => put(store, `${from(index)}/a.txt`, String(index))));
        const outcomes = await Promise.allSettled(
          times(15, (index) => (stores[index % 3] ?? store).moveFolder(at(from(index)), at(round))),
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
