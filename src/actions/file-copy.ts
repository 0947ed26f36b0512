import { z } from 'zod';
import { fileCopyNames } from '../content/numbered-names.ts';
import { itemPathField, pathField, sourceField } from '../parameters/fields.ts';
import { defineAction } from './action.ts';
import { takeFreeName } from './free-name.ts';
import { requireFolder, requireItem } from './item.ts';
import { openSource } from './open-source.ts';
import { requireBothEnds } from './relocate.ts';
import { reservedNames } from './reserved.ts';
import { doneSchema } from './result-schemas.ts';

/** Copies a file; a taken name gets a number: `a (1).jpg`. */
export const fileCopyAction = defineAction({
  name: 'fileCopy',
  summary: 'Copies a file into a folder of its source; where the name is taken the copy gets a number.',
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
      requireBothEnds(access, 'FILE_COPY', { from, to, kind: 'file' });
    };
    judge(folder.child(from.name));
    await requireItem(context, open, { key: 'FILE_COPY', path: from, kind: 'file' });
    await requireFolder(open, folder, signal);
    const names = fileCopyNames(from.name);
    const isReserved = reservedNames(source.settings);
    const search = { storage, folder, names, isReserved, reservations: services.reservations, signal };
    const to = await takeFreeName(search, async (target) => {
      judge(target);
      await storage.copyFile(from, target, { createOnly: true, signal });
      return target;
    });
    await services.thumbnails.copied({ source, path: from }, { source, path: to });
    return {};
  },
});
