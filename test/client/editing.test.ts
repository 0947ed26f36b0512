import { readFile } from 'node:fs/promises';
import path from 'node:path';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import { eventually, useClient } from './client.ts';
import { jpeg, png } from './pictures.ts';

const photos = async () => ({
  'resize me.jpg': await jpeg(400, 300),
  'crop me.jpg': await jpeg(400, 300),
  'trip/in the text.png': await png(240, 160),
  // The pixels lie on their side: 400 x 300 that are meant to be seen as 300 x 400.
  'phone.jpg': await sharp(await jpeg(400, 300))
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer(),
});

const sizeOf = async (file: string): Promise<string> => {
  const { width, height } = await sharp(await readFile(file)).metadata();
  return `${String(width)}x${String(height)}`;
};

/** The colour of a pixel, roughly. */
const shadeAt = async (file: string, left: number, top: number): Promise<'dark' | 'red'> => {
  const { data } = await sharp(await readFile(file))
    .extract({ left, top, width: 1, height: 1 })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return (data[0] ?? 0) > 120 ? 'red' : 'dark';
};

describe.skipIf(chromium === undefined)(`Editing pictures with the real client${needsChromium}`, () => {
  const client = useClient({ stock: true, photos });
  const inPhotos = (...parts: string[]): string => path.join(client().dataDir, 'photos', ...parts);
  const reopen = async (): Promise<void> => {
    const { editor } = client();
    await editor.page.reload();
    await editor.page.waitForSelector('.state.ready');
    await editor.openFiles();
  };

  test('resizes a picture in its place, and the next page shows a new thumbnail', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.menu('resize me.jpg', 'Edit');
    await editor.resizeTo(200);
    await editor.press('Save');
    await eventually(() => sizeOf(inPhotos('resize me.jpg'))).toBe('200x150');
    // Jodit keeps what it has listed until then.
    await reopen();
    await eventually(async () =>
      (await editor.thumbnails()).find(({ name }) => name === 'resize me.jpg'),
    ).toMatchObject({
      width: 200,
      height: 150,
    });
  });

  test('crops a picture into a new file, whose name gets the extension', async () => {
    const { editor } = client();
    const before = await readFile(inPhotos('crop me.jpg'));
    await editor.openFiles();
    await editor.menu('crop me.jpg', 'Edit');
    await editor.openCrop();
    await editor.press('Save as ...');
    await editor.answer('middle part');
    // The client proposes the middle: 70 % of 400 x 300, which begins inside the dark corner.
    await eventually(() => sizeOf(inPhotos('middle part.jpg'))).toBe('280x210');
    await reopen();
    await eventually(() => editor.names()).toContain('middle part.jpg');
    expect(await shadeAt(inPhotos('middle part.jpg'), 5, 5)).toBe('dark');
    expect(await shadeAt(inPhotos('middle part.jpg'), 60, 60)).toBe('red');
    expect(await readFile(inPhotos('crop me.jpg'))).toEqual(before);
  });

  test('turns the picture of a phone upright before it is resized', async () => {
    const { editor } = client();
    await editor.openFiles();
    await eventually(async () =>
      (await editor.thumbnails()).find(({ name }) => name === 'phone.jpg'),
    ).toMatchObject({
      width: 188,
      height: 250,
    });
    await editor.menu('phone.jpg', 'Edit');
    await editor.resizeTo(150);
    await editor.press('Save');
    await eventually(() => sizeOf(inPhotos('phone.jpg'))).toBe('150x200');
    const { orientation = 1 } = await sharp(await readFile(inPhotos('phone.jpg'))).metadata();
    expect(orientation).toBe(1);
  });

  test('edits a picture of the text and puts the new one in its place', async () => {
    const { editor, demo } = client();
    const url = `${demo.pageUrl}file/photos/trip/in%20the%20text.png`;
    await editor.write(`<p><img src="${url}" alt="of the text"></p>`);
    await editor.openPictureEditor();
    await editor.openCrop();
    await editor.press('Save as ...');
    await editor.answer('cut out');
    await eventually(() => sizeOf(inPhotos('trip', 'cut out.png'))).toBe('168x112');
    await editor.press('Apply');
    await eventually(() => editor.picturesInText()).toEqual([
      expect.objectContaining({
        url: expect.stringContaining('/file/photos/trip/cut%20out.png'),
        width: 168,
        height: 112,
      }),
    ]);
  });
});
