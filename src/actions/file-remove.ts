import { z } from 'zod';
import { nameField, pathField, sourceField } from '../parameters/fields.ts';
import { defineAction } from './action.ts';
import { requireItem } from './item.ts';
import { openSource } from './open-source.ts';
import { doneSchema } from './result-schemas.ts';

/** Removes a file with its thumbnail. */
export const fileRemoveAction = defineAction({
  name: 'fileRemove',
  summary: 'Removes a file.',
  changes: true,
  parameters: z.object({ source: sourceField, path: pathField, name: nameField }),
  result: doneSchema,
  run: async (context, input) => {
    const open = await openSource(context, input.source);
    const path = input.path.child(input.name);
    await requireItem(context, open, { key: 'FILE_REMOVE', path, kind: 'file' });
    await context.services.locations.hold([{ storage: open.storage, path }], context, async () => {
      await open.storage.removeFile(path, { signal: context.signal });
      await context.services.thumbnails.removed({ source: open.source, path });
    });
    return {};
  },
});
