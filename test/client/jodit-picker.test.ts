import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeEach, describe, expect } from 'vitest';
import { testInTurns } from '../before-release.ts';
import { chromium, keepDownloads, needsChromium } from './chromium.ts';
import { eventually, inShadow, useClient } from './client.ts';
import { jpeg, writeFiles } from './pictures.ts';

/** What every test begins with. */
const photos = async () => ({
  'one.jpg': await jpeg(600, 400),
  'two.jpg': await jpeg(61, 60),
  'three.jpg': await jpeg(62, 60),
  'left.jpg': await jpeg(63, 60),
  'turn me.jpg': await jpeg(120, 80),
  '50% of #1.jpg': await jpeg(80, 60),
  'trip/day one/sea.jpg': await jpeg(64, 60),
  'trip/notes.txt': 'x',
  'closed/kept.jpg': await jpeg(65, 60),
});

const test = testInTurns(3);

describe.skipIf(chromium === undefined)(`The picker that Jodit opens${needsChromium}`, () => {
  let base = '';
  const at = (...parts: string[]): string => path.join(base, ...parts);
  const client = useClient({
    config: async () => {
      base = await mkdtemp(path.join(tmpdir(), 'stowage-opened-'));
      for (const name of ['photos', 'documents']) await mkdir(at(name));
      const trash = { retentionDays: 30, keepReplaced: true };
      return {
        accessControl: [{ extensions: 'gif', FILE_MOVE: false }],
        sources: {
          photos: { title: 'Photos', root: at('photos'), serve: 'public', trash },
          documents: { title: 'Documents', root: at('documents'), serve: 'public', trash },
        },
      };
    },
  });
  afterAll(() => rm(base, { recursive: true, force: true }));
  beforeEach(async () => {
    for (const name of ['photos', 'documents']) {
      for (const entry of await readdir(at(name)))
        await rm(at(name, entry), { recursive: true, force: true, maxRetries: 5 });
    }
    await writeFiles(at('photos'), await photos());
    await writeFiles(at('documents'), { 'letter.txt': 'Dear reader', 'abroad/': '' });
  });
  const shown = async (...folder: string[]): Promise<string[]> =>
    (await readdir(at(...folder))).filter((name) => !/^(?:\.|_thumbs)/u.test(name)).sort();
  const names = [
    'closed',
    'trip',
    '50% of #1.jpg',
    'left.jpg',
    'one.jpg',
    'three.jpg',
    'turn me.jpg',
    'two.jpg',
  ];

  test('inserts a picture with its size, whatever its name, where the cursor was', async () => {
    const { editor } = client();
    const picker = await editor.browse();
    expect(await picker.names()).toEqual(names);
    await (await picker.cell('50% of #1.jpg')).click({ count: 2 });
    await eventually(() => editor.picturesInText()).toContainEqual(
      expect.objectContaining({ name: '50% of #1.jpg', width: 80, height: 60 }),
    );
    const again = await editor.browse();
    await (await again.cell('one.jpg')).click({ count: 2 });
    await eventually(() => editor.html()).toMatch(
      /<img src="[^"]*\/file\/photos\/one\.jpg" width="420" height="280"/u,
    );
  });

  test('opens from the popup for pictures with pictures alone, and inserts all that are chosen', async () => {
    const { editor, picker } = client();
    const { page } = editor;
    await page.locator('.jodit-toolbar-button_image button').click();
    await page
      .locator('::-p-xpath(//*[contains(@class,"jodit-popup")]//button[normalize-space()="Browse"])')
      .click();
    await picker.opened();
    await picker.enter('trip');
    await eventually(() => picker.names()).toEqual(['day one']);
    await picker.click('.step');
    await eventually(() => picker.names()).toEqual(names);
    await picker.choose('two.jpg', 'three.jpg');
    await picker.click('.foot .primary');
    await eventually(async () => (await editor.picturesInText()).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['two.jpg', 'three.jpg']),
    );
  });

  test('opens from the popup for files, and from the properties of a picture, which stay open', async () => {
    const { editor, picker } = client();
    const { page } = editor;
    await page.locator('.jodit-toolbar-button_file button').click();
    await page
      .locator('::-p-xpath(//*[contains(@class,"jodit-popup")]//button[normalize-space()="Browse"])')
      .click();
    await picker.opened();
    await (await picker.branch('Documents')).click();
    await (await picker.cell('letter.txt')).click({ count: 2 });
    await eventually(() => editor.html()).toMatch(/<a href="[^"]*\/file\/documents\/letter\.txt"/u);

    await editor.write('<p><img src="/file/photos/one.jpg"></p>');
    await page.locator('.jodit-wysiwyg img').click({ count: 2 });
    await page.locator('.jodit-dialog [data-ref="changeImage"]').click();
    await page
      .locator('::-p-xpath(//*[contains(@class,"jodit-popup")]//button[normalize-space()="Browse"])')
      .click();
    await picker.opened();
    await picker.press('Escape');
    await eventually(async () => (await picker.all('.picker')).length).toBe(0);
    expect(await page.$('.jodit-dialog [data-ref="changeImage"]')).not.toBeNull();
  });

  test('says what files are inserted as: links with names, videos with controls', async () => {
    await writeFiles(at('documents'), { 'film.mp4': 'not really' });
    const { editor } = client();
    const picker = await editor.browse();
    await (await picker.branch('Documents')).click();
    await picker.choose('letter.txt', 'film.mp4');
    await picker.click('.foot .primary');
    await eventually(() => editor.html()).toMatch(
      /<a href="[^"]*\/file\/documents\/letter\.txt">letter\.txt<\/a>/u,
    );
    expect(await editor.html()).toMatch(/<video src="[^"]*\/file\/documents\/film\.mp4" controls/u);
  });

  test('renames to names of all alphabets, and shows names as text', async () => {
    const hostile = `<img src=x onerror="document.title='broken'">`;
    await mkdir(at('photos', hostile));
    const { editor } = client();
    const picker = await editor.browse();
    await eventually(() => picker.folders()).toContain(hostile);
    expect(await picker.all('.name img')).toEqual([]);
    await picker.choose('two.jpg');
    await picker.tool('rename');
    await picker.answer('Ελλάδα 旅 (1) [ü].jpg');
    await eventually(() => picker.names()).toContain('Ελλάδα 旅 (1) [ü].jpg');
    expect(await shown('photos')).toContain('Ελλάδα 旅 (1) [ü].jpg');
    await picker.choose('trip');
    await picker.tool('rename');
    await picker.answer('Córdoba & Köln');
    await eventually(() => picker.folders()).toContain('Córdoba & Köln');
    expect(await shown('photos', 'Córdoba & Köln')).toEqual(['day one', 'notes.txt']);
    expect(await editor.page.title()).not.toBe('broken');
  });

  test('removes several by one question and one message, and brings all back', async () => {
    const { editor } = client();
    const picker = await editor.browse();
    await picker.choose('one.jpg', 'two.jpg', 'three.jpg');
    await picker.tool('remove');
    await eventually(() => picker.texts('dialog h2')).toEqual(['Delete 3 items?']);
    await picker.press('Escape');
    expect(await shown('photos')).toEqual(expect.arrayContaining(['one.jpg', 'two.jpg', 'three.jpg']));
    await picker.tool('remove');
    await picker.click('dialog.dialog [type="submit"]');
    await picker.says('3 items were deleted.');
    expect(await shown('photos')).not.toContain('one.jpg');
    await picker.undo();
    await eventually(() => picker.names()).toEqual(names);
  });

  test('moves what is chosen by one drag, names the target, and says what stayed and why', async () => {
    await writeFiles(at('photos'), { 'stays.gif': 'GIF89a' });
    const { editor } = client();
    const picker = await editor.browse();
    await (await picker.branch('Documents')).click();
    await eventually(() => picker.folders()).toContain('abroad');
    await (await picker.branch('Photos')).click();
    await eventually(() => picker.names()).toContain('stays.gif');
    await picker.choose('one.jpg', 'two.jpg', 'stays.gif');
    await picker.drag(await picker.cell('two.jpg'), await picker.branch('abroad'), async () => {
      await eventually(() => picker.texts('.target')).toEqual(['Move to Documents / abroad']);
      expect(await picker.all('.branch.dropping')).toHaveLength(1);
    });
    await picker.says('2 items were moved to abroad.');
    await picker.says('2 of 3 done. stays.gif: ');
    expect(await shown('documents', 'abroad')).toEqual(['one.jpg', 'two.jpg']);
    expect(await shown('photos')).toContain('stays.gif');
    await picker.undo();
    await eventually(() => shown('documents', 'abroad')).toEqual([]);
  });

  test('turns a picture in the menu of its tile, without a mouse, and shows it at once', async () => {
    const { editor } = client();
    const picker = await editor.browse();
    await (await picker.cell('turn me.jpg')).focus();
    await picker.press('ContextMenu');
    await eventually(() => picker.texts('[role="menuitem"]')).toContain('Turn left');
    await picker.page.keyboard.press('ArrowDown');
    for (let step = 0; step < 12 && (await picker.focus()) !== 'Turn left'; step += 1)
      await picker.press('ArrowDown');
    await picker.press('Enter');
    await picker.says('turn me.jpg was changed.');
    const { data, info } = await sharp(await readFile(at('photos', 'turn me.jpg')))
      .autoOrient()
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect([info.width, info.height]).toEqual([80, 120]);
    // The dark corner of the upper left is at the lower left now.
    const brightness = (x: number, y: number): number => data[(y * info.width + x) * info.channels] ?? -1;
    expect(brightness(4, 115)).toBeLessThan(80);
    await eventually(async () =>
      (await picker.thumbnails()).find(({ name }) => name === 'turn me.jpg'),
    ).toMatchObject({ width: 80, height: 120 });
  });

  test('downloads several as an archive', async () => {
    const { editor } = client();
    const downloads = at('downloads');
    await keepDownloads(editor.page, downloads);
    const picker = await editor.browse();
    await picker.choose('one.jpg', 'two.jpg');
    await picker.tool('download');
    // Chromium creates the file before its bytes arrive.
    const archive = async (): Promise<string> => {
      const [name] = (await readdir(downloads).catch(() => [])).filter((one) => one.endsWith('.zip'));
      return name === undefined ? '' : readFile(path.join(downloads, name), 'latin1');
    };
    await eventually(archive).toMatch(/^PK[\s\S]*one\.jpg[\s\S]*two\.jpg/u);
  });

  test('shows times of the zone and in the manner of the person', async () => {
    const { utimes } = await import('node:fs/promises');
    const changed = new Date('2026-03-05T23:30:00Z');
    await utimes(at('photos', 'one.jpg'), changed, changed);
    const { editor } = client();
    await editor.page.emulateTimezone('Asia/Tokyo');
    const picker = await editor.browse();
    await picker.click('[data-view="list"]');
    await eventually(async () => (await picker.texts('.fact.changed')).join('\n')).toContain(
      'Mar 6, 2026, 8:30 AM',
    );
  });

  test('brings back from the trash, and deletes for good after a question', async () => {
    const { editor } = client();
    const picker = await editor.browse();
    const bytes = await readFile(at('photos', 'left.jpg'));
    for (const name of ['left.jpg', 'three.jpg']) {
      await picker.choose(name);
      await picker.tool('remove');
      await picker.click('dialog.dialog [type="submit"]');
      await picker.says(`${name} was deleted.`);
      // What lies below it moves up then.
      await eventually(() => picker.names()).not.toContain(name);
    }
    await picker.tool('trash');
    await eventually(() => picker.texts('dialog h2')).toEqual(['Trash of Photos']);
    await eventually(async () => (await picker.texts('tbody th')).slice(0, 2)).toEqual([
      'three.jpg',
      'left.jpg',
    ]);
    await picker.click('[aria-label="Restore: left.jpg"]');
    await eventually(() => shown('photos')).toContain('left.jpg');
    expect(await readFile(at('photos', 'left.jpg'))).toEqual(bytes);
    await picker.click('[aria-label="Delete for good: three.jpg"]');
    await eventually(() => picker.texts('dialog h2')).toContain('Delete three.jpg for good?');
    await picker.press('Enter');
    await eventually(async () => (await picker.texts('tbody th')).includes('three.jpg')).toBe(false);
  });

  test('takes back a new size of a picture of the text', async () => {
    const { editor, demo } = client();
    const { page } = editor;
    const before = await readFile(at('photos', 'one.jpg'));
    await editor.write(`<p><img src="${demo.pageUrl}file/photos/one.jpg"></p>`);
    await editor.openPictureEditor();
    await editor.resizeTo(200);
    await editor.press('Save');
    await (await inShadow(page, '.edge .offer')).evaluate((button) => button.click());
    await eventually(() => editor.messages()).toContain('info: Undone.');
    expect(await readFile(at('photos', 'one.jpg'))).toEqual(before);
  });

  test('shows errors of the text inside the window and to screen readers', async () => {
    const { editor, desktop } = client();
    await writeFiles(desktop, { 'program.exe': 'MZ' });
    await editor.page.setViewport({ width: 1280, height: 400 });
    await editor.drop('.jodit-wysiwyg h2', path.join(desktop, 'program.exe'));
    const notice = await editor.page.waitForSelector('>>> .edge .notice', { visible: true });
    const box = await notice?.boundingBox();
    expect((box?.y ?? 999) + (box?.height ?? 999)).toBeLessThanOrEqual(400);
    const alert = await editor.page.$('>>> .edge [role=alert]');
    expect(await alert?.evaluate(({ textContent }) => textContent)).toMatch(/not allowed/u);
  });
});
