import assert from 'node:assert/strict';
import * as errors from '../../../errors/errors.ts';
import { copyFolder, moveFolder } from '../../folders.ts';
import {
  below,
  type CaseContext,
  entriesOf,
  expectBytes,
  expectError,
  expectLosers,
  expectUnchanged,
  makeBytes,
  namesIn,
  put,
  snapshotOf,
  it,
  theme,
} from '../case.ts';

const RACERS = 10;

const plantTree = async ({ adapter, promises, at }: CaseContext): Promise<void> => {
  await put(adapter, at('tree/a.txt'), 'a');
  await put(adapter, at('tree/deep/b.bin'), makeBytes(70_000));
  await put(adapter, at('tree/deep/deeper/c.txt'), 'c');
  if (promises.emptyFolders) await adapter.makeFolder(at('tree/empty'));
};

/** The contract of `makeFolder`, `removeFile` and `removeFolder`, and of copying and moving folders. */
export const folderTheme = theme('folders', [
  it('a folder is made with its missing parents', async ({ adapter, promises, at }) => {
    await adapter.makeFolder(at('a/b/c'));
    assert.equal((await adapter.stat(at('a/b/c'))).kind, 'folder');
    assert.deepEqual(await namesIn(adapter, at('a')), ['b']);
    if (promises.emptyFolders) assert.deepEqual(await entriesOf(adapter, at('a/b/c')), []);
  }),
  it('a name that is taken is AlreadyExistsError', async ({ adapter, at }) => {
    await adapter.makeFolder(at('f'));
    await put(adapter, at('a.txt'), 'a');
    await put(adapter, at('by-file/b.txt'), 'b');
    await expectUnchanged(adapter, async () => {
      for (const path of ['f', 'a.txt', 'by-file', ''])
        await expectError(adapter.makeFolder(at(path)), errors.AlreadyExistsError);
    });
  }),
  {
    races: true,
    ...it(`of ${RACERS} makers of one folder exactly one wins where creation is atomic`, async (context) => {
      const { adapter, other, promises, at } = context;
      const outcomes = await Promise.allSettled(
        Array.from({ length: RACERS }, (_, index) =>
          (index % 2 === 0 ? adapter : other).makeFolder(at('p/prize')),
        ),
      );
      const winners = outcomes.filter((outcome) => outcome.status === 'fulfilled').length;
      if (promises.atomicCreate) assert.equal(winners, 1);
      else assert.ok(winners >= 1);
      await expectLosers(outcomes, errors.AlreadyExistsError);
    }),
  },
  it('a removed file is gone and its neighbours are not', async ({ adapter, at }) => {
    for (const name of ['a', 'a.txt', 'a.txt2', 'ab']) await put(adapter, at(`f/${name}`), name);
    await adapter.removeFile(at('f/a.txt'));
    assert.deepEqual(await namesIn(adapter, at('f')), ['a', 'a.txt2', 'ab']);
    await expectError(adapter.stat(at('f/a.txt')), errors.NotFoundError);
  }),
  it('a folder whose last file is removed stays, where folders can be empty', async (context) => {
    const { adapter, promises, at } = context;
    await adapter.makeFolder(at('f'));
    await put(adapter, at('f/a.txt'), 'a');
    await adapter.removeFile(at('f/a.txt'));
    if (promises.emptyFolders) assert.equal((await adapter.stat(at('f'))).kind, 'folder');
  }),
  it('removing what is not there, or of another kind, is refused', async ({ adapter, at }) => {
    await put(adapter, at('f/a.txt'), 'a');
    await expectUnchanged(adapter, async () => {
      for (const path of ['no', 'f/no', 'no/no', 'f/a.txt/no']) {
        await expectError(adapter.removeFile(at(path)), errors.NotFoundError);
        await expectError(adapter.removeFolder(at(path)), errors.NotFoundError);
      }
      await expectError(adapter.removeFile(at('f')), errors.WrongKindError);
      await expectError(adapter.removeFile(at('')), errors.WrongKindError);
      await expectError(adapter.removeFolder(at('f/a.txt')), errors.WrongKindError);
      await expectError(adapter.removeFolder(at('')), errors.StorageDeniedError);
    });
  }),
  it('a removed folder goes with all it holds, and only that', async (context) => {
    const { adapter, at } = context;
    await plantTree(context);
    await put(adapter, at('tree2/keep.txt'), 'keep');
    await put(adapter, at('tree.txt'), 'keep');
    await adapter.removeFolder(at('tree'));
    assert.deepEqual(await namesIn(adapter), ['tree.txt', 'tree2']);
    await expectError(adapter.stat(at('tree/deep/b.bin')), errors.NotFoundError);
    await expectBytes(adapter, at('tree2/keep.txt'), 'keep');
  }),
  it('a folder is copied with all it holds, the source stays', async (context) => {
    const { adapter, promises, at } = context;
    await plantTree(context);
    await copyFolder(adapter, at('tree'), at('copy'));
    const snapshot = await snapshotOf(adapter);
    assert.deepEqual(below(snapshot, 'copy'), below(snapshot, 'tree'));
    assert.equal(below(snapshot, 'tree').length, promises.emptyFolders ? 7 : 6);
  }),
  it('a folder is moved with all it holds', async (context) => {
    const { adapter, at } = context;
    await plantTree(context);
    const before = below(await snapshotOf(adapter), 'tree');
    await moveFolder(adapter, at('tree'), at('moved'));
    assert.deepEqual(below(await snapshotOf(adapter), 'moved'), before);
    assert.deepEqual(await namesIn(adapter), ['moved']);
  }),
  it('copying and moving a folder never touches what has the name', async (context) => {
    const { adapter, promises, at } = context;
    await plantTree(context);
    await put(adapter, at('taken/x.txt'), 'x');
    await put(adapter, at('file.txt'), 'file');
    if (promises.emptyFolders) await adapter.makeFolder(at('hollow'));
    await expectUnchanged(adapter, async () => {
      const targets = ['taken', 'file.txt', ...(promises.emptyFolders ? ['hollow'] : [])];
      for (const target of targets) {
        await expectError(copyFolder(adapter, at('tree'), at(target)), errors.AlreadyExistsError);
        await expectError(moveFolder(adapter, at('tree'), at(target)), errors.AlreadyExistsError);
      }
    });
  }),
  it('copying and moving what is no folder, or into itself, is refused', async (context) => {
    const { adapter, at } = context;
    await plantTree(context);
    await expectUnchanged(adapter, async () => {
      for (const transfer of [copyFolder, moveFolder]) {
        await expectError(transfer(adapter, at('no'), at('new')), errors.NotFoundError);
        await expectError(transfer(adapter, at('tree/a.txt'), at('new')), errors.WrongKindError);
        await expectError(transfer(adapter, at('tree'), at('tree/deep/new')), errors.IntoItselfError);
      }
    });
  }),
  it('a folder below a file is never made and the file stays', async ({ adapter, at }) => {
    await put(adapter, at('a.txt'), 'a');
    await adapter.makeFolder(at('a.txt/sub')).catch((error: unknown) => {
      assert.ok(error instanceof errors.StowageError, 'an error of the backend came through');
    });
    await expectBytes(adapter, at('a.txt'), 'a');
  }),
]);

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
    await expectError(adapter.stat(at('f/a.txt')), errors.NotFoundError);
    await expectError(adapter.stat(at('f/b.txt')), errors.NotFoundError);
  }),
  it('a file that was replaced is not removed as the one that it was', async ({ adapter, at }) => {
    const written = await put(adapter, at('a.txt'), 'old');
    const looked = await adapter.stat(at('a.txt'));
    await put(adapter, at('a.txt'), 'another length');
    for (const ifUnchanged of [written, looked])
      await expectError(adapter.removeFile(at('a.txt'), { ifUnchanged }), errors.ChangedMeanwhileError);
    await expectBytes(adapter, at('a.txt'), 'another length');
  }),
  it('a file that was replaced by as many bytes is not removed either, where versions can be told', async (context) => {
    const { adapter, at } = context;
    const written = await put(adapter, at('a.txt'), 'old');
    const replaced = await put(adapter, at('a.txt'), 'new');
    if (written.etag === undefined || written.etag === replaced.etag) return;
    await expectError(
      adapter.removeFile(at('a.txt'), { ifUnchanged: written }),
      errors.ChangedMeanwhileError,
    );
    await expectBytes(adapter, at('a.txt'), 'new');
  }),
  it('a conditional removal of nothing is NotFoundError, of a folder WrongKindError', async (context) => {
    const { adapter, at } = context;
    const written = await put(adapter, at('a.txt'), 'a');
    await adapter.removeFile(at('a.txt'));
    await expectError(adapter.removeFile(at('a.txt'), { ifUnchanged: written }), errors.NotFoundError);
    await adapter.makeFolder(at('a.txt'));
    await expectError(adapter.removeFile(at('a.txt'), { ifUnchanged: written }), errors.WrongKindError);
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
        await expectError(adapter.removeEmptyFolder(at(path)), errors.NotEmptyError);
    });
  }),
  it('to remove an empty folder that is missing, a file or the root is refused', async ({ adapter, at }) => {
    await put(adapter, at('a.txt'), 'a');
    await expectUnchanged(adapter, async () => {
      for (const path of ['no', 'no/no', 'a.txt/no'])
        await expectError(adapter.removeEmptyFolder(at(path)), errors.NotFoundError);
      await expectError(adapter.removeEmptyFolder(at('a.txt')), errors.WrongKindError);
      await expectError(adapter.removeEmptyFolder(at('')), errors.StorageDeniedError);
    });
  }),
  {
    plants: true,
    ...it('a folder that holds only what no path can name is not empty', async ({ adapter, at, plant }) => {
      await adapter.makeFolder(at('f'));
      await plant('f/evil\\name.txt');
      await expectError(adapter.removeEmptyFolder(at('f')), errors.NotEmptyError);
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
      await expectLosers([removing], errors.NotEmptyError);
      // A put that reported failure may have lost its folder; the file of a successful one exists.
      if (putting.status === 'fulfilled') await expectBytes(adapter, at(`${folder}/a.txt`), 'a');
    }
  }),
]);
