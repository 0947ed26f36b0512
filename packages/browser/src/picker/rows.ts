import { h, setAttributes } from './dom.ts';

/** Pixels; the style sheet has the same numbers. */
const TILE = { width: 148, height: 164 };
const LINE = 48;
const EDGES = 16;

/** Milliseconds without fast scrolling after which the visible rows are drawn completely. */
const SETTLED = 100;

/** Rows in the document above and below the visible ones. */
const AROUND = 2;

export type View = 'tiles' | 'list';

/** The focused element, also inside of shadow roots. */
const focusedOfPage = (): Element | null => {
  let focused = document.activeElement;
  while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
  return focused;
};

/** Content of the cells. */
export interface CellSource {
  readonly count: () => number;
  /** Called with the range that is about to become visible; the end is exclusive. */
  readonly want: (from: number, to: number) => void;
  /** Draws a cell, or a placeholder while it passes quickly; returns whether it is still to be drawn. */
  readonly draw: (cell: HTMLElement, index: number, isPassing: boolean) => boolean;
}

/**
 * Virtualises a long list: only visible rows are in the document, and the row of the active cell, which has
 * the focus at any scroll position.
 */
export class Rows {
  /** The scrolling element. */
  readonly element: HTMLElement;
  readonly grid: HTMLElement;
  readonly #source: CellSource;
  readonly #rows = new Map<number, HTMLElement>();
  readonly #sizes: ResizeObserver;
  #view: View = 'tiles';
  #columns = 1;
  #active = 0;
  #frame = 0;
  #top = 0;
  /**
   * More than a row per frame: thumbnails are not loaded then, since the service would have to make
   * thousands.
   */
  #isRushing = false;
  /** More than half of a screen per frame: entries are neither drawn nor requested. */
  #isPassing = false;
  #settling: ReturnType<typeof setTimeout> | undefined;
  /** The first cell gets the focus when it appears. */
  #isAwaited = false;

