import assert from 'node:assert/strict';
import { NotFoundError, WrongKindError } from '../../../errors/errors.ts';
import { entriesOf, expectError, makeBytes, namesIn, put, expectReason, it, theme } from '../case.ts';
import type { StorageAdapter } from '../../adapter.ts';
import { SourcePath } from '../../source-path.ts';
import { measure, tallyOf } from '../../measure.ts';
import { walkTree, type FoundEntry, type TreeWalkOptions } from '../../tree-walk.ts';

const MANY = 120;

export const listTheme = theme('list', [
  it('an empty store and an empty folder have no entries', async ({ adapter, at }) => {
    assert.deepEqual(await entriesOf(adapter), []);
    await adapter.makeFolder(at('empty'));
    assert.deepEqual(await entriesOf(adapter, at('empty')), []);
  }),
  it('entries are those of the folder itself, each once, with kind and size', async ({ adapter, at }) => {
    await put(adapter, at('f/a.txt'), makeBytes(7));
    await put(adapter, at('f/deep/b.txt'), makeBytes(9));
    await put(adapter, at('f2/c.txt'), makeBytes(9));
    await put(adapter, at('f.txt'), makeBytes(9));
    const found = (await entriesOf(adapter, at('f'))).map((entry) => [entry.name, entry.kind, entry.size]);
    assert.deepEqual(found.sort(), [
      ['a.txt', 'file', 7],
      ['deep', 'folder', undefined],
    ]);
    assert.deepEqual(await namesIn(adapter), ['f', 'f.txt', 'f2']);
  }),
  it('size and time are those that stat reports, or undefined', async ({ adapter, at }) => {
    await put(adapter, at('f/a.txt'), makeBytes(7));
    const [entry] = await entriesOf(adapter, at('f'), { detail: 'full' });
    const stat = await adapter.stat(at('f/a.txt'));
    if (entry?.size !== undefined) assert.equal(entry.size, stat.size);
    // Some stores report times in listings in whole seconds.
    if (entry?.modifiedAt !== undefined && stat.modifiedAt !== undefined) {
      assert.ok(Math.abs(entry.modifiedAt - stat.modifiedAt) < 1000);
    }
  }),
  it('versions are those that stat reports, or undefined', async ({ adapter, at }) => {
    await put(adapter, at('f/a.txt'), makeBytes(7));
    await adapter.makeFolder(at('f/deep'));
    const { etag } = await adapter.stat(at('f/a.txt'));
    for (const entry of await entriesOf(adapter, at('f'), { detail: 'versions' })) {
      if (entry.kind === 'folder') assert.equal(entry.etag, undefined);
      else if (entry.etag !== undefined) assert.equal(entry.etag, etag);
    }
  }),
  it('names only: the same names and kinds', async ({ adapter, at }) => {
    await put(adapter, at('f/a.txt'), 'a');
    await adapter.makeFolder(at('f/deep'));
    const found = await entriesOf(adapter, at('f'), { detail: 'names' });
    assert.deepEqual(found.map((entry) => [entry.name, entry.kind]).sort(), [
      ['a.txt', 'file'],
      ['deep', 'folder'],
    ]);
  }),
  it('every page is filled and all pages together hold every entry once', async ({ adapter, at }) => {
    const names = Array.from({ length: MANY }, (_, index) => `file-${String(index).padStart(4, '0')}.txt`);
    for (let start = 0; start < MANY; start += 20) {
      await Promise.all(names.slice(start, start + 20).map((name) => put(adapter, at(`many/${name}`), name)));
    }
    const seen: string[] = [];
    for await (const page of adapter.list(at('many'))) {
      assert.ok(page.length > 0, 'a page without entries');
      seen.push(...page.map((entry) => entry.name));
    }
    assert.deepEqual(seen.sort(), names);
  }),
  it('a listing that is left half-way disturbs nothing', async ({ adapter, at }) => {
    await put(adapter, at('f/a.txt'), 'a');
    for await (const _page of adapter.list(at('f'))) break;
    assert.deepEqual(await namesIn(adapter, at('f')), ['a.txt']);
  }),
  it('a missing folder is NotFoundError, also below a file; a file WrongKindError', async ({
    adapter,
    at,
  }) => {
    await put(adapter, at('a.txt'), 'a');
    await expectError(entriesOf(adapter, at('no')), NotFoundError);
    await expectError(entriesOf(adapter, at('no/deeper')), NotFoundError);
    await expectError(entriesOf(adapter, at('a.txt/no')), NotFoundError);
    await expectError(entriesOf(adapter, at('a.txt')), WrongKindError);
    await expectError(entriesOf(adapter, at('a.txt'), { detail: 'names' }), WrongKindError);
  }),
  {
    plants: true,
    ...it('names of the backend that no path can hold are left out', async ({ adapter, at, plant }) => {
      await put(adapter, at('good.txt'), 'good');
      for (const name of ['back\\slash.txt', 'bell\u0007.txt', 'gpj\u202e.exe']) await plant(name);
      assert.deepEqual(await namesIn(adapter), ['good.txt']);
      assert.deepEqual(
        (await entriesOf(adapter, at(''), { detail: 'names' })).map((entry) => entry.name),
        ['good.txt'],
      );
    }),
  },
]);

const everything: TreeWalkOptions = {
  detail: 'names',
  words: [],
  most: 1000,
  view: () => ({ enters: () => true, wants: () => true }),
};

const walked = async (
  adapter: StorageAdapter,
  options: Partial<TreeWalkOptions> = {},
  folder = SourcePath.root,
): Promise<readonly FoundEntry[]> => {
  const found: FoundEntry[] = [];
  for await (const page of walkTree(adapter, folder, { ...everything, ...options }))
    found.push(...page.found);
  return found;
};

