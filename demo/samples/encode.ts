import sharp, { type Sharp } from 'sharp';
import type { Scene, Size } from './scenes.ts';

const draw = (scene: Scene, size: Size): Sharp => sharp(Buffer.from(scene(size)));

/** A camera's picture: JPEG. */
export const jpeg = (scene: Scene, size: Size): Promise<Buffer> =>
  draw(scene, size).flatten().jpeg({ quality: 86, mozjpeg: false }).toBuffer();

/** Where the pictures of the phone were taken: somewhere in the Alps. */
const position = {
  GPSLatitudeRef: 'N',
  GPSLatitude: '47/1 25/1 15/1',
  GPSLongitudeRef: 'E',
  GPSLongitude: '10/1 59/1 10/1',
};

/**
 * A picture of a phone held upright: the pixels lie on their side and EXIF tells to turn them, and where they
 * were taken.
 */
export const phoneJpeg = (scene: Scene, size: Size): Promise<Buffer> =>
  draw(scene, size)
    .flatten()
    .rotate(270)
    .withExif({ IFD3: position })
    .withMetadata({ orientation: 6 })
    .jpeg({ quality: 86 })
    .toBuffer();

/** A picture with transparency. */
export const png = (scene: Scene, size: Size): Promise<Buffer> => draw(scene, size).png().toBuffer();

/** A picture for the web. */
export const webp = (scene: Scene, size: Size): Promise<Buffer> =>
  draw(scene, size).webp({ quality: 82 }).toBuffer();

/** A moving picture: one scene after the other. */
export const gif = async (scenes: readonly Scene[], size: Size, delay: number): Promise<Buffer> => {
  const frames = await Promise.all(scenes.map((scene) => draw(scene, size).png().toBuffer()));
  return sharp(frames, { join: { animated: true } })
    .gif({ loop: 0, delay: frames.map(() => delay) })
    .toBuffer();
};

/** An uncompressed Windows bitmap, 24 bits a pixel, rows from the bottom up. */
export const bmp = async (scene: Scene, size: Size): Promise<Buffer> => {
  const { data } = await draw(scene, size)
    .flatten()
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const rowLength = Math.ceil((size.width * 3) / 4) * 4;
  const file = Buffer.alloc(54 + rowLength * size.height);
  file.write('BM', 'latin1');
  file.writeUInt32LE(file.length, 2);
  file.writeUInt32LE(54, 10);
  file.writeUInt32LE(40, 14);
  file.writeInt32LE(size.width, 18);
  file.writeInt32LE(size.height, 22);
  file.writeUInt16LE(1, 26);
  file.writeUInt16LE(24, 28);
  for (let y = 0; y < size.height; y += 1) {
    for (let x = 0; x < size.width; x += 1) {
      const from = (y * size.width + x) * 3;
      const to = 54 + (size.height - 1 - y) * rowLength + x * 3;
      file.writeUIntBE(data.readUIntLE(from, 3), to, 3);
    }
  }
  return file;
};

/** An icon with a PNG of each size inside. */
export const ico = async (scene: Scene, sides: readonly number[]): Promise<Buffer> => {
  const images = await Promise.all(sides.map((side) => png(scene, { width: side, height: side })));
  const header = Buffer.alloc(6 + 16 * images.length);
  header.writeUInt16LE(1, 2);
  header.writeUInt16LE(images.length, 4);
  let offset = header.length;
  for (const [index, image] of images.entries()) {
    const entry = 6 + 16 * index;
    const side = (sides[index] ?? 0) % 256;
    header.writeUInt8(side, entry);
    header.writeUInt8(side, entry + 1);
    header.writeUInt16LE(1, entry + 4);
    header.writeUInt16LE(32, entry + 6);
    header.writeUInt32LE(image.length, entry + 8);
    header.writeUInt32LE(offset, entry + 12);
    offset += image.length;
  }
  return Buffer.concat([header, ...images]);
};
