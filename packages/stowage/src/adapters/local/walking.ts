import { fromSystemError } from '../../basics/files/system-errors.ts';
import { UnsupportedError } from '../../errors/errors.ts';
import type { Entry } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import {
  WalkedFolders,
  type FoundEntry,
  type TreeWalkOptions,
  type WalkPage,
} from '../../storage/tree-walk.ts';
import { attempt, type LocalStore } from './local-store.ts';
import type { TreePage } from './scan-messages.ts';
import { ScanThreadMissing } from './scan-thread.ts';

const known = (column: Float64Array, row: number): number | undefined => {
  const value = column[row];
  return value === undefined || Number.isNaN(value) ? undefined : value;
};

const foundIn = (page: TreePage, folders: WalkedFolders): readonly FoundEntry[] => {
  if (page.positions === '') return [];
  return page.positions.split('\n').flatMap((position, row) => {
    const isFolder = position.endsWith('/');
    const way = (isFolder ? position.slice(0, -1) : position).split('/');
    const name = way.pop() ?? '';
    const entry: Entry = {
      name,
      kind: isFolder ? 'folder' : 'file',
      size: isFolder ? undefined : known(page.sizes, row),
      modifiedAt: known(page.times, row),
      changedAt: known(page.changeTimes, row),
    };
    const path = folders.wants(way, entry) ? folders.path?.below(name) : undefined;
    return path === undefined ? [] : [{ path, entry, position }];
  });
};

/**
 * Walks by the scanning thread, which reads the names and reports those that are asked for: at the cost of
 * `find`, and the event loop stays free.
 * @see StorageAdapter.walk
 */
export async function* walkFolders(
  { walker, scans, root }: LocalStore,
  path: SourcePath,
  options: TreeWalkOptions,
): AsyncGenerator<WalkPage, void, undefined> {
  const { signal, detail, after, words, never, most, onUnreadable } = options;
  const diskNames = await attempt('walk', options, () =>
    walker.within(path, { file: 'wrong-kind' }, async (opened) => opened.diskNames),
  );
  const handles = walker.confinement.holds;
  const target = { root, diskNames, handles, namesOnly: detail === 'names', after, words, never, most };
  const folders = new WalkedFolders(path, options);
  try {
    for await (const page of scans.walk(target, signal)) {
      for (let count = 0; count < page.unreadable; count += 1) onUnreadable?.();
      yield { found: foundIn(page, folders), seen: page.seen, position: page.position ?? '' };
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ScanThreadMissing) throw new UnsupportedError({ cause: error });
    throw fromSystemError(error, 'walk');
  }
}
