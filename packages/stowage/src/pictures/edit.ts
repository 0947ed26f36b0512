import type { PngOptions, Sharp } from 'sharp';
import { BrokenImageError } from '../errors/errors.ts';
import { encodeBmp } from './bmp.ts';
import {
  decodeUpright,
  isLossless,
  type OpenedPicture,
  type SharpLibrary,
  WHOLE_JPEG_PIXELS,
} from './open-picture.ts';
import type { Edit, PictureSize, Rotation } from './engine.ts';
import { encodeIco, requireIconSize } from './ico.ts';
import { jpegWithOrientation, rotatedOrientation } from './metadata/jpeg.ts';
import { pngWithColours } from './metadata/png.ts';
import { isAnimatedPng, pictureBudget, type PictureFormat, type WritableFormat } from './picture-file.ts';

/** Rotates a picture of one frame, then mirrors the result. */
const rotateFrame = (picture: Sharp, { angle, flip }: Rotation): Sharp => {
  // The library always mirrors before it rotates, in any order of calls.
  const isOnSide = angle === 90 || angle === 270;
  const mirrorsRows = flip === (isOnSide ? 'horizontal' : 'vertical');
  const mirrored = flip === undefined ? picture : mirrorsRows ? picture.flip() : picture.flop();
  return angle === 0 ? mirrored : mirrored.rotate(angle);
};

/**
 * Rotates every frame of an animation. For the library the frames are one tall picture, so each is rotated
 * separately; the colour profile is applied in the process.
 */
const rotateFrames = async (
  sharp: SharpLibrary,
  picture: Sharp,
  { width, height, frames }: OpenedPicture,
  rotation: Rotation,
): Promise<Sharp> => {
  const all = await picture.ensureAlpha().raw().toBuffer();
  const channels = 4;
  const frameBytes = width * height * channels;
  const size = rotatedSize({ width, height }, rotation);
  const raw = { width: size.width, height: size.height * frames, channels, pageHeight: size.height } as const;
  for (let index = 0; index < frames; index += 1) {
    const frame = all.subarray(index * frameBytes, (index + 1) * frameBytes);
    const rotated = await rotateFrame(sharp(frame, { raw: { width, height, channels } }), rotation)
      .raw()
      .toBuffer();
    rotated.copy(frame);
  }
  return sharp(all, { raw, limitInputPixels: false });
};

const rotatedSize = ({ width, height }: PictureSize, { angle }: Rotation): PictureSize =>
  angle === 90 || angle === 270 ? { width: height, height: width } : { width, height };

/**
 * Rotates a JPEG losslessly by its EXIF orientation, which browsers and thumbnails respect: its pixels stay
 * unchanged. Undefined when that is not possible.
 */
export const rotateJpeg = async (
  sharp: SharpLibrary,
  { file, format, metadata }: OpenedPicture,
  rotation: Rotation,
): Promise<Buffer | undefined> => {
  if (format !== 'jpeg') return undefined;
  const orientation = rotatedOrientation(metadata?.orientation ?? 1, rotation);
  const rotated = jpegWithOrientation(file, orientation, pictureBudget(file));
  // Checked with the library: unusual files may contain the orientation twice.
  if (rotated === undefined) return undefined;
  return ((await sharp(rotated).metadata()).orientation ?? 1) === orientation ? rotated : undefined;
};

const JPEG_QUALITY = 92;
const WEBP_QUALITY = 90;
/** Computing a palette takes long. Larger results become true colour. */
const PALETTE_PIXELS = 6_000_000;
/** Palettes of larger GIF and PNG results get less effort: noise would take 10 s per megapixel. */
const CAREFUL_PALETTE_PIXELS = 1_000_000;
/** Larger lossless WebP results are written with less effort. */
const CAREFUL_WEBP_PIXELS = 4_000_000;
const AVIF_QUALITY = 65;
/** Effort of the AVIF encoder by size: at the highest effort a large picture takes minutes. */
const AVIF_EFFORTS: readonly (readonly [pixels: number, effort: number])[] = [
  [1_000_000, 4],
  [6_000_000, 2],
];

