import * as z from 'zod';
import type { Access } from '../../access/access.ts';
import { AccessDeniedError, NotFoundError } from '../../errors/errors.ts';
import type { EntryKind } from '../../storage/adapter.ts';
import { walkFolder } from '../../storage/folders.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { findInTrash, trashedPath, type TrashRecord } from '../../trash/trash.ts';
import type { ActionContext, KeysByKind } from '../action.ts';
import { missing, ruleExtension } from '../item.ts';
import { sourceHeader } from '../listing/each-source.ts';
import { visibleEntries } from '../listing/visibility.ts';
import type { OpenSource } from '../open-source.ts';
import { trashPolicyOf } from '../removal.ts';
import { reservedNames } from '../reserved.ts';

/** What a request may say of an id. Whether it has the form of one is found out where it is looked up. */
export const trashIdField = z
  .string()
  .refine((text) => text.trim() !== '', 'must not be empty')
  .describe('As `trashList` gives it.');

/** Something in the trash, as answers describe it. */
export const trashItemSchema = z.object({
  id: z.string(),
  source: z.string().describe('Name of the source.'),
  path: z.string().describe('The folder that it was in, as listings write it: `/` at the root.'),
  name: z.string(),
  kind: z.enum(['file', 'folder']),
  bytes: z.number().describe('Of a folder with all it holds.'),
  removedAt: z.string().describe('ISO 8601, in UTC.'),
  role: z.string().describe('Of whoever removed it.'),
  subject: z.string().optional().describe('Who removed it, as far as the service was told.'),
  replaced: z.boolean().describe('True: it was not removed but replaced by newer content.'),
});

/** Describes something in the trash. */
export const trashItem = (
  { source }: OpenSource,
  { id, path, kind, bytes, removedAt, role, subject, replaced }: TrashRecord,
): z.output<typeof trashItemSchema> => {
  const { name, path: folder } = sourceHeader(source, path.parent);
  return {
    id,
    source: name,
    path: folder,
    name: path.name,
    kind,
    bytes,
    removedAt: new Date(removedAt).toISOString(),
    role,
    ...(subject === undefined ? {} : { subject }),
    replaced,
  };
};

/** Whether the role could see the item if it were where it was. */
export const isVisible = (
  { source: { settings }, access }: OpenSource,
  { path, kind, bytes, removedAt }: TrashRecord,
): boolean => {
  const folder = path.parent;
  const isShown = visibleEntries(settings, access, folder, {
    folders: true,
    onlyImages: false,
    filterWord: undefined,
  });
  return (
    !path.segments.some(reservedNames(settings)) &&
    access.allows('FILES', folder) &&
    isShown({ name: path.name, kind, size: bytes, modifiedAt: removedAt })
  );
};

/** A part of a folder in the trash. */
export interface TrashedPart {
  /** Where it lies below the item. */
  readonly below: (item: SourcePath) => SourcePath;
  readonly kind: EntryKind;
}

/** The parts of a folder in the trash, except what is reserved: that goes along unseen. */
export async function* partsOf(
  { signal }: Pick<ActionContext, 'signal'>,
  { source, storage }: OpenSource,
  record: TrashRecord,
): AsyncGenerator<TrashedPart, void, undefined> {
  const folder = trashedPath(record);
  const isReserved = reservedNames(source.settings);
  const enters = (path: SourcePath): boolean => !isReserved(path.name);
  for await (const { path, entry } of walkFolder(storage, folder, { detail: 'names', signal, enters }))
    if (!isReserved(entry.name))
      yield { below: (item) => item.join(folder.relative(path)), kind: entry.kind };
}

/** Whether parts of a folder may fare otherwise than the folder, by any of the keys. */
export const mayDiffer = (access: Access, keys: KeysByKind, folder: SourcePath): boolean =>
  [...keys.file, ...keys.folder].some(
    (key) => access.dependsOnItem(key, folder) || !access.allows(key, folder),
  );

/** @throws AccessDeniedError where one of the keys is denied for the file or folder */
export const requireKeys = (access: Access, keys: KeysByKind, path: SourcePath, kind: EntryKind): void => {
  for (const key of keys[kind]) access.require(key, path, ruleExtension(path, kind));
};

const SIGHT: KeysByKind = { file: ['FILES'], folder: ['FOLDERS'] };

/**
 * Refuses an item of the trash unless the rules allow it with all its parts, where they were. What the role
 * could not see there is not there. Walks a folder only where rules tell its parts apart.
 * @throws NotFoundError, AccessDeniedError
 */
const requireParts = async (
  context: ActionContext,
  open: OpenSource,
  record: TrashRecord,
  keys: KeysByKind,
): Promise<void> => {
  const { access } = open;
  const { path, kind } = record;
  if (!isVisible(open, record)) throw missing('file or folder');
  const isTold = kind === 'folder' && [SIGHT, keys].some((some) => mayDiffer(access, some, path));
  if (isTold)
    for await (const part of partsOf(context, open, record)) {
      const origin = part.below(path);
      const [sight = ''] = SIGHT[part.kind];
      if (!access.allows(sight, origin, ruleExtension(origin, part.kind))) throw missing('file or folder');
      requireKeys(access, keys, origin, part.kind);
    }
  requireKeys(access, keys, path, kind);
};

/** Whether the rules let the role see the item and do this with it and all its parts, by where they were. */
export const isAllowed = async (
  context: ActionContext,
  open: OpenSource,
  record: TrashRecord,
  keys: KeysByKind,
): Promise<boolean> => {
  try {
    await requireParts(context, open, record, keys);
    return true;
  } catch (error) {
    if (error instanceof NotFoundError || error instanceof AccessDeniedError) return false;
    throw error;
  }
};

/**
 * The item of an id, when the role may do this with it and all its parts. What it could not see where it was is
 * not there.
 * @throws NotFoundError, also for forged ids and where the source has no trash; AccessDeniedError
 */
export const requireTrashed = async (
  context: ActionContext,
  open: OpenSource,
  keys: KeysByKind,
  id: string,
): Promise<TrashRecord> => {
  const hasTrash = trashPolicyOf(open.source.settings) !== undefined;
  const record = hasTrash ? await findInTrash(open.storage, id, context) : undefined;
  if (record === undefined) throw missing('file or folder');
  await requireParts(context, open, record, keys);
  return record;
};
