import assert from 'node:assert/strict';
import { NotFoundError, WrongKindError } from '../../../errors/errors.ts';
import type { StorageAdapter } from '../../adapter.ts';
import { SourcePath } from '../../source-path.ts';
import { walkTree, type FoundEntry, type TreeWalkOptions } from '../../tree-walk.ts';
import type { Theme } from '../case.ts';
import { entriesOf, expectError, expectReason, put } from '../expectations.ts';

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

// What is ordered in another way as text, as keys of objects, and folder by folder.
const TREE = ['a-b/x.txt', 'a.txt', 'a/deep/er/x.txt', 'a/é.txt', 'a0.txt', 'b/🙂.txt', 'b/ﬀ.txt', 'z.txt'];
const FOLDERS = ['a-b/', 'a/', 'a/deep/', 'a/deep/er/', 'b/'];

const plantTree = async (adapter: StorageAdapter, at: (text: string) => SourcePath): Promise<void> => {
  for (const path of TREE) await put(adapter, at(path), path);
};

/** What walks through everything below a folder promise. */
export const walkTheme: Theme = {
  theme: 'walk',
  cases: [
    {
      name: 'shows all that lies below a folder, each folder before what it holds',
      check: async ({ adapter, at }) => {
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
      },
    },
    {
      name: 'goes on behind every position, without a miss or a repetition',
      check: async ({ adapter, at }) => {
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
      },
    },
    {
      name: 'reports names that hold all of the words, whatever their case',
      check: async ({ adapter, at }) => {
        await put(adapter, at('Summer 2026/Beach É.jpg'), '1');
        await put(adapter, at('beach/summer.txt'), '2');
        const find = async (...words: string[]) => [...textsOf(await walked(adapter, { words }))].sort();
        assert.deepEqual(await find('SUMMER'), ['Summer 2026/', 'beach/summer.txt']);
        assert.deepEqual(await find('é', 'beach'), ['Summer 2026/Beach É.jpg']);
        assert.deepEqual(await find('summer', 'beach'), []);
      },
    },
    {
      name: 'reports size and time with `full`, as `list` does',
      check: async ({ adapter, at }) => {
        await put(adapter, at('f/a.txt'), 'seven..');
        const [found] = await walked(adapter, { detail: 'full', words: ['a.txt'] });
        const [listed] = await entriesOf(adapter, at('f'));
        assert.equal(found?.entry.size, listed?.size);
        assert.equal(found?.entry.modifiedAt, listed?.modifiedAt);
      },
    },
    {
      name: 'leaves out what is not wanted, and what lies in folders that are not entered',
      check: async ({ adapter, at }) => {
        await plantTree(adapter, at);
        await put(adapter, at('a/thumbs/x.txt'), 'x');
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
      },
    },
    {
      name: 'a missing folder and a file cannot be walked through, and an aborted walk ends',
      check: async ({ adapter, at }) => {
        await put(adapter, at('f/a.txt'), 'a');
        await expectError(walked(adapter, {}, at('missing')), NotFoundError);
        await expectError(walked(adapter, {}, at('f/a.txt')), WrongKindError);
        const reason = new Error('left');
        await expectReason(walked(adapter, { signal: AbortSignal.abort(reason) }), reason);
      },
    },
  ],
};
