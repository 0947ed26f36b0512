import { contentOfCell, nameOfCell, TypeAhead } from './cell.ts';
import { arrowsOf, setAttributes } from './dom.ts';
import type { Listing } from './listing.ts';
import { Rows, type View } from './rows.ts';
import type { Selection } from './selection.ts';
import { type Entry, keyOf } from './service.ts';
import type { Texts } from './texts.ts';

/** Callbacks for actions of the user on entries. */
export interface GridEvents {
  /** A double click, a tap on a folder, or Enter. */
  readonly opened: (entry: Entry) => void;
  readonly menuWanted: (entry: Entry, at: { readonly x: number; readonly y: number }) => void;
  /** A key that does not move the focus. True: the key was handled. */
  readonly keyPressed: (event: KeyboardEvent) => boolean;
  readonly dragStarted: (entry: Entry, event: DragEvent) => void;
  readonly dragEnded: () => void;
}

/** Maximum number of entries that are selected together. */
const MOST_SELECTED = 10_000;

/** The entries of a listing as tiles or rows, selected by pointer and keys. */
export class Grid {
  readonly element: HTMLElement;
  readonly #rows: Rows;
  readonly #selection: Selection;
  readonly #events: GridEvents;
  readonly #texts: Texts;
  readonly #typeAhead = new TypeAhead();
  #listing: Listing | undefined;
  /** Start of a range selection with Shift. */
  #anchor = 0;
  #isTouched = false;
  /** Continues a selection when missing entries are loaded. */
  #selectMore: (() => unknown) | undefined;
  /** The entry of the first click of several; undefined beside the entries. */
  #clickedEntry: Entry | undefined;
  #faint: ReadonlySet<string> = new Set();

