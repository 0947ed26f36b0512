import assert from 'node:assert/strict';
import * as errors from '../../../errors/errors.ts';
import type { StorageAdapter, OperationOptions } from '../../adapter.ts';
import { copyFolder, moveFolder } from '../../folders.ts';
import { placeStaged, stageContent } from '../../staging.ts';
import {
  below,
  type CaseContext,
  type CaseDefinition,
  contentOf,
  expectAbort,
  expectBytes,
  expectError,
  expectUnchanged,
  makeBytes,
  put,
  snapshotOf,
  it,
  theme,
  entriesOf,
  expectReason,
} from '../case.ts';
import { type Fault, withFaults, type OptionalOperation } from '../with-faults.ts';

type Operation = (context: CaseContext, options: OperationOptions) => Promise<unknown>;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  stat: ({ adapter, at }, options) => adapter.stat(at('f/a.txt'), options),
  list: ({ adapter, at }, options) => entriesOf(adapter, at('f'), options),
  read: ({ adapter, at }, options) => adapter.read(at('f/a.txt'), options),
  write: ({ adapter, at }, options) => adapter.write(at('f/a.txt'), contentOf('new'), options),
  makeFolder: ({ adapter, at }, options) => adapter.makeFolder(at('new'), options),
  removeFile: ({ adapter, at }, options) => adapter.removeFile(at('f/a.txt'), options),
  removeFolder: ({ adapter, at }, options) => adapter.removeFolder(at('f'), options),
  copyFile: ({ adapter, at }, options) => adapter.copyFile(at('f/a.txt'), at('f/b.txt'), options),
  moveFile: ({ adapter, at }, options) => adapter.moveFile(at('f/a.txt'), at('f/b.txt'), options),
  copyFolder: ({ adapter, at }, options) => copyFolder(adapter, at('f'), at('g'), options),
  moveFolder: ({ adapter, at }, options) => moveFolder(adapter, at('f'), at('g'), options),
  statMany: ({ adapter, at }, options) =>
    adapter.statMany?.(at('f'), ['a.txt'], options) ?? Promise.reject(options.signal?.reason as Error),
  readMany: ({ adapter, at }, options) =>
    adapter.readMany?.([at('f/a.txt')], { ...options, bytesUpTo: 10 }) ??
    Promise.reject(options.signal?.reason as Error),
  stage: ({ adapter }, options) => stageContent(adapter, contentOf('new'), options),
  commit: async ({ adapter, at }, options) => {
    const staged = await stageContent(adapter, contentOf('new'));
    try {
      await staged.commit(at('f/a.txt'), options);
    } finally {
      await staged.discard();
    }
  },
};

const abortBefore = ([name, run]: readonly [string, Operation]): CaseDefinition =>
  it(`${name} with an aborted signal rejects with its reason and does nothing`, async (context) => {
    await put(context.adapter, context.at('f/a.txt'), 'a');
    const reason = new Error('aborted before');
    await expectUnchanged(context.adapter, () =>
      expectReason(run(context, { signal: AbortSignal.abort(reason) }), reason),
    );
  });

/** The effect of a signal on each operation. */
export const abortTheme = theme('abort', [
  ...Object.entries(OPERATIONS).map(abortBefore),
  it('a content handed over with an aborted signal is destroyed', async ({ adapter, at }) => {
    const contents = [contentOf('a'), contentOf('b')] as const;
    const options = { signal: AbortSignal.abort(new Error('aborted before')) };
    await assert.rejects(adapter.write(at('a.txt'), contents[0], options));
    await assert.rejects(stageContent(adapter, contents[1], options));
    for (const content of contents) assert.ok(content.destroyed);
  }),
  it('a signal that is never aborted changes nothing', async (context) => {
    const { signal } = new AbortController();
    for (const [name, run] of Object.entries(OPERATIONS)) {
      if ((name === 'statMany' || name === 'readMany') && context.adapter[name] === undefined) continue;
      for (const folder of ['f', 'g', 'new']) {
        await context.adapter.removeFolder(context.at(folder)).catch(() => undefined);
      }
      await put(context.adapter, context.at('f/a.txt'), 'a');
      const result = await run(context, { signal });
      if (name === 'read') (result as { stream: { destroy: () => void } }).stream.destroy();
      if (name === 'stage') await (result as { discard: () => Promise<void> }).discard();
    }
  }),
]);

const LARGE = 300_000;
// More than are copied concurrently: the last copy starts when others are done.
const FILES = 17;
const GENERIC: readonly OptionalOperation[] = ['copyFolder', 'moveFolder', 'stage', 'statMany'];

/** The store with faults, without its optional operations, so that the port's generic ones are tested. */
const faulty = (adapter: StorageAdapter, ...faults: readonly Fault[]): StorageAdapter =>
  withFaults(adapter, faults, { hide: GENERIC });

const plantTree = async ({ adapter, at }: CaseContext, files = FILES): Promise<void> => {
  await put(adapter, at('tree/deep/deeper/b.bin'), makeBytes(LARGE));
  await Promise.all(
    Array.from({ length: files }, (_, index) => put(adapter, at(`tree/${index}.txt`), `file ${index}`)),
  );
  await put(adapter, at('bystander.txt'), 'untouched');
};

const COPY_FAULTS: readonly (readonly [what: string, fault: Fault])[] = [
  ['the first copy is refused', { operation: 'copyFile', effect: 'fail-before', call: 1 }],
  ['the last copy is refused', { operation: 'copyFile', effect: 'fail-before', call: FILES + 1 }],
  ['every copy is refused', { operation: 'copyFile', effect: 'fail-before' }],
  ['a folder cannot be made', { operation: 'makeFolder', effect: 'fail-before', call: 2 }],
  ['a folder cannot be listed', { operation: 'list', effect: 'fail-before', call: 3 }],
  ['a listing breaks off after its entries', { operation: 'list', effect: 'fail-after', call: 2 }],
];

