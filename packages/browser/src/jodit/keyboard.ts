import type { FileBrowser, Item } from './editor.ts';
import { nameForReaders } from './element.ts';
import type { Texts } from './texts/texts.ts';
import { fill } from './texts/texts.ts';

const tilesOf = ({ files }: FileBrowser): HTMLElement[] => [
  ...files.container.querySelectorAll<HTMLElement>('[data-jodit-file-browser-item]'),
];

const rowsOf = ({ tree }: FileBrowser): HTMLElement[] => [
  ...tree.container.querySelectorAll<HTMLElement>('a[data-name]'),
];

/** Where an arrow key leads among tiles that stand in rows; undefined for other keys. */
const targetOf = (
  key: string,
  tiles: readonly HTMLElement[],
  from: number,
  isRtl: boolean,
): number | undefined => {
  const top = tiles[0]?.offsetTop;
  const perRow = Math.max(1, tiles.filter(({ offsetTop }) => offsetTop === top).length);
  const forward = isRtl ? -1 : 1;
  const steps: Readonly<Record<string, number>> = {
    ArrowRight: from + forward,
    ArrowLeft: from - forward,
    ArrowDown: from + perRow,
    ArrowUp: from - perRow,
    Home: 0,
    End: tiles.length - 1,
  };
  const target = steps[key];
  return target === undefined ? undefined : Math.min(Math.max(target, 0), tiles.length - 1);
};

/** Watches what is in an element, as long as the element is there. */
const whenFilled = (element: HTMLElement, act: () => void): void => {
  new MutationObserver(act).observe(element, { childList: true });
  act();
};

const listenToTiles = (browser: FileBrowser): void => {
  const { state, dataProvider, e } = browser;
  const itemOf = (tile: HTMLElement | undefined): Item | undefined =>
    state.elements.find(({ uniqueHashKey }) => uniqueHashKey === tile?.dataset['key']);
  const select = (item: Item | undefined, isMore: boolean): void => {
    if (item === undefined) return;
    const others = isMore ? state.activeElements.filter((other) => other !== item) : [];
    state.activeElements = [...others, item];
  };
  const toggle = (item: Item | undefined): void => {
    if (item === undefined) return;
    const rest = state.activeElements.filter((other) => other !== item);
    state.activeElements = rest.length < state.activeElements.length ? rest : [...rest, item];
  };
  const actions: Readonly<Record<string, (item: Item | undefined, event: KeyboardEvent) => void>> = {
    Enter: (item) => {
      if (item !== undefined && !state.activeElements.includes(item)) select(item, false);
      e.fire('select.filebrowser');
    },
    ' ': (item, { ctrlKey, metaKey }) => (ctrlKey || metaKey ? toggle(item) : select(item, false)),
    Delete: () => {
      if (dataProvider.canI('FileRemove')) e.fire('fileRemove.filebrowser');
    },
    F2: (item) => {
      if (item === undefined || !dataProvider.canI('FileRename')) return;
      select(item, false);
      e.fire('fileRename.filebrowser', item.name ?? item.file ?? '', item.path, item.sourceName);
    },
    a: (_item, { ctrlKey, metaKey }) => {
      if (ctrlKey || metaKey) state.activeElements = [...state.elements];
    },
  };
  browser.files.container.addEventListener('keydown', (event) => {
    const tiles = tilesOf(browser);
    const from = tiles.findIndex((tile) => tile === event.target);
    if (from < 0) return;
    const isRtl = getComputedStyle(browser.files.container).direction === 'rtl';
    const target = targetOf(event.key, tiles, from, isRtl);
    const action = actions[event.key];
    if (
      target === undefined &&
      (action === undefined || (event.key === 'a' && !event.ctrlKey && !event.metaKey))
    )
      return;
    event.preventDefault();
    event.stopPropagation();
    if (target === undefined) return action?.(itemOf(tiles[from]), event);
    tiles[target]?.focus();
    if (!event.ctrlKey) select(itemOf(tiles[target]), event.shiftKey);
  });
};

