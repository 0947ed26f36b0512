import type { Entry, Service } from '../picker/service.ts';
import { trimmed } from '../picker/service.ts';
import { fill } from '../picker/texts.ts';
import { TrashUndo } from '../picker/undo.ts';
import type { Editor } from './editor.ts';
import { showAnew } from './pictures.ts';
import type { Surface } from './surface.ts';

/**
 * Makes edits of a picture of the text undoable: a crop or new size that replaces the original, if the source
 * keeps replaced content (`trash.keepReplaced`).
 */
export const takeBackEdits = (editor: Editor, service: Service, surface: Promise<Surface>): void => {
  const { dataProvider } = editor.filebrowser;
  const trash = new TrashUndo(service);
  const undo = async (entry: Entry, back: () => Promise<void>): Promise<void> => {
    const { notices, texts } = await surface;
    try {
      await back();
      showAnew(editor, entry);
      notices.tell(texts.done.undone);
    } catch (error) {
      notices.warn(service.messageOf(error, texts));
    }
  };
  for (const edit of ['crop', 'resize'] as const) {
    const send = dataProvider[edit];
    dataProvider[edit] = async (path, source, name, newName, ...rest) => {
      if (newName !== undefined && newName !== '' && newName !== name)
        return send(path, source, name, newName, ...rest);
      const entry: Entry = { source, path: trimmed(path), name, type: 'image' };
      let result: boolean | string = false;
      const back = await trash.around(entry, async () => {
        result = await send(path, source, name, newName, ...rest);
      });
      if (back === undefined) return result;
      const { notices, texts } = await surface;
      const offer = { label: texts.undo, run: () => void undo(entry, back) };
      notices.tell(fill(texts.image.changed, { name }), offer);
      return result;
    };
  }
};
