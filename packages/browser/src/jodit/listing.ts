import type { FileBrowser, Item } from './editor.ts';

/** Signs that end or change the path of a URL; other signs browsers encode by themselves. */
const encodePart = (name: string): string => name.replaceAll(/[%#?]/gu, encodeURIComponent);

const urlOf = ({ source, file, fileIsAbsolute, fileURL }: Item): string => {
  if (file === undefined || fileIsAbsolute === true) return fileURL;
  const parts = `${source.path}/${file}`.split('/').filter((part) => part !== '');
  return [source.baseurl.replace(/\/+$/u, ''), ...parts.map(encodePart)].join('/');
};

/**
 * Three faults of items in Jodit 4.15.13: their URLs are names joined as text, so that `50%.jpg` and
 * `a#b.jpg` cannot be opened; and two files of the same name and second in two folders are taken for one, so
 * that the second folder shows and inserts the picture of the first; and a picture that was changed within
 * the second of its last change keeps its old thumbnail on the screen.
 */
const mendItem = (item: Item): void => {
  const { sourceName, time, thumb, etag, modified } = item;
  const fileURL = urlOf(item);
  const version = etag ?? modified ?? time;
  // Behind the signature of a link it does no harm.
  const versioned = (url: string): string =>
    `${url}${url.includes('?') ? '&' : '?'}_tmst=${encodeURIComponent(version)}`;
  const shown = thumb === undefined ? fileURL : item.imageURL.replace(/[?&]_tmst=[^&]*$/u, '');
  const values = {
    fileURL,
    uniqueHashKey: [sourceName, fileURL, version, thumb].join(' '),
    imageURL: versioned(shown),
  };
  for (const [name, value] of Object.entries(values)) Object.defineProperty(item, name, { value });
};

/** Asks for details, and gives each file an address and an identity of its own. */
export const mendListing = ({ dataProvider }: FileBrowser, withDetails: boolean): void => {
  const items = dataProvider.items;
  dataProvider.items = async (path, source, mods = {}) => {
    const list = await items(path, source, withDetails ? { ...mods, details: true } : mods);
    list.forEach(mendItem);
    return list;
  };
};

/**
 * Goes to the root where a folder cannot be opened: another person has renamed or removed it, and Jodit
 * 4.15.13 leaves an empty tree with nothing to click on.
 */
export const leaveLostFolders = ({ dataProvider, state }: FileBrowser): void => {
  const tree = dataProvider.tree;
  dataProvider.tree = async (path, source) => {
    try {
      return await tree(path, source);
    } catch (error) {
      const isCurrent = state.currentPath === path && state.currentSource === source;
      const isAbort = error instanceof Error && error.name === 'AbortError';
      if (!isAbort && path !== '' && isCurrent) state.currentPath = '';
      throw error;
    }
  };
};

/**
 * Jodit 4.15.13 keeps the old thumbnail of a picture that was cropped or resized on the screen, and does not
 * show one that was saved under a new name.
 */
export const showEditedPictures = (browser: FileBrowser): void => {
  for (const action of ['crop', 'resize'] as const) {
    const send = browser.dataProvider[action];
    browser.dataProvider[action] = async (...values) => {
      const result = await send(...values);
      if (browser.isOpened) browser.e.fire('update.filebrowser');
      return result;
    };
  }
};
