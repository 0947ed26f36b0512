import { readIco } from '../ico.ts';
import type { WritableFormat } from '../picture-format.ts';
import { blankLocationInExif } from './exif-location.ts';
import { blankLocationInHeif, type FoundMetadata, isBareHeif } from './heif.ts';
import { gifWithoutLocation, gifWithoutMetadata } from './gif-metadata.ts';
import { jpegWithoutLocation, jpegWithoutMetadata } from './jpeg-metadata.ts';
import { pngWithoutLocation, pngWithoutMetadata } from './png-metadata.ts';
import { tiffWithoutMetadata } from './tiff-metadata.ts';
import { webpWithoutLocation, webpWithoutMetadata } from './webp-metadata.ts';

/**
 * An icon file whose pictures are cleaned where they lie. A PNG file ends with its end mark, whatever follows.
 */
const cleanedIcon = (original: Buffer, clean: (png: Buffer) => Buffer): Buffer => {
  const file = Buffer.from(original);
  for (const { kind, data } of readIco(file)) {
    if (kind === 'bmp') continue;
    const cleaned = clean(data);
    // Longer where something was unpacked.
    const fitting = cleaned.length > data.length ? pngWithoutMetadata(data) : cleaned;
    data.fill(0, Buffer.from(fitting).copy(data));
  }
  return file.equals(original) ? original : file;
};

/**
 * The file without the position that its EXIF and XMP data names, the rest and all pixels as they are; the
 * same bytes when it names none. Undefined when that cannot be done for this file.
 */
export const withoutLocation = (
  file: Buffer,
  format: WritableFormat,
  metadata: FoundMetadata,
): Buffer | undefined => {
  switch (format) {
    case 'jpeg':
      return jpegWithoutLocation(file);
    case 'png':
      return pngWithoutLocation(file);
    case 'webp':
      return webpWithoutLocation(file);
    case 'gif':
      return gifWithoutLocation(file);
    case 'bmp':
      return file;
    case 'ico':
      return cleanedIcon(file, pngWithoutLocation);
    case 'heif':
    case 'tiff': {
      const copy = Buffer.from(file);
      const isClean = format === 'tiff' ? blankLocationInExif(copy) : blankLocationInHeif(copy, metadata);
      if (!isClean) return undefined;
      return copy.equals(file) ? file : copy;
    }
  }
};

/**
 * The file with nothing but its pixels, frames, and what their colours mean; the same bytes when there is
 * nothing else. Undefined when only drawing it anew does that. The orientation is lost.
 */
export const withoutMetadata = (
  file: Buffer,
  format: WritableFormat,
  metadata: FoundMetadata,
): Buffer | undefined => {
  switch (format) {
    case 'jpeg':
      return jpegWithoutMetadata(file);
    case 'png':
      return pngWithoutMetadata(file);
    case 'webp':
      return webpWithoutMetadata(file);
    case 'gif':
      return gifWithoutMetadata(file);
    case 'bmp':
      return file;
    case 'ico':
      return cleanedIcon(file, pngWithoutMetadata);
    case 'heif':
      return isBareHeif(file, metadata) ? file : undefined;
    case 'tiff':
      return tiffWithoutMetadata(file);
  }
};
