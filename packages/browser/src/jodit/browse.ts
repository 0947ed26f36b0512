import { pickFiles } from '../picker/pick.ts';
import type { PickedFile, PickerOptions } from '../picker/options.ts';
import type { Chosen, Editor, FileBrowser, InsertingEditor } from './editor.ts';

const insert = (editor: InsertingEditor | Editor, { files, isImages, picked }: Chosen): void =>
  files.forEach((url, index) => {
    const { name = url, mime = '' } = picked?.[index] ?? {};
    if (isImages?.[index] === true) {
      editor.s.insertImage(url, null, editor.o.imageDefaultWidth ?? null);
    } else if (mime.startsWith('video/')) {
      editor.s.insertNode(editor.createInside.element('video', { src: url, controls: '' }));
    } else {
      const link = editor.createInside.element('a', { href: url });
      link.textContent = name;
      editor.s.insertNode(link);
    }
  });

const chosenOf = (files: readonly PickedFile[]): Chosen => ({
  baseurl: '',
  files: files.map(({ url }) => url),
  isImages: files.map(({ isImage }) => isImage),
  picked: files,
});

/** Inserts files at the cursor. */
export const insertPicked = (editor: Editor, files: readonly PickedFile[]): void =>
  insert(editor, chosenOf(files));

/**
 * Opens the picker, for your own buttons, and inserts the picked files at the cursor: pictures as pictures,
 * videos with controls, other files as links with their names. Resolves when that is done, or the picker was
 * closed.
 */
export const browseFiles = (editor: InsertingEditor): Promise<void> => {
  editor.s.save();
  return editor.filebrowser.open((chosen) => {
    editor.s.restore();
    insert(editor, chosen);
  });
};

/**
 * Opens the picker wherever Jodit would open its own file browser. Calls `picked` before anything is
 * inserted.
 */
export const replaceBrowser = (
  editor: Editor,
  options: PickerOptions,
  picked: (files: readonly PickedFile[]) => void,
  /** Aborted when the editor is destructed; closes the picker. */
  signal: AbortSignal,
): void => {
  const open: FileBrowser['open'] = async (chosen = (data) => insert(editor, data), onlyImages = false) => {
    const types = onlyImages ? 'image' : undefined;
    const files = await pickFiles({ ...options, several: true, types }, { signal });
    if (signal.aborted) return;
    // The popup of a picture has saved the cursor position.
    if (files.length === 0) return editor.s.restore();
    picked(files);
    chosen(chosenOf(files));
  };
  // In Jodit it is a getter.
  Object.defineProperty(editor.filebrowser, 'open', { value: open, configurable: true });
};
