import * as z from 'zod';
import { carryOut } from '../changes/carry-out.ts';
import { newFolderName } from '../changes/new-name.ts';
import { newNameField, pathField, sourceField } from '../parameters/fields.ts';
import { defineAction, messagesSchema } from './action.ts';

export const folderCreateAction = defineAction({
  name: 'folderCreate',
  summary: 'Creates a folder; unsafe characters of its name become an underscore.',
  changes: true,
  parameters: z.object({ source: sourceField, path: pathField, name: newNameField }),
  result: messagesSchema,
  run: async (context, input) => {
    const view = await context.views.open(input.source);
    const path = input.path.child(newFolderName(view.source.settings, input.name));
    view.require('FOLDER_CREATE', path, 'folder');
    await view.requireFolder(input.path);
    const made = await carryOut(context, { type: 'makeFolder', open: view, path });
    return { messages: made.map((folder) => `The folder "${folder.path.name}" was created.`) };
  },
});
