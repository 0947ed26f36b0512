import { UnknownSourceError } from '../errors/errors.ts';
import type { Source, SourceSet } from '../sources/source.ts';

/**
 * The sources that a request names: one, or all of them when it names none. `default` means «none named» unless a source
 * has that name, because the Jodit client sends it with every upload from the editor.
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
