import * as z from 'zod';
import { carryOut } from '../../changes/carry-out.ts';
import { pathField, sourceField } from '../../parameters/fields.ts';
import { forBoth, RESTORE_KEYS } from '../../view/rights.ts';
import { requireReachable } from '../../view/reserved.ts';
import { defineAction } from '../action.ts';
import { sourceHeader } from '../listing/each-source.ts';
import { trashIdField } from './item.ts';

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
