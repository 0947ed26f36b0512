import { z } from 'zod';
import { fileCopyNames } from '../content/numbered-names.ts';
import { itemPathField, pathField } from '../parameters/fields.ts';
import { cross } from './across-sources.ts';
import { defineAction } from './action.ts';
import { takeFreeName } from './free-name.ts';
import { requireFolder, requireItem } from './item.ts';
import { requireBothEnds } from './relocate.ts';
import { reservedNames } from './reserved.ts';
import { doneSchema } from './result-schemas.ts';
import { openEnds, twoSourcesShape } from './two-sources.ts';

/** Copies a file; a taken name gets a number: `a (1).jpg`. */
export const fileCopyAction = defineAction({
  name: 'fileCopy',
  summary:
    'Copies a file into a folder, also of another source (`fromSource`); where the name is taken the copy gets a number.',
  methods: ['GET', 'POST'],
  changes: true,
  takesFiles: false,
  parameters: z.object({ ...twoSourcesShape, path: pathField, from: itemPathField }),
  result: doneSchema,
  run: async (context, { path: folder, from, ...names }) => {
    const { services, signal } = context;
    const { from: open, to: target, isSame } = await openEnds(context, names);
    const { source, storage } = target;
    const judge = (to: typeof from): void => {
      requireBothEnds({ from: open.access, to: target.access }, 'FILE_COPY', { from, to, kind: 'file' });
    };
    judge(folder.child(from.name));
    const { stat: seen } = await requireItem(context, open, { key: 'FILE_COPY', path: from, kind: 'file' });
    await requireFolder(target, folder, signal);
    const numbered = fileCopyNames(from.name);
    const isReserved = reservedNames(source.settings);
    const search = {
      storage,
      folder,
      names: numbered,
      isReserved,
      reservations: services.reservations,
      signal,
    };
    const to = await takeFreeName(search, async (place) => {
      judge(place);
      if (isSame) await storage.copyFile(from, place, { createOnly: true, seen, signal });
      else
        await cross(context, {
          verb: 'COPY',
          kind: 'file',
          from: { ...open, path: from },
          to: { ...target, path: place },
        });
      return place;
    });
    if (isSame) await services.thumbnails.copied({ source, path: from }, { source, path: to });
    return {};
  },
});
