import path from 'node:path';
import { expect, test } from 'vitest';
import { eventually, type Client } from './client.ts';
import { jpeg, png, webp, writeFiles } from './pictures.ts';

/** What the tests know of the store under the service. */
export interface ServedStore {
  /** Where a web server shows the files, with a slash at the end. */
  readonly baseurl: string;
  /** Paths of all files and created folders, thumbnails left out, folders with a slash at the end. */
  paths(): Promise<string[]>;
}

/** What the store holds at the beginning. */
export const firstFiles = async () => ({
  'harbour.jpg': await jpeg(640, 480),
  'glass.png': await png(300, 200),
  'Straße & Brücke.webp': await webp(280, 210),
  'to remove.jpg': await jpeg(200, 200, '#2980b9'),
  'trip/day one.jpg': await jpeg(200, 100),
});

const inRoot = ['Straße & Brücke.webp', 'glass.png', 'harbour.jpg', 'to remove.jpg'];

const bytesAt = async (url: string): Promise<Buffer> => {
  const answer = await fetch(url);
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
};

/** The whole job of a person with the real client on a source in another store, one step after the other. */
export const describeWholeJob = (client: () => Client, store: () => ServedStore): void => {
  test('shows files with thumbnails that load from where the store is served, also those of a folder', async () => {
    const { editor } = client();
    await editor.openFiles();
    await eventually(async () => (await editor.names()).sort()).toEqual(inRoot);
    const shown = await editor.thumbnails();
    expect(shown.map(({ name }) => name).sort()).toEqual(inRoot);
    for (const { url, width, height } of shown) {
      expect(url.startsWith(`${store().baseurl}_thumbs/`)).toBe(true);
      expect(Math.max(width, height)).toBeGreaterThan(0);
    }
    expect(shown.find(({ name }) => name === 'harbour.jpg')).toMatchObject({ width: 250, height: 188 });
    await editor.enter('trip');
    await eventually(() => editor.names()).toEqual(['day one.jpg']);
    expect(await editor.thumbnails()).toMatchObject([{ width: 200, height: 100 }]);
  });

  test('creates, renames and removes a folder', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.press('Add folder');
    await editor.answer('Neue Fotos');
    await eventually(() => editor.folders()).toContain('Neue Fotos');
    expect(await store().paths()).toContain('Neue Fotos/');
    await editor.markOf('trip', 'rename');
    await editor.answer('journey');
    await eventually(() => editor.folders()).toContain('journey');
    expect(await store().paths()).toContain('journey/day one.jpg');
    await editor.markOf('Neue Fotos', 'remove');
    await editor.agree();
    await eventually(() => editor.folders()).not.toContain('Neue Fotos');
    expect((await store().paths()).filter((name) => /^(?:Neue Fotos|trip)\//u.test(name))).toEqual([]);
  });

  test('renames a file with its thumbnail, and removes one', async () => {
    const { editor } = client();
    const before = await bytesAt(`${store().baseurl}glass.png`);
    await editor.openFiles();
    await editor.menu('glass.png', 'Rename');
    await editor.answer('clear glass');
    await eventually(() => editor.names()).toContain('clear glass.png');
    expect(await bytesAt(`${store().baseurl}clear%20glass.png`)).toEqual(before);
    const thumbnail = (await editor.thumbnails()).find(({ name }) => name === 'clear glass.png');
    expect(thumbnail).toMatchObject({ width: 250, height: 167 });
    await (await editor.tile('to remove.jpg')).click();
    await editor.tool('remove');
    await editor.agree();
    await eventually(() => editor.names()).not.toContain('to remove.jpg');
    const paths = await store().paths();
    expect(paths).not.toContain('glass.png');
    expect(paths).not.toContain('to remove.jpg');
  });

  test('uploads a picture, and puts it into the text', async () => {
    const { editor, desktop } = client();
    const bytes = await jpeg(900, 600, '#16a085');
    await writeFiles(desktop, { 'Größe.jpg': bytes });
    await editor.openFiles();
    await editor.upload(path.join(desktop, 'Größe.jpg'));
    await eventually(() => editor.names()).toContain('Größe.jpg');
    expect(await bytesAt(`${store().baseurl}Gr%C3%B6%C3%9Fe.jpg`)).toEqual(bytes);
    await (await editor.tile('Größe.jpg')).click({ count: 2 });
    await eventually(() => editor.picturesInText()).toContainEqual({
      name: 'Größe.jpg',
      url: `${store().baseurl}Gr%C3%B6%C3%9Fe.jpg`,
      width: 900,
      height: 600,
    });
  });
};
