import type { FileBrowser, Item } from './editor.ts';
import { type DoToMany, messageOf } from './many.ts';
import type { Notices } from './notices.ts';
import { counted, type Texts } from './texts/texts.ts';

const tileOf = ({ target }: Event): HTMLElement | undefined =>
  (target instanceof Element ? target.closest<HTMLElement>('[data-source]') : undefined) ?? undefined;

const without = (path: string): string => path.replaceAll(/^\/+|\/+$/gu, '');

/** A file on its way to another folder. */
interface Moved {
  readonly name: string;
  /** Its path in its source, and that source. */
  readonly from: string;
  readonly source: string;
}

interface Target {
  readonly path: string;
  readonly source: string;
}

/** Moves files into a folder by one request, and says once what came of it. */
export type MoveItems = (items: readonly Item[], to: Target) => Promise<void>;

/** Makes what moves files. */
export const createMoveItems = (
  { dataProvider }: FileBrowser,
  doToMany: DoToMany,
  { notices, texts }: { readonly notices: Notices; readonly texts: Texts },
): MoveItems => {
  const move = dataProvider.move;
  return async (items, { path, source }) => {
    const moved = items.map((item): Moved => {
      const name = item.name ?? item.file ?? '';
      return { name, from: without(`${without(item.path)}/${name}`), source: item.sourceName };
    });
    const outcome = await doToMany<Moved>(moved, {
      fieldsOf: ({ source: fromSource }) => ({ action: 'fileMove', fromSource, source, path }),
      list: 'froms',
      nameOf: ({ from }) => from,
      one: ({ from, source: fromSource }) => {
        dataProvider.options.fileMove.data['fromSource'] = fromSource;
        return move(from, path, source, true);
      },
    });
    const text = messageOf(texts, { all: texts.filesMoved, some: texts.someMoved }, outcome);
    notices.show(text, outcome.failed.length === 0 ? 'success' : 'error');
  };
};

/**
 * Jodit 4.15.13 looks for what is dragged onto a folder of another source in that other source: it is not
 * found, or something else of that name is moved. The connector is told where it comes from. Of several
 * selected files Jodit moves the one that was under the pointer; here all of them go.
 */
export const moveDragged = (browser: FileBrowser, moveItems: MoveItems): void => {
  const { dataProvider, files, tree, state } = browser;
  let dragged: HTMLElement | undefined;
  for (const { container } of [files, tree]) {
    container.addEventListener('dragstart', (event) => {
      dragged = tileOf(event);
    });
  }
  const move = dataProvider.move;
  dataProvider.move = async (from, path, source, isFile) => {
    const selected = [...new Set(state.activeElements)];
    const isSelected = selected.some(({ uniqueHashKey }) => uniqueHashKey === dragged?.dataset['key']);
    if (isFile && isSelected && selected.length > 1) {
      await moveItems(selected, { path, source });
      return true;
    }
    const { fileMove, folderMove } = dataProvider.options;
    for (const { data } of [fileMove, folderMove]) data['fromSource'] = dragged?.dataset['source'];
    return move(from, path, source, isFile);
  };
};

/**
 * Ctrl+X takes the selected files, Ctrl+V puts them into the open folder: Jodit 4.15.13 moves by the mouse
 * alone.
 */
export const moveByKeys = (
  browser: FileBrowser,
  moveItems: MoveItems,
  { notices, texts }: { readonly notices: Notices; readonly texts: Texts },
): void => {
  const { container, dataProvider, files, state } = browser;
  let cut: { readonly items: readonly Item[]; readonly tiles: readonly HTMLElement[] } | undefined;
  const mark = (isCut: boolean): void =>
    cut?.tiles.forEach((tile) => tile.classList.toggle('stowage-cut', isCut));
  const forget = (): void => {
    mark(false);
    cut = undefined;
  };
  const take = (): boolean => {
    const items = [...new Set(state.activeElements)];
    if (items.length === 0 || !dataProvider.canI('FileMove')) return false;
    forget();
    const keys = new Set(items.map(({ uniqueHashKey }) => uniqueHashKey));
    const tiles = [...files.container.querySelectorAll<HTMLElement>('[data-key]')];
    cut = { items, tiles: tiles.filter(({ dataset }) => keys.has(dataset['key'] ?? '')) };
    mark(true);
    const name = items[0]?.name ?? items[0]?.file ?? '';
    const key = /mac|iphone|ipad/iu.test(navigator.userAgent) ? '⌘V' : texts.controlV;
    notices.show(counted(texts, texts.filesCut, items.length, { name, key }), 'info');
    return true;
  };
  const put = (): boolean => {
    if (cut === undefined) return false;
    const [only, ...others] = state.sources;
    const source = only !== undefined && others.length === 0 ? only.name : state.currentSource;
    const path = state.currentPath;
    const isElsewhere = ({ path: from, sourceName }: Item): boolean =>
      without(from) !== without(path) || sourceName !== source;
    const items = cut.items.filter(isElsewhere);
    forget();
    if (items.length > 0)
      void moveItems(items, { path, source }).then(() => browser.e.fire('update.filebrowser'));
    return true;
  };
  container.addEventListener('keydown', (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.target instanceof HTMLInputElement) return;
    const actions: Readonly<Record<string, () => boolean>> = { x: take, v: put };
    if (actions[event.key.toLowerCase()]?.() === true) event.preventDefault();
  });
  browser.e.on('afterClose', forget);
};

/**
 * A browser gives a dragged picture along as a file, and the uploader of Jodit 4.15.13 takes it for one from
 * the desktop: the thumbnail was uploaded where the picture had been moved.
 */
export const dragNoFiles = ({ files }: FileBrowser): void => {
  files.container.addEventListener('dragstart', ({ dataTransfer, target }) => {
    dataTransfer?.clearData();
    dataTransfer?.items.clear();
    const link = target instanceof Element ? target.closest('a') : null;
    dataTransfer?.setData('text/plain', link?.href ?? '');
  });
};
