import { describe, expect, test } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import { eventually, useClient } from './client.ts';
import { gif, jpeg, png, svg, webp } from './pictures.ts';

const photos = async () => ({
  'red.jpg': await jpeg(640, 480),
  'clear.png': await png(),
  'green.webp': await webp(),
  'moving.gif': await gif(),
  'violet.svg': svg,
  'Straße & Brücke.jpg': await jpeg(100, 400, '#16a085'),
  '夜の街.jpg': await jpeg(90, 60, '#2c3e50'),
  'trip/day one/one.jpg': await jpeg(200, 100),
  'trip/two.jpg': await jpeg(200, 120),
});
const documents = async () => ({ 'letter.txt': 'Dear reader', 'figures/sum.csv': 'a,b\n1,2\n' });

const inPhotos = [
  'clear.png',
  'green.webp',
  'moving.gif',
  'red.jpg',
  'violet.svg',
  'Straße & Brücke.jpg',
  '夜の街.jpg',
];

describe.skipIf(chromium === undefined)(`Browsing with the real client${needsChromium}`, () => {
  const client = useClient({ stock: true, photos, documents });

  test('shows every source with its folders and files', async () => {
    const { editor } = client();
    await editor.openFiles();
    await eventually(async () => (await editor.names()).sort()).toEqual([...inPhotos, 'letter.txt'].sort());
    await eventually(() => editor.sources()).toEqual(['photos', 'documents']);
    expect(await editor.folders()).toEqual(['.', 'trip', '.', 'figures']);
  });

  test('shows thumbnails that load and fit into their square', async () => {
    const { editor, demo } = client();
    await editor.openFiles();
    await eventually(() => editor.names()).toHaveLength(inPhotos.length + 1);
    const shown = new Map((await editor.thumbnails()).map((picture) => [picture.name, picture]));
    expect([...shown.keys()].sort()).toEqual([...inPhotos, 'letter.txt'].sort());
    for (const { url, width, height } of shown.values()) {
      expect(url).toContain(`${demo.pageUrl}file/`);
      expect(width).toBeGreaterThan(0);
      expect(height).toBeGreaterThan(0);
      expect(Math.max(width, height)).toBeLessThanOrEqual(250);
    }
    expect(shown.get('red.jpg')).toMatchObject({ width: 250, height: 188 });
    expect(shown.get('red.jpg')?.url).toContain('/_thumbs/');
    expect(shown.get('夜の街.jpg')).toMatchObject({ width: 90, height: 60 });
    expect(shown.get('violet.svg')?.url).toContain('/photos/violet.svg');
  });

  test('enters folders and comes back', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.enter('trip');
    await eventually(() => editor.names()).toEqual(['two.jpg']);
    await eventually(() => editor.folders()).toEqual(['..', 'day one']);
    await editor.enter('day one');
    await eventually(() => editor.names()).toEqual(['one.jpg']);
    expect((await editor.thumbnails()).map(({ width, height }) => [width, height])).toEqual([[200, 100]]);
    await editor.enter('..');
    await eventually(() => editor.names()).toEqual(['two.jpg']);
    await editor.enter('..');
    await eventually(async () => (await editor.names()).sort()).toEqual([...inPhotos].sort());
    await eventually(() => editor.sources()).toEqual(['photos']);
    // The point at the root stands for all sources.
    await editor.enter('.');
    await eventually(() => editor.sources()).toEqual(['photos', 'documents']);
  });

  test('sorts by name and size', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.enter('figures');
    await eventually(() => editor.names()).toEqual(['sum.csv']);
    await editor.enter('..');
    await editor.enter('.');
    await eventually(() => editor.names()).toHaveLength(inPhotos.length + 1);
    await editor.page.select('.jodit-dialog select', 'name-asc');
    const byName = [
      'clear.png',
      'green.webp',
      'moving.gif',
      'red.jpg',
      'Straße & Brücke.jpg',
      'violet.svg',
      '夜の街.jpg',
    ];
    await eventually(() => editor.names()).toEqual([...byName, 'letter.txt']);
    await editor.page.select('.jodit-dialog select', 'name-desc');
    await eventually(() => editor.names()).toEqual([...byName].reverse().concat('letter.txt'));
    await editor.page.select('.jodit-dialog select', 'size-asc');
    await eventually(async () => (await editor.names())[0]).toBe('violet.svg');
  });

  test('finds files by a part of their name, whatever the case', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.page.locator('.jodit-dialog input[placeholder="Filter"]').click();
    await editor.page.keyboard.type('BRÜCKE');
    await eventually(() => editor.names()).toEqual(['Straße & Brücke.jpg']);
    for (let count = 0; count < 'BRÜCKE'.length; count += 1) await editor.page.keyboard.press('Backspace');
    await editor.page.keyboard.type('夜');
    await eventually(() => editor.names()).toEqual(['夜の街.jpg']);
  });

  test('offers only pictures where a picture is wanted', async () => {
    const { editor } = client();
    await editor.page.locator('.jodit-toolbar-button_image button').click();
    await editor.page
      .locator('::-p-xpath(//*[contains(@class,"jodit-popup")]//button[normalize-space()="Browse"])')
      .click();
    await eventually(async () => (await editor.names()).sort()).toEqual([...inPhotos].sort());
  });
});
