import type sharpModule from 'sharp';
import type { Metadata, Sharp, SharpOptions } from 'sharp';
import { Once } from '../basics/concurrency/abort.ts';
import { BrokenImageError, InvalidParametersError, StowageError } from '../errors/errors.ts';
import { type Pixels, readBmpFileHeader } from './bmp-header.ts';
import { decodeBmp } from './bmp.ts';
import {
  MAX_DECODED_PIXELS,
  MAX_PICTURE_BYTES,
  MAX_RESULT_PIXELS,
  type PictureSize,
  type ThumbnailSpec,
} from './engine.ts';
import { decodeIcoBitmap, readIco } from './ico.ts';
import { hasTangledExif } from './metadata/exif.ts';
import { isLosslessWebp } from './metadata/gif-webp.ts';
import { isTiled } from './metadata/heif.ts';
import { readHeader } from './metadata/jpeg.ts';
import { withoutLongTexts } from './metadata/png.ts';
import { pictureBudget, type PictureFormat, sniffPicture, type WritableFormat } from './picture-file.ts';

export type SharpLibrary = typeof sharpModule;

/** Pictures are passed as bytes, never as a path: some formats could refer to other files of the folder. */
export const READ_OPTIONS: SharpOptions = {
  limitInputPixels: MAX_DECODED_PIXELS,
  sequentialRead: true,
  // Rejects truncated and damaged pictures, but tolerates harmless deviations of cameras.
  failOn: 'error',
};

/** Loads the library with the first picture: the service starts a tenth of a second faster. */
export const createSharpLoader = (): (() => Promise<SharpLibrary>) => {
  const library = new Once<SharpLibrary>();
  const load = async (): Promise<SharpLibrary> => {
    const { default: sharp } = await import('sharp');
    // The same picture is rarely decoded twice; cached pixels would only take memory.
    sharp.cache(false);
    return sharp;
  };
  return () => library.get(load);
};

/** Converts errors of the library into ours: they contain nothing useful for a client. */
export const asBroken = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StowageError ? error : new BrokenImageError({ cause: error });
  }
};

/** A picture whose header has been read and is within the limits. Nothing is decoded yet. */
export interface OpenedPicture {
  /** The whole file; the decoded bytes may be a part of it. */
  readonly file: Buffer;
  readonly format: PictureFormat;
  /** Size of a frame in displayed orientation. */
  readonly width: number;
  readonly height: number;
  readonly frames: number;
  /** Metadata by the library; undefined for pixels that it does not decode (BMP, bitmaps in ICO). */
  readonly metadata: Metadata | undefined;
  /** Starts to decode the first frame, all frames, or one page. The result has the stored orientation. */
  readonly decode: (page?: number) => Promise<Sharp>;
}

/** Starts to decode a picture in its displayed orientation. */
export const decodeUpright = async ({ decode, metadata }: OpenedPicture): Promise<Sharp> => {
  const picture = await decode();
  return (metadata?.orientation ?? 1) > 1 ? picture.autoOrient() : picture;
};

const requireDecodable = ({ width, height, frames }: Pick<OpenedPicture, 'width' | 'height' | 'frames'>) => {
  const pixels = width * height * frames;
  if (pixels >= 1 && pixels <= MAX_DECODED_PIXELS) return;
  throw new BrokenImageError({
    message: 'The image has too many pixels.',
    detail: `${width}x${height}, ${frames} frames`,
  });
};

const openUnpacked = (
  sharp: SharpLibrary,
  seen: Pick<OpenedPicture, 'file' | 'format' | 'width' | 'height'>,
  unpack: () => Promise<Pixels>,
): OpenedPicture => ({
  ...seen,
  frames: 1,
  metadata: undefined,
  decode: async () => {
    const { data, ...raw } = await unpack();
    return sharp(data, { raw, limitInputPixels: MAX_DECODED_PIXELS });
  },
});

