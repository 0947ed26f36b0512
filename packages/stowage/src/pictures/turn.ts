import type { Sharp } from 'sharp';
import { type PictureSize, type Turn } from './engine.ts';
import { jpegWithOrientation, turnedOrientation } from './metadata/orientation.ts';
import type { OpenedPicture } from './open-picture.ts';
import { pictureBudget } from './picture-budget.ts';
import { type SharpLibrary } from './sharp-library.ts';

/** Turns a picture of one frame: it is turned first, then mirrored as it is seen then. */
const turnFrame = (picture: Sharp, { angle, flip }: Turn): Sharp => {
  // The library mirrors before it turns, whatever the order of the calls.
  const isOnSide = angle === 90 || angle === 270;
  const mirrorsRows = flip === (isOnSide ? 'horizontal' : 'vertical');
  const mirrored = flip === undefined ? picture : mirrorsRows ? picture.flip() : picture.flop();
  return angle === 0 ? mirrored : mirrored.rotate(angle);
};

/**
 * Turns every frame of an animation. The library takes the frames for one tall picture, so each is turned by
 * itself; the colour profile is applied on the way.
 */
const turnFrames = async (
  sharp: SharpLibrary,
  picture: Sharp,
  { width, height, frames }: OpenedPicture,
  turn: Turn,
): Promise<Sharp> => {
  const all = await picture.ensureAlpha().raw().toBuffer();
  const channels = 4;
  const frameBytes = width * height * channels;
  const size = turnedSize({ width, height }, turn);
  const raw = { width: size.width, height: size.height * frames, channels, pageHeight: size.height } as const;
  for (let index = 0; index < frames; index += 1) {
    const frame = all.subarray(index * frameBytes, (index + 1) * frameBytes);
    const turned = await turnFrame(sharp(frame, { raw: { width, height, channels } }), turn)
      .raw()
      .toBuffer();
    turned.copy(frame);
  }
  return sharp(all, { raw, limitInputPixels: false });
};

/** The size of a picture of this size when it has been turned. */
export const turnedSize = ({ width, height }: PictureSize, { angle }: Turn): PictureSize =>
  angle === 90 || angle === 270 ? { width: height, height: width } : { width, height };

/** Turns what has been decoded and stands upright. */
export const turnPixels = (
  sharp: SharpLibrary,
  picture: Sharp,
  original: OpenedPicture,
  turn: Turn,
): Sharp | Promise<Sharp> =>
  original.frames > 1 ? turnFrames(sharp, picture, original, turn) : turnFrame(picture, turn);

/**
 * A JPEG turned by what its EXIF data says of it, for browsers and thumbnails, without loss: its pixels stay
 * as they are. Undefined when that is not possible.
 */
export const turnJpeg = async (
  sharp: SharpLibrary,
  { format, metadata }: OpenedPicture,
  file: Buffer,
  turn: Turn,
): Promise<Buffer | undefined> => {
  if (format !== 'jpeg') return undefined;
  const orientation = turnedOrientation(metadata?.orientation ?? 1, turn);
  const turned = jpegWithOrientation(file, orientation, pictureBudget(file));
  // The library has the last word: odd files can say their orientation twice.
  if (turned === undefined) return undefined;
  return ((await sharp(turned).metadata()).orientation ?? 1) === orientation ? turned : undefined;
};
