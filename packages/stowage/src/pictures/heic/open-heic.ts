import type { Metadata } from 'sharp';
import { EXIF_MARK, exifWithOrientation } from '../metadata/orientation.ts';
import type { OpenedPicture } from '../open-picture.ts';
import { READ_OPTIONS, type SharpLibrary } from '../sharp-library.ts';
import { decodeHeic } from './decode-heic.ts';
import type { PngExtras } from './pixel-png.ts';

/** Bytes of the decoder's memory for each pixel, besides what it takes for any picture. */
const DECODER_PIXEL_BYTES = 24;
const DECODER_BYTES = 64 * 1024 * 1024;
/** JPEG and WebP hold no more in one piece. */
const MAX_METADATA_BYTES = 65_000;
/** As far as the colours of a file are looked for. */
const HEADER_BYTES = 64 * 1024;

/** Numbers of ITU-T H.273. */
const DISPLAY_P3 = 12;

/** Whether a file names its colours by numbers, and they are those of Display P3. */
const isNumberedP3 = (file: Buffer): boolean => {
  const mark = Buffer.from('colrnclx', 'latin1');
  const at = file.subarray(0, HEADER_BYTES).indexOf(mark) + mark.length;
  return at >= mark.length && at + 2 <= file.length && file.readUInt16BE(at) === DISPLAY_P3;
};

/** The library's own profile of Display P3. */
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

/** The colours and the metadata of a file. The decoder has turned the pixels: EXIF must not do it again. */
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
  file: Buffer,
  { metadata, ...header }: OpenedPicture,
  signal: AbortSignal | undefined,
): OpenedPicture => ({
  ...header,
  metadata: metadata && { ...metadata, hasProfile: colours(file, metadata) !== undefined },
  decode: async () => {
    const { width, height } = header;
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
