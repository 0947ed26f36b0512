import { fromSystemError } from '../../basics/files/system-errors.ts';
import { BusyError, UnsupportedError } from '../../errors/errors.ts';
import type { Entry, ReadManyOptions, WholeFile } from '../../storage/adapter.ts';
import type { Tally, TallyOptions } from '../../storage/readable.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import {
  WalkedFolders,
  type FoundEntry,
  type TreeWalkOptions,
  type WalkPage,
} from '../../storage/tree-walk.ts';
import type { TreePage } from './scan-messages.ts';
import { ScanThreadMissing, type ScanTarget } from './scan-thread.ts';
import { hasOtherSpellings, isReserved } from './names.ts';
import type { FilesPage } from './small-reads.ts';
import { type LocalStore, attempt } from './local-store.ts';

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

const asFailure = (error: unknown, name: string): unknown =>
  error instanceof ScanThreadMissing ? new UnsupportedError({ cause: error }) : fromSystemError(error, name);

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
    throw asFailure(error, 'walk');
  }
}

/** Sums up by the scanning thread. @see StorageAdapter.tally */
export const tallyFolder = async (
  { walker, scans, root }: LocalStore,
  path: SourcePath,
  { signal, of, uncounted, ignores }: TallyOptions,
): Promise<Tally> => {
  const diskNames = await attempt('tally', { signal }, () =>
    walker.within(path, { file: 'wrong-kind' }, async (opened) => opened.diskNames),
  );
  const prefix = path.isRoot ? '' : `${path.toString()}/`;
  const target = { root, diskNames, handles: walker.confinement.holds, of, prefix, uncounted, ignores };
  try {
    const page = await scans.tally(target, signal);
    if (page === undefined) throw new BusyError({ detail: 'the scanning thread has ended' });
    return page;
  } catch (error) {
    signal?.throwIfAborted();
    throw asFailure(error, 'tally');
  }
};

/** Whether a path lies on disk as it is spelled, for certain, if it does. */
export const isExact = ({ segments }: SourcePath): boolean =>
  !segments.some((segment) => hasOtherSpellings(segment) || isReserved(segment));

const isFile = (path: SourcePath): boolean => !path.isRoot && isExact(path);

const wholeFiles = ({ bytes, sizes, times }: FilesPage): readonly (WholeFile | undefined)[] => {
  let at = 0;
  return Array.from(sizes, (size, row) => {
    if (Number.isNaN(size)) return undefined;
    const start = at;
    at += size;
    return { stat: { size, modifiedAt: times[row] }, bytes: bytes.subarray(start, at) };
  });
};

/** What is asked for of the thread: names that come after each other in one folder are asked for together. */
const foldersOf = (paths: readonly SourcePath[]): ScanTarget<'files'>['folders'] => {
  const folders: { readonly diskNames: readonly string[]; readonly names: string[] }[] = [];
  let last: SourcePath | undefined;
  for (const { parent, name } of paths) {
    const names = last?.equals(parent) === true ? folders.at(-1)?.names : undefined;
    if (names === undefined) folders.push({ diskNames: parent.segments, names: [name] });
    else names.push(name);
    last = parent;
  }
  return folders;
};

/** Some of the files, in their order: the thread reads for as long as others may wait. Empty: it reads none. */
const readNext = async (
  { walker, scans, root }: LocalStore,
  paths: readonly SourcePath[],
  { signal, bytesUpTo, memory }: ReadManyOptions,
): Promise<readonly (WholeFile | undefined)[]> => {
  const folders = foldersOf(paths);
  const target = { root, handles: walker.confinement.holds, folders, bytesUpTo, memory: memory?.buffer };
  // It goes to the thread, and comes back with the files or not at all.
  if (memory !== undefined) memory.buffer = undefined;
  const page = await scans.read(target, signal);
  if (page === undefined) return [];
  if (memory !== undefined) memory.buffer = page.bytes.buffer;
  return wholeFiles(page).slice(0, page.reached);
};

const bytesOf = (files: readonly (WholeFile | undefined)[]): number =>
  files.reduce((sum, file) => sum + (file?.bytes.length ?? 0), 0);

/**
 * Reads small files by the scanning thread: at a third of the cost of reading them one by one, and the event
 * loop stays free.
 * @see StorageAdapter.readMany
 */
export const readSmallFiles = async (
  store: LocalStore,
  paths: readonly SourcePath[],
  { signal, bytesUpTo, memory }: ReadManyOptions,
): Promise<readonly (WholeFile | undefined)[]> => {
  signal?.throwIfAborted();
  const asked = paths.filter(isFile);
  const files: (WholeFile | undefined)[] = [];
  let left = bytesUpTo;
  while (files.length < asked.length) {
    // Only the first part of an answer lies in memory that is used again.
    const options = { signal, bytesUpTo: left, memory: files.length === 0 ? memory : undefined };
    const next = await readNext(store, asked.slice(files.length), options).catch(() => []);
    signal?.throwIfAborted();
    if (next.length === 0) break;
    left -= bytesOf(next);
    for (const file of next) files.push(file);
  }
  const read = files.values();
  return paths.map((path) => (isFile(path) ? read.next().value : undefined));
};
