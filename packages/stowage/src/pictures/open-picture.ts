import type { Metadata, Sharp } from 'sharp';
import { BrokenImageError } from '../errors/errors.ts';
import { readBmpFileHeader, type Pixels } from './bmp-header.ts';
import { decodeBmp } from './bmp.ts';
import { decodeIcoBitmap, readIco } from './ico.ts';
import { MAX_DECODED_PIXELS, MAX_PICTURE_BYTES } from './engine.ts';
import { hasTangledExif } from './metadata/exif.ts';
import { withoutLongTexts } from './metadata/png.ts';
import { pictureBudget, type PictureFormat, sniffPicture } from './picture-format.ts';
import { READ_OPTIONS, type SharpLibrary } from './sharp-library.ts';

/** A picture whose header has been read and found within the limits. Nothing is decoded yet. */
export interface OpenedPicture {
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
  seen: Pick<OpenedPicture, 'format' | 'width' | 'height'>,
  unpack: () => Promise<Pixels>,
): OpenedPicture => ({
  format: seen.format,
  width: seen.width,
  height: seen.height,
  frames: 1,
  metadata: undefined,
  decode: async () => fromPixels(sharp, await unpack()),
});

const openEncoded = async (
  sharp: SharpLibrary,
  format: PictureFormat,
  file: Buffer,
  frames: 'first' | 'all',
): Promise<OpenedPicture> => {
  const budget = pictureBudget(file);
  if (await hasTangledExif(file, budget))
    throw new BrokenImageError({ detail: 'EXIF data that refers to itself' });
  const bytes = await withoutLongTexts(file, budget);
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
  image: Buffer,
  frames: 'first' | 'all',
): Promise<OpenedPicture> => {
  if (image.length > MAX_PICTURE_BYTES) throw new BrokenImageError('The image file is too large.');
  const format = sniffPicture(image);
  if (format === undefined) throw new BrokenImageError();
  if (format === 'bmp') {
    const { width, height } = readBmpFileHeader(image).header;
    return openUnpacked(sharp, { format, width, height }, () => decodeBmp(image));
  }
  const [entry] = format === 'ico' ? readIco(image) : [];
  if (entry?.kind === 'bmp') {
    const { width, height } = entry;
    return openUnpacked(sharp, { format, width, height }, () => decodeIcoBitmap(entry));
  }
  return openEncoded(sharp, format, entry?.data ?? image, frames);
};
