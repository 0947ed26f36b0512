import { button, type Child, h, iconButton, isReversed, roveFocus } from './dom.ts';
import { Tree } from './tree.ts';
import type { Folder, Service, SourceInfo } from './service.ts';
import type { Texts } from './texts.ts';

export interface MenuItem {
  readonly label: string;
  readonly run: () => void;
}

interface FormParts {
  readonly action: string;
  readonly kind?: 'danger';
  readonly note?: Note | undefined;
  readonly submit: () => void;
  readonly cancel: () => void;
  /** Further buttons. */
  readonly others?: readonly Child[];
  /** Whether the fields correct invalid input themselves. */
  readonly novalidate?: boolean;
}

/** Information for the user before a decision. It may still be loading. */
export type Note = Promise<HTMLElement | undefined>;

/** Dialogs above the picker. One is open at a time; afterwards the focus returns to its former element. */
export class Dialogs {
  /** Dialogs and menus are appended here. */
  readonly #host: HTMLElement;
  readonly #texts: Texts;

  constructor(host: HTMLElement, texts: Texts) {
    this.#host = host;
    this.#texts = texts;
  }

  /** Opens a dialog with a title and the content from `fill`; resolves when it is closed. */
  open<Result>(
    title: string,
    fill: (end: (result?: Result) => void) => {
      readonly body: readonly Node[];
      readonly first?: HTMLElement;
    },
    kind = '',
  ): Promise<Result | undefined> {
    return new Promise((resolve) => {
      const heading = h('h2', { dir: 'auto' }, title);
      const attributes = { class: `dialog ${kind}`, part: 'dialog', 'aria-label': title, tabindex: -1 };
      const dialog = h('dialog', attributes);
      let result: Result | undefined;
      const end = (given?: Result): void => {
        result = given;
        dialog.close();
      };
      const { body, first } = fill(end);
      const close = iconButton('close', this.#texts.close, () => end());
      dialog.append(h('header', {}, heading, close), ...body);
      dialog.addEventListener('close', () => {
        dialog.remove();
        resolve(result);
      });
      // Keys of the dialog must not reach the list behind it.
      dialog.addEventListener('keydown', (event) => event.stopPropagation());
      this.#host.append(dialog);
      dialog.showModal();
      first?.focus();
    });
  }

  /** Asks for a name. In a file name the part before the extension is selected. */
  askName(title: string, label: string, value = '', note?: Note): Promise<string | undefined> {
    return this.open<string>(title, (end) => {
      const attributes = { required: true, maxlength: 255, dir: 'auto', autocomplete: 'off' };
      const field = h('input', { type: 'text', value, ...attributes });
      const dot = value.lastIndexOf('.');
      field.setSelectionRange(0, dot > 0 ? dot : value.length);
      const submit = (): void => {
        const name = field.value.trim();
        end(name === '' || name === value ? undefined : name);
      };
      const fields = [h('label', { class: 'field' }, label, field)];
      const form = this.form(fields, { action: this.#texts.ok, note, submit, cancel: () => end() });
      return { body: [form], first: field };
    });
  }

  /** Asks for confirmation of an operation that cannot easily be undone. */
  async confirm(question: string, more: string | undefined, action: string, note?: Note): Promise<boolean> {
    const answer = await this.open<true>(question, (end) => {
      const [submit, cancel] = [() => end(true), () => end()];
      const text = more === undefined ? [] : [h('p', {}, more)];
      const form = this.form(text, { action, kind: 'danger', note, submit, cancel });
      const first = form.querySelector<HTMLElement>('[type="submit"]');
      return { body: [form], ...(first && { first }) };
    });
    return answer === true;
  }

  chooseFolder(
    title: string,
    service: Service,
    sources: readonly SourceInfo[],
    at: Folder,
    note?: Note,
  ): Promise<Folder | undefined> {
    let tree: Tree | undefined;
    const chosen = this.open<Folder>(title, (end) => {
      let folder = at;
      const failed = h('p', { role: 'alert', class: 'failure' });
      tree = new Tree(service, this.#texts, {
        chosen: (one) => {
          folder = one;
        },
        failed: (error) => {
          failed.textContent = service.messageOf(error, this.#texts);
        },
      });
      tree.sources = sources;
      void tree.show(at);
      const [submit, cancel] = [() => end(folder), () => end()];
      const content = [h('div', { class: 'tree-frame' }, tree.element), failed];
      const form = this.form(content, { action: this.#texts.choose, note, submit, cancel });
      const first = tree.element.querySelector<HTMLElement>('[tabindex="0"]');
      return { body: [form], ...(first && { first }) };
    });
    return chosen.finally(() => tree?.close());
  }

  /**
   * A form with its buttons. If it is submitted while its note is loading, the submission waits; if there is
   * a note, the user has to submit again.
   */
  form(content: readonly Child[], parts: FormParts): HTMLFormElement {
    const { action, kind, note, submit, cancel, others = [], novalidate } = parts;
    const line = h('div', { role: 'status', class: 'note' });
    let state: 'open' | 'wanted' | 'ready' = note === undefined ? 'ready' : 'open';
    void note?.then((found) => {
      if (found !== undefined) line.append(found);
      const isWanted = state === 'wanted' && found === undefined;
      state = 'ready';
      if (isWanted) submit();
    });
    // A frame without `allow-forms` submits nothing. Enter in a field clicks the button too.
    const clicked = (event: Event): void => {
      event.preventDefault();
      if (novalidate !== true && !form.reportValidity()) return;
      if (state === 'ready') submit();
      else state = 'wanted';
    };
    const main = { type: 'submit', class: `button primary ${kind ?? ''}`, part: 'button primary' };
    const buttons = [button(this.#texts.cancel, cancel), ...others, button(action, clicked, main)];
    const form = h('form', {}, ...content, line, h('footer', {}, ...buttons));
    return form;
  }

  /** A menu at a position of the window. When it is closed, the focus returns. */
  menu(
    label: string,
    items: readonly MenuItem[],
    { x, y }: { readonly x: number; readonly y: number },
  ): void {
    if (items.length === 0) return;
    const opener = this.#focused();
    const attributes = { class: 'menu', part: 'menu', popover: 'auto', 'aria-label': label };
    const menu = h('div', { role: 'menu', ...attributes });
    const end = (): void => {
      const focused = this.#focused();
      const isElsewhere = focused !== undefined && !menu.contains(focused);
      menu.remove();
      // If the user has clicked elsewhere, the focus stays there.
      if (!isElsewhere) opener?.focus();
    };
    const members = items.map(({ label: text, run }) => {
      const choose = (): void => {
        end();
        run();
      };
      return button(text, choose, { role: 'menuitem', tabindex: -1 });
    });
    menu.append(...members);
    menu.addEventListener('keydown', (event) => {
      if (event.key === 'Tab' || event.key === 'Escape') {
        event.preventDefault();
        event.stopPropagation();
        end();
      }
    });
    menu.addEventListener('toggle', (event) => {
      if (event.newState === 'closed' && menu.isConnected) end();
    });
    this.#host.append(menu);
    menu.showPopover();
    roveFocus(menu, () => members, 'vertical');
    const { width, height } = menu.getBoundingClientRect();
    const left = isReversed(menu) ? x - width : x;
    menu.style.left = `${String(Math.max(4, Math.min(left, innerWidth - width - 4)))}px`;
    menu.style.top = `${String(Math.max(4, Math.min(y, innerHeight - height - 4)))}px`;
    members[0]?.focus();
  }

  #focused(): HTMLElement | undefined {
    const { activeElement: active } = this.#host.getRootNode() as ShadowRoot;
    return active instanceof HTMLElement && active !== this.#host ? active : undefined;
  }
}
