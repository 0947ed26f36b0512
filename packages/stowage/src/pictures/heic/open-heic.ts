import type { Metadata } from 'sharp';
import { BrokenImageError } from '../../errors/errors.ts';
import { requireInstalled } from '../../errors/optional-package.ts';
import { EXIF_MARK, exifWithOrientation } from '../metadata/jpeg.ts';
import { runInThread } from '../one-shot-thread.ts';
import { type OpenedPicture, READ_OPTIONS, type SharpLibrary } from '../open-picture.ts';
import type { PngExtras } from './thread-main.ts';

/** The single job of a decoding thread. */
export interface HeicJob {
  readonly file: Uint8Array;
  /** Index of the picture in the file. */
  readonly index: number;
  /** Size in the header; a decoded picture of another size is rejected. */
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
  /** Maximum memory of the decoder in bytes. */
  readonly memory: number;
  /** Colour profile and metadata for the PNG. */
  readonly chunks: PngExtras;
}

/** The message of the thread before it ends: parts of a PNG, or the reason of the failure for the log. */
export type HeicResult = { readonly png: readonly Uint8Array[] } | { readonly failure: string };

/** Time limit; a photo of 48 megapixels takes a few seconds. */
const MAX_SECONDS = 30;

/** @throws UnsupportedError when the optional package that decodes HEIC is not installed */
export const requireHeicDecoder = (): void => {
  requireInstalled('Reading HEIC pictures', ['heic-decode'], (name) => import.meta.resolve(name));
};

/**
 * Decodes a picture in its own thread. Resolves with a PNG.
 * @throws BrokenImageError for undecodable content, and beyond the limits of time and memory; the signal's
 *   reason
 */
export const decodeHeic = async (
  job: HeicJob,
  signal: AbortSignal | undefined,
  seconds = MAX_SECONDS,
): Promise<Buffer> => {
  const program = new URL('./heic-thread.js', import.meta.url);
  const result = await runInThread<HeicResult>(program, job, { signal, seconds });
  if ('png' in result) return Buffer.concat(result.png);
  throw new BrokenImageError({ detail: result.failure });
};

/** Bytes of the decoder's memory per pixel, and for any picture. */
const DECODER_PIXEL_BYTES = 24;
const DECODER_BYTES = 64 * 1024 * 1024;
/** Maximum size of a metadata block in JPEG and WebP. */
const MAX_METADATA_BYTES = 65_000;
const HEADER_BYTES = 64 * 1024;

/** Code point of ITU-T H.273. */
const DISPLAY_P3 = 12;

const isNumberedP3 = (file: Buffer): boolean => {
  const mark = Buffer.from('colrnclx', 'latin1');
  const at = file.subarray(0, HEADER_BYTES).indexOf(mark) + mark.length;
  return at >= mark.length && at + 2 <= file.length && file.readUInt16BE(at) === DISPLAY_P3;
};

const p3Profile = async (sharp: SharpLibrary): Promise<Buffer | undefined> => {
  const pixel = sharp({ create: { width: 1, height: 1, channels: 3, background: '#000' } });
  const file = await pixel.withIccProfile('p3').png().toBuffer();
  return (await sharp(file).metadata()).icc;
};

/** The colour description of a file; a profile for other colours than RGB is ignored. */
const colours = (file: Buffer, { icc }: Metadata): 'profile' | 'numbered' | undefined => {
  if (icc === undefined) return isNumberedP3(file) ? 'numbered' : undefined;
  return icc.toString('latin1', 16, 20) === 'RGB ' ? 'profile' : undefined;
};

/** Colours and metadata of a file. The decoder has rotated the pixels: EXIF must not do it again. */
const extrasOf = async (sharp: SharpLibrary, file: Buffer, metadata: Metadata): Promise<PngExtras> => {
  const { icc, exif, xmp } = metadata;
  const described = colours(file, metadata);
  const isMarked = exif?.subarray(0, EXIF_MARK.length).equals(EXIF_MARK) === true;
  const upright = exif && exifWithOrientation(isMarked ? exif.subarray(EXIF_MARK.length) : exif, 1);
  const small = (data: Buffer | undefined): Buffer | undefined =>
    data === undefined || data.length > MAX_METADATA_BYTES ? undefined : data;
  return {
    icc: described === 'numbered' ? await p3Profile(sharp) : described && icc,
    exif: small(upright),
    xmp: small(xmp),
  };
};

/** Combines the header of a HEIC file with a decoder. The decoded pixels are upright. */
export const openHeic = (
  sharp: SharpLibrary,
  { metadata, ...header }: OpenedPicture,
  signal: AbortSignal | undefined,
): OpenedPicture => ({
  ...header,
  metadata: metadata && { ...metadata, hasProfile: colours(header.file, metadata) !== undefined },
  decode: async () => {
    const { file, width, height } = header;
    const png = await decodeHeic(
      {
        file,
        index: metadata?.pagePrimary ?? 0,
        width,
        height,
        hasAlpha: metadata?.hasAlpha === true,
        memory: DECODER_BYTES + width * height * DECODER_PIXEL_BYTES,
        chunks: metadata === undefined ? {} : await extrasOf(sharp, file, metadata),
      },
      signal,
    );
    return sharp(png, READ_OPTIONS);
  },
});
