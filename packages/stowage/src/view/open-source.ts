import type { Access } from '../access/access.ts';
import { UnknownSourceError } from '../errors/errors.ts';
import type { Source, SourceSet } from '../sources/source.ts';
import type { StorageAdapter } from '../storage/adapter.ts';
import type { ReadableStore } from '../storage/readable.ts';
import { WRITABLE } from './writable.ts';

/**
 * The sources that a request names: one, or all of them when it names none. `default` means «none named»
 * unless a source has that name, because the Jodit client sends it with every upload from the editor.
 * @throws UnknownSourceError
 */
export const sourcesFor = (sources: SourceSet, name: string | undefined): readonly Source[] => {
  if (name === undefined || name === '') return sources.all;
  const found = sources.find(name);
  if (found !== undefined) return [found];
  if (name === 'default') return sources.all;
  throw new UnknownSourceError();
};

/**
 * The one source that an action works on: the named one, else the first.
 * @throws UnknownSourceError, also when there is no source at all.
 */
export const sourceFor = (sources: SourceSet, name: string | undefined): Source => {
  const [first] = sourcesFor(sources, name);
  if (first === undefined) throw new UnknownSourceError();
  return first;
};

/** The source that an action works on, with its store. */
export interface OpenSource {
  readonly source: Source;
  readonly storage: ReadableStore;
  readonly [WRITABLE]: StorageAdapter;
  /**
   * What the role may do there: rules about paths hold for every spelling that the store takes for the same
   * path.
   */
  readonly access: Access;
}

/** The store of a source, to read from. @throws UnsupportedError when its optional package is missing */
export const storeToRead = (source: Source): Promise<ReadableStore> => source.storage();

/** Opens a source. @throws UnsupportedError when the store's optional package is missing */
export const openedSource = async (
  { access }: { readonly access: Access },
  source: Source,
): Promise<OpenSource> => {
  const storage = await source.storage();
  return {
    source,
    storage,
    [WRITABLE]: storage,
    access: storage.capabilities.caseSensitive ? access : access.foldingCase(),
  };
};

/**
 * Opens the named, else the first source.
 * @throws UnknownSourceError; UnsupportedError when the store's optional package is missing
 */
export const openSource = async (
  context: { readonly access: Access; readonly sources: SourceSet },
  name: string | undefined,
): Promise<OpenSource> => openedSource(context, sourceFor(context.sources, name));
