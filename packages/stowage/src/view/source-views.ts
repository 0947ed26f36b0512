import { Access } from '../access/access.ts';
import { UnknownSourceError } from '../errors/errors.ts';
import type { Source, SourceSet } from '../sources/source.ts';
import type { Life } from './folder-view.ts';
import { SourceView } from './source-view.ts';
import { StatCache } from './stat-cache.ts';

/** The sources of one request, and the rights of its role where no source is open. */
export class SourceViews extends Access {
  /** Applies to sources opened after it is set. @see StatCache.isWide */
  isWide = false;
  readonly #sources: SourceSet;
  readonly #life: Life;
  readonly #caches = new Map<Source, StatCache>();

  constructor(sources: SourceSet, access: Access, life: Life) {
    super(access);
    this.#sources = sources;
    this.#life = life;
  }

  /**
   * The sources that a request names, or all when it names none. `default` means none, unless a source has
   * that name: the Jodit client sends it with every upload from the editor. So does `0` for a single source:
   * Jodit before 3.6 sends positions in the list, which differ between answers where there are more.
   * @throws UnknownSourceError
   */
  named(name: string | undefined): readonly Source[] {
    if (name === undefined || name === '') return this.#sources.all;
    const found = this.#sources.find(name);
    if (found !== undefined) return [found];
    const { all } = this.#sources;
    if (name === 'default' || (name === '0' && all.length === 1)) return all;
    throw new UnknownSourceError();
  }

  /** The named source, else the first. @throws UnknownSourceError, also when there is no source */
  first(name: string | undefined): Source {
    const [first] = this.named(name);
    if (first === undefined) throw new UnknownSourceError();
    return first;
  }

  /** Opens the named source, else the first. @throws UnknownSourceError; UnsupportedError */
  open(name: string | undefined): Promise<SourceView> {
    return this.of(this.first(name));
  }

  /** Drops the caches for sources that are opened later, after a change. */
  forget(): void {
    this.#caches.clear();
  }

  /** Opens a source, for the request or for a shorter `life`. @throws UnsupportedError as `open` */
  async of(source: Source, life: Life = this.#life): Promise<SourceView> {
    return new SourceView(source, await source.storage(), this, life, this.#cacheOf(source));
  }

  #cacheOf(source: Source): StatCache {
    const cache = this.#caches.get(source) ?? new StatCache(this.isWide);
    this.#caches.set(source, cache);
    return cache;
  }
}
