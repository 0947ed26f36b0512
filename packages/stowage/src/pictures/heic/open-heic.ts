import type { Metadata } from 'sharp';
import { BrokenImageError } from '../../errors/errors.ts';
import { requireInstalled } from '../../errors/optional-package.ts';
import { EXIF_MARK, exifWithOrientation } from '../metadata/jpeg.ts';
import { runInThread } from '../one-shot-thread.ts';
import { type OpenedPicture, READ_OPTIONS, type SharpLibrary } from '../open-picture.ts';
import type { PngExtras } from './thread-main.ts';

/** What the thread is to decode, once in its life. */
export interface HeicJob {
  readonly file: Uint8Array;
  /** Which of the pictures in the file. */
  readonly index: number;
  /** As the header gives it; a decoded picture of another size is refused. */
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
  /** Bytes that the decoder's memory may grow to. */
  readonly memory: number;
  /** What the PNG says of the pixels. */
  readonly chunks: PngExtras;
}

/** What the thread answers before it ends: the parts of a PNG, or why there is none, for the log. */
export type HeicAnswer = { readonly png: readonly Uint8Array[] } | { readonly failure: string };

/** A photo of 48 megapixels takes a few. */
const MAX_SECONDS = 30;

/** @throws UnsupportedError when the optional package that reads HEIC is not installed */
export const requireHeicDecoder = (): void => {
  requireInstalled('Reading HEIC pictures', ['heic-decode'], (name) => import.meta.resolve(name));
};

/**
 * Decodes a picture in a thread of its own. Resolves with a PNG.
 * @throws BrokenImageError for what does not decode, or takes too long or too much memory; the signal's
 * reason
 */
export const decodeHeic = async (
  job: HeicJob,
  signal: AbortSignal | undefined,
  seconds = MAX_SECONDS,
): Promise<Buffer> => {
  const program = new URL('./heic-thread.js', import.meta.url);
  const result = await runInThread<HeicAnswer>(program, job, { signal, seconds });
  if ('png' in result) return Buffer.concat(result.png);
  throw new BrokenImageError({ detail: result.failure });
};

/** Bytes of the decoder's memory for each pixel, besides what it takes for any picture. */
const DECODER_PIXEL_BYTES = 24;
const DECODER_BYTES = 64 * 1024 * 1024;
/** JPEG and WebP hold no more in one piece. */
const MAX_METADATA_BYTES = 65_000;
const HEADER_BYTES = 64 * 1024;

/** Numbers of ITU-T H.273. */
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

/** Where the colours of a file are described; a profile that is not one of RGB does not count. */
const colours = (file: Buffer, { icc }: Metadata): 'profile' | 'numbered' | undefined => {
  if (icc === undefined) return isNumberedP3(file) ? 'numbered' : undefined;
  return icc.toString('latin1', 16, 20) === 'RGB ' ? 'profile' : undefined;
};

/** The colours and the metadata of a file. The decoder has rotated the pixels: EXIF must not do it again. */
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

/**
 * The picture of a HEIC file whose header has been read, with a decoder. Its pixels come as they are meant to
 * be seen.
 */
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
