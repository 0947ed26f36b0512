import { randomUUID } from 'node:crypto';
import { withFileSuffix, withFolderSuffix } from '../basics/content/file-name.ts';
import { MovedInPartError } from '../errors/errors.ts';
import type { EntryKind, StorageAdapter } from '../storage/adapter.ts';
import { moveFolder } from '../storage/folders.ts';
import { isSameLocation } from '../storage/location.ts';
import type { SourcePath } from '../storage/source-path.ts';
import { storeOf } from '../view/writable.ts';
import type { Passage, Transfer } from './change.ts';
import { isFree } from './names.ts';

const moveItem = (
  storage: StorageAdapter,
  kind: EntryKind,
  from: SourcePath,
  to: SourcePath,
  signal?: AbortSignal,
): Promise<void> =>
  kind === 'folder'
    ? moveFolder(storage, from, to, { signal })
    : storage.moveFile(from, to, { createOnly: true, signal });

/** A free name, which listings show: what a crash leaves under it is not out of reach. */
const interimName = (kind: EntryKind, name: string): string => {
  const suffix = `-${randomUUID().slice(0, 8)}`;
  return kind === 'file' ? withFileSuffix(name, suffix) : withFolderSuffix(name, suffix);
};

/**
 * Changes the letter case of a name in a store that ignores it, where the item itself has the new name
 * already: by way of a free name. Once the item has that one, the signal no longer counts; when a
 * step fails, the item gets its old name back.
 * @throws MovedInPartError with the name that the item has, where it could not get its old one back
 */
const changeLetterCase = async (
  storage: StorageAdapter,
  kind: EntryKind,
  from: SourcePath,
  to: SourcePath,
  signal: AbortSignal,
): Promise<void> => {
  const between = from.parent.child(interimName(kind, from.name));
  try {
    await moveItem(storage, kind, from, between, signal);
    await moveItem(storage, kind, between, to);
  } catch (error) {
    // Also after the first step, whose answer may be lost.
    try {
      await moveItem(storage, kind, between, from);
    } catch (cause) {
      if (!(await isFree({ storage, signal: undefined }, between).catch(() => false)))
        throw new MovedInPartError({ message: `The item is called "${between.name}" now.`, cause });
    }
    throw error;
  }
};

/** Gives a file or folder another path in its source. Never replaces anything. @throws AlreadyExistsError */
export const relocate = ({ signal }: Passage, { open, item, path: to }: Transfer): Promise<void> => {
  const storage = storeOf(open);
  const { path: from, stat } = item;
  const isSame = isSameLocation({ storage, path: from }, { storage, path: to });
  const run = isSame && from.parent.equals(to.parent) ? changeLetterCase : moveItem;
  return run(storage, stat.kind, from, to, signal);
};
