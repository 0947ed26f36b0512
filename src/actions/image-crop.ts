import { z } from 'zod';
import { fitCropBox } from '../images/crop-box.ts';
import { defineAction } from './action.ts';
import { offsetField, sizeField } from './box-fields.ts';
import { editImage, editedImageShape, imageResultSchema } from './edit-image.ts';

/** Cuts a box out of an image, as the user sees it. */
export const imageCropAction = defineAction({
  name: 'imageCrop',
  summary: 'Cuts a box out of an image, over the original or as another file.',
  methods: ['GET', 'POST'],
  changes: true,
  takesFiles: false,
  parameters: z.object({
    ...editedImageShape,
    box: z.object({ x: offsetField, y: offsetField, w: sizeField, h: sizeField }, 'must hold x, y, w and h'),
  }),
  result: imageResultSchema,
  run: (context, { box: { x, y, w: width, h: height }, ...input }) =>
    editImage(context, 'IMAGE_CROP', input, (seen) => ({
      kind: 'crop',
      box: fitCropBox(seen, { x, y, width, height }),
    })),
});
