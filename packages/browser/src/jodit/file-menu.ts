import type { FileBrowser, Item } from './editor.ts';
import { make, makeButton } from './element.ts';

/** An entry of the menu that a file has. */
export interface MenuEntry {
  readonly label: string;
  /** The way that its arrow turns. */
  readonly sign: 'left' | 'right';
  readonly isFor: (item: Item) => boolean;
  readonly run: (item: Item) => void;
}

/** What Jodit tells of a popup that has opened. */
interface Popup {
  readonly container: HTMLElement;
  close(): void;
  updatePosition(): void;
}

const SELECTOR = '.jodit-context-menu';

const SVG = 'http://www.w3.org/2000/svg';

/** An arrow that turns to the left; the style sheet makes the other one of it. */
const arrow = (): SVGElement => {
  const picture = document.createElementNS(SVG, 'svg');
  picture.setAttribute('viewBox', '0 0 24 24');
  const line = document.createElementNS(SVG, 'path');
  line.setAttribute('d', 'M4 4v6h6M4.5 10a8.3 8.3 0 1 1-.5 5');
  line.setAttribute('fill', 'none');
  picture.append(line);
  return picture;
};

const buttonsOf = ({ container }: Popup): HTMLElement[] => [...container.querySelectorAll('button')];

/** Arrows move, Escape closes the menu alone. */
const onKey = (popup: Popup, event: KeyboardEvent): void => {
  const buttons = buttonsOf(popup);
  const from = buttons.findIndex((button) => button === document.activeElement);
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: (from + 1) % buttons.length,
    ArrowUp: (from <= 0 ? buttons.length : from) - 1,
    Home: 0,
    End: buttons.length - 1,
  };
  const target = targets[event.key];
  if (event.key === 'Escape' || event.key === 'Tab') popup.close();
  else if (target === undefined) return;
  else buttons[target]?.focus();
  event.preventDefault();
  event.stopPropagation();
};

/**
 * Adds entries to the menu that a right click on a file opens, and lets people use it without a mouse: the
 * menu of Jodit 4.15.13 takes no entries of others, and does not take the focus.
 */
export const extendFileMenu = (browser: FileBrowser, entries: readonly MenuEntry[]): void => {
  const { e, state, files } = browser;
  const listened = new WeakSet<HTMLElement>();
  let added: readonly HTMLElement[] = [];
  let before: HTMLElement | undefined;

  const buttonFor = (popup: Popup, item: Item, { label, sign, run }: MenuEntry): HTMLElement => {
    const act = (): void => {
      popup.close();
      run(item);
    };
    const className =
      'jodit-ui-button jodit-ui-button_size_middle jodit-ui-button_variant_initial ' +
      'jodit-ui-button_text-icons_true jodit-ui-button_context_menu';
    return makeButton(`${className} stowage-menu-entry stowage-menu-entry_${sign}`, act, {
      children: [
        make('span', 'jodit-ui-button__icon', { children: [arrow()] }),
        make('span', 'jodit-ui-button__text', { text: label }),
      ],
    });
  };
  e.on('afterOpenPopup', (popup: Popup) => {
    const [item] = state.activeElements;
    if (!popup.container.matches(SELECTOR) || item === undefined) return;
    for (const one of added) one.remove();
    added = entries.filter(({ isFor }) => isFor(item)).map((entry) => buttonFor(popup, item, entry));
    const last = buttonsOf(popup).at(-1);
    for (const one of added) last?.before(one);
    popup.updatePosition();
    if (!listened.has(popup.container)) {
      listened.add(popup.container);
      popup.container.addEventListener('keydown', (event) => onKey(popup, event));
    }
    const focused = document.activeElement;
    before = focused instanceof HTMLElement && files.container.contains(focused) ? focused : undefined;
    buttonsOf(popup)[0]?.focus();
  });
  e.on('beforePopupClose', (popup: Popup) => {
    if (!popup.container.matches(SELECTOR)) return;
    if (popup.container.contains(document.activeElement)) before?.focus();
  });
};
