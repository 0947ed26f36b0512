import { type Calls, createCalls } from './calls.ts';
import type { Connection } from './connection.ts';
import { offerDownload } from './downloading.ts';
import { offerUndoOfEdits, takeBackEdits, type WithUndo } from './edit-undo.ts';
import type { Editor, FileBrowser } from './editor.ts';
import { extendFileMenu } from './file-menu.ts';
import { showCurrentFolder } from './folder-line.ts';
import { useKeyboard } from './keyboard.ts';
import { createLargeFiles } from './large-files.ts';
import { leaveLostFolders, mendListing, showEditedPictures } from './listing.ts';
import { createDoToMany } from './many.ts';
import { createMoveItems, dragNoFiles, moveByKeys, moveDragged } from './moving.ts';
import { createNotices, messageBox, type Notices } from './notices.ts';
import { rememberPermissions } from './permissions.ts';
import { completeInsertedPictures, createUploadedPictures, showAnew } from './pictures.ts';
import { warnOfMissingPlugins } from './plugins.ts';
import { askBeforeRemoving } from './removing.ts';
import { letServerCheckNames } from './renaming.ts';
import { createReveal } from './reveal.ts';
import { searchFolders } from './search.ts';
import { type Sources, watchSources } from './sources.ts';
import { textsFor } from './texts/languages.ts';
import type { Texts } from './texts/texts.ts';
import { addToToolbar } from './toolbar-parts.ts';
import { showTreeNamesAsText } from './tile.ts';
import { createTools } from './toolbar.ts';
import { createTrash, type Location, type Trash } from './trash.ts';
import { showTrash } from './trash-view.ts';
import { turningEntries } from './turning.ts';
import { reportRemovals } from './undo.ts';
import { createUploadPanel } from './upload-panel.ts';
import { uploadVisibly } from './uploading.ts';

/** What many parts of an editor need. */
interface Basics {
  readonly calls: Calls;
  readonly sources: Sources;
  readonly trash: Trash;
  readonly notices: Notices;
  readonly texts: Texts;
  readonly onBack: (location: Location) => void;
}

/**
 * Adds what the connector can beyond Jodit: search everywhere, keep what was removed, and take edits back.
 */
const searchAndRestore = (
  browser: FileBrowser,
  { search, trash, details }: Connection,
  basics: Basics,
): WithUndo => {
  const surroundings = { ...basics, reveal: createReveal(browser), withDetails: details ?? true };
  addToToolbar(browser, {
    filter: search === false ? undefined : searchFolders(browser, surroundings),
    'stowage-trash': trash === false ? undefined : showTrash(browser, surroundings),
  });
  return offerUndoOfEdits(browser, surroundings);
};

/**
 * Joins an editor, when it is ready, to what this room adds and corrects. Once for an editor; everything goes
 * with it when it is destructed.
 */
export const attach = (editor: Editor, connection: Connection, language: string): void => {
  const texts = textsFor(language);
  const browser = editor.filebrowser;
  const notices = createNotices(editor.o.popupRoot ?? editor.o.shadowRoot ?? document.body, texts);
  const message = { value: messageBox(notices, texts), configurable: true };
  Object.defineProperty(editor, 'message', message);
  Object.defineProperty(browser, 'message', message);

  const calls = createCalls(connection, language, texts);
  const panel = createUploadPanel(texts);
  notices.element.append(panel.element);
  browser.e.on('beforeOpen', () => browser.container.append(panel.element));
  browser.e.on('afterClose', () => notices.element.append(panel.element));
  const uploaded = createUploadedPictures();
  const large = createLargeFiles(connection, texts);
  for (const { uploader } of [editor, browser]) {
    uploadVisibly(uploader, { texts, panel, notices, large, calls, onStored: uploaded.remember });
  }

  browser.container.classList.add('stowage-browser');
  showTreeNamesAsText(browser);
  const sources = watchSources(browser, calls, connection.trash !== false);
  const basics = {
    calls,
    sources,
    trash: createTrash(calls, (text) => notices.show(text, 'error')),
    notices,
    texts,
    onBack: (location: Location) => showAnew(editor, location),
  };
  const isAllowed = rememberPermissions(browser);
  const doToMany = createDoToMany(calls);
  const report = reportRemovals(browser, basics);
  askBeforeRemoving(browser, texts, { doToMany, report });
  const moveItems = createMoveItems(browser, doToMany, { notices, texts });
  moveDragged(browser, moveItems);
  moveByKeys(browser, moveItems, { notices, texts });
  offerDownload(browser, { calls, panel, texts, isAllowed, addTool: createTools(browser) });
  letServerCheckNames(browser);
  mendListing(browser, connection.details ?? true);
  leaveLostFolders(browser);
  showEditedPictures(browser);
  const withUndo = searchAndRestore(browser, connection, basics);
  takeBackEdits(browser, withUndo);
  extendFileMenu(browser, turningEntries(browser, calls, { texts, isAllowed, withUndo }));
  dragNoFiles(browser);
  showCurrentFolder(browser, texts);
  useKeyboard(browser, texts);
  const { size = true, srcset } = connection.pictures ?? {};
  completeInsertedPictures(editor, uploaded, calls, { size, srcset });
  warnOfMissingPlugins(editor);
};
