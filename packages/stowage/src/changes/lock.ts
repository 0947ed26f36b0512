import type { Located } from '../storage/location.ts';
import { findInTrash, trashLocation } from '../storage/trash/trashed.ts';
import { missing } from '../view/folder-view.ts';
import { storeOf } from '../view/writable.ts';
import type { Change, Passage, Stage } from './change.ts';

/** What a change takes away from its location, or puts over what is there. */
const locationsOf = (change: Change): readonly Located[] => {
  if (change.type === 'document') return [];
  const storage = storeOf(change.open);
  const target = { storage, path: change.path };
  if (change.type === 'remove' || change.type === 'describe') return [target];
  if (change.type === 'put') return change.createOnly === true ? [] : [target];
  if (change.type === 'move' || change.type === 'rename')
    return [{ storage: storeOf(change.from), path: change.item.path }, target];
  if (change.type === 'restore') return [trashLocation(storage, change.record), target];
  return change.type === 'erase' ? [trashLocation(storage, change.record)] : [];
};

/** What was there before the waiting may be gone. @throws NotFoundError */
const lookAgain = async (passage: Passage, change: Change, hasWaited: boolean): Promise<void> => {
  const { signal } = passage;
  if (change.type === 'restore' || change.type === 'erase') {
    const { open, record } = change;
    const isSeen = !hasWaited && record.seen !== undefined;
    if (!isSeen && (await findInTrash(storeOf(open), record.id, { signal })) === undefined)
      throw missing('file or folder');
  }
  const mustExist = change.type === 'describe' || (change.type === 'put' && change.mustExist === true);
  if (mustExist) {
    change.open.forget(change.path);
    await change.open.look(change.path, 'file');
  }
  if (hasWaited && change.type === 'remove') {
    change.open.forget(change.path);
    await change.open.look(change.path, change.kind);
  }
  if (hasWaited && (change.type === 'move' || change.type === 'rename')) {
    // Stores make a missing folder in passing.
    change.open.forget(change.path.parent);
    await change.open.requireFolder(change.path.parent, 'destination folder');
  }
};

/**
 * Holds what the change takes away or replaces until it is done: no version is lost between two of them, also
 * where the store cannot tell versions apart.
 */
export const lock: Stage = (passage, change, next) => {
  const locations = locationsOf(change);
  if (locations.length === 0) return next(change);
  return passage.services.locations.hold(locations, passage, async (hasWaited) => {
    await lookAgain(passage, change, hasWaited);
    return next(change);
  });
};
