import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import sharp, { type Sharp } from 'sharp';

/** What a test puts into a folder: names with their bytes. */
export type Files = Readonly<Record<string, Buffer | string>>;

/** A picture of one colour with a darker corner, so that turning and cropping it can be seen. */
const picture = (width: number, height: number, colour: string): Sharp =>
  sharp({ create: { width, height, channels: 3, background: colour } }).composite([
    {
      input: {
        create: {
          width: Math.ceil(width / 4),
          height: Math.ceil(height / 4),
          channels: 3,
          background: '#202020',
        },
      },
      gravity: 'northwest',
    },
  ]);

export const jpeg = (width = 320, height = 240, colour = '#c0392b'): Promise<Buffer> =>
  picture(width, height, colour).jpeg().toBuffer();

export const png = (width = 300, height = 200): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 4, background: { r: 40, g: 120, b: 200, alpha: 0.5 } } })
    .png()
    .toBuffer();

export const webp = (width = 280, height = 210): Promise<Buffer> =>
  picture(width, height, '#27ae60').webp().toBuffer();

/** Three frames, red, green and blue. */
export const gif = async (width = 120, height = 90): Promise<Buffer> => {
  const frames = await Promise.all(
    ['#ff0000', '#00ff00', '#0000ff'].map((colour) => picture(width, height, colour).png().toBuffer()),
  );
  return sharp(frames, { join: { animated: true } })
    .gif({ delay: [100, 100, 100] })
    .toBuffer();
};

export const svg =
  '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"><rect width="60" height="40" fill="#8e44ad"/></svg>';

/**
 * Writes files below a directory; names may have folders in them, and one that ends in a slash is an empty
 * folder.
 */
export const writeFiles = async (directory: string, files: Files): Promise<void> => {
  await mkdir(directory, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    const target = path.join(directory, name);
    if (name.endsWith('/')) {
      await mkdir(target, { recursive: true });
      continue;
    }
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, content);
  }
};
