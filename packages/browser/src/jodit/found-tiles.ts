import type { FileBrowser, Item } from './editor.ts';
import type { Reveal } from './reveal.ts';
import { type Location, plainPath } from './trash.ts';

/** The tiles of the files, in the order shown. */
export const tilesOf = ({ files }: FileBrowser): HTMLElement[] => [
  ...files.container.querySelectorAll<HTMLElement>('[data-jodit-file-browser-item]'),
];

/** Where a listed file lies. */
export const locationOf = ({ sourceName, path, name, file }: Item): Location => ({
  source: sourceName,
  path: plainPath(path),
  name: name ?? file ?? '',
});

/** Acts when these files are drawn, if there are any. Only the newest wait counts. */
export type WhenDrawn = (files: readonly Item[], act: () => void) => void;

/**
 * Makes what waits for tiles. Jodit draws a moment after its list has changed, and not at all when the new
 * list is the old one.
 */
export const watchDrawing = (browser: FileBrowser): WhenDrawn => {
  let observer: MutationObserver | undefined;
  return (files, act) => {
    observer?.disconnect();
    if (files.length === 0) return;
    const drawn = tilesOf(browser).map(({ dataset }) => dataset['key']);
    const isDrawn =
      files.length === drawn.length &&
      files.every(({ uniqueHashKey }, index) => uniqueHashKey === drawn[index]);
    if (isDrawn) return act();
    observer = new MutationObserver((_changes, itself) => {
      itself.disconnect();
      act();
    });
    observer.observe(browser.files.container, { childList: true });
  };
};

/**
 * The menu of a file in Jodit 4.15.13 removes the file of that name in the open folder, wherever the one lies
 * that was clicked.
 */
export const removeWhereFound = ({ dataProvider, state }: FileBrowser): void => {
  const remove = dataProvider.fileRemove;
  dataProvider.fileRemove = (path, name, source) => {
    const [item, ...others] = state.activeElements;
    const isItem = item?.where !== undefined && others.length === 0 && (item.name ?? item.file) === name;
    return remove(isItem ? item.path : path, name, source);
  };
};

/** What found tiles need of the search. */
export interface FoundTilesUse {
  readonly isSearching: () => boolean;
  readonly field: HTMLElement;
  readonly end: () => void;
  readonly reveal: Reveal;
}

/** The found file that an event is about. */
const itemAt = (browser: FileBrowser, { target }: Event): Item | undefined => {
  const tile = target instanceof Element ? target.closest<HTMLElement>('[data-key]') : null;
  return browser.state.elements.find(
    ({ uniqueHashKey, where }) => where !== undefined && uniqueHashKey === tile?.dataset['key'],
  );
};

const isTyping = ({ target }: Event): boolean =>
  target instanceof Element && target.closest('input, select, textarea') !== null;

/**
 * Escape leads back to the folder, `/` to the field; Ctrl+Enter and a click on the folder of a found file
 * open that folder.
 */
export const useFoundTiles = (
  browser: FileBrowser,
  { isSearching, field, end, reveal }: FoundTilesUse,
): void => {
  browser.container.addEventListener(
    'keydown',
    (event) => {
      const { key, ctrlKey, metaKey } = event;
      const item = key === 'Enter' && (ctrlKey || metaKey) ? itemAt(browser, event) : undefined;
      if (item !== undefined) reveal(locationOf(item));
      else if (key === 'Escape' && isSearching()) end();
      else if (key === '/' && !isTyping(event)) field.focus();
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
    { capture: true },
  );
  browser.files.container.addEventListener(
    'click',
    (event) => {
      const { target } = event;
      const isFolder = target instanceof Element && target.closest('[class$="-info-where"]') !== null;
      const item = isFolder ? itemAt(browser, event) : undefined;
      if (item === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      reveal(locationOf(item));
    },
    { capture: true },
  );
};
