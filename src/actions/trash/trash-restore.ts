import * as z from 'zod';
import { fileCopyNames, folderCopyNames } from '../../content/numbered-names.ts';
import { sourceField } from '../../parameters/fields.ts';
import { requireNameable } from '../../storage/tree-plan.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import {
  findInTrash,
  leaveTrash,
  takeFromTrash,
  trashLocation,
  twinOf,
  type TrashRecord,
} from '../../trash/trash.ts';
import { type ActionContext, defineAction, forBoth, type KeysByKind } from '../action.ts';
import { announce, report } from '../changes.ts';
import { missing } from '../item.ts';
import { sourceHeader } from '../listing/each-source.ts';
import { isFree, takeFreeName } from '../naming.ts';
import { openSource, type OpenSource } from '../open-source.ts';
import { requireReachable, reservedNames } from '../reserved.ts';
import { moving } from '../room.ts';
import { pathField } from '../../parameters/fields.ts';
import { mayDiffer, partsOf, requireKeys, requireTrashed, trashIdField } from './item.ts';

/** What something needs where it was. */
const ORIGIN_KEYS = forBoth('TRASH_RESTORE');

/** What it needs where it comes back: the keys of making it too. */
const TARGET_KEYS: KeysByKind = {
  file: ['TRASH_RESTORE', 'FILE_UPLOAD'],
  folder: ['TRASH_RESTORE', 'FOLDER_CREATE'],
};

/**
 * Refuses a folder of which the rules do not allow every part at its target, or which makes paths longer than
 * requests can name. Walks it only where that may differ, or paths become others.
 * @throws AccessDeniedError, UnsafePathError
 */
const requireContents = async (
  context: ActionContext,
  open: OpenSource,
  record: TrashRecord,
  to: SourcePath,
): Promise<void> => {
  if (record.path.equals(to) && !mayDiffer(open.access, TARGET_KEYS, to)) return;
  for await (const { below, kind } of partsOf(context, open, record)) {
    const target = below(to);
    requireNameable(target);
    requireKeys(open.access, TARGET_KEYS, target, kind);
  }
};

/** A folder that is gone is made again, as FOLDER_CREATE allows. @throws AccessDeniedError, NotFoundError */
const requireMakeable = async (
  { signal }: ActionContext,
  { storage, access }: OpenSource,
  folder: SourcePath,
): Promise<void> => {
  for (const path of folder.ancestry().toReversed()) {
    if (!(await isFree({ storage, signal }, path))) {
      if ((await storage.stat(path, { signal })).kind === 'file') throw missing('destination folder');
      return;
    }
    access.require('FOLDER_CREATE', path);
  }
};

/**
 * Brings an item back into a folder, under its name or a numbered one. @throws NotFoundError when it is gone
 */
const restore = async (
  context: ActionContext,
  open: OpenSource,
  record: TrashRecord,
  folder: SourcePath,
): Promise<SourcePath> => {
  const { services, signal } = context;
  const { source, storage, access } = open;
  const { kind, path: origin } = record;
  requireKeys(access, TARGET_KEYS, folder.child(origin.name), kind);
  const change = { type: `${kind}.restored`, source, from: origin, bytes: record.bytes } as const;
  const locations = [trashLocation(storage, record), { storage, path: folder.child(origin.name) }];
  return services.locations.hold(locations, { signal }, async () => {
    // Whoever was faster has it.
    if ((await findInTrash(storage, record.id, { signal })) === undefined) throw missing('file or folder');
    await requireMakeable(context, open, folder);
    const original = folder.child(origin.name);
    if (kind === 'folder') await requireContents(context, open, record, original);
    await announce(context, { ...change, path: original });
    const search = {
      storage,
      folder,
      names: kind === 'file' ? fileCopyNames(origin.name) : folderCopyNames(origin.name),
      isReserved: reservedNames(source.settings),
      reservations: services.reservations,
      signal,
    };
    const twin = await twinOf(storage, record, original, { signal });
    const stored =
      twin !== undefined
        ? original
        : await takeFreeName(search, async (path) => {
            requireKeys(access, TARGET_KEYS, path, kind);
            if (kind === 'folder' && !path.equals(original))
              await requireContents(context, open, record, path);
            await moving(context, open, () => takeFromTrash(storage, record, path, { signal }));
            return path;
          });
    await report(context, { ...change, path: stored });
    await leaveTrash(storage, record, twin).catch((error: unknown) => {
      context.log.warn('The record of a restored item could not be removed.', { error });
    });
    await services.thumbnails.changed({ source, path: stored });
    return stored;
  });
};

/** Brings an item of the trash back: to where it was, or into another folder. */
export const trashRestoreAction = defineAction({
  name: 'trashRestore',
  summary: 'Brings an item of the trash back; where its name is taken it gets a number.',
  keys: TARGET_KEYS,
  ofShown: true,
  changes: true,
  parameters: z.object({
    source: sourceField,
    id: trashIdField,
    path: z
      .string()
      .optional()
      .transform((text) => (text === '' ? undefined : text))
      .pipe(z.union([z.undefined(), pathField]))
      .describe('The folder that it goes into; the one that it was in when absent. `/` is the root.'),
  }),
  result: z.object({
    path: z.string().describe('The folder, as listings write it: `/` at the root.'),
    name: z.string().describe('The name that it has got.'),
  }),
  run: async (context, input) => {
    const open = await openSource(context, input.source);
    const record = await requireTrashed(context, open, ORIGIN_KEYS, input.id);
    const folder = input.path ?? record.path.parent;
    requireReachable(open.source.settings, folder);
    const stored = await restore(context, open, record, folder);
    return { path: sourceHeader(open.source, stored.parent).path, name: stored.name };
  },
});