const copyBreaks = ([what, fault]: readonly [string, Fault]): CaseDefinition =>
  it(`copying or moving a folder while ${what}: the source is whole, nothing of the target remains`, async (context) => {
    const { adapter, at } = context;
    await plantTree(context);
    await expectUnchanged(adapter, async () => {
      for (const transfer of [copyFolder, moveFolder])
        await expectError(
          transfer(faulty(adapter, fault), at('tree'), at('target')),
          errors.StorageUnavailableError,
        );
    });
  });

const WRITE_FAULTS: readonly Fault[] = [
  { operation: 'write', effect: 'fail-before', call: 1 },
  { operation: 'write', effect: 'cut', bytes: LARGE / 2, call: 1 },
  { operation: 'write', effect: 'short', bytes: LARGE / 2, call: 1 },
  { operation: 'write', effect: 'cut', bytes: 0, call: 1 },
];

/** Promises of the port's generic operations when the store fails. */
export const faultTheme = theme('faults', [
  ...COPY_FAULTS.map(copyBreaks),
  it('copying or moving a folder that is aborted while the store stalls: the source is whole, nothing remains', async (context) => {
    const { adapter, at } = context;
    await plantTree(context);
    await expectUnchanged(adapter, async () => {
      for (const transfer of [copyFolder, moveFolder]) {
        const stalling = faulty(adapter, { operation: 'copyFile', effect: 'stall', call: 5 });
        await expectAbort(50, (signal) => transfer(stalling, at('tree'), at('target'), { signal }));
      }
    });
  }),
  it('copying or moving a folder while the response of a copy is lost: the source is whole, at most that copy remains', async (context) => {
    const { adapter, at } = context;
    await plantTree(context);
    for (const [index, transfer] of [copyFolder, moveFolder].entries()) {
      const target = `target${index}`;
      const before = below(await snapshotOf(adapter), 'tree');
      const broken = faulty(adapter, { operation: 'copyFile', effect: 'fail-after', call: 10 });
      await expectError(transfer(broken, at('tree'), at(target)), errors.StorageUnavailableError);
      const after = await snapshotOf(adapter);
      assert.deepEqual(below(after, 'tree'), before);
      // Its owner is unknown, so it must not be removed.
      assert.ok(below(after, target).filter((line) => !line.endsWith('/')).length <= 1);
    }
  }),
  it('a moved folder that the store does not let be emptied is whole at its source, and no copy remains', async (context) => {
    await plantTree(context);
    const broken = faulty(context.adapter, {
      operation: 'removeFile',
      effect: 'fail-before',
      path: (path) => path.segments[0] === 'tree',
      error: new errors.StorageDeniedError(),
    });
    await expectUnchanged(context.adapter, () =>
      expectError(moveFolder(broken, context.at('tree'), context.at('target')), errors.StorageDeniedError),
    );
  }),
  it('a moved folder whose removal breaks off is whole at its target, and nothing else is removed', async (context) => {
    const { adapter, at } = context;
    // Enough files for a removal that is interrupted halfway.
    await plantTree(context, 12);
    const before = below(await snapshotOf(adapter), 'tree');
    for (const [effect, call] of [
      ['fail-before', 1],
      ['fail-after', 1],
      ['fail-before', 7],
      ['fail-after', 7],
    ] as const) {
      const broken = faulty(adapter, {
        operation: 'removeFile',
        effect,
        call,
        path: (path) => path.segments[0] === 'tree',
      });
      await expectError(moveFolder(broken, at('tree'), at('target')), errors.MovedInPartError);
      assert.deepEqual(below(await snapshotOf(adapter), 'target'), before);
      await adapter.removeFolder(at('tree'));
      await moveFolder(adapter, at('target'), at('tree'));
    }
  }),
  it('a commit that fails stores nothing and can be tried again', async ({ adapter, at }) => {
    for (const [index, fault] of WRITE_FAULTS.entries()) {
      const broken = faulty(adapter, fault);
      const staged = await stageContent(broken, contentOf(makeBytes(LARGE)));
      const path = at(`f/${index}.bin`);
      await expectUnchanged(adapter, () =>
        expectError(
          placeStaged(staged, broken, broken, path),
          errors.StorageUnavailableError,
          errors.CorruptError,
        ),
      );
      await placeStaged(staged, broken, broken, path, { createOnly: true });
      await expectBytes(adapter, path, makeBytes(LARGE));
    }
  }),
  it('a commit that stalls ends with its signal, stores nothing and can be tried again', async (context) => {
    const { adapter, at } = context;
    const stalling = faulty(adapter, { operation: 'write', effect: 'stall', call: 1 });
    const staged = await stageContent(stalling, contentOf(makeBytes(LARGE)));
    await expectUnchanged(adapter, () => expectAbort(20, (signal) => staged.commit(at('a.bin'), { signal })));
    await staged.commit(at('a.bin'), { createOnly: true });
    await expectBytes(adapter, at('a.bin'), makeBytes(LARGE));
  }),
  it('what is read from a stream that breaks or ends early is never stored as if it were whole', async (context) => {
    const { adapter, at } = context;
    await put(adapter, at('a.bin'), makeBytes(LARGE));
    for (const effect of ['cut', 'short'] as const) {
      const broken = faulty(adapter, { operation: 'read', effect, bytes: LARGE / 3 });
      await expectUnchanged(adapter, async () => {
        const { stat, stream } = await broken.read(at('a.bin'));
        await expectError(
          adapter.write(at('copy.bin'), stream, { size: stat.size }),
          errors.StorageUnavailableError,
          errors.CorruptError,
        );
      });
    }
  }),
]);
