import { Access } from '../access/access.ts';
import { UnknownSourceError } from '../errors/errors.ts';
import type { Source, SourceSet } from '../sources/source.ts';
import type { Life } from './folder-view.ts';
import { SourceView } from './source-view.ts';
import { StatCaches } from './stat-cache.ts';

/**
 * The sources that a request names: one, or all of them when it names none. `default` means «none named»
 * unless a source has that name, because the Jodit client sends it with every upload from the editor.
 * @throws UnknownSourceError
 */
const sourcesFor = (sources: SourceSet, name: string | undefined): readonly Source[] => {
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

/** The sources of one request, and what its role may do where no source is open. */
export class SourceViews extends Access {
  readonly #sources: SourceSet;
  readonly #life: Life;
  readonly #caches: StatCaches;

  constructor(sources: SourceSet, access: Access, life: Life, caches = new StatCaches()) {
    super(access);
    this.#sources = sources;
    this.#life = life;
    this.#caches = caches;
  }

  /** @see sourcesFor */
  named(name: string | undefined): readonly Source[] {
    return sourcesFor(this.#sources, name);
  }

  /** @see sourceFor */
  first(name: string | undefined): Source {
    return sourceFor(this.#sources, name);
  }

  /**
   * Opens the named, else the first source.
   * @throws UnknownSourceError; UnsupportedError when the store's optional package is missing
   */
  open(name: string | undefined): Promise<SourceView> {
    return this.of(this.first(name));
  }

  /** Sources that are opened from now on are asked anew: something has changed. */
  forget(): void {
    this.#caches.clear();
  }

  /** Opens a source, for the request or for a shorter life. @throws UnsupportedError as `open` */
  async of(source: Source, life: Life = this.#life): Promise<SourceView> {
    return new SourceView(source, await source.storage(), this, life, this.#caches.of(source));
  }
}
