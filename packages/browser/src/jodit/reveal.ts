import type { FileBrowser } from './editor.ts';
import { isSameLocation, type Location, plainPath } from './trash.ts';

/** Opens the folder of a file, and selects the file there when the list has come. */
export type Reveal = (location: Location) => void;

const tileOf = ({ files }: FileBrowser, { source, path, name }: Location): HTMLElement | undefined =>
  [...files.container.querySelectorAll<HTMLElement>('[data-jodit-file-browser-item]')].find(({ dataset }) =>
    isSameLocation(
      { source, path, name },
      { source: dataset['source'] ?? '', path: dataset['path'] ?? '', name: dataset['name'] ?? '' },
    ),
  );

/** Opens a folder; the one that is open already is read anew. */
export const openFolder = ({ state, e }: FileBrowser, source: string, path: string): void => {
  const isOpen = state.currentSource === source && plainPath(state.currentPath) === plainPath(path);
  // The word of a filter or a search would hold in the other folder too.
  state.filterWord = '';
  state.currentPath = plainPath(path);
  state.currentSource = source;
  if (isOpen) e.fire('update.filebrowser');
};

/** Makes what shows files in their folders. */
export const createReveal = (browser: FileBrowser): Reveal => {
  const { state, files } = browser;
  let wanted: Location | undefined;
  const select = (): void => {
    const isThere = wanted !== undefined && plainPath(state.currentPath) === plainPath(wanted.path);
    if (wanted === undefined || !isThere || state.filterWord !== '') return;
    const tile = tileOf(browser, wanted);
    // The old list may be drawn once more before the new one comes.
    if (tile === undefined) return;
    wanted = undefined;
    state.activeElements = state.elements.filter(
      ({ uniqueHashKey }) => uniqueHashKey === tile.dataset['key'],
    );
    // A person who writes in the field already is left there.
    if (!(document.activeElement instanceof HTMLInputElement)) tile.focus();
    tile.scrollIntoView({ block: 'nearest' });
  };
  new MutationObserver(select).observe(files.container, { childList: true });
  browser.e.on('afterClose', () => {
    wanted = undefined;
  });
  return (location) => {
    wanted = location;
    openFolder(browser, location.source, location.path);
  };
};
