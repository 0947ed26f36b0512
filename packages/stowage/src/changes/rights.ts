import { AccessDeniedError, AlreadyExistsError, UnsafeNameError } from '../errors/errors.ts';
import { ABOUT_FOLDER } from '../storage/about/about.ts';
import type { EntryKind } from '../storage/entry.ts';
import { walkFolder } from '../storage/folders.ts';
import { isSameLocation } from '../storage/location.ts';
import { tallyOf } from '../storage/measure.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { requireNameable } from '../storage/tree-plan.ts';
import { missing } from '../view/folder-view.ts';
import {
  itemKey,
  type ItemPaths,
  type KeysByKind,
  requireBothLocations,
  requireStaysHidden,
  RESTORE_KEYS,
  SEEING_KEYS,
} from '../view/rights.ts';
import type { SourceView } from '../view/source-view.ts';
import { partsOf } from '../view/trashed.ts';
import { storeOf } from '../view/writable.ts';
import type { Change, Create, StageContext, Replace, Restore, Stage, Transfer } from './change.ts';
import { checkName, newFolderName, requireSameType } from './new-name.ts';
import { fileTooLarge, type UploadedFile, withFileNameIf } from './uploaded-file.ts';

export const verbOf = ({ type }: Pick<Transfer, 'type'>): 'MOVE' | 'COPY' | 'RENAME' =>
  ({ move: 'MOVE', copy: 'COPY', rename: 'RENAME' } as const)[type];

/** Rejects the removal of a folder that another source has as its root, or below which its root is. */
const requireNoOtherRoot = async ({ source }: SourceView, path: SourcePath, kind: EntryKind) => {
  if (kind === 'folder' && (await source.holdsOtherRoot(path)))
    throw new AccessDeniedError('The folder is or holds the root of another source.');
};

/** Checks the rules of both sources. Rejects a move of an item onto itself, also through another source. */
const requireTransfer = async (change: Transfer): Promise<void> => {
  const { type, from, open, item, path: to } = change;
  const { kind } = item.stat;
  const key = itemKey(kind, verbOf(change));
  requireBothLocations({ from, to: open }, key, { from: item.path, to, kind });
  if (type === 'copy') return;
  await requireNoOtherRoot(from, item.path, kind);
  const isItself =
    from.source === open.source
      ? item.path.equals(to)
      : isSameLocation({ storage: storeOf(from), path: item.path }, { storage: storeOf(open), path: to });
  if (isItself) throw new AlreadyExistsError();
};

/** Checks the rules for a restored item, or a part of it, with its former path. */
const requireRestored = (open: SourceView, paths: ItemPaths): void => {
  open.require(RESTORE_KEYS[paths.kind], paths.to, paths.kind);
  requireStaysHidden({ from: open, to: open }, paths);
};

/** The HTTP layer enforces the largest limit of all sources; this enforces the source's own. */
const requireSize = ({ source }: SourceView, { filename, staged }: UploadedFile): void => {
  const { maxUploadFileSize } = source.settings;
  if (staged.size > maxUploadFileSize) throw fileTooLarge(filename, maxUploadFileSize);
};

const requireReplacement = ({ open, path, keys, file }: Replace): void => {
  open.require(keys, path, 'file');
  requireSameType(path, file.filename);
  requireSize(open, file);
};

const requireNewFiles = async ({ open, path: folder, files, keys, isForm }: Create): Promise<void> => {
  for (const file of files)
    await withFileNameIf(isForm, file.filename, () => {
      checkName(open, folder, file.filename, keys);
      requireSize(open, file);
    });
};

/**
 * Checks the rules at the paths of the change itself.
 * @throws AccessDeniedError; AlreadyExistsError for a move of an item onto itself; for incoming files also
 * UnsafeNameError, TypeNotAllowedError and FileTooLargeError
 */
export const requireRights = async (change: Change): Promise<void> => {
  switch (change.type) {
    case 'makeFolder':
      return change.open.require('FOLDER_CREATE', change.path, 'folder');
    case 'remove':
      change.open.require(REMOVE_KEYS[change.kind], change.path, change.kind);
      return requireNoOtherRoot(change.open, change.path, change.kind);
    case 'move':
    case 'rename':
    case 'copy':
      return requireTransfer(change);
    case 'restore':
      return requireRestored(change.open, {
        from: change.record.path,
        to: change.path,
        kind: change.record.kind,
      });
    case 'edit':
      return change.open.require(change.key, change.path, 'file');
    case 'put':
      return change.open.require(change.keys, change.path, 'file');
    case 'replace':
      return requireReplacement(change);
    case 'describe':
      return change.open.require('FILE_DESCRIBE', change.path, 'file');
    case 'create':
      return requireNewFiles(change);
    // The items of the trash were already filtered by the rules for their former paths.
    case 'erase':
    case 'emptyTrash':
    case 'document':
      return;
  }
};

const REMOVE_KEYS: KeysByKind = { file: ['FILE_REMOVE'], folder: ['FOLDER_REMOVE'] };

