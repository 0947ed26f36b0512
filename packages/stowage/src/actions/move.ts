import type * as z from 'zod';
import { carryOut } from '../changes/carry-out.ts';
import { incomingName } from '../changes/incoming.ts';
import { itemKey, requireBothLocations } from '../view/keys.ts';
import type { EntryKind } from '../storage/entry.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { findChecked, requireFolder } from '../view/item.ts';
import { type ActionContext, defineAction } from './action.ts';
import { forEachItem, itemsDoneSchema } from './many.ts';
import { openSourcePair, requireOutside, type SourcePair, transferParameters } from './two-sources.ts';

const parameters = transferParameters;

type MoveParameters = z.output<typeof parameters>;

const moveOne = async (
  context: ActionContext,
  pair: SourcePair,
  { expected, from: wanted, folder }: { expected: EntryKind; from: SourcePath; folder: SourcePath },
): Promise<void> => {
  const { from, to: open, isSame } = pair;
  const access = { from: from.access, to: open.access };
  const item = await findChecked(from, wanted, expected, context.signal, (kind) => {
    const to = folder.child(wanted.name);
    requireBothLocations(access, itemKey(kind, 'MOVE'), { from: wanted, to, kind });
  });
  requireOutside(pair, item.stat.kind, wanted, folder);
  await requireFolder(open, folder, context.signal, 'destination folder');
  const path = folder.child(isSame ? wanted.name : incomingName(open.source.settings, item.stat));
  await carryOut(context, { type: 'move', from, open, item, path });
};

const move =
  (expected: EntryKind) =>
  async (context: ActionContext, input: MoveParameters): ReturnType<typeof forEachItem> => {
    const pair = await openSourcePair(context, input);
    const wanted = { one: input.from, several: input.froms, nameOf: String };
    return forEachItem(context, wanted, (from) =>
      moveOne(context, pair, { expected, from, folder: input.path }),
    );
  };

const shared = {
  keys: { file: ['FILE_MOVE'], folder: ['FOLDER_MOVE'] },
  changes: true,
  parameters,
  result: itemsDoneSchema,
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
