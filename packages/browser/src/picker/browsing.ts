import type { Frame } from './frame.ts';
import type { Grid } from './grid.ts';
import { FolderListing, type Listing, type ListingEvents, SearchListing, type Sorting } from './listing.ts';
import type { Notices } from './notices.ts';
import type { PickerOptions } from './options.ts';
import type { View } from './rows.ts';
import type { Selection } from './selection.ts';
import {
  type Entry,
  type Folder,
  isGone,
  isSameFolder,
  NO_RIGHTS,
  parentOf,
  type Rights,
  type Service,
  type SourceInfo,
  uniqueFolders,
} from './service.ts';
import { counted, fill, type Texts } from './texts.ts';
import type { Tree } from './tree.ts';

/** Storage key of the view and order that the user chose last. */
const CHOSEN = 'stowage-picker';

const chosenBefore = (): { readonly view?: View; readonly sortBy?: Sorting } => {
  try {
    const chosen: unknown = JSON.parse(localStorage.getItem(CHOSEN) ?? '{}');
    return typeof chosen === 'object' && chosen !== null ? chosen : {};
  } catch {
    return {};
  }
};

const keepChosen = (chosen: { readonly view: View; readonly sortBy: Sorting }): void => {
  try {
    localStorage.setItem(CHOSEN, JSON.stringify(chosen));
  } catch {
    // A page without storage starts with the defaults.
  }
};

/** Elements and services that browsing works with. */
export interface BrowsingParts {
  readonly service: Service;
  readonly texts: Texts;
  readonly options: PickerOptions;
  readonly notices: Notices;
  readonly selection: Selection;
  readonly grid: Grid;
  readonly tree: Tree;
  readonly frame: Frame;
  /** Called when the rights in the folder are loaded or change. */
  readonly rightsChanged: () => void;
}

/** The folder or search that is shown. */
export class Browsing {
  readonly #parts: BrowsingParts;
  readonly #ending = new AbortController();
  #sources: readonly SourceInfo[] = [];
  #folder: Folder = { source: '', path: '' };
  #rights: Rights = NO_RIGHTS;
  #listing: Listing | undefined;
  #query = '';
  #isEverywhere = false;
  #sortBy: Sorting;
  /** The folder that was open and no longer exists. */
  #lost: string | undefined;
  /** The messages of `warn`. */
  readonly #warned = new Set<string>();
  /** The entry to focus once it is listed. */
  #awaited: (Folder & { readonly name: string }) | undefined;

  constructor(parts: BrowsingParts) {
    this.#parts = parts;
    const { view = 'tiles', sortBy = 'name-asc' } = chosenBefore();
    this.#sortBy = sortBy;
    parts.grid.view = view;
    const { signal } = this.#ending;
    addEventListener('online', () => this.reload(), { signal });
    addEventListener('offline', () => parts.notices.warn(parts.texts.trouble.offline), { signal });
    // In the meantime files may have been changed elsewhere. A search would start from its beginning.
    let last = -1000;
    const refresh = ({ type, timeStamp }: Event): void => {
      // Tab leaves the window for a moment, and a page that becomes visible gets the focus too.
      const isBrief = timeStamp - last < 1000;
      last = timeStamp;
      if (type !== 'blur' && !document.hidden && !this.isSearch && !isBrief) this.reload();
    };
    for (const type of ['visibilitychange', 'blur', 'focus']) addEventListener(type, refresh, { signal });
  }

  close(): void {
    this.#ending.abort();
    this.#listing?.close();
  }

  get sources(): readonly SourceInfo[] {
    return this.#sources;
  }

  get folder(): Folder {
    return this.#folder;
  }

  /** Rights in the folder; empty until they are loaded. */
  get rights(): Rights {
    return this.#rights;
  }

  get isSearch(): boolean {
    return this.#query !== '';
  }

  get sortBy(): Sorting {
    return this.#sortBy;
  }

