import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mostly } from '../before-release.ts';
import { startService } from '../protocol/service.ts';
import { leftIn, noFfmpeg, shownAs, workIn } from './drawn.ts';

const because = noFfmpeg === '' ? '' : ` (skipped: ${noFfmpeg})`;
const run = promisify(execFile);

/** A film of one colour, or what else these arguments make. */
const film = async (
  folder: string,
  name: string,
  { input = 'color=red:size=640x360:rate=25:duration=0.4', more = [] as readonly string[] } = {},
): Promise<Buffer> => {
  const file = join(folder, name);
  const words = ['-loglevel', 'error', '-f', 'lavfi', '-i', input, ...more, '-pix_fmt', 'yuv420p', file];
  await run('ffmpeg', words);
  return readFile(file);
};

/** Puts a box of so many bytes before the last one, where no offset in the film changes. */
const withGap = (mp4: Buffer, bytes: number): Buffer => {
  const index = mp4.lastIndexOf('moov') - 4;
  const gap = Buffer.alloc(bytes);
  gap.writeUInt32BE(bytes, 0);
  gap.write('free', 4, 'latin1');
  return Buffer.concat([mp4.subarray(0, index), gap, mp4.subarray(index)]);
};

describe.skipIf(noFfmpeg !== '')(`thumbnails of videos by ffmpeg${because}`, () => {
  it('show a frame, upright and with square pixels, of what phones and pages make', async () => {
    const folder = await workIn();
    const service = await startService({
      thumbPrograms: { video: 'ffmpeg' },
      sources: { files: { baseurl: undefined, serve: 'public' } },
    });
    const small = 'color=blue:size=120x80:rate=5:duration=0.2';
    const sound = ['-f', 'lavfi', '-i', 'sine=duration=1', '-map', '0', '-map', '1', '-c:a', 'aac'];
    const red = await film(folder, 'a.mp4', { more: sound });
    const fast = ['-movflags', '+faststart'];
    const films = mostly(4, [
      ['late.mp4', '250x140 R', () => withGap(red, 50_000_000)],
      ['wide.mkv', '250x70 R', () => film(folder, 'c.mkv', { more: ['-vf', 'setsar=2'] })],
      ['page.webm', '120x80 B', () => film(folder, 'd.webm', { input: small })],
      ['cut.mp4', '250x140 R', async () => (await film(folder, 'f.mp4', { more: fast })).subarray(0, -40)],
      ['a.mp4', '250x140 R', () => red],
      ['fast.mov', '250x140 R', () => film(folder, 'b.mov', { more: fast })],
      ['old.avi', '120x80 B', () => film(folder, 'e.avi', { input: small })],
    ] as const);
    for (const [name, drawing, make] of films) {
      await service.source('files').put({ [name]: await make() });
      expect([name, await shownAs(service, name)]).toEqual([name, drawing]);
    }
    expect(await leftIn(folder)).toEqual([]);
  });

  it('are icons where the file is not a film, or names other files and addresses', async () => {
    const folder = await workIn();
    let asked = 0;
    const server = createServer((_, response) => {
      asked += 1;
      response.end();
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const address = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/a.ts`;
    const service = await startService({
      thumbPrograms: { video: 'ffmpeg' },
      sources: { files: { baseurl: undefined, serve: 'public' } },
    });
    await film(folder, 'secret.mp4');
    const secret = join(folder, 'secret.mp4');
    const playlist = `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1.0,\n${address}\n#EXTINF:1.0,\nfile://${secret}\n#EXT-X-ENDLIST\n`;
    const files = {
      'playlist.mp4': playlist,
      'list.mp4': `ffconcat version 1.0\nfile ${secret}\n`,
      // What begins like a film goes to the reader of films, whatever follows.
      'dressed.mp4': Buffer.concat([Buffer.from('\0\0\0\x10ftypisom\0\0\0\0'), Buffer.from(playlist)]),
      'text.avi': `RIFF0000AVI ${playlist}`,
      'sound.mp4': await film(folder, 'sound.m4a', { input: 'sine=duration=1' }),
      'empty.mp4': '',
    };
    await service.source('files').put(files);
    for (const name of Object.keys(files))
      expect([name, await shownAs(service, name)]).toEqual([name, 'icon']);
    expect(asked).toBe(0);
    expect(await leftIn(folder)).toEqual([]);
  });
});
