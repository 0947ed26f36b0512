import { z } from 'zod';
import { extensionOf } from '../content/extension.ts';
import { mimeTypeOf } from '../content/mime-type.ts';
import { FileTooLargeError, TypeNotAllowedError } from '../errors/errors.ts';
import { mimeTypeOfPicture } from '../images/picture-format.ts';
import { nameField, pathField, sourceField } from '../parameters/fields.ts';
import { defineAction } from './action.ts';
import { requireItem } from './item.ts';
import { openSource } from './open-source.ts';

const dataUrl = (name: string, content: Buffer): string =>
  `data:${mimeTypeOfPicture(content) ?? mimeTypeOf(name)};base64,${content.toString('base64')}`;

/** Gives an image as a data URL, for editors that may not read it from the file host. By POST only: no other site can trigger that by a link. */
export const imageLoadAction = defineAction({
  name: 'imageLoad',
  summary: 'Returns an image as a data URL.',
  methods: ['POST'],
  changes: false,
  takesFiles: false,
  parameters: z.object({ source: sourceField, path: pathField, name: nameField }),
  result: z.object({ content: z.string().describe('Data URL in base64.'), name: z.string() }),
  run: async (context, input) => {
    const { services, signal } = context;
    const open = await openSource(context, input.source);
    const { settings } = open.source;
    const path = input.path.child(input.name);
    const { stat } = await requireItem(context, open, { key: 'IMAGE_LOAD', path, kind: 'file' });
    if (!settings.imageExtensions.includes(extensionOf(path.name) ?? '')) {
      throw new TypeNotAllowedError('This file is not an image.');
    }
    const picture = {
      size: stat.size,
      open: async () => (await open.storage.read(path, { signal })).stream,
    };
    const limit = { bytes: settings.maxUploadFileSize, refuse: () => new FileTooLargeError() };
    const content = await services.images.load(picture, limit, (bytes) => dataUrl(path.name, bytes), signal);
    return { content, name: path.name };
  },
});
