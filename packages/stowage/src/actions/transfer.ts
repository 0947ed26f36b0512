import * as z from 'zod';
import { carryOut } from '../changes/carry-out.ts';
import { incomingName } from '../changes/new-name.ts';
import { IntoItselfError } from '../errors/errors.ts';
import { itemPathField, pathField, sourceField } from '../parameters/fields.ts';
import type { EntryKind } from '../storage/entry.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { Item } from '../view/folder-view.ts';
import { itemKey, requireBothLocations } from '../view/rights.ts';
import type { SourceView } from '../view/source-view.ts';
import { type ActionContext, defineAction } from './action.ts';
import { forEachItem, itemsDoneSchema, requireOneOrSeveral, severalOf } from './many.ts';

/** `source` is the destination; `fromSource` is the origin, by default the same. */
const parameters = z
  .object({
    source: sourceField,
    fromSource: sourceField.describe('The source of `from`. Default: `source`.'),
    path: pathField,
    from: itemPathField.optional(),
    froms: severalOf(itemPathField).describe('Several files or folders, instead of `from`.'),
  })
  .superRefine(requireOneOrSeveral('from', 'froms'));

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
const transferOne = async (
  context: ActionContext,
  type: 'copy' | 'move',
  way: Way,
  item: Item,
): Promise<string | undefined> => {
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
    { path: folder, from: one, froms: several, source, fromSource }: z.output<typeof parameters>,
  ): ReturnType<typeof forEachItem> => {
    const to = await context.views.open(source);
    const from = fromSource === undefined ? to : await context.views.open(fromSource);
    const way = { from, to, folder };
    const find = type === 'copy' ? findToCopy : findToMove;
    return forEachItem(context, { one, several, nameOf: String }, async (path) =>
      transferOne(context, type, way, await find(way, path, kind)),
    );
  };

const shared = { changes: true, parameters, result: itemsDoneSchema } as const;

/** Copies a file; an existing name gets a number: `a (1).jpg`. */
export const fileCopyAction = defineAction({
  ...shared,
  name: 'fileCopy',
  summary:
    'Copies a file into a folder, also from another source (`fromSource`). If the name is taken, the ' +
    'copy gets a number.',
  run: transfer('copy', 'file'),
});

/** Copies a folder with all its content; an existing name gets a number: `photos (1)`. */
export const folderCopyAction = defineAction({
  ...shared,
  name: 'folderCopy',
  summary:
    'Copies a folder with its contents, also from another source (`fromSource`). If the name is taken, ' +
    'the copy gets a number.',
  run: transfer('copy', 'folder'),
});

const movingKeys = { file: ['FILE_MOVE'], folder: ['FOLDER_MOVE'] };

export const fileMoveAction = defineAction({
  ...shared,
  name: 'fileMove',
  keys: movingKeys,
  summary: 'Moves a file or folder into another folder, also from another source (`fromSource`).',
  run: transfer('move', 'file'),
});

export const folderMoveAction = defineAction({
  ...shared,
  name: 'folderMove',
  keys: movingKeys,
  summary: 'Moves a folder or file into another folder, also from another source (`fromSource`).',
  run: transfer('move', 'folder'),
});
