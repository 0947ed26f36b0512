import assert from 'node:assert/strict';
import * as errors from '../../../errors/errors.ts';
import type { StorageAdapter } from '../../adapter.ts';
import { copyTree } from '../../copy-tree.ts';
import { copyFolder, moveFolder } from '../../folders.ts';
import { moveFileTo, moveTree } from '../../move-tree.ts';
import type { SourcePath } from '../../source-path.ts';
import {
  type CaseContext,
  bytesAt,
  expectBytes,
  expectError,
  expectReason,
  namesIn,
  put,
  it,
  theme,
} from '../case.ts';

// More than are copied concurrently: the last copy starts when others are done.
const FILES = 18;
const ROUNDS = 8;

const plantTree = async ({ adapter, at }: CaseContext): Promise<void> => {
  await put(adapter, at('tree/deep/a.txt'), 'deep');
  await Promise.all(
    Array.from({ length: FILES }, (_, index) => put(adapter, at(`tree/${index}.txt`), `file ${index}`)),
  );
};

/** The store with some operations replaced, and with the port's generic copies and moves of folders. */
const changed = (adapter: StorageAdapter, operations: Partial<StorageAdapter>): StorageAdapter =>
  new Proxy(adapter, {
    get: (target, key) => {
      if (key === 'copyFolder' || key === 'moveFolder') return undefined;
      const value: unknown = Reflect.get(operations, key) ?? Reflect.get(target, key);
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });

/** A store with concurrent writers: `act` runs once, right after the first file of a copy was stored. */
const interrupted = (adapter: StorageAdapter, act: (made: SourcePath) => Promise<unknown>) => {
  let isFirst = true;
  return changed(adapter, {
    copyFile: async (from, to, options) => {
      await adapter.copyFile(from, to, options);
      if (!isFirst) return;
      isFirst = false;
      await act(to);
    },
  });
};

const textAt = async (adapter: StorageAdapter, path: SourcePath): Promise<string | undefined> =>
  (await bytesAt(adapter, path).catch(errors.ifMissing))?.toString();

/** Changes that others make while a folder or file is copied, moved or rolled back are not lost. */
export const meanwhileTheme = theme('meanwhile', [
  it('what others put into the target of a copy that fails stays, with its folder', async (context) => {
    const { adapter, at } = context;
    await plantTree(context);
    const store = interrupted(adapter, async () => {
      await put(adapter, at('target/theirs.txt'), 'theirs');
      throw new errors.StorageUnavailableError();
    });
    await expectError(copyFolder(store, at('tree'), at('target')), errors.StorageUnavailableError);
    await expectBytes(adapter, at('target/theirs.txt'), 'theirs');
    await expectBytes(adapter, at('tree/deep/a.txt'), 'deep');
    // At most the one copy that was reported as failed.
    assert.ok((await namesIn(adapter, at('target'))).length <= 2);
  }),
  it('what others replace in the target of a copy that fails stays', async (context) => {
    const { adapter, at } = context;
    await plantTree(context);
    let calls = 0;
    const store = changed(adapter, {
      copyFile: async (from, to, options) => {
        calls += 1;
        if (calls < FILES) return adapter.copyFile(from, to, options);
        // Another copy may start in the meantime: it only fails.
        if (calls === FILES) {
          const replaced = (await namesIn(adapter, at('target'))).find((name) => name !== 'deep') ?? '';
          await put(adapter, at('target').child(replaced), 'replaced by others');
        }
        throw new errors.StorageUnavailableError();
      },
    });
    await expectError(copyFolder(store, at('tree'), at('target')), errors.StorageUnavailableError);
    const [left = '', ...more] = await namesIn(adapter, at('target'));
    assert.deepEqual(more, []);
    await expectBytes(adapter, at('target').child(left), 'replaced by others');
  }),
  it('a name that others take inside the target is ContentsConflictError, not AlreadyExistsError', async (context) => {
    const { adapter, at } = context;
    await plantTree(context);
    for (const transfer of [copyFolder, moveFolder]) {
      let calls = 0;
      const store = changed(adapter, {
        copyFile: async (from, to, options) => {
          calls += 1;
          if (calls === FILES) await put(adapter, to, 'theirs');
          await adapter.copyFile(from, to, options);
        },
      });
      await expectError(transfer(store, at('tree'), at('target')), errors.ContentsConflictError);
      assert.equal((await namesIn(adapter, at('tree'))).length, FILES + 1);
      const [left = '', ...more] = await namesIn(adapter, at('target'));
      assert.deepEqual(more, []);
      const path = at('target').child(left);
      await expectBytes(adapter, left === 'deep' ? path.child('a.txt') : path, 'theirs');
      await adapter.removeFolder(at('target'));
    }
    await put(adapter, at('target/x.txt'), 'x');
    await expectError(copyFolder(adapter, at('tree'), at('target')), errors.AlreadyExistsError);
  }),
  it('what others put into or replace in a folder that is moved by copying stays, and is reported', async (context) => {
    const { adapter, at } = context;
    await plantTree(context);
    const store = interrupted(adapter, async (made) => {
      await put(adapter, at('tree').child(made.name), 'replaced while it was moved');
      await put(adapter, at('tree/new.txt'), 'new');
      await put(adapter, at('tree/more/new.txt'), 'new');
    });
    const moved = (path: SourcePath) => ({ storage: store, path });
    const moving = moveTree(moved(at('tree')), moved(at('target')));
    await expectError(moving, errors.MovedInPartError);
    assert.deepEqual(
      (await namesIn(adapter, at('tree'))).filter((name) => !/^\d+\.txt$/u.test(name)),
      ['more', 'new.txt'],
    );
    await expectBytes(adapter, at('tree/more/new.txt'), 'new');
    let replaced = 0;
    for (let index = 0; index < FILES; index += 1) {
      const found = await textAt(adapter, at(`tree/${index}.txt`));
      if (found === 'replaced while it was moved') replaced += 1;
      else assert.equal(found, undefined);
      await expectBytes(adapter, at(`target/${index}.txt`), `file ${index}`);
    }
    assert.equal(replaced, 1);
    await moving.catch((error: unknown) => {
      assert.match(String((error as Error).message), /3 items stay/u);
    });
  }),
  it('uploads into a folder that is moved are at one of its names afterwards', async ({ adapter, at }) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [from, to] = [`from${round}`, `to${round}`];
      for (let index = 0; index < 4; index += 1) await put(adapter, at(`${from}/${index}.txt`), 'old');
      const uploads = Array.from({ length: 4 }, (_, index) =>
        put(adapter, at(`${from}/${index}.txt`), `new ${index}`).then(
          () => index,
          () => undefined,
        ),
      );
      const moving = moveFolder(adapter, at(from), at(to)).catch((error: unknown) => {
        assert.ok(error instanceof errors.StowageError, 'an error of the backend came through');
      });
      const acknowledged = (await Promise.all(uploads)).filter((index) => index !== undefined);
      await moving;
      for (const index of acknowledged) {
        const found = [
          await textAt(adapter, at(`${from}/${index}.txt`)),
          await textAt(adapter, at(`${to}/${index}.txt`)),
        ];
        assert.ok(found.includes(`new ${index}`), `an upload is lost: ${JSON.stringify(found)}`);
      }
    }
  }),
  it('of a file that is renamed while it is replaced neither version is lost', async ({ adapter, at }) => {
    for (let round = 0; round < ROUNDS * 3; round += 1) {
      const [from, to] = [at(`f/a${round}.txt`), at(`f/b${round}.txt`)];
      await put(adapter, from, 'old');
      const [replacing, moving] = await Promise.allSettled([
        put(adapter, from, 'new'),
        adapter.moveFile(from, to, { createOnly: true }),
      ]);
      const found = [await textAt(adapter, from), await textAt(adapter, to)];
      if (replacing.status === 'fulfilled') assert.ok(found.includes('new'), 'the replacing version is lost');
      if (moving.status === 'rejected') {
        assert.ok(moving.reason instanceof errors.StowageError, 'an error of the backend came through');
        assert.equal(found[1], undefined);
      } else assert.notEqual(found[1], undefined);
    }
  }),
  {
    plants: true,
    ...it('a folder with names that no path can have is not moved by copying, and a copy leaves them out', async (context) => {
      const { adapter, at, plant } = context;
      await plantTree(context);
      await plant('tree/evil\\name.txt');
      const [source, target] = [
        { storage: adapter, path: at('tree') },
        { storage: adapter, path: at('target') },
      ];
      await expectError(moveTree(source, target), errors.ContentsConflictError);
      await expectError(adapter.stat(at('target')), errors.NotFoundError);
      await copyTree(source, target);
      assert.equal((await namesIn(adapter, at('target'))).length, FILES + 1);
      let omitted = 0;
      for await (const _page of adapter.list(at('tree'), { onOmitted: (count) => (omitted += count) }));
      assert.equal(omitted, 1);
    }),
  },
  it('a file that is moved by copying and replaced meanwhile stays, and its copy goes', async (context) => {
    const { adapter, at } = context;
    await put(adapter, at('a.txt'), 'old');
    const store = interrupted(adapter, () => put(adapter, at('a.txt'), 'replaced'));
    const moving = moveFileTo({ storage: store, path: at('a.txt') }, { storage: store, path: at('b.txt') });
    await assert.rejects(moving);
    await expectBytes(adapter, at('a.txt'), 'replaced');
    await expectError(adapter.stat(at('b.txt')), errors.NotFoundError);
  }),
  it('a copy or move of a folder that is aborted in its midst leaves the source whole and no copy', async (context) => {
    const { adapter, at } = context;
    await plantTree(context);
    for (const transfer of [copyFolder, moveFolder]) {
      const abort = new AbortController();
      const reason = new Error('enough');
      const store = interrupted(adapter, () => {
        abort.abort(reason);
        return Promise.resolve();
      });
      await expectReason(transfer(store, at('tree'), at('target'), { signal: abort.signal }), reason);
      await expectError(adapter.stat(at('target')), errors.NotFoundError);
      assert.equal((await namesIn(adapter, at('tree'))).length, FILES + 1);
    }
  }),
  it('a move whose signal is aborted once its removal has begun completes', async (context) => {
    const { adapter, at } = context;
    await plantTree(context);
    const abort = new AbortController();
    const store = changed(adapter, {
      removeFile: async (path, options) => {
        await adapter.removeFile(path, options);
        abort.abort(new Error('left'));
      },
    });
    await moveFolder(store, at('tree'), at('target'), { signal: abort.signal });
    await expectError(adapter.stat(at('tree')), errors.NotFoundError);
    assert.equal((await namesIn(adapter, at('target'))).length, FILES + 1);
  }),
]);
