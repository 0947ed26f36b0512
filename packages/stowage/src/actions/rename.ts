import * as z from 'zod';
import { carryOut } from '../changes/carry-out.ts';
import { newFolderName, renamedName } from '../changes/new-name.ts';
import { itemShape, newNameField } from '../parameters/fields.ts';
import { itemKey } from '../view/rights.ts';
import { defineAction, doneSchema } from './action.ts';

const shared = {
  changes: true,
  parameters: z.object({ ...itemShape, newname: newNameField }),
  result: doneSchema,
} as const;

/**
 * Renames a file, which keeps its extension, or a folder. A name that exists, the current one included, is
 * rejected.
 */
export const fileRenameAction = defineAction({
  ...shared,
  name: 'fileRename',
  summary: 'Renames a file, which keeps its extension, or a folder.',
  keys: { file: ['FILE_RENAME'], folder: ['FOLDER_RENAME'] },
  run: async (context, input) => {
    const view = await context.views.open(input.source);
    const from = input.path.child(input.name);
    const item = await view.findEither(from, 'file', (kind) =>
      view.require(itemKey(kind, 'RENAME'), from, kind),
    );
    const existing = { kind: item.kind, name: input.name };
    const path = input.path.child(renamedName(view.source.settings, existing, input.newname));
    await carryOut(context, { type: 'rename', from: view, open: view, item, path });
    return {};
  },
});

export const folderRenameAction = defineAction({
  ...shared,
  name: 'folderRename',
  summary: 'Renames a folder.',
  run: async (context, input) => {
    const view = await context.views.open(input.source);
    const from = input.path.child(input.name);
    const item = await view.find('FOLDER_RENAME', from, 'folder');
    const path = input.path.child(newFolderName(view.source.settings, input.newname));
    await carryOut(context, { type: 'rename', from: view, open: view, item, path });
    return {};
  },
});
