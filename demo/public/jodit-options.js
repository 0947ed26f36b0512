/**
 * Jodit and a Stowage connector: copy this file into your own page.
 *
 *   import { connectorOptions, mendFileBrowser, showConnectorMessages } from './jodit-options.js';
 *   showConnectorMessages(Jodit);                       // once, before the first editor
 *   const editor = Jodit.make('#editor', { ...connectorOptions({ connector: 'https://example.org/connector/' }) });
 *   mendFileBrowser(editor.filebrowser);
 *
 * Works with the free Jodit 4.
 */

/**
 * The options `filebrowser` and `uploader` of an editor.
 *
 * @param {object} settings
 * @param {string} settings.connector URL of the connector, with a slash at the end
 * @param {Record<string, string>} [settings.headers] sent with every request, such as `Authorization`
 * @param {boolean} [settings.withCredentials] send cookies to a connector on another origin
 */
export const connectorOptions = ({ connector, headers = {}, withCredentials = false }) => ({
  filebrowser: {
    ajax: { url: connector, method: 'POST', headers, withCredentials },
    // A folder that was opened last time may be gone by now, and the browser would start with an error instead of its folders.
    saveStateInStorage: { storeLastOpenedFolder: false, storeView: true, storeSortBy: true },
  },
  uploader: {
    // The action belongs into the form, not into the URL: the editor sends remote uploads to the same URL, with an action of their own.
    url: connector,
    data: { action: 'fileUpload' },
    headers,
    withCredentials,
  },
});

/**
 * Lets the file browser and the uploader read the answers that refuse something, so that people see the connector's own
 * message ("This type of file is not allowed.") and not only "Forbidden".
 *
 * @param {{ defaultOptions: { defaultAjaxOptions: { successStatuses: number[] } } }} Jodit
 */
export const showConnectorMessages = (Jodit) => {
  const readable = Jodit.defaultOptions.defaultAjaxOptions.successStatuses;
  for (const status of [400, 401, 403, 404, 405, 409, 413, 422, 500, 501, 502, 503, 504, 507]) {
    if (!readable.includes(status)) readable.push(status);
  }
};

/** Removes files one after the other, each with a message. */
const removeInTurn = async (browser, items) => {
  for (const item of items) {
    const name = item.file || item.name;
    try {
      const message = await browser.dataProvider.fileRemove(browser.state.currentPath, name, item.sourceName);
      browser.status(message || browser.i18n('File "%s" was deleted', name), true);
    } catch (error) {
      browser.status(error);
    }
  }
  browser.state.activeElements = [];
  browser.e.fire('update.filebrowser');
};

/** Tells the connector the source that a dragged file or folder comes from. */
const moveBetweenSources = (browser) => {
  const { dataProvider } = browser;
  let fromSource;
  for (const { container } of [browser.files, browser.tree]) {
    container.addEventListener('dragstart', (event) => {
      fromSource = event.target.closest?.('[data-source]')?.dataset.source;
    });
  }
  const move = dataProvider.move.bind(dataProvider);
  dataProvider.move = (...values) => {
    const { fileMove, folderMove } = dataProvider.options;
    for (const { data } of [fileMove, folderMove]) data.fromSource = fromSource;
    return move(...values);
  };
};

/** Keeps the tiles of files apart by their whole address. */
const keepTilesApart = (browser) => {
  const { dataProvider } = browser;
  const items = dataProvider.items.bind(dataProvider);
  dataProvider.items = async (...values) => {
    const list = await items(...values);
    for (const item of list) {
      const { sourceName, fileURL, time, thumb } = item;
      const value = [sourceName, fileURL, time, thumb].join(' ');
      Object.defineProperty(item, 'uniqueHashKey', { value });
    }
    return list;
  };
};

/** Goes to the root where a folder cannot be opened; otherwise nothing would be left to click on. */
const leaveLostFolders = (browser) => {
  const { dataProvider, state } = browser;
  const tree = dataProvider.tree.bind(dataProvider);
  dataProvider.tree = async (path, source) => {
    try {
      return await tree(path, source);
    } catch (error) {
      const isCurrent = state.currentPath === path && state.currentSource === source;
      if (error.name !== 'AbortError' && path !== '' && isCurrent) state.currentPath = '';
      throw error;
    }
  };
};

/**
 * Mends some things of the file browser itself (seen in Jodit 4.15):
 * - Of several selected files only the last one is removed, because all requests start at once and each cancels the one before.
 * - A file that is dragged onto a folder moves there, and then its thumbnail is uploaded under its name: the web browser gives a
 *   dragged picture along as a file, and the uploader takes it for one from the desktop.
 * - A picture that was cropped or resized keeps its old thumbnail on the screen, and one saved under a new name does not appear.
 * - What is dragged onto a folder of another source is looked for there: it is not found, or something else of that name is moved.
 * - Two files of the same name and second, in two folders, are taken for one: the second folder shows and inserts the first one's picture.
 * - A folder that is gone, because somebody else has renamed or removed it, leaves an empty tree.
 *
 * @param {object} browser the editor's `filebrowser`
 */
export const mendFileBrowser = (browser) => {
  browser.e.off('fileRemove.filebrowser').on('fileRemove.filebrowser', () => {
    const items = [...browser.state.activeElements];
    if (items.length === 0) return;
    browser.confirm('Are you sure?', '', (yes) => {
      if (yes) void removeInTurn(browser, items);
    });
  });
  browser.files.container.addEventListener('dragstart', (event) => {
    event.dataTransfer.clearData();
    event.dataTransfer.items.clear();
    event.dataTransfer.setData('text/plain', event.target.closest?.('a')?.href ?? '');
  });
  for (const action of ['crop', 'resize']) {
    const send = browser.dataProvider[action].bind(browser.dataProvider);
    browser.dataProvider[action] = async (...values) => {
      const result = await send(...values);
      if (browser.isOpened) browser.e.fire('update.filebrowser');
      return result;
    };
  }
  moveBetweenSources(browser);
  keepTilesApart(browser);
  leaveLostFolders(browser);
};

/**
 * Opens the file browser and puts what is chosen into the editor: pictures as pictures, other files as links.
 *
 * @param {object} editor
 */
export const browseFiles = (editor) => {
  editor.s.save();
  return editor.filebrowser.open((chosen) => {
    editor.s.restore();
    chosen.files.forEach((url, index) => {
      if (chosen.isImages[index]) {
        void editor.s.insertImage(url, null, editor.o.imageDefaultWidth);
        return;
      }
      const link = editor.createInside.element('a', { href: url });
      link.textContent = decodeURIComponent(url.split('/').pop());
      editor.s.insertNode(link);
    });
  });
};
