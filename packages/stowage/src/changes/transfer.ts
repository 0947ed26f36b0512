import { randomUUID } from 'node:crypto';
import { isSystemFile, withFileSuffix, withFolderSuffix } from '../basics/content/file-name.ts';
import { hasAllowedExtension } from '../basics/content/file-type.ts';
import { AccessDeniedError, MovedInPartError } from '../errors/errors.ts';
import { isThumbnailFolder } from '../pictures/kept/plan.ts';
import { ABOUT_FOLDER } from '../storage/about/about.ts';
import type { Entry, EntryKind, StorageAdapter } from '../storage/adapter.ts';
import { type CopiedTree, copyFileTo, copyTree, type CopyTreeOptions } from '../storage/copy-tree.ts';
import { moveItem } from '../storage/folders.ts';
import { isSameLocation } from '../storage/location.ts';
import { moveFileTo, moveTree } from '../storage/move-tree.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { requireBothLocations, reservedNames } from '../view/rights.ts';
import { storeOf } from '../view/writable.ts';
import type { Done, StageContext, Renamed, Transfer } from './change.ts';
import { incomingContent } from './incoming.ts';
import { isFree } from './names.ts';
import { incomingName } from './new-name.ts';
import { verbOf } from './rights.ts';

/** A free name that is visible in listings, so that users can reach an item that a crash leaves under it. */
const interimName = (kind: EntryKind, name: string): string => {
  const suffix = `-${randomUUID().slice(0, 8)}`;
  return kind === 'file' ? withFileSuffix(name, suffix) : withFolderSuffix(name, suffix);
};

/**
 * Changes the letter case of a name in a store that ignores it, where the item itself occupies the new name:
 * through an interim name. After the first step the signal is ignored; when a step fails, the item gets its
 * old name back.
 * @throws MovedInPartError with the current name of the item, when the old one could not be restored
 */
const changeLetterCase = async (
  storage: StorageAdapter,
  kind: EntryKind,
  from: SourcePath,
  to: SourcePath,
  { signal }: Pick<StageContext, 'signal'>,
): Promise<void> => {
  const between = from.parent.child(interimName(kind, from.name));
  try {
    await moveItem(storage, kind, from, between, { createOnly: true, signal });
    await moveItem(storage, kind, between, to, { createOnly: true });
  } catch (error) {
    // Also after a failed first step: it may have succeeded with its response lost.
    try {
      await moveItem(storage, kind, between, from, { createOnly: true });
    } catch (cause) {
      if (!(await isFree({ storage, signal: undefined }, between).catch(() => false)))
        throw new MovedInPartError({ message: `The item is called "${between.name}" now.`, cause });
    }
    throw error;
  }
};

/** Moves a file or folder inside its source. Never replaces anything. @throws AlreadyExistsError */
export const relocate = async (
  { signal }: StageContext,
  { open, item, path: to }: Transfer,
): Promise<undefined> => {
  const storage = storeOf(open);
  const { path: from, stat } = item;
  const isSame = isSameLocation({ storage, path: from }, { storage, path: to });
  const run = isSame && from.parent.equals(to.parent) ? changeLetterCase : moveItem;
  const isNoFolder = stat.kind === 'file' && (await open.isSeenNoFolder(to));
  await run(storage, stat.kind, from, to, { createOnly: true, seen: stat, isNoFolder, signal });
};

/**
 * Whether an entry stays behind and is removed with its folder: thumbnails, which are made anew, descriptions,
 * which follow separately, and files of operating systems, which are not content.
 */
const isBesideFiles = ({ from }: Transfer, entry: Entry): boolean => {
  const { kind, name } = entry;
  const isFolder =
    kind === 'folder' && (name === ABOUT_FOLDER || isThumbnailFolder(from.source.settings, name));
  return isFolder || isSystemFile(entry);
};

