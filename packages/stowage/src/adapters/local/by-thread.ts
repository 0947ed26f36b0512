import { fromSystemError } from '../../basics/files/system-errors.ts';
import { UnsupportedError } from '../../errors/errors.ts';
import type { OperationOptions, ReadManyOptions, WholeFile } from '../../storage/adapter.ts';
import type { Tally, TallyOptions } from '../../storage/readable.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import { WalkedFolders, type TreeWalkOptions, type WalkPage } from '../../storage/tree-walk.ts';
import { fromColumns } from './entry-columns.ts';
import { ScanThreadMissing } from './scan-thread.ts';
import type { FolderToScan } from './scanned-folder.ts';
import { hasOtherSpellings, isReserved } from './names.ts';
import type { FilesPage, FilesRequest } from './small-reads.ts';
import type { LocalStore } from './local-store.ts';
import { attempt } from './system.ts';

const asFailure = (error: unknown, name: string): unknown =>
  error instanceof ScanThreadMissing ? new UnsupportedError({ cause: error }) : fromSystemError(error, name);

/** The folder for a job of the thread. @throws NotFoundError, WrongKindError and similar */
const folderOf = async (
  { walker, root }: LocalStore,
  path: SourcePath,
  name: string,
  options: OperationOptions,
): Promise<FolderToScan> => {
  const diskNames = await attempt(name, options, () =>
    walker.within(path, { file: 'wrong-kind' }, async (opened) => opened.diskNames),
  );
  return { root, diskNames, handles: walker.confinement.holds };
};

/**
 * Walks with the scanning thread, which reads the names and reports the matching ones: about as expensive as
 * `find`, and the event loop stays free.
 * @see StorageAdapter.walk
 */
export async function* walkFolders(
  store: LocalStore,
  path: SourcePath,
  options: TreeWalkOptions,
): AsyncGenerator<WalkPage, void, undefined> {
  const { signal, detail, after, words, never, most, onUnreadable } = options;
  const folder = await folderOf(store, path, 'walk', options);
  const request = { ...folder, namesOnly: detail === 'names', after, words, never, most };
  const folders = new WalkedFolders(path, options);
  try {
    for await (const page of store.scans.pages('walk', store.root, request, signal)) {
      if (page === undefined) continue;
      for (let count = 0; count < page.unreadable; count += 1) onUnreadable?.();
      const found = fromColumns(page, (entry, position) => {
        const way = position.split('/').slice(0, entry.kind === 'folder' ? -2 : -1);
        const target = folders.wants(way, entry) ? folders.path?.below(entry.name) : undefined;
        return target === undefined ? [] : [{ path: target, entry, position }];
      });
      yield { found: found.flat(), seen: page.seen, position: page.position };
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw asFailure(error, 'walk');
  }
}

/** Sums up a folder with the scanning thread. @see StorageAdapter.tally */
export const tallyFolder = async (
  store: LocalStore,
  path: SourcePath,
  { signal, of, uncounted, likely, ignores }: TallyOptions,
): Promise<Tally> => {
  const folder = await folderOf(store, path, 'tally', { signal });
  const prefix = path.isRoot ? '' : `${path.toString()}/`;
  const request = { ...folder, of, prefix, uncounted, likely, ignores };
  try {
    return await store.scans.run('tally', store.root, request, signal);
  } catch (error) {
    signal?.throwIfAborted();
    throw asFailure(error, 'tally');
  }
};

/** Whether the spelling of a path on disk is known: it has no other spelling, and no segment is reserved. */
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

/** Groups consecutive paths of the same folder. */
const byFolder = (paths: readonly SourcePath[]): FilesRequest['folders'] => {
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

/**
 * Reads small files with the scanning thread: at a third of the cost of reading them one by one, and the
 * event loop stays free. When the thread fails, the remaining files are left to single reads.
 * @see StorageAdapter.readMany
 */
export const readSmallFiles = async (
  { walker, scans, root }: LocalStore,
  paths: readonly SourcePath[],
  { signal, bytesUpTo, memory }: ReadManyOptions,
): Promise<readonly (WholeFile | undefined)[]> => {
  signal?.throwIfAborted();
  const folders = byFolder(paths.filter(isFile));
  const request = { root, handles: walker.confinement.holds, folders, bytesUpTo, memory: memory?.buffer };
  // Transferred to the thread; it comes back with the first page, or not at all.
  if (memory !== undefined) memory.buffer = undefined;
  const files: (WholeFile | undefined)[] = [];
  try {
    for await (const page of scans.pages('read', root, request, signal)) {
      if (memory !== undefined) memory.buffer ??= page.bytes.buffer;
      for (const file of wholeFiles(page)) files.push(file);
    }
  } catch {
    signal?.throwIfAborted();
  }
  const read = files.values();
  return paths.map((path) => (isFile(path) ? read.next().value : undefined));
};
