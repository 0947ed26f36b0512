import type { Settings } from '../config/settings.ts';
import { AccessDeniedError, NotFoundError } from '../errors/errors.ts';
import type { EntryKind } from '../storage/entry.ts';
import { walkFolder } from '../storage/folders.ts';
import type { SourcePath } from '../storage/source-path.ts';
import type { TrashPolicy } from '../storage/trash/sweep.ts';
import { findInTrash, trashContents, trashedPath, type TrashRecord } from '../storage/trash/trashed.ts';
import { missing, ruleExtension } from './item.ts';
import { type KeysByKind, mayDiffer, requireKeys } from './keys.ts';
import type { OpenSource } from './open-source.ts';
import { reservedNames } from './reserved.ts';
import { visibleEntries } from './visibility.ts';

export type { TrashRecord } from '../storage/trash/trashed.ts';

interface Aborted {
  readonly signal: AbortSignal;
}

/** What a source keeps of removed items; undefined: nothing. */
export const trashPolicyOf = ({ trash }: Pick<Settings, 'trash'>): TrashPolicy | undefined =>
  trash === undefined || trash.retentionDays === 0 ? undefined : trash;

/** Whether the role could see the item if it were where it was. */
const isVisible = (
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
  { signal }: Aborted,
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

const SIGHT: KeysByKind = { file: ['FILES'], folder: ['FOLDERS'] };

/**
 * Refuses an item of the trash unless the rules allow it with all its parts, where they were. What the role
 * could not see there is not there. Walks a folder only where rules tell its parts apart.
 * @throws NotFoundError, AccessDeniedError
 */
const requireParts = async (
  aborted: Aborted,
  open: OpenSource,
  record: TrashRecord,
  keys: KeysByKind,
): Promise<void> => {
  const { access } = open;
  const { path, kind } = record;
  if (!isVisible(open, record)) throw missing('file or folder');
  const isTold =
    kind === 'folder' &&
    [SIGHT, keys].some(({ file, folder }) => mayDiffer(access, [...file, ...folder], path));
  if (isTold)
    for await (const part of partsOf(aborted, open, record)) {
      const origin = part.below(path);
      const [sight = ''] = SIGHT[part.kind];
      if (!access.allows(sight, origin, ruleExtension(origin, part.kind))) throw missing('file or folder');
      requireKeys(access, keys, origin, part.kind);
    }
  requireKeys(access, keys, path, kind);
};

/** Whether the rules let the role see the item and do this with it and all its parts, by where they were. */
const isAllowed = async (
  aborted: Aborted,
  open: OpenSource,
  record: TrashRecord,
  keys: KeysByKind,
): Promise<boolean> => {
  try {
    await requireParts(aborted, open, record, keys);
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
  aborted: Aborted,
  open: OpenSource,
  keys: KeysByKind,
  id: string,
): Promise<TrashRecord> => {
  const hasTrash = trashPolicyOf(open.source.settings) !== undefined;
  const record = hasTrash ? await findInTrash(open.storage, id, aborted) : undefined;
  if (record === undefined) throw missing('file or folder');
  await requireParts(aborted, open, record, keys);
  return record;
};

/** All in the trash with which the role may do this, the newest first; costs a reading and a look for each. */
export async function* trashedItems(
  { signal }: Aborted,
  open: OpenSource,
  keys: KeysByKind,
): AsyncGenerator<TrashRecord, void, undefined> {
  for await (const record of trashContents(open.storage, { signal }))
    if (await isAllowed({ signal }, open, record, keys)) yield record;
}
