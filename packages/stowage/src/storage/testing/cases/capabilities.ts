import assert from 'node:assert/strict';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { ifMissing } from '../../../errors/errors.ts';
import type { StorageAdapter } from '../../adapter.ts';
import { capabilityNames } from '../../capabilities.ts';
import { moveFolder } from '../../folders.ts';
import type { SourcePath } from '../../source-path.ts';
import { expectBytes, makeBytes, put, it, theme } from '../case.ts';

const REPLACEMENTS = 20;
const FILES = 12;
// The coarsest clock among stores has whole seconds.
const CLOCK_STEP_MS = 1100;

const isThere = async (adapter: StorageAdapter, path: SourcePath): Promise<boolean> =>
  (await adapter.stat(path).catch(ifMissing)) !== undefined;

/** Repeats `check` until the work is done. Rejects with the first failure. */
const during = async (work: Promise<unknown>, check: () => Promise<void>): Promise<void> => {
  let isDone = false;
  const ended = work.finally(() => {
    isDone = true;
  });
  const looking = async (): Promise<void> => {
    // Without this turn, a store in memory would never let the work run.
    for (; !isDone; await turn()) await check();
  };
  const outcomes = await Promise.allSettled([ended, looking()]);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
};

/** Promises beyond the contract that have no theme of their own. */
export const capabilityTheme = theme('capabilities', [
  it('the store says of itself what is promised for it', async ({ adapter, declared, at }) => {
    // Some stores detect their capabilities at their first write and lookup.
    await put(adapter, at('a.txt'), 'a', { createOnly: true });
    await adapter.stat(at('a.txt'));
    const { capabilities } = adapter;
    for (const name of capabilityNames) {
      if (declared[name] !== undefined && capabilities[name] !== undefined)
        assert.equal(capabilities[name], declared[name], name);
    }
  }),
  it('operations that are promised are there', async ({ adapter, promises }) => {
    if (promises.walk) assert.ok(adapter.walk !== undefined, 'there is no walk');
    if (promises.temporaryUrls) assert.ok(adapter.temporaryUrl !== undefined, 'there is no temporaryUrl');
  }),
  {
    needs: 'atomicReplace',
    ...it('while a file is replaced each lookup finds it', async ({ adapter, at }) => {
      const path = at('f/a.bin');
      await put(adapter, path, makeBytes(1));
      const replace = async (): Promise<void> => {
        for (let size = 2; size < REPLACEMENTS; size += 1) await put(adapter, path, makeBytes(size, size));
      };
      await during(replace(), async () => {
        assert.ok(await isThere(adapter, path), 'the file was missing while it was replaced');
      });
      await expectBytes(adapter, path, makeBytes(REPLACEMENTS - 1, REPLACEMENTS - 1));
    }),
  },
  {
    needs: 'atomicFolderMove',
    ...it('a folder that moves is at one of its names at a time', async ({ adapter, at }) => {
      assert.ok(adapter.moveFolder !== undefined, 'there is no moveFolder');
      const names = Array.from({ length: FILES }, (_, index) => `${index}.txt`);
      for (const name of names) await put(adapter, at(`from/${name}`), name);
      await during(moveFolder(adapter, at('from'), at('to')), async () => {
        for (const name of names) {
          if (!(await isThere(adapter, at(`to/${name}`)))) continue;
          for (const other of names)
            assert.ok(!(await isThere(adapter, at(`from/${other}`))), 'half of the folder has moved');
        }
      });
      for (const name of names) await expectBytes(adapter, at(`to/${name}`), name);
    }),
  },
  {
    needs: 'keepsTimes',
    ...it('a file that is moved keeps its time', async ({ adapter, at }) => {
      await put(adapter, at('f/a.txt'), 'a');
      await adapter.makeFolder(at('g'));
      const { modifiedAt } = await adapter.stat(at('f/a.txt'));
      assert.ok(modifiedAt !== undefined, 'a file without a time');
      await sleep(CLOCK_STEP_MS);
      await adapter.moveFile(at('f/a.txt'), at('g/b.txt'), { createOnly: true });
      assert.equal((await adapter.stat(at('g/b.txt'))).modifiedAt, modifiedAt);
    }),
  },
  {
    needs: 'temporaryUrls',
    ...it('a temporary URL is one that others can ask', async ({ adapter, at }) => {
      await put(adapter, at('f/a ü.txt'), 'a');
      const as = { lifetime: 60, contentType: 'text/plain', disposition: 'inline' };
      const url = await adapter.temporaryUrl?.(at('f/a ü.txt'), as);
      assert.match(url ?? 'none', /^https?:\/\/[^/]/u);
    }),
  },
]);
