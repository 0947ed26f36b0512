import { BrokenImageError } from '../../errors/errors.ts';
import { openPicture, type OpenedPicture } from '../../pictures/open-picture.ts';
import { asBroken, type SharpLibrary } from '../../pictures/sharp-library.ts';
import type { Picture, PictureType } from 'stowage-html-docx';

/** Longest side of a picture that has to be converted: more than any page shows. */
const MAX_SIDE = 3000;

const KEPT: Readonly<Record<string, PictureType>> = { png: 'png', jpeg: 'jpg', gif: 'gif' };

/** Word takes these as they are, except JPEGs that lie on their side or are meant for presses. */
const keptType = ({ format, metadata }: OpenedPicture): PictureType | undefined => {
  const isPlain = metadata !== undefined && (metadata.orientation ?? 1) === 1 && metadata.space !== 'cmyk';
  return isPlain ? KEPT[format] : undefined;
};

/** A copy with memory of its own, which can be handed to a thread. */
const owned = (bytes: Buffer): Uint8Array => new Uint8Array(bytes);

const requireSize = ({ width, height }: { width: number; height: number }, maxPixels: number): void => {
  if (width * height > maxPixels) throw new BrokenImageError('The image has too many pixels.');
};

const converted = async (opened: OpenedPicture): Promise<Picture> => {
  const { width, height } = opened;
  const upright = (await opened.decode())
    .autoOrient()
    .toColourspace('srgb')
    .resize({ width: MAX_SIDE, height: MAX_SIDE, fit: 'inside', withoutEnlargement: true });
  return opened.format === 'jpeg'
    ? { type: 'jpg', bytes: owned(await upright.jpeg({ quality: 90 }).toBuffer()), width, height }
    : { type: 'png', bytes: owned(await upright.png().toBuffer()), width, height };
};

/**
 * Makes a picture one that word processors show: PNG, JPEG and GIF stay as they are, everything else is
 * converted. Drawings are not for here.
 * @throws BrokenImageError when the bytes are not a picture, or one beyond the limits
 */
export const preparePicture = (sharp: SharpLibrary, bytes: Buffer, maxPixels: number): Promise<Picture> =>
  asBroken(async () => {
    const opened = await openPicture(sharp, bytes, 'first');
    requireSize(opened, maxPixels);
    const type = keptType(opened);
    const { width, height } = opened;
    return type === undefined ? converted(opened) : { type, bytes: owned(bytes), width, height };
  });
