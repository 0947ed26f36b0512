import assert from 'node:assert/strict';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { ChangedMeanwhileError, NotFoundError, WrongKindError } from '../../../errors/errors.ts';
import { bytesAt, expectBytes, expectError, makeBytes, namesIn, put, it, theme } from '../case.ts';

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

const MANY = 100;
const LARGE = 3 * 1024 * 1024 + 17;

export const readTheme = theme('read', [
  it('the bytes come back as they were written, with their stat', async ({ adapter, at }) => {
    const bytes = makeBytes(LARGE);
    await put(adapter, at('f/large.bin'), bytes);
    const { stat, stream } = await adapter.read(at('f/large.bin'));
    assert.ok((await buffer(stream)).equals(bytes));
    assert.deepEqual([stat.name, stat.kind, stat.size], ['large.bin', 'file', LARGE]);
    assert.equal(stat.etag, (await adapter.stat(at('f/large.bin'))).etag);
  }),
  it('an empty file is an empty stream', async ({ adapter, at }) => {
    await put(adapter, at('empty'), '');
    assert.equal((await bytesAt(adapter, at('empty'))).length, 0);
  }),
  it('many small files come whole, in their order, as read gives them; nothing comes of what is no file', async (context) => {
    const { adapter, at } = context;
    if (adapter.readMany === undefined) return;
    const contents = Array.from({ length: 5 }, (_, index) => makeBytes(1000 * index));
    const names = contents.map((_, index) => (index % 2 === 0 ? `f/${index}.bin` : `f/deep/${index}.bin`));
    for (const [index, name] of names.entries())
      await put(adapter, at(name), contents[index] ?? new Uint8Array());
    const asked = ['f/no.bin', ...names, 'f/deep', 'no/no.bin', 'f/0.bin/x'].map(at);
    const files = await adapter.readMany(asked, { bytesUpTo: 10_000 });
    assert.equal(files.length, asked.length);
    for (const [index, file] of files.entries()) {
      const content = contents[index - 1];
      if (content === undefined) assert.equal(file, undefined);
      // A store may leave any file to `read`.
      if (content === undefined || file === undefined) continue;
      assert.ok(Buffer.from(file.bytes).equals(content));
      const { size, modifiedAt } = await adapter.stat(at(names[index - 1] ?? ''));
      assert.deepEqual([file.stat.size, file.stat.modifiedAt], [size, modifiedAt]);
    }
    // The memory holds the bytes of the previous call.
    const memory = { buffer: undefined };
    for (const index of [4, 1, 3]) {
      const [file] = await adapter.readMany([at(names[index] ?? '')], { bytesUpTo: 5000, memory });
      if (file !== undefined) assert.ok(Buffer.from(file.bytes).equals(contents[index] ?? new Uint8Array()));
    }
    const few = await adapter.readMany(names.map(at), { bytesUpTo: 2500 });
    const bytes = few.reduce((sum, file) => sum + (file?.bytes.length ?? 0), 0);
    assert.ok(bytes <= 2500, `gave ${bytes} bytes`);
    assert.deepEqual(await adapter.readMany([], { bytesUpTo: 0 }), []);
  }),
  it('a range yields its first to its last byte, both included', async ({ adapter, at }) => {
    const bytes = makeBytes(200_000);
    await put(adapter, at('a.bin'), bytes);
    for (const [start, end] of [
      [0, 0],
      [0, 199_999],
      [1, 2],
      [65_535, 65_536],
      [100_000, 199_999],
      [199_999, 199_999],
    ] as const) {
      const { stat, stream } = await adapter.read(at('a.bin'), { range: { start, end } });
      assert.ok((await buffer(stream)).equals(bytes.subarray(start, end + 1)), `range ${start}-${end}`);
      assert.equal(stat.size, 200_000, 'stat reports the whole file');
    }
  }),
  it('ifMatch reads the version it names and refuses any other', async ({ adapter, at }) => {
    const { etag } = await put(adapter, at('a.txt'), 'one');
    if (etag === undefined) return;
    assert.equal(
      (await buffer((await adapter.read(at('a.txt'), { ifMatch: etag })).stream)).toString(),
      'one',
    );
    await put(adapter, at('a.txt'), 'two!');
    await expectError(adapter.read(at('a.txt'), { ifMatch: etag }), ChangedMeanwhileError);
    await expectError(adapter.read(at('a.txt'), { ifMatch: '"no-such-version"' }), ChangedMeanwhileError);
  }),
  it('a small file asked for as bytes is whole in them, where they are given, and in the stream else', async (context) => {
    const { adapter, at } = context;
    for (const size of [0, 1, 1000]) {
      const bytes = makeBytes(size);
      await put(adapter, at('a.bin'), bytes);
      const small = await adapter.read(at('a.bin'), { bytesUpTo: 1000 });
      assert.ok(Buffer.from(small.bytes ?? (await buffer(small.stream))).equals(bytes), `${size} bytes`);
      const unused = await adapter.read(at('a.bin'), { bytesUpTo: 1000 });
      assert.ok((await buffer(unused.stream)).equals(bytes), `a stream of ${size} bytes`);
    }
    const large = await adapter.read(at('a.bin'), { bytesUpTo: 999 });
    assert.equal(large.bytes, undefined);
    large.stream.destroy();
    const range = await adapter.read(at('a.bin'), { bytesUpTo: 1000, range: { start: 1, end: 2 } });
    assert.equal((range.bytes ?? (await buffer(range.stream))).length, 2);
  }),
  it('a stream can be destroyed half-way, unread or later', async ({ adapter, at }) => {
    const bytes = makeBytes(LARGE);
    await put(adapter, at('a.bin'), bytes);
    const unread = await adapter.read(at('a.bin'));
    unread.stream.destroy();
    const half = await adapter.read(at('a.bin'));
    await once(half.stream, 'readable');
    half.stream.read(10);
    half.stream.destroy();
    await once(half.stream, 'close');
    await expectBytes(adapter, at('a.bin'), bytes);
    await adapter.removeFile(at('a.bin'));
  }),
  {
    needs: 'stableReads',
    ...it('where reads are stable, a reader keeps its content when the file is replaced or removed', async (context) => {
      const { adapter, at } = context;
      const bytes = makeBytes(LARGE);
      await put(adapter, at('a.bin'), bytes);
      const replaced = await adapter.read(at('a.bin'));
      await once(replaced.stream, 'readable');
      await put(adapter, at('a.bin'), makeBytes(LARGE, 2));
      assert.ok((await buffer(replaced.stream)).equals(bytes));
      const removed = await adapter.read(at('a.bin'));
      await once(removed.stream, 'readable');
      await adapter.removeFile(at('a.bin'));
      assert.ok((await buffer(removed.stream)).equals(makeBytes(LARGE, 2)));
    }),
  },
  it('many readers of one file do not disturb each other', async ({ adapter, at }) => {
    const bytes = makeBytes(300_000);
    await put(adapter, at('a.bin'), bytes);
    const all = await Promise.all(Array.from({ length: 12 }, () => bytesAt(adapter, at('a.bin'))));
    for (const found of all) assert.ok(found.equals(bytes));
  }),
  it(`a read works after ${MANY} that failed`, async ({ adapter, at }) => {
    const { etag } = await put(adapter, at('a.txt'), 'a');
    await put(adapter, at('f/b.txt'), 'b');
    for (let index = 0; index < MANY; index += 1) {
      const failing = [
        adapter.read(at('no.txt')),
        adapter.read(at('f')),
        ...(etag === undefined ? [] : [adapter.read(at('a.txt'), { ifMatch: '"another"' })]),
      ];
      for (const { status } of await Promise.allSettled(failing))
        assert.equal(status, 'rejected', 'the read succeeded');
    }
    await expectBytes(adapter, at('a.txt'), 'a');
  }),
  it('slow readers do not keep others from writing and listing, and all get their bytes in the end', async (context) => {
    const { adapter, at } = context;
    const bytes = makeBytes(LARGE);
    await put(adapter, at('large.bin'), bytes);
    // A store with fewer connections than readers makes some of them wait.
    const readers = Array.from({ length: 8 }, () => adapter.read(at('large.bin')));
    await Promise.any(readers);
    await put(adapter, at('f/a.txt'), 'a');
    assert.deepEqual(await namesIn(adapter, at('f')), ['a.txt']);
    const read = readers.map(async (reader) => buffer((await reader).stream));
    for (const content of await Promise.all(read)) assert.ok(content.equals(bytes));
    await expectBytes(adapter, at('f/a.txt'), 'a');
  }),
  it('nothing there is NotFoundError, a folder WrongKindError', async ({ adapter, at }) => {
    await put(adapter, at('f/a.txt'), 'a');
    for (const path of ['no', 'f/no', 'no/no', 'f/a.txt/no'])
      await expectError(adapter.read(at(path)), NotFoundError);
    await expectError(adapter.read(at('f')), WrongKindError);
    await expectError(adapter.read(at('')), WrongKindError);
  }),
]);
