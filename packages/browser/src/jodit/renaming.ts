import type { FileBrowser, FolderEvent } from './editor.ts';
import { closeAlone } from './question.ts';

/**
 * Lets the connector decide which names are good. Jodit 4.15.13 knows Latin and Cyrillic letters alone: it
 * answers "Köln" and "Photo (1)" with "Enter new name".
 */
export const letServerCheckNames = (browser: FileBrowser): void => {
  const { dataProvider, state } = browser;
  const ask = (oldName: string, rename: (newName: string) => Promise<string>): void => {
    const answer = (text: string): false | undefined => {
      const newName = text.trim();
      if (newName === '') return false;
      if (newName === oldName) return undefined;
      rename(newName).then(
        (message) => {
          state.activeElements = [];
          browser.status(message, true);
          browser.e.fire('update.filebrowser');
        },
        (error: unknown) => browser.status(error),
      );
      return undefined;
    };
    closeAlone(() => browser.prompt('Enter new name', 'Rename', answer, 'type name', oldName));
  };
  browser.e
    .off('fileRename.filebrowser')
    .on('fileRename.filebrowser', (name: string, path: string, source: string) =>
      ask(name, (newName) => dataProvider.fileRename(path, name, newName, source)),
    );
  browser.e
    .off('renameFolder.filebrowser')
    .on('renameFolder.filebrowser', ({ name, path, source }: FolderEvent) =>
      ask(name, (newName) => dataProvider.folderRename(path, name, newName, source)),
    );
};
