import * as z from 'zod';
import { nameField, pathField, sourceField } from '../parameters/fields.ts';
import { type ActionContext, defineAction } from './action.ts';
import { requireItem } from './item.ts';
import { forEachItem, itemsDoneSchema, requireOneOrSeveral, severalOf } from './many.ts';
import { openSource, type OpenSource } from './open-source.ts';
import { removeItem } from './removal.ts';
import { requireContents } from './require-contents.ts';
import type { SourcePath } from '../storage/source-path.ts';

const parameters = z
  .object({
    source: sourceField,
    path: pathField,
    name: nameField.optional(),
    names: severalOf(nameField).describe('Several items of the folder, in place of `name`.'),
  })
  .superRefine(requireOneOrSeveral('name', 'names'));

type RemoveParameters = z.output<typeof parameters>;

type Remove = (context: ActionContext, open: OpenSource, path: SourcePath) => Promise<void>;

const removeFile: Remove = async (context, open, path) => {
  await requireItem(context, open, { key: 'FILE_REMOVE', path, kind: 'file' });
  await context.services.locations.hold([{ storage: open.storage, path }], context, async () => {
    await removeItem(context, open, { path, kind: 'file' });
  });
};

const removeFolder: Remove = async (context, open, path) => {
  await requireItem(context, open, { key: 'FOLDER_REMOVE', path, kind: 'folder' });
  await context.services.locations.hold([{ storage: open.storage, path }], context, async () => {
    await requireContents(context, open, { verb: 'REMOVE', from: path });
    await removeItem(context, open, { path, kind: 'folder' });
  });
};

const each =
  (remove: Remove) =>
  async (context: ActionContext, input: RemoveParameters): ReturnType<typeof forEachItem> => {
    const open = await openSource(context, input.source);
    const wanted = { one: input.name, several: input.names, nameOf: (name: string) => name };
    return forEachItem(context, wanted, (name) => remove(context, open, input.path.child(name)));
  };

const shared = { changes: true, parameters, result: itemsDoneSchema } as const;

/** Removes a file with its thumbnail, or several. */
export const fileRemoveAction = defineAction({
  ...shared,
  name: 'fileRemove',
  summary: 'Removes a file, or several, into the trash where the source has one.',
  run: each(removeFile),
});

/** Removes a folder with all it holds, or several. The root has no name and so cannot be asked for. */
export const folderRemoveAction = defineAction({
  ...shared,
  name: 'folderRemove',
  summary: 'Removes a folder with its contents, or several, into the trash where the source has one.',
  run: each(removeFolder),
});
