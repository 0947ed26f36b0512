import * as z from 'zod';
import { mimeTypeOf } from '../basics/content/mime-type.ts';
import { BrokenImageError, BusyError, InvalidParametersError } from '../errors/errors.ts';
import { nameField, pathField, sourceField, textField } from '../parameters/fields.ts';
import { defineAction } from './action.ts';
import { FileAnswer } from './file-answer.ts';
import { requireItem } from '../view/item.ts';
import { openSource } from '../view/open-source.ts';
import { safetyHeaders } from './serving/safety.ts';

/**
 * Sends an image in the form of one of the source's presets, made when nobody has asked for it since the
 * image changed.
 */
export const imageVariantAction = defineAction({
  name: 'imageVariant',
  load: 'pictures',
  summary: 'Sends an image in the form of a preset.',
  changes: false,
  parameters: z.object({
    source: sourceField,
    path: pathField,
    name: nameField,
    preset: textField.describe('A name of the setting imagePresets.'),
  }),
  result: { contentType: 'image/*' },
  run: async (context, input) => {
    const { services, signal } = context;
    const open = await openSource(context, input.source);
    const path = input.path.child(input.name);
    const { source, storage } = open;
    const { stat: item } = await requireItem(context, open, { key: 'IMAGE_VARIANT', path, kind: 'file' });
    if (!Object.hasOwn(source.settings.imagePresets, input.preset)) {
      throw new InvalidParametersError({
        message: 'There is no such preset.',
        details: { parameters: 'preset' },
      });
    }
    const shown = await services.thumbnails.show(source, path.parent, item, {
      preset: input.preset,
      signal,
    });
    if (shown.kind === 'self' && shown.isFailure === true) throw new BusyError();
    if (shown.kind !== 'stored') throw new BrokenImageError('This file has no variants.');
    const stat = await storage.stat(shown.path, { signal });
    return new FileAnswer({
      filename: shown.path.name,
      contentType: mimeTypeOf(shown.path.name),
      stat,
      isInline: true,
      headers: safetyHeaders({ serve: 'protected', serveCacheControl: undefined }),
      open: async (range) => (await storage.read(shown.path, { range, ifMatch: stat.etag, signal })).stream,
    });
  },
});
