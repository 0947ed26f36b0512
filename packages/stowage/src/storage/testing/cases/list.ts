import assert from 'node:assert/strict';
import { NotFoundError, WrongKindError } from '../../../errors/errors.ts';
import type { Theme } from '../case.ts';
import { entriesOf, expectError, makeBytes, namesIn, put } from '../expectations.ts';

const MANY = 120;

/** What `list` promises. */
export const listTheme: Theme = {
  theme: 'list',
  cases: [
    {
      name: 'an empty store and an empty folder have no entries',
      check: async ({ adapter, at }) => {
        assert.deepEqual(await entriesOf(adapter), []);
        await adapter.makeFolder(at('empty'));
        assert.deepEqual(await entriesOf(adapter, at('empty')), []);
      },
    },
    {
      name: 'entries are those of the folder itself, each once, with kind and size',
      check: async ({ adapter, at }) => {
        await put(adapter, at('f/a.txt'), makeBytes(7));
        await put(adapter, at('f/deep/b.txt'), makeBytes(9));
        await put(adapter, at('f2/c.txt'), makeBytes(9));
        await put(adapter, at('f.txt'), makeBytes(9));
        const found = (await entriesOf(adapter, at('f'))).map((entry) => [
          entry.name,
          entry.kind,
          entry.size,
        ]);
        assert.deepEqual(found.sort(), [
          ['a.txt', 'file', 7],
          ['deep', 'folder', undefined],
        ]);
        assert.deepEqual(await namesIn(adapter), ['f', 'f.txt', 'f2']);
      },
    },
    {
      name: 'size and time are those that stat tells, or undefined',
      check: async ({ adapter, at }) => {
        await put(adapter, at('f/a.txt'), makeBytes(7));
        const [entry] = await entriesOf(adapter, at('f'), { detail: 'full' });
        const stat = await adapter.stat(at('f/a.txt'));
        if (entry?.size !== undefined) assert.equal(entry.size, stat.size);
        // Some stores tell the time of a listing in whole seconds.
        if (entry?.modifiedAt !== undefined && stat.modifiedAt !== undefined) {
          assert.ok(Math.abs(entry.modifiedAt - stat.modifiedAt) < 1000);
        }
      },
    },
    {
      name: 'versions are those that stat tells, or undefined',
      check: async ({ adapter, at }) => {
        await put(adapter, at('f/a.txt'), makeBytes(7));
        await adapter.makeFolder(at('f/deep'));
        const { etag } = await adapter.stat(at('f/a.txt'));
        for (const entry of await entriesOf(adapter, at('f'), { detail: 'versions' })) {
          if (entry.kind === 'folder') assert.equal(entry.etag, undefined);
          else if (entry.etag !== undefined) assert.equal(entry.etag, etag);
        }
      },
    },
    {
      name: 'names only: the same names and kinds',
      check: async ({ adapter, at }) => {
        await put(adapter, at('f/a.txt'), 'a');
        await adapter.makeFolder(at('f/deep'));
        const found = await entriesOf(adapter, at('f'), { detail: 'names' });
        assert.deepEqual(found.map((entry) => [entry.name, entry.kind]).sort(), [
          ['a.txt', 'file'],
          ['deep', 'folder'],
        ]);
      },
    },
    {
      name: 'every page is filled and all pages together hold every entry once',
      check: async ({ adapter, at }) => {
        const names = Array.from(
          { length: MANY },
          (_, index) => `file-${String(index).padStart(4, '0')}.txt`,
        );
        for (let start = 0; start < MANY; start += 20) {
          await Promise.all(
            names.slice(start, start + 20).map((name) => put(adapter, at(`many/${name}`), name)),
          );
        }
        const seen: string[] = [];
        for await (const page of adapter.list(at('many'))) {
          assert.ok(page.length > 0, 'a page without entries');
          seen.push(...page.map((entry) => entry.name));
        }
        assert.deepEqual(seen.sort(), names);
      },
    },
    {
      name: 'a listing that is left half-way disturbs nothing',
      check: async ({ adapter, at }) => {
        await put(adapter, at('f/a.txt'), 'a');
        for await (const _page of adapter.list(at('f'))) break;
        assert.deepEqual(await namesIn(adapter, at('f')), ['a.txt']);
      },
    },
    {
      name: 'a missing folder is NotFoundError, a file WrongKindError',
      check: async ({ adapter, at }) => {
        await put(adapter, at('a.txt'), 'a');
        await expectError(entriesOf(adapter, at('no')), NotFoundError);
        await expectError(entriesOf(adapter, at('no/deeper')), NotFoundError);
        await expectError(entriesOf(adapter, at('a.txt')), WrongKindError);
        await expectError(entriesOf(adapter, at('a.txt'), { detail: 'names' }), WrongKindError);
      },
    },
    {
      name: 'names of the backend that no path can hold are left out',
      plants: true,
      check: async ({ adapter, at, plant }) => {
        await put(adapter, at('good.txt'), 'good');
        for (const name of ['back\\slash.txt', 'bell\u0007.txt', 'gpj\u202e.exe']) await plant(name);
        assert.deepEqual(await namesIn(adapter), ['good.txt']);
        assert.deepEqual(
          (await entriesOf(adapter, at(''), { detail: 'names' })).map((entry) => entry.name),
          ['good.txt'],
        );
      },
    },
  ],
};
