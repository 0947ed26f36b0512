import * as z from 'zod';
import { carryOut } from '../changes/carry-out.ts';
import { incomingName, newFolderName, renamedName } from '../changes/new-name.ts';
import { IntoItselfError } from '../errors/errors.ts';
import { itemPathField, itemShape, newNameField, pathField, sourceField } from '../parameters/fields.ts';
import type { EntryKind } from '../storage/entry.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { Item } from '../view/folder-view.ts';
import { itemKey, requireBothLocations } from '../view/rights.ts';
import type { SourceView } from '../view/source-view.ts';
import { type ActionContext, type ActionResult, defineAction, doneSchema } from './action.ts';
import { forEachItem, itemsDoneSchema, requireOneOrSeveral, severalOf, someOfFolder } from './many.ts';

/** `source` is the destination; `fromSource` is the origin, by default the same. */
const transferParameters = z
  .object({
    source: sourceField,
    fromSource: sourceField.describe('The source of `from`. Default: `source`.'),
    path: pathField,
    from: itemPathField.optional(),
    froms: severalOf(itemPathField).describe('Several files or folders, instead of `from`.'),
  })
  .superRefine(...requireOneOrSeveral('from', 'froms'));

interface Way {
  readonly from: SourceView;
  readonly to: SourceView;
  readonly folder: SourcePath;
}

/** Checks the key at both paths. `kind`: the kind of the item, or the one that the request assumes. */
const requireWay = (way: Way, verb: 'COPY' | 'MOVE', wanted: SourcePath, kind: EntryKind): void => {
  const to = way.folder.child(wanted.name);
  requireBothLocations(way, itemKey(kind, verb), { from: wanted, to, kind });
};

/** Copies only items of the kind that the action names. */
const findToCopy = (way: Way, path: SourcePath, kind: EntryKind): Promise<Item> => {
  requireWay(way, 'COPY', path, kind);
  return way.from.find(itemKey(kind, 'COPY'), path, kind);
};

/** Moves files and folders alike. */
const findToMove = (way: Way, path: SourcePath, expected: EntryKind): Promise<Item> =>
  way.from.findEither(path, expected, (kind) => requireWay(way, 'MOVE', path, kind));

/** Returns the new name of the item. */
const transferOne = async (context: ActionContext, type: 'copy' | 'move', way: Way, item: Item) => {
  const { from, to, folder } = way;
  const { stat, path: wanted } = item;
  // Also detects another spelling where the store ignores letter case, and another source with the same
  // store.
  if (stat.kind === 'folder' && from.contains(wanted, to, folder)) throw new IntoItselfError();
  await to.requireFolder(folder, 'destination folder');
  const name = from.source === to.source ? wanted.name : incomingName(to.source.settings, stat);
  const [done] = await carryOut(context, { type, from, open: to, item, path: folder.child(name) });
  return done?.path.name;
};

const transfer =
  (type: 'copy' | 'move', kind: EntryKind) =>
  async (
    context: ActionContext,
    { path: folder, from: one, froms: several, source, fromSource }: z.output<typeof transferParameters>,
  ): ReturnType<typeof forEachItem> => {
    const to = await context.views.open(source);
    const from = fromSource === undefined ? to : await context.views.open(fromSource);
    const way = { from, to, folder };
    const find = type === 'copy' ? findToCopy : findToMove;
    return forEachItem(context, { one, several }, async (path) =>
      transferOne(context, type, way, await find(way, path, kind)),
    );
  };

const transferring = {
  changes: true,
  parameters: transferParameters,
  result: itemsDoneSchema,
} as const;

export const fileCopyAction = defineAction({
  ...transferring,
  name: 'fileCopy',
  summary:
    'Copies a file into a folder, also from another source (`fromSource`). If the name is taken, the ' +
    'copy gets a number.',
  run: transfer('copy', 'file'),
});

export const folderCopyAction = defineAction({
  ...transferring,
  name: 'folderCopy',
  summary:
    'Copies a folder with its contents, also from another source (`fromSource`). If the name is taken, ' +
    'the copy gets a number.',
  run: transfer('copy', 'folder'),
});

const movingKeys = { file: ['FILE_MOVE'], folder: ['FOLDER_MOVE'] };

