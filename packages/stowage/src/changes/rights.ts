import { AlreadyExistsError } from '../errors/errors.ts';
import { walkFolder } from '../storage/folders.ts';
import { isSameLocation } from '../storage/location.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { requireNameable } from '../storage/tree-plan.ts';
import { missing, ruleExtension } from '../view/item.ts';
import {
  itemKey,
  type KeysByKind,
  mayDiffer,
  requireBothLocations,
  requireKeys,
  RESTORE_KEYS,
} from '../view/keys.ts';
import type { OpenSource } from '../view/open-source.ts';
import { reservedNames } from '../view/reserved.ts';
import { partsOf } from '../view/trashed.ts';
import type { Change, Passage, Restore, Stage, Transfer } from './change.ts';
import { checkName } from './check-upload.ts';
import { isFree } from './names.ts';
import { fileTooLarge, withFileNameIf } from './uploaded-file.ts';

/** `MOVE`, `COPY` or `RENAME`. */
export const verbOf = ({ type }: Pick<Transfer, 'type'>): 'MOVE' | 'COPY' | 'RENAME' =>
  (({ move: 'MOVE', copy: 'COPY', rename: 'RENAME' }) as const)[type];

const requireFileKeys = ({ access }: OpenSource, keys: readonly string[], path: SourcePath): void => {
  for (const key of keys) access.require(key, path, ruleExtension(path, 'file'));
};

/** The rules of both sources. An item is not moved onto itself, also not through another source. */
const requireTransfer = (change: Transfer): void => {
  const { type, from, open, item, path: to } = change;
  const { kind } = item.stat;
  const key = itemKey(kind, verbOf(change));
  requireBothLocations({ from: from.access, to: open.access }, key, { from: item.path, to, kind });
  if (type === 'copy') return;
  const isItself =
    from.source === open.source
      ? item.path.equals(to)
      : isSameLocation({ storage: from.storage, path: item.path }, { storage: open.storage, path: to });
  if (isItself) throw new AlreadyExistsError();
};

/**
 * Checks the rules at the paths of a change themselves.
 * @throws AccessDeniedError; AlreadyExistsError for what would be moved onto itself; of files that come in also
 *   UnsafeNameError, TypeNotAllowedError and FileTooLargeError
 */
export const requireRights = async (change: Change): Promise<void> => {
  switch (change.type) {
    case 'makeFolder':
      change.open.access.require('FOLDER_CREATE', change.path);
      break;
    case 'remove':
      requireKeys(change.open.access, REMOVE_KEYS, change.path, change.kind);
      break;
    case 'move':
    case 'rename':
    case 'copy':
      requireTransfer(change);
      break;
    case 'restore':
      requireKeys(change.open.access, RESTORE_KEYS, change.path, change.record.kind);
      break;
    case 'edit':
      requireFileKeys(change.open, [change.key], change.path);
      break;
    case 'put':
      requireFileKeys(change.open, change.keys, change.path);
      break;
    case 'create': {
      const { open, path: folder, files, keys, isForm } = change;
      const { maxUploadFileSize } = open.source.settings;
      for (const { filename, staged } of files)
        await withFileNameIf(isForm, filename, () => {
          checkName(open, folder, filename, keys);
          // The edge stops at the largest limit of the sources; here the source's own holds.
          if (staged.size > maxUploadFileSize) throw fileTooLarge(filename, maxUploadFileSize);
        });
      break;
    }
    // What is in the trash was found by the rules for where it was.
    case 'erase':
    case 'emptyTrash':
    case 'document':
      break;
  }
};

const REMOVE_KEYS: KeysByKind = { file: ['FILE_REMOVE'], folder: ['FOLDER_REMOVE'] };

/** Refuses what the rules deny at the paths themselves. */
export const rights: Stage = async (_, change, next) => {
  await requireRights(change);
  return next(change);
};

type Aborted = Pick<Passage, 'signal'>;

/** What is about to happen to a folder as a whole. */
interface FolderChange {
  readonly verb: 'MOVE' | 'COPY' | 'REMOVE' | 'RENAME';
  readonly from: SourcePath;
  /** Where the folder goes; undefined when it is removed. */
  readonly to?: SourcePath | undefined;
}

