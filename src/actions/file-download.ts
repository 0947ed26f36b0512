import { z } from 'zod';
import { nameField, pathField, sourceField } from '../parameters/fields.ts';
import { defineAction } from './action.ts';
import { FileAnswer } from './file-answer.ts';
import { requireItem } from './item.ts';
import { openSource } from './open-source.ts';

// Never the file's own type: a browser must not open it on this origin.
const contentType = 'application/octet-stream';

/** Sends a file as an attachment, never under its own type. */
export const fileDownloadAction = defineAction({
  name: 'fileDownload',
  summary: 'Sends a file as an attachment.',
  changes: false,
  parameters: z.object({ source: sourceField, path: pathField, name: nameField }),
  result: { contentType },
  run: async (context, input) => {
    const { signal } = context;
    const open = await openSource(context, input.source);
    const path = input.path.child(input.name);
    const { stat } = await requireItem(context, open, { key: 'FILE_DOWNLOAD', path, kind: 'file' });
    return new FileAnswer({
      filename: path.name,
      contentType,
      stat,
      // The version that the headers speak of, or none.
      open: async (range) => (await open.storage.read(path, { range, ifMatch: stat.etag, signal })).stream,
    });
  },
});
