import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import type { ConfigInput } from 'stowage';
import { describe, expect, it, vi } from 'vitest';
import { readProcessMark } from '#internals';
import { stillRunning } from '../documents/processes.ts';
import { silent, startService, type Service } from '../protocol/service.ts';
import { drawingOf, leftIn, listed, notedIn, scriptIn, shownAs, workIn } from './drawn.ts';

const PDF = '%PDF-1.4';

const picture = (background: string): Promise<Buffer> =>
  sharp({ create: { width: 300, height: 600, channels: 3, background } })
    .png()
    .toBuffer();

interface Started {
  readonly service: Service;
  readonly folder: string;
  /** What the program notes, line by line. */
  readonly notes: () => Promise<string[]>;
}

/** A service whose program for PDF files is this script; `$NOTES` and `$PICTURE` are two files for it. */
const startWith = async (
  lines: string,
  {
    seconds = 20,
    accessControl = [],
    ...source
  }: Readonly<Record<string, unknown>> &
    Pick<ConfigInput, 'accessControl'> & { readonly seconds?: number } = {},
  log = silent,
): Promise<Started> => {
  const folder = await workIn();
  const [noted, drawn] = [join(folder, 'notes'), join(folder, 'picture.png')];
  await writeFile(drawn, await picture('#ff0000'));
  const script = `NOTES='${noted}'; PICTURE='${drawn}'\n${lines}`;
  const thumbPrograms = { pdf: await scriptIn(folder, 'program', script), seconds };
  const files = { baseurl: undefined, serve: 'public', ...source };
  const service = await startService({ thumbPrograms, accessControl, sources: { files } }, {}, log);
  return { service, folder, notes: () => notedIn(noted) };
};

const DRAW = 'echo run >>"$NOTES"; cat "$PICTURE"';

