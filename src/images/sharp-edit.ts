import type { Sharp } from 'sharp';
import { BrokenImageError } from '../errors/errors.ts';
import { encodeBmp } from './bmp-writer.ts';
import { WHOLE_JPEG_PIXELS } from './cost.ts';
import type { Edit, PictureSize } from './engine.ts';
import { encodeIco, requireIconSize } from './ico.ts';
import type { OpenedPicture } from './open-picture.ts';
import { isAnimatedPng, isLosslessWebp, type PictureFormat } from './picture-format.ts';
import type { SharpLibrary } from './sharp-library.ts';
import { turnedSize, turnPixels } from './turn.ts';

const JPEG_QUALITY = 92;
const WEBP_QUALITY = 90;
/** Finding the colours of a palette takes long. Larger results become true colour. */
const PALETTE_PIXELS = 6_000_000;
/**
 * Larger GIF and palette PNG results find their colours with less effort: noise takes ten seconds a megapixel
 * otherwise.
 */
const CAREFUL_PALETTE_PIXELS = 1_000_000;
/** Larger lossless WebP results are written with less effort. */
const CAREFUL_WEBP_PIXELS = 4_000_000;
const AVIF_QUALITY = 65;
/** How hard the AVIF encoder tries, by size: at the highest effort a large picture takes minutes. */
const AVIF_EFFORTS: readonly (readonly [pixels: number, effort: number])[] = [
  [1_000_000, 4],
  [6_000_000, 2],
];

const isPrint = ({ metadata }: OpenedPicture): boolean => metadata?.space === 'cmyk';

/**
 * Keeps the print colours, the greys and the depth of the original; without it everything becomes RGB of 8
 * bits.
 */
const keepColours = (picture: Sharp, original: OpenedPicture): Sharp => {
  const { metadata } = original;
  if (isPrint(original)) return picture.pipelineColourspace('cmyk').toColourspace('cmyk');
  const isGrey = metadata?.space === 'b-w' || metadata?.space === 'grey16';
  if (metadata?.depth === 'ushort') return picture.toColourspace(isGrey ? 'grey16' : 'rgb16');
  return isGrey ? picture.toColourspace('b-w') : picture;
};

/** A profile goes on describing the pixels that it belongs to. */
const keepProfile = (picture: Sharp, { metadata }: OpenedPicture): Sharp =>
  metadata?.hasProfile === true ? picture.keepIccProfile() : picture;

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

/** Loops and delays of an animation, for pixels that have lost them on their way. */
const timing = ({ frames, metadata }: OpenedPicture): { loop?: number; delay?: number[] } => {
  if (frames === 1) return {};
  return {
    ...(metadata?.loop === undefined ? {} : { loop: metadata.loop }),
    ...(metadata?.delay === undefined ? {} : { delay: metadata.delay }),
  };
};

const toBmp = async (picture: Sharp): Promise<Buffer> => {
  const { data, info } = await picture.raw().toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  if (channels === 3 || channels === 4) return encodeBmp({ data, width, height, channels });
  throw new BrokenImageError({ detail: `bitmap of ${channels} channels` });
};

const avifEffort = ({ width, height }: PictureSize): number =>
  AVIF_EFFORTS.find(([pixels]) => width * height <= pixels)?.[1] ?? 0;

const paletteEffort = ({ width, height }: PictureSize, frames: number): number =>
  width * height * frames > CAREFUL_PALETTE_PIXELS ? 1 : 7;

/** A picture that has been edited and waits to be written, beside what it was before. */
interface Edited {
  readonly picture: Sharp;
  readonly size: PictureSize;
  readonly original: OpenedPicture;
  /** The original's bytes. */
  readonly file: Buffer;
}

const encodeJpeg = ({ picture, size, original: { metadata } }: Edited): Promise<Buffer> => {
  const isLarge = size.width * size.height > WHOLE_JPEG_PIXELS;
  return picture
    .jpeg({
      quality: JPEG_QUALITY,
      progressive: metadata?.isProgressive === true && !isLarge,
      optimizeCoding: !isLarge,
      chromaSubsampling: metadata?.chromaSubsampling?.startsWith('4:4:4') === true ? '4:4:4' : '4:2:0',
    })
    .toBuffer();
};

const encodeAvif = ({ picture, size, original }: Edited): Promise<Buffer> => {
  const bits = original.metadata?.bitsPerSample;
  const bitdepth = bits === 10 || bits === 12 ? bits : 8;
  return picture.avif({ quality: AVIF_QUALITY, effort: avifEffort(size), bitdepth }).toBuffer();
};

/** Each writes with the choices that the original was written with. */
const ENCODERS: Readonly<Record<PictureFormat, (edited: Edited) => Promise<Buffer>>> = {
  jpeg: encodeJpeg,
  png: ({ picture, size, original: { metadata } }) => {
    const palette = metadata?.isPalette === true && size.width * size.height <= PALETTE_PIXELS;
    const effort = palette ? { palette, effort: paletteEffort(size, 1) } : {};
    return picture.png({ ...effort, progressive: metadata?.isProgressive ?? false }).toBuffer();
  },
  // A box in which nothing moves is still as long as the animation.
  gif: ({ picture, size, original }) => {
    const effort = paletteEffort(size, original.frames);
    return picture.gif({ keepDuplicateFrames: true, effort, ...timing(original) }).toBuffer();
  },
  webp: ({ picture, size, file, original }) => {
    const effort = size.width * size.height > CAREFUL_WEBP_PIXELS ? 0 : 4;
    const quality = isLosslessWebp(file) ? { lossless: true, effort } : { quality: WEBP_QUALITY };
    return picture.webp({ ...quality, ...timing(original) }).toBuffer();
  },
  heif: encodeAvif,
  tiff: ({ picture }) => picture.tiff({ compression: 'lzw', predictor: 'horizontal' }).toBuffer(),
  bmp: ({ picture }) => toBmp(picture),
  ico: async ({ picture, size }) => encodeIco(await picture.png().toBuffer(), size),
};

/** Refuses what the library could only give back in part, or with its frames in one heap. */
const requireEditable = (
  { format, frames, metadata }: OpenedPicture,
  file: Buffer,
  result: PictureSize,
): void => {
  if (format === 'ico') requireIconSize(result);
  if ((format === 'tiff' || format === 'heif') && frames > 1) {
    throw new BrokenImageError('Pictures of several pages cannot be edited.');
  }
  if (format === 'png' && isAnimatedPng(file)) {
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
  const upright = (await original.decode()).autoOrient();
  const applied = await apply(sharp, upright, original, edit);
  const picture = keepProfile(keepColours(applied, original), original);
  return ENCODERS[original.format]({ picture, size, original, file });
};
