import { InvalidParametersError } from '../errors/errors.ts';
import type { PictureBox, PictureSize } from '../pictures/engine.ts';

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
 * The box in whole pixels: values are rounded, what passes the edge by less than 2 pixels is cut. `box` has a
 * start of at least zero and a size above zero.
 * @throws InvalidParametersError when the box reaches further out of the picture
 */
export const fitCropBox = (seen: PictureSize, box: PictureBox): PictureBox => {
  const across = fitSide(box.x, box.width, seen.width);
  const down = fitSide(box.y, box.height, seen.height);
  if (!across || !down) {
    throw new InvalidParametersError(
      `The box must lie inside of the image of ${seen.width}x${seen.height} pixels.`,
    );
  }
  return { x: across.start, y: down.start, width: across.length, height: down.length };
};
