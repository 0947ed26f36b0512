import assert from 'node:assert/strict';
import type { OperationOptions } from '../../adapter.ts';
import { copyFolder, moveFolder } from '../../folders.ts';
import { stageContent } from '../../staging.ts';
import {
  type CaseContext,
  type CaseDefinition,
  contentOf,
  entriesOf,
  expectReason,
  expectUnchanged,
  put,
  it,
  theme,
} from '../case.ts';

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
