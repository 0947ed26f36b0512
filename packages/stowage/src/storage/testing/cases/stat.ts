import assert from 'node:assert/strict';
import { NotFoundError } from '../../../errors/errors.ts';
import { expectError, makeBytes, put, it, theme } from '../case.ts';

const DAY = 24 * 60 * 60 * 1000;

export const statTheme = theme('stat', [
  it('the root of an empty store is a folder', async ({ adapter, at }) => {
    const stat = await adapter.stat(at(''));
    assert.equal(stat.kind, 'folder');
    assert.equal(stat.name, '');
    assert.equal(stat.etag, undefined);
  }),
  it('a file is told with its name, kind and size', async ({ adapter, at }) => {
    await put(adapter, at('photos/cat.jpg'), makeBytes(12_345));
    const stat = await adapter.stat(at('photos/cat.jpg'));
    assert.deepEqual([stat.name, stat.kind, stat.size], ['cat.jpg', 'file', 12_345]);
  }),
  it('an empty file has the size 0', async ({ adapter, at }) => {
    await put(adapter, at('empty.txt'), '');
    assert.equal((await adapter.stat(at('empty.txt'))).size, 0);
  }),
  it('a folder is told without size and version', async ({ adapter, at }) => {
    await adapter.makeFolder(at('photos'));
    const stat = await adapter.stat(at('photos'));
    assert.deepEqual(
      [stat.name, stat.kind, stat.size, stat.etag],
      ['photos', 'folder', undefined, undefined],
    );
  }),
  it('the time of a new file is now, in milliseconds', async ({ adapter, at }) => {
    await put(adapter, at('now.txt'), 'now');
    const { modifiedAt } = await adapter.stat(at('now.txt'));
    // A day of tolerance: server clocks differ, but wrong units (seconds for milliseconds) by far more.
    if (modifiedAt !== undefined) assert.ok(Math.abs(modifiedAt - Date.now()) < DAY, `told ${modifiedAt}`);
  }),
  it('the version stays while the file does, changes with its content, and is a quoted text', async (context) => {
    const { adapter, promises, at } = context;
    await put(adapter, at('a.txt'), 'one');
    const first = await adapter.stat(at('a.txt'));
    if (first.etag === undefined) return assert.ok(!promises.versions, 'a file without the version');
    assert.match(first.etag, /^"[\x21\x23-\x7e]+"$/u);
    assert.equal((await adapter.stat(at('a.txt'))).etag, first.etag);
    await put(adapter, at('a.txt'), 'two');
    assert.notEqual((await adapter.stat(at('a.txt'))).etag, first.etag);
  }),
  it('nothing there is NotFoundError: in the root, in a folder, in a missing folder, below a file', async (context) => {
    const { adapter, at } = context;
    await put(adapter, at('folder/a.txt'), 'a');
    for (const path of [
      'no',
      'folder/no',
      'no/no',
      'folder/a.txt/no',
      'folder/a.tx',
      'folder/a.txt2',
      'fold',
    ]) {
      await expectError(adapter.stat(at(path)), NotFoundError);
    }
  }),
  it('many entries of a folder come in the order of the names, undefined where nothing lies', async (context) => {
    const { adapter, at } = context;
    if (adapter.statMany === undefined) return;
    await put(adapter, at('f/a.txt'), makeBytes(3));
    await put(adapter, at('f/b.txt'), makeBytes(5));
    await adapter.makeFolder(at('f/deep'));
    const found = await adapter.statMany(at('f'), ['b.txt', 'no.txt', 'deep', 'a.txt', 'b.txt']);
    assert.deepEqual(
      found.map((entry) => (entry === undefined ? undefined : [entry.name, entry.kind, entry.size])),
      [
        ['b.txt', 'file', 5],
        undefined,
        ['deep', 'folder', undefined],
        ['a.txt', 'file', 3],
        ['b.txt', 'file', 5],
      ],
    );
    assert.equal(found[0]?.etag, (await adapter.stat(at('f/b.txt'))).etag);
    assert.deepEqual(await adapter.statMany(at('f'), []), []);
  }),
]);