/** One tile is reached by Tab, the others from it by arrows; screen readers hear which are selected. */
const describeTiles = (browser: FileBrowser, texts: Texts): void => {
  const { state } = browser;
  const { container } = browser.files;
  container.setAttribute('role', 'listbox');
  container.setAttribute('aria-multiselectable', 'true');
  nameForReaders(container, browser.container, texts.files);
  let lastName: string | undefined;
  const reach = (wanted: HTMLElement | undefined): void => {
    for (const tile of tilesOf(browser)) tile.tabIndex = tile === wanted ? 0 : -1;
    lastName = wanted?.dataset['name'] ?? lastName;
  };
  let isInUse = false;
  // The element with the focus has gone with the old list.
  const keepFocus = (wanted: HTMLElement | undefined): void => {
    if (isInUse && document.activeElement === document.body) wanted?.focus();
  };
  browser.container.addEventListener('keydown', () => (isInUse = true), { capture: true });
  browser.container.addEventListener('pointerdown', () => (isInUse = false));
  whenFilled(container, () => {
    const tiles = tilesOf(browser);
    // The tile of a picture that was changed is a new one.
    const named = tiles.find(({ dataset }) => dataset['name'] === lastName);
    const reached = tiles.find(({ tabIndex }) => tabIndex === 0) ?? named ?? tiles[0];
    reach(reached);
    keepFocus(reached);
  });
  // In an empty folder.
  whenFilled(browser.tree.container, () => keepFocus(tilesOf(browser)[0] ?? rowsOf(browser)[0]));
  container.addEventListener('focusin', ({ target }) => {
    const tile = tilesOf(browser).find((one) => one === target);
    if (tile !== undefined) reach(tile);
  });
  state.on('change.activeElements', () => {
    const keys = new Set(state.activeElements.map(({ uniqueHashKey }) => uniqueHashKey));
    for (const tile of tilesOf(browser)) {
      tile.setAttribute('aria-selected', String(keys.has(tile.dataset['key'] ?? '')));
    }
  });
};

/** Says what the rows of the tree and their marks are, and moves between them by arrows. */
const useTree = (browser: FileBrowser, texts: Texts): void => {
  const { container } = browser.tree;
  container.setAttribute('role', 'navigation');
  nameForReaders(container, browser.container, texts.folders);
  const special: Readonly<Record<string, string>> = { '.': texts.allSources, '..': texts.parentFolder };
  const titleSources = (): void => {
    const named = browser.state.sources.filter(({ name }) => name !== '' && name !== 'default');
    const headings = container.querySelectorAll('.jodit-file-browser-tree__source-title');
    headings.forEach((heading, index) => {
      const source = named[index];
      if (source?.title) heading.textContent = source.title;
    });
  };
  whenFilled(container, () => {
    titleSources();
    for (const row of rowsOf(browser)) {
      const name = row.dataset['name'] ?? '';
      const meaning = special[name];
      if (meaning !== undefined) {
        const title = row.querySelector('.jodit-file-browser-tree__item-title');
        if (title !== null) title.textContent = meaning;
      }
      row
        .querySelector('.jodit-ui-button_rename')
        ?.setAttribute('aria-label', fill(texts.renameFolder, { name }));
      row
        .querySelector('.jodit-ui-button_remove')
        ?.setAttribute('aria-label', fill(texts.removeFolder, { name }));
    }
  });
  container.addEventListener('keydown', (event) => {
    const rows = rowsOf(browser);
    const from = rows.findIndex((row) => row === event.target);
    const row = rows[from];
    if (row === undefined) return;
    const marks: Readonly<Record<string, string>> = { F2: 'rename', Delete: 'remove' };
    const mark = marks[event.key];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (mark !== undefined) row.querySelector<HTMLElement>(`.jodit-ui-button_${mark}`)?.click();
    else if (step !== undefined) rows[from + step]?.focus();
    else return;
    event.preventDefault();
  });
};

/** Takes the focus into the dialog when it opens, and back when it closes. */
const carryFocus = (browser: FileBrowser, texts: Texts): void => {
  let before: Element | null = null;
  const dialog = (): HTMLElement | null => browser.container.closest('.jodit-dialog');
  browser.e.on('beforeOpen', () => {
    before = document.activeElement;
  });
  browser.e.on('fileBrowserReady.filebrowser', () => {
    const box = dialog();
    if (box?.hasAttribute('aria-labelledby') === false)
      nameForReaders(box, browser.container, texts.fileBrowser);
    if (box?.contains(document.activeElement) !== false) return;
    const first = browser.files.container.querySelector<HTMLElement>('[tabindex="0"]');
    (first ?? browser.tree.container.querySelector<HTMLElement>('a'))?.focus();
  });
  browser.e.on('afterClose', () => {
    const isLost = document.activeElement === null || document.activeElement === document.body;
    if (isLost && before instanceof HTMLElement) before.focus();
    before = null;
  });
};

/**
 * The file browser without a mouse. In Jodit 4.15.13 its tiles are links in the order of Tab, of which Enter
 * selects one; nothing inserts, removes or renames, and nothing says which tile is selected.
 */
export const useKeyboard = (browser: FileBrowser, texts: Texts): void => {
  describeTiles(browser, texts);
  listenToTiles(browser);
  useTree(browser, texts);
  carryFocus(browser, texts);
};
