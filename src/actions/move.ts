import type * as z from 'zod';
import type { EntryKind } from '../storage/adapter.ts';
import type { Measure } from '../storage/measure.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { transferItem } from './across-sources.ts';
import { type ActionContext, defineAction } from './action.ts';
import { announce, report } from './changes.ts';
import { incomingName } from './incoming-policy.ts';
import { requireFolder } from './item.ts';
import { forEachItem, itemsDoneSchema } from './many.ts';
import { renamedName } from './new-name.ts';
import { findChecked, itemKey, relocate, requireBothLocations } from './relocate.ts';
import { freeing, measured, storing } from './room.ts';
import {
  openSourcePair,
  requireElsewhere,
  requireOutside,
  type SourcePair,
  transferParameters,
} from './two-sources.ts';

const parameters = transferParameters;

type MoveParameters = z.output<typeof parameters>;

const moveOne = async (
  context: ActionContext,
  pair: SourcePair,
  { expected, from: wantedPath, folder }: { expected: EntryKind; from: SourcePath; folder: SourcePath },
): Promise<void> => {
  const { from: open, to: target, isSame } = pair;
  const access = { from: open.access, to: target.access };
  const item = await findChecked(open, wantedPath, expected, context.signal, (kind) => {
    const to = folder.child(wantedPath.name);
    requireBothLocations(access, itemKey(kind, 'MOVE'), { from: wantedPath, to, kind });
  });
  const { path: from, stat } = item;
  requireOutside(pair, stat.kind, from, folder);
  await requireFolder(target, folder, context.signal, 'destination folder');
  if (isSame) {
    await relocate(context, open, { verb: 'MOVE', item, to: folder.child(from.name) });
    return;
  }
  const { source } = target;
  const { kind } = stat;
  const wanted = folder.child(incomingName(source.settings, stat));
  requireElsewhere(pair, from, wanted);
  const change = { type: `${kind}.moved`, source, from, fromSource: open.source } as const;
  const changed = await announce(context, { ...change, path: wanted });
  const to =
    changed === undefined
      ? wanted
      : folder.child(renamedName(source.settings, { kind, name: wanted.name }, changed));
  requireElsewhere(pair, from, to);
  const locations = { from: { ...open, path: from }, to: { ...target, path: to } };
  const need = (): Promise<Measure> => measured(context, open, from, kind);
  await storing(context, target, need, () =>
    freeing(context, open, { path: from, kind }, () =>
      transferItem(context, { verb: 'MOVE', kind, ...locations }),
    ),
  );
  await report(context, { ...change, path: to, bytes: stat.size });
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
