import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { AlreadyExistsError, NotFoundError, WrongKindError } from '../../../errors/errors.ts';
import type { PutOptions, StorageAdapter } from '../../adapter.ts';
import type { SourcePath } from '../../source-path.ts';
import {
  type CaseDefinition,
  expectBytes,
  expectError,
  expectUnchanged,
  makeBytes,
  namesIn,
  put,
  it,
  theme,
} from '../case.ts';

const LARGE = 2 * 1024 * 1024 + 5;
const RACERS = 10;
// The coarsest clock among stores has whole seconds.
const CLOCK_STEP_MS = 1100;

type Transfer = (
  adapter: StorageAdapter,
  from: SourcePath,
  to: SourcePath,
  options?: PutOptions,
) => Promise<void>;

const refusals = (verb: string, transfer: Transfer): readonly CaseDefinition[] => [
  it(`${verb} over a file replaces it`, async ({ adapter, at }) => {
    await put(adapter, at('f/a.bin'), makeBytes(30));
    await put(adapter, at('g/b.bin'), makeBytes(50_000, 2));
    await transfer(adapter, at('f/a.bin'), at('g/b.bin'));
    await expectBytes(adapter, at('g/b.bin'), makeBytes(30));
    assert.deepEqual(await namesIn(adapter, at('g')), ['b.bin']);
  }),
  it(`${verb} with createOnly refuses every name that is taken, its own too`, async ({ adapter, at }) => {
    await put(adapter, at('a.txt'), 'a');
    await put(adapter, at('b.txt'), 'b');
    await adapter.makeFolder(at('f'));
    await expectUnchanged(adapter, async () => {
      for (const target of ['b.txt', 'f', 'a.txt']) {
        await expectError(
          transfer(adapter, at('a.txt'), at(target), { createOnly: true }),
          AlreadyExistsError,
        );
      }
    });
  }),
  it(`${verb} onto a folder, of a folder, or of nothing is refused`, async ({ adapter, at }) => {
    await put(adapter, at('a.txt'), 'a');
    await put(adapter, at('f/b.txt'), 'b');
    await expectUnchanged(adapter, async () => {
      await expectError(transfer(adapter, at('a.txt'), at('f')), WrongKindError);
      await expectError(transfer(adapter, at('f'), at('new')), WrongKindError);
      for (const missing of ['no', 'f/no', 'no/no', 'a.txt/no']) {
        await expectError(transfer(adapter, at(missing), at('new')), NotFoundError);
      }
      await expectError(transfer(adapter, at('no'), at('a.txt')), NotFoundError);
    });
  }),
  it(`${verb} of a file onto itself loses nothing`, async ({ adapter, at }) => {
    await put(adapter, at('f/a.bin'), makeBytes(5000));
    // A store may reject it or do nothing.
    await transfer(adapter, at('f/a.bin'), at('f/a.bin')).catch(() => undefined);
    await expectBytes(adapter, at('f/a.bin'), makeBytes(5000));
    assert.deepEqual(await namesIn(adapter, at('f')), ['a.bin']);
  }),
];

export const copyTheme = theme('copy', [
  it('a copy holds the same bytes and the source stays', async ({ adapter, at }) => {
    await put(adapter, at('f/a.bin'), makeBytes(LARGE));
    await adapter.makeFolder(at('g'));
    await adapter.copyFile(at('f/a.bin'), at('g/b.bin'));
    await adapter.copyFile(at('f/a.bin'), at('f/c.bin'), { createOnly: true });
    for (const path of ['f/a.bin', 'g/b.bin', 'f/c.bin'])
      await expectBytes(adapter, at(path), makeBytes(LARGE));
  }),
  it('a copy lives by itself: changing one leaves the other', async ({ adapter, at }) => {
    await put(adapter, at('a.txt'), 'a');
    await adapter.copyFile(at('a.txt'), at('b.txt'));
    await put(adapter, at('a.txt'), 'changed');
    await expectBytes(adapter, at('b.txt'), 'a');
    await adapter.removeFile(at('a.txt'));
    await expectBytes(adapter, at('b.txt'), 'a');
  }),
  it('a copy has a fresh modification time', async ({ adapter, at }) => {
    await put(adapter, at('a.txt'), 'a');
    const before = (await adapter.stat(at('a.txt'))).modifiedAt;
    await sleep(CLOCK_STEP_MS);
    await adapter.copyFile(at('a.txt'), at('b.txt'));
    const after = (await adapter.stat(at('b.txt'))).modifiedAt;
    if (before !== undefined && after !== undefined)
      assert.ok(after > before, `${after} is not after ${before}`);
  }),
  ...refusals('a copy', (adapter, ...args) => adapter.copyFile(...args)),
]);

export const moveTheme = theme('move', [
  it('a moved file is at its new path only', async ({ adapter, at }) => {
    await put(adapter, at('f/a.bin'), makeBytes(LARGE));
    await put(adapter, at('f/stays.txt'), 'stays');
    await adapter.makeFolder(at('g'));
    await adapter.moveFile(at('f/a.bin'), at('g/b.bin'), { createOnly: true });
    await expectBytes(adapter, at('g/b.bin'), makeBytes(LARGE));
    assert.deepEqual(await namesIn(adapter, at('f')), ['stays.txt']);
  }),
  {
    needs: 'atomicCreate',
    races: true,
    ...it(`of ${RACERS} files moved to one new name none is lost and one gets it, where creation is atomic`, async (context) => {
      const { adapter, other, at } = context;
      const sources = Array.from({ length: RACERS }, (_, index) => `f/${index}.txt`);
      for (const path of sources) await put(adapter, at(path), path);
      const outcomes = await Promise.allSettled(
        sources.map((path, index) =>
          (index % 2 === 0 ? adapter : other).moveFile(at(path), at('f/prize.txt'), { createOnly: true }),
        ),
      );
      const winners = sources.filter((_, index) => outcomes[index]?.status === 'fulfilled');
      assert.equal(winners.length, 1, `${winners.length} files have the name`);
      await expectBytes(adapter, at('f/prize.txt'), winners[0] ?? '');
      for (const path of sources.filter((source) => !winners.includes(source)))
        await expectBytes(adapter, at(path), path);
    }),
  },
  ...refusals('a move', (adapter, ...args) => adapter.moveFile(...args)),
]);
