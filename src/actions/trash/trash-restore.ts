import * as z from 'zod';
import { fileCopyNames, folderCopyNames } from '../../content/numbered-names.ts';
import { sourceField } from '../../parameters/fields.ts';
import { requireNameable } from '../../storage/copy-tree.ts';
import { walkFolder } from '../../storage/folders.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import {
  eraseFromTrash,
  findInTrash,
  isBackAlready,
  takeFromTrash,
  trashedPath,
  trashLocation,
  type TrashRecord,
} from '../../trash/trash.ts';
import { type ActionContext, defineAction } from '../action.ts';
import { announce, report } from '../changes.ts';
import { missing, ruleExtension } from '../item.ts';
import { sourceHeader } from '../listing/each-source.ts';
import { isFree, takeFreeName } from '../naming.ts';
import { openSource, type OpenSource } from '../open-source.ts';
import { requireReachable, reservedNames } from '../reserved.ts';
import { moving } from '../room.ts';
import { pathField } from '../../parameters/fields.ts';
import { requireTrashed, trashIdField } from './item.ts';

const KEY = 'TRASH_RESTORE';

/** The keys that something needs where it comes back: those of making it. */
const makingKey = (kind: TrashRecord['kind']): string => (kind === 'file' ? 'FILE_UPLOAD' : 'FOLDER_CREATE');

/**
 * Refuses a folder for which, or for something in which, the rules would not allow it to be made there.
 * Walks it unless the rules allow everything below and its paths become no longer.
 * @throws AccessDeniedError, UnsafePathError
 */
const requireContents = async (
  { signal }: ActionContext,
  { source, storage, access }: OpenSource,
  record: TrashRecord,
  to: SourcePath,
): Promise<void> => {
  const keys = ['FILE_UPLOAD', 'FOLDER_CREATE'];
  const hasRules = keys.some((key) => access.dependsOnItem(key) || !access.allows(key, to));
  if (!hasRules && record.path.equals(to)) return;
  const isReserved = reservedNames(source.settings);
  const folder = trashedPath(record);
  const enters = (path: SourcePath): boolean => !isReserved(path.name);
  for await (const { path, entry } of walkFolder(storage, folder, { detail: 'names', signal, enters })) {
    if (isReserved(entry.name)) continue;
    const target = to.join(folder.relative(path));
    requireNameable(target);
    access.require(makingKey(entry.kind), target, ruleExtension(target, entry.kind));
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
  const check = (path: SourcePath): void => access.require(makingKey(kind), path, ruleExtension(path, kind));
  check(folder.child(origin.name));
  const change = { type: `${kind}.restored`, source, from: origin, bytes: record.bytes } as const;
  const locations = [trashLocation(storage, record), { storage, path: folder.child(origin.name) }];
  return services.locations.hold(locations, { signal }, async () => {
    // Whoever was faster has it.
    if ((await findInTrash(storage, record.id, { signal })) === undefined) throw missing('file or folder');
    await requireMakeable(context, open, folder);
    if (kind === 'folder') await requireContents(context, open, record, folder.child(origin.name));
    await announce(context, { ...change, path: folder.child(origin.name) });
    const search = {
      storage,
      folder,
      names: kind === 'file' ? fileCopyNames(origin.name) : folderCopyNames(origin.name),
      isReserved: reservedNames(source.settings),
      reservations: services.reservations,
      signal,
    };
    const original = folder.child(origin.name);
    const stored = (await isBackAlready(storage, record, original, { signal }))
      ? original
      : await takeFreeName(search, async (path) => {
          check(path);
          await moving(context, open, () => takeFromTrash(storage, record, path, { signal }));
          return path;
        });
    await report(context, { ...change, path: stored });
    await eraseFromTrash(storage, record).catch((error: unknown) => {
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
    const record = await requireTrashed(context, open, KEY, input.id);
    const folder = input.path ?? record.path.parent;
    requireReachable(open.source.settings, folder);
    open.access.require(KEY, folder.child(record.path.name), ruleExtension(record.path, record.kind));
    const stored = await restore(context, open, record, folder);
    return { path: sourceHeader(open.source, stored.parent).path, name: stored.name };
  },
});