export const fileMoveAction = defineAction({
  ...transferring,
  name: 'fileMove',
  keys: movingKeys,
  summary: 'Moves a file or folder into another folder, also from another source (`fromSource`).',
  run: transfer('move', 'file'),
});

export const folderMoveAction = defineAction({
  ...transferring,
  name: 'folderMove',
  keys: movingKeys,
  summary: 'Moves a folder or file into another folder, also from another source (`fromSource`).',
  run: transfer('move', 'folder'),
});

const removeParameters = someOfFolder('Several items of the folder, instead of `name`.');

/** Files that are removed permanently in parallel. */
const REMOVED_AT_ONCE = 100;
/** From this number on, the entries of a folder are read together. */
const FEW = 4;

const remove =
  (kind: EntryKind, key: string) =>
  async (
    context: ActionContext,
    input: z.output<typeof removeParameters>,
  ): ReturnType<typeof forEachItem> => {
    const view = await context.views.open(input.source);
    const { name: one, names: several } = input;
    // A store with a bulk request combines concurrent removals.
    const isForGood = kind === 'file' && view.source.settings.trash === undefined;
    const wanted = { one, several, atOnce: isForGood ? REMOVED_AT_ONCE : undefined };
    if (kind === 'file' && (several?.length ?? 0) > FEW) await view.prefetch(input.path);
    return forEachItem(context, wanted, async (name) => {
      const path = input.path.child(name);
      const { stat: seen } = await view.find(key, path, kind);
      await carryOut(context, { type: 'remove', open: view, path, kind, seen });
      return undefined;
    });
  };

const removing = { changes: true, parameters: removeParameters, result: itemsDoneSchema } as const;

export const fileRemoveAction = defineAction({
  ...removing,
  name: 'fileRemove',
  summary: 'Removes a file, or several. If the source has a trash, they are moved into it.',
  run: remove('file', 'FILE_REMOVE'),
});

/** Removes folders with all their content. The root has no name, so it cannot be removed. */
export const folderRemoveAction = defineAction({
  ...removing,
  name: 'folderRemove',
  summary:
    'Removes a folder with its contents, or several. If the source has a trash, they are moved into it.',
  run: remove('folder', 'FOLDER_REMOVE'),
});

const renameParameters = z.object({ ...itemShape, newname: newNameField });

const rename =
  (find: (view: SourceView, path: SourcePath) => Promise<Item>) =>
  async (context: ActionContext, input: z.output<typeof renameParameters>): Promise<ActionResult> => {
    const view = await context.views.open(input.source);
    const item = await find(view, input.path.child(input.name));
    const existing = { kind: item.kind, name: input.name };
    const path = input.path.child(renamedName(view.source.settings, existing, input.newname));
    await carryOut(context, { type: 'rename', from: view, open: view, item, path });
    return {};
  };

const renaming = { changes: true, parameters: renameParameters, result: doneSchema } as const;

/** Renames a file, which keeps its extension, or a folder. Rejects taken names, also its own. */
export const fileRenameAction = defineAction({
  ...renaming,
  name: 'fileRename',
  summary: 'Renames a file, which keeps its extension, or a folder.',
  keys: { file: ['FILE_RENAME'], folder: ['FOLDER_RENAME'] },
  run: rename((view, path) =>
    view.findEither(path, 'file', (kind) => view.require(itemKey(kind, 'RENAME'), path, kind)),
  ),
});

export const folderRenameAction = defineAction({
  ...renaming,
  name: 'folderRename',
  summary: 'Renames a folder.',
  run: rename((view, path) => view.find('FOLDER_RENAME', path, 'folder')),
});

export const folderCreateAction = defineAction({
  name: 'folderCreate',
  summary: 'Creates a folder; unsafe characters of its name become an underscore.',
  changes: true,
  parameters: z.object({ source: sourceField, path: pathField, name: newNameField }),
  result: z.object({ messages: z.array(z.string()) }),
  run: async (context, input) => {
    const view = await context.views.open(input.source);
    const path = input.path.child(newFolderName(view.source.settings, input.name));
    view.require('FOLDER_CREATE', path, 'folder');
    await view.requireFolder(input.path);
    const made = await carryOut(context, { type: 'makeFolder', open: view, path });
    return { messages: made.map((folder) => `The folder "${folder.path.name}" was created.`) };
  },
});
