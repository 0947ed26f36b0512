import type * as z from 'zod';
import { fileCopyNames, folderCopyNames } from '../content/numbered-names.ts';
import type { EntryKind } from '../storage/adapter.ts';
import { copyFolder } from '../storage/folders.ts';
import type { Measure } from '../storage/measure.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { transferItem } from './across-sources.ts';
import { type ActionContext, defineAction } from './action.ts';
import { announce, report } from './changes.ts';
import { incomingName } from './incoming-policy.ts';
import { type Item, requireFolder, requireItem } from './item.ts';
import { forEachItem, itemsDoneSchema } from './many.ts';
import { type NameSearch, takeFreeName } from './naming.ts';
import { renamedName } from './new-name.ts';
import type { OpenSource } from './open-source.ts';
import { itemKey, requireBothLocations } from './relocate.ts';
import { requireContents } from './require-contents.ts';
import { reservedNames } from './reserved.ts';
import { measured, storing } from './room.ts';
import { openSourcePair, requireOutside, type SourcePair, transferParameters } from './two-sources.ts';

const parameters = transferParameters;

type CopyParameters = z.output<typeof parameters>;

/** Copies an item inside its source. The contents of a folder are checked for the path `checked`. */
const copyInside = async (
  context: ActionContext,
  open: OpenSource,
  { path: from, stat }: Item,
  to: SourcePath,
  checked: SourcePath,
): Promise<void> => {
  const { signal } = context;
  if (stat.kind === 'file') {
    await open.storage.copyFile(from, to, { createOnly: true, signal });
    return;
  }
  if (!to.equals(checked)) await requireContents(context, open, { verb: 'COPY', from, to });
  await copyFolder(open.storage, from, to, { signal });
};

const copyOne = async (
  context: ActionContext,
  pair: SourcePair,
  { kind, from, folder }: { kind: EntryKind; from: SourcePath; folder: SourcePath },
): Promise<void> => {
  const { services, signal } = context;
  const { from: open, to: target, isSame } = pair;
  const { source, storage } = target;
  const key = itemKey(kind, 'COPY');
  const check = (to: SourcePath): void =>
    requireBothLocations({ from: open.access, to: target.access }, key, { from, to, kind });
  check(folder.child(from.name));
  const item = await requireItem(context, open, { key, path: from, kind });
  requireOutside(pair, kind, from, folder);
  await requireFolder(target, folder, signal, 'destination folder');
  const name = isSame ? from.name : incomingName(source.settings, item.stat);
  const first = folder.child(name);
  const searchFor = (wanted: string): NameSearch => ({
    storage,
    folder,
    names: kind === 'file' ? fileCopyNames(wanted) : folderCopyNames(wanted),
    isReserved: reservedNames(source.settings),
    reservations: services.reservations,
    signal,
  });
  const change = {
    type: `${kind}.copied`,
    source,
    from,
    fromSource: open.source,
    bytes: item.stat.size,
  } as const;
  const take = async (path: SourcePath): Promise<SourcePath> => {
    check(path);
    const locations = { from: { ...open, path: from }, to: { ...target, path } };
    if (isSame) await copyInside(context, open, item, path, first);
    else await transferItem(context, { verb: 'COPY', kind, ...locations });
    return path;
  };
  const ask = async (): Promise<string> => {
    if (isSame && kind === 'folder') await requireContents(context, open, { verb: 'COPY', from, to: first });
    const changed = await announce(context, { ...change, path: first });
    return changed === undefined ? name : renamedName(source.settings, { kind, name }, changed);
  };
  const need = (): Promise<Measure> => measured(context, open, from, kind);
  const to = await storing(context, target, need, async () => takeFreeName(searchFor(await ask()), take));
  const { stat } = item;
  if (isSame) await services.thumbnails.copied({ source, path: from, stat }, { source, path: to });
  await report(context, { ...change, path: to });
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
