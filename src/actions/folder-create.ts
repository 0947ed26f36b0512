import * as z from 'zod';
import { AlreadyExistsError } from '../errors/errors.ts';
import { newNameField, pathField, sourceField } from '../parameters/fields.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { defineAction, messagesSchema } from './action.ts';
import { announce, report } from './changes.ts';
import { requireFolder } from './item.ts';
import { newFolderName } from './new-name.ts';
import { openSource } from './open-source.ts';

/** Creates a folder. Unsafe characters of its name become `_`. */
export const folderCreateAction = defineAction({
  name: 'folderCreate',
  summary: 'Creates a folder; unsafe characters of its name become an underscore.',
  changes: true,
  parameters: z.object({ source: sourceField, path: pathField, name: newNameField }),
  result: messagesSchema,
  run: async (context, input) => {
    const { signal } = context;
    const open = await openSource(context, input.source);
    const check = (wanted: string): SourcePath => {
      const path = input.path.child(newFolderName(open.source.settings, wanted));
      open.access.require('FOLDER_CREATE', path);
      return path;
    };
    const first = check(input.name);
    await requireFolder(open, input.path, signal);
    const change = { type: 'folder.created', source: open.source } as const;
    const changed = await announce(context, { ...change, path: first });
    const target = changed === undefined ? first : check(changed);
    const { name } = target;
    try {
      await open.storage.makeFolder(target, { signal });
    } catch (error) {
      throw error instanceof AlreadyExistsError
        ? new AlreadyExistsError({ details: { name }, cause: error })
        : error;
    }
    await report(context, { ...change, path: target });
    return { messages: [`The folder "${name}" was created.`] };
  },
});
