import { type Calls, type Fields, Refusal } from './calls.ts';
import type { FileBrowser, Item } from './editor.ts';
import { knowsNoLists } from './many.ts';
import type { Texts } from './texts/texts.ts';
import type { AddTool } from './toolbar.ts';
import type { IsAllowed } from './permissions.ts';
import type { UploadPanel } from './upload-panel.ts';

/** What a download needs beside the file browser. */
interface Surroundings {
  readonly calls: Calls;
  readonly panel: UploadPanel;
  readonly texts: Texts;
  readonly isAllowed: IsAllowed;
  readonly addTool: AddTool;
}

const nameOf = ({ file, name }: Item): string => name ?? file ?? '';

const save = (content: Blob, name: string): void => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser has begun to copy when the click returns.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
};

const folderOf = ({ sourceName, path }: Item): string => JSON.stringify([sourceName, path]);

/** The files of each folder of each source. */
const byFolder = (items: readonly Item[]): readonly (readonly Item[])[] =>
  [...new Set(items.map(folderOf))].map((folder) => items.filter((item) => folderOf(item) === folder));

/**
 * A button that saves the selected files: one as it is, several as an archive, where the connector allows it.
 * Jodit 4.15.13 opens one file in a new window instead. The headers of the connection go along, so the page
 * holds the whole download until it is complete.
 */
export const offerDownload = (
  browser: FileBrowser,
  { calls, panel, texts, isAllowed, addTool }: Surroundings,
): void => {
  const { state } = browser;
  const fetchOne = async (item: Item, signal: AbortSignal): Promise<void> => {
    const fields = { action: 'fileDownload', source: item.sourceName, path: item.path, name: nameOf(item) };
    save(await calls.fetchFile(fields, signal), nameOf(item));
  };
  const fetchAll = async (items: readonly Item[], signal: AbortSignal): Promise<void> => {
    const [first, ...others] = items;
    if (first === undefined) return;
    if (others.length === 0) return fetchOne(first, signal);
    const { sourceName: source, path } = first;
    const fields: Fields = { action: 'fileDownload', source, path, names: items.map(nameOf) };
    try {
      const folder = path.split('/').findLast((part) => part !== '') ?? (first.source.title || source);
      save(await calls.fetchFile(fields, signal), `${folder}.zip`);
    } catch (error) {
      if (!(error instanceof Refusal && knowsNoLists(error.answer))) throw error;
      for (const item of items) await fetchOne(item, signal);
    }
  };
  const download = async (): Promise<void> => {
    const leaving = new AbortController();
    const row = panel.wait(texts.downloading, () => leaving.abort());
    try {
      for (const items of byFolder([...new Set(state.activeElements)])) await fetchAll(items, leaving.signal);
    } catch (error) {
      if (!leaving.signal.aborted) browser.status(error);
    } finally {
      row.done();
    }
  };
  addTool({
    name: 'stowageDownload',
    icon: 'download',
    tooltip: texts.download,
    isDisabled: () => state.activeElements.length === 0 || !isAllowed('FileDownload'),
    exec: () => void download(),
  });
};
