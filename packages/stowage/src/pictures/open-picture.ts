import type sharpModule from 'sharp';
import type { Metadata, Sharp, SharpOptions } from 'sharp';
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
import { startOfScan } from './metadata/jpeg.ts';
import { withoutLongTexts } from './metadata/png.ts';
import { pictureBudget, type PictureFormat, sniffPicture, type WritableFormat } from './picture-file.ts';

/** The library that decodes and encodes. */
export type SharpLibrary = typeof sharpModule;

/** Pictures are given as bytes, never as a path: one must not be able to name other files of its folder. */
export const READ_OPTIONS: SharpOptions = {
  limitInputPixels: MAX_DECODED_PIXELS,
  sequentialRead: true,
  // Cut-off and damaged pictures are refused; the harmless oddities of cameras are not.
  failOn: 'error',
};

/**
 * Loads the library at the first picture: it takes a tenth of a second, which the start of a service need not
 * wait for.
 */
export const createSharpLoader = (): (() => Promise<SharpLibrary>) => {
  let loading: Promise<SharpLibrary> | undefined;
  return () =>
    (loading ??= import('sharp').then(({ default: sharp }) => {
      // Pictures rarely come twice; their pixels would only fill the memory.
      sharp.cache(false);
      return sharp;
    }));
};

/** Turns what the library throws into our error: it says nothing that a client could use. */
export const asBroken = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StowageError ? error : new BrokenImageError({ cause: error });
  }
};

/** A picture whose header has been read and found within the limits. Nothing is decoded yet. */
export interface OpenedPicture {
  /** The whole file; the bytes that are decoded may be a part of it. */
  readonly file: Buffer;
  readonly format: PictureFormat;
  /** Of a frame as it is meant to be seen. */
  readonly width: number;
  readonly height: number;
  readonly frames: number;
  /** What the library says of it; undefined where the pixels come from elsewhere (BMP, bitmaps in ICO). */
  readonly metadata: Metadata | undefined;
  /**
   * Begins to decode: the first frame, or all of them, or one page. The picture comes as it is stored, not yet
   * rotated upright.
   */
  readonly decode: (page?: number) => Promise<Sharp>;
}

/** Begins to decode a picture, rotated as it is meant to be seen. */
export const decodeUpright = async ({ decode, metadata }: OpenedPicture): Promise<Sharp> => {
  const picture = await decode();
  return (metadata?.orientation ?? 1) > 1 ? picture.autoOrient() : picture;
};

const requireDecodable = ({
  width,
  height,
  frames,
}: Pick<OpenedPicture, 'width' | 'height' | 'frames'>): void => {
  const pixels = width * height * frames;
  if (pixels >= 1 && pixels <= MAX_DECODED_PIXELS) return;
  throw new BrokenImageError({
    message: 'The image has too many pixels.',
    detail: `${width}x${height}, ${frames} frames`,
  });
};

const fromPixels = (sharp: SharpLibrary, { data, width, height, channels }: Pixels): Sharp =>
  sharp(data, { raw: { width, height, channels }, limitInputPixels: MAX_DECODED_PIXELS });

const openUnpacked = (
  sharp: SharpLibrary,
  seen: Pick<OpenedPicture, 'file' | 'format' | 'width' | 'height'>,
  unpack: () => Promise<Pixels>,
): OpenedPicture => ({
  ...seen,
  frames: 1,
  metadata: undefined,
  decode: async () => fromPixels(sharp, await unpack()),
});

const openEncoded = async (
  sharp: SharpLibrary,
  { file, format }: Pick<OpenedPicture, 'file' | 'format'>,
  encoded: Buffer,
  frames: 'first' | 'all',
): Promise<OpenedPicture> => {
  const budget = pictureBudget(encoded);
  const header = format === 'jpeg' ? encoded.subarray(0, startOfScan(encoded, budget)) : encoded;
  if (await hasTangledExif(header, budget))
    throw new BrokenImageError({ detail: 'EXIF data that refers to itself' });
  const bytes = await withoutLongTexts(encoded, budget);
  // Without the library's own limit: ours has the clearer message, and nothing is decoded here.
  const read = (page: number): Promise<Metadata> =>
    sharp(bytes, { ...READ_OPTIONS, limitInputPixels: false, page }).metadata();
  const first = await read(0);
  // A HEIC file may hold several pictures; one of them is shown.
  const shown = format === 'heic' ? (first.pagePrimary ?? 0) : 0;
  const metadata = shown === 0 ? first : await read(shown);
  // The frames of an animation are never rotated: browsers differ, and the library refuses.
  const isAnimation = format === 'webp' && (metadata.pages ?? 1) > 1;
  const { width, height } = isAnimation ? metadata : metadata.autoOrient;
  const count = frames === 'all' && format !== 'heic' ? (metadata.pages ?? 1) : 1;
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
 * Recognises the format by content, reads the header and checks it. Of an icon file the largest picture is
 * opened.
 * @throws BrokenImageError; errors of the library, which the caller turns into one
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

/** Whether it is a WebP file that stores its pixels without loss. */
export const isLossless = ({ file, format }: OpenedPicture): boolean =>
  format === 'webp' && isLosslessWebp(file, pictureBudget(file));

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
export const editingBytes = (picture: OpenedPicture, result: PictureSize, format: WritableFormat): number => {
  const pixels = result.width * result.height;
  const total = pixels * picture.frames;
  const cost = format === 'webp' && isLossless(picture) ? LOSSLESS_WEBP : WRITING[format];
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
