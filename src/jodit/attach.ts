import { createCalls } from './calls.ts';
import type { Connection } from './connection.ts';
import { offerDownload } from './downloading.ts';
import type { Editor } from './editor.ts';
import { extendFileMenu } from './file-menu.ts';
import { showCurrentFolder } from './folder-line.ts';
import { useKeyboard } from './keyboard.ts';
import { leaveLostFolders, mendListing, showEditedPictures } from './listing.ts';
import { createDoToMany } from './many.ts';
import { createMoveItems, dragNoFiles, moveByKeys, moveDragged } from './moving.ts';
import { createNotices, messageBox } from './notices.ts';
import { rememberPermissions } from './permissions.ts';
import { createUploadedSizes, sizeInsertedPictures } from './pictures.ts';
import { warnOfMissingPlugins } from './plugins.ts';
import { askBeforeRemoving } from './removing.ts';
import { letServerCheckNames } from './renaming.ts';
import { textsFor } from './texts/languages.ts';
import { createTools } from './toolbar.ts';
import { turningEntries } from './turning.ts';
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
  const calls = createCalls(connection, language, texts);
  const isAllowed = rememberPermissions(browser);
  const doToMany = createDoToMany(calls);
  const report = reportRemovals(browser, calls, { notices, texts, isAllowed });
  askBeforeRemoving(browser, texts, { doToMany, report });
  const moveItems = createMoveItems(browser, doToMany, { notices, texts });
  moveDragged(browser, moveItems);
  moveByKeys(browser, moveItems, { notices, texts });
  offerDownload(browser, { calls, panel, texts, isAllowed, addTool: createTools(browser) });
  extendFileMenu(browser, turningEntries(browser, calls, { texts, isAllowed }));
  letServerCheckNames(browser);
  mendListing(browser, connection.details ?? true);
  leaveLostFolders(browser);
  showEditedPictures(browser);
  dragNoFiles(browser);
  showCurrentFolder(browser, texts);
  useKeyboard(browser, texts);
  if (connection.pictures?.size ?? true) sizeInsertedPictures(editor, sizes);
  warnOfMissingPlugins(editor);
};
