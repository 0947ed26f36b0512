import { h, icon, iconButton } from './dom.ts';
import type { View } from './rows.ts';
import type { Entry } from './service.ts';
import { fill, humanSize, humanTime, type Texts } from './texts.ts';

/** Isolates left-to-right text. */
const leftToRight = (text: string): string => `\u2066${text}\u2069`;

export const pixelsOf = ({ width, height }: Pick<Entry, 'width' | 'height'>): string =>
  width === undefined || height === undefined ? '' : leftToRight(`${String(width)} × ${String(height)}`);

const sizeOf = ({ bytes }: Entry, texts: Texts): string =>
  bytes === undefined ? '' : leftToRight(humanSize(texts, bytes));

/**
 * A link with a version, so that the browser does not use a cached response from before a change; the
 * parameter does not invalidate a signature.
 */
export const versioned = (link: string, version = ''): string =>
  `${link}${link.includes('?') ? '&' : '?'}_=${encodeURIComponent(version)}`;

/** Details below or beside a name. */
const factsOf = (
  entry: Entry,
  view: View,
  texts: Texts,
): readonly (readonly [kind: string, text: string])[] => {
  const pixels = pixelsOf(entry);
  if (view === 'tiles') return [['', pixels === '' ? sizeOf(entry, texts) : pixels]];
  const changed = entry.modified === undefined ? '' : humanTime(texts, entry.modified);
  // Narrow lists hide the last ones: the accessible name begins with the visible ones.
  return [
    ['size', sizeOf(entry, texts)],
    ['changed', changed],
    ['pixels', pixels],
  ];
};

/**
 * Accessible name of an entry: its visible details in their order, and the alternative text of the picture.
 */
export const nameOfCell = (entry: Entry, view: View, texts: Texts): string =>
  [
    entry.name,
    ...factsOf(entry, view, texts).map(([, text]) => text),
    entry.type === 'folder' ? texts.folder : '',
  ]
    .filter((part) => part !== '')
    .join(' ');

/** Content of a tile or row. The thumbnail is loaded when `data-src` becomes `src`. */
export const contentOfCell = (
  entry: Entry,
  view: View,
  texts: Texts,
  menuWanted: (at: { readonly x: number; readonly y: number }) => void,
): readonly (Node | string)[] => {
  const { name, type, thumb } = entry;
  // The folder icon of the picker is sharper than that of the service, and follows the theme.
  const picture =
    thumb === undefined || type === 'folder'
      ? icon(type === 'folder' ? 'folder' : 'file')
      : h('img', {
          'data-src': versioned(thumb, entry.version),
          alt: '',
          loading: 'lazy',
          draggable: 'false',
        });
  const openMenu = (event: MouseEvent): void => {
    event.stopPropagation();
    const { left, bottom } = menu.getBoundingClientRect();
    menuWanted({ x: left, y: bottom });
  };
  const attributes = { tabindex: -1, class: 'button icon-only item-menu' };
  const menu = iconButton('more', fill(texts.more, { name }), openMenu, attributes);
  const facts = factsOf(entry, view, texts).flatMap(([kind, text]) => [
    h('span', { class: `fact ${kind}` }, text),
    ' ',
  ]);
  return [
    h('span', { class: 'check', 'aria-hidden': 'true' }, icon('check')),
    h('span', { class: 'picture', part: 'thumbnail' }, picture),
    h('span', { class: 'name', dir: 'auto', title: name }, name),
    ' ',
    ...facts,
    menu,
  ];
};

/** Collects typed letters, to find a name that begins with them. */
export class TypeAhead {
  #typed = '';
  #at = 0;

  /** Whether the last letter was typed so recently that the next one continues it. */
  get isRunning(): boolean {
    return this.#typed !== '' && Date.now() - this.#at < 1000;
  }

  /** Adds a letter and returns all; undefined for other keys. */
  add({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): string | undefined {
    if ([...key].length !== 1 || ctrlKey || metaKey || altKey) return undefined;
    this.#typed = (this.isRunning ? this.#typed : '') + key.toLowerCase();
    this.#at = Date.now();
    return this.#typed;
  }
}
