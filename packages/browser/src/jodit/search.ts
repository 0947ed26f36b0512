import type { Calls } from './calls.ts';
import type { FileBrowser, Item } from './editor.ts';
import { findEnough, type Findings, joinedFindings, noFindings, type Query } from './found.ts';
import {
  locationOf,
  removeWhereFound,
  tilesOf,
  useFoundTiles,
  watchDrawing,
  type WhenDrawn,
} from './found-tiles.ts';
import { openFolder, type Reveal } from './reveal.ts';
import { createSearchField, type SearchField } from './search-field.ts';
import { createSearchLine, type SearchLine } from './search-line.ts';
import type { Sources } from './sources.ts';
import type { Texts } from './texts/texts.ts';
import { plainPath } from './trash.ts';

/** What a search needs beside the file browser. */
export interface SearchSurroundings {
  readonly calls: Calls;
  readonly sources: Sources;
  readonly texts: Texts;
  readonly reveal: Reveal;
  readonly withDetails: boolean;
}

const overtaken = (): DOMException => new DOMException('Overtaken by a newer request.', 'AbortError');

/** The folder that is open, where it is not the root of everything. */
const openedLocation = (
  { state }: FileBrowser,
  sources: Sources,
): { readonly source?: string; readonly path: string } | undefined => {
  const path = plainPath(state.currentPath);
  const names = sources.names();
  const isNamed = names.includes(state.currentSource);
  if (path === '' && (!isNamed || names.length === 1)) return undefined;
  return isNamed ? { source: state.currentSource, path } : { path };
};

const openedFolder = (browser: FileBrowser, sources: Sources): string | undefined => {
  const opened = openedLocation(browser, sources);
  return opened && sources.folderText(opened.source ?? browser.state.currentSource, opened.path);
};

/** The list of the order, which Jodit 4.15.13 leaves enabled whatever it lists. */
const allowSorting = ({ container }: FileBrowser, isAllowed: boolean): void => {
  const select = container
    .closest('.jodit-dialog')
    ?.querySelector<HTMLSelectElement>('.jodit-toolbar-content_sort select');
  if (select) select.disabled = !isAllowed;
};

/** In the order that was chosen, where the list is whole: of a part it would mean nothing. */
const inOrder = ({ dataProvider, state }: FileBrowser, { files, cursor }: Findings): readonly Item[] => {
  const { sort } = dataProvider.options;
  if (cursor !== undefined || sort === undefined) return files;
  return [...files].sort((one, other) => sort(one, other, state.sortBy));
};

/** How a search answers where Jodit asks for the files of a folder. */
interface FilterAnswers {
  readonly isSearch: (words: string) => boolean;
  readonly search: (words: string, mods: Readonly<Record<string, unknown>>) => Promise<readonly Item[]>;
  /** The files of a folder are asked for. */
  readonly leave: () => void;
}

/** Answers listings with a word by a search; whichever was asked for last is shown. */
const answerFilter = ({ dataProvider }: FileBrowser, { isSearch, search, leave }: FilterAnswers): void => {
  const items = dataProvider.items;
  let latest = 0;
  dataProvider.items = async (path, source, mods = {}) => {
    const turn = (latest += 1);
    const words = typeof mods['filterWord'] === 'string' ? mods['filterWord'] : '';
    if (!isSearch(words)) leave();
    const list = await (isSearch(words) ? search(words, mods) : items(path, source, mods));
    if (turn !== latest) throw overtaken();
    return list;
  };
};

/** One search: its question, what came of it so far, and what breaks it off. */
interface Running {
  readonly query: Query;
  readonly controller: AbortController;
  findings: Findings;
  isDone: boolean;
  /** The first file gets the focus when it is there. */
  isAwaited: boolean;
}

/** Searches in the place of Jodit's filter. */
class FolderSearch {
  readonly field: SearchField;
  readonly #browser: FileBrowser;
  readonly #surroundings: SearchSurroundings;
  readonly #line: SearchLine;
  readonly #whenDrawn: WhenDrawn;
  #running: Running | undefined;

