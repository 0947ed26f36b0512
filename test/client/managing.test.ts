import { readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
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
  'many/two.jpg': await jpeg(61, 60),
  'many/three.jpg': await jpeg(62, 60),
  'many/left.jpg': await jpeg(63, 60),
  'stays here.jpg': await jpeg(65, 60),
  'traveller.jpg': await jpeg(70, 60),
  'luggage/bag.jpg': await jpeg(30, 30),
  'twin one/same.jpg': await jpeg(80, 40),
  'twin two/same.jpg': await jpeg(40, 80),
  'short-lived/moment.jpg': await jpeg(20, 20),
});
const documents = async () => ({
  'traveller.jpg': await jpeg(25, 25),
  'luggage/ticket.txt': 'to Rome',
  'abroad/': '',
});

const shownFiles = async (folder: string): Promise<string[]> => {
  const names = await readdir(folder);
  return names.filter((name) => name !== '_thumbs').sort();
};

describe.skipIf(chromium === undefined)(`Managing files with the real client${needsChromium}`, () => {
  const client = useClient({ photos, documents });
  const inPhotos = (...parts: string[]): string => path.join(client().dataDir, 'photos', ...parts);
  const inDocuments = (...parts: string[]): string => path.join(client().dataDir, 'documents', ...parts);

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

  test('removes all selected files', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.enter('many');
    await eventually(() => editor.names()).toHaveLength(4);
    await editor.page.keyboard.down('Control');
    for (const name of ['one.jpg', 'two.jpg', 'three.jpg']) await (await editor.tile(name)).click();
    await editor.page.keyboard.up('Control');
    await editor.tool('remove');
    await editor.agree();
    await eventually(() => editor.names()).toEqual(['left.jpg']);
    expect(await shownFiles(inPhotos('many'))).toEqual(['left.jpg']);
  });

  test('moves a file by dragging it onto a folder', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.enter('moving house');
    await eventually(() => editor.names()).toEqual(['chair.jpg']);
    await editor.drag(await editor.tile('chair.jpg'), await editor.folder('..'));
    await eventually(() => editor.names()).toEqual([]);
    expect(await shownFiles(inPhotos('moving house'))).toEqual([]);
    expect(await shownFiles(inPhotos())).toContain('chair.jpg');
  });

  test('moves a folder by dragging it onto another', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.drag(await editor.folder('moving house'), await editor.folder('target'));
    await eventually(() => editor.folders()).not.toContain('moving house');
    expect(await shownFiles(inPhotos('target'))).toEqual(['moving house']);
  });

  test('moves a file to another source, and not what is called alike there', async () => {
    const { editor } = client();
    const traveller = await readFile(inPhotos('traveller.jpg'));
    const double = await readFile(inDocuments('traveller.jpg'));
    await editor.openFiles();
    await editor.drag(await editor.tile('traveller.jpg'), await editor.folder('abroad'));
    await eventually(() => shownFiles(inPhotos())).not.toContain('traveller.jpg');
    expect(await readFile(inDocuments('abroad', 'traveller.jpg'))).toEqual(traveller);
    expect(await readFile(inDocuments('traveller.jpg'))).toEqual(double);
  });

  test('moves a folder to another source, and not what is called alike there', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.drag(await editor.folder('luggage'), await editor.folder('abroad'));
    await eventually(() => shownFiles(inPhotos())).not.toContain('luggage');
    expect(await shownFiles(inDocuments('abroad', 'luggage'))).toEqual(['bag.jpg']);
    expect(await shownFiles(inDocuments('luggage'))).toEqual(['ticket.txt']);
  });

  test('shows each of two files of the same name and second in its own folder', async () => {
    const { editor } = client();
    const second = new Date('2026-05-05T12:00:00Z');
    for (const folder of ['twin one', 'twin two']) await utimes(inPhotos(folder, 'same.jpg'), second, second);
    await editor.openFiles();
    const shownIn = async (folder: string) => {
      await editor.enter(folder);
      await eventually(() => editor.names()).toEqual(['same.jpg']);
      const [picture] = await editor.thumbnails();
      await editor.enter('..');
      await eventually(() => editor.folders()).toContain(folder);
      await eventually(() => editor.names()).toContain('stays here.jpg');
      return [picture?.width, picture?.height];
    };
    expect(await shownIn('twin one')).toEqual([80, 40]);
    expect(await shownIn('twin two')).toEqual([40, 80]);
    expect(await shownIn('twin one')).toEqual([80, 40]);
  });

  test('goes back to the root when somebody else has removed the folder', async () => {
    const { editor } = client();
    await editor.openFiles();
    await rm(inPhotos('short-lived'), { recursive: true });
    await editor.enter('short-lived');
    await eventually(() => editor.messages()).toContain('error: The folder was not found.');
    await eventually(() => editor.folders()).toContain('many');
    expect(await editor.folders()).not.toContain('short-lived');
  });
});