const isPrint = ({ metadata }: OpenedPicture): boolean => metadata?.space === 'cmyk';

const isGrey = ({ metadata }: OpenedPicture): boolean =>
  metadata?.space === 'b-w' || metadata?.space === 'grey16';

const keepSamples = (picture: Sharp, original: OpenedPicture): Sharp => {
  const { metadata } = original;
  if (isPrint(original)) return picture.pipelineColourspace('cmyk').toColourspace('cmyk');
  if (metadata?.depth === 'ushort') return picture.toColourspace(isGrey(original) ? 'grey16' : 'rgb16');
  return isGrey(original) ? picture.toColourspace('b-w') : picture;
};

// CMYK and greyscale become sRGB in another format.
const keepsProfile = (original: OpenedPicture, format: PictureFormat): boolean =>
  original.metadata?.hasProfile === true &&
  (format === original.format || !(isPrint(original) || isGrey(original)));

/**
 * Preserves CMYK, greyscale and depth of the original, if the format stays the same; otherwise everything
 * becomes RGB of 8 bits. A profile is preserved if it still describes the pixels.
 */
export const keepColours = (
  picture: Sharp,
  original: OpenedPicture,
  format: PictureFormat = original.format,
): Sharp => {
  const profiled = keepsProfile(original, format) ? picture.keepIccProfile() : picture;
  return format === original.format ? keepSamples(profiled, original) : profiled;
};

/** Preserves EXIF, XMP, IPTC and comments; the profile as in `keepColours`. */
export const keepMetadata = (picture: Sharp, original: OpenedPicture, format: PictureFormat): void => {
  const dropsProfile = original.metadata?.hasProfile === true && !keepsProfile(original, format);
  // The library preserves IPTC only together with the profile.
  if (dropsProfile) picture.keepExif().keepXmp();
  else picture.keepMetadata();
};

/** Loops and delays of an animation, for pixels without them. */
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

interface Edited {
  readonly picture: Sharp;
  readonly size: PictureSize;
  readonly original: OpenedPicture;
  readonly isScaled: boolean;
  /** Quality of JPEG, WebP and AVIF, 1 to 100; by default one without a visible difference. */
  readonly quality?: number | undefined;
}

/** Full effort also finds the exact palette of a frame that is merely cropped or rotated, in little time. */
export const paletteEffort = ({ size, original, isScaled }: Omit<Edited, 'picture'>): number => {
  const isExact = !isScaled && original.frames === 1;
  return isExact || size.width * size.height * original.frames <= CAREFUL_PALETTE_PIXELS ? 7 : 1;
};

/** Options of PNG: with a palette if the original has one, and the result is not too large for it. */
export const paletteOptions = (edited: Omit<Edited, 'picture'>): PngOptions => {
  const { size, original } = edited;
  const palette = original.metadata?.isPalette === true && size.width * size.height <= PALETTE_PIXELS;
  return palette ? { palette, effort: paletteEffort(edited) } : {};
};

const encodeJpeg = ({ picture, size, original, quality = JPEG_QUALITY }: Edited): Promise<Buffer> => {
  const isLarge = size.width * size.height > WHOLE_JPEG_PIXELS;
  const metadata = original.format === 'jpeg' ? original.metadata : undefined;
  return (original.format === 'jpeg' ? picture : picture.flatten({ background: '#ffffff' }))
    .jpeg({
      quality,
      progressive: metadata?.isProgressive === true && !isLarge,
      optimizeCoding: !isLarge,
      chromaSubsampling: metadata?.chromaSubsampling?.startsWith('4:4:4') === true ? '4:4:4' : '4:2:0',
    })
    .toBuffer();
};

const encodeAvif = ({ picture, size, original, quality = AVIF_QUALITY }: Edited): Promise<Buffer> => {
  const bits = original.format === 'heif' ? original.metadata?.bitsPerSample : undefined;
  const bitdepth = bits === 10 || bits === 12 ? bits : 8;
  return picture.avif({ quality, effort: avifEffort(size), bitdepth }).toBuffer();
};

