import type { WritableFormat } from '../picture-format.ts';
import { blankLocationInExif } from './exif-location.ts';
import { gifWithoutLocation, gifWithoutMetadata } from './gif-metadata.ts';
import { jpegWithoutLocation, jpegWithoutMetadata } from './jpeg-metadata.ts';
import { pngWithoutLocation, pngWithoutMetadata } from './png-metadata.ts';
import { webpWithoutLocation, webpWithoutMetadata } from './webp-metadata.ts';
import { blankLocationInXmp } from './xmp-location.ts';

/** What the library has found in a file besides pixels. */
export interface FoundMetadata {
  readonly exif?: Buffer | undefined;
  readonly xmp?: Buffer | undefined;
  readonly iptc?: Buffer | undefined;
}

const HEADER = /^(?:Exif\0\0|.{4}Exif\0\0|.{0,10}?)(?=II\*\0|MM\0\*)/su;

/** Positions as text, in XMP data or in what films have. */
const LOCATED_TEXT = /gpsl(?:at|on)|\xa9xyz/iu;

/** Whether a HEIF file has more than one item of EXIF data, or of texts: the library shows the first alone. */
const hasMoreItems = (file: Buffer): boolean => {
  const seen = new Set<string>();
  for (let at = file.indexOf('infe'); at >= 0; at = file.indexOf('infe', at + 4)) {
    // Behind version and flags, the number of the item, and that of its protection.
    const start = at + 8 + (file[at + 4] === 3 ? 4 : 2) + 2;
    const type = file.toString('latin1', start, start + 4);
    if (type !== 'Exif' && type !== 'mime') continue;
    if (seen.has(type)) return true;
    seen.add(type);
  }
  return false;
};

/**
 * Blanks data in a HEIF file where it lies, by looking for it. Unreadable when it does not lie there in one
 * piece, or not alone.
 */
const blankInside = (file: Buffer, { exif, xmp }: FoundMetadata): boolean | 'unreadable' => {
  if (hasMoreItems(file)) return 'unreadable';
  let isFound = false;
  let others = [file];
  if (exif !== undefined) {
    const start = HEADER.exec(exif.toString('latin1', 0, 24))?.[0].length ?? 0;
    const data = exif.subarray(start);
    const at = file.indexOf(data);
    if (at < 0) return 'unreadable';
    const found = blankLocationInExif(file.subarray(at, at + data.length));
    if (found === 'unreadable') return found;
    isFound = found;
  }
  if (xmp !== undefined) {
    const at = file.indexOf(xmp);
    if (at < 0) return 'unreadable';
    const end = at + xmp.length;
    isFound = blankLocationInXmp(file.subarray(at, end)) || isFound;
    others = [file.subarray(0, at), file.subarray(end)];
  }
  return others.some((part) => LOCATED_TEXT.test(part.toString('latin1'))) ? 'unreadable' : isFound;
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
    case 'ico':
      return file;
    case 'heif':
    case 'tiff': {
      const copy = Buffer.from(file);
      const found = format === 'tiff' ? blankLocationInExif(copy) : blankInside(copy, metadata);
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
  { exif, xmp, iptc }: FoundMetadata,
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
    case 'tiff':
      return (exif ?? xmp ?? iptc) === undefined ? file : undefined;
  }
};
