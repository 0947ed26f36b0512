import { crc32 } from './crc32.ts';
import sharp, { type Sharp } from 'sharp';
import { gradient, type Rgba } from './bitmaps.ts';

/** Colours of the four quarters of `quarters`, clockwise from the upper left. */
export const QUARTERS = {
  red: [220, 30, 30],
  green: [30, 180, 30],
  blue: [30, 30, 220],
  white: [250, 250, 250],
};

/** A picture in four flat colours: red, green over white, blue. Told apart in every orientation. */
export const quarters = (width = 80, height = 40): Sharp => {
  const data = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const upper = y < height / 2;
      const left = x < width / 2;
      const colour = upper ? (left ? QUARTERS.red : QUARTERS.green) : left ? QUARTERS.white : QUARTERS.blue;
      data.set(colour, (y * width + x) * 3);
    }
  }
  return sharp(data, { raw: { width, height, channels: 3 } });
};

/**
 * EXIF 2.32, tag 0x0112: where the stored row and column lie in the picture that is seen, of `width` x
 * `height`.
 */
const SEEN_AT: Readonly<
  Record<
    number,
    (row: number, column: number, width: number, height: number) => readonly [x: number, y: number]
  >
> = {
  1: (row, column) => [column, row],
  2: (row, column, width) => [width - 1 - column, row],
  3: (row, column, width, height) => [width - 1 - column, height - 1 - row],
  4: (row, column, _, height) => [column, height - 1 - row],
  5: (row, column) => [row, column],
  6: (row, column, width) => [width - 1 - row, column],
  7: (row, column, width, height) => [width - 1 - row, height - 1 - column],
  8: (row, column, _, height) => [row, height - 1 - column],
};

/**
 * The picture as a camera stores it that was turned: it is seen right only with its EXIF orientation applied.
 */
export const turned = async (picture: Sharp, orientation: number): Promise<Sharp> => {
  const { data, info } = await picture.clone().removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const [width, height] = orientation > 4 ? [info.height, info.width] : [info.width, info.height];
  const seenAt = SEEN_AT[orientation];
  if (seenAt === undefined) throw new Error(`There is no orientation ${String(orientation)}.`);
  const stored = Buffer.alloc(data.length);
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) {
      const [x, y] = seenAt(row, column, info.width, info.height);
      const from = (y * info.width + x) * 3;
      stored.set(data.subarray(from, from + 3), (row * width + column) * 3);
    }
  }
  return sharp(stored, { raw: { width, height, channels: 3 } }).withMetadata({ orientation });
};

/** A sharp image of unpacked pixels. */
export const fromRgba = ({ width, height, data }: Rgba): Sharp =>
  sharp(data, { raw: { width, height, channels: 4 } });

/** A JPEG as large as a camera's, with enough detail to be honest work. */
export const photo = async (width: number, height: number): Promise<Buffer> =>
  fromRgba(gradient(256, 256))
    .resize(width, height, { fit: 'fill' })
    .removeAlpha()
    .jpeg({ quality: 85 })
    .toBuffer();

/** An animation of flat frames: frame n has the n-th colour. */
export const animation = async (
  format: 'gif' | 'webp',
  colours: readonly string[],
  [width, height]: readonly [number, number] = [60, 40],
): Promise<Buffer> => {
  const frames = await Promise.all(
    colours.map((background) =>
      sharp({ create: { width, height, channels: 3, background } })
        .png()
        .toBuffer(),
    ),
  );
  const delay = colours.map((_, index) => 100 + index * 50);
  const joined = sharp(frames, { join: { animated: true } });
  return format === 'gif'
    ? joined.gif({ loop: 3, delay, dither: 0 }).toBuffer()
    : joined.webp({ loop: 3, delay, lossless: true }).toBuffer();
};

/** A PNG that claims to be of another size; its checksum is right. */
export const claimingPng = async (width: number, height: number): Promise<Buffer> => {
  const png = await quarters().png().toBuffer();
  png.writeUInt32BE(width, 16);
  png.writeUInt32BE(height, 20);
  png.writeUInt32BE(crc32(png.subarray(12, 29)), 29);
  return png;
};

/** The colour of a pixel, averaged with its neighbours so that compression does not matter. */
export const colourAt = async (image: Buffer, x: number, y: number): Promise<readonly number[]> => {
  const { data, info } = await sharp(image).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const at = (y * info.width + x) * info.channels;
  return [...data.subarray(at, at + 4)];
};

/** Whether two colours look alike. */
export const isNear = (actual: readonly number[], expected: readonly number[], tolerance = 24): boolean =>
  expected.every((value, index) => Math.abs(value - (actual[index] ?? NaN)) <= tolerance);
