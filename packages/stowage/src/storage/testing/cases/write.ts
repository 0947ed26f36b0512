import assert from 'node:assert/strict';
import * as errors from '../../../errors/errors.ts';
import {
  contentOf,
  endlessContent,
  expectAbort,
  expectBytes,
  expectError,
  expectLosers,
  expectUnchanged,
  failingContent,
  makeBytes,
  namesIn,
  put,
  snapshotOf,
  it,
  theme,
} from '../case.ts';

const RACERS = 20;
const LARGE = 1024 * 1024 + 3;

export const writeTheme = theme('write', [
  it('a file and its missing parents are made, and its stat is returned', async ({ adapter, at }) => {
    const bytes = makeBytes(LARGE);
    const stat = await put(adapter, at('a/b/c/file.bin'), bytes);
    assert.deepEqual([stat.name, stat.kind, stat.size], ['file.bin', 'file', LARGE]);
    assert.equal(stat.etag, (await adapter.stat(at('a/b/c/file.bin'))).etag);
    await expectBytes(adapter, at('a/b/c/file.bin'), bytes);
    assert.equal((await adapter.stat(at('a/b'))).kind, 'folder');
  }),
  it('an existing file is replaced, by a shorter one too, and nothing else appears', async (context) => {
    const { adapter, at } = context;
    await put(adapter, at('f/a.bin'), makeBytes(50_000));
    await put(adapter, at('f/a.bin'), 'short');
    await expectBytes(adapter, at('f/a.bin'), 'short');
    assert.deepEqual(await namesIn(adapter, at('f')), ['a.bin']);
  }),
  it('a content that fails leaves nothing, or the old file as it was', async ({ adapter, at }) => {
    await put(adapter, at('f/old.bin'), 'old');
    await expectUnchanged(adapter, async () => {
      for (const path of ['f/old.bin', 'f/new.bin']) {
        const content = failingContent(makeBytes(LARGE), new Error('the content broke off'));
        await assert.rejects(adapter.write(at(path), content));
        assert.ok(content.destroyed, 'the content was not destroyed');
      }
    });
  }),
  it('a content that has failed or was destroyed before is refused', async ({ adapter, at }) => {
    const failed = contentOf('never read').destroy(new Error('too late'));
    await assert.rejects(adapter.write(at('a.txt'), failed));
    await assert.rejects(adapter.write(at('a.txt'), contentOf('never read').destroy()));
    assert.deepEqual(await snapshotOf(adapter), []);
  }),
  it('an abort while the content arrives leaves nothing, or the old file as it was', async (context) => {
    const { adapter, at } = context;
    await put(adapter, at('f/old.bin'), 'old');
    await expectUnchanged(adapter, async () => {
      for (const path of ['f/old.bin', 'f/new.bin']) {
        const content = endlessContent(makeBytes(LARGE));
        await expectAbort(20, (signal) => adapter.write(at(path), content, { signal }));
        assert.ok(content.destroyed, 'the content was not destroyed');
      }
    });
  }),
  it('a content of another length than told is CorruptError and nothing is stored', async (context) => {
    const { adapter, at } = context;
    await put(adapter, at('f/old.bin'), 'old');
    await expectUnchanged(adapter, async () => {
      for (const size of [LARGE - 1, LARGE + 1, 0]) {
        await expectError(put(adapter, at('f/new.bin'), makeBytes(LARGE), { size }), errors.CorruptError);
        await expectError(put(adapter, at('f/old.bin'), makeBytes(LARGE), { size }), errors.CorruptError);
      }
      await expectError(put(adapter, at('f/new.bin'), '', { size: 1 }), errors.CorruptError);
    });
    await put(adapter, at('f/new.bin'), makeBytes(LARGE), { size: LARGE });
    await expectBytes(adapter, at('f/new.bin'), makeBytes(LARGE));
    await put(adapter, at('f/empty.bin'), '', { size: 0 });
  }),
  it('createOnly makes a new file and refuses every name that is taken', async ({ adapter, at }) => {
    await put(adapter, at('f/a.txt'), 'first', { createOnly: true });
    await adapter.makeFolder(at('f/deep'));
    await expectUnchanged(adapter, async () => {
      const content = contentOf('second');
      await expectError(
        adapter.write(at('f/a.txt'), content, { createOnly: true }),
        errors.AlreadyExistsError,
      );
      assert.ok(content.destroyed, 'the content was not destroyed');
      await expectError(
        put(adapter, at('f/deep'), 'second', { createOnly: true }),
        errors.AlreadyExistsError,
      );
    });
  }),
  {
    races: true,
    ...it(`of ${RACERS} writers that create one name exactly one wins, whole, where creation is atomic`, async (context) => {
      const { adapter, other, promises, at } = context;
      const outcomes = await Promise.allSettled(
        Array.from({ length: RACERS }, (_, index) =>
          put(index % 2 === 0 ? adapter : other, at('f/prize.bin'), makeBytes(40_000, index), {
            createOnly: true,
          }),
        ),
      );
      const winners = outcomes.flatMap((outcome, index) => (outcome.status === 'fulfilled' ? [index] : []));
      if (promises.atomicCreate) {
        assert.equal(winners.length, 1, `${winners.length} writers were told that they made the file`);
        await expectBytes(adapter, at('f/prize.bin'), makeBytes(40_000, winners[0]));
      } else assert.ok(winners.length >= 1, 'no writer made the file');
      await expectLosers(outcomes, errors.AlreadyExistsError);
      assert.deepEqual(await namesIn(adapter, at('f')), ['prize.bin']);
    }),
  },
  it(`${RACERS} writers that replace one file leave one of their contents whole`, async ({ adapter, at }) => {
    const contents = Array.from({ length: RACERS }, (_, index) => makeBytes(40_000 + index, index));
    await Promise.all(contents.map((bytes) => put(adapter, at('f/a.bin'), bytes)));
    const { size } = await adapter.stat(at('f/a.bin'));
    await expectBytes(adapter, at('f/a.bin'), contents[(size ?? 0) - 40_000] ?? '');
    assert.deepEqual(await namesIn(adapter, at('f')), ['a.bin']);
  }),
  it('ifMatch replaces only the version it names, or is refused as unsupported', async (context) => {
    const { adapter, promises, at } = context;
    const first = await put(adapter, at('a.txt'), 'one');
    if (!promises.ifMatch) {
      const ifMatch = first.etag ?? '"any"';
      await expectUnchanged(adapter, () =>
        expectError(put(adapter, at('a.txt'), 'two', { ifMatch }), errors.UnsupportedError),
      );
      return;
    }
    assert.ok(first.etag !== undefined, 'a store with ifMatch has versions');
    const second = await put(adapter, at('a.txt'), 'two', { ifMatch: first.etag });
    await expectUnchanged(adapter, async () => {
      await expectError(
        put(adapter, at('a.txt'), 'three', { ifMatch: first.etag }),
        errors.ChangedMeanwhileError,
      );
      await expectError(
        put(adapter, at('new.txt'), 'three', { ifMatch: second.etag }),
        errors.ChangedMeanwhileError,
      );
    });
  }),
  it('a folder of that name is WrongKindError and stays as it was', async ({ adapter, at }) => {
    await put(adapter, at('f/a.txt'), 'a');
    await expectUnchanged(adapter, async () => {
      await expectError(put(adapter, at('f'), 'not a folder'), errors.WrongKindError);
      await expectError(put(adapter, at(''), 'not a folder'), errors.WrongKindError);
    });
  }),
  it('a file where a parent folder must be stays as it was', async ({ adapter, at }) => {
    await put(adapter, at('a.txt'), 'a');
    // Stores of plain keys can hold both; all others reject it.
    await put(adapter, at('a.txt/b.txt'), 'b').catch((error: unknown) => {
      assert.ok(error instanceof errors.StowageError, 'an error of the backend came through');
    });
    await expectBytes(adapter, at('a.txt'), 'a');
  }),
  it('names that differ in case are two files, or one, as the capabilities say', async (context) => {
    const { adapter, promises, at } = context;
    await put(adapter, at('f/Case.txt'), 'one');
    await put(adapter, at('f/cASE.txt'), 'two');
    const found = await namesIn(adapter, at('f'));
    if (promises.caseSensitive) assert.deepEqual(found, ['Case.txt', 'cASE.txt']);
    else assert.equal(found.length, 1);
  }),
]);
