import type { FileBrowser } from './editor.ts';

/** Jodit's own field, which filters the list of the open folder. */
const FILTER = 'filebrowser.filter';

/** A part of the toolbar that is made here, as Jodit describes its own. */
const control = (name: string, element: HTMLElement): object => ({
  name,
  isInput: true,
  getContent: () => element,
});

/**
 * Puts parts of this room into the toolbar of the file browser: `filter` in the position of Jodit's own
 * field, whose name it keeps for `removeButtons`, and the others at the end.
 */
export const addToToolbar = (
  { o }: Pick<FileBrowser, 'o'>,
  { filter, ...others }: Readonly<Record<string, HTMLElement | undefined>>,
): void => {
  // A page may give names as a text too.
  const given = typeof o.buttons === 'string' ? o.buttons.split(/[\s,]+/u) : o.buttons;
  const buttons = given.map((button) =>
    button === FILTER && filter !== undefined ? control('filter', filter) : button,
  );
  const added = Object.entries(others).flatMap(([name, element]) =>
    element === undefined ? [] : [control(name, element)],
  );
  o.buttons = added.length === 0 ? buttons : [...buttons, '|', ...added];
};
