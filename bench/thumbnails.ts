import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { median, timed, type Measurement, type Row } from './measurement.ts';
import { withScratch } from './scratch.ts';
import { drain, withService } from './service.ts';

export const PICTURES = 20;
const ROUNDS = 7;
const WIDTH = 4000;
const HEIGHT = 3000;
export const SIDE = 250;
export const QUALITY = 90;

export const nameOf = (index: number): string => `photo-${String(index).padStart(2, '0')}.jpg`;

/** Creates pictures of 12 megapixels with the detail of a photograph: smooth shapes under noise. */
export const takePictures = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true });
  for (let index = 0; index < PICTURES; index += 1) {
    const noise = { type: 'gaussian' as const, mean: 128, sigma: 40 };
    const picture = sharp({ create: { width: 500, height: 375, channels: 3, background: '#888', noise } });
    const pixels = await picture
      .blur(1 + (index % 5))
      .resize(WIDTH, HEIGHT)
      .jpeg({ quality: 85 })
      .toBuffer();
    await writeFile(join(folder, nameOf(index)), pixels);
  }
};

/** As many concurrent pictures as there are cores; only reading, scaling and writing. */
const bareSharp = async (folder: string): Promise<void> => {
  const thumbs = join(folder, '_thumbs');
  await mkdir(thumbs);
  const rest = Array.from({ length: PICTURES }, (_, index) => nameOf(index)).values();
  const work = async (): Promise<void> => {
    for (const name of rest) {
      const image = await readFile(join(folder, name));
      const scaled = sharp(image).autoOrient().resize({ width: SIDE, height: SIDE, fit: 'inside' });
      await writeFile(join(thumbs, name), await scaled.jpeg({ quality: QUALITY }).toBuffer());
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
};

const vipsThumbnail = async (folder: string): Promise<void> => {
  await mkdir(join(folder, '_thumbs'));
  const names = Array.from({ length: PICTURES }, (_, index) => join(folder, nameOf(index)));
  const output = `_thumbs/%s.jpg[Q=${String(QUALITY)}]`;
  const child = spawn('vipsthumbnail', ['--size', String(SIDE), '--output', output, ...names], {
    stdio: 'inherit',
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`vipsthumbnail ended with ${String(code)}`);
};

const isInstalled = async (program: string): Promise<boolean> => {
  try {
    const [code] = (await once(spawn(program, ['--version'], { stdio: 'ignore' }), 'exit')) as [unknown];
    return code === 0;
  } catch {
    return false;
  }
};

/** Medians of works in turn; before each, the thumbnails of the previous one are removed, untimed. */
const freshly = async (
  folder: string,
  works: readonly (() => Promise<unknown>)[],
): Promise<readonly number[]> => {
  const times = works.map((): number[] => []);
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [index, work] of works.entries()) {
      await rm(join(folder, '_thumbs'), { recursive: true, force: true });
      const time = await timed(work);
      if (round >= 0) times[index]?.push(time);
    }
  }
  return times.map(median);
};

/**
 * The first listing of a folder of photographs, compared with the same work by only the library, and by the
 * tool of libvips.
 */
export const thumbnails: Measurement = {
  name: 'thumbnails',
  run: () =>
    withScratch(async (scratch) => {
      const root = join(scratch, 'files');
      const folder = join(root, 'photos');
      await takePictures(folder);
      const withVips = await isInstalled('vipsthumbnail');
      return withService(scratch, root, async ({ url }) => {
        const [ours = Number.NaN, bare = Number.NaN, vips = Number.NaN] = await freshly(folder, [
          () => drain(`${url}/files?path=photos`),
          () => bareSharp(folder),
          ...(withVips ? [() => vipsThumbnail(folder)] : []),
        ]);
        const what = `first listing of ${String(PICTURES)} JPEGs of 12 megapixels`;
        const rows: Row[] = [
          {
            what,
            unit: 'ms',
            ours,
            reference: { name: 'sharp, a job a core', value: bare },
            aim: { atMost: 1.2 },
          },
        ];
        if (withVips) {
          rows.push({
            what,
            unit: 'ms',
            ours,
            reference: { name: 'vipsthumbnail', value: vips },
            aim: { atMost: 1 },
          });
        }
        return rows;
      });
    }),
};
