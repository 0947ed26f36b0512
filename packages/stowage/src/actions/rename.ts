import * as z from 'zod';
import { carryOut } from '../changes/carry-out.ts';
import { newFolderName, renamedName } from '../changes/new-name.ts';
import { itemKey } from '../view/keys.ts';
import { nameField, newNameField, pathField, sourceField } from '../parameters/fields.ts';
import { findChecked, requireItem, ruleExtension } from '../view/item.ts';
import { openSource } from '../view/open-source.ts';
import { defineAction, doneSchema } from './action.ts';

/**
 * Renames a file, which keeps its extension, or a folder. A name that is taken, its own included, is refused.
 */
export const fileRenameAction = defineAction({
  name: 'fileRename',
  summary: 'Renames a file, which keeps its extension, or a folder.',
  keys: { file: ['FILE_RENAME'], folder: ['FOLDER_RENAME'] },
  changes: true,
  parameters: z.object({ source: sourceField, path: pathField, name: nameField, newname: newNameField }),
  result: doneSchema,
  run: async (context, input) => {
    const open = await openSource(context, input.source);
    const from = input.path.child(input.name);
    const item = await findChecked(open, from, 'file', context.signal, (kind) =>
      open.access.require(itemKey(kind, 'RENAME'), from, ruleExtension(from, kind)),
    );
    const existing = { kind: item.stat.kind, name: input.name };
    const path = input.path.child(renamedName(open.source.settings, existing, input.newname));
    await carryOut(context, { type: 'rename', from: open, open, item, path });
    return {};
  },
});

/** Renames a folder. A name that is taken, its own included, is refused. */
export const folderRenameAction = defineAction({
  name: 'folderRename',
  summary: 'Renames a folder.',
  changes: true,
  parameters: z.object({ source: sourceField, path: pathField, name: nameField, newname: newNameField }),
  result: doneSchema,
  run: async (context, input) => {
    const open = await openSource(context, input.source);
    const from = input.path.child(input.name);
    const item = await requireItem(context, open, { key: 'FOLDER_RENAME', path: from, kind: 'folder' });
    const path = input.path.child(newFolderName(open.source.settings, input.newname));
    await carryOut(context, { type: 'rename', from: open, open, item, path });
    return {};
  },
});
