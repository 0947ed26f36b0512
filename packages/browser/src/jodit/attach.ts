import { KnownFiles } from '../picker/names.ts';
import type { PickedFile } from '../picker/options.ts';
import { Service } from '../picker/service.ts';
import { replaceBrowser } from './browse.ts';
import { type Connection, headersOf } from './connection.ts';
import { takeBackEdits } from './edits.ts';
import type { Editor } from './editor.ts';
import { completeInsertedPictures } from './pictures.ts';
import { warnOfMissingPlugins } from './plugins.ts';
import { messageBox, openSurface } from './surface.ts';
import { uploadService, uploadVisibly } from './uploading.ts';

/** The picker is dark in an editor with the dark theme, light in others; with `auto` the system decides. */
const themeOf = ({ o: { theme } }: Editor): 'light' | 'dark' | undefined => {
  if (theme === 'auto') return undefined;
  return theme === 'dark' ? 'dark' : 'light';
};

/** Connects a ready editor to the connector, once. Everything is removed when the editor is destructed. */
export const attach = (editor: Editor, connection: Connection, language: string): void => {
  const { url, credentials, sources, pictures } = connection;
  const options = { url, credentials, headers: headersOf(connection, language) };
  const theme = themeOf(editor);
  const service = new Service(options);
  const uploads = uploadService(editor, connection);
  const surface = openSurface(editor, uploads, language, theme);
  const message = { value: messageBox(surface), configurable: true };
  Object.defineProperty(editor, 'message', message);
  Object.defineProperty(editor.filebrowser, 'message', message);
  const ending = new AbortController();
  editor.e.on('beforeDestruct', () => {
    ending.abort();
    void surface.then(({ remove }) => remove());
  });

  const known = new KnownFiles();
  const remember = (files: readonly PickedFile[]): void => {
    for (const file of files) known.add(file);
  };
  replaceBrowser(editor, { ...options, sources, language, theme }, remember, ending.signal);
  uploadVisibly(editor, uploads, surface, known);
  takeBackEdits(editor, service, surface);
  completeInsertedPictures(editor, known, service, pictures);
  warnOfMissingPlugins(editor);
};
