/**
 * Jodit and a Stowage connector: copy this file into your own page.
 *
 *   import { connectorOptions, showConnectorMessages, removeAllSelected } from './jodit-options.js';
 *   showConnectorMessages(Jodit);                       // once, before the first editor
 *   const editor = Jodit.make('#editor', { ...connectorOptions({ connector: 'https://example.org/connector/' }) });
 *   removeAllSelected(editor.filebrowser);
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

/**
 * Removes selected files one after the other. By itself the file browser starts all requests at once, and each one cancels the
 * one before: of several selected files only the last would be removed.
 *
 * @param {object} browser the editor's `filebrowser`
 */
export const removeAllSelected = (browser) => {
  const remove = async (items) => {
    for (const item of items) {
      const name = item.file || item.name;
      try {
        const message = await browser.dataProvider.fileRemove(
          browser.state.currentPath,
          name,
          item.sourceName,
        );
        browser.status(message || browser.i18n('File "%s" was deleted', name), true);
      } catch (error) {
        browser.status(error);
      }
    }
    browser.state.activeElements = [];
    browser.e.fire('update.filebrowser');
  };
  browser.e.off('fileRemove.filebrowser').on('fileRemove.filebrowser', () => {
    const items = [...browser.state.activeElements];
    if (items.length === 0) return;
    browser.confirm('Are you sure?', '', (yes) => {
      if (yes) void remove(items);
    });
  });
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
