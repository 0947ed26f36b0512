import type { Access } from '../access/access.ts';
import { AccessDeniedError, NotFoundError } from '../errors/errors.ts';
import type { Source } from '../sources/source.ts';
import type { EntryKind } from '../storage/entry.ts';
import { walkFolder } from '../storage/folders.ts';
import type { ReadableStore } from '../storage/readable.ts';
import type { SourcePath } from '../storage/source-path.ts';
import {
  findInTrash,
  trashContents,
  trashedPath,
  type TrashQuery,
  type TrashRecord,
} from '../storage/trash/trashed.ts';
import { FolderView, type Life, missing } from './folder-view.ts';
import { type KeysByKind, LISTING_KEY, reservedNames } from './rights.ts';

export type { TrashRecord } from '../storage/trash/trashed.ts';

type Owner = Access & { readonly source: Source };

/** Number of folders whose compiled rules are cached while the trash is read. */
const MOST_FOLDERS = 256;

/** Returns a test whether the role could see an item at its original path. */
const sightOf = (owner: Owner, storage: ReadableStore, life: Life): ((record: TrashRecord) => boolean) => {
  const isReserved = reservedNames(owner.source.settings);
  // Many items share a folder.
  const known = new Map<string, ReturnType<FolderView['shows']>>();
  return ({ path, kind, bytes, removedAt }) => {
    const { name, parent } = path;
    if (path.segments.some(isReserved) || !owner.may('FILES', parent, 'folder')) return false;
    const key = parent.toString();
    const shows = known.get(key) ?? new FolderView(owner.source, parent, storage, owner, life).shows();
    if (known.size >= MOST_FOLDERS) known.clear();
    known.set(key, shows);
    return shows({ name, kind, size: bytes, modifiedAt: removedAt });
  };
};

interface TrashedPart {
  /** Its path below the item. */
  readonly below: (item: SourcePath) => SourcePath;
  readonly kind: EntryKind;
}

/** The parts of a folder in the trash, except reserved ones, which are restored unchecked. */
export async function* partsOf(
  { signal }: Life,
  { settings }: Source,
  storage: ReadableStore,
  record: TrashRecord,
): AsyncGenerator<TrashedPart, void, undefined> {
  const folder = trashedPath(record);
  const isReserved = reservedNames(settings);
  const enters = (path: SourcePath): boolean => !isReserved(path.name);
  for await (const { path, entry } of walkFolder(storage, folder, { detail: 'names', signal, enters }))
    if (!isReserved(entry.name))
      yield { below: (item) => item.join(folder.relative(path)), kind: entry.kind };
}

interface Asked extends Life, Pick<TrashQuery, 'isBlind'> {
  readonly keys: KeysByKind;
}

/**
 * Rejects an item of the trash unless the rules allow the action for all its parts, at their original paths.
 * An item that the role could not see there counts as missing. Walks a folder only where rules differ between
 * its parts.
 * @throws NotFoundError, AccessDeniedError
 */
const requireParts = async (
  owner: Owner,
  storage: ReadableStore,
  { keys, signal }: Asked,
  record: TrashRecord,
  isVisible = sightOf(owner, storage, { signal }),
): Promise<void> => {
  const { path, kind } = record;
  if (!isVisible(record)) throw missing('file or folder');
  const isTold =
    kind === 'folder' && owner.mayDiffer([...Object.values(LISTING_KEY), ...keys.file, ...keys.folder], path);
  if (isTold)
    for await (const part of partsOf({ signal }, owner.source, storage, record)) {
      const origin = part.below(path);
      if (!owner.may(LISTING_KEY[part.kind], origin, part.kind)) throw missing('file or folder');
      owner.require(keys[part.kind], origin, part.kind);
    }
  owner.require(keys[kind], path, kind);
};

/**
 * The item of an id, when the role may do this with it and all its parts. An item that the role could not see
 * at its original path counts as missing.
 * @throws NotFoundError, also for forged ids and where the source has no trash; AccessDeniedError
 */
export const findTrashed = async (
  owner: Owner,
  storage: ReadableStore,
  asked: Asked & { readonly id: string },
): Promise<TrashRecord> => {
  const { trashRecords, settings } = owner.source;
  const record = settings.trash && (await findInTrash(storage, asked.id, asked, trashRecords));
  if (record === undefined) throw missing('file or folder');
  await requireParts(owner, storage, asked, record);
  return record;
};

/** All items of the trash for which the role may do this, newest first. Costs a read and a stat for each. */
export async function* listTrashed(
  owner: Owner,
  storage: ReadableStore,
  asked: Asked,
): AsyncGenerator<TrashRecord, void, undefined> {
  const isVisible = sightOf(owner, storage, asked);
  for await (const record of trashContents(storage, owner.source.trashRecords, asked)) {
    try {
      await requireParts(owner, storage, asked, record, isVisible);
    } catch (error) {
      if (error instanceof NotFoundError || error instanceof AccessDeniedError) continue;
      throw error;
    }
    yield record;
  }
}
