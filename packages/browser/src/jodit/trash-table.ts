import { make, makeButton } from './element.ts';
import type { Sources } from './sources.ts';
import { fill, type Texts } from './texts/texts.ts';
import type { TrashItem } from './trash.ts';

/** What can be done with a row. */
export interface RowActions {
  readonly restore: (item: TrashItem) => void;
  readonly erase: (item: TrashItem) => void;
}

/** The list of what is in the trash. */
export interface TrashTable {
  readonly element: HTMLTableElement;
  readonly count: () => number;
  readonly clear: () => void;
  /** Those that are there already are left out. */
  readonly add: (items: readonly TrashItem[]) => void;
  /** Takes a row away, and gives the focus to the next one; false when there is none. */
  readonly remove: (id: string) => boolean;
  /** Gives the focus to a row, by default the first; false when there is none. */
  readonly focus: (index?: number) => boolean;
}

/** Bytes for people, in steps of a thousand, as the system's own windows show them. */
const sizesIn = (locale: string): ((bytes: number) => string) => {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
  return (bytes) => {
    const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
    const format = new Intl.NumberFormat(locale, {
      style: 'unit',
      unit: units[step] ?? 'byte',
      unitDisplay: step === 0 ? 'long' : 'short',
      maximumFractionDigits: step === 0 ? 0 : 1,
    });
    return format.format(bytes / 1000 ** step);
  };
};

const timesIn = (locale: string): ((iso: string) => string) => {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
  return (iso) => {
    const date = new Date(iso);
    return Number.isNaN(date.getTime()) ? '' : format.format(date);
  };
};

const nameCell = ({ kind, name, isReplaced }: TrashItem, { trash }: Texts): HTMLElement => {
  const children: HTMLElement[] = [make('bdi', '', { text: name })];
  if (kind === 'folder') children.unshift(make('span', 'stowage-hidden', { text: trash.folder }));
  if (isReplaced) children.push(make('span', 'stowage-trash__earlier', { text: trash.earlier }));
  return make('th', `stowage-trash__name stowage-trash__name_${kind}`, {
    attributes: { scope: 'row' },
    children,
  });
};

/** Up and down lead to the same button of the next row; one row is reached by Tab. */
const useArrows = (body: HTMLElement): ((row: Element | undefined) => void) => {
  const rows = (): Element[] => [...body.children];
  const buttonsOf = (row: Element | undefined): HTMLElement[] => [...(row?.querySelectorAll('button') ?? [])];
  const reach = (wanted: Element | undefined): void => {
    for (const row of rows()) for (const button of buttonsOf(row)) button.tabIndex = row === wanted ? 0 : -1;
  };
  body.addEventListener('focusin', ({ target }) => {
    if (target instanceof Element) reach(target.closest('tr') ?? undefined);
  });
  body.addEventListener('keydown', (event) => {
    const row = event.target instanceof Element ? event.target.closest('tr') : null;
    const from = rows().findIndex((one) => one === row);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (row === null || (step === undefined && event.key !== 'Delete')) return;
    event.preventDefault();
    event.stopPropagation();
    const column = buttonsOf(row).findIndex((button) => button === event.target);
    if (step === undefined) row.querySelector<HTMLElement>('.stowage-trash__erase')?.click();
    else buttonsOf(rows()[from + step])[column]?.focus();
  });
  return reach;
};

const headOf = ({ trash }: Texts): HTMLElement => {
  const names = ['name', 'where', 'when', 'size', 'who'] as const;
  const cells = names.map((name) =>
    make('th', `stowage-trash__${name}`, { text: trash[name], attributes: { scope: 'col' } }),
  );
  const actions = make('th', 'stowage-trash__actions', {
    attributes: { scope: 'col' },
    children: [make('span', 'stowage-hidden', { text: trash.actions })],
  });
  return make('thead', '', { children: [make('tr', '', { children: [...cells, actions] })] });
};

/** Makes the row of an item. */
const rowsFor = (
  texts: Texts,
  sources: Sources,
  { restore, erase }: RowActions,
): ((item: TrashItem) => HTMLElement) => {
  const { trash, locale } = texts;
  const [sizeOf, timeOf] = [sizesIn(locale), timesIn(locale)];
  const actionsOf = (item: TrashItem): HTMLElement => {
    const children: HTMLElement[] = [];
    const add = (className: string, text: string, label: string, act: (item: TrashItem) => void): void => {
      const attributes = { 'aria-label': fill(label, { name: item.name }) };
      children.push(makeButton(`stowage-button ${className}`, () => act(item), { text, attributes }));
    };
    if (sources.allows('TrashRestore', item.source)) add('', trash.restore, trash.restoreItem, restore);
    if (sources.allows('TrashRemove', item.source))
      add('stowage-button_quiet stowage-trash__erase', trash.erase, trash.eraseItem, erase);
    return make('td', 'stowage-trash__actions', { children });
  };
  const cell = (name: string, text: string): HTMLElement => make('td', `stowage-trash__${name}`, { text });
  return (item) => {
    const time = make('time', '', { text: timeOf(item.removedAt), attributes: { datetime: item.removedAt } });
    return make('tr', '', {
      children: [
        nameCell(item, texts),
        cell('where', sources.folderText(item.source, item.path)),
        make('td', 'stowage-trash__when', { children: [time] }),
        cell('size', sizeOf(item.bytes)),
        cell('who', item.subject ?? ''),
        actionsOf(item),
      ],
    });
  };
};

const focusIn = (row: Element | null | undefined): boolean => {
  const button = row?.querySelector('button');
  button?.focus();
  return button !== null && button !== undefined;
};

/** Makes the empty table. */
export const createTrashTable = (texts: Texts, sources: Sources, actions: RowActions): TrashTable => {
  const rows = new Map<string, HTMLElement>();
  const rowOf = rowsFor(texts, sources, actions);
  const body = make('tbody', '');
  const element = make('table', 'stowage-trash__table', { children: [headOf(texts), body] });
  const reach = useArrows(body);
  return {
    element,
    count: () => rows.size,
    clear: () => {
      rows.clear();
      body.replaceChildren();
      element.classList.remove('stowage-trash__table_named');
    },
    add: (items) => {
      for (const item of items) {
        if (rows.has(item.id)) continue;
        const row = rowOf(item);
        rows.set(item.id, row);
        body.append(row);
        if (item.subject !== undefined) element.classList.add('stowage-trash__table_named');
      }
      reach(body.querySelector(':scope > :focus-within') ?? body.firstElementChild ?? undefined);
    },
    remove: (id) => {
      const row = rows.get(id);
      const next = row?.nextElementSibling ?? row?.previousElementSibling;
      rows.delete(id);
      row?.remove();
      reach(next ?? undefined);
      return focusIn(next);
    },
    focus: (index = 0) => focusIn(body.children[index]),
  };
};
