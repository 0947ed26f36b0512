import * as z from 'zod';
import { carryOut } from '../changes/carry-out.ts';
import { nameField, pathField, sourceField } from '../parameters/fields.ts';
import type { EntryKind } from '../storage/entry.ts';
import { type ActionContext, defineAction } from './action.ts';
import { forEachItem, itemsDoneSchema, requireOneOrSeveral, severalOf } from './many.ts';

const parameters = z
  .object({
    source: sourceField,
    path: pathField,
    name: nameField.optional(),
    names: severalOf(nameField).describe('Several items of the folder, instead of `name`.'),
  })
  .superRefine(requireOneOrSeveral('name', 'names'));

/** Files that are removed permanently in parallel. */
const REMOVED_AT_ONCE = 100;
/** From this number on, the entries of a folder are read together. */
const FEW = 4;

type RemoveParameters = z.output<typeof parameters>;

const remove =
  (kind: EntryKind, key: string) =>
  async (context: ActionContext, input: RemoveParameters): ReturnType<typeof forEachItem> => {
    const view = await context.views.open(input.source);
    const several = input.names;
    // A store with a bulk request combines concurrent removals.
    const isForGood = kind === 'file' && view.source.settings.trash === undefined;
    const atOnce = isForGood ? { atOnce: REMOVED_AT_ONCE } : {};
    const wanted = { one: input.name, several, nameOf: (name: string) => name, ...atOnce };
    if (kind === 'file' && (several?.length ?? 0) > FEW) await view.prefetch(input.path);
    return forEachItem(context, wanted, async (name) => {
      const path = input.path.child(name);
      const { stat: seen } = await view.find(key, path, kind);
      await carryOut(context, { type: 'remove', open: view, path, kind, seen });
      return undefined;
    });
  };

const shared = { changes: true, parameters, result: itemsDoneSchema } as const;

export const fileRemoveAction = defineAction({
  ...shared,
  name: 'fileRemove',
  summary: 'Removes a file, or several. If the source has a trash, they are moved into it.',
  run: remove('file', 'FILE_REMOVE'),
});

/** Removes folders with all their content. The root has no name, so it cannot be removed. */
export const folderRemoveAction = defineAction({
  ...shared,
  name: 'folderRemove',
  summary:
    'Removes a folder with its contents, or several. If the source has a trash, they are moved into it.',
  run: remove('folder', 'FOLDER_REMOVE'),
});