  constructor(selection: Selection, texts: Texts, events: GridEvents) {
    this.#selection = selection;
    this.#texts = texts;
    this.#events = events;
    this.#rows = new Rows({
      count: () => this.#listing?.count ?? 0,
      want: (from, to) => this.#listing?.want(from, to),
      draw: (cell, index, isPassing) => this.#draw(cell, index, isPassing),
    });
    this.element = this.#rows.element;
    const { grid } = this.#rows;
    // A click is a mouse event in Firefox before 129 and Safari before 18.2, and in that also by touch.
    grid.addEventListener('pointerdown', ({ pointerType }) => (this.#isTouched = pointerType === 'touch'));
    grid.addEventListener('click', (event) => this.#clicked(event));
    // The first click may show more tools, which move the list: the second one may hit another entry.
    grid.addEventListener('dblclick', () => this.#clickedEntry && events.opened(this.#clickedEntry));
    grid.addEventListener('contextmenu', (event) => this.#menuWanted(event));
    grid.addEventListener('keydown', (event) => this.#pressed(event));
    grid.addEventListener('dragstart', (event) => {
      const entry = this.entryAt(event);
      if (entry !== undefined) events.dragStarted(entry, event);
    });
    grid.addEventListener('dragend', () => events.dragEnded());
  }

  close(): void {
    this.#rows.close();
  }

  get view(): View {
    return this.#rows.view;
  }

  set view(view: View) {
    this.#rows.view = view;
  }

  /** Empties the list until another listing is loaded. */
  empty(): void {
    this.#listing = this.#selectMore = this.#clickedEntry = undefined;
    this.#anchor = 0;
    this.#rows.empty();
  }

  /** Shows a listing, or its changes. */
  show(listing: Listing, label: string): void {
    this.#listing = listing;
    this.#rows.grid.setAttribute('aria-label', label);
    if (this.#selection.size > 0) this.#selection.refresh(listing.loaded(), listing.isWhole);
    this.#rows.refresh();
    this.#selectMore?.();
  }

  /** Redraws the selection, and dims these entries. */
  refresh(faint = this.#faint): void {
    this.#faint = faint;
    this.#rows.refresh();
  }

  focus(): void {
    this.#rows.focus();
  }

  /** The entry that has the focus, or would get it. */
  get active(): Entry | undefined {
    return this.#listing?.at(this.#rows.active);
  }

  /**
   * Focuses an entry if it is loaded, unless the user is typing or selecting elsewhere. Returns whether it is
   * loaded.
   */
  goTo(wanted: Pick<Entry, 'source' | 'path' | 'name'>): boolean {
    const index = this.#indexOf((entry) => keyOf(entry) === keyOf(wanted));
    if (index !== undefined && !this.#rows.isFocusElsewhere) this.#rows.reveal(index);
    return index !== undefined;
  }

  /** The entry under a pointer. */
  entryAt(event: Event): Entry | undefined {
    const at = this.#rows.cellOf(event);
    return at && this.#listing?.at(at.index);
  }

  #indexOf(test: (entry: Entry) => boolean, from = 0): number | undefined {
    const count = this.#listing?.count ?? 0;
    for (let step = 0; step < count; step += 1) {
      const index = (from + step) % count;
      const entry = this.#listing?.at(index);
      if (entry !== undefined && test(entry)) return index;
    }
    return undefined;
  }

  #draw(cell: HTMLElement, index: number, isPassing: boolean): boolean {
    const entry = isPassing ? undefined : this.#listing?.at(index);
    if (entry === undefined) {
      cell.replaceChildren();
      cell.className = 'cell waiting';
      cell.dataset['stamp'] = '';
      const attributes = { 'aria-selected': 'false', draggable: undefined };
      setAttributes(cell, { 'aria-label': this.#texts.loading, ...attributes });
      return true;
    }
    const key = keyOf(entry);
    const stamp = `${key}${entry.version ?? ''}${entry.thumb ?? ''}${String(entry.width)}${this.view}`;
    // Replacing only the content preserves the focus of the element.
    if (cell.dataset['stamp'] !== stamp) {
      const menuWanted = (at: { readonly x: number; readonly y: number }): void =>
        this.#events.menuWanted(entry, at);
      cell.replaceChildren(...contentOfCell(entry, this.view, this.#texts, menuWanted));
      cell.dataset['stamp'] = stamp;
      cell.setAttribute('aria-label', nameOfCell(entry, this.view, this.#texts));
    }
    cell.className = `cell ${entry.type}${this.#faint.has(key) ? ' faint' : ''}`;
    setAttributes(cell, { 'aria-selected': String(this.#selection.has(entry)), draggable: 'true' });
    return false;
  }

  #clicked(event: MouseEvent): void {
    const at = this.#rows.cellOf(event);
    const entry = this.entryAt(event);
    const target = event.composedPath()[0];
    const isOnCheck = target instanceof Element && target.closest('.check') !== null;
    if (event.detail > 1 && !isOnCheck) return;
    this.#clickedEntry = isOnCheck ? undefined : entry;
    if (at === undefined || entry === undefined) return;
    this.#rows.activate(at.index);
    if (event.shiftKey) return this.#selectTo(at.index);
    this.#anchor = at.index;
    if (event.ctrlKey || event.metaKey || isOnCheck) this.#selection.toggle(entry);
    else if (entry.type === 'folder' && this.#isTouched) this.#events.opened(entry);
    else this.#selection.set([entry]);
  }

  #menuWanted(event: MouseEvent): void {
    const entry = this.entryAt(event);
    if (entry === undefined) return;
    event.preventDefault();
    // Opened by a key, there is no pointer position: the menu opens below the entry.
    const isByKey = event.clientX === 0 && event.clientY === 0;
    const { left, bottom } = this.#rows.cellOf(event)?.cell.getBoundingClientRect() ?? { left: 0, bottom: 0 };
    const at = isByKey ? { x: left, y: bottom } : { x: event.clientX, y: event.clientY };
    const open = (): void => this.#events.menuWanted(entry, at);
    // Firefox would close it when the button is released that is pressed now.
    if (event.buttons === 0 || this.#isTouched) open();
    else addEventListener('mouseup', open, { once: true, capture: true });
  }

  #pressed(event: KeyboardEvent): void {
    const isOnCell = this.#rows.cellOf(event) !== undefined;
    if (!isOnCell && event.composedPath()[0] !== this.#rows.grid) return;
    const isUsed =
      (isOnCell && (this.#moved(event) || this.#chosen(event))) ||
      this.#events.keyPressed(event) ||
      (isOnCell && this.#typed(event));
    if (!isUsed) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Keys that select and open. */
  #chosen({ key, ctrlKey, metaKey }: KeyboardEvent): boolean {
    const entry = this.active;
    if (key.toLowerCase() === 'a' && (ctrlKey || metaKey)) this.#select(0, (this.#listing?.count ?? 0) - 1);
    else if (entry === undefined) return false;
    else if (key === 'Enter') this.#events.opened(entry);
    else if (key === ' ' && !this.#typeAhead.isRunning) {
      this.#anchor = this.#rows.active;
      this.#selection.toggle(entry);
    } else return false;
    return true;
  }

  /** Keys that move the focus. */
  #moved({ key, shiftKey, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
    if (altKey) return false;
    const { active, columns, screenful } = this.#rows;
    const [forward, backward] = arrowsOf(this.#rows.grid);
    const targets: Readonly<Record<string, number>> = {
      [forward]: active + 1,
      [backward]: active - 1,
      ArrowDown: active + columns,
      ArrowUp: active - columns,
      PageDown: active + screenful,
      PageUp: active - screenful,
      Home: 0,
      End: Number.MAX_SAFE_INTEGER,
    };
    const target = targets[key];
    if (target === undefined) return false;
    const index = Math.max(0, Math.min(target, (this.#listing?.count ?? 1) - 1));
    this.#rows.reveal(index);
    if (shiftKey) this.#selectTo(index);
    else if (!ctrlKey && !metaKey) this.#anchor = index;
    return true;
  }

  /** Focuses the next name that begins with the typed letters. */
  #typed(event: KeyboardEvent): boolean {
    const typed = this.#typeAhead.add(event);
    if (typed === undefined) return false;
    const from = this.#rows.active + ([...typed].length === 1 ? 1 : 0);
    const index = this.#indexOf(({ name }) => name.toLowerCase().startsWith(typed), from);
    if (index !== undefined) this.#rows.reveal(index);
    return true;
  }

  #selectTo(index: number): void {
    this.#select(Math.min(this.#anchor, index), Math.max(this.#anchor, index));
  }

  /** Selects entries, and loads those that are missing. */
  #select(from: number, to: number): void {
    const entries: Entry[] = [];
    let missing: number | undefined;
    for (let at = from; at <= to && at < from + MOST_SELECTED; at += 1) {
      const entry = this.#listing?.at(at);
      if (entry !== undefined) entries.push(entry);
      else missing ??= at;
    }
    this.#selection.set(entries);
    this.#selectMore = undefined;
    if (missing === undefined) return;
    // Another number means another selection. An entry may be listed twice when the folder changes meanwhile.
    const { size } = this.#selection;
    this.#selectMore = () => this.#selection.size === size && this.#select(from, to);
    // Some pages together: a response may take long.
    this.#listing?.want(missing, missing + 480);
  }
}