  constructor(source: CellSource) {
    this.#source = source;
    this.grid = h('div', {
      role: 'grid',
      class: 'grid',
      tabindex: -1,
      part: 'grid',
      'aria-multiselectable': 'true',
    });
    // Screen readers focus a cell without a key or a click.
    this.grid.addEventListener('focusin', (event) => {
      const at = this.cellOf(event);
      if (at !== undefined) this.activate(at.index);
    });
    this.element = h('div', { class: 'scroller', part: 'files' }, this.grid);
    this.element.addEventListener('scroll', () => this.#soon(), { passive: true });
    this.#sizes = new ResizeObserver(() => this.#measure());
    this.#sizes.observe(this.element);
  }

  close(): void {
    this.#sizes.disconnect();
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#settling);
  }

  get view(): View {
    return this.#view;
  }

  set view(view: View) {
    this.#view = view;
    this.grid.classList.toggle('as-list', view === 'list');
    this.#measure(true);
  }

  get columns(): number {
    return this.#columns;
  }

  get active(): number {
    return this.#active;
  }

  /** Whether the focus is in another control of the picker, or elsewhere on the page. */
  get isFocusElsewhere(): boolean {
    const root = this.grid.getRootNode();
    const focused = focusedOfPage();
    // When nothing inside has the focus, it is on the dialog or page around the picker.
    if (!(root instanceof ShadowRoot) || focused === null || focused === document.body) return false;
    if (!root.contains(focused)) return !focused.contains(root.host);
    return focused.matches('input, select, textarea, .notice *, [role="menuitem"], [role="treeitem"]');
  }

  /** Number of visible cells. */
  get screenful(): number {
    return Math.max(1, Math.floor(this.element.clientHeight / this.#height)) * this.#columns;
  }

  /** Empties the list until another one is loaded. If the list has the focus, it keeps it. */
  empty(): void {
    this.#isAwaited = this.#hasFocus();
    this.#active = 0;
    this.element.scrollTop = 0;
    this.#removeAll();
    if (this.#isAwaited) this.grid.focus();
  }

  /** Redraws changes. */
  refresh(): void {
    this.#draw(true);
    // If the user has moved the focus meanwhile, it stays there.
    if (this.#isAwaited && this.grid.matches(':focus') && this.#source.count() > 0) this.focus();
  }

  /** Focuses the active cell, once it exists. */
  focus(): void {
    this.#isAwaited = this.#source.count() === 0;
    if (this.#isAwaited) this.grid.focus();
    else this.reveal(this.#active);
  }

  /** Focuses a cell, and scrolls to it. */
  reveal(index: number): void {
    const top = Math.floor(index / this.#columns) * this.#height;
    const { clientHeight, scrollTop } = this.element;
    const least = top + this.#height + EDGES - clientHeight;
    // In a low window the upper edge takes precedence.
    this.element.scrollTop = Math.min(top, Math.max(least, scrollTop));
    this.activate(index);
    this.#draw();
    (this.activate(index) ?? this.grid).focus({ preventScroll: true });
  }

  /** Makes a cell the one that takes the focus by Tab. */
  activate(index: number): HTMLElement | undefined {
    this.#cellAt(this.#active)?.setAttribute('tabindex', '-1');
    this.#active = index;
    const cell = this.#cellAt(index);
    cell?.setAttribute('tabindex', '0');
    return cell;
  }

  /** The cell of an event, and its index. */
  cellOf(event: Event): { readonly cell: HTMLElement; readonly index: number } | undefined {
    const target = event.composedPath()[0];
    const cell = target instanceof Element ? target.closest<HTMLElement>('.cell') : null;
    return cell === null ? undefined : { cell, index: Number(cell.dataset['index']) };
  }

  get #height(): number {
    return this.#view === 'tiles' ? TILE.height : LINE;
  }

  #hasFocus(): boolean {
    const root = this.grid.getRootNode();
    return root instanceof ShadowRoot && this.grid.contains(root.activeElement);
  }

  #removeAll(): void {
    for (const row of this.#rows.values()) row.remove();
    this.#rows.clear();
  }

  #measure(isOtherView = false): void {
    const width = this.element.clientWidth - EDGES;
    const columns = this.#view === 'tiles' ? Math.max(2, Math.floor(width / TILE.width)) : 1;
    const hadFocus = this.#hasFocus();
    // Other tools make the list lower, perhaps during a press: a click needs the cell of the press.
    if (isOtherView || columns !== this.#columns) this.#removeAll();
    this.#columns = columns;
    this.#draw();
    if (hadFocus) this.focus();
  }

  /** Schedules drawing, at most once per frame. */
  #soon(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const { scrollTop } = this.element;
      const moved = Math.abs(scrollTop - this.#top);
      this.#isRushing = moved > this.#height;
      this.#isPassing = moved > this.element.clientHeight / 2;
      this.#top = scrollTop;
      this.#draw();
      clearTimeout(this.#settling);
      this.#settling = setTimeout(() => {
        this.#isRushing = this.#isPassing = false;
        this.#draw();
      }, SETTLED);
    });
  }

  #loadPictures(): void {
    if (this.#isRushing) return;
    for (const image of this.grid.querySelectorAll<HTMLImageElement>('img[data-src]')) {
      image.src = image.dataset['src'] ?? '';
      delete image.dataset['src'];
    }
  }

  #draw(isFresh = false): void {
    const count = this.#source.count();
    const rows = Math.ceil(count / this.#columns);
    this.#active = Math.max(0, Math.min(this.#active, count - 1));
    this.grid.style.height = `${String(rows * this.#height)}px`;
    setAttributes(this.grid, { 'aria-rowcount': rows, 'aria-colcount': this.#columns });
    // Without entries the list itself takes the focus, for keys such as paste.
    this.grid.tabIndex = count === 0 ? 0 : -1;
    const hadFocus = this.#hasFocus();
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / this.#height) - AROUND);
    const last = Math.min(rows - 1, Math.ceil((scrollTop + clientHeight) / this.#height) + AROUND);
    if (!this.#isPassing) {
      // A reload drops entries far from the visible rows, and keys use the active entry.
      this.#source.want(this.#active, this.#active + 1);
      this.#source.want(first * this.#columns, (last + 1) * this.#columns);
    }
    const wanted = new Set(rows === 0 ? [] : [Math.floor(this.#active / this.#columns)]);
    for (let row = first; row <= last; row += 1) wanted.add(row);
    for (const [row, element] of this.#rows) {
      if (wanted.has(row)) continue;
      element.remove();
      this.#rows.delete(row);
    }
    for (const row of wanted) this.#drawRow(row, count, isFresh);
    this.#loadPictures();
    if (hadFocus && !this.#hasFocus()) this.focus();
  }

  #drawRow(row: number, count: number, isFresh: boolean): void {
    const known = this.#rows.get(row);
    if (known !== undefined && !isFresh && !known.classList.contains('waiting')) return;
    const element = known ?? this.#addRow(row);
    const from = row * this.#columns;
    const cells = Math.min(this.#columns, count - from);
    while (element.children.length > cells) element.lastChild?.remove();
    while (element.children.length < cells)
      element.append(h('div', { role: 'gridcell', part: 'item', class: 'cell' }));
    let isWaiting = false;
    [...element.children].forEach((cell, column) => {
      if (!(cell instanceof HTMLElement)) return;
      const index = from + column;
      cell.dataset['index'] = String(index);
      setAttributes(cell, { 'aria-colindex': column + 1, tabindex: index === this.#active ? 0 : -1 });
      isWaiting = this.#source.draw(cell, index, this.#isPassing && !isFresh) || isWaiting;
    });
    element.classList.toggle('waiting', isWaiting);
  }

  #addRow(row: number): HTMLElement {
    const element = h('div', { role: 'row', class: 'row', 'aria-rowindex': row + 1 });
    element.style.transform = `translateY(${String(row * this.#height)}px)`;
    element.style.setProperty('--columns', String(this.#columns));
    // In the order of the list: screen readers follow the document.
    const next = [...this.#rows.keys()].filter((other) => other > row).sort((one, other) => one - other)[0];
    this.grid.insertBefore(element, next === undefined ? null : (this.#rows.get(next) ?? null));
    this.#rows.set(row, element);
    return element;
  }

  #cellAt(index: number): HTMLElement | undefined {
    return this.grid.querySelector<HTMLElement>(`.cell[data-index="${String(index)}"]`) ?? undefined;
  }
}