  async start(): Promise<void> {
    const { service, options, tree, frame, texts } = this.#parts;
    frame.showState(texts.loading);
    try {
      const all = await service.sources(this.#ending.signal);
      this.#sources =
        options.sources === undefined ? all : all.filter(({ name }) => options.sources?.includes(name));
      tree.sources = this.#sources;
      const [first] = this.#sources;
      if (first === undefined) frame.showState(texts.empty);
      else this.open({ source: first.name, path: '' });
    } catch (error) {
      if (!this.#ending.signal.aborted) this.#failed(error);
    }
  }

  /** `focus`: the entry of the folder to focus. */
  open(folder: Folder, focus?: Entry): void {
    const { service, frame, selection, tree } = this.#parts;
    this.#clearWarnings();
    this.#folder = folder;
    this.#query = '';
    frame.query = '';
    selection.clear();
    this.#awaited = focus;
    this.#rights = NO_RIGHTS;
    frame.showWay(folder, this.#sources);
    void tree.show(folder);
    this.#list((wish, events) => new FolderListing(service, folder, wish, events));
    void this.#learnRights(folder);
  }

  openParent(): void {
    const { source, path } = this.#folder;
    if (path !== '') this.open({ source, path: parentOf(path) });
  }

  /** Searches the open folder and everything below, or all sources. */
  search(query: string, isEverywhere: boolean): void {
    if (query === this.#query && isEverywhere === this.#isEverywhere) return;
    this.#isEverywhere = isEverywhere;
    if (query === '') return this.open(this.#folder);
    this.#query = query;
    this.#parts.selection.clear();
    const wanted = { ...(isEverywhere ? { sources: this.#sources } : this.#folder), query };
    this.#list((wish, events) => new SearchListing(this.#parts.service, wanted, wish, events));
  }

  sort(sortBy: Sorting): void {
    this.#sortBy = sortBy;
    keepChosen({ view: this.#parts.grid.view, sortBy });
    if (!this.isSearch) this.open(this.#folder);
  }

  show(view: View): void {
    this.#parts.grid.view = view;
    keepChosen({ view, sortBy: this.#sortBy });
  }

  reload(): void {
    const { frame, texts } = this.#parts;
    const isEmpty = this.#listing?.count === undefined;
    if (this.#sources.length === 0) void this.start();
    else if (isEmpty && !this.isSearch) this.open(this.#folder);
    else {
      this.#clearWarnings();
      if (isEmpty) frame.showState(texts.loading);
      this.#listing?.reload();
      void this.#parts.tree.refresh(this.#folder);
      void this.#learnRights(this.#folder);
    }
  }

  /** Reloads what is shown of folders whose content has changed. */
  changed(folders: readonly Folder[], focus?: Folder & { readonly name: string }): void {
    this.#awaited = focus;
    if (this.isSearch || folders.some((folder) => isSameFolder(folder, this.#folder)))
      this.#listing?.reload();
    for (const folder of uniqueFolders(folders)) void this.#parts.tree.refresh(folder);
  }

  /** Readable name of a folder: its source and path. */
  nameOf({ source, path }: Folder): string {
    const title = this.#sources.find(({ name }) => name === source)?.title ?? source;
    return path === '' ? title : `${title} / ${path.replaceAll('/', ' / ')}`;
  }

  #list(make: (wish: { sortBy: Sorting; onlyImages: boolean }, events: ListingEvents) => Listing): void {
    const { frame, grid, notices, texts, options } = this.#parts;
    this.#listing?.close();
    grid.empty();
    frame.showState(texts.loading);
    this.#listing = make(
      { sortBy: this.#sortBy, onlyImages: options.types === 'image' },
      {
        changed: () => {
          notices.take(texts.trouble.offline);
          this.#listed();
        },
        failed: (error) => this.#failed(error),
        said: (messages) => notices.warn(messages.join(' ')),
      },
    );
  }

  #listed(): void {
    const listing = this.#listing;
    if (listing?.count === undefined) return;
    const { grid, frame, notices, texts } = this.#parts;
    grid.show(listing, fill(texts.content, { folder: this.nameOf(this.#folder) }));
    const found = listing.isComplete ? texts.found : texts.foundSoFar;
    frame.showCount(counted(texts, this.isSearch ? found : texts.items, listing.count));
    frame.showState(listing.count > 0 ? undefined : this.#emptyText(listing));
    if (this.#lost !== undefined) notices.warn(fill(texts.trouble.gone, { folder: this.#lost }));
    this.#lost = undefined;
    if (this.#awaited !== undefined && grid.goTo(this.#awaited)) this.#awaited = undefined;
  }

  #emptyText(listing: Listing): string {
    const { texts } = this.#parts;
    if (!this.isSearch)
      return this.#rights.permissions.allowFileUpload === true ? texts.emptyUpload : texts.empty;
    return listing.isComplete ? fill(texts.finding.nothing, { query: this.#query }) : texts.loading;
  }

  #failed(error: unknown): void {
    if (isGone(error) && this.#folder.path !== '') {
      // It was removed elsewhere, and its parent perhaps too.
      this.#lost ??= this.nameOf(this.#folder);
      return this.openParent();
    }
    // The list stays visible after a failure.
    if (this.#listing?.count !== undefined) return this.warn(error);
    const { service, texts, frame, notices } = this.#parts;
    const message = service.messageOf(error, texts);
    frame.showState(message, true);
    notices.speak(message);
  }

  /** Shows the failure of a request that is repeated when the folder is loaded again. */
  warn(error: unknown): void {
    const { service, texts, notices } = this.#parts;
    const message = service.messageOf(error, texts);
    this.#warned.add(message);
    notices.warn(message, { label: texts.tryAgain, run: () => this.reload() });
  }

  #clearWarnings(): void {
    for (const message of this.#warned) this.#parts.notices.take(message);
    this.#warned.clear();
  }

  async #learnRights(folder: Folder): Promise<void> {
    const rights = await this.#parts.service.rightsIn(folder);
    if (!isSameFolder(folder, this.#folder)) return;
    this.#rights = rights;
    if (rights.failure !== undefined) this.warn(rights.failure);
    this.#listed();
    this.#parts.rightsChanged();
  }
}
