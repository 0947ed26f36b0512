import { z } from 'zod';
import { folderCopyNames } from '../content/numbered-names.ts';
import { itemPathField, pathField } from '../parameters/fields.ts';
import { copyFolder } from '../storage/folders.ts';
import { cross } from './across-sources.ts';
import { defineAction } from './action.ts';
import { takeFreeName } from './free-name.ts';
import { requireFolder, requireItem } from './item.ts';
import { requireBothEnds, requireOutside } from './relocate.ts';
import { requireContents } from './require-contents.ts';
import { reservedNames } from './reserved.ts';
import { doneSchema } from './result-schemas.ts';
import { openEnds, twoSourcesShape } from './two-sources.ts';

/** Copies a folder with all it holds; a taken name gets a number: `photos (1)`. */
export const folderCopyAction = defineAction({
  name: 'folderCopy',
  summary:
    'Copies a folder with its contents, also into another source (`fromSource`); where the name is taken the copy gets a number.',
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
      requireBothEnds({ from: open.access, to: target.access }, 'FOLDER_COPY', { from, to, kind: 'folder' });
    };
    judge(folder.child(from.name));
    await requireItem(context, open, { key: 'FOLDER_COPY', path: from, kind: 'folder' });
    if (isSame) requireOutside(storage, from, folder);
    await requireFolder(target, folder, signal);
    const numbered = folderCopyNames(from.name);
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
      if (isSame) {
        await requireContents(context, open, { verb: 'COPY', from, to: place });
        await copyFolder(storage, from, place, { signal });
      } else
        await cross(context, {
          verb: 'COPY',
          kind: 'folder',
          from: { ...open, path: from },
          to: { ...target, path: place },
        });
      return place;
    });
    if (isSame) await services.thumbnails.copied({ source, path: from }, { source, path: to });
    return {};
  },
});