/** Rejects a change that the rules deny at its own paths. */
export const rights: Stage = async (_, change, next) => {
  await requireRights(change);
  return next(change);
};

type Aborted = Pick<StageContext, 'signal'>;

interface FolderChange {
  readonly verb: 'MOVE' | 'COPY' | 'REMOVE' | 'RENAME';
  readonly from: SourcePath;
  /** New path of the folder; undefined when it is removed. */
  readonly to?: SourcePath | undefined;
}

/** Whether paths below the folder become longer or deeper, so that one may exceed the limits of requests. */
const makesPathsLonger = ({ from, to }: FolderChange): boolean =>
  to !== undefined &&
  (to.segments.length > from.segments.length ||
    Buffer.byteLength(to.toString()) > Buffer.byteLength(from.toString()));

/** Whether the store knows that no path below `from` would be too long or too deep below `to`. */
const isNameableThroughout = async (
  view: SourceView,
  from: SourcePath,
  to: SourcePath | undefined,
  signal: AbortSignal,
): Promise<boolean> => {
  if (to === undefined) return true;
  const likely = [view.source.settings.thumbFolderName, ABOUT_FOLDER];
  const tally = await tallyOf(storeOf(view), from, { of: 'paths', likely, signal });
  return tally?.unreadable === 0 && to.hasRoomFor({ segments: tally.deepest, bytes: tally.longest });
};

/**
 * Rejects a change of a folder when a rule denies it for an item inside, at its old or new location: folders
 * by the folder's key, files by the file's key as well (`FOLDER_MOVE`, `FILE_MOVE`); renaming a folder needs
 * FOLDER_RENAME only. Also rejects a change that would show a hidden item, or make paths longer than requests
 * can name. Walks the folder unless every key is allowed for all paths inside, the rules for seeing them are
 * the same at both locations, and none becomes longer. Reserved items move along unchecked.
 */
const requireInside = async ({ signal }: Aborted, view: SourceView, change: FolderChange): Promise<void> => {
  const { verb, from, to } = change;
  const folder = [`FOLDER_${verb}`];
  const file = verb === 'RENAME' ? folder : [`FILE_${verb}`, ...folder];
  const isLonger = makesPathsLonger(change);
  const hasRules =
    [from, to].some((path) => path !== undefined && view.mayDiffer(file, path)) ||
    (to !== undefined && view.mayDifferBetween(Object.values(SEEING_KEYS).flat(), from, to));
  if (!hasRules && (!isLonger || (await isNameableThroughout(view, from, to, signal)))) return;
  const enters = (path: SourcePath): boolean => !view.reserves(path.name);
  const options = { detail: 'names', signal, enters } as const;
  for await (const { path, entry } of walkFolder(storeOf(view), from, options)) {
    if (view.reserves(entry.name)) continue;
    const target = to?.join(from.relative(path));
    if (isLonger && target !== undefined) requireNameable(target);
    const keys = { file, folder }[entry.kind];
    if (target === undefined) view.require(keys, path, entry.kind);
    else requireBothLocations({ from: view, to: view }, keys, { from: path, to: target, kind: entry.kind });
  }
};

/** As `requireInside`, for a restored folder. Walks it only where rules or paths differ between its parts. */
const requireRestorable = async (aborted: Aborted, { open, record, path: to }: Restore): Promise<void> => {
  if (record.kind === 'file') return;
  const keys = [...RESTORE_KEYS.file, ...RESTORE_KEYS.folder];
  if (record.path.equals(to) && !open.mayDiffer(keys, to)) return;
  for await (const { below, kind } of partsOf(aborted, open.source, storeOf(open), record)) {
    const target = below(to);
    requireNameable(target);
    requireRestored(open, { from: below(record.path), to: target, kind });
  }
};

/**
 * Requires FOLDER_CREATE for missing parent folders, which are created again. A folder other than the
 * original parents needs a name that folderCreate would give it.
 * @throws AccessDeniedError, UnsafeNameError; NotFoundError when a file is in the way
 */
const requireMakeable = async ({ open, path: to, record }: Restore): Promise<void> => {
  for (const path of to.parent.ancestry().toReversed()) {
    const found = await open.kindAt(path, 'folder');
    if (found === 'file') throw missing('destination folder');
    if (found === 'folder') return;
    open.require('FOLDER_CREATE', path, 'folder');
    const { name } = path;
    if (!path.contains(record.path) && newFolderName(open.source.settings, name) !== name)
      throw new UnsafeNameError({ details: { name } });
  }
};

/**
 * Checks the rules for all contents of a folder. Contents that enter another source are checked entry by
 * entry when the copy is planned, before anything is copied.
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

/** Rejects a change that the rules deny inside a folder, or for a parent folder to be created again. */
export const contents: Stage = async (context, change, next) => {
  if (change.type === 'restore') await requireMakeable(change);
  await requireContents(context, change);
  return next(change);
};
