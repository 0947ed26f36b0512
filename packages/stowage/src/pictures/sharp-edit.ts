import type { Sharp } from 'sharp';
import { BrokenImageError } from '../errors/errors.ts';
import type { Edit, PictureSize } from './engine.ts';
import { requireIconSize } from './ico.ts';
import { decodeUpright, type OpenedPicture } from './open-picture.ts';
import { pictureBudget } from './picture-budget.ts';
import { isAnimatedPng, type WritableFormat } from './picture-format.ts';
import { encodePicture, keepColours } from './sharp-encode.ts';
import type { SharpLibrary } from './sharp-library.ts';
import { turnedSize, turnPixels } from './turn.ts';

const apply = (
  sharp: SharpLibrary,
  picture: Sharp,
  original: OpenedPicture,
  edit: Edit,
): Sharp | Promise<Sharp> => {
  if (edit.kind === 'turn') return turnPixels(sharp, picture, original, edit.turn);
  if (edit.kind === 'resize') return picture.resize({ ...edit.to, fit: 'fill' });
  const { x: left, y: top, width, height } = edit.box;
  return picture.extract({ left, top, width, height });
};

/** The size of a picture after an edit. */
export const sizeAfter = (edit: Edit, seen: PictureSize): PictureSize => {
  if (edit.kind === 'turn') return turnedSize(seen, edit.turn);
  return edit.kind === 'resize' ? edit.to : edit.box;
};

/** The format in which an edited picture is stored. @throws BrokenImageError for HEIC */
export const formatOfEdited = ({ format }: OpenedPicture): WritableFormat => {
  if (format === 'heic') throw new BrokenImageError();
  return format;
};

const isOfWholeColours = (metadata: OpenedPicture['metadata']): boolean =>
  (metadata?.depth === 'uchar' || metadata?.depth === 'ushort') && !metadata.space.startsWith('lab');

/** Refuses what the library could only give back in part, or with its frames in one heap. */
export const requireEditable = (
  { format, frames, metadata }: OpenedPicture,
  file: Buffer,
  result: PictureSize,
): void => {
  if (format === 'ico') requireIconSize(result);
  if ((format === 'tiff' || format === 'heif') && frames > 1) {
    throw new BrokenImageError('Pictures of several pages cannot be edited.');
  }
  // The library would make it sRGB of 8 bits.
  if (format === 'tiff' && !isOfWholeColours(metadata)) {
    throw new BrokenImageError('TIFF images in Lab colours or of floating-point numbers cannot be edited.');
  }
  if (format === 'png' && isAnimatedPng(file, pictureBudget(file))) {
    throw new BrokenImageError('Animated PNG images cannot be edited.');
  }
  if (format === 'heif' && metadata?.compression !== 'av1') throw new BrokenImageError();
};

/** Decodes, turns upright, edits and encodes. @throws BrokenImageError; errors of the library */
export const renderEdit = async (
  sharp: SharpLibrary,
  original: OpenedPicture,
  file: Buffer,
  edit: Edit,
): Promise<Buffer> => {
  const size = sizeAfter(edit, original);
  requireEditable(original, file, size);
  const applied = await apply(sharp, await decodeUpright(original), original, edit);
  const picture = keepColours(applied, original);
  return encodePicture(formatOfEdited(original), { picture, size, original, file });
};
