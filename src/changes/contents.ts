import { walkFolder } from '../storage/folders.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { requireNameable } from '../storage/tree-plan.ts';
import { missing, ruleExtension } from '../view/item.ts';
import { mayDiffer, requireKeys, RESTORE_KEYS } from '../view/keys.ts';
import type { OpenSource } from '../view/open-source.ts';
import { reservedNames } from '../view/reserved.ts';
import { partsOf } from '../view/trashed.ts';
import type { Change, Passage, Restore, Stage } from './change.ts';
import { isFree } from './names.ts';
import { verbOf } from './rights.ts';

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
