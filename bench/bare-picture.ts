import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';

/** Maximum width of a stored picture, and of its thumbnail. */
export const [WIDTH, THUMB] = [1600, 250];
export const QUALITY = 85;

/**
 * The same processing of a photo as in the service, with only the library: scales it, stores it and waits for
 * the disk, as the service does before it responds, then draws the thumbnail from the result and stores it
 * without waiting.
 */
export const makeSmaller = async (photo: Buffer, folder: string, name: string): Promise<void> => {
  const inside = { fit: 'inside', withoutEnlargement: true } as const;
  const picture = sharp(photo)
    .autoOrient()
    .resize({ width: WIDTH, ...inside });
  const stored = await picture.jpeg({ quality: QUALITY }).toBuffer();
  const file = await open(join(folder, name), 'w');
  await file.writeFile(stored);
  await file.datasync();
  await file.close();
  const scaled = sharp(stored).resize({ width: THUMB, height: THUMB, ...inside });
  await writeFile(join(folder, '_thumbs', name), await scaled.jpeg({ quality: 90 }).toBuffer());
};
