import * as z from 'zod';
import { defineAction } from './action.ts';
import { listSources, listingMessages, sourceHeader, sourceHeaderShape } from './listing/each-source.ts';
import { flagField } from './listing/fields.ts';
import { compareText, scanFolder } from './listing/page.ts';
import { TimeSlice, sortPatiently } from '../basics/concurrency/time-slice.ts';
import { pathField, sourceField } from '../parameters/fields.ts';
import type { SourceView } from '../view/source-view.ts';

/** Lists the sub-folders of a folder by name: in the named source, else in every source. */
export const foldersAction = defineAction({
  name: 'folders',
  load: 'listings',
  summary: 'Lists the sub-folders of a folder.',
  changes: false,
  parameters: z.object({
    source: sourceField,
    path: pathField,
    dots: flagField.describe('False omits `.` and `..`.'),
  }),
  result: z.object({
    sources: z.array(
      z.object({
        ...sourceHeaderShape,
        folders: z
          .array(z.string())
          .describe('Begins with `.` at the root and with `..` below it, unless `dots` is false.'),
      }),
    ),
    messages: listingMessages,
  }),
  run: async (context, { source, path, dots = true }) => {
    const read = async (view: SourceView, signal: AbortSignal): Promise<object> => {
      const folder = view.folder(path);
      const slice = new TimeSlice(signal);
      const names: string[] = [];
      const onOmitted = context.services.omittedEntries.reporter(context.log, folder);
      await scanFolder(folder, { wanted: 'folders', detail: 'names', onOmitted, slice }, ({ name }) => {
        names.push(name);
      });
      const sorted = await sortPatiently(names, compareText, slice);
      const dot = path.isRoot ? '.' : '..';
      return { ...sourceHeader(view.source, path), folders: dots ? [dot, ...sorted] : sorted };
    };
    return { ...(await listSources(context, { key: 'FOLDERS', source, path, read })) };
  },
});
