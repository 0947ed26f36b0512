import * as z from 'zod';
import { mimeTypeOf } from '../basics/content/file-type.ts';
import { BrokenImageError, BusyError, type StorageDeniedError, StowageError } from '../errors/errors.ts';
import { invalidParameter, itemShape, textField } from '../parameters/fields.ts';
import { defineAction } from './action.ts';
import { FileResponse } from './responses.ts';
import { safetyHeaders } from './serving/delivery.ts';
import { makingAnew } from './serving/serve-file.ts';

/** Sends an image as a variant by a preset of the source, made at the first request after a change. */
export const imageVariantAction = defineAction({
  name: 'imageVariant',
  load: 'pictures',
  summary: 'Sends the variant of an image.',
  changes: false,
  parameters: z.object({
    ...itemShape,
    preset: textField.describe('The name of a preset of the setting imagePresets.'),
  }),
  result: { contentType: 'image/*' },
  run: async (context, input) => {
    const { services, signal } = context;
    const view = await context.views.open(input.source);
    const path = input.path.child(input.name);
    const { source } = view;
    const item = await view.find('IMAGE_VARIANT', path, 'file');
    if (!Object.hasOwn(source.settings.imagePresets, input.preset))
      throw invalidParameter('preset', 'There is no such preset.');
    const show = (refusal?: StorageDeniedError) =>
      services.thumbnails.show(source, path, item.stat, { preset: input.preset, refusal, signal });
    const shown = await show();
    if (shown.kind === 'self' && shown.failure !== undefined)
      throw shown.failure instanceof StowageError ? shown.failure : new BusyError({ cause: shown.failure });
    if (shown.kind !== 'stored') throw new BrokenImageError('This file has no variants.');
    const drawn = item.drawn(shown.path);
    const stat = shown.stat ?? (await drawn.stat());
    return new FileResponse({
      filename: shown.path.name,
      contentType: mimeTypeOf(shown.path.name),
      stat,
      isInline: true,
      headers: safetyHeaders({ serve: 'protected', serveCacheControl: undefined }),
      open: async (range) => (await drawn.openSeen(stat, { range }).catch(makingAnew(show))).stream,
    });
  },
});
