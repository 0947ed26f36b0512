import type { FileBrowser } from './editor.ts';
import { escapeHtml, make, makeButton, nameForReaders } from './element.ts';
import type { Notices } from './notices.ts';
import { ask } from './question.ts';
import type { Reveal } from './reveal.ts';
import type { Sources } from './sources.ts';
import { counted, fill, type Texts } from './texts/texts.ts';
import { type Trash, type TrashItem, UNDONE } from './trash.ts';
import { createTrashTable, type TrashTable } from './trash-table.ts';

/** Items that are asked for at a time. */
const PAGE = 50;

/** What the view needs beside the file browser. */
export interface TrashSurroundings {
  readonly trash: Trash;
  readonly sources: Sources;
  readonly notices: Notices;
  readonly texts: Texts;
  readonly reveal: Reveal;
}

const questionOf = (question: string, names: readonly string[] = []): string => {
  const list = names.map((name) => `<li>${escapeHtml(name)}</li>`).join('');
  return `<div class="stowage-question"><p>${escapeHtml(question)}</p>${list && `<ul>${list}</ul>`}</div>`;
};

/** What of the view is pressed, chosen and written. */
const createControls = ({ trash }: Texts) => {
  const button = (className: string, text: string): HTMLButtonElement =>
    makeButton(`stowage-button ${className}`, () => undefined, { text });
  return {
    /** In the toolbar. */
    toggle: button('stowage-trash-button', trash.title),
    back: button('stowage-trash__back', trash.back),
    empty: button('stowage-trash__empty', trash.empty),
    more: button('stowage-trash__more', trash.more),
    source: make('select', 'stowage-trash__source'),
    count: make('span', 'stowage-trash__count', { attributes: { role: 'status' } }),
  };
};

/** A view in the file browser of what was removed, from all sources or from one. */
class TrashView {
  readonly #browser: FileBrowser;
  readonly #surroundings: TrashSurroundings;
  readonly #controls: ReturnType<typeof createControls>;
  readonly #table: TrashTable;
  readonly #element: HTMLElement;
  /** Of the running request. */
  #controller = new AbortController();
  #isOpen = false;
  /** The identifiers of items with a running request. */
  readonly #busy = new Set<string>();

