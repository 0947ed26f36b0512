import type { ReadManyOptions, WholeFile } from '../../storage/adapter.ts';
import type { SourcePath } from '../../storage/source-path.ts';
import type { LocalStore } from './local-store.ts';
import { hasOtherSpellings, isReserved } from './names.ts';
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

/**
 * Reads small files by the scanning thread: at a third of the cost of reading them one by one, and the event
 * loop stays free.
 * @see StorageAdapter.readMany
 */
export const readSmallFiles = async (
  { walker, scans, root }: LocalStore,
  paths: readonly SourcePath[],
  { signal, bytesUpTo }: ReadManyOptions,
): Promise<readonly (WholeFile | undefined)[]> => {
  signal?.throwIfAborted();
  const folders: { readonly diskNames: readonly string[]; readonly names: string[] }[] = [];
  let last: SourcePath | undefined;
  const asked = paths.map((path) => {
    if (!isExact(path)) return false;
    const { parent, name } = path;
    const names = last?.equals(parent) === true ? folders.at(-1)?.names : undefined;
    if (names === undefined) folders.push({ diskNames: parent.segments, names: [name] });
    else names.push(name);
    last = parent;
    return true;
  });
  const target = { root, handles: walker.confinement.holds, folders, bytesUpTo };
  const page = await scans.read(target, signal).catch(() => undefined);
  signal?.throwIfAborted();
  if (page === undefined) return paths.map(() => undefined);
  const read = wholeFiles(page)[Symbol.iterator]();
  return asked.map((isAsked) => (isAsked ? read.next().value : undefined));
};
