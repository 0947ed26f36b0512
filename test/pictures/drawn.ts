import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { onTestFinished, vi } from 'vitest';
import type { Service } from '../protocol/service.ts';

const inPath = (name: string): boolean =>
  (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, name)));

/** Why a test cannot run here; empty when it can. */
export const noPdftoppm = inPath('pdftoppm') ? '' : 'poppler-utils is not installed';
export const noFfmpeg = inPath('ffmpeg') ? '' : 'ffmpeg is not installed';

/** A folder for one test. Programs that are started in it have their temporary files there too. */
export const workIn = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-drawn-'));
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true, force: true });
  });
  return folder;
};

/** What drawing has left in the folder for temporary files. */
export const leftIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.startsWith('stowage-preview-'));

/** A program that runs these lines of the shell. */
export const scriptIn = async (folder: string, name: string, lines: string): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\n${lines}\n`);
  await chmod(path, 0o700);
  return path;
};

/** What a program has noted, line by line. */
export const notedIn = async (file: string): Promise<string[]> =>
  (await readFile(file, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');

export interface Item {
  readonly name: string;
  readonly type: string;
  readonly isImage: boolean;
  readonly thumb?: string;
}

/** The entries of a folder by their names. */
export const listed = async (service: Service, path = ''): Promise<Readonly<Record<string, Item>>> => {
  const { data } = await service.call('files', { path });
  const [source] = data['sources'] as { files: readonly Item[] }[];
  return Object.fromEntries((source?.files ?? []).map((item) => [item.name, item]));
};

/** What stands for a file of a source that serves its files: `icon`, or its size and the colour of a pixel. */
export const shownAs = async (service: Service, name: string, at = 0.5): Promise<unknown> => {
  const response = await fetch(`${service.url}/file/files/_thumbs/${encodeURIComponent(name)}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  if (response.headers.get('content-type') === 'image/svg+xml') return 'icon';
  if (response.headers.get('content-type') !== 'image/jpeg') return [response.status, bytes.toString()];
  return drawingOf(bytes, at);
};

/** Size of a picture, and which colour it has in the middle of this part of its height. */
export const drawingOf = async (bytes: Buffer, at = 0.5): Promise<string> => {
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  const offset = (Math.floor(info.height * at) * info.width + (info.width >> 1)) * info.channels;
  const [red = 0, green = 0, blue = 0] = data.subarray(offset);
  const colour = `${red > 128 ? 'R' : ''}${green > 128 ? 'G' : ''}${blue > 128 ? 'B' : ''}`;
  return `${String(info.width)}x${String(info.height)} ${colour}`;
};