  constructor(browser: FileBrowser, surroundings: TrashSurroundings) {
    const { texts, sources } = surroundings;
    this.#browser = browser;
    this.#surroundings = surroundings;
    this.#controls = createControls(texts);
    this.#table = createTrashTable(texts, sources, {
      restore: (item) => this.#do(() => this.#once(item, () => this.#restore(item))),
      erase: (item) => this.#do(() => this.#once(item, () => this.#erase(item))),
    });
    const { back, empty, more, source, count } = this.#controls;
    const title = make('h2', 'stowage-trash__title', { text: texts.trash.title });
    this.#element = make('section', 'stowage-trash', {
      children: [
        make('div', 'stowage-trash__head', { children: [back, title, source, count, empty] }),
        make('div', 'stowage-trash__list', { children: [this.#table.element, more] }),
      ],
    });
    this.#element.hidden = true;
    nameForReaders(this.#element, browser.container, texts.trash.title);
    nameForReaders(source, browser.container, texts.trash.source);
    browser.container.append(this.#element);
    this.#listen();
  }

  get toggle(): HTMLElement {
    return this.#controls.toggle;
  }

  #listen(): void {
    const { toggle, back, empty, more, source } = this.#controls;
    const { sources } = this.#surroundings;
    const { e } = this.#browser;
    toggle.hidden = true;
    toggle.setAttribute('aria-expanded', 'false');
    toggle.addEventListener('click', () => (this.#isOpen ? this.#leave() : this.#do(() => this.#open())));
    back.addEventListener('click', () => this.#leave());
    empty.addEventListener('click', () => this.#do(() => this.#empty()));
    more.addEventListener('click', () => this.#do(() => this.#loadMore()));
    source.addEventListener('change', () => this.#do(() => this.#load()));
    this.#element.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.preventDefault();
      event.stopPropagation();
      this.#leave();
    });
    e.on('afterClose filter.filebrowser', () => this.#close());
    e.on(UNDONE, () => {
      if (this.#isOpen) this.#do(() => this.#load());
    });
    sources.onChange(() => {
      toggle.hidden = sources.allowing('TrashList').length === 0;
    });
  }

  #do(act: () => Promise<void>): void {
    // Jodit shows nothing of what was broken off.
    act().catch((error: unknown) => this.#browser.status(error));
  }

  /**
   * Ignores the second half of a double click. Reads the list again after a failure: another person may have
   * been faster.
   */
  async #once({ id }: TrashItem, act: () => Promise<void>): Promise<void> {
    if (this.#busy.has(id)) return;
    this.#busy.add(id);
    try {
      await act();
    } catch (error) {
      this.#browser.status(error);
      this.#controls.back.focus();
      await this.#load();
    } finally {
      this.#busy.delete(id);
    }
  }

  async #open(): Promise<void> {
    const { container, state } = this.#browser;
    const { back, toggle } = this.#controls;
    this.#isOpen = true;
    // Files that are selected behind the view must not be removed from here.
    state.activeElements = [];
    this.#offerSources();
    container.classList.add('stowage-browser_trash');
    toggle.setAttribute('aria-expanded', 'true');
    this.#element.hidden = false;
    back.focus();
    await this.#load();
    if (document.activeElement === back) this.#table.focus();
  }

  #offerSources(): void {
    const { sources, texts } = this.#surroundings;
    const { source } = this.#controls;
    const names = sources.allowing('TrashList');
    const option = (value: string, text: string): HTMLElement =>
      make('option', '', { text, attributes: { value } });
    const all = option('', texts.allSources);
    source.replaceChildren(all, ...names.map((name) => option(name, sources.titleOf(name))));
    source.hidden = names.length < 2;
  }

  #close(): void {
    this.#isOpen = false;
    this.#controller.abort();
    this.#browser.container.classList.remove('stowage-browser_trash');
    this.#controls.toggle.setAttribute('aria-expanded', 'false');
    this.#element.hidden = true;
    this.#controls.count.textContent = '';
  }

  /** Closes the view, and gives the focus back to what has opened it. */
  #leave(): void {
    this.#close();
    this.#controls.toggle.focus();
  }

  get #chosen(): string | undefined {
    return this.#controls.source.value || undefined;
  }

  /** The sources whose trash may be emptied from what is shown. */
  get #emptied(): readonly string[] {
    const known = this.#surroundings.sources.allowing('TrashEmpty');
    return this.#chosen === undefined ? known : known.filter((name) => name === this.#chosen);
  }

  async #load(): Promise<void> {
    const { more, empty } = this.#controls;
    this.#table.clear();
    this.#table.element.hidden = true;
    more.hidden = true;
    empty.hidden = true;
    await this.#loadMore();
  }

  async #loadMore(): Promise<void> {
    this.#controller.abort();
    const { signal } = (this.#controller = new AbortController());
    const shown = this.#table.count();
    // One more than is shown says whether there are more.
    const page = { source: this.#chosen, offset: shown, limit: PAGE + 1 };
    const items = await this.#surroundings.trash.list(page, signal);
    signal.throwIfAborted();
    this.#table.add(items.slice(0, PAGE));
    this.#report(items.length > PAGE);
    if (shown > 0) this.#table.focus(shown);
  }

  #report(hasMore: boolean): void {
    const { texts } = this.#surroundings;
    const { more, empty, count } = this.#controls;
    const items = this.#table.count();
    more.hidden = !hasMore;
    this.#table.element.hidden = items === 0;
    empty.hidden = items === 0 || this.#emptied.length === 0;
    const text = items === 0 ? texts.trash.nothing : counted(texts, texts.trash.items, items);
    count.textContent = hasMore ? `${text} …` : text;
  }

  #drop(item: TrashItem): void {
    if (!this.#table.remove(item.id)) this.#controls.back.focus();
    this.#report(!this.#controls.more.hidden);
  }

  async #restore(item: TrashItem): Promise<void> {
    const { trash, sources, notices, texts, reveal } = this.#surroundings;
    const location = await trash.restore(item);
    this.#drop(item);
    const folder = sources.folderText(location.source, location.path);
    const text = location.name === item.name ? texts.trash.restored : texts.trash.restoredAs;
    const show = (): void => {
      this.#close();
      reveal(location);
    };
    notices.show(fill(text, { name: item.name, newName: location.name, folder }), 'success', {
      action: item.kind === 'file' ? { label: texts.trash.show, run: show } : undefined,
    });
    this.#browser.e.fire('update.filebrowser');
  }

  async #erase(item: TrashItem): Promise<void> {
    const { trash, notices, texts } = this.#surroundings;
    const { eraseQuestion, erase, erased } = texts.trash;
    if (!(await ask(this.#browser, questionOf(eraseQuestion, [item.name]), erase))) return;
    await trash.remove(item);
    this.#drop(item);
    notices.show(fill(erased, { name: item.name }), 'success');
  }

  async #empty(): Promise<void> {
    const { trash, sources, notices, texts } = this.#surroundings;
    const { emptyQuestion, empty, emptied } = texts.trash;
    const names = this.#emptied;
    const list = new Intl.ListFormat(texts.locale).format(names.map(sources.titleOf));
    if (!(await ask(this.#browser, questionOf(fill(emptyQuestion, { sources: list })), empty))) return;
    let removed = 0;
    try {
      for (const name of names) removed += await trash.empty(name);
    } finally {
      if (removed > 0) notices.show(counted(texts, emptied, removed), 'success');
      this.#controls.back.focus();
      await this.#load();
    }
  }
}

/**
 * Adds a view of what was removed to the file browser, and returns the button that opens it: hidden as long
 * as no source is known whose trash the person may list.
 */
export const showTrash = (browser: FileBrowser, surroundings: TrashSurroundings): HTMLElement =>
  new TrashView(browser, surroundings).toggle;
