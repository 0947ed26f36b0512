import { button, h, iconButton, isComposing, setAttributes } from './dom.ts';
import type { PickerOptions } from './options.ts';
import { type Folder, joined, parentOf, type SourceInfo } from './service.ts';
import type { Texts } from './texts.ts';

/** The elements inside the frame. */
export interface FrameParts {
  readonly toolbar: HTMLElement;
  readonly tree: HTMLElement;
  readonly files: HTMLElement;
  readonly uploads: HTMLElement;
  readonly notices: HTMLElement;
}

/** Callbacks for actions of the user around the list. */
export interface FrameEvents {
  readonly searched: (query: string, isEverywhere: boolean) => void;
  readonly went: (folder: Folder) => void;
  readonly retried: () => void;
  readonly picked: () => void;
  readonly cancelled: () => void;
  readonly filesChosen: (files: readonly File[]) => void;
}

/** Milliseconds between the last key and the search. */
const PAUSE = 300;

/**
 * A press beside controls, in Safari also on a button, leaves the focus where it is in the picker. By
 * `delegatesFocus`, Safari and Firefox would move it to the first control.
 */
const keepFocus = ({ target, relatedTarget: former }: FocusEvent): void => {
  if ((target as Node).contains(former as Node)) (former as HTMLElement).focus({ preventScroll: true });
};

