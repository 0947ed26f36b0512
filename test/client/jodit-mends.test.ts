import { mkdir, readdir, readFile, rm, utimes } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import { eventually, useClient } from './client.ts';
import { jpeg, writeFiles } from './pictures.ts';

const photos = async () => ({
  'one.jpg': await jpeg(600, 400),
  'two.jpg': await jpeg(61, 60),
  'three.jpg': await jpeg(62, 60),
  'left.jpg': await jpeg(63, 60),
  '50% of #1.jpg': await jpeg(80, 60),
  'trip/day one/sea.jpg': await jpeg(64, 60),
  'Köln/cathedral.jpg': await jpeg(64, 60),
});

describe.skipIf(chromium === undefined)(`What stowage/jodit mends in Jodit${needsChromium}`, () => {
  const client = useClient({ photos });
  const inPhotos = (...parts: string[]): string => path.join(client().dataDir, 'photos', ...parts);
  const text = (selector: string): Promise<string> =>
    client().editor.page.$eval(selector, (element) => (element as HTMLElement).innerText);

  test('renames files and folders to names of all alphabets, as the connector allows', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.menu('two.jpg', 'Rename');
    await editor.answer('Ελλάδα 旅 (1) [ü].jpg');
    await eventually(() => editor.names()).toContain('Ελλάδα 旅 (1) [ü].jpg');
    expect(await readdir(inPhotos())).toContain('Ελλάδα 旅 (1) [ü].jpg');
    const mark = '.jodit-file-browser-tree__item[data-name="Köln"] .jodit-ui-button_rename';
    await (await editor.folder('Köln')).hover();
    await editor.page.hover(mark);
    // The sign on it is dark.
    const ground = () => editor.page.$eval(mark, (button) => getComputedStyle(button).backgroundColor);
    await eventually(ground).toBe('rgb(255, 255, 255)');
    await editor.markOf('Köln', 'rename');
    await editor.answer('Córdoba & Köln');
    await eventually(() => editor.folders()).toContain('Córdoba & Köln');
    expect(await readdir(inPhotos('Córdoba & Köln'))).toContain('cathedral.jpg');
  });

  test('shows the names of folders as text, whatever other programs have called them', async () => {
    const { editor } = client();
    const name = `<img src=x onerror="document.title='broken'">`;
    await mkdir(inPhotos(name));
    await editor.openFiles();
    await eventually(() => editor.folders()).toContain(name);
    expect(await editor.page.$$('.jodit-file-browser-tree img')).toHaveLength(0);
    expect(await editor.page.title()).not.toBe('broken');
    await rm(inPhotos(name), { recursive: true });
  });

  test('asks before files go, by their names, also in the menu, and leaves them when the answer is no', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.page.keyboard.down('Control');
    for (const name of ['one.jpg', 'three.jpg']) await (await editor.tile(name)).click();
    await editor.page.keyboard.up('Control');
    await editor.tool('remove');
    const question = await text('.stowage-question');
    expect(question).toContain('Delete 2 files?');
    expect(question.split('\n').filter((line) => line.endsWith('.jpg'))).toEqual(['one.jpg', 'three.jpg']);
    await editor.press('Cancel');
    await editor.menu('left.jpg', 'Delete');
    expect(await text('.stowage-question')).toMatch(/Delete this file\?\s+left\.jpg/u);
    await editor.press('Cancel');
    await editor.settled();
    expect(await readdir(inPhotos())).toEqual(expect.arrayContaining(['one.jpg', 'three.jpg', 'left.jpg']));
    await editor.menu('left.jpg', 'Delete');
    await editor.agree();
    await eventually(() => editor.names()).not.toContain('left.jpg');
    expect(await readdir(inPhotos())).not.toContain('left.jpg');
    expect(await editor.page.$$('.stowage-notice__action')).toHaveLength(0);
  });

  test('says which folder is open, and leads back', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.enter('trip');
    await eventually(() => text('.stowage-folder')).toMatch(/^Photos\s*\/?\s*trip$/u);
    await editor.enter('day one');
    await eventually(() => text('.stowage-folder strong')).toBe('day one');
    await eventually(() => editor.names()).toEqual(['sea.jpg']);
    await editor.page.locator('.stowage-folder__part').click();
    await eventually(() => editor.names()).toContain('one.jpg');
    expect(await text('.stowage-folder strong')).toBe('Photos');
  });

  test('shows times of the zone and in the manner of the person', async () => {
    const { editor } = client();
    const changed = new Date('2026-03-05T23:30:00Z');
    await utimes(inPhotos('one.jpg'), changed, changed);
    await editor.page.emulateTimezone('Asia/Tokyo');
    await editor.page.reload();
    await editor.page.waitForSelector('.state.ready');
    await editor.openFiles();
    const tile = '[data-name="one.jpg"] .jodit-file-browser-files__item-info-filechanged';
    await eventually(() => editor.page.$eval(tile, (element) => element.textContent)).toBe(
      'Mar 6, 2026, 8:30 AM',
    );
  });

  test('opens and inserts files whose names have signs of URLs', async () => {
    const { editor } = client();
    await editor.openFiles();
    await (await editor.tile('50% of #1.jpg')).click({ count: 2 });
    await eventually(() => editor.picturesInText()).toContainEqual(
      expect.objectContaining({ name: '50% of #1.jpg', width: 80, height: 60 }),
    );
  });

  test('gives an inserted picture its width and height', async () => {
    const { editor, desktop } = client();
    await editor.openFiles();
    await (await editor.tile('one.jpg')).click({ count: 2 });
    await eventually(() => editor.html()).toMatch(
      /<img src="\/file\/photos\/one\.jpg" width="420" height="280"/u,
    );
    await writeFiles(desktop, { 'small.jpg': await jpeg(120, 90) });
    await editor.drop('.jodit-wysiwyg h2', path.join(desktop, 'small.jpg'));
    await eventually(() => editor.html()).toMatch(
      /<img src="\/file\/photos\/small\.jpg" width="120" height="90"/u,
    );
  });

  test('is used without a mouse: arrows, Enter, F2 and Delete', async () => {
    const { editor } = client();
    const { keyboard } = editor.page;
    await writeFiles(inPhotos('keys'), { 'a.jpg': await jpeg(40, 40), 'b.jpg': await jpeg(41, 40) });
    const focused = (): Promise<string | null> =>
      editor.page.evaluate(() => document.activeElement?.getAttribute('data-name') ?? null);
    await editor.openFiles();
    await editor.page.select('.jodit-dialog select', 'name-asc');
    await (await editor.folder('keys')).focus();
    await keyboard.press('Enter');
    await eventually(() => editor.names()).toEqual(['a.jpg', 'b.jpg']);
    await editor.page.focus('.jodit-file-browser-files [tabindex="0"]');
    await keyboard.press('ArrowRight');
    expect(await focused()).toBe('b.jpg');
    const selected = '.jodit-file-browser-files [role=option][aria-selected=true]';
    expect(
      await editor.page.$$eval(selected, (tiles) => tiles.map((tile) => tile.getAttribute('data-name'))),
    ).toEqual(['b.jpg']);
    await keyboard.press('F2');
    await editor.answer('c.jpg');
    await eventually(() => editor.names()).toEqual(['a.jpg', 'c.jpg']);
    await editor.page.focus('[data-name="c.jpg"]');
    await keyboard.press('Home');
    expect(await focused()).toBe('a.jpg');
    await keyboard.press('Delete');
    await editor.page.waitForSelector('.stowage-question');
    await keyboard.press('Escape');
    await editor.page.waitForSelector('.stowage-question', { hidden: true });
    await eventually(focused).toBe('a.jpg');
    await keyboard.press('Delete');
    await editor.page.waitForSelector('.stowage-question');
    await keyboard.press('Enter');
    await eventually(() => readdir(inPhotos('keys'))).not.toContain('a.jpg');
    await eventually(() => editor.names()).toEqual(['c.jpg']);
    await eventually(focused).toBe('c.jpg');
    await keyboard.press('Enter');
    await eventually(() => editor.picturesInText()).toContainEqual(
      expect.objectContaining({ name: 'c.jpg' }),
    );
  });

  test('shows in the dialog how far an upload is, and breaks it off without a trace', async () => {
    const { editor, desktop } = client();
    const bytes = Buffer.alloc(4_000_000, 'BM');
    await writeFiles(desktop, { 'a.bmp': bytes, 'b.bmp': bytes });
    await editor.slowDown(200_000);
    await editor.openFiles();
    await editor.upload(path.join(desktop, 'a.bmp'), path.join(desktop, 'b.bmp'));
    const row = '.jodit-dialog .stowage-upload';
    await editor.page.waitForSelector(row, { visible: true });
    await eventually(() => text(row)).toMatch(/Uploading 2 files[\s\S]*MB of 8\.0 MB/u);
    await editor.page.locator('.stowage-upload__cancel').click();
    await eventually(() => editor.messages()).toContain(
      'info: The upload was cancelled. Nothing was stored.',
    );
    expect(await editor.page.$$(row)).toHaveLength(0);
    await editor.slowDown(-1);
    await eventually(() => readdir(inPhotos())).not.toContain('a.bmp');
    expect((await readFile(inPhotos('one.jpg'))).length).toBeGreaterThan(0);
  });

  test('shows errors inside the window and to screen readers', async () => {
    const { editor, desktop } = client();
    await writeFiles(desktop, { 'program.exe': 'MZ' });
    await editor.page.setViewport({ width: 1280, height: 400 });
    await editor.drop('.jodit-wysiwyg h2', path.join(desktop, 'program.exe'));
    const notice = await editor.page.waitForSelector('[role=alert] .stowage-notice', { visible: true });
    const box = await notice?.boundingBox();
    expect((box?.y ?? 999) + (box?.height ?? 999)).toBeLessThanOrEqual(400);
    expect(await text('[role=alert]')).toMatch(/not allowed/u);
  });
});
