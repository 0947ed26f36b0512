import * as z from 'zod';
import { type ActionContext, defineAction } from './action.ts';
import { listSources, listingMessages, sourceHeader, sourceHeaderShape } from './listing/each-source.ts';
import { flagField } from './listing/fields.ts';
import { compareText, scanFolder } from './listing/page.ts';
import { TimeSlice, sortPatiently } from '../basics/concurrency/time-slice.ts';
import { pathField, sourceField } from '../parameters/fields.ts';
import type { SourceView } from '../view/source-view.ts';

const parameters = z.object({
  source: sourceField,
  path: pathField,
  dots: flagField.describe('False omits `.` and `..`.'),
});

type FoldersParameters = z.output<typeof parameters>;

const listSource = async (
  { services, log }: ActionContext,
  view: SourceView,
  { path, dots }: FoldersParameters,
  signal: AbortSignal,
): Promise<object> => {
  const { source } = view;
  const folder = view.folder(path);
  const slice = new TimeSlice(signal);
  const names: string[] = [];
  const onOmitted = services.omittedEntries.reporter(log, folder);
  await scanFolder(folder, { wanted: 'folders', detail: 'names', onOmitted, slice }, ({ name }) => {
    names.push(name);
  });
  const sorted = await sortPatiently(names, compareText, slice);
  const dot = path.isRoot ? '.' : '..';
  return { ...sourceHeader(source, path), folders: (dots ?? true) ? [dot, ...sorted] : sorted };
};

/** Lists the sub-folders of a folder by name: in the named source, else in every source. */
export const foldersAction = defineAction({
  name: 'folders',
  load: 'listings',
  summary: 'Lists the sub-folders of a folder.',
  changes: false,
  parameters,
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
  run: async (context, input) => ({
    ...(await listSources(context, {
      key: 'FOLDERS',
      ...input,
      read: (view, signal) => listSource(context, view, input, signal),
    })),
  }),
});
