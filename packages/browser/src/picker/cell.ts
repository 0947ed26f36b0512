import { h, icon, iconButton } from './dom.ts';
import type { View } from './rows.ts';
import type { Entry } from './service.ts';
import { fill, humanSize, humanTime, type Texts } from './texts.ts';

/** From left to right, whatever the text around it is. */
const leftToRight = (text: string): string => `\u2066${text}\u2069`;

export const pixelsOf = ({ width, height }: Pick<Entry, 'width' | 'height'>): string =>
  width === undefined || height === undefined ? '' : leftToRight(`${String(width)} × ${String(height)}`);

const sizeOf = ({ bytes }: Entry, texts: Texts): string =>
  bytes === undefined ? '' : leftToRight(humanSize(texts, bytes));

/** A link that the browser has not kept from before a change; behind a signature the sign does no harm. */
export const versioned = (link: string, version = ''): string =>
  `${link}${link.includes('?') ? '&' : '?'}_=${encodeURIComponent(version)}`;

/** What is shown below or beside a name. */
const factsOf = (
  entry: Entry,
  view: View,
  texts: Texts,
): readonly (readonly [kind: string, text: string])[] => {
  const pixels = pixelsOf(entry);
  if (view === 'tiles') return [['', pixels === '' ? sizeOf(entry, texts) : pixels]];
  const changed = entry.modified === undefined ? '' : humanTime(texts, entry.modified);
  // Narrow lists leave out the last ones: the name of a cell begins with what is seen.
  return [
    ['size', sizeOf(entry, texts)],
    ['changed', changed],
    ['pixels', pixels],
  ];
};

/** What readers of screens say of an entry: what is seen, in its order, and what the picture shows. */
export const nameOfCell = (entry: Entry, view: View, texts: Texts): string =>
  [
    entry.name,
    ...factsOf(entry, view, texts).map(([, text]) => text),
    entry.type === 'folder' ? texts.folder : '',
  ]
    .filter((part) => part !== '')
    .join(' ');

/** What a tile or a line shows of an entry. Its thumbnail is asked for when `data-src` becomes `src`. */
export const contentOfCell = (
  entry: Entry,
  view: View,
  texts: Texts,
  menuWanted: (at: { readonly x: number; readonly y: number }) => void,
): readonly Node[] => {
  const { name, type, thumb } = entry;
  // A drawn folder is sharper than the icon of the service, and follows the theme.
  const picture =
    thumb === undefined || type === 'folder'
      ? icon(type === 'folder' ? 'folder' : 'file')
      : h('img', {
          'data-src': versioned(thumb, entry.version),
          alt: '',
          loading: 'lazy',
          decoding: 'async',
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
    document.createTextNode(' '),
  ]);
  return [
    h('span', { class: 'check', 'aria-hidden': 'true' }, icon('check')),
    h('span', { class: 'picture', part: 'thumbnail' }, picture),
    h('span', { class: 'name', dir: 'auto', title: name }, name),
    document.createTextNode(' '),
    ...facts,
    menu,
  ];
};

/** Letters that are typed one after the other, to go to a name that begins with them. */
export class TypeAhead {
  #typed = '';
  #at = 0;

  /** Whether a letter belongs to one that was typed just before. */
  get isRunning(): boolean {
    return this.#typed !== '' && Date.now() - this.#at < 1000;
  }

  /** The letters with this one; undefined for keys that are no letters. */
  add({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): string | undefined {
    if ([...key].length !== 1 || ctrlKey || metaKey || altKey) return undefined;
    this.#typed = (this.isRunning ? this.#typed : '') + key.toLowerCase();
    this.#at = Date.now();
    return this.#typed;
  }
}
