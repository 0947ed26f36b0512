/** Formats that can be decoded, recognised by content. */
export type PictureFormat = 'jpeg' | 'png' | 'gif' | 'webp' | 'heif' | 'tiff' | 'bmp' | 'ico';

const starts = (bytes: Uint8Array, ...expected: readonly number[]): boolean =>
  bytes.length >= expected.length && expected.every((byte, index) => bytes[index] === byte);

const ascii = (bytes: Uint8Array, start: number, end: number): string =>
  String.fromCharCode(...bytes.subarray(start, end));

const HEIF_BRANDS = new Set(['avif', 'avis', 'heic', 'heix', 'heim', 'heis', 'hevc', 'mif1', 'msf1']);

/**
 * The format of a picture by its first bytes (16 are enough), whatever its name says. Undefined for everything else, SVG included:
 * only what is listed here reaches a decoder.
 */
export const sniffPicture = (bytes: Uint8Array): PictureFormat | undefined => {
  if (starts(bytes, 0xff, 0xd8, 0xff)) return 'jpeg';
  if (starts(bytes, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return 'png';
  const six = ascii(bytes, 0, 6);
  if (six === 'GIF87a' || six === 'GIF89a') return 'gif';
  if (ascii(bytes, 0, 4) === 'RIFF' && ascii(bytes, 8, 12) === 'WEBP') return 'webp';
  if (ascii(bytes, 4, 8) === 'ftyp' && HEIF_BRANDS.has(ascii(bytes, 8, 12))) return 'heif';
  if (starts(bytes, 0x49, 0x49, 0x2a, 0) || starts(bytes, 0x4d, 0x4d, 0, 0x2a)) return 'tiff';
  if (starts(bytes, 0x42, 0x4d)) return 'bmp';
  // Icons and cursors share one container.
  if (starts(bytes, 0, 0, 1, 0) || starts(bytes, 0, 0, 2, 0)) return 'ico';
  return undefined;
};

const MIME_TYPES: Readonly<Record<PictureFormat, string>> = {
  jpeg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
  heif: 'image/avif',
  tiff: 'image/tiff',
  bmp: 'image/bmp',
  ico: 'image/x-icon',
};

/** The media type of a picture by its first bytes; undefined for what is none that can be decoded. */
export const mimeTypeOfPicture = (bytes: Uint8Array): string | undefined => {
  const format = sniffPicture(bytes);
  return format === undefined ? undefined : MIME_TYPES[format];
};
