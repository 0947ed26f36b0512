import * as z from 'zod';
import { carryOut } from '../../changes/carry-out.ts';
import { sourceField } from '../../parameters/fields.ts';
import { SourcePath } from '../../storage/source-path.ts';
import type { KeysByKind } from '../../view/rights.ts';
import { trashPolicyOf } from '../../view/trashed.ts';
import { defineAction, doneSchema } from '../action.ts';
import { trashIdField } from './item.ts';

/** To erase something takes the right to remove it. */
const erasingKeys = (key: string): KeysByKind => ({
  file: [key, 'FILE_REMOVE'],
  folder: [key, 'FOLDER_REMOVE'],
});

const REMOVE_KEYS = erasingKeys('TRASH_REMOVE');
const EMPTY_KEYS = erasingKeys('TRASH_EMPTY');

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
    const view = await context.views.open(input.source);
    const record = await view.trashed(REMOVE_KEYS, input.id);
    await carryOut(context, { type: 'erase', open: view, path: record.path, record });
    return {};
  },
});

/** A list whose first item has been taken already. */
async function* all<Item>(first: Item, rest: AsyncIterable<Item>): AsyncGenerator<Item, void, undefined> {
  yield first;
  yield* rest;
}

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
    const view = await context.views.open(input.source);
    if (trashPolicyOf(view.source.settings) === undefined) return { removed: 0 };
    const items = view.allTrashed(EMPTY_KEYS);
    const { value: first } = await items.next();
    // Where nothing would go, the host is not asked.
    if (first === undefined) return { removed: 0 };
    const records = all(first, items);
    const erased = await carryOut(context, {
      type: 'emptyTrash',
      open: view,
      path: SourcePath.root,
      records,
    });
    return { removed: erased.length };
  },
});
