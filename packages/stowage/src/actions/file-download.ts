import * as z from 'zod';
import { nameField, pathField, sourceField } from '../parameters/fields.ts';
import { defineAction } from './action.ts';
import { FileAnswer } from './file-answer.ts';
import { requireOneOrSeveral, severalOf } from './many.ts';
import { downloadMany } from './zip/download-many.ts';

// Never the file's own type: a browser must not open it on this origin.
const contentType = 'application/octet-stream';

/** Sends a file as an attachment, never under its own type; several files and folders as an archive. */
export const fileDownloadAction = defineAction({
  name: 'fileDownload',
  keys: { file: ['FILE_DOWNLOAD'], folder: ['FILE_DOWNLOAD', 'FOLDERS'] },
  summary: 'Sends a file as an attachment; several files and folders as a ZIP archive.',
  changes: false,
  // An archive walks through folders.
  load: ({ names }) => (names === undefined ? undefined : 'listings'),
  parameters: z
    .object({
      source: sourceField,
      path: pathField,
      name: nameField.optional(),
      names: severalOf(nameField).describe('Files and folders of the folder, for one archive.'),
    })
    .superRefine(requireOneOrSeveral('name', 'names')),
  // Or application/zip.
  result: { contentType: 'application/*' },
  run: async (context, input) => {
    const view = await context.views.open(input.source);
    const { path: folder, name = '', names } = input;
    if (names !== undefined) return downloadMany(context, view, { folder, names });
    const path = folder.child(name);
    const { stat, file } = await view.find('FILE_DOWNLOAD', path, 'file');
    return new FileAnswer({
      filename: path.name,
      contentType,
      stat,
      // The version that the headers speak of, or none.
      open: async (range) => (await file.open({ range, ifMatch: stat.etag })).stream,
    });
  },
});
