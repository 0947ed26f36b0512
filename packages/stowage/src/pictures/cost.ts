import { BrokenImageError, InvalidParametersError } from '../errors/errors.ts';
import { MAX_DECODED_PIXELS, MAX_RESULT_PIXELS, type PictureSize, type ThumbnailSpec } from './engine.ts';
import type { OpenedPicture } from './open-picture.ts';
import type { PictureFormat, WritableFormat } from './picture-format.ts';

/**
 * JPEG results above are written row by row: the best tables of codes, and several passes, need the whole
 * picture in memory.
 */
export const WHOLE_JPEG_PIXELS = 24_000_000;

/** Formats whose decoders hold a whole frame, and the bytes of it for each pixel. */
const WHOLE_FRAMES: Partial<Readonly<Record<PictureFormat, number>>> = {
  gif: 5,
  webp: 5,
  heif: 6,
  // The decoder's memory, its result, and the file that carries that on.
  heic: 16,
  // Unpacked in JavaScript, and a second time when the alpha channel is empty.
  bmp: 8,
  ico: 8,
};
/** Rows that are in memory at the same time where a picture is decoded row by row. */
const ROWS = 512;

/** Samples of a pixel that a progressive JPEG keeps, of two bytes each. */
const coefficients = ({ metadata }: OpenedPicture): number => {
  const channels = metadata?.channels ?? 3;
  return channels === 3 && metadata?.chromaSubsampling === '4:2:0' ? 1.5 : channels;
};

/**
 * Estimates the bytes of memory that decoding takes at most. A picture that lies on its side is decoded whole
 * before it is rotated, except for a thumbnail, which is scaled down first.
 */
export const decodingBytes = (picture: OpenedPicture, use: 'thumbnail' | 'whole'): number => {
  const { format, width, height, frames, metadata } = picture;
  const pixels = width * height * frames;
  const sampleBytes = metadata?.depth === 'uchar' || metadata === undefined ? 1 : 2;
  const pixelBytes = (metadata?.channels ?? 4) * sampleBytes;
  const wholeBytes = WHOLE_FRAMES[format];
  if (wholeBytes !== undefined) return pixels * Math.max(wholeBytes, pixelBytes + 1);
  const isRotated = use === 'whole' && (metadata?.orientation ?? 1) > 1;
  const rows = isRotated ? pixels * pixelBytes : Math.max(width, height) * ROWS * pixelBytes;
  if (metadata?.isProgressive !== true) return Math.min(rows, pixels * pixelBytes);
  const whole = format === 'jpeg' ? coefficients(picture) * 2 : pixelBytes + 1;
  return pixels * whole + (isRotated ? rows : 0);
};

/**
 * What writing a pixel costs: bytes of memory, the result included, and seconds of a core for a million of
 * them.
 */
interface WritingCost {
  readonly bytes: number;
  readonly seconds: number;
}

const WRITING: Readonly<Record<WritableFormat, WritingCost>> = {
  jpeg: { bytes: 1, seconds: 0.1 },
  png: { bytes: 4, seconds: 0.2 },
  gif: { bytes: 20, seconds: 0.6 },
  webp: { bytes: 11, seconds: 0.3 },
  // The encoder holds a picture many times over, whatever it is asked for.
  heif: { bytes: 34, seconds: 0.8 },
  tiff: { bytes: 4, seconds: 0.1 },
  bmp: { bytes: 8, seconds: 0.05 },
  ico: { bytes: 4, seconds: 0.2 },
};
const WHOLE_JPEG_BYTES = 8;
const LOSSLESS_WEBP: WritingCost = { bytes: 36, seconds: 0.6 };

/** Seconds of a core that writing one result may take. Nothing can stop an encoder before its end. */
const MAX_SECONDS = 30;

/**
 * Estimates the bytes of memory that an edit takes at most whose result has this format.
 * @throws InvalidParametersError when the result has too many pixels, or its format takes too long to write
 */
export const editingBytes = (
  picture: OpenedPicture,
  result: PictureSize,
  isLossless: boolean,
  format: WritableFormat,
): number => {
  const pixels = result.width * result.height;
  const total = pixels * picture.frames;
  const cost = format === 'webp' && isLossless ? LOSSLESS_WEBP : WRITING[format];
  if (
    pixels > MAX_RESULT_PIXELS ||
    total > MAX_DECODED_PIXELS ||
    (total / 1_000_000) * cost.seconds > MAX_SECONDS
  ) {
    throw new InvalidParametersError('The result would have too many pixels.');
  }
  const isWholeJpeg = format === 'jpeg' && pixels <= WHOLE_JPEG_PIXELS;
  return decodingBytes(picture, 'whole') + total * (isWholeJpeg ? WHOLE_JPEG_BYTES : cost.bytes);
};

/**
 * Estimates the bytes that rotating takes besides: a picture is rotated whole, and the frames of an animation
 * wait as pixels until the last one is rotated.
 */
export const rotationBytes = ({ width, height, frames, metadata }: OpenedPicture): number =>
  width * height * (frames > 1 ? 4 * (frames + 2) : (metadata?.channels ?? 4) * 2);

/** Estimates the bytes that writing a thumbnail or variant takes. Small ones cost next to nothing. */
export const showingBytes = ({ width, height, format }: ThumbnailSpec): number => {
  const cost = WRITING[format === 'avif' ? 'heif' : format];
  return (width ?? height ?? 0) * (height ?? width ?? 0) * cost.bytes;
};

/** @throws BrokenImageError when work on a picture needs more memory than there is for all */
export const requireMemory = (bytes: number, limit: number): number => {
  if (bytes <= limit) return bytes;
  throw new BrokenImageError({
    message: 'The image has too many pixels.',
    detail: `needs ${String(Math.ceil(bytes / 1024 ** 2))} MB of imageMemory`,
  });
};