  constructor(browser: FileBrowser, surroundings: SearchSurroundings) {
    const { texts, sources, reveal } = surroundings;
    this.#browser = browser;
    this.#surroundings = surroundings;
    this.#whenDrawn = watchDrawing(browser);
    this.field = createSearchField({
      onText: (text) => browser.e.fire('filter.filebrowser', text),
      onLeave: () => this.#toFirst(),
      onEscape: () => this.#escape(),
    });
    this.#line = createSearchLine(browser.container, texts, sources, {
      openFolder: ({ source, path, name }) => openFolder(browser, source, `${path}/${name}`),
      openSelected: () => browser.state.activeElements.slice(0, 1).map(locationOf).forEach(reveal),
      changeScope: () => browser.e.fire('update.filebrowser'),
      more: () => void this.#showMore(),
      end: () => this.#end(),
    });
    browser.container.prepend(this.#line.live, this.#line.element);
    browser.container.append(this.#line.more);
    this.#listen();
  }

  get #isOffered(): boolean {
    return this.#surroundings.sources.allowing('FilesSearch').length > 0;
  }

  #listen(): void {
    const { texts, sources, reveal } = this.#surroundings;
    const { state, e } = this.#browser;
    answerFilter(this.#browser, {
      isSearch: (words) => words !== '' && this.#isOffered,
      search: (words, mods) => this.#search(words, mods),
      leave: () => this.#leave(),
    });
    // The word that was searched for is not looked for in the folder that is opened instead.
    state.on(['change.currentPath', 'change.currentSource'], () => this.#leave());
    e.on('openFolder.filebrowser', () => {
      if (this.#running === undefined) return;
      this.#leave();
      e.fire('update.filebrowser');
    });
    e.on('afterClose', () => {
      this.#leave();
      this.field.clear();
      state.filterWord = '';
    });
    state.on('change.activeElements', () => this.#line.setSelected(state.activeElements.length === 1));
    this.#line.setSelected(false);
    const rename = (): void =>
      this.field.rename(this.#isOffered ? texts.search.field : this.#browser.i18n('Filter'));
    sources.onChange(rename);
    rename();
    removeWhereFound(this.#browser);
    useFoundTiles(this.#browser, {
      isSearching: () => this.#running !== undefined,
      field: this.field.element,
      end: () => this.#end(),
      reveal,
    });
  }

  #focusFirst(): void {
    tilesOf(this.#browser)[0]?.focus();
  }

  /** Leads from the field to what was found, when it is there. */
  #toFirst(): void {
    const running = this.#running;
    if (running === undefined) this.#focusFirst();
    else if (running.isDone) this.#whenDrawn(running.findings.files, () => this.#focusFirst());
    else running.isAwaited = true;
  }

  /** Returns whether there was something to be ended. */
  #escape(): boolean {
    const { state } = this.#browser;
    if (this.field.element.value === '' && state.filterWord === '') return false;
    this.#end();
    return true;
  }

  /** Leads back to the open folder. */
  #end(): void {
    this.field.clear();
    this.#browser.e.fire('filter.filebrowser', '');
    this.field.element.focus();
  }

  async #search(words: string, mods: Readonly<Record<string, unknown>>): Promise<readonly Item[]> {
    const { sources, withDetails } = this.#surroundings;
    const controller = new AbortController();
    const within = this.#line.isHere() ? openedLocation(this.#browser, sources) : undefined;
    const query = { words, within, onlyImages: mods['onlyImages'] === true, withDetails };
    const before = this.#running;
    // The same search may begin anew while the person waits for it.
    const isAwaited = before?.query.words === words && !before.isDone && before.isAwaited;
    const one: Running = { query, controller, findings: noFindings(), isDone: false, isAwaited };
    before?.controller.abort();
    this.#running = one;
    this.#whenDrawn([], () => undefined);
    this.#browser.container.classList.add('stowage-browser_search');
    this.#line.begin(openedFolder(this.#browser, sources));
    try {
      one.findings = await findEnough(
        this.#surroundings,
        one.query,
        one.findings.cursor,
        one.controller.signal,
      );
    } catch (error) {
      controller.signal.throwIfAborted();
      this.#browser.status(error);
      one.isDone = true;
      this.#line.fail();
      return [];
    }
    if (this.#running !== one) throw overtaken();
    const files = inOrder(this.#browser, one.findings);
    one.findings = { ...one.findings, files };
    one.isDone = true;
    this.#report(one);
    if (one.isAwaited) this.#whenDrawn(files, () => this.#focusFirst());
    return files;
  }

  #report({ query: { words }, findings: { files, folders, cursor, messages } }: Running): void {
    const hasMore = cursor !== undefined;
    allowSorting(this.#browser, !hasMore);
    this.#line.report({ words, count: files.length, hasMore, folders, messages });
  }

  async #showMore(): Promise<void> {
    const one = this.#running;
    if (one === undefined) return;
    const { more } = this.#line;
    const { container } = this.#browser.files;
    more.disabled = true;
    const shown = one.findings.files.length;
    try {
      const found = await findEnough(
        this.#surroundings,
        one.query,
        one.findings.cursor,
        one.controller.signal,
      );
      if (this.#running !== one) return;
      one.findings = joinedFindings(one.findings, found);
      const { scrollTop } = container;
      this.#whenDrawn(one.findings.files, () => {
        container.scrollTop = scrollTop;
        tilesOf(this.#browser)[shown]?.focus();
      });
      this.#browser.state.elements = one.findings.files;
      this.#report(one);
    } catch (error) {
      if (this.#running === one) this.#browser.status(error);
    } finally {
      more.disabled = false;
    }
  }

  #leave(): void {
    if (this.#running === undefined) return;
    this.#running.controller.abort();
    this.#running = undefined;
    this.field.clear();
    this.#browser.state.filterWord = '';
    this.#browser.container.classList.remove('stowage-browser_search');
    allowSorting(this.#browser, true);
    this.#line.finish();
  }
}

/**
 * Makes the filter of Jodit 4.15.13, which looks through the names of the open folder, a search through all
 * folders and sources, and returns its field. The results stand where the files of the folder were, as
 * tiles with all that belongs to them. A connector that offers no search, or does not allow it, leaves the
 * field what it was.
 */
export const searchFolders = (browser: FileBrowser, surroundings: SearchSurroundings): HTMLElement =>
  new FolderSearch(browser, surroundings).field.element;