/** The parts around the list: breadcrumbs, search, tree, footer. */
export class Frame {
  readonly element: HTMLElement;
  readonly #texts: Texts;
  readonly #parts: FrameParts;
  readonly #events: FrameEvents;
  readonly #way = h('ol', {});
  /** The tree, which overlays the list in a narrow window. */
  readonly #aside: HTMLElement;
  readonly #unfold: HTMLButtonElement;
  readonly #search: HTMLInputElement;
  readonly #here = h('option', { value: '' });
  readonly #scope: HTMLSelectElement;
  readonly #state = h('div', { class: 'state', part: 'state' });
  readonly #count = h('span', { class: 'count', role: 'status' });
  readonly #chosen = h('span', { class: 'chosen', dir: 'auto' });
  readonly #insert: HTMLButtonElement;
  readonly #target = h('div', { class: 'target', 'aria-hidden': 'true', hidden: true });
  readonly #fileField: HTMLInputElement;
  #takeFiles: (files: readonly File[]) => void;
  #marked: Element | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(texts: Texts, parts: FrameParts, events: FrameEvents) {
    this.#texts = texts;
    this.#parts = parts;
    this.#events = events;
    this.#search = h('input', {
      type: 'search',
      placeholder: texts.search,
      'aria-label': texts.search,
      part: 'search',
    });
    this.#search.addEventListener('input', () => this.#typed());
    this.#search.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') this.#searchNow();
      // The first Escape clears the field, and the window stays open.
      if (event.key === 'Escape' && this.#search.value !== '' && !isComposing(event)) {
        event.preventDefault();
        event.stopPropagation();
        this.#search.value = '';
        this.#searchNow();
      }
    });
    this.#scope = h(
      'select',
      { class: 'button', part: 'scope', 'aria-label': texts.finding.where, hidden: true },
      this.#here,
      h('option', { value: 'everywhere' }, texts.finding.everywhere),
    );
    this.#scope.addEventListener('change', () => this.#searchNow());
    this.#insert = button('', events.picked, { class: 'button primary', part: 'button primary' });
    this.#takeFiles = events.filesChosen;
    this.#fileField = h('input', { type: 'file', multiple: true, hidden: true });
    this.#fileField.addEventListener('change', () => {
      const files = [...(this.#fileField.files ?? [])];
      // Allows choosing the same file again.
      this.#fileField.value = '';
      if (files.length > 0) this.#takeFiles(files);
    });
    this.#aside = h('nav', { class: 'folders', 'aria-label': texts.folders });
    const unfold = (): void => {
      if (this.fold()) return;
      this.#aside.classList.add('open');
      this.#unfold.setAttribute('aria-expanded', 'true');
      this.#aside.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
    };
    const attributes = { class: 'button icon-only fold', 'aria-expanded': 'false' };
    this.#unfold = iconButton('folder', texts.showFolders, unfold, attributes);
    this.element = this.#build();
  }

  /** Closes the tree that overlays the list. False: it was not open. */
  fold(): boolean {
    const wasOpen = this.#aside.classList.contains('open');
    this.#aside.classList.remove('open');
    this.#unfold.setAttribute('aria-expanded', 'false');
    return wasOpen;
  }

  #build(): HTMLElement {
    const { toolbar, tree, files, uploads, notices } = this.#parts;
    this.#aside.append(tree);
    this.#aside.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || !this.fold()) return;
      event.preventDefault();
      this.#unfold.focus();
    });
    const content = h('div', { class: 'content' }, files, this.#state, this.#target);
    content.addEventListener('click', () => this.fold());
    const cancel = button(this.#texts.cancel, this.#events.cancelled);
    const way = h('nav', { class: 'way', 'aria-label': this.#texts.facts.location }, this.#way);
    return h(
      'div',
      {
        class: 'picker',
        part: 'picker',
        lang: this.#texts.locale,
        dir: this.#texts.direction,
        tabindex: -1,
        onfocus: keepFocus,
      },
      h('div', { class: 'head' }, this.#unfold, way, this.#search, this.#scope),
      toolbar,
      h('div', { class: 'middle' }, this.#aside, content, notices),
      uploads,
      h(
        'div',
        { class: 'foot' },
        this.#count,
        this.#chosen,
        h('span', { class: 'gap' }),
        cancel,
        this.#insert,
      ),
      this.#fileField,
    );
  }

  set query(query: string) {
    clearTimeout(this.#timer);
    this.#search.value = query;
    this.#scope.hidden = query === '';
  }

  #typed(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#searchNow(), PAUSE);
  }

  #searchNow(): void {
    clearTimeout(this.#timer);
    const query = this.#search.value.trim();
    this.#scope.hidden = query === '';
    this.#events.searched(query, this.#scope.value !== '');
  }

  /** Shows the breadcrumbs of a folder: its source, and each folder of the path. */
  showWay({ source, path }: Folder, sources: readonly SourceInfo[]): void {
    const title = sources.find(({ name }) => name === source)?.title ?? source;
    const names = path === '' ? [] : path.split('/');
    this.#here.textContent = names.at(-1) ?? title;
    const steps = [{ name: title, path: '' }];
    for (const name of names) steps.push({ name, path: joined(steps.at(-1)?.path ?? '', name) });
    const items = steps.map((step, index) => {
      const isHere = index === steps.length - 1;
      const go = (): void => this.#events.went({ source, path: step.path });
      return h(
        'li',
        {},
        button(step.name, go, {
          ...{ class: 'step', dir: 'auto', 'aria-current': isHere && 'location' },
          'data-folder': JSON.stringify({ source, path: step.path }),
        }),
      );
    });
    const goUp = (): void => this.#events.went({ source, path: parentOf(path) });
    const up = iconButton('up', this.#texts.up, goUp, { disabled: path === '' });
    this.#way.replaceChildren(h('li', {}, up), ...items);
  }

  /** The folder of a breadcrumb, for drops. */
  folderAt(event: Event): Folder | undefined {
    const target = event.composedPath()[0];
    const step = target instanceof Element ? target.closest<HTMLElement>('[data-folder]') : null;
    const folder = step?.dataset['folder'];
    return folder === undefined ? undefined : (JSON.parse(folder) as Folder);
  }

  /** Shows a text instead of the list; with a button for a retry after a failure. */
  showState(text: string | undefined, canRetry = false): void {
    this.#state.hidden = text === undefined;
    this.#state.replaceChildren(...(text === undefined ? [] : [h('p', { dir: 'auto' }, text)]));
    if (canRetry) this.#state.append(button(this.#texts.tryAgain, this.#events.retried));
  }

  showCount(text: string): void {
    if (this.#count.textContent !== text) this.#count.textContent = text;
  }

  /** Shows the selection, and the button that inserts it. */
  showChosen(text: string, insert: string, canInsert: boolean): void {
    this.#chosen.textContent = text;
    this.#insert.textContent = insert;
    this.#insert.disabled = !canInsert;
  }

  /** Names and marks the target of a drag. */
  showTarget(text: string | undefined, at: EventTarget | undefined): void {
    this.#target.hidden = text === undefined;
    this.#target.textContent = text ?? '';
    this.#marked?.classList.remove('dropping');
    const element = at instanceof Element ? at.closest('.cell.folder, .branch, .step') : null;
    this.#marked = element ?? undefined;
    this.#marked?.classList.add('dropping');
  }

  /** Opens a file dialog for uploads, perhaps of pictures, or for one file of a type that replaces another. */
  askForFiles(
    replaced?: { readonly accept: string; readonly take: (file: File) => void },
    types?: PickerOptions['types'],
  ): void {
    const accept = replaced?.accept ?? (types && 'image/*');
    setAttributes(this.#fileField, { accept, multiple: replaced === undefined });
    this.#takeFiles =
      replaced === undefined ? this.#events.filesChosen : ([file]) => file && replaced.take(file);
    this.#fileField.click();
  }
}
