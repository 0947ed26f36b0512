import { ifNoSuch } from '../errors/errors.ts';
import type { Entry, OperationOptions, ReadableStore } from './readable.ts';
import type { SourcePath } from './source-path.ts';

/** Up to here a store that can is asked for single names; beyond it, one listing is the cheaper question. */
const MOST_SINGLE = 500;

/**
 * The files of these names in a folder that the service keeps for itself, by their names: with one question to the
 * store, none for no names. A folder that does not exist is empty.
 * @throws errors of the store
 */
export const findNames = async (
  store: ReadableStore,
  folder: SourcePath,
  names: ReadonlySet<string>,
  { signal }: OperationOptions,
): Promise<ReadonlyMap<string, Entry>> => {
  const found = new Map<string, Entry>();
  const add = (entry: Entry | undefined): void => {
    if (entry?.kind === 'file' && names.has(entry.name)) found.set(entry.name, entry);
  };
  if (names.size === 0) return found;
  try {
    if (store.statMany && names.size <= MOST_SINGLE) {
      for (const entry of await store.statMany(folder, [...names], { signal, mayMiss: true })) add(entry);
    } else {
      const options = { signal, detail: 'versions', mayJoin: true, mayMiss: true } as const;
      for await (const page of store.list(folder, options)) page.forEach(add);
    }
  } catch (error) {
    ifNoSuch(error);
  }
  return found;
};
