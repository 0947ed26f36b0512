import sharp, { type Metadata } from 'sharp';
import type { Picture } from 'stowage-html-docx';
import { BrokenImageError } from '../../errors/errors.ts';
import { READ_OPTIONS, type SharpLibrary } from '../../pictures/open-picture.ts';
import type { DrawingOrder, DrawingResult } from './drawings.ts';

/** Longest side of a drawing in pixels: larger than on any page. */
const MAX_SIDE = 3000;
/** Dots per inch of rendered drawings; their own sizes assume 72. */
const DENSITY = 144;

/**
 * Draws an SVG file. It is passed as bytes, so it cannot include other files. A hostile file may take hours,
 * and only the end of the process stops it.
 * @throws BrokenImageError when it has too many pixels; errors of the library
 */
const drawSvg = async (sharp: SharpLibrary, svg: Buffer, maxPixels: number): Promise<Picture> => {
  const options = { ...READ_OPTIONS, limitInputPixels: maxPixels };
  const { width, height }: Metadata = await sharp(svg, options).metadata();
  if (width * height > maxPixels / 4) throw new BrokenImageError('The image has too many pixels.');
  const png = await sharp(svg, { ...options, density: DENSITY })
    .resize({ width: MAX_SIDE, height: MAX_SIDE, fit: 'inside', withoutEnlargement: true })
    .png()
    .toBuffer();
  // A copy in its own memory, which can be transferred to a thread.
  return { type: 'png', bytes: new Uint8Array(png), width, height };
};

// This process draws for its parent and has nothing else to do.
process.on('message', ({ svg, maxPixels }: DrawingOrder) => {
  const respond = (drawn: DrawingResult): void => void process.send?.(drawn);
  drawSvg(sharp, Buffer.from(svg), maxPixels).then(
    (picture) => respond({ picture }),
    (error: unknown) => respond({ detail: error instanceof Error ? error.message : '' }),
  );
});

// Without its parent the process is not needed; a normal exit would wait for the running drawing.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
