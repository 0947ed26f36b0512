import { z } from 'zod';
import { folderCopyNames } from '../content/numbered-names.ts';
import { itemPathField, pathField, sourceField } from '../parameters/fields.ts';
import { copyFolder } from '../storage/folders.ts';
import { defineAction } from './action.ts';
import { takeFreeName } from './free-name.ts';
import { requireFolder, requireItem } from './item.ts';
import { openSource } from './open-source.ts';
import { requireBothEnds, requireOutside } from './relocate.ts';
import { requireContents } from './require-contents.ts';
import { reservedNames } from './reserved.ts';
import { doneSchema } from './result-schemas.ts';

/** Copies a folder with all it holds; a taken name gets a number: `photos (1)`. */
export const folderCopyAction = defineAction({
  name: 'folderCopy',
  summary: 'Copies a folder with its contents; where the name is taken the copy gets a number.',
  methods: ['GET', 'POST'],
  changes: true,
  takesFiles: false,
  parameters: z.object({ source: sourceField, path: pathField, from: itemPathField }),
  result: doneSchema,
  run: async (context, { source: name, path: folder, from }) => {
    const { access, services, signal } = context;
    const open = await openSource(context, name);
    const { source, storage } = open;
    const judge = (to: typeof from): void => {
      requireBothEnds(access, 'FOLDER_COPY', { from, to, kind: 'folder' });
    };
    judge(folder.child(from.name));
    await requireItem(context, open, { key: 'FOLDER_COPY', path: from, kind: 'folder' });
    requireOutside(storage, from, folder);
    await requireFolder(open, folder, signal);
    const names = folderCopyNames(from.name);
    const isReserved = reservedNames(source.settings);
    const search = { storage, folder, names, isReserved, reservations: services.reservations, signal };
    const to = await takeFreeName(search, async (target) => {
      judge(target);
      await requireContents(context, open, { verb: 'COPY', from, to: target });
      await copyFolder(storage, from, target, { signal });
      return target;
    });
    await services.thumbnails.copied({ source, path: from }, { source, path: to });
    return {};
  },
});
