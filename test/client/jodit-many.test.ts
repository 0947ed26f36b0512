import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import { eventually } from './client.ts';
import type { EditorPage } from './editor-page.ts';
import { type JoinedPage, joinPage } from './joined-page.ts';
import { jpeg } from './pictures.ts';

const someFiles = async (folder: string, names: string) => {
  const picture = await jpeg(60, 40);
  return Object.fromEntries(names.split(' ').map((name) => [`${folder}/${name}`, picture]));
};

const NO_LISTS = JSON.stringify({ success: false, data: { code: 400, messages: ['name is required'] } });

describe.skipIf(chromium === undefined)(`Several files at once in Jodit${needsChromium}`, () => {
  let joined: JoinedPage;
  let editor: EditorPage;

  beforeAll(async () => {
    const files = {
      ...(await someFiles('bin', 'a.jpg b.jpg c.jpg stays.jpg')),
      ...(await someFiles('box', 'd.jpg e.jpg f.gif')),
      ...(await someFiles('keys', 'g.jpg h.jpg')),
      ...(await someFiles('old', 'i.jpg j.jpg k.jpg')),
      ...(await someFiles('closed', 'l.jpg')),
      'turn/side.jpg': await jpeg(120, 80),
      'empty/': '',
    };
    joined = await joinPage(files, (root) => ({
      sources: { photos: { title: 'Photos', root, serve: 'public', trash: { retentionDays: 1 } } },
      accessControl: [
        { extensions: 'gif', FILE_MOVE: false, FILE_REMOVE: false },
        { path: '/closed', FILE_UPLOAD: false },
      ],
    }));
    editor = await joined.visit();
  });
  afterAll(() => joined.close());
  beforeEach(async () => {
    await editor.page.reload();
    await editor.page.waitForSelector('body.ready');
    await editor.openFiles();
    joined.actions.length = 0;
  });

  const shown = async (folder: string): Promise<string[]> =>
    (await readdir(path.join(joined.photos, folder))).filter((name) => name.includes('.jpg')).sort();
  const counted = (action: string): number => joined.actions.filter((one) => one === action).length;
  const open = async (folder: string, names: string): Promise<void> => {
    await editor.enter(folder);
    await eventually(async () => (await editor.names()).sort().join(' ')).toBe(names);
  };
  const select = async (names: string): Promise<void> => {
    await editor.page.keyboard.down('Control');
    for (const name of names.split(' ')) await (await editor.tile(name)).click();
    await editor.page.keyboard.up('Control');
  };

  test('removes three by one request, with one message, and brings all of them back', async () => {
    await open('bin', 'a.jpg b.jpg c.jpg stays.jpg');
    await select('a.jpg b.jpg c.jpg');
    await editor.tool('remove');
    await editor.agree();
    await eventually(() => editor.messages()).toEqual(['success: 3 files were deleted.']);
    expect(counted('fileRemove')).toBe(1);
    expect(await shown('bin')).toEqual(['stays.jpg']);
    await editor.page.locator('.stowage-notice__action').click();
    await eventually(() => editor.messages()).toEqual(['success: 3 files are back.']);
    expect(await shown('bin')).toEqual(['a.jpg', 'b.jpg', 'c.jpg', 'stays.jpg']);
  });

  test('moves what is selected by one drag, and names what could not be moved, with the reason', async () => {
    await open('box', 'd.jpg e.jpg f.gif');
    await select('d.jpg e.jpg f.gif');
    await editor.drag(await editor.tile('e.jpg'), await editor.folder('..'));
    await eventually(() => editor.names()).toEqual(['f.gif']);
    await eventually(() => editor.messages()).toEqual([
      expect.stringMatching(/^error: Files moved: 2 of 3\.\nf\.gif: \S/u),
    ]);
    expect(counted('fileMove')).toBe(1);
    expect(await shown('box')).toEqual([]);
    expect(await shown('.')).toEqual(['d.jpg', 'e.jpg']);
  });

  test('moves by the keyboard alone, into an empty folder too', async () => {
    const { keyboard } = editor.page;
    await open('keys', 'g.jpg h.jpg');
    await editor.page.focus('.jodit-file-browser-files [tabindex="0"]');
    for (const key of ['a', 'x']) {
      await keyboard.down('Control');
      await keyboard.press(key as 'a');
      await keyboard.up('Control');
    }
    await eventually(() => editor.messages()).toEqual([
      'info: 2 files are ready to move. Open a folder and press Ctrl+V.',
    ]);
    await (await editor.folder('..')).focus();
    await keyboard.press('Enter');
    await (await editor.folder('empty')).focus();
    await keyboard.press('Enter');
    await eventually(() => editor.names()).toEqual([]);
    await eventually(() => editor.folders()).toEqual(['..']);
    await keyboard.down('Control');
    await keyboard.press('v');
    await keyboard.up('Control');
    await eventually(() => shown('empty')).toEqual(['g.jpg', 'h.jpg']);
    await eventually(() => editor.messages()).toContain('success: 2 files were moved.');
    expect(counted('fileMove')).toBe(1);
  });

  test('shows the files of a closed folder with its own tools, also when its permissions come last', async () => {
    const { page } = editor;
    let [listed, release] = [() => {}, () => {}];
    const isListed = new Promise<void>((resolve) => (listed = resolve));
    const isReleased = new Promise<void>((resolve) => (release = resolve));
    joined.putInFront(async ({ action }, response) => {
      if (action === 'files') response.once('finish', listed);
      if (action === 'permissions') await isReleased;
      return false;
    });
    // Whether there is an upload button at the moment the file is shown.
    const atFirst = page.evaluate(
      () =>
        new Promise<boolean>((resolve) => {
          new MutationObserver(() => {
            if (document.querySelector('[data-name="l.jpg"]') !== null)
              resolve(document.querySelector('.jodit-dialog .jodit-toolbar-content_upload') !== null);
          }).observe(document.body, { childList: true, subtree: true });
        }),
    );
    await editor.enter('closed');
    await isListed;
    // Jodit had the time to draw what it got.
    await page.evaluate(async () => {
      for (let frame = 0; frame < 20; frame += 1) await new Promise(requestAnimationFrame);
    });
    release();
    expect(await atFirst).toBe(false);
    joined.putInFront();
    await editor.enter('..');
    await eventually(() => editor.canUse('upload input')).toBe(true);
  });

  test('leaves a question free in a narrow window, while the last removal can be taken back', async () => {
    const { page } = editor;
    await open('old', 'i.jpg j.jpg k.jpg');
    const viewport = page.viewport();
    await page.setViewport({ width: 360, height: 560 });
    await select('k.jpg');
    await editor.tool('remove');
    await editor.agree();
    await page.waitForSelector('.stowage-notice__action');
    await select('j.jpg');
    await editor.tool('remove');
    await page.waitForSelector('.stowage-question');
    const covered = await page.$$eval(
      ':is(.jodit-dialog__header, .jodit-dialog__footer) button, .stowage-question > *',
      (parts) =>
        parts.flatMap((part) => {
          const { left, top, width, height } = part.getBoundingClientRect();
          const at = document.elementFromPoint(left + width / 2, top + height / 2);
          return at?.closest('.stowage-notices') === null ? [] : [part.textContent];
        }),
    );
    expect(covered).toEqual([]);
    await page.keyboard.press('Escape');
    await page.locator('.stowage-notice__action').click();
    await eventually(() => shown('old')).toEqual(['i.jpg', 'j.jpg', 'k.jpg']);
    await page.setViewport(viewport);
  });

  test('asks a service that knows no lists for one file after the other', async () => {
    joined.putInFront(({ body }, response) => {
      if (!/name="(?:names|froms)\[/u.test(body.toString('latin1'))) return false;
      response.writeHead(400, { 'content-type': 'application/json' }).end(NO_LISTS);
      return true;
    });
    await open('old', 'i.jpg j.jpg k.jpg');
    await select('i.jpg j.jpg');
    await editor.tool('remove');
    await editor.agree();
    await eventually(() => editor.messages()).toEqual(['success: 2 files were deleted.']);
    expect(counted('fileRemove')).toBe(3);
    expect(await shown('old')).toEqual(['k.jpg']);
    joined.putInFront();
  });

  test('turns a picture in the menu of its tile, without a mouse, and shows it immediately', async () => {
    const { page } = editor;
    await open('turn', 'side.jpg');
    const thumbnail = async () => (await editor.thumbnails()).map(({ width, height }) => [width, height]);
    await eventually(thumbnail).toEqual([[120, 80]]);
    await page.focus('[data-name="side.jpg"]');
    await page.keyboard.press('ContextMenu');
    await page.waitForSelector('.jodit-context-menu button:focus');
    const labels = await page.$$eval('.jodit-context-menu button', (all) => all.map((one) => one.innerText));
    expect(labels).toEqual(['Edit', 'Rename', 'Delete', 'Preview', 'Turn left', 'Turn right', 'Download']);
    for (let step = 0; step < 4; step += 1) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await eventually(thumbnail).toEqual([[80, 120]]);
    const turned = await readFile(path.join(joined.photos, 'turn/side.jpg'));
    const { data, info } = await sharp(turned).autoOrient().raw().toBuffer({ resolveWithObject: true });
    expect([info.width, info.height]).toEqual([80, 120]);
    // The dark corner of the upper left is at the lower left now.
    const brightness = (x: number, y: number): number => data[(y * info.width + x) * info.channels] ?? -1;
    expect(brightness(4, 115)).toBeLessThan(80);
    expect(brightness(4, 4)).toBeGreaterThan(150);
    await eventually(() => page.evaluate(() => document.activeElement?.getAttribute('data-name'))).toBe(
      'side.jpg',
    );
  });

  test('downloads several as an archive', async () => {
    const downloads = path.join(joined.photos, '../downloads');
    await editor.keepDownloadsIn(downloads);
    await open('bin', 'a.jpg b.jpg c.jpg stays.jpg');
    expect(await editor.canUse('stowageDownload')).toBe(false);
    await select('a.jpg b.jpg');
    await editor.tool('stowageDownload');
    await eventually(() => readdir(downloads).catch(() => [])).toEqual(['bin.zip']);
    const archive = (await readFile(path.join(downloads, 'bin.zip'))).toString('latin1');
    expect(archive).toMatch(/^PK[\s\S]*a\.jpg[\s\S]*b\.jpg/u);
    expect(counted('fileDownload')).toBe(1);
  });
});
