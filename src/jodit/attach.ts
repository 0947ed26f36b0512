import type { Connection } from './connection.ts';
import type { Editor } from './editor.ts';
import { showCurrentFolder } from './folder-line.ts';
import { useKeyboard } from './keyboard.ts';
import { leaveLostFolders, mendListing, showEditedPictures } from './listing.ts';
import { dragNoFiles, moveBetweenSources } from './moving.ts';
import { createNotices, messageBox } from './notices.ts';
import { createUploadedSizes, sizeInsertedPictures } from './pictures.ts';
import { warnOfMissingPlugins } from './plugins.ts';
import { askBeforeRemoving } from './removing.ts';
import { letServerCheckNames } from './renaming.ts';
import { textsFor } from './texts/languages.ts';
import { reportRemovals } from './undo.ts';
import { createUploadPanel } from './upload-panel.ts';
import { uploadVisibly } from './uploading.ts';

/**
 * Joins an editor, when it is ready, to what this room adds and mends. Once for an editor; everything goes
 * with it when it is destructed.
 */
export const attach = (editor: Editor, connection: Connection, language: string): void => {
  const texts = textsFor(language);
  const browser = editor.filebrowser;
  const notices = createNotices(editor.o.popupRoot ?? editor.o.shadowRoot ?? document.body, texts);
  const message = { value: messageBox(notices, texts), configurable: true };
  Object.defineProperty(editor, 'message', message);
  Object.defineProperty(browser, 'message', message);

  const panel = createUploadPanel(texts);
  notices.element.append(panel.element);
  browser.e.on('beforeOpen', () => browser.container.append(panel.element));
  browser.e.on('afterClose', () => notices.element.append(panel.element));
  const sizes = createUploadedSizes();
  for (const { uploader } of [editor, browser]) {
    uploadVisibly(uploader, { texts, panel, notices, onStored: sizes.remember });
  }

  browser.container.classList.add('stowage-browser');
  const report = reportRemovals(browser, connection, { notices, texts, language });
  askBeforeRemoving(browser, texts, report);
  letServerCheckNames(browser);
  mendListing(browser, connection.details ?? true);
  leaveLostFolders(browser);
  showEditedPictures(browser);
  moveBetweenSources(browser);
  dragNoFiles(browser);
  showCurrentFolder(browser, texts);
  useKeyboard(browser, texts);
  if (connection.pictures?.size ?? true) sizeInsertedPictures(editor, sizes);
  warnOfMissingPlugins(editor);
};
