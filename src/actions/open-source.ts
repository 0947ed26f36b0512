import type { Access } from '../access/access.ts';
import type { Source } from '../sources/source.ts';
import type { StorageAdapter } from '../storage/adapter.ts';
import type { ActionContext } from './action.ts';
import { sourceFor } from './select-source.ts';

/** The source that an action works on, with its store. */
export interface OpenSource {
  readonly source: Source;
  readonly storage: StorageAdapter;
  /** What the role may do there: rules about paths hold for every spelling that the store takes for the same path. */
  readonly access: Access;
}

/** Opens a source. @throws UnsupportedError when the store's optional package is missing */
export const openedSource = async (
  { access }: Pick<ActionContext, 'access'>,
  source: Source,
): Promise<OpenSource> => {
  const storage = await source.storage();
  return { source, storage, access: storage.capabilities.caseSensitive ? access : access.foldingCase() };
};

/**
 * Opens the named, else the first source.
 * @throws UnknownSourceError; UnsupportedError when the store's optional package is missing
 */
export const openSource = async (context: ActionContext, name: string | undefined): Promise<OpenSource> =>
  openedSource(context, sourceFor(context.sources, name));
