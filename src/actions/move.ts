import { z } from 'zod';
import { NotFoundError } from '../errors/errors.ts';
import { itemPathField, pathField } from '../parameters/fields.ts';
import type { EntryKind } from '../storage/adapter.ts';
import { defineAction, type ActionContext } from './action.ts';
import { findItem, requireFolder, type Item } from './item.ts';
import { cross } from './across-sources.ts';
import { openEnds, twoSourcesShape, type Ends } from './two-sources.ts';
import { itemKey, relocate, requireBothEnds, requireOutside } from './relocate.ts';
import { doneSchema } from './result-schemas.ts';

const parameters = z.object({ ...twoSourcesShape, path: pathField, from: itemPathField });

type MoveParameters = z.output<typeof parameters>;

/** Finds the item and judges the move by what it is; what is missing is judged by what the action's name promises. */
const requireMovable = async (
  context: ActionContext,
  { from: open, to: target }: Ends,
  { from, path }: MoveParameters,
  expected: EntryKind,
): Promise<Item> => {
  const to = path.child(from.name);
  const judge = (kind: EntryKind): void => {
    requireBothEnds({ from: open.access, to: target.access }, itemKey(kind, 'MOVE'), { from, to, kind });
  };
  try {
    const item = await findItem(open, from, context.signal);
    judge(item.stat.kind);
    return item;
  } catch (error) {
    if (error instanceof NotFoundError) judge(expected);
    throw error;
  }
};

const move =
  (expected: EntryKind) =>
  async (context: ActionContext, input: MoveParameters): Promise<Record<string, never>> => {
    const ends = await openEnds(context, input);
    const { from: open, to: target, isSame } = ends;
    const item = await requireMovable(context, ends, input, expected);
    const to = input.path.child(item.path.name);
    if (isSame && item.stat.kind === 'folder') requireOutside(open.storage, item.path, input.path);
    await requireFolder(target, input.path, context.signal);
    if (isSame) await relocate(context, open, { verb: 'MOVE', item, to });
    else {
      const crossing = { from: { ...open, path: item.path }, to: { ...target, path: to } };
      await cross(context, { verb: 'MOVE', kind: item.stat.kind, ...crossing });
    }
    return {};
  };

const shared = {
  methods: ['GET', 'POST'],
  changes: true,
  takesFiles: false,
  parameters,
  result: doneSchema,
} as const;

/** Moves a file or folder into another folder. */
export const fileMoveAction = defineAction({
  ...shared,
  name: 'fileMove',
  summary: 'Moves a file or folder into another folder, also of another source (`fromSource`).',
  run: move('file'),
});

/** Moves a folder or file into another folder. */
export const folderMoveAction = defineAction({
  ...shared,
  name: 'folderMove',
  summary: 'Moves a folder or file into another folder, also of another source (`fromSource`).',
  run: move('folder'),
});
