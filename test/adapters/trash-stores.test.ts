import { createApp } from 'stowage';
import { createClient, type Client } from 'stowage/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servedStores } from './served-stores.ts';

const nothing = (): void => undefined;
const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

describe.each(servedStores)('the trash on $name', ({ missing, start }) => {
  const reason = missing === undefined ? '' : ` (${missing})`;

  describe.skipIf(missing !== undefined)(`with a store that is there${reason}`, () => {
    const endings: (() => unknown)[] = [];
    let client: Client;

    beforeAll(async () => {
      const { source, stop } = await start();
      endings.push(stop);
      const files = { title: 'Files', baseurl: 'https://files.example/', ...source };
      const settings = {
        createThumb: false,
        saveSameFileNameStrategy: 'replace',
        trash: { keepReplaced: true },
      } as const;
      const app = createApp({ ...settings, sources: { files } }, {}, { logger });
      endings.push(() => app.close());
      const { port } = await app.listen(0, '127.0.0.1');
      client = createClient({ url: `http://127.0.0.1:${String(port)}` });
    });
    afterAll(async () => {
      for (const end of endings.reverse()) await end();
    });

    const namesIn = async (path: string): Promise<readonly string[]> => {
      const { sources } = await client.files({ path, mods: { withFolders: true, sortBy: 'name-asc' } });
      return sources.flatMap(({ files }) => files.map(({ name }) => name));
    };
    const textOf = async (path: string, name: string): Promise<string> =>
      (await client.fileDownload({ path, name })).text();
    const idOf = async (name: string): Promise<string> => {
      const { items } = await client.trashList();
      return items.find((item) => item.name === name)?.id ?? '';
    };

    it('takes and gives back files and folders, hides them meanwhile, and forgets them', async () => {
      await client.folderCreate({ name: 'alben' });
      await client.folderCreate({ path: 'alben', name: 'עמוק' });
      await client.fileUpload({
        path: 'alben',
        files: [new File(['one'], 'one.txt'), new File(['two'], 'zwei ü.txt')],
      });
      await client.fileUpload({ path: 'alben/עמוק', files: [new File(['three'], 'three.txt')] });

      await client.fileRemove({ path: 'alben', name: 'zwei ü.txt' });
      await client.folderRemove({ name: 'alben' });
      expect(await namesIn('')).toEqual([]);
      const { items } = await client.trashList();
      expect(items.map(({ name, path, bytes }) => [name, path, bytes])).toEqual([
        ['alben', '/', 8],
        ['zwei ü.txt', 'alben', 3],
      ]);

      await client.trashRestore({ id: await idOf('alben') });
      await client.trashRestore({ id: await idOf('zwei ü.txt') });
      expect(await namesIn('alben')).toEqual(['one.txt', 'zwei ü.txt', 'עמוק'].sort());
      expect(await textOf('alben/עמוק', 'three.txt')).toBe('three');
      expect(await textOf('alben', 'zwei ü.txt')).toBe('two');
      expect((await client.trashList()).items).toEqual([]);
    });

    it('keeps what is replaced, numbers what comes back, and can be emptied', async () => {
      await client.fileUpload({ files: [new File(['old'], 'a.txt')] });
      await client.fileUpload({ files: [new File(['new'], 'a.txt')] });
      expect(await textOf('', 'a.txt')).toBe('new');
      expect(await client.trashRestore({ id: await idOf('a.txt') })).toMatchObject({ name: 'a (1).txt' });
      expect(await textOf('', 'a (1).txt')).toBe('old');
      await client.fileRemove({ name: 'a.txt' });
      await client.fileRemove({ name: 'a (1).txt' });
      await client.trashRemove({ id: await idOf('a.txt') });
      expect(await client.trashEmpty()).toMatchObject({ removed: 1 });
      expect((await client.trashList()).items).toEqual([]);
    });
  });
});
