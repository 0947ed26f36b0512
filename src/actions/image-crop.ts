import { z } from 'zod';
import { InvalidParametersError } from '../errors/errors.ts';
import type { PictureBox, PictureSize } from '../images/engine.ts';
import { defineAction } from './action.ts';
import { offsetField, sizeField } from './box-fields.ts';
import { editImage, editedImageShape, imageResultSchema } from './edit-image.ts';

/** Clients compute boxes from a scaled view; this much over the edge is an error of rounding. */
const TOLERANCE = 2;

/** Rounds one side of a box into the picture. Undefined when it lies outside. */
const fitSide = (
  start: number,
  length: number,
  whole: number,
): { readonly start: number; readonly length: number } | undefined => {
  if (start >= whole || start + length - whole >= TOLERANCE) return undefined;
  const first = Math.min(Math.round(start), whole - 1);
  return { start: first, length: Math.max(1, Math.min(Math.round(length), whole - first)) };
};

/**
 * The box in whole pixels: values are rounded, what passes the edge by less than 2 pixels is cut. `box` has a start of at least zero and a size
 * above zero.
 * @throws InvalidParametersError when the box reaches further out of the picture
 */
const fitCropBox = (seen: PictureSize, box: PictureBox): PictureBox => {
  const across = fitSide(box.x, box.width, seen.width);
  const down = fitSide(box.y, box.height, seen.height);
  if (!across || !down) {
    throw new InvalidParametersError(
      `The box must lie inside of the image of ${seen.width}x${seen.height} pixels.`,
    );
  }
  return { x: across.start, y: down.start, width: across.length, height: down.length };
};

/** Cuts a box out of an image, as the user sees it. */
export const imageCropAction = defineAction({
  name: 'imageCrop',
  summary: 'Cuts a box out of an image, over the original or as another file.',
  changes: true,
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
