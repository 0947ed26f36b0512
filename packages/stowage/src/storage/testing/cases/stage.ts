import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { AlreadyExistsError, StowageError, WrongKindError } from '../../../errors/errors.ts';
import { spool } from '../../content.ts';
import { placeStaged, stageContent } from '../../staging.ts';
import {
  contentOf,
  endlessContent,
  expectAbort,
  expectBytes,
  expectError,
  expectUnchanged,
  failingContent,
  makeBytes,
  namesIn,
  put,
  snapshotOf,
  it,
  theme,
} from '../case.ts';

const LARGE = 1024 * 1024 + 7;
const RACERS = 20;

/** The contract of staged content, whether the store or the port stages it. */
export const stageTheme = theme('stage', [
  it('staged content is invisible until its commit, then whole', async ({ adapter, at }) => {
    const bytes = makeBytes(LARGE);
    const staged = await stageContent(adapter, contentOf(bytes));
    assert.equal(staged.size, LARGE);
    assert.deepEqual(await snapshotOf(adapter), []);
    const stat = await staged.commit(at('f/deep/a.bin'), { createOnly: true });
    assert.deepEqual([stat.name, stat.kind, stat.size], ['a.bin', 'file', LARGE]);
    await expectBytes(adapter, at('f/deep/a.bin'), bytes);
    assert.deepEqual(await namesIn(adapter), ['f']);
  }),
  it('it can be read several times before its commit', async ({ adapter, at }) => {
    const bytes = makeBytes(LARGE);
    const staged = await stageContent(adapter, contentOf(bytes));
    const readings = await Promise.all([buffer(staged.open()), buffer(staged.open())]);
    for (const found of readings) assert.ok(found.equals(bytes));
    staged.open().destroy();
    await staged.commit(at('a.bin'));
    await expectBytes(adapter, at('a.bin'), bytes);
  }),
  it('a commit to a taken name fails and another name can be tried', async ({ adapter, at }) => {
    await put(adapter, at('a.txt'), 'old');
    await adapter.makeFolder(at('f'));
    const staged = await stageContent(adapter, contentOf('new'));
    await expectUnchanged(adapter, async () => {
      await expectError(staged.commit(at('a.txt'), { createOnly: true }), AlreadyExistsError);
      await expectError(staged.commit(at('f'), { createOnly: true }), AlreadyExistsError);
      await expectError(staged.commit(at('f')), WrongKindError);
    });
    await staged.commit(at('a-1.txt'), { createOnly: true });
    await expectBytes(adapter, at('a-1.txt'), 'new');
    await expectBytes(adapter, at('a.txt'), 'old');
  }),
  it('a commit without createOnly replaces a file', async ({ adapter, at }) => {
    await put(adapter, at('a.txt'), 'old and longer');
    await (await stageContent(adapter, contentOf('new'))).commit(at('a.txt'));
    await expectBytes(adapter, at('a.txt'), 'new');
    assert.deepEqual(await namesIn(adapter), ['a.txt']);
  }),
  {
    needs: 'atomicCreate',
    ...it(`${RACERS} commits to the first free of many names take ${RACERS} names, where creation is atomic`, async (context) => {
      const { adapter, at } = context;
      const names = await Promise.all(
        Array.from({ length: RACERS }, async (_, racer) => {
          const staged = await stageContent(adapter, contentOf(`content ${racer}`));
          for (let number = 0; ; number += 1) {
            const name = `a-${number}.txt`;
            const taken = await staged.commit(at(name), { createOnly: true }).then(
              () => false,
              (error: unknown) => error instanceof AlreadyExistsError || Promise.reject(error as Error),
            );
            if (!taken) return name;
          }
        }),
      );
      assert.equal(new Set(names).size, RACERS);
      for (const [racer, name] of names.entries()) await expectBytes(adapter, at(name), `content ${racer}`);
      assert.equal((await namesIn(adapter)).length, RACERS);
    }),
  },
  it('content is used up by its commit; discarding it then, or twice, does nothing', async (context) => {
    const { adapter, at } = context;
    const staged = await stageContent(adapter, contentOf('a'));
    await staged.commit(at('a.txt'));
    const second = await staged.commit(at('b.txt')).catch((error: unknown) => error);
    assert.ok(second instanceof StowageError, 'a second commit must be refused');
    await staged.discard();
    await staged.discard();
    assert.deepEqual(await namesIn(adapter), ['a.txt']);
    const dropped = await stageContent(adapter, contentOf('b'));
    await dropped.discard();
    await dropped.discard();
    await assert.rejects(dropped.commit(at('b.txt')));
    assert.deepEqual(await namesIn(adapter), ['a.txt']);
  }),
  it('a content that fails or is aborted stages nothing', async ({ adapter }) => {
    const failing = failingContent(makeBytes(LARGE), new Error('broken off'));
    await assert.rejects(stageContent(adapter, failing), /broken off/u);
    const endless = endlessContent(makeBytes(LARGE));
    await expectAbort(20, (signal) => stageContent(adapter, endless, { signal }));
    assert.ok(failing.destroyed && endless.destroyed, 'a content was not destroyed');
    assert.deepEqual(await snapshotOf(adapter), []);
  }),
  it('content staged for no known store is sent across, whole', async ({ adapter, at }) => {
    const staged = await stageContent(adapter, contentOf(makeBytes(LARGE)));
    await put(adapter, at('taken.bin'), 'taken');
    await expectError(
      placeStaged(staged, undefined, adapter, at('taken.bin'), { createOnly: true }),
      AlreadyExistsError,
    );
    const stat = await placeStaged(staged, undefined, adapter, at('a.bin'), { createOnly: true });
    assert.equal(stat.size, LARGE);
    await expectBytes(adapter, at('a.bin'), makeBytes(LARGE));
    assert.deepEqual(await namesIn(adapter), ['a.bin', 'taken.bin']);
  }),
  it('a file of this machine is taken in whole, and may go afterwards', async ({ adapter, at }) => {
    const spooled = await spool(contentOf(makeBytes(LARGE)), {});
    try {
      const { path, size } = spooled;
      const commit = (): Promise<never> => Promise.reject(new Error('it lies in no store'));
      const staged = {
        size,
        file: { path, size },
        open: () => spooled.open(),
        commit,
        discard: async () => {},
      };
      await put(adapter, at('taken.bin'), 'taken');
      await expectError(
        placeStaged(staged, undefined, adapter, at('taken.bin'), { createOnly: true }),
        AlreadyExistsError,
      );
      const stat = await placeStaged(staged, undefined, adapter, at('new/a.bin'), { createOnly: true });
      assert.equal(stat.size, LARGE);
    } finally {
      await spooled.remove();
    }
    await expectBytes(adapter, at('new/a.bin'), makeBytes(LARGE));
    assert.deepEqual(await namesIn(adapter), ['new', 'taken.bin']);
  }),
]);
