import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import { eventually, useClient } from './client.ts';
import { gif, jpeg, png, svg, webp, writeFiles, type Files } from './pictures.ts';

const photos = async () => ({ 'first.jpg': await jpeg(), 'inbox/': '', 'dropped/': '' });

describe.skipIf(chromium === undefined)(`Uploading with the real client${needsChromium}`, () => {
  const client = useClient({ stock: true, photos });
  const inPhotos = (...parts: string[]): string => path.join(client().dataDir, 'photos', ...parts);
  const onDesktop = async (files: Files): Promise<string[]> => {
    await writeFiles(client().desktop, files);
    return Object.keys(files).map((name) => path.join(client().desktop, name));
  };

  test('uploads real pictures of five formats with the button, into the open folder', async () => {
    const { editor } = client();
    const files = {
      'camera.jpg': await jpeg(1000, 700),
      'see through.png': await png(),
      'Größe.webp': await webp(),
      'moving.gif': await gif(),
      '図.svg': svg,
    };
    await editor.openFiles();
    await editor.enter('inbox');
    await eventually(() => editor.folders()).toEqual(['..']);
    await editor.upload(...(await onDesktop(files)));
    await eventually(async () => (await editor.names()).sort()).toEqual(Object.keys(files).sort());
    for (const [name, content] of Object.entries(files)) {
      if (name.endsWith('.svg')) continue;
      expect(await readFile(inPhotos('inbox', name))).toEqual(content);
    }
    expect(await readFile(inPhotos('inbox', '図.svg'), 'utf8')).toContain('#8e44ad');
    const pictures = await editor.thumbnails();
    expect(pictures.map(({ width }) => width).every((width) => width > 0)).toBe(true);
  });

  test('uploads what is dropped into the file browser', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.enter('dropped');
    await eventually(() => editor.folders()).toEqual(['..']);
    const bytes = await jpeg(333, 222, '#d35400');
    await editor.drop('.jodit-file-browser-files', ...(await onDesktop({ 'from the desktop.jpg': bytes })));
    await eventually(() => editor.names()).toEqual(['from the desktop.jpg']);
    expect(await readFile(inPhotos('dropped', 'from the desktop.jpg'))).toEqual(bytes);
  });

  test('makes a harmless name of a dangerous one, and numbers a name that is taken', async () => {
    const { editor } = client();
    const files = await onDesktop({ 'a#b%41"<i>;c?.png': await png(), 'first.jpg': await jpeg(64, 64) });
    await editor.openFiles();
    await editor.upload(...files);
    await eventually(() => editor.names()).toContain('first-1.jpg');
    const stored = (await readdir(inPhotos())).find((name) => name.endsWith('.png'));
    expect(stored).toMatch(/^a.*\.png$/u);
    expect(stored).not.toMatch(/[#%"<>;?]/u);
    const shown = (await editor.thumbnails()).find(({ name }) => name === stored);
    expect(shown?.width).toBeGreaterThan(0);
  });

  test('puts a picture that is dropped onto the text into the text', async () => {
    const { editor } = client();
    const [file = ''] = await onDesktop({ 'into the text.webp': await webp(400, 300) });
    await editor.drop('.jodit-wysiwyg h2', file);
    await eventually(() => editor.picturesInText()).toContainEqual(
      expect.objectContaining({ name: 'into the text.webp', width: 400, height: 300 }),
    );
    const { format } = await sharp(inPhotos('into the text.webp')).metadata();
    expect(format).toBe('webp');
  });

  test('puts a picture from the clipboard into the text', async () => {
    const { editor } = client();
    const bytes = (await png(123, 45)).toString('base64');
    await editor.page.locator('.jodit-wysiwyg h2').click();
    await editor.page.evaluate((base64) => {
      const content = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([content], 'image.png', { type: 'image/png' }));
      const text = document.querySelector('.jodit-wysiwyg');
      text?.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    }, bytes);
    await eventually(() => editor.picturesInText()).toContainEqual(
      expect.objectContaining({ name: 'image.png', width: 123, height: 45 }),
    );
    expect(await readdir(inPhotos())).toContain('image.png');
  });

  test('puts a chosen picture into the text by a double click', async () => {
    const { editor } = client();
    await editor.openFiles();
    await (await editor.tile('first.jpg')).click({ count: 2 });
    await eventually(() => editor.picturesInText()).toContainEqual({
      name: 'first.jpg',
      url: `${client().demo.pageUrl}file/photos/first.jpg`,
      width: 320,
      height: 240,
    });
  });
});