/**
 * Whether paths below the folder become longer or deeper, so that one of them may pass what requests can
 * name.
 */
const makesPathsLonger = ({ from, to }: FolderChange): boolean =>
  to !== undefined &&
  (to.segments.length > from.segments.length ||
    Buffer.byteLength(to.toString()) > Buffer.byteLength(from.toString()));

/**
 * Refuses a change of a folder when a rule denies it for something inside, at its old or its new location:
 * folders by the folder's key, files by the file's key as well (`FOLDER_MOVE`, `FILE_MOVE`); to rename a
 * folder, FOLDER_RENAME is the only key. Also refuses a change that makes paths longer than requests can
 * name. Walks the folder unless every key is allowed for whatever is inside and no path becomes longer. What
 * is reserved goes along unseen.
 */
const requireInside = async (
  { signal }: Aborted,
  { source, storage, access }: OpenSource,
  change: FolderChange,
): Promise<void> => {
  const { verb, from, to } = change;
  const folder = [`FOLDER_${verb}`];
  const file = verb === 'RENAME' ? folder : [`FILE_${verb}`, ...folder];
  const isLonger = makesPathsLonger(change);
  const hasRules = [from, to].some((path) => path !== undefined && mayDiffer(access, file, path));
  if (!hasRules && !isLonger) return;
  const isReserved = reservedNames(source.settings);
  const enters = (path: SourcePath): boolean => !isReserved(path.name);
  for await (const { path, entry } of walkFolder(storage, from, { detail: 'names', signal, enters })) {
    if (isReserved(entry.name)) continue;
    const target = to?.join(from.relative(path));
    if (isLonger && target !== undefined) requireNameable(target);
    requireKeys(access, { file, folder }, path, entry.kind);
    if (target !== undefined) requireKeys(access, { file, folder }, target, entry.kind);
  }
};

/**
 * The same for a folder that comes back from the trash. Walks it only where rules tell its parts apart, or paths
 * become others.
 */
const requireRestorable = async (aborted: Aborted, { open, record, path: to }: Restore): Promise<void> => {
  if (record.kind === 'file') return;
  const keys = [...RESTORE_KEYS.file, ...RESTORE_KEYS.folder];
  if (record.path.equals(to) && !mayDiffer(open.access, keys, to)) return;
  for await (const { below, kind } of partsOf(aborted, open, record)) {
    const target = below(to);
    requireNameable(target);
    requireKeys(open.access, RESTORE_KEYS, target, kind);
  }
};

/** A folder that is gone is made again, as FOLDER_CREATE allows. */
const requireMakeable = async (
  { signal }: Aborted,
  { storage, access }: OpenSource,
  folder: SourcePath,
): Promise<void> => {
  for (const path of folder.ancestry().toReversed()) {
    if (!(await isFree({ storage, signal }, path))) {
      if ((await storage.stat(path, { signal })).kind === 'file') throw missing('destination folder');
      return;
    }
    access.require('FOLDER_CREATE', path, ruleExtension(path, 'folder'));
  }
};

/**
 * Checks the rules for all that a folder holds. What enters another source is checked entry by entry when its
 * copy is planned, before anything is copied.
 * @throws AccessDeniedError, UnsafePathError
 */
export const requireContents = async (aborted: Aborted, change: Change): Promise<void> => {
  if (change.type === 'remove' && change.kind === 'folder')
    await requireInside(aborted, change.open, { verb: 'REMOVE', from: change.path });
  if (change.type === 'restore') await requireRestorable(aborted, change);
  if (!('item' in change) || change.item.stat.kind === 'file') return;
  const { open, from, item, path: to } = change;
  if (from.source === open.source)
    await requireInside(aborted, open, { verb: verbOf(change), from: item.path, to });
};

/** Refuses what the rules deny inside a folder, and where a folder would have to be made again. */
export const contents: Stage = async (passage, change, next) => {
  if (change.type === 'restore') await requireMakeable(passage, change.open, change.path.parent);
  await requireContents(passage, change);
  return next(change);
};
