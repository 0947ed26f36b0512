import type { Source } from '../sources/source.ts';
import type { StorageAdapter } from '../storage/adapter.ts';
import type { ActionContext } from './action.ts';
import { sourceFor } from './select-source.ts';

/** The source that an action works on, with its store. */
export interface OpenSource {
  readonly source: Source;
  readonly storage: StorageAdapter;
}

/**
 * Opens the named, else the first source.
 * @throws StowageError UNKNOWN_SOURCE; UnsupportedError when the store's optional package is missing
 */
export const openSource = async (context: ActionContext, name: string | undefined): Promise<OpenSource> => {
  const source = sourceFor(context.sources, name);
  return { source, storage: await source.storage() };
};
