import { BrokenImageError } from '../errors/errors.ts';
import { type PictureSize, type Received, type ReceivingPolicy, sizeWithin } from './engine.ts';
import { cleanPicture } from './metadata/clean.ts';
import { gifWithMetadata } from './metadata/gif-webp.ts';
import { jpegWithComments } from './metadata/jpeg-metadata.ts';
import { jpegWithoutPreview } from './metadata/jpeg.ts';
import { pngWithTexts } from './metadata/png.ts';
import {
  decodeUpright,
  fitsFormat,
  type OpenedPicture,
  openPicture,
  type SharpLibrary,
} from './open-picture.ts';
import { extensionsOfFormat, isAnimatedPng, pictureBudget, type WritableFormat } from './picture-file.ts';
import { ENCODERS, keepColours, keepMetadata, requireEditable } from './edit.ts';

/** The processing of an uploaded picture, decided by its header. */
export interface ReceivingPlan {
  readonly original: OpenedPicture;
  readonly policy: ReceivingPolicy;
  readonly format: WritableFormat;
  readonly size: PictureSize;
  readonly isScaled: boolean;
  /** Whether its pixels are encoded again. */
  readonly isDrawn: boolean;
}

/** Metadata that the library does not preserve, or not unchanged, by format. */
const MORE_METADATA: Partial<Record<WritableFormat, typeof jpegWithComments>> = {
  jpeg: jpegWithComments,
  png: pngWithTexts,
  gif: gifWithMetadata,
};

const FORMATS = { jpeg: 'jpeg', webp: 'webp', avif: 'heif' } as const;

/** The format that a picture gets: none that lacks its features (animation, pages, …), and never HEIC. */
const formatFor = (
  { file, format, frames, metadata }: OpenedPicture,
  asked: ReceivingPolicy['format'],
  size: PictureSize,
): WritableFormat => {
  const wanted = asked !== 'keep' && !fitsFormat(size, FORMATS[asked]) ? 'keep' : asked;
  if (format === 'heic') return FORMATS[wanted === 'keep' ? 'jpeg' : wanted];
  if (wanted === 'keep') return format;
  if (format === 'png' && isAnimatedPng(file, pictureBudget(file))) return format;
  if (frames > 1) return format === 'gif' && wanted === 'webp' ? 'webp' : format;
  return wanted === 'jpeg' && metadata?.hasAlpha === true ? format : FORMATS[wanted];
};

const isMarked = async ({ file, format, metadata }: OpenedPicture): Promise<boolean> =>
  format === 'heif' && (await cleanPicture({ file, format, metadata, what: 'metadata' })) === undefined;

/** Whether a picture has to be rotated: its orientation is metadata, which may be removed. */
const isLying = ({ metadata }: OpenedPicture, policy: ReceivingPolicy): boolean =>
  (metadata?.orientation ?? 1) > 1 && (policy.autoOrient || policy.metadata === 'strip');

/** Decides the processing of a picture; decodes nothing. */
export const planReceiving = async (
  original: OpenedPicture,
  policy: ReceivingPolicy,
): Promise<ReceivingPlan> => {
  if (original.format === 'ico')
    return { original, policy, format: 'ico', size: original, isScaled: false, isDrawn: false };
  const size = sizeWithin({ width: policy.maxWidth, height: policy.maxHeight, fit: 'inside' }, original);
  const format = formatFor(original, policy.format, size);
  const isScaled = size.width !== original.width || size.height !== original.height;
  const isDrawn =
    isScaled ||
    format !== original.format ||
    isLying(original, policy) ||
    (policy.metadata === 'strip' && (await isMarked(original)));
  return { original, policy, format, size, isScaled, isDrawn };
};

const draw = async (plan: ReceivingPlan, metadata: 'keep' | 'strip'): Promise<Buffer> => {
  const { original, format, size, isScaled, policy } = plan;
  requireEditable(original, size);
  const upright = await decodeUpright(original);
  const scaled = upright.resize({ width: size.width, height: size.height, fit: 'fill' });
  const picture = keepColours(scaled, original, format);
  if (metadata === 'keep') keepMetadata(picture, original, format);
  const drawn = await ENCODERS[format]({ picture, size, original, isScaled, quality: policy.quality });
  if (metadata === 'strip') return drawn;
  const budget = pictureBudget(original.file);
  const complete = MORE_METADATA[format];
  const commented =
    complete !== undefined && original.format === format ? complete(drawn, original.file, budget) : drawn;
  if (format !== 'jpeg') return commented;
  // The preview in EXIF data would still have the former orientation.
  const isRotated = (original.metadata?.orientation ?? 1) > 1;
  return isRotated ? jpegWithoutPreview(commented, budget) : commented;
};

/** Removes metadata without changing the pixels. Undefined when that is not possible. */
const cleaned = async (
  sharp: SharpLibrary,
  { original, size, format, policy }: ReceivingPlan,
  drawn: Buffer,
  isDrawn: boolean,
): Promise<Buffer | undefined> => {
  const mode = policy.metadata;
  if (mode === 'keep' || (mode === 'strip' && isDrawn)) return drawn;
  // Only for these formats the library must find the metadata.
  const isAsked = isDrawn && (format === 'heif' || format === 'tiff');
  const { metadata } = isAsked ? await openPicture(sharp, drawn, 'first') : original;
  const what = mode === 'strip' ? 'metadata' : 'location';
  const result = await cleanPicture({ file: drawn, format, metadata, what });
  if (result === undefined || result === drawn) return result;
  const { width, height, frames } = await openPicture(sharp, result, 'all');
  if (width === size.width && height === size.height && frames === original.frames) return result;
  throw new BrokenImageError({ detail: 'not readable without its metadata' });
};

/** Processes a picture as planned. `verify` decodes the original completely. */
export const receivePicture = async (
  sharp: SharpLibrary,
  plan: ReceivingPlan,
  verify: () => Promise<void>,
): Promise<Received> => {
  const { original, format, size, policy, isDrawn } = plan;
  if (!isDrawn) await verify();
  const drawn = isDrawn ? await draw(plan, policy.metadata === 'strip' ? 'strip' : 'keep') : original.file;
  const bytes = (await cleaned(sharp, plan, drawn, isDrawn)) ?? (await draw(plan, 'strip'));
  const { width, height } = size;
  return {
    bytes,
    isChanged: bytes !== original.file,
    extensions: extensionsOfFormat[format],
    size: { width, height },
  };
};
