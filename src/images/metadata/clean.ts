import type { WritableFormat } from '../picture-format.ts';
import { blankLocationInExif } from './exif-location.ts';
import { blankLocationInHeif, type FoundMetadata, isBareHeif } from './heif.ts';
import { gifWithoutLocation, gifWithoutMetadata } from './gif-metadata.ts';
import { jpegWithoutLocation, jpegWithoutMetadata } from './jpeg-metadata.ts';
import { pngWithoutLocation, pngWithoutMetadata } from './png-metadata.ts';
import { tiffWithoutMetadata } from './tiff-metadata.ts';
import { webpWithoutLocation, webpWithoutMetadata } from './webp-metadata.ts';

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
    case 'ico':
      return file;
    case 'heif':
    case 'tiff': {
      const copy = Buffer.from(file);
      const found = format === 'tiff' ? blankLocationInExif(copy) : blankLocationInHeif(copy, metadata);
      if (found === 'unreadable') return undefined;
      return found ? copy : file;
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
    case 'ico':
      return file;
    case 'heif':
      return isBareHeif(file, metadata) ? file : undefined;
    case 'tiff':
      return tiffWithoutMetadata(file);
  }
};
