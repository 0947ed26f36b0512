import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { startService } from '../protocol/service.ts';
import { drawingOf, leftIn, listed, noPdftoppm, scriptIn, shownAs, workIn } from './drawn.ts';
import * as pdf from './pdf-files.ts';

const because = noPdftoppm === '' ? '' : ` (skipped: ${noPdftoppm})`;

describe.skipIf(noPdftoppm !== '')(`thumbnails of PDF files by pdftoppm${because}`, () => {
  it('show the first page in listings; the file stays what it was', async () => {
    const folder = await workIn();
    const names = ['letter.pdf', 'Köln.PDF'];
    const service = await startService({ thumbPrograms: { pdf: 'pdftoppm' }, thumbDensity: 2 });
    await service
      .source('files')
      .put({ 'letter.pdf': pdf.redPage(), 'Köln.PDF': pdf.redPage('0 0 400 100') });
    const items = await vi.waitFor(async () => {
      const found = await listed(service);
      // A listing waits for programs only so long.
      for (const name of names) expect(found[name]?.thumb).toMatch(/~[0-9a-f]+\.jpg$/u);
      return found;
    }, 20_000);
    expect(items['letter.pdf']).toMatchObject({ type: 'file', isImage: false });
    const drawings = names.map(async (name) =>
      drawingOf(await service.source('files').bytes(items[name]?.thumb ?? '')),
    );
    expect(await Promise.all(drawings)).toEqual(['387x500 R', '500x125 R']);
    const again = await listed(service);
    expect(again['letter.pdf']?.thumb).toBe(items['letter.pdf']?.thumb);
    expect(await leftIn(folder)).toEqual([]);
  });

  it('show the first of 10,000 pages, and of files that are made to be too much', async () => {
    const folder = await workIn();
    const service = await startService({
      thumbPrograms: { pdf: 'pdftoppm', seconds: 60 },
      sources: { files: { baseurl: undefined, serve: 'public' } },
    });
    const ran = join(folder, 'ran');
    const program = await scriptIn(folder, 'program', `touch ${ran}`);
    const files = {
      'many.pdf': [pdf.manyPages(10_000), '194x250 R'],
      'wall.pdf': [pdf.redPage('0 0 1000000000 1000000000'), '250x250 RGB'],
      'thread.pdf': [pdf.redPage('0 0 1 1000000000'), '1x250 RGB'],
      'deep.pdf': [pdf.deepTree(5000), '194x250 R'],
      'launch.pdf': [pdf.launching(program), '194x250 R'],
      'outside.pdf': [pdf.outsideContent('/etc/passwd'), '194x250 R'],
    } as const;
    for (const [name, [content, expected]] of Object.entries(files)) {
      await service.source('files').put({ [name]: content });
      expect([name, await shownAs(service, name)]).toEqual([name, expected]);
    }
    expect(await leftIn(folder)).toEqual([]);
    expect(existsSync(ran)).toBe(false);
  });

  it('are icons where the file is broken, locked, endless, or takes too long', async () => {
    const folder = await workIn();
    const service = await startService({
      thumbPrograms: { pdf: 'pdftoppm', seconds: 1 },
      sources: { files: { baseurl: undefined, serve: 'public' } },
    });
    const files = {
      'broken.pdf': '%PDF-1.7\nthis is none',
      'other.pdf': 'GIF89a',
      'empty.pdf': '',
      'locked.pdf': pdf.encrypted(),
      'endless.pdf': pdf.endlessTree(),
      'slow.pdf': pdf.slowPage(),
    };
    await service.source('files').put(files);
    for (const name of Object.keys(files))
      expect([name, await shownAs(service, name)]).toEqual([name, 'icon']);
    expect(await leftIn(folder)).toEqual([]);
    // Those that are broken have left no thumbnail.
    expect((await service.source('files').paths()).filter((path) => path.endsWith('.jpg'))).toEqual([]);
  });
});
