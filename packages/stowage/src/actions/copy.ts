import type * as z from 'zod';
import { carryOut } from '../changes/carry-out.ts';
import { incomingName } from '../changes/incoming.ts';
import { itemKey, requireBothLocations } from '../view/keys.ts';
import type { EntryKind } from '../storage/entry.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { requireFolder, requireItem } from '../view/item.ts';
import { type ActionContext, defineAction } from './action.ts';
import { forEachItem, itemsDoneSchema } from './many.ts';
import { openSourcePair, requireOutside, type SourcePair, transferParameters } from './two-sources.ts';

const parameters = transferParameters;

type CopyParameters = z.output<typeof parameters>;

const copyOne = async (
  context: ActionContext,
  pair: SourcePair,
  { kind, from: wanted, folder }: { kind: EntryKind; from: SourcePath; folder: SourcePath },
): Promise<void> => {
  const { from, to: open, isSame } = pair;
  const key = itemKey(kind, 'COPY');
  const access = { from: from.access, to: open.access };
  requireBothLocations(access, key, { from: wanted, to: folder.child(wanted.name), kind });
  const item = await requireItem(context, from, { key, path: wanted, kind });
  requireOutside(pair, kind, wanted, folder);
  await requireFolder(open, folder, context.signal, 'destination folder');
  const path = folder.child(isSame ? wanted.name : incomingName(open.source.settings, item.stat));
  await carryOut(context, { type: 'copy', from, open, item, path });
};

const copy =
  (kind: EntryKind) =>
  async (
    context: ActionContext,
    { path: folder, from: one, froms: several, ...sources }: CopyParameters,
  ): ReturnType<typeof forEachItem> => {
    const pair = await openSourcePair(context, sources);
    return forEachItem(context, { one, several, nameOf: String }, (from) =>
      copyOne(context, pair, { kind, from, folder }),
    );
  };

const shared = {
  changes: true,
  parameters,
  result: itemsDoneSchema,
} as const;

/** Copies a file; a taken name gets a number: `a (1).jpg`. */
export const fileCopyAction = defineAction({
  ...shared,
  name: 'fileCopy',
  summary:
    'Copies a file into a folder, also of another source (`fromSource`); where the name is taken the copy ' +
    'gets a number.',
  run: copy('file'),
});

/** Copies a folder with all it holds; a taken name gets a number: `photos (1)`. */
export const folderCopyAction = defineAction({
  ...shared,
  name: 'folderCopy',
  summary:
    'Copies a folder with its contents, also into another source (`fromSource`); where the name is taken ' +
    'the copy gets a number.',
  run: copy('folder'),
});
