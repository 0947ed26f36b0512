import { z } from 'zod';
import { nameField, newNameField, pathField, sourceField } from '../parameters/fields.ts';
import { defineAction } from './action.ts';
import { requireItem } from './item.ts';
import { renamedFileName } from './new-name.ts';
import { openSource } from './open-source.ts';
import { relocate } from './relocate.ts';
import { doneSchema } from './result-schemas.ts';

/** Renames a file, which keeps its extension. A name that is taken, its own included, is refused. */
export const fileRenameAction = defineAction({
  name: 'fileRename',
  summary: 'Renames a file. It keeps its extension.',
  methods: ['GET', 'POST'],
  changes: true,
  takesFiles: false,
  parameters: z.object({ source: sourceField, path: pathField, name: nameField, newname: newNameField }),
  result: doneSchema,
  run: async (context, input) => {
    const open = await openSource(context, input.source);
    const from = input.path.child(input.name);
    const item = await requireItem(context, open, { key: 'FILE_RENAME', path: from, kind: 'file' });
    const to = input.path.child(renamedFileName(open.source.settings, input.name, input.newname));
    await relocate(context, open, { verb: 'RENAME', item, to });
    return {};
  },
});
