import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import { eventually, useClient } from './client.ts';
import { jpeg } from './pictures.ts';

const photos = async () => ({
  'walk.jpg': await jpeg(),
  'talk.jpg': await jpeg(200, 200, '#2980b9'),
  'folder to rename/inside.jpg': await jpeg(50, 50),
  'folder to remove/inside.jpg': await jpeg(50, 50),
  'target/': '',
  'moving house/chair.jpg': await jpeg(40, 40),
  'many/one.jpg': await jpeg(60, 60),
  'stays here.jpg': await jpeg(65, 60),
});

const shownFiles = async (folder: string): Promise<string[]> => {
  const names = await readdir(folder);
  return names.filter((name) => name !== '_thumbs').sort();
};

describe.skipIf(chromium === undefined)(`Managing files with the real client${needsChromium}`, () => {
  const client = useClient({ stock: true, photos });
  const inPhotos = (...parts: string[]): string => path.join(client().dataDir, 'photos', ...parts);

  test('creates a folder, whose unsafe signs become harmless', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.press('Add folder');
    await editor.answer('Fahrten & Ausflüge 2026?');
    await eventually(() => editor.folders()).toContain('Fahrten & Ausflüge 2026_');
    expect((await stat(inPhotos('Fahrten & Ausflüge 2026_'))).isDirectory()).toBe(true);
    await editor.enter('Fahrten & Ausflüge 2026_');
    await eventually(() => editor.folders()).toEqual(['..']);
    expect(await editor.names()).toEqual([]);
  });

  test('renames a folder and what is in it stays', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.markOf('folder to rename', 'rename');
    await editor.answer('renamed folder');
    await eventually(() => editor.folders()).toContain('renamed folder');
    expect(await editor.folders()).not.toContain('folder to rename');
    expect(await shownFiles(inPhotos('renamed folder'))).toEqual(['inside.jpg']);
  });

  test('removes a folder with its contents', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.markOf('folder to remove', 'remove');
    await editor.agree();
    await eventually(() => editor.folders()).not.toContain('folder to remove');
    await expect(stat(inPhotos('folder to remove'))).rejects.toThrow('ENOENT');
  });

  test('renames a file, which keeps its extension, bytes and thumbnail', async () => {
    const { editor } = client();
    const before = await readFile(inPhotos('walk.jpg'));
    await editor.openFiles();
    await editor.menu('walk.jpg', 'Rename');
    await editor.answer('long walk');
    await eventually(() => editor.names()).toContain('long walk.jpg');
    expect(await editor.names()).not.toContain('walk.jpg');
    expect(await readFile(inPhotos('long walk.jpg'))).toEqual(before);
    const thumbnail = (await editor.thumbnails()).find(({ name }) => name === 'long walk.jpg');
    expect(thumbnail).toMatchObject({ width: 250, height: 188 });
  });

  test('removes a file', async () => {
    const { editor } = client();
    await editor.openFiles();
    await (await editor.tile('talk.jpg')).click();
    await editor.tool('remove');
    await editor.agree();
    await eventually(() => editor.names()).not.toContain('talk.jpg');
    await expect(stat(inPhotos('talk.jpg'))).rejects.toThrow('ENOENT');
    await expect(stat(inPhotos('_thumbs', 'talk.jpg'))).rejects.toThrow('ENOENT');
  });

  test('moves a file by dragging it onto a folder', async () => {
    const { editor } = client();
    const before = await readFile(inPhotos('stays here.jpg'));
    await editor.openFiles();
    // The listener of docs/clients.md: Jodit alone also uploads the thumbnail that is dragged.
    await editor.page.evaluate(() => {
      document.addEventListener('dragstart', (event) => {
        const isFile = (event.target as Element).closest('[class*="jodit-file-browser"]') !== null;
        if (isFile) event.dataTransfer?.items.clear();
      });
    });
    const uploads: string[] = [];
    editor.page.on('request', (request) => {
      const type = request.headers()['content-type'] ?? '';
      if (type.startsWith('multipart/form-data')) uploads.push(request.url());
    });
    await editor.drag(await editor.tile('stays here.jpg'), await editor.folder('many'));
    await eventually(() => editor.names()).not.toContain('stays here.jpg');
    expect(uploads).toEqual([]);
    expect(await shownFiles(inPhotos())).not.toContain('stays here.jpg');
    expect(await readFile(inPhotos('many', 'stays here.jpg'))).toEqual(before);
  });

  test('moves a folder by dragging it onto another', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.drag(await editor.folder('moving house'), await editor.folder('target'));
    await eventually(() => editor.folders()).not.toContain('moving house');
    expect(await shownFiles(inPhotos('target'))).toEqual(['moving house']);
  });
});
