import type { FileBrowser, FolderEvent, Item } from './editor.ts';
import { escapeHtml } from './element.ts';
import { ask } from './question.ts';
import { counted, fill, type Texts } from './texts/texts.ts';
import type { Removed, ReportRemoval } from './undo.ts';

/** Names that a question lists; of more it says how many. */
const NAMED = 8;

const questionOf = (texts: Texts, names: readonly string[]): string => {
  const listed = names.slice(0, NAMED).map((name) => `<li>${escapeHtml(name)}</li>`);
  const more = names.length - listed.length;
  if (more > 0) listed.push(`<li>${escapeHtml(counted(texts, texts.andMore, more))}</li>`);
  const question = escapeHtml(counted(texts, texts.deleteFiles, names.length));
  return `<div class="stowage-question"><p>${question}</p><ul>${listed.join('')}</ul></div>`;
};

const nameOf = ({ file, name }: Item): string => name ?? file ?? '';

/** Removes files one after the other, and says what came of it. */
const removeInTurn = async (
  browser: FileBrowser,
  remove: FileBrowser['dataProvider']['fileRemove'],
  report: ReportRemoval,
  items: readonly Item[],
): Promise<void> => {
  const removed: Removed[] = [];
  for (const item of items) {
    const [source, path, name] = [item.sourceName, item.path, nameOf(item)];
    try {
      await remove(path, name, source);
      removed.push({ source, path, name });
    } catch (error) {
      browser.status(error);
    }
  }
  browser.state.activeElements = [];
  browser.e.fire('update.filebrowser');
  await report(removed);
};

/** Whether the running click is one on the menu of a file. */
const isMenuClick = (): boolean => {
  const target = window.event?.target;
  return target instanceof Element && target.closest('.jodit-context-menu') !== null;
};

/**
 * Asks before anything goes, by name. Jodit 4.15.13 asks "Are you sure?", and the menu of a file removes
 * without a question; of several selected files it removes only the last one, because all requests start at
 * the same time and each cancels the one before.
 */
export const askBeforeRemoving = (browser: FileBrowser, texts: Texts, report: ReportRemoval): void => {
  const { dataProvider, state } = browser;
  const remove = dataProvider.fileRemove;
  const agrees = (question: string): Promise<boolean> => ask(browser, question, texts.remove);
  const removeSelected = async (): Promise<void> => {
    // Jodit lists a file that was clicked twice with Ctrl twice.
    const items = [...new Set(state.activeElements)];
    if (items.length === 0 || !(await agrees(questionOf(texts, items.map(nameOf))))) return;
    await removeInTurn(browser, remove, report, items);
  };
  const removeFolder = async ({ path, name, source }: FolderEvent): Promise<void> => {
    const question = escapeHtml(fill(texts.deleteFolder, { name }));
    if (!(await agrees(`<div class="stowage-question"><p>${question}</p></div>`))) return;
    try {
      await dataProvider.folderRemove(path, name, source);
      browser.e.fire('update.filebrowser');
      await report([{ source, path, name }]);
    } catch (error) {
      browser.status(error);
    }
  };
  dataProvider.fileRemove = async (path, name, source) => {
    // Jodit shows no error without a text.
    if (isMenuClick() && !(await agrees(questionOf(texts, [name])))) throw new Error('');
    return remove(path, name, source);
  };
  browser.e.off('fileRemove.filebrowser').on('fileRemove.filebrowser', () => void removeSelected());
  browser.e
    .off('removeFolder.filebrowser')
    .on('removeFolder.filebrowser', (folder: FolderEvent) => void removeFolder(folder));
};