describe('a program that draws thumbnails', () => {
  it('runs once for a file, however many ask, and again when the file has changed', async () => {
    const { service, notes } = await startWith(DRAW);
    await service.source('files').put({ 'a.pdf': PDF });
    const asked = await Promise.all(Array.from({ length: 20 }, () => shownAs(service, 'a.pdf')));
    expect(new Set(asked)).toEqual(new Set(['125x250 R']));
    expect(await notes()).toEqual(['run']);
    await service.source('files').put({ 'a.pdf': `${PDF} changed` });
    expect(await shownAs(service, 'a.pdf')).toBe('125x250 R');
    expect(await notes()).toEqual(['run', 'run']);
  });

  it('does not run for a file that was renamed, moved or copied, and its drawing goes with the file', async () => {
    const { service, notes } = await startWith(DRAW);
    await service.source('files').put({ 'a.pdf': PDF, 'dir/': '' });
    await shownAs(service, 'a.pdf');
    await service.call('fileRename', { name: 'a.pdf', newname: 'b.pdf' });
    await service.call('fileCopy', { from: 'b.pdf', path: 'dir' });
    const drawings = async (): Promise<string[]> =>
      (await service.source('files').paths()).flatMap((path) => /^(.*)~.*\.jpg$/u.exec(path)?.[1] ?? []);
    expect(await drawings()).toEqual(['_thumbs/b.pdf', 'dir/_thumbs/b.pdf']);
    expect(await shownAs(service, 'b.pdf')).toBe('125x250 R');
    expect(await notes()).toEqual(['run']);
    await service.call('fileRemove', { name: 'b.pdf' });
    expect(await drawings()).toEqual(['dir/_thumbs/b.pdf']);
  });

  it('draws for no name that a picture has, and for nothing that is hidden or denied', async () => {
    const { service, notes } = await startWith(DRAW, {
      excludeDirectoryNames: ['secret.pdf'],
      serve: 'protected',
      accessControl: [{ role: 'guest', path: '/closed', FILE_DOWNLOAD: false }],
    });
    await service.source('files').put({
      'a.pdf': PDF,
      'secret.pdf': PDF,
      'closed/a.pdf': PDF,
      'a.pdf.jpg': await sharp(await picture('#0000ff'))
        .toFormat('jpeg')
        .toBuffer(),
    });
    expect(await shownAs(service, 'a.pdf')).toBe('125x250 R');
    expect(await shownAs(service, 'a.pdf.jpg')).toBe('125x250 B');
    expect(await shownAs(service, 'secret.pdf')).toEqual([404, expect.any(String)]);
    const closed = await fetch(`${service.url}/file/files/closed/_thumbs/a.pdf`);
    expect(closed.status).toBe(403);
    expect(await notes()).toEqual(['run']);
  });

  it('knows nothing of the service: its environment, folder and memory are its own', async () => {
    vi.stubEnv('STOWAGE_SIGNING_SECRET', 'not-for-programs-at-least-32-bytes');
    const fill = 'head -c 60000000 /dev/zero >more 2>/dev/null';
    const lines = `{ env; ulimit -v; ulimit -c; ls -A; ${fill}; stat -c %s more; } >>"$NOTES"; ${DRAW}`;
    const { service, folder, notes } = await startWith(lines);
    await service.source('files').put({ 'a.pdf': PDF });
    expect(await shownAs(service, 'a.pdf')).toBe('125x250 R');
    const noted = await notes();
    expect(noted.join('\n')).not.toContain('not-for-programs');
    expect(noted.slice(-5, -2)).toEqual(['1048576', '0', 'file']);
    expect(Number(noted.at(-2))).toBeLessThanOrEqual(32 * 1024 * 1024);
    const own = noted.find((line) => line.startsWith('HOME='))?.slice('HOME='.length) ?? '';
    expect(own.startsWith(join(folder, 'stowage-preview-'))).toBe(true);
    expect(noted).toContain(`TMPDIR=${own}`);
    expect(await leftIn(folder)).toEqual([]);
  });

  it('is ended with all that it has started when it takes too long, and is not run again for that file', async () => {
    const { service, folder, notes } = await startWith(
      'sleep 300 & echo $! >>"$NOTES"; echo $$ >>"$NOTES"; wait',
      { seconds: 1 },
    );
    await service.source('files').put({ 'a.pdf': PDF });
    expect(await shownAs(service, 'a.pdf')).toBe('icon');
    expect(await shownAs(service, 'a.pdf')).toBe('icon');
    const pids = (await notes()).map(Number);
    expect(pids).toHaveLength(2);
    // The system ends a killed process soon, not within the call.
    await expect.poll(() => stillRunning(pids)).toEqual([]);
    expect(await leftIn(folder)).toEqual([]);
  });

  it('is ended when the client that waits for it leaves', async () => {
    const { service, folder, notes } = await startWith('echo $$ >>"$NOTES"; exec sleep 300');
    await service.source('files').put({ 'a.pdf': PDF });
    const leaving = new AbortController();
    const url = `${service.url}/file/files/_thumbs/a.pdf`;
    const left = fetch(url, { signal: leaving.signal }).catch(() => 'left');
    await vi.waitFor(async () => expect(await notes()).toHaveLength(1), { timeout: 10_000 });
    leaving.abort();
    expect(await left).toBe('left');
    const pids = (await notes()).map(Number);
    await vi.waitFor(async () => {
      expect(await stillRunning(pids)).toEqual([]);
      expect(await leftIn(folder)).toEqual([]);
    });
  });

  it.each([
    ['gives more than a picture', 'yes'],
    ['gives nothing', 'exit 0'],
    ['fails after its output', 'cat "$PICTURE"; exit 3'],
    ['gives half a picture', 'head -c 300 "$PICTURE"'],
    ['gives markup', `echo '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'`],
    ['kills itself', 'kill -9 $$'],
  ])('that %s leaves the icon, and nothing behind', async (_, lines) => {
    const { service, folder } = await startWith(lines);
    await service.source('files').put({ 'a.pdf': PDF });
    expect(await shownAs(service, 'a.pdf')).toBe('icon');
    expect(await leftIn(folder)).toEqual([]);
  });

  it('that is missing leaves icons and one line in the log', async () => {
    const folder = await workIn();
    const lines: unknown[] = [];
    const log = { ...silent, warn: (...line: unknown[]) => void lines.push(line) };
    const service = await startService({ thumbPrograms: { pdf: 'no-such-program' } }, {}, log);
    await service.source('files').put({ 'a.pdf': PDF, 'b.pdf': PDF });
    const items = await listed(service);
    expect(items['a.pdf']?.thumb).toMatch(/^_thumbs\/file-pdf~/u);
    expect(items['b.pdf']?.thumb).toBe(items['a.pdf']?.thumb);
    const about = lines.filter((line) => JSON.stringify(line).includes('no-such-program'));
    expect(about).toEqual([['A program for thumbnails cannot be run.', { program: 'no-such-program' }]]);
    expect(await leftIn(folder)).toEqual([]);
  });

  it('that takes long holds up no listing: it shows icons, and finds the drawing later', async () => {
    const gate = 'while [ ! -e "$NOTES" ]; do sleep 0.05; done; cat "$PICTURE"';
    const { service, folder } = await startWith(gate, { serve: 'off', baseurl: 'https://files.example/' });
    await service.source('files').put({ 'a.pdf': PDF, 'b.png': await picture('#00ff00') });
    const items = await listed(service);
    expect(items['a.pdf']?.thumb).toMatch(/^_thumbs\/file-pdf~/u);
    expect(items['b.png']?.thumb).toBe('_thumbs/b.png');
    await writeFile(join(folder, 'notes'), '');
    await vi.waitFor(
      async () => {
        const { thumb = '' } = (await listed(service))['a.pdf'] ?? {};
        expect(await drawingOf(await service.source('files').bytes(thumb))).toBe('125x250 R');
      },
      { timeout: 10_000 },
    );
    expect(await leftIn(folder)).toEqual([]);
  });

  it('removes what a killed process has left', async () => {
    const { service, folder } = await startWith(DRAW);
    // The last number is when the process began: it was another one with the same id.
    const dead = (await readProcessMark()).replace(/\d+$/u, '1');
    await mkdir(join(folder, `stowage-preview-${dead}-abc`), { mode: 0o700 });
    await service.source('files').put({ 'a.pdf': PDF });
    expect(await shownAs(service, 'a.pdf')).toBe('125x250 R');
    expect(await leftIn(folder)).toEqual([]);
  });
});
