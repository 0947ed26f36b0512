import { mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import { expect, it, onTestFinished } from 'vitest';
import { createSilentLogger, openLocalAdapter } from '#internals';
import { bytesAt, createGallery } from './gallery.ts';
import { colourAt } from './pictures.ts';

const flat = (background: string): Promise<Buffer> =>
  sharp({ create: { width: 30, height: 30, channels: 3, background } })
    .png()
    .toBuffer();

it('pictures that are replaced by older ones within the same tick get new thumbnails', async () => {
  const root = await mkdtemp(join(tmpdir(), 'stowage-older-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const storage = await openLocalAdapter({ root, log: createSilentLogger() });
  const gallery = createGallery({}, { storage });
  const pictures = [await flat('red'), await flat('blue')];
  const shown: number[] = [];
  for (let round = 0; round < 30; round += 1) {
    await writeFile(join(root, 'a.png'), pictures[round % 2] ?? '');
    await utimes(join(root, 'a.png'), new Date('2001'), new Date(2001, 0, 40 - round));
    const { 'a.png': thumb = '' } = await gallery.list();
    const [red = 0] = await colourAt(await bytesAt(storage, thumb), 5, 5);
    shown.push(red);
  }
  expect(shown).toEqual(shown.map((_, round) => (round % 2 === 0 ? 255 : 0)));
});

it('pictures that other programs replace by older ones get new thumbnails, for a fresh process too', async () => {
  const root = await mkdtemp(join(tmpdir(), 'stowage-older-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const at = (name: string): string => join(root, name);
  const put = async (name: string, color: string, year: string): Promise<void> => {
    await writeFile(at(name), await flat(color));
    await utimes(at(name), new Date(year), new Date(year));
  };
  const shown = async (): Promise<readonly (readonly number[])[]> => {
    const storage = await openLocalAdapter({ root, log: createSilentLogger() });
    const thumbs = await createGallery({}, { storage }).list();
    const colours = ['a.png', 'b.png'].map(async (name) =>
      colourAt(await bytesAt(storage, thumbs[name] ?? 'none'), 5, 5),
    );
    const found = await Promise.all(colours);
    // File systems count changes by a clock that ticks every few milliseconds.
    await pause(50);
    return found.map((colour) => colour.slice(0, 3));
  };
  const [red, blue, lime] = [
    [255, 0, 0],
    [0, 0, 255],
    [0, 255, 0],
  ];
  await put('a.png', 'red', '2020');
  await put('b.png', 'blue', '2021');
  expect(await shown()).toEqual([red, blue]);
  await rename(at('a.png'), at('c'));
  await rename(at('b.png'), at('a.png'));
  await rename(at('c'), at('b.png'));
  expect(await shown()).toEqual([blue, red]);
  await put('a.png', 'lime', '2001');
  expect(await shown()).toEqual([lime, red]);
});
