import type { FileBrowser } from './editor.ts';

const draggedFrom = ({ target }: DragEvent): HTMLElement | undefined =>
  (target instanceof Element ? target.closest<HTMLElement>('[data-source]') : undefined) ?? undefined;

/**
 * Jodit 4.15.13 looks for what is dragged onto a folder of another source in that other source: it is not
 * found, or something else of that name is moved. The connector is told where it comes from.
 */
export const moveBetweenSources = ({ dataProvider, files, tree }: FileBrowser): void => {
  let fromSource: string | undefined;
  for (const { container } of [files, tree]) {
    container.addEventListener('dragstart', (event) => {
      fromSource = draggedFrom(event)?.dataset['source'];
    });
  }
  const move = dataProvider.move;
  dataProvider.move = (...values) => {
    const { fileMove, folderMove } = dataProvider.options;
    for (const { data } of [fileMove, folderMove]) data['fromSource'] = fromSource;
    return move(...values);
  };
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