/** Encoders; each uses the options of the original if the format is the same. @throws BrokenImageError */
export const ENCODERS: Readonly<Record<WritableFormat, (edited: Edited) => Promise<Buffer>>> = {
  jpeg: encodeJpeg,
  png: async (edited) => {
    const { picture, original } = edited;
    const progressive = original.metadata?.isProgressive ?? false;
    const png = await picture.png({ ...paletteOptions(edited), progressive }).toBuffer();
    return pngWithColours(png, original.file, pictureBudget(original.file));
  },
  // A crop without visible motion must last as long as the animation.
  gif: (edited) =>
    edited.picture
      .gif({ keepDuplicateFrames: true, effort: paletteEffort(edited), ...timing(edited.original) })
      .toBuffer(),
  webp: ({ picture, size, original, quality = WEBP_QUALITY }) => {
    const effort = size.width * size.height > CAREFUL_WEBP_PIXELS ? 0 : 4;
    const choices = isLossless(original) ? { lossless: true, effort } : { quality };
    return picture.webp({ ...choices, ...timing(original) }).toBuffer();
  },
  heif: encodeAvif,
  tiff: ({ picture, original: { metadata } }) => {
    const pixelsPerMillimetre = (metadata?.density ?? 25.4) / 25.4;
    const resolution = { xres: pixelsPerMillimetre, yres: pixelsPerMillimetre };
    return picture.tiff({ compression: 'lzw', predictor: 'horizontal', ...resolution }).toBuffer();
  },
  bmp: ({ picture }) => toBmp(picture),
  ico: async ({ picture, size }) => encodeIco(await picture.png().toBuffer(), size),
};

const apply = (sharp: SharpLibrary, picture: Sharp, original: OpenedPicture, edit: Edit) => {
  if (edit.kind === 'rotate')
    return original.frames > 1
      ? rotateFrames(sharp, picture, original, edit.rotation)
      : rotateFrame(picture, edit.rotation);
  if (edit.kind === 'resize') return picture.resize({ ...edit.to, fit: 'fill' });
  const { x: left, y: top, width, height } = edit.box;
  return picture.extract({ left, top, width, height });
};

export const sizeAfter = (edit: Edit, seen: PictureSize): PictureSize => {
  if (edit.kind === 'rotate') return rotatedSize(seen, edit.rotation);
  return edit.kind === 'resize' ? edit.to : edit.box;
};

/** The format of an edited picture. @throws BrokenImageError for HEIC */
export const formatOfEdited = ({ format }: OpenedPicture): WritableFormat => {
  if (format === 'heic') throw new BrokenImageError();
  return format;
};

const isOfWholeColours = (metadata: OpenedPicture['metadata']): boolean =>
  (metadata?.depth === 'uchar' || metadata?.depth === 'ushort') && !metadata.space.startsWith('lab');

/** Rejects pictures that the library would save incompletely, or with their frames in one picture. */
export const requireEditable = (
  { file, format, frames, metadata }: OpenedPicture,
  result: PictureSize,
): void => {
  if (format === 'ico') requireIconSize(result);
  if ((format === 'tiff' || format === 'heif') && frames > 1) {
    throw new BrokenImageError('Pictures of several pages cannot be edited.');
  }
  // The library would convert it to sRGB of 8 bits.
  if (format === 'tiff' && !isOfWholeColours(metadata)) {
    throw new BrokenImageError('TIFF images in Lab colours or of floating-point numbers cannot be edited.');
  }
  if (format === 'png' && isAnimatedPng(file, pictureBudget(file))) {
    throw new BrokenImageError('Animated PNG images cannot be edited.');
  }
  if (format === 'heif' && metadata?.compression !== 'av1') throw new BrokenImageError();
};

/** Decodes, orients, edits and encodes. @throws BrokenImageError; errors of the library */
export const renderEdit = async (
  sharp: SharpLibrary,
  original: OpenedPicture,
  edit: Edit,
): Promise<Buffer> => {
  const size = sizeAfter(edit, original);
  requireEditable(original, size);
  const applied = await apply(sharp, await decodeUpright(original), original, edit);
  const picture = keepColours(applied, original);
  const isScaled = edit.kind === 'resize';
  return ENCODERS[formatOfEdited(original)]({ picture, size, original, isScaled });
};
