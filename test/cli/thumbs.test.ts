import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFolder, runToEnd, start, type Ending, type Folder } from './service.ts';

let folder: Folder;
let root: string;
let config: string;

beforeEach(async () => {
  folder = await createFolder();
  root = join(folder.path, 'photos');
  await mkdir(join(root, 'trip', 'deep'), { recursive: true });
  config = await folder.config({
    excludeDirectoryNames: ['private'],
    sources: {
      photos: { title: 'Photos', root, serve: 'public' },
      off: { title: 'Off', root, serve: 'public', createThumb: false },
    },
  });
});

afterEach(() => folder.remove());

const photo = async (width = 600): Promise<Buffer> =>
  sharp({ create: { width, height: width, channels: 3, background: '#226688' } })
    .jpeg()
    .toBuffer();

const thumbs = (...words: readonly string[]): Promise<Ending> =>
  runToEnd(['thumbs', ...words, '--config', config]);

const namesIn = async (...path: readonly string[]): Promise<readonly string[]> =>
  (await readdir(join(root, ...path)).catch(() => [])).sort();

describe('stowage thumbs', () => {
  it('makes what is missing or stale below a folder, and names what cannot be drawn', async () => {
    const bytes = await photo();
    for (const name of ['a.jpg', 'trip/b.jpg', 'trip/deep/c.jpg']) await writeFile(join(root, name), bytes);
    await mkdir(join(root, 'private'));
    await writeFile(join(root, 'private', 'd.jpg'), bytes);
    await writeFile(join(root, 'note.txt'), 'text');
    await writeFile(join(root, 'trip', 'broken.jpg'), 'no picture');
    const first = await thumbs('photos');
    expect(first).toMatchObject({
      status: 0,
      stdout: '3 made, 0 were there, 1 cannot be drawn.\n',
      stderr: 'cannot be drawn: trip/broken.jpg\n',
    });
    const { width, height } = await sharp(
      await readFile(join(root, 'trip', 'deep', '_thumbs', 'c.jpg')),
    ).metadata();
    expect([width, height]).toEqual([250, 250]);
    expect(await namesIn('private')).toEqual(['d.jpg']);
    expect(await namesIn('_thumbs')).toEqual(['a.jpg']);
    const before = await stat(join(root, '_thumbs', 'a.jpg'));

    await rm(join(root, 'trip', '_thumbs', 'b.jpg'));
    expect((await thumbs('photos')).stdout).toBe('1 made, 2 were there, 1 cannot be drawn.\n');
    expect((await stat(join(root, '_thumbs', 'a.jpg'))).mtimeMs).toBe(before.mtimeMs);

    await writeFile(join(root, 'a.jpg'), await photo(100));
    await writeFile(join(root, 'trip', 'deep', 'c.jpg'), await photo(100));
    expect((await thumbs('photos', 'trip/deep')).stdout).toBe('1 made, 0 were there, 0 cannot be drawn.\n');
  });

  it('has PDF files drawn by the program that is named, and names those that it cannot draw', async () => {
    const program = join(folder.path, 'program');
    const drawn = join(folder.path, 'drawn.jpg');
    await writeFile(drawn, await photo());
    await writeFile(
      program,
      `#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\ngrep -q draw "$1" && cat '${drawn}'\n`,
      {
        mode: 0o700,
      },
    );
    config = await folder.config({
      thumbPrograms: { pdf: program },
      sources: { photos: { title: 'Photos', root, serve: 'public' } },
    });
    for (const name of ['a.pdf', 'trip/b.pdf']) await writeFile(join(root, name), '%PDF-1.4 draw');
    await writeFile(join(root, 'c.pdf'), '%PDF-1.4');
    expect(await thumbs('photos')).toMatchObject({
      status: 0,
      stdout: '2 made, 0 were there, 1 cannot be drawn.\n',
      stderr: 'cannot be drawn: c.pdf\n',
    });
    expect((await thumbs('photos')).stdout).toBe('0 made, 2 were there, 1 cannot be drawn.\n');
  });

  it('ends when it is asked to, with nothing half made, and goes on when it runs again', async () => {
    const bytes = await photo(1500);
    await writeFile(join(root, '0.jpg'), bytes);
    for (let count = 1; count < 150; count += 1)
      await copyFile(join(root, '0.jpg'), join(root, `${String(count)}.jpg`));
    await writeFile(join(root, 'broken.jpg'), 'no picture');
    const process = start(['thumbs', 'photos', '--config', config]);
    await process.said(/cannot be drawn: broken\.jpg/u);
    process.child.kill('SIGINT');
    const { status, stdout } = await process.ended;
    expect(status).toBe(130);
    const made = Number(/^Stopped\. (\d+) made, .* Run it again to continue\.\n$/u.exec(stdout)?.[1]);
    const there = await namesIn('_thumbs');
    expect(there.length).toBeLessThan(150);
    expect(there.length).toBeGreaterThanOrEqual(made);
    for (const name of there)
      expect((await sharp(await readFile(join(root, '_thumbs', name))).metadata()).width).toBe(250);
    expect((await thumbs('photos')).stdout).toBe(
      `${String(150 - there.length)} made, ${String(there.length)} were there, 1 cannot be drawn.\n`,
    );
    expect(await namesIn('_thumbs')).toHaveLength(150);
  });

  it.each([
    [['nothing'], 2, 'Unknown source: nothing (known: photos, off)\nTry: stowage --help\n'],
    [[], 2, 'thumbs needs the name of a source.\nTry: stowage --help\n'],
    [['photos', '../a'], 2, 'The folder "../a" leaves its source.\nTry: stowage --help\n'],
    [['photos', 'nowhere'], 1, 'There is no folder "nowhere" in photos.\n'],
    [['off'], 1, 'createThumb is off for off.\n'],
  ])('says why not: %j', async (words, status, stderr) => {
    expect(await thumbs(...words)).toMatchObject({ status, stderr });
  });
});
