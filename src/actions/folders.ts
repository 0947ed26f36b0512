import { z } from 'zod';
import { pathField, sourceField } from '../parameters/fields.ts';
import type { Source } from '../sources/source.ts';
import { defineAction, type ActionContext } from './action.ts';
import { forEachSource } from './listing/each-source.ts';
import { flagField } from './listing/fields.ts';
import { compareText } from './listing/order.ts';
import { sortPatiently } from './listing/patient-sort.ts';
import { scanFolder } from './listing/scan.ts';
import { sourceHeader, sourceHeaderShape } from './listing/source-header.ts';
import { TimeSlice } from './listing/time-slice.ts';
import { visibleFolders } from './listing/visibility.ts';
import { openedSource } from './open-source.ts';
import { requireReachable } from './reserved.ts';
import { sourcesFor } from './select-source.ts';

const parameters = z.object({
  source: sourceField,
  path: pathField,
  dots: flagField.describe('False leaves `.` and `..` out.'),
});

type FoldersParameters = z.output<typeof parameters>;

const listSource = async (
  context: ActionContext,
  source: Source,
  { path, dots }: FoldersParameters,
  signal: AbortSignal,
): Promise<object> => {
  requireReachable(source.settings, path);
  const { storage, access } = await openedSource(context, source);
  access.require('FOLDERS', path);
  const isVisible = visibleFolders(source.settings, access, path);
  const slice = new TimeSlice(signal);
  const names: string[] = [];
  await scanFolder({ storage, folder: path, detail: 'names', signal, slice }, (entry) => {
    if (isVisible(entry)) names.push(entry.name);
  });
  const sorted = await sortPatiently(names, compareText, slice);
  const dot = path.isRoot ? '.' : '..';
  return { ...sourceHeader(source, path), folders: (dots ?? true) ? [dot, ...sorted] : sorted };
};

/** Lists the sub-folders of a folder by name: in the named source, else in every source. */
export const foldersAction = defineAction({
  name: 'folders',
  summary: 'Lists the sub-folders of a folder.',
  methods: ['GET', 'POST'],
  changes: false,
  takesFiles: false,
  parameters,
  result: z.object({
    sources: z.array(
      z.object({
        ...sourceHeaderShape,
        folders: z
          .array(z.string())
          .describe('`.` first at the root, `..` first below it, unless `dots` is false.'),
      }),
    ),
  }),
  run: async (context, input) => {
    context.access.require('FOLDERS', input.path);
    const sources = await forEachSource(
      sourcesFor(context.sources, input.source),
      context.signal,
      (source, signal) => listSource(context, source, input, signal),
    );
    return { sources };
  },
});
