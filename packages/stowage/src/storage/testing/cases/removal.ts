import assert from 'node:assert/strict';
import {
  ChangedMeanwhileError,
  NotEmptyError,
  NotFoundError,
  StorageDeniedError,
  WrongKindError,
} from '../../../errors/errors.ts';
import { expectBytes, expectError, expectLosers, expectUnchanged, namesIn, put, it, theme } from '../case.ts';

const ROUNDS = 12;

/** Conditional removal, and removal of empty folders: nothing is removed that the caller has not seen. */
export const removalTheme = theme('removal', [
  it('a file is removed while it is unchanged, also after it was read', async ({ adapter, at }) => {
    const written = await put(adapter, at('f/a.txt'), 'a');
    await expectBytes(adapter, at('f/a.txt'), 'a');
    await adapter.removeFile(at('f/a.txt'), { ifUnchanged: written });
    await put(adapter, at('f/b.txt'), 'b');
    const looked = await adapter.stat(at('f/b.txt'));
    await adapter.removeFile(at('f/b.txt'), { ifUnchanged: looked });
    await expectError(adapter.stat(at('f/a.txt')), NotFoundError);
    await expectError(adapter.stat(at('f/b.txt')), NotFoundError);
  }),
  it('a file that was replaced is not removed as the one that it was', async ({ adapter, at }) => {
    const written = await put(adapter, at('a.txt'), 'old');
    const looked = await adapter.stat(at('a.txt'));
    await put(adapter, at('a.txt'), 'another length');
    for (const ifUnchanged of [written, looked])
      await expectError(adapter.removeFile(at('a.txt'), { ifUnchanged }), ChangedMeanwhileError);
    await expectBytes(adapter, at('a.txt'), 'another length');
  }),
  it('a file that was replaced by as many bytes is not removed either, where versions can be told', async (context) => {
    const { adapter, at } = context;
    const written = await put(adapter, at('a.txt'), 'old');
    const replaced = await put(adapter, at('a.txt'), 'new');
    if (written.etag === undefined || written.etag === replaced.etag) return;
    await expectError(adapter.removeFile(at('a.txt'), { ifUnchanged: written }), ChangedMeanwhileError);
    await expectBytes(adapter, at('a.txt'), 'new');
  }),
  it('a conditional removal of nothing is NotFoundError, of a folder WrongKindError', async (context) => {
    const { adapter, at } = context;
    const written = await put(adapter, at('a.txt'), 'a');
    await adapter.removeFile(at('a.txt'));
    await expectError(adapter.removeFile(at('a.txt'), { ifUnchanged: written }), NotFoundError);
    await adapter.makeFolder(at('a.txt'));
    await expectError(adapter.removeFile(at('a.txt'), { ifUnchanged: written }), WrongKindError);
  }),
  it('an empty folder is removed, and only that', async ({ adapter, at }) => {
    await adapter.makeFolder(at('f/g/h'));
    await put(adapter, at('f/g2/a.txt'), 'a');
    await adapter.removeEmptyFolder(at('f/g/h'));
    await adapter.removeEmptyFolder(at('f/g'));
    assert.deepEqual(await namesIn(adapter, at('f')), ['g2']);
  }),
  it('a folder that holds a file or a folder is NotEmptyError and keeps all of it', async (context) => {
    const { adapter, at } = context;
    await put(adapter, at('file/a.txt'), 'a');
    await adapter.makeFolder(at('folder/sub'));
    await put(adapter, at('deep/sub/a.txt'), 'a');
    await expectUnchanged(adapter, async () => {
      for (const path of ['file', 'folder', 'deep'])
        await expectError(adapter.removeEmptyFolder(at(path)), NotEmptyError);
    });
  }),
  it('to remove an empty folder that is missing, a file or the root is refused', async ({ adapter, at }) => {
    await put(adapter, at('a.txt'), 'a');
    await expectUnchanged(adapter, async () => {
      for (const path of ['no', 'no/no', 'a.txt/no'])
        await expectError(adapter.removeEmptyFolder(at(path)), NotFoundError);
      await expectError(adapter.removeEmptyFolder(at('a.txt')), WrongKindError);
      await expectError(adapter.removeEmptyFolder(at('')), StorageDeniedError);
    });
  }),
  {
    plants: true,
    ...it('a folder that holds only what no path can name is not empty', async ({ adapter, at, plant }) => {
      await adapter.makeFolder(at('f'));
      await plant('f/evil\\name.txt');
      await expectError(adapter.removeEmptyFolder(at('f')), NotEmptyError);
      assert.equal((await adapter.stat(at('f'))).kind, 'folder');
    }),
  },
  it('what is put into a folder while it is removed as empty is never lost', async ({ adapter, at }) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const folder = `f${round}`;
      await adapter.makeFolder(at(folder));
      const [putting, removing] = await Promise.allSettled([
        put(adapter, at(`${folder}/a.txt`), 'a'),
        adapter.removeEmptyFolder(at(folder)),
      ]);
      await expectLosers([removing], NotEmptyError);
      // A put that reported failure may have lost its folder; the file of a successful one exists.
      if (putting.status === 'fulfilled') await expectBytes(adapter, at(`${folder}/a.txt`), 'a');
    }
  }),
]);
