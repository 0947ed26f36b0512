import type { Metadata } from 'sharp';
import { BrokenImageError } from '../../../errors/errors.ts';
import { READ_OPTIONS, type SharpLibrary } from '../../../pictures/sharp-library.ts';
import type { Picture } from 'stowage-html-docx';

/** Longest side of a drawing in pixels: more than any page shows. */
const MAX_SIDE = 3000;
/** Dots per inch at which drawings are rendered; their size is meant for 72. */
const DENSITY = 144;

/** Whether bytes are an SVG file, judged by how they begin. */
export const isSvg = (bytes: Buffer): boolean =>
  /^\s*(?:<\?xml|<!--|<!doctype svg|<svg)/iu.test(bytes.toString('utf8', 0, 256)) && bytes.includes('<svg');

/**
 * Draws an SVG file. Given as bytes, it cannot pull in other files. May take hours for a hostile one, and
 * nothing can stop it but the end of the process.
 * @throws BrokenImageError when it has too many pixels; errors of the library
 */
export const drawSvg = async (sharp: SharpLibrary, svg: Buffer, maxPixels: number): Promise<Picture> => {
  const options = { ...READ_OPTIONS, limitInputPixels: maxPixels };
  const { width, height }: Metadata = await sharp(svg, options).metadata();
  if (width * height > maxPixels / 4) throw new BrokenImageError('The image has too many pixels.');
  const png = await sharp(svg, { ...options, density: DENSITY })
    .resize({ width: MAX_SIDE, height: MAX_SIDE, fit: 'inside', withoutEnlargement: true })
    .png()
    .toBuffer();
  // A copy with memory of its own, which can be handed to a thread.
  return { type: 'png', bytes: new Uint8Array(png), width, height };
};
