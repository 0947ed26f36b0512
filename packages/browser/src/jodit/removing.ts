import type { FileBrowser, FolderEvent, Item } from './editor.ts';
import { escapeHtml } from './element.ts';
import { type DoToMany, NAMED } from './many.ts';
import { ask } from './question.ts';
import { counted, fill, type Texts } from './texts/texts.ts';
import type { Removed, ReportRemoval } from './undo.ts';

const questionOf = (texts: Texts, names: readonly string[]): string => {
  const listed = names.slice(0, NAMED).map((name) => `<li>${escapeHtml(name)}</li>`);
  const more = names.length - listed.length;
  if (more > 0) listed.push(`<li>${escapeHtml(counted(texts, texts.andMore, more))}</li>`);
  const question = escapeHtml(counted(texts, texts.deleteFiles, names.length));
  return `<div class="stowage-question"><p>${question}</p><ul>${listed.join('')}</ul></div>`;
};

const nameOf = ({ file, name }: Item): string => name ?? file ?? '';

/** Whether the running click is one on the menu of a file. */
const isMenuClick = (): boolean => {
  const target = window.event?.target;
  return target instanceof Element && target.closest('.jodit-context-menu') !== null;
};

/**
 * Asks before anything goes, by name, removes all of it by one request, and says once what came of it. Jodit
 * 4.15.13 asks "Are you sure?", and the menu of a file removes without a question; of several selected files
 * it removes only the last one, because all requests start at the same time and each cancels the one before.
 */
export const askBeforeRemoving = (
  browser: FileBrowser,
  texts: Texts,
  { doToMany, report }: { readonly doToMany: DoToMany; readonly report: ReportRemoval },
): void => {
  const { dataProvider, state } = browser;
  const remove = dataProvider.fileRemove;
  const agrees = (question: string): Promise<boolean> => ask(browser, question, texts.remove);
  const removeSelected = async (): Promise<void> => {
    // Jodit lists a file that was clicked twice with Ctrl twice.
    const items = [...new Set(state.activeElements)];
    if (items.length === 0 || !(await agrees(questionOf(texts, items.map(nameOf))))) return;
    const wanted = items.map((item) => ({ source: item.sourceName, path: item.path, name: nameOf(item) }));
    const outcome = await doToMany<Removed>(wanted, {
      fieldsOf: ({ source, path }) => ({ action: 'fileRemove', source, path }),
      list: 'names',
      nameOf: ({ name }) => name,
      one: ({ source, path, name }) => remove(path, name, source),
    });
    state.activeElements = [];
    browser.e.fire('update.filebrowser');
    await report(outcome);
  };
  const removeFolder = async ({ path, name, source }: FolderEvent): Promise<void> => {
    const question = escapeHtml(fill(texts.deleteFolder, { name }));
    if (!(await agrees(`<div class="stowage-question"><p>${question}</p></div>`))) return;
    try {
      await dataProvider.folderRemove(path, name, source);
      browser.e.fire('update.filebrowser');
      await report({ done: [{ source, path, name }], failed: [] });
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
