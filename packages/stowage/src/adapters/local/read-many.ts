import type { ReadManyOptions, WholeFile } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { LocalStore } from './local-store.ts';
import { hasOtherSpellings, isReserved } from './names.ts';
import type { FilesTarget } from './scan-thread.ts';
import type { FilesPage } from './small-reads.ts';

/** Whether a path lies on disk as it is spelled, for certain. */
const isExact = ({ segments }: SourcePath): boolean =>
  segments.length > 0 && !segments.some((segment) => hasOtherSpellings(segment) || isReserved(segment));

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
const foldersOf = (paths: readonly SourcePath[]): FilesTarget['folders'] => {
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
  const asked = paths.filter(isExact);
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
  return paths.map((path) => (isExact(path) ? read.next().value : undefined));
};
