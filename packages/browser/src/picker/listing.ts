import {
  type Entry,
  type Folder,
  isAbort,
  type ListedSource,
  type Service,
  type SourceInfo,
} from './service.ts';

/** The orders that listings know. */
export const sortings = [
  ...(['name-asc', 'name-desc', 'changed-desc', 'changed-asc', 'size-desc', 'size-asc'] as const),
];
export type Sorting = (typeof sortings)[number];

/** What a listing shows. */
export interface Wish {
  readonly sortBy: Sorting;
  /** Leaves out files that are no images. */
  readonly onlyImages: boolean;
}

/** Entries that are loaded where they are looked at. */
export interface Listing {
  /** How many entries there are, as far as is known; undefined before the first answer. */
  readonly count: number | undefined;
  /** Whether `count` is all there is. */
  readonly isComplete: boolean;
  /** Undefined while it is not loaded. */
  at(index: number): Entry | undefined;
  /** The entries that are loaded, in their order. */
  loaded(): readonly Entry[];
  /** Loads what is missing between two places, the second not included. */
  want(from: number, to: number): void;
  /** Loads again what is shown, without emptying it meanwhile. */
  reload(): void;
  close(): void;
}

/** Told when something has come, or could not come. */
export interface ListingEvents {
  readonly changed: () => void;
  readonly failed: (error: unknown) => void;
  /** Sources that could not be reached, one sentence each. */
  readonly said: (messages: readonly string[]) => void;
}

/** Entries of one request. */
const PAGE = 120;

/** A folder, page by page. Of 10,000 entries only the pages that were looked at are asked for. */
export class FolderListing implements Listing {
  readonly #service: Service;
  readonly #folder: Folder;
  readonly #wish: Wish;
  readonly #events: ListingEvents;
  readonly #ending = new AbortController();
  #pages = new Map<number, readonly Entry[] | 'coming'>();
  #count: number | undefined;
  #round = 0;

  constructor(service: Service, folder: Folder, wish: Wish, events: ListingEvents) {
    this.#service = service;
    this.#folder = folder;
    this.#wish = wish;
    this.#events = events;
    this.want(0, 1);
  }

  get count(): number | undefined {
    return this.#count;
  }

  get isComplete(): boolean {
    return this.#count !== undefined;
  }

  at(index: number): Entry | undefined {
    const page = this.#pages.get(Math.floor(index / PAGE));
    return Array.isArray(page) ? (page as readonly Entry[])[index % PAGE] : undefined;
  }

  loaded(): readonly Entry[] {
    const pages = [...this.#pages].sort(([one], [other]) => one - other);
    return pages.flatMap(([, page]) => (page === 'coming' ? [] : page));
  }

  want(from: number, to: number): void {
    const end = Math.min(to, this.#count ?? 1);
    for (let page = Math.floor(from / PAGE); page * PAGE < end; page += 1)
      if (!this.#pages.has(page)) void this.#load(page);
  }

  reload(): void {
    const shown = [...this.#pages.keys()];
    this.#round += 1;
    // The others are loaded again when they are looked at.
    for (const page of shown.slice(0, 3)) void this.#load(page, true);
    for (const page of shown.slice(3)) this.#pages.delete(page);
    if (shown.length === 0) void this.#load(0);
  }

  close(): void {
    this.#ending.abort();
  }

  async #load(page: number, keepsOld = false): Promise<void> {
    const round = this.#round;
    if (!keepsOld) this.#pages.set(page, 'coming');
    try {
      const mods = {
        ...this.#wish,
        ...{ withFolders: true, foldersPosition: 'top' as const, details: true, variants: true },
        ...{ offset: page * PAGE, limit: PAGE },
      };
      const { signal } = this.#ending;
      const { sources, messages = [] } = await this.#service.client.files(
        { ...this.#folder, mods },
        { signal },
      );
      if (round !== this.#round) return;
      this.#take(page, sources[0]);
      if (messages.length > 0) this.#events.said(messages);
      this.#events.changed();
    } catch (error) {
      if (isAbort(error) || round !== this.#round) return;
      if (this.#pages.get(page) === 'coming') this.#pages.delete(page);
      this.#events.failed(error);
    }
  }

  #take(page: number, source: ListedSource | undefined): void {
    const entries = source === undefined ? [] : this.#service.entriesOf(source);
    const count = source?.total ?? page * PAGE + entries.length;
    this.#count = count;
    this.#pages.set(page, entries);
    // What lay behind the new end is gone.
    for (const known of this.#pages.keys()) if (known > 0 && known * PAGE >= count) this.#pages.delete(known);
  }
}

/** A search in a folder and all below it, or in several sources. */
export interface Query extends Partial<Folder> {
  readonly query: string;
  readonly sources?: readonly SourceInfo[];
}

/** What a search finds, answer by answer: the next is asked for when the end comes into sight. */
export class SearchListing implements Listing {
  readonly #service: Service;
  readonly #query: Query;
  readonly #onlyImages: boolean;
  readonly #events: ListingEvents;
  #ending = new AbortController();
  #found: readonly Entry[] = [];
  #cursor: string | undefined;
  #state: 'new' | 'running' | 'paused' | 'complete' = 'new';

  constructor(service: Service, query: Query, { onlyImages }: Wish, events: ListingEvents) {
    this.#service = service;
    this.#query = query;
    this.#onlyImages = onlyImages;
    this.#events = events;
    void this.#more();
  }

  get count(): number | undefined {
    return this.#state === 'new' || (this.#state === 'running' && this.#found.length === 0)
      ? undefined
      : this.#found.length;
  }

  get isComplete(): boolean {
    return this.#state === 'complete';
  }

  at(index: number): Entry | undefined {
    return this.#found[index];
  }

  loaded(): readonly Entry[] {
    return this.#found;
  }

  want(_from: number, to: number): void {
    if (this.#state === 'paused' && to >= this.#found.length) void this.#more();
  }

  reload(): void {
    // What runs may have been answered before a change.
    this.#ending.abort();
    this.#ending = new AbortController();
    void this.#more(true);
  }

  close(): void {
    this.#ending.abort();
  }

  /** `isAnew`: from the beginning. What is shown stays until something else has come. */
  async #more(isAnew = false): Promise<void> {
    this.#state = 'running';
    // Without a folder it begins in all sources, also in those that are not shown.
    const { query, sources, source, path } = this.#query;
    const { signal } = this.#ending;
    let found = isAnew ? [] : this.#found;
    let next = isAnew ? undefined : this.#cursor;
    try {
      // One answer of a large source may hold nothing: the search goes on until there is something to show.
      for (const before = found.length; found.length === before;) {
        const { items, cursor, messages } = await this.#service.client.filesSearch(
          {
            ...{ query, source, path, type: this.#onlyImages ? 'image' : undefined },
            ...{ limit: PAGE, cursor: next, mods: { details: true } },
          },
          { signal },
        );
        const entries = items.map((item) => this.#service.entryFound(item));
        const isShown = (entry: Entry): boolean => sources?.some(({ name }) => name === entry.source) ?? true;
        found = [...found, ...entries.filter(isShown)];
        next = cursor;
        if (messages !== undefined && messages.length > 0) this.#events.said(messages);
        if (cursor === undefined) break;
      }
      this.#found = found;
      this.#cursor = next;
      this.#state = next === undefined ? 'complete' : 'paused';
      this.#events.changed();
    } catch (error) {
      if (isAbort(error)) return;
      this.#state = this.#found.length === 0 ? 'new' : 'paused';
      this.#events.failed(error);
    }
  }
}
