import { z } from 'zod';
import { MAX_RESULT_PIXELS } from '../images/engine.ts';
import { defineAction } from './action.ts';
import { wholeSizeField } from './box-fields.ts';
import { editImage, editedImageShape, imageResultSchema } from './edit-image.ts';

/** Scales an image to exactly the given size. */
export const imageResizeAction = defineAction({
  name: 'imageResize',
  summary: 'Scales an image to a size, over the original or as another file.',
  changes: true,
  parameters: z.object({
    ...editedImageShape,
    box: z
      .object({ w: wholeSizeField, h: wholeSizeField }, 'must hold w and h')
      .refine(({ w, h }) => w * h <= MAX_RESULT_PIXELS, 'must not have more than 100 megapixels'),
  }),
  result: imageResultSchema,
  run: (context, { box: { w: width, h: height }, ...input }) =>
    editImage(context, 'IMAGE_RESIZE', input, () => ({ kind: 'resize', to: { width, height } })),
});