/**
 * Checks all contents of a folder before any of it is copied, and returns the name of each item in the other
 * source. Items that the source hides are not transferred: a copy skips them, and a move, which would leave
 * them behind, is rejected.
 * @throws AccessDeniedError, TypeNotAllowedError, FileTooLargeError, UnsafeNameError
 */
const nameInOtherSource = (transfer: Transfer): NonNullable<CopyTreeOptions['nameFor']> => {
  const { from, open: to } = transfer;
  const verb = verbOf(transfer);
  const keys = { file: [`FILE_${verb}`, `FOLDER_${verb}`], folder: [`FOLDER_${verb}`] };
  const isReservedHere = reservedNames(from.source.settings);
  const isReservedThere = reservedNames(to.source.settings);
  const isShown = ({ kind, name }: Entry): boolean =>
    !isReservedHere(name) &&
    !isReservedThere(name) &&
    (kind === 'folder' || hasAllowedExtension(name, from.source.settings.extensions));
  return (path, entry, targetFolder) => {
    if (!isShown(entry)) {
      if (verb === 'COPY' || isBesideFiles(transfer, entry)) return undefined;
      throw new AccessDeniedError('The folder holds something that cannot leave its source.');
    }
    const name = incomingName(to.source.settings, entry);
    const target = targetFolder.below(name);
    requireBothLocations({ from, to }, keys[entry.kind], { from: path, to: target, kind: entry.kind });
    return name;
  };
};

/** Number of changed names inside a folder from which old links lead to the new ones. */
const MOST_RENAMED = 200;

/**
 * Copies or moves an item into another source, streamed between the stores. The rules of both sources hold,
 * and the target's settings about names, types, sizes and content as for an upload. Replaces nothing; a move
 * removes an original only when it is unchanged and complete at the target. Returns what the target stores of
 * it, and the verdict of the inspection.
 * @throws AlreadyExistsError, AccessDeniedError, TypeNotAllowedError, FileTooLargeError, MovedInPartError,
 * RefusedByInspectionError, and errors of either store
 */
export const transferAcross = async (
  context: StageContext,
  transfer: Transfer,
): Promise<Omit<Done, 'path'>> => {
  const { type, item, from, open: to } = transfer;
  const { services, signal, log } = context;
  const source = { storage: storeOf(from), path: item.path };
  const target = { storage: storeOf(to), path: transfer.path };
  let inspection: Done['inspection'];
  const enter = incomingContent(context, { from, to }, (verdict) => {
    if (inspection?.verdict !== 'skipped') inspection = verdict;
  });
  let bytes: number | undefined;
  const stored = { bytes: 0, files: 0 };
  const contentFor: typeof enter = async (...file) => {
    const content = await enter(...file);
    bytes = content.size;
    stored.bytes += bytes ?? 0;
    stored.files += 1;
    return content;
  };
  const options = { signal, contentFor };
  if (item.stat.kind === 'file') {
    await (type === 'copy' ? copyFileTo : moveFileTo)(source, target, options);
    return { inspection, bytes, stored };
  }
  const derivedFrom = services.thumbnails.derivedIn(from.source);
  const onCopied = async (files: CopiedTree['files']): Promise<void> => {
    try {
      await services.about.carry(source.storage, target.storage, files);
    } catch (error) {
      if (type !== 'copy') throw error;
      log.warn('The descriptions of the files of a folder could not be copied.', { error });
    }
  };
  const renamed: Renamed[] = [];
  const nameInTarget = nameInOtherSource(transfer);
  const nameFor: typeof nameInTarget = (path, entry, targetFolder) => {
    const name = nameInTarget(path, entry, targetFolder);
    if (name !== undefined && name !== path.name && renamed.length < MOST_RENAMED)
      renamed.push({ kind: entry.kind, from: path, to: targetFolder.below(name) });
    return name;
  };
  const treeOptions = { ...options, nameFor, derivedFrom, onCopied };
  await (type === 'copy' ? copyTree : moveTree)(source, target, treeOptions);
  return { inspection, stored, renamed };
};