const textOf = ({ path, entry }: FoundEntry): string =>
  entry.kind === 'folder' ? `${path.toString()}/` : path.toString();

const textsOf = (found: readonly FoundEntry[]): readonly string[] => found.map(textOf);

// Names that sort differently as text, as object keys, and folder by folder.
const TREE = ['a-b/x.txt', 'a.txt', 'a/deep/er/x.txt', 'a/é.txt', 'a0.txt', 'b/🙂.txt', 'b/ﬀ.txt', 'z.txt'];
const FOLDERS = ['a-b/', 'a/', 'a/deep/', 'a/deep/er/', 'b/'];

const plantTree = async (adapter: StorageAdapter, at: (text: string) => SourcePath): Promise<void> => {
  for (const path of TREE) await put(adapter, at(path), path);
};

/** The contract of walks through everything below a folder. */
export const walkTheme = theme('walk', [
  it('shows all that lies below a folder, each folder before what it holds', async ({ adapter, at }) => {
    assert.deepEqual(textsOf(await walked(adapter)), []);
    await plantTree(adapter, at);
    const texts = textsOf(await walked(adapter));
    assert.deepEqual([...texts].sort(), [...TREE, ...FOLDERS].sort());
    for (const [index, text] of texts.entries()) {
      const parent = text.replace(/[^/]+\/?$/u, '');
      assert.ok(parent === '' || texts.indexOf(parent) < index, `${text} before its folder`);
    }
    const below = textsOf(await walked(adapter, {}, at('a/deep')));
    assert.deepEqual(below, ['a/deep/er/', 'a/deep/er/x.txt']);
  }),
  it('continues after every position, without a miss or a repetition', async ({ adapter, at }) => {
    await plantTree(adapter, at);
    for (const folder of [at(''), at('a')]) {
      const all = await walked(adapter, {}, folder);
      for (const [index, { position }] of all.entries()) {
        const rest = textsOf(await walked(adapter, { after: position }, folder));
        assert.deepEqual(rest, textsOf(all.slice(index + 1)), `behind ${position}`);
      }
    }
    const all = textsOf(await walked(adapter));
    const behindNothing = textsOf(await walked(adapter, { after: 'a/gone.txt' }));
    assert.deepEqual(behindNothing, all.slice(-behindNothing.length));
    assert.ok(behindNothing.includes('b/') && !behindNothing.includes('a/'));
  }),
  it('reports names that hold all of the words, whatever their case', async ({ adapter, at }) => {
    await put(adapter, at('Summer 2026/Beach É.jpg'), '1');
    await put(adapter, at('beach/summer.txt'), '2');
    const find = async (...words: string[]) => [...textsOf(await walked(adapter, { words }))].sort();
    assert.deepEqual(await find('SUMMER'), ['Summer 2026/', 'beach/summer.txt']);
    assert.deepEqual(await find('é', 'beach'), ['Summer 2026/Beach É.jpg']);
    assert.deepEqual(await find('summer', 'beach'), []);
  }),
  it('reports size and time with `full`, as `list` does', async ({ adapter, at }) => {
    await put(adapter, at('f/a.txt'), 'seven..');
    const [found] = await walked(adapter, { detail: 'full', words: ['a.txt'] });
    const [listed] = await entriesOf(adapter, at('f'));
    assert.equal(found?.entry.size, listed?.size);
    assert.equal(found?.entry.modifiedAt, listed?.modifiedAt);
  }),
  it('leaves out what is not wanted, and what lies in folders that are not entered', async (context) => {
    const { adapter, at } = context;
    await plantTree(adapter, at);
    // In the middle, and at the end of the walk.
    for (const folder of ['a', 'zz']) await put(adapter, at(`${folder}/thumbs/x.txt`), 'x');
    const seen: string[] = [];
    const found = await walked(adapter, {
      never: /^thumbs$/iu,
      view: (folder) => {
        seen.push(folder.toString());
        return { enters: ({ name }) => name !== 'b', wants: ({ name }) => name.endsWith('.txt') };
      },
    });
    const expected = TREE.filter((path) => !path.startsWith('b/'));
    assert.deepEqual([...textsOf(found)].sort(), expected.sort());
    assert.ok(!seen.includes('b') && !seen.includes('a/thumbs'));
  }),
  it('sums up sizes and bounds of paths, if it does so, as listings show them', async ({ adapter, at }) => {
    await plantTree(adapter, at);
    await put(adapter, at('a/Derived/x.txt'), 'not counted');
    const options = { derivedName: 'derived', ignores: /^a\/deep\/er\//u };
    const counted = TREE.filter((path) => path !== 'a/deep/er/x.txt');
    const bytes = counted.reduce((sum, path) => sum + Buffer.byteLength(path), 0);
    assert.deepEqual(await measure(adapter, at(''), 'folder', options), { bytes, files: counted.length });
    for (const likely of [[], ['Derived'], ['Derived', 'deep'], ['Derived', 'Gone', 'deep', 'x.txt']]) {
      const bounds = await tallyOf(adapter, at('a'), { of: 'paths', likely });
      assert.ok(bounds === undefined || (bounds.deepest >= 3 && bounds.longest >= '/deep/er/x.txt'.length));
    }
    await expectError(measure(adapter, at('missing'), 'folder'), NotFoundError);
  }),
  it('a missing folder and a file cannot be walked through, and an aborted walk ends', async (context) => {
    const { adapter, at } = context;
    await put(adapter, at('f/a.txt'), 'a');
    await expectError(walked(adapter, {}, at('missing')), NotFoundError);
    await expectError(walked(adapter, {}, at('f/a.txt')), WrongKindError);
    const reason = new Error('left');
    await expectReason(walked(adapter, { signal: AbortSignal.abort(reason) }), reason);
  }),
]);
