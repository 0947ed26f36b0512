import * as z from 'zod';
import { createLimiter } from '../../concurrency/limiter.ts';
import { NotFoundError } from '../../errors/errors.ts';
import { sourceField } from '../../parameters/fields.ts';
import {
  eraseFromTrash,
  findInTrash,
  trashContents,
  trashedPath,
  trashLocation,
  type TrashRecord,
} from '../../trash/trash.ts';
import { type ActionContext, defineAction, doneSchema } from '../action.ts';
import { missing } from '../item.ts';
import { openSource, type OpenSource } from '../open-source.ts';
import { freeing } from '../room.ts';
import { trashPolicyOf } from '../removal.ts';
import { isAllowed, isVisible, requireTrashed, trashIdField } from './item.ts';

const AT_ONCE = 8;

/** @throws NotFoundError when it was restored or removed meanwhile */
const erase = (context: ActionContext, open: OpenSource, record: TrashRecord): Promise<void> => {
  const { storage } = open;
  const item = { path: trashedPath(record), kind: record.kind };
  return context.services.locations.hold([trashLocation(storage, record)], context, async () => {
    if ((await findInTrash(storage, record.id, context)) === undefined) throw missing('file or folder');
    await freeing(context, open, item, () => eraseFromTrash(storage, record));
  });
};

/** Removes one item of the trash for good. */
export const trashRemoveAction = defineAction({
  name: 'trashRemove',
  summary: 'Removes an item of the trash for good.',
  changes: true,
  parameters: z.object({ source: sourceField, id: trashIdField }),
  result: doneSchema,
  run: async (context, input) => {
    const open = await openSource(context, input.source);
    await erase(context, open, await requireTrashed(context, open, 'TRASH_REMOVE', input.id));
    return {};
  },
});

/** Removes everything in the trash of a source for good that the role may see and remove. */
export const trashEmptyAction = defineAction({
  name: 'trashEmpty',
  summary: 'Removes everything in the trash of a source for good, as far as the role may.',
  changes: true,
  parameters: z.object({ source: sourceField }),
  result: z.object({ removed: z.int().describe('How many items were removed.') }),
  run: async (context, input) => {
    const open = await openSource(context, input.source);
    let removed = 0;
    if (trashPolicyOf(open.source.settings) === undefined) return { removed };
    const limiter = createLimiter(AT_ONCE);
    try {
      for await (const record of trashContents(open.storage, context)) {
        if (!isVisible(open, record) || !isAllowed(open, 'TRASH_EMPTY', record)) continue;
        await limiter.add(async () => {
          try {
            await erase(context, open, record);
            removed += 1;
          } catch (error) {
            if (!(error instanceof NotFoundError)) throw error;
          }
        });
      }
    } finally {
      await limiter.drain();
    }
    return { removed };
  },
});
