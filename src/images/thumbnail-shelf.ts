import { NotFoundError } from '../errors/errors.ts';
import type { Entry, StorageAdapter } from '../storage/adapter.ts';
import type { SourcePath } from '../storage/source-path.ts';

/** What a thumbnail folder held when it was looked at: the wanted entries by name. */
export type Shelf = ReadonlyMap<string, Entry>;

/** An empty file is what a power failure leaves of a thumbnail that was just written. */
const isThumbnail = ({ kind, size }: Entry): boolean => kind === 'file' && size !== 0;

/** Up to here a store that can is asked for single names; beyond it, one listing is the cheaper question. */
const MAX_NAMES = 500;

const fromNames = (entries: readonly (Entry | undefined)[]): Shelf =>
  new Map(
    entries.flatMap((entry) => (entry !== undefined && isThumbnail(entry) ? [[entry.name, entry]] : [])),
  );

/**
 * Looks up names in a thumbnail folder with one question to the store: never one per image. A folder that does not exist is empty.
 * Errors are those of the store.
 */
export const readShelf = async (
  storage: StorageAdapter,
  folder: SourcePath,
  names: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<Shelf> => {
  if (names.size === 0) return new Map();
  try {
    if (storage.statMany && names.size <= MAX_NAMES) {
      return fromNames(await storage.statMany(folder, [...names], { signal }));
    }
    const shelf = new Map<string, Entry>();
    for await (const page of storage.list(folder, { signal })) {
      for (const entry of page) if (isThumbnail(entry) && names.has(entry.name)) shelf.set(entry.name, entry);
    }
    return shelf;
  } catch (error) {
    if (error instanceof NotFoundError) return new Map();
    throw error;
  }
};
