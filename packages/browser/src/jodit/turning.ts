import type { Calls } from './calls.ts';
import type { WithUndo } from './edit-undo.ts';
import type { FileBrowser, Item } from './editor.ts';
import type { MenuEntry } from './file-menu.ts';
import type { IsAllowed } from './permissions.ts';
import { fill, type Texts } from './texts/texts.ts';

/**
 * Entries of a picture's menu that turn it by a quarter, where the connector allows that. Jodit 4.15.13 has
 * nothing that turns a stored picture.
 */
export const turningEntries = (
  browser: FileBrowser,
  calls: Calls,
  {
    texts,
    isAllowed,
    withUndo,
  }: { readonly texts: Texts; readonly isAllowed: IsAllowed; readonly withUndo: WithUndo },
): readonly MenuEntry[] => {
  const turn = async ({ sourceName: source, path, name, file }: Item, angle: '90' | '270'): Promise<void> => {
    try {
      const named = name ?? file ?? '';
      const turned = (): Promise<unknown> =>
        calls.ask({ action: 'imageRotate', source, path, name: named, angle });
      await withUndo({ source, path, name: named }, turned, fill(texts.turned, { name: named }));
      browser.e.fire('update.filebrowser');
    } catch (error) {
      browser.status(error);
    }
  };
  const isFor = ({ isImage, name, file }: Item): boolean =>
    isImage === true && isAllowed('ImageRotate') && !/\.svg$/iu.test(name ?? file ?? '');
  return [
    { label: texts.turnLeft, sign: 'left', isFor, run: (item) => void turn(item, '270') },
    { label: texts.turnRight, sign: 'right', isFor, run: (item) => void turn(item, '90') },
  ];
};
