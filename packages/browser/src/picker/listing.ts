import {
  type Entry,
  type Folder,
  isAbort,
  type ListedSource,
  type Service,
  type SourceInfo,
} from './service.ts';

/** The available sort orders. */
export const sortings = [
  ...(['name-asc', 'name-desc', 'changed-desc', 'changed-asc', 'size-desc', 'size-asc'] as const),
];
export type Sorting = (typeof sortings)[number];

/** Options of a listing. */
export interface Wish {
  readonly sortBy: Sorting;
  /** Leaves out files that are not images. */
  readonly onlyImages: boolean;
}

/** Entries that are loaded when they become visible. */
export interface Listing {
  /** The number of entries, as far as known; undefined before the first response. */
  readonly count: number | undefined;
  /** Whether `count` is final. */
  readonly isComplete: boolean;
  /** Whether `loaded` has all entries, none of them from before a reload. */
  readonly isWhole: boolean;
  /** The entry at an index; undefined while it is not loaded. */
  at(index: number): Entry | undefined;
  /** The loaded entries, in their order. */
  loaded(): readonly Entry[];
  /** Loads missing entries of a range; the end is exclusive. */
  want(from: number, to: number): void;
  /** Reloads the visible entries, and shows the old ones meanwhile. */
  reload(): void;
  close(): void;
}

/** Callbacks for loaded entries and failures. */
export interface ListingEvents {
  readonly changed: () => void;
  readonly failed: (error: unknown) => void;
  /** Called with messages about sources that could not be reached. */
  readonly said: (messages: readonly string[]) => void;
}

/** Entries per request. */
const PAGE = 120;

/** A folder, page by page. Of 10,000 entries only the pages that become visible are requested. */
export class FolderListing implements Listing {
  readonly #service: Service;
  readonly #folder: Folder;
  readonly #wish: Wish;
  readonly #events: ListingEvents;
  readonly #ending = new AbortController();
  #pages = new Map<number, readonly Entry[] | 'coming'>();
  /** These pages are from before the last reload. */
  #old = new Set<number>();
  #count: number | undefined;
  /** The first visible page. */
  #top = 0;
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

  get isWhole(): boolean {
    return this.#old.size === 0 && this.loaded().length === this.#count;
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
    this.#top = Math.floor(from / PAGE);
    for (let page = this.#top; page * PAGE < end; page += 1)
      if (!this.#pages.has(page)) void this.#load(page);
  }

  reload(): void {
    const distance = (page: number): number => Math.abs(page - this.#top);
    const shown = [...this.#pages.keys()].sort((one, other) => distance(one) - distance(other));
    this.#round += 1;
    this.#old = new Set(shown.slice(0, 3));
    // The others are reloaded when they become visible.
    for (const page of this.#old) void this.#load(page, true);
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
    this.#old.delete(page);
    // Drops pages beyond the new end.
    for (const known of this.#pages.keys()) if (known > 0 && known * PAGE >= count) this.#pages.delete(known);
  }
}

/** A search in a folder and everything below, or in several sources. */
export interface Query extends Partial<Folder> {
  readonly query: string;
  readonly sources?: readonly SourceInfo[];
}

/** Search results, response by response: the next one is requested when the end becomes visible. */
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

  get isWhole(): boolean {
    return this.isComplete;
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
    // A running request may have been processed before a change.
    this.#ending.abort();
    this.#ending = new AbortController();
    void this.#more(true);
  }

  close(): void {
    this.#ending.abort();
  }

  /** `isAnew`: from the beginning. Shown entries stay until others arrive. */
  async #more(isAnew = false): Promise<void> {
    this.#state = 'running';
    // Without a folder the search covers all sources, including those that are not shown.
    const { query, sources, source, path } = this.#query;
    const { signal } = this.#ending;
    let found = isAnew ? [] : this.#found;
    let next = isAnew ? undefined : this.#cursor;
    try {
      // A response of a large source may be empty: the search continues until there is a result.
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
      this.#state = this.#ended;
      this.#events.changed();
    } catch (error) {
      if (isAbort(error)) return;
      this.#state = this.#found.length === 0 ? 'new' : this.#ended;
      this.#events.failed(error);
    }
  }

  get #ended(): 'complete' | 'paused' {
    return this.#cursor === undefined ? 'complete' : 'paused';
  }
}
