import * as z from 'zod';
import { createLimiter } from '../../concurrency/limiter.ts';
import { NotFoundError } from '../../errors/errors.ts';
import { sourceField } from '../../parameters/fields.ts';
import { SourcePath } from '../../storage/source-path.ts';
import {
  eraseFromTrash,
  findInTrash,
  trashContents,
  trashedPath,
  trashLocation,
  type TrashRecord,
} from '../../trash/trash.ts';
import { type ActionContext, defineAction, doneSchema, type KeysByKind } from '../action.ts';
import { announce, report } from '../changes.ts';
import { missing } from '../item.ts';
import { openSource, type OpenSource } from '../open-source.ts';
import { freeing } from '../room.ts';
import { trashPolicyOf } from '../removal.ts';
import { isAllowed, requireTrashed, trashIdField } from './item.ts';

const AT_ONCE = 8;

/** To erase something takes the right to remove it. */
const erasingKeys = (key: string): KeysByKind => ({
  file: [key, 'FILE_REMOVE'],
  folder: [key, 'FOLDER_REMOVE'],
});

const REMOVE_KEYS = erasingKeys('TRASH_REMOVE');
const EMPTY_KEYS = erasingKeys('TRASH_EMPTY');

/**
 * Removes an item for good, after `ask` has allowed it.
 * @throws NotFoundError when it was restored or removed meanwhile
 */
const erase = (
  context: ActionContext,
  open: OpenSource,
  record: TrashRecord,
  ask: () => Promise<unknown>,
): Promise<void> => {
  const { storage } = open;
  const item = { path: trashedPath(record), kind: record.kind };
  return context.services.locations.hold([trashLocation(storage, record)], context, async () => {
    if ((await findInTrash(storage, record.id, context)) === undefined) throw missing('file or folder');
    await ask();
    await freeing(context, open, item, () => eraseFromTrash(storage, record));
  });
};

/** Removes one item of the trash for good. */
export const trashRemoveAction = defineAction({
  name: 'trashRemove',
  summary: 'Removes an item of the trash for good.',
  keys: REMOVE_KEYS,
  ofShown: true,
  changes: true,
  parameters: z.object({ source: sourceField, id: trashIdField }),
  result: doneSchema,
  run: async (context, input) => {
    const open = await openSource(context, input.source);
    const record = await requireTrashed(context, open, REMOVE_KEYS, input.id);
    const { path, bytes } = record;
    const change = { type: 'trash.removed', source: open.source, path, bytes } as const;
    await erase(context, open, record, () => announce(context, change));
    await report(context, change);
    return {};
  },
});

/** Removes everything in the trash of a source for good of which the role may see and remove every part. */
export const trashEmptyAction = defineAction({
  name: 'trashEmpty',
  load: 'listings',
  summary: 'Removes everything in the trash of a source for good, as far as the role may.',
  keys: EMPTY_KEYS,
  ofShown: true,
  changes: true,
  parameters: z.object({ source: sourceField }),
  result: z.object({ removed: z.int().describe('How many items were removed.') }),
  run: async (context, input) => {
    const open = await openSource(context, input.source);
    let [removed, bytes] = [0, 0];
    if (trashPolicyOf(open.source.settings) === undefined) return { removed };
    const change = { type: 'trash.emptied', source: open.source, path: SourcePath.root } as const;
    let asked: Promise<unknown> | undefined;
    const ask = (): Promise<unknown> => (asked ??= announce(context, change));
    const limiter = createLimiter(AT_ONCE);
    try {
      for await (const record of trashContents(open.storage, context)) {
        await limiter.add(async () => {
          if (!(await isAllowed(context, open, record, EMPTY_KEYS))) return;
          try {
            await erase(context, open, record, ask);
            removed += 1;
            bytes += record.bytes;
          } catch (error) {
            if (!(error instanceof NotFoundError)) throw error;
          }
        });
      }
    } finally {
      await limiter.drain().finally(() => (removed > 0 ? report(context, { ...change, bytes }) : undefined));
    }
    return { removed };
  },
});
