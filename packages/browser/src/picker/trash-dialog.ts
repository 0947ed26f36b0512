import type { Surroundings } from './commands.ts';
import { button, h } from './dom.ts';
import { isAbort, type Rights, type SourceInfo, trimmed } from './service.ts';
import { counted, fill, humanSize, humanTime } from './texts.ts';
import type { TrashItem } from './undo.ts';

/** Items per request. */
const PAGE = 100;

/** The trash of a source: its items, newest first, and their operations. */
class TrashDialog {
  readonly #source: SourceInfo;
  readonly #surroundings: Surroundings;
  readonly #may: Rights['permissions'];
  readonly #ending = new AbortController();
  readonly #body = h('tbody', {});
  readonly #state = h('p', { role: 'status' });
  readonly #table: HTMLElement;
  readonly #more: HTMLButtonElement;
  #offset = 0;
  #isLoading = false;

  constructor(source: SourceInfo, may: Rights['permissions'], surroundings: Surroundings) {
    this.#source = source;
    this.#may = may;
    this.#surroundings = surroundings;
    const { texts } = surroundings;
    const columns = [texts.facts.name, texts.bin.wasIn, texts.bin.removedAt, texts.facts.size].map((text) =>
      h('th', { scope: 'col' }, text),
    );
    this.#table = h('table', {}, h('thead', {}, h('tr', {}, ...columns, h('td', {}))), this.#body);
    this.#more = button(texts.bin.more, () => void this.#load(), { hidden: true });
  }

  async open(): Promise<void> {
    const { dialogs, texts } = this.#surroundings;
    await dialogs.open<undefined>(
      fill(texts.bin.title, { source: this.#source.title }),
      () => {
        const buttons = h('footer', {}, this.#more);
        const empty = button(texts.bin.empty, () => void this.#empty(), { class: 'button danger' });
        if (this.#may.allowTrashEmpty === true) buttons.append(empty);
        void this.#load();
        const frame = { class: 'table-frame', tabindex: 0, role: 'region', 'aria-label': texts.trash };
        return { body: [this.#state, h('div', frame, this.#table), buttons] };
      },
      'wide',
    );
    this.#ending.abort();
  }

  async #attempt(run: () => Promise<void>): Promise<void> {
    const { service, texts } = this.#surroundings;
    try {
      await run();
    } catch (error) {
      if (!isAbort(error)) this.#state.textContent = service.messageOf(error, texts);
    }
  }

  #confirmed(question: string, action: string, run: () => Promise<void>): Promise<void> {
    const { dialogs, texts } = this.#surroundings;
    return this.#attempt(async () => {
      if (await dialogs.confirm(question, texts.removeFinal, action)) await run();
    });
  }

  async #load(): Promise<void> {
    // A second request for the same items would skip those after them.
    if (this.#isLoading) return;
    this.#isLoading = true;
    const { service, texts } = this.#surroundings;
    await this.#attempt(async () => {
      this.#state.textContent = texts.loading;
      const { signal } = this.#ending;
      const parameters = { source: this.#source.name, offset: this.#offset, limit: PAGE };
      const { items } = await service.client.trashList(parameters, { signal });
      this.#offset += items.length;
      const rows = items.map((item) => this.#rowOf(item));
      this.#body.append(...rows);
      if (this.#more.matches(':focus')) rows[0]?.querySelector('button')?.focus();
      this.#more.hidden = items.length < PAGE;
      this.#say('');
    });
    this.#isLoading = false;
  }

  #say(text: string): void {
    const isEmpty = this.#body.children.length === 0;
    this.#table.hidden = isEmpty;
    this.#state.textContent = [text, isEmpty ? this.#surroundings.texts.bin.isEmpty : ''].join(' ').trim();
  }

  #rowOf(item: TrashItem): HTMLElement {
    const { texts } = this.#surroundings;
    const { name, path, replaced, kind } = item;
    const actions = h('td', { class: 'actions' });
    const offer = (label: string, run: () => Promise<void>): void =>
      actions.append(button(label, () => void run(), { 'aria-label': `${label}: ${name}` }));
    if (this.#may.allowTrashRestore === true) offer(texts.bin.restore, () => this.#restore(item, row));
    if (this.#may.allowTrashRemove === true) offer(texts.bin.erase, () => this.#erase(item, row));
    const note = replaced ? ` (${texts.bin.earlier})` : kind === 'folder' ? ` (${texts.folder})` : '';
    const row = h(
      'tr',
      {},
      h('th', { scope: 'row', dir: 'auto' }, `${name}${note}`),
      h('td', { dir: 'auto' }, trimmed(path) === '' ? this.#source.title : trimmed(path)),
      h('td', {}, humanTime(texts, item.removedAt)),
      h('td', { dir: 'auto' }, humanSize(texts, item.bytes)),
      actions,
    );
    return row;
  }

  /** Removes a row, and moves the focus to the next one. */
  #gone(row: HTMLElement, text: string): void {
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    this.#offset -= 1;
    this.#say(text);
    (next ?? this.#table.closest('dialog'))?.querySelector('button')?.focus();
  }

  #restore({ id, source }: TrashItem, row: HTMLElement): Promise<void> {
    const { service, texts } = this.#surroundings;
    return this.#attempt(async () => {
      const back = await service.client.trashRestore({ source, id });
      const folder = trimmed(back.path);
      this.#surroundings.changed([{ source, path: folder }]);
      const values = { name: back.name, folder: folder === '' ? this.#source.title : folder };
      this.#gone(row, fill(texts.bin.restored, values));
    });
  }

  #erase({ id, source, name }: TrashItem, row: HTMLElement): Promise<void> {
    const { service, texts } = this.#surroundings;
    return this.#confirmed(fill(texts.bin.eraseQuestion, { name }), texts.bin.erase, async () => {
      await service.client.trashRemove({ source, id });
      this.#gone(row, fill(texts.bin.erased, { name }));
    });
  }

  #empty(): Promise<void> {
    const { service, texts } = this.#surroundings;
    const question = fill(texts.bin.emptyQuestion, { source: this.#source.title });
    return this.#confirmed(question, texts.bin.empty, async () => {
      const { removed } = await service.client.trashEmpty({ source: this.#source.name });
      this.#body.replaceChildren();
      this.#more.hidden = true;
      this.#say(counted(texts, texts.emptied, removed));
    });
  }
}

/** Shows the trash of a source until it is closed. */
export const openTrash = async (source: SourceInfo, surroundings: Surroundings): Promise<void> => {
  const { permissions } = await surroundings.service.rightsIn({ source: source.name, path: '' });
  await new TrashDialog(source, permissions, surroundings).open();
};