const openEncoded = async (
  sharp: SharpLibrary,
  { file, format }: Pick<OpenedPicture, 'file' | 'format'>,
  encoded: Buffer,
  frames: 'first' | 'all',
): Promise<OpenedPicture> => {
  const budget = pictureBudget(encoded);
  const header = format === 'jpeg' ? encoded.subarray(0, readHeader(encoded, budget)?.scan) : encoded;
  if (await hasTangledExif(header, budget))
    throw new BrokenImageError({ detail: 'EXIF data that refers to itself' });
  const bytes = await withoutLongTexts(encoded, budget);
  // Without the library's own limit: ours has the clearer message, and nothing is decoded here.
  const read = (page: number): Promise<Metadata> =>
    sharp(bytes, { ...READ_OPTIONS, limitInputPixels: false, page }).metadata();
  const first = await read(0);
  // A HEIF file may contain several pictures; only the primary one is shown.
  const shown = first.pagePrimary ?? 0;
  const metadata = shown === 0 ? first : await read(shown);
  // The frames of an animation are never rotated: browsers differ, and the library rejects it.
  const isAnimation = format === 'webp' && (metadata.pages ?? 1) > 1;
  const { width, height } = isAnimation ? metadata : metadata.autoOrient;
  const isSingle = format === 'heic' || (format === 'heif' && isTiled(encoded, budget));
  const count = frames === 'all' && !isSingle ? (metadata.pages ?? 1) : 1;
  requireDecodable({ width, height, frames: count });
  const animated = count > 1;
  return {
    file,
    format,
    width,
    height,
    frames: count,
    metadata: isAnimation ? { ...metadata, orientation: 1 } : metadata,
    decode: (page) =>
      Promise.resolve(sharp(bytes, { ...READ_OPTIONS, ...(page === undefined ? { animated } : { page }) })),
  };
};

/**
 * Detects the format by content, reads the header and checks it. Of an icon file the largest picture is
 * opened.
 * @throws BrokenImageError; errors of the library, which the caller converts
 */
export const openPicture = async (
  sharp: SharpLibrary,
  file: Buffer,
  frames: 'first' | 'all',
): Promise<OpenedPicture> => {
  if (file.length > MAX_PICTURE_BYTES) throw new BrokenImageError('The image file is too large.');
  const format = sniffPicture(file);
  if (format === undefined) throw new BrokenImageError();
  if (format === 'bmp') {
    const { width, height } = readBmpFileHeader(file).header;
    return openUnpacked(sharp, { file, format, width, height }, () => decodeBmp(file));
  }
  const [entry] = format === 'ico' ? readIco(file) : [];
  if (entry?.kind === 'bmp') {
    const { width, height } = entry;
    return openUnpacked(sharp, { file, format, width, height }, () => decodeIcoBitmap(entry));
  }
  return openEncoded(sharp, { file, format }, entry?.data ?? file, frames);
};

export const isLossless = ({ file, format }: OpenedPicture): boolean =>
  format === 'webp' && isLosslessWebp(file, pictureBudget(file));

/** Larger JPEG results are written row by row: optimised tables and progressive scans need them whole. */
export const WHOLE_JPEG_PIXELS = 24_000_000;

/** Formats whose decoders hold a whole frame, with the bytes per pixel. */
const WHOLE_FRAMES: Partial<Readonly<Record<PictureFormat, number>>> = {
  gif: 5,
  webp: 5,
  heif: 6,
  // Memory of the decoder, its result, and the intermediate file.
  heic: 16,
  // Decoded in JavaScript, and twice when the alpha channel is empty.
  bmp: 8,
  ico: 8,
};
/** Rows that are in memory when a picture is decoded row by row. */
const ROWS = 512;

/** Samples per pixel that a progressive JPEG buffers, of two bytes each. */
const coefficients = ({ metadata }: OpenedPicture): number => {
  const channels = metadata?.channels ?? 3;
  return channels === 3 && metadata?.chromaSubsampling === '4:2:0' ? 1.5 : channels;
};

