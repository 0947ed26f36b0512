import { z } from 'zod';
import { nameField, newNameField, pathField, sourceField } from '../parameters/fields.ts';
import { defineAction } from './action.ts';
import { requireItem } from './item.ts';
import { newFolderName } from './new-name.ts';
import { openSource } from './open-source.ts';
import { relocate } from './relocate.ts';
import { doneSchema } from './result-schemas.ts';

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
    const to = input.path.child(newFolderName(open.source.settings, input.newname));
    await relocate(context, open, { verb: 'RENAME', item, to });
    return {};
  },
});
