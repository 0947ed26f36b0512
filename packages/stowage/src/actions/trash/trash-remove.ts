import * as z from 'zod';
import { carryOut } from '../../changes/carry-out.ts';
import { pathField, sourceField } from '../../parameters/fields.ts';
import { SourcePath } from '../../storage/source-path.ts';
import { forBoth, type KeysByKind, requireReachable, RESTORE_KEYS } from '../../view/rights.ts';
import { trashPolicyOf } from '../../view/trashed.ts';
import { defineAction, doneSchema } from '../action.ts';
import { sourceHeader } from '../listing/each-source.ts';
import { trashIdField } from './trash-list.ts';

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
    // It reads as much as a search does.
    const leave = await context.services.searches.take(context.signal);
    try {
      const items = view.allTrashed(EMPTY_KEYS, { isBlind: true });
      const { value: first } = await items.next();
      // Where nothing would go, the host is not asked.
      if (first === undefined) return { removed: 0 };
      const records = all(first, items);
      const path = SourcePath.root;
      const erased = await carryOut(context, { type: 'emptyTrash', open: view, path, records });
      return { removed: erased.length };
    } finally {
      leave();
    }
  },
});

/** What something needs where it was. */
const ORIGIN_KEYS = forBoth('TRASH_RESTORE');

/** Brings an item of the trash back: to where it was, or into another folder. */
export const trashRestoreAction = defineAction({
  name: 'trashRestore',
  summary: 'Brings an item of the trash back; where its name is taken it gets a number.',
  keys: RESTORE_KEYS,
  ofShown: true,
  changes: true,
  parameters: z.object({
    source: sourceField,
    id: trashIdField,
    path: z
      .string()
      .optional()
      .transform((text) => (text === '' ? undefined : text))
      .pipe(z.union([z.undefined(), pathField]))
      .describe('The folder that it goes into; the one that it was in when absent. `/` is the root.'),
  }),
  result: z.object({
    path: z.string().describe('The folder, as listings write it: `/` at the root.'),
    name: z.string().describe('The name that it has got.'),
  }),
  run: async (context, input) => {
    const view = await context.views.open(input.source);
    const record = await view.trashed(ORIGIN_KEYS, input.id);
    const folder = input.path ?? record.path.parent;
    requireReachable(view.source.settings, folder);
    const wanted = folder.child(record.path.name);
    const [restored] = await carryOut(context, { type: 'restore', open: view, path: wanted, record });
    const { parent, name } = restored?.path ?? wanted;
    return { path: sourceHeader(view.source, parent).path, name };
  },
});
