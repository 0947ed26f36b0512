import type { ParseBudget } from '../../basics/content/parse-budget.ts';
import { BrokenImageError } from '../../errors/errors.ts';
import { readIco } from '../ico.ts';
import type { WritableFormat } from '../picture-format.ts';
import { blankLocationInExif } from './exif-location.ts';
import { blankLocationInHeif, type FoundMetadata, heifWithoutMetadata } from './heif.ts';
import { gifWithoutLocation, gifWithoutMetadata } from './gif-metadata.ts';
import { jpegWithoutLocation, jpegWithoutMetadata } from './jpeg-metadata.ts';
import { pngWithoutLocation, pngWithoutMetadata } from './png-metadata.ts';
import { tiffWithoutMetadata } from './tiff-metadata.ts';
import { webpWithoutLocation, webpWithoutMetadata } from './webp-metadata.ts';

/**
 * The PNG files inside an icon file, each once: entries may name the same one.
 * @throws BrokenImageError when they overlap, so that one would be cleaned again and again, or inside of another
 */
const pngsOf = (file: Buffer): readonly Buffer[] => {
  const pngs = readIco(file)
    .filter(({ kind }) => kind === 'png')
    .map(({ data }) => data)
    .sort((one, other) => one.byteOffset - other.byteOffset || one.length - other.length)
    .filter((data, index, all) => {
      const before = all[index - 1];
      return before?.byteOffset !== data.byteOffset || before.length !== data.length;
    });
  for (const [index, data] of pngs.entries()) {
    const next = pngs[index + 1];
    if (next === undefined || data.byteOffset + data.length <= next.byteOffset) continue;
    throw new BrokenImageError({ detail: 'an icon of pictures that overlap' });
  }
  return pngs;
};

/** Cleans a file; the same bytes when there is nothing to clean. */
type Clean = (file: Buffer, budget: ParseBudget) => Buffer;

/**
 * An icon file whose pictures are cleaned where they lie. A PNG file ends with its end mark, whatever follows.
 */
const cleanedIcon = (original: Buffer, budget: ParseBudget, clean: Clean): Buffer => {
  const file = Buffer.from(original);
  for (const data of pngsOf(file)) {
    const cleaned = clean(data, budget);
    // Longer where something was unpacked.
    const fitting = cleaned.length > data.length ? pngWithoutMetadata(data, budget) : cleaned;
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
  budget: ParseBudget,
): Buffer | undefined => {
  switch (format) {
    case 'jpeg':
      return jpegWithoutLocation(file, budget);
    case 'png':
      return pngWithoutLocation(file, budget);
    case 'webp':
      return webpWithoutLocation(file, budget);
    case 'gif':
      return gifWithoutLocation(file, budget);
    case 'bmp':
      return file;
    case 'ico':
      return cleanedIcon(file, budget, pngWithoutLocation);
    case 'heif':
    case 'tiff': {
      const copy = Buffer.from(file);
      const isClean =
        format === 'tiff' ? blankLocationInExif(copy, budget) : blankLocationInHeif(copy, metadata, budget);
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
  budget: ParseBudget,
): Buffer | undefined => {
  switch (format) {
    case 'jpeg':
      return jpegWithoutMetadata(file, budget);
    case 'png':
      return pngWithoutMetadata(file, budget);
    case 'webp':
      return webpWithoutMetadata(file, budget);
    case 'gif':
      return gifWithoutMetadata(file, budget);
    case 'bmp':
      return file;
    case 'ico':
      return cleanedIcon(file, budget, pngWithoutMetadata);
    case 'heif':
      return heifWithoutMetadata(file, metadata, budget);
    case 'tiff':
      return tiffWithoutMetadata(file, budget);
  }
};
