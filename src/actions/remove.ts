import { z } from 'zod';
import { nameField, pathField, sourceField } from '../parameters/fields.ts';
import { defineAction, doneSchema } from './action.ts';
import { requireItem } from './item.ts';
import { openSource } from './open-source.ts';
import { removeItem } from './removal.ts';
import { requireContents } from './require-contents.ts';

/** Removes a file with its thumbnail. */
export const fileRemoveAction = defineAction({
  name: 'fileRemove',
  summary: 'Removes a file, into the trash where the source has one.',
  changes: true,
  parameters: z.object({ source: sourceField, path: pathField, name: nameField }),
  result: doneSchema,
  run: async (context, input) => {
    const open = await openSource(context, input.source);
    const path = input.path.child(input.name);
    await requireItem(context, open, { key: 'FILE_REMOVE', path, kind: 'file' });
    await context.services.locations.hold([{ storage: open.storage, path }], context, async () => {
      await removeItem(context, open, { path, kind: 'file' });
    });
    return {};
  },
});

/** Removes a folder with all it holds. The root has no name and so cannot be asked for. */
export const folderRemoveAction = defineAction({
  name: 'folderRemove',
  summary: 'Removes a folder with its contents, into the trash where the source has one.',
  changes: true,
  parameters: z.object({ source: sourceField, path: pathField, name: nameField }),
  result: doneSchema,
  run: async (context, input) => {
    const open = await openSource(context, input.source);
    const path = input.path.child(input.name);
    await requireItem(context, open, { key: 'FOLDER_REMOVE', path, kind: 'folder' });
    await context.services.locations.hold([{ storage: open.storage, path }], context, async () => {
      await requireContents(context, open, { verb: 'REMOVE', from: path });
      await removeItem(context, open, { path, kind: 'folder' });
    });
    return {};
  },
});