/**
 * Estimates the maximum memory of decoding in bytes. A picture that must be rotated is decoded whole first,
 * except for a thumbnail, which is scaled down first.
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

/** Cost of encoding: bytes of memory per pixel, result included, and core seconds per million pixels. */
interface WritingCost {
  readonly bytes: number;
  readonly seconds: number;
}

const WRITING: Readonly<Record<WritableFormat, WritingCost>> = {
  jpeg: { bytes: 1, seconds: 0.1 },
  png: { bytes: 4, seconds: 0.2 },
  gif: { bytes: 20, seconds: 0.6 },
  webp: { bytes: 11, seconds: 0.3 },
  // The encoder holds many copies of a picture, with any options.
  heif: { bytes: 34, seconds: 0.8 },
  tiff: { bytes: 4, seconds: 0.1 },
  bmp: { bytes: 8, seconds: 0.05 },
  ico: { bytes: 4, seconds: 0.2 },
};
const WHOLE_JPEG_BYTES = 8;
const LOSSLESS_WEBP: WritingCost = { bytes: 36, seconds: 0.6 };

/** Longest side in pixels that a format can store. */
const MAX_SIDES: Readonly<Partial<Record<WritableFormat, number>>> = {
  jpeg: 65_500,
  gif: 65_535,
  webp: 16_383,
  heif: 16_384,
};

export const fitsFormat = ({ width, height }: PictureSize, format: WritableFormat): boolean =>
  Math.max(width, height) <= (MAX_SIDES[format] ?? Infinity);

/** Maximum estimated time of encoding one result, in seconds of a core. An encoder cannot be interrupted. */
const MAX_SECONDS = 30;

/**
 * Estimates the maximum memory in bytes of an edit with a result of this format.
 * @throws InvalidParametersError when the result has too many pixels, or its format takes too long to encode
 */
export const editingBytes = (picture: OpenedPicture, result: PictureSize, format: WritableFormat): number => {
  const pixels = result.width * result.height;
  const total = pixels * picture.frames;
  const cost = format === 'webp' && isLossless(picture) ? LOSSLESS_WEBP : WRITING[format];
  if (
    pixels > MAX_RESULT_PIXELS ||
    total > MAX_DECODED_PIXELS ||
    !fitsFormat(result, format) ||
    (total / 1_000_000) * cost.seconds > MAX_SECONDS
  ) {
    throw new InvalidParametersError('The result would have too many pixels.');
  }
  const isWholeJpeg = format === 'jpeg' && pixels <= WHOLE_JPEG_PIXELS;
  return decodingBytes(picture, 'whole') + total * (isWholeJpeg ? WHOLE_JPEG_BYTES : cost.bytes);
};

/**
 * Estimates the additional memory of rotating in bytes: a picture is rotated whole, and the frames of an
 * animation are held as pixels until the last one is rotated.
 */
export const rotationBytes = ({ width, height, frames, metadata }: OpenedPicture): number =>
  width * height * (frames > 1 ? 4 * (frames + 2) : (metadata?.channels ?? 4) * 2);

/** Estimates the memory of encoding a thumbnail or variant in bytes. Small ones cost next to nothing. */
export const showingBytes = ({ width, height, format }: ThumbnailSpec): number => {
  const cost = WRITING[format === 'avif' ? 'heif' : format];
  return (width ?? height ?? 0) * (height ?? width ?? 0) * cost.bytes;
};

/** @throws BrokenImageError when processing a picture needs more than the whole memory limit */
export const requireMemory = (bytes: number, limit: number): number => {
  if (bytes <= limit) return bytes;
  throw new BrokenImageError({
    message: 'The image has too many pixels.',
    detail: `needs ${String(Math.ceil(bytes / 1024 ** 2))} MB of imageMemory`,
  });
};
