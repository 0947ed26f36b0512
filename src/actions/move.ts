import { z } from 'zod';
import { itemPathField, pathField } from '../parameters/fields.ts';
import type { EntryKind } from '../storage/adapter.ts';
import { transferItem } from './across-sources.ts';
import { type ActionContext, defineAction, doneSchema } from './action.ts';
import { incomingName } from './incoming-policy.ts';
import { requireFolder } from './item.ts';
import { findChecked, itemKey, relocate, requireBothLocations } from './relocate.ts';
import { openSourcePair, requireElsewhere, requireOutside, twoSourcesShape } from './two-sources.ts';

const parameters = z.object({ ...twoSourcesShape, path: pathField, from: itemPathField });

type MoveParameters = z.output<typeof parameters>;

const move =
  (expected: EntryKind) =>
  async (context: ActionContext, input: MoveParameters): Promise<Record<string, never>> => {
    const pair = await openSourcePair(context, input);
    const { from: open, to: target, isSame } = pair;
    const access = { from: open.access, to: target.access };
    const item = await findChecked(open, input.from, expected, context.signal, (kind) => {
      const to = input.path.child(input.from.name);
      requireBothLocations(access, itemKey(kind, 'MOVE'), { from: input.from, to, kind });
    });
    const { path: from, stat } = item;
    requireOutside(pair, stat.kind, from, input.path);
    await requireFolder(target, input.path, context.signal, 'destination folder');
    if (isSame) {
      await relocate(context, open, { verb: 'MOVE', item, to: input.path.child(from.name) });
      return {};
    }
    const to = input.path.child(incomingName(target.source.settings, stat));
    requireElsewhere(pair, from, to);
    const locations = { from: { ...open, path: from }, to: { ...target, path: to } };
    await transferItem(context, { verb: 'MOVE', kind: stat.kind, ...locations });
    return {};
  };

const shared = {
  keys: ['FILE_MOVE', 'FOLDER_MOVE'],
  changes: true,
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
