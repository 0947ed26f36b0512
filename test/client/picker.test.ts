import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ElementHandle } from 'puppeteer-core';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { testInTurns, runsEverything } from '../before-release.ts';
import { chromium, needsChromium } from './chromium.ts';
import { PickerPage } from './picker-page.ts';
import { usePickerService } from './picker-service.ts';
import { jpeg } from './pictures.ts';

/** Bytes that repeat only after a prime number of them. */
const noise = (length: number): Buffer =>
  Buffer.alloc(length, Buffer.from(Array.from({ length: 251 }, (_, index) => (index * 7919) % 251)));

const test = testInTurns(3);

describe.skipIf(chromium === undefined)(`the picker${needsChromium}`, () => {
  const service = usePickerService();

  it('picks a picture by keys, with its size and its smaller variants, and gives the focus back', async () => {
    const picker = await service().open();
    expect(await picker.focus()).toBe('closed Folder');
    await picker.press('End');
    await picker.onFile('two.jpg');
    await picker.press('ArrowLeft', 'Enter');
    await picker
      .eventually(() => picker.page.evaluate('window.picked'))
      .toMatchObject([
        {
          source: 'photos',
          path: '',
          name: 'one.jpg',
          isImage: true,
          width: 640,
          height: 480,
          mime: 'image/jpeg',
        },
      ]);
    const [{ url, srcset }] = (await picker.page.evaluate('window.picked')) as [
      { url: string; srcset?: string },
    ];
    expect(url).toBe('/connector/file/photos/one.jpg');
    const shown = await fetch(new URL(url, picker.page.url()));
    expect(Buffer.from(await shown.arrayBuffer()).equals(await readFile(service().inPhotos('one.jpg')))).toBe(
      true,
    );
    for (const part of srcset?.split(', ') ?? []) {
      const [variant = '', width] = part.split(' ');
      const answer = await fetch(new URL(variant, picker.page.url()));
      expect(`${String((await sharp(await answer.arrayBuffer()).metadata()).width)}w`).toBe(width);
    }
    expect(await picker.focus()).toBe('Browse');
  });

  it('answers nothing when it is closed, and fills a field of a form', async () => {
    const picker = await service().open();
    await picker.press('Escape');
    await picker.eventually(() => picker.page.evaluate('window.picked')).toEqual([]);
    await picker.page.evaluate('void window.fill()');
    await picker.focused((text) => text.startsWith('closed'));
    await picker.press('End', 'Enter');
    await picker
      .eventually(() => picker.page.$eval('#field', (field) => (field as HTMLInputElement).value))
      .toBe('/connector/file/photos/two.jpg');
  });

  test('fills a field whose framework watches the values that a page sets', async () => {
    const picker = await service().open();
    await picker.press('Escape');
    // As React does: what is set by the element's own property is known, and its event is not a change.
    await picker.page.evaluate(`{
      const field = document.querySelector('#field');
      const { get, set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');
      let known = field.value;
      const watched = (value) => { known = value; set.call(field, value); };
      Object.defineProperty(field, 'value', { get: () => get.call(field), set: watched });
      field.oninput = () => { if (field.value !== known) window.changed = field.value; };
      void window.fill();
    }`);
    await picker.focused((text) => text.startsWith('closed'));
    await picker.press('End', 'Enter');
    await picker
      .eventually(() => picker.page.evaluate('window.changed'))
      .toBe('/connector/file/photos/two.jpg');
  });

  test('takes the options that an element was given before it was defined', async () => {
    const { page } = await service().open();
    const fresh = new PickerPage(await page.browser().newPage());
    await fresh.page.goto(service().url);
    await fresh.page.evaluate(`{
      const options = { url: '/connector', sources: ['photos'] };
      document.body.append(Object.assign(document.createElement('stowage-picker'), { options }));
      void import('/picker.js').then(({ definePicker }) => definePicker());
    }`);
    await fresh.cell('one.jpg');
  });

  it('renames, removes, moves and copies by keys, and takes each back', async () => {
    const picker = await service().open();
    await picker.press('End', 'F2');
    await picker.eventually(() => picker.texts('dialog h2')).toEqual(['Rename: two.jpg']);
    // The part before the extension is selected.
    await picker.page.keyboard.type('second');
    await picker.press('Enter');
    await picker.says('two.jpg is called second.jpg now.');
    await picker.onFile('second.jpg');
    expect(await service().namesIn()).toEqual(['closed', 'one.jpg', 'pets', 'second.jpg']);
    await picker.undo();
    expect(await service().namesIn()).toEqual(['closed', 'one.jpg', 'pets', 'two.jpg']);

    // The message has given the focus back to the list.
    await picker.press('End');
    await picker.onFile('two.jpg');
    await picker.press('Delete');
    await picker.eventually(() => picker.texts('dialog h2')).toEqual(['Delete two.jpg?']);
    await picker.press('Enter');
    await picker.says('two.jpg was deleted.');
    expect(await service().namesIn()).toEqual(['closed', 'one.jpg', 'pets']);
    await picker.undo();
    await picker.eventually(() => service().namesIn()).toEqual(['closed', 'one.jpg', 'pets', 'two.jpg']);

    await picker.eventually(() => picker.names()).toEqual(['closed', 'pets', 'one.jpg', 'two.jpg']);
    await picker.press('End');
    await picker.onFile('two.jpg');
    await picker.press('Control+x', 'Home', 'ArrowRight');
    await picker.onFile('pets');
    await picker.press('Enter');
    await picker.eventually(() => picker.texts('.step')).toEqual(['Photos', 'pets']);
    await picker.focused((text) => text.startsWith('Files in'));
    await picker.press('Control+v');
    await picker.says('two.jpg was moved to pets.');
    expect([await service().namesIn(), await service().namesIn('pets')]).toEqual([
      ['closed', 'one.jpg', 'pets'],
      ['two.jpg'],
    ]);
    await picker.undo();
    await picker.eventually(() => service().namesIn('pets')).toEqual([]);
    expect(await service().namesIn()).toContain('two.jpg');
  });

  it('makes a folder and copies into another source by keys, from the toolbar', async () => {
    const picker = await service().open();
    await picker.tabTo('Upload');
    await picker.press('ArrowRight');
    expect(await picker.focus()).toBe('New folder');
    await picker.press('Enter');
    await picker.eventually(() => picker.texts('dialog h2')).toEqual(['New folder']);
    await picker.page.keyboard.type('summer');
    await picker.press('Enter');
    await picker.says('The folder summer was created.');
    await picker.onFile('summer');
    await writeFile(join(service().at('papers'), 'two.jpg'), 'one of this name');
    await picker.press('End', ' ');
    await picker.tabTo('Copy to…').catch(async () => {
      await (await picker.first('[data-deed="copy"]')).focus();
    });
    await picker.press('Enter');
    await picker.eventually(() => picker.texts('dialog h2')).toEqual(['Copy two.jpg to']);
    await picker.focused((text) => text === 'Photos');
    await picker.press('ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'End');
    await picker.press('ArrowUp', 'Enter');
    await picker.tabTo('Choose this folder');
    await picker.press('Enter');
    await picker.says('two.jpg was copied to Papers.');
    expect(await readdir(service().at('papers'))).toContain('two (1).jpg');
    // Of someone else, meanwhile.
    await writeFile(join(service().at('papers'), 'two.jpg of May.jpg'), 'another');
    await picker.undo();
    await picker
      .eventually(async () =>
        (await readdir(service().at('papers'))).filter((name) => name.startsWith('two')).sort(),
      )
      .toEqual(['two.jpg', 'two.jpg of May.jpg']);
    await Promise.all(
      ['two.jpg', 'two.jpg of May.jpg'].map((name) => rm(join(service().at('papers'), name))),
    );
  });

  it('cuts and scales a picture by numbers, and asks for nothing when nothing is changed', async () => {
    const picker = await service().open();
    await picker.press('End', 'ArrowLeft', ' ');
    const edit = async (): Promise<void> => {
      await (await picker.first('[data-deed="edit"]')).evaluate((button) => button.click());
      await picker.eventually(() => picker.texts('dialog h2')).toEqual(['Edit one.jpg']);
    };
    await edit();
    service().requests = [];
    await picker.tabTo('Save');
    // The first of this name saves as a new file.
    await picker.press('Tab', 'Enter');
    await picker.eventually(() => picker.texts('dialog h2')).toEqual([]);
    expect(service().requests.filter((action) => action.startsWith('image'))).toEqual([]);
    await edit();
    const [, , width] = await picker.all('dialog .fields input');
    await width?.click({ count: 3 });
    await picker.page.keyboard.type('200');
    let list = (): void => undefined;
    service().proxy = (request, response) => {
      const isHeld = request.url === '/connector/files';
      if (isHeld) list = () => void service().pass(request, response);
      return isHeld;
    };
    await picker.press('Enter');
    await picker.says('one.jpg was changed.');
    // The list that comes later leaves the focus on what a person has gone to.
    await picker.tabTo('Undo');
    const shown = () =>
      picker.first('.cell img').then((img) => img.evaluate((one) => one.getAttribute('src')));
    const before = await shown();
    list();
    await picker.eventually(async () => (await shown()) !== before).toBe(true);
    expect(await picker.focus()).toBe('Undo');
    service().proxy = undefined;
    expect(await sharp(await readFile(service().inPhotos('one.jpg'))).metadata()).toMatchObject({
      width: 200,
      height: 480,
    });
    await picker.undo();
    await picker
      .eventually(async () => (await sharp(await readFile(service().inPhotos('one.jpg'))).metadata()).width)
      .toBe(640);
  });

  it('cuts a picture once, however often it is told to save', async () => {
    const picker = await service().open();
    await picker.choose('one.jpg');
    await picker.tool('edit');
    await picker.first('dialog .fields input');
    const [left, top, width, height] = await picker.all('dialog .fields input');
    for (const [field, value] of [
      [width, '300'],
      [height, '300'],
      [left, '100'],
      [top, '100'],
    ] as const)
      await field?.evaluate((input, text) => {
        (input as HTMLInputElement).value = text;
        input.dispatchEvent(new Event('change'));
      }, value);
    await (
      await picker.first('dialog.dialog [type="submit"]')
    ).evaluate((button) => {
      for (let times = 0; times < 2; times += 1) button.click();
    });
    await picker.says('one.jpg was changed.');
    await picker.eventually(() => picker.all('dialog.dialog')).toEqual([]);
    expect(service().requests.filter((action) => action === 'imageCrop')).toHaveLength(1);
    const { width: wide, height: tall } = await sharp(
      await readFile(service().inPhotos('one.jpg')),
    ).metadata();
    expect([wide, tall]).toEqual([300, 300]);
  });

  it.each([
    ['shown in its own size', 600, 400, 1],
    ['shown smaller than it is', 1500, 1000, 3],
  ])('cuts a picture by the pointer, %s', async (_title, width, height, off) => {
    const quarter = (colour: string, left: number, top: number) => ({
      input: { create: { width: width / 2, height: height / 2, channels: 3 as const, background: colour } },
      ...{ left, top },
    });
    const quarters = [
      quarter('#ff0000', 0, 0),
      quarter('#00ff00', width / 2, 0),
      quarter('#0000ff', 0, height / 2),
      quarter('#ffff00', width / 2, height / 2),
    ];
    const blank = sharp({ create: { width, height, channels: 3, background: '#fff' } });
    await writeFile(service().inPhotos('flag.png'), await blank.composite(quarters).png().toBuffer());
    const picker = await service().open();
    const { mouse } = picker.page;
    await picker.choose('flag.png');
    await picker.tool('edit');
    const box = async (selector: string) => {
      const found = await (await picker.first(selector)).boundingBox();
      if (found === null) throw new Error(`${selector} is not seen.`);
      return { ...found, middle: { x: found.x + found.width / 2, y: found.y + found.height / 2 } };
    };
    const drag = async (from: { x: number; y: number }, to: { x: number; y: number }): Promise<void> => {
      await mouse.move(from.x, from.y);
      await mouse.down();
      await mouse.move(to.x, to.y, { steps: 4 });
      await mouse.up();
    };
    await picker.eventually(async () => (await box('.stage')).width).toBeGreaterThan(300);
    const stage = await box('.stage');
    // The upper left corner to the middle: the yellow quarter stays. Then the whole area to the blue one.
    await drag((await box('.handle')).middle, stage.middle);
    const { middle } = await box('.crop');
    await drag(middle, { x: middle.x - stage.width / 2, y: middle.y });
    await picker.click('dialog.dialog [type="submit"]');
    await picker.says('flag.png was changed.');
    const { data, info } = await sharp(await readFile(service().inPhotos('flag.png')))
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect(Math.abs(info.width - width / 2)).toBeLessThanOrEqual(off);
    expect(Math.abs(info.height - height / 2)).toBeLessThanOrEqual(off);
    const pixel = (x: number, y: number): number[] => {
      const at = (y * info.width + x) * info.channels;
      return [...data.subarray(at, at + 3)];
    };
    for (const [x, y] of [
      [1, off + 1],
      [info.width - off - 2, off + 1],
      [1, info.height - 2],
      [info.width - off - 2, info.height - 2],
    ] as const)
      expect(pixel(x, y)).toEqual([0, 0, 255]);
  });

  it('shows names as text', async () => {
    const name = '<img src=x onerror=alert(1)>&amp;.txt';
    await writeFile(service().inPhotos(name), 'text');
    const picker = await service().open();
    await picker.eventually(() => picker.names()).toContain(name);
    expect(await picker.all('.name img')).toEqual([]);
  });

  it('offers nothing that is denied', async () => {
    const picker = await service().open();
    await picker.press('Enter');
    await picker.eventually(() => picker.names()).toEqual(['kept.jpg']);
    await picker.press('Home', ' ');
    await picker.eventually(() => picker.texts('.chosen')).toEqual(['kept.jpg selected']);
    const offered = (await picker.all('[data-deed]')).map((button) =>
      button.evaluate((element) =>
        (element as HTMLElement).hidden ? '' : (element.getAttribute('data-deed') ?? ''),
      ),
    );
    expect((await Promise.all(offered)).filter((deed) => deed !== '')).toEqual([
      'download',
      'details',
      'trash',
    ]);
    await picker.press('Delete', 'F2');
    expect(await picker.all('dialog.dialog')).toEqual([]);
  });

  it.runIf(runsEverything)('keeps ten thousand entries out of the document, and shows the last', async () => {
    await Promise.all(
      Array.from({ length: 10_000 }, (_, index) =>
        writeFile(service().at('many', `${String(index).padStart(5, '0')}.txt`), ''),
      ),
    );
    const picker = await service().open({ sources: ['many'] });
    await picker.eventually(() => picker.texts('.count')).toEqual(['10,000 items']);
    await picker.press('End');
    await picker.onFile('09999.txt');
    expect((await picker.all('.cell')).length).toBeLessThan(120);
    await rm(service().at('many'), { recursive: true });
  });

  test('chooses all entries of a folder or range, also those that were not shown yet', async () => {
    const names = Array.from({ length: 500 }, (_, index) => `${String(index).padStart(3, '0')}.txt`);
    await Promise.all(names.map((name) => writeFile(service().at('many', name), '')));
    const picker = await service().open({ sources: ['many'] });
    await picker.press('Control+a');
    await picker.eventually(() => picker.texts('.chosen')).toEqual(['500 items selected']);
    await picker.press('Home', 'Control+ArrowRight', ' ', 'Shift+End');
    await picker.eventually(() => picker.texts('.chosen')).toEqual(['499 items selected']);
    await picker.press('Control+x');
    await picker.says('499 items are ready to be moved');
    await rm(service().at('many'), { recursive: true });
  });

  it('searches, and ends the search by Escape without closing', async () => {
    await writeFile(service().inPhotos('pets', 'one more.jpg'), await jpeg(20, 20));
    const picker = await service().open();
    await (await picker.first('input[type="search"]')).focus();
    await picker.page.keyboard.type('one');
    await picker.eventually(() => picker.texts('.count')).toEqual(['2 results']);
    expect((await picker.names()).sort()).toEqual(['one more.jpg', 'one.jpg']);
    // Escape for an input method is not for the picker, also in Safari, which ends the composition before the key.
    await picker.page.evaluate(() => {
      let field = document.activeElement as HTMLInputElement;
      while (field.shadowRoot) field = field.shadowRoot.activeElement as HTMLInputElement;
      for (const composing of [{ isComposing: true }, { keyCode: 229 }])
        for (const value of ['', 'one']) {
          field.value = value;
          const init = { key: 'Escape', bubbles: true, composed: true, ...composing };
          field.dispatchEvent(new KeyboardEvent('keydown', init));
        }
    });
    expect(await picker.texts('.count')).toEqual(['2 results']);
    await picker.press('Escape');
    await picker.eventually(() => picker.texts('.count')).toEqual(['4 items']);
  });

  it('searches all sources from any folder, and opens the folder of a result', async () => {
    await writeFile(service().inPhotos('pets', 'one more.jpg'), await jpeg(20, 20));
    const picker = await service().open();
    await picker.enter('pets');
    await (await picker.first('input[type="search"]')).focus();
    await picker.page.keyboard.type('one');
    await picker.eventually(() => picker.texts('.count')).toEqual(['1 result']);
    await (await picker.first('select[part~="scope"]')).select('everywhere');
    await (await picker.cell('one.jpg')).click({ button: 'right' });
    const items = await picker.all('[role="menuitem"]');
    const labels = await picker.texts('[role="menuitem"]');
    await items[labels.indexOf('Open its folder')]?.click();
    await picker.onFile('one.jpg');
    await picker.eventually(() => picker.texts('.count')).toEqual(['4 items']);
  });

  it('takes back what was deleted in several sources at once', async () => {
    const inPapers = join(service().at('papers'), 'one of papers.jpg');
    await writeFile(inPapers, await jpeg(20, 20));
    const picker = await service().open();
    await (await picker.first('input[type="search"]')).focus();
    await picker.page.keyboard.type('one');
    await (await picker.first('select[part~="scope"]')).select('everywhere');
    await picker.eventually(() => picker.names()).toEqual(['one.jpg', 'one of papers.jpg']);
    await (await picker.cell('one.jpg')).click();
    await picker.press('Control+a');
    // What may be done in both sources is asked of the service.
    await picker.first('[data-deed="remove"]:not([hidden])');
    await picker.press('Delete');
    await picker.eventually(() => picker.texts('dialog h2')).toEqual(['Delete 2 items?']);
    await picker.press('Enter');
    await picker.says('2 items were deleted.');
    expect([await service().namesIn(), existsSync(inPapers)]).toEqual([['closed', 'pets', 'two.jpg'], false]);
    await picker.undo();
    await picker.eventually(() => existsSync(inPapers)).toBe(true);
    await picker.eventually(() => service().namesIn()).toContain('one.jpg');
    await rm(inPapers);
  });

  test('uploads what a proxy lets pass in small parts alone', async () => {
    const limit = 1024 * 1024;
    service().proxy = (request, response) => {
      if (Number(request.headers['content-length'] ?? 0) <= limit) return false;
      request.resume();
      response.writeHead(413, { 'content-type': 'text/html' }).end('<h1>413 Request Entity Too Large</h1>');
      return true;
    };
    const large = noise(3_000_000);
    await writeFile(service().at('large.txt'), large);
    const picker = await service().open();
    const field = (await picker.first('input[type="file"]')) as ElementHandle<HTMLInputElement>;
    await field.uploadFile(service().at('large.txt'));
    await picker.says('large.txt was uploaded.');
    expect((await readFile(service().inPhotos('large.txt'))).equals(large)).toBe(true);
  });

  it.each([
    ['Chrome', 'PointerEvent', 'touch'],
    ['Safari before 18.2', 'MouseEvent', ''],
    ['Safari 18.2', 'PointerEvent', 'mouse'],
  ])('opens a folder that is touched, as %s reports it', async (_, kind, pointerType) => {
    const picker = await service().open();
    await (
      await picker.cell('pets')
    ).evaluate(
      (cell, name, type) => {
        const Click = name === 'MouseEvent' ? MouseEvent : PointerEvent;
        cell.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true, pointerType: 'touch' }));
        cell.dispatchEvent(new Click('click', { bubbles: true, pointerType: type }));
      },
      kind,
      pointerType,
    );
    await picker.eventually(() => picker.way()).toEqual(['Photos', 'pets']);
  });

  it('continues an upload in parts where it has failed, when a person tries again', async () => {
    const offsets: unknown[] = [];
    service().proxy = ({ method, headers }, response) => {
      if (method !== 'PATCH' || offsets.push(headers['upload-offset']) !== 2) return false;
      response.writeHead(400, { 'content-type': 'text/html' }).end('<title>Under maintenance</title>');
      return true;
    };
    const large = noise(17 * 2 ** 20);
    await writeFile(service().at('large.txt'), large);
    const picker = await service().open();
    await picker.upload(service().at('large.txt'));
    await picker.click('.uploads .failure button');
    await picker.says('large.txt was uploaded.');
    expect(offsets).toEqual(['0', '16777216', '16777216']);
    expect(service().requests.filter((action) => action === 'tus')).toHaveLength(1);
    expect((await readFile(service().inPhotos('large.txt'))).equals(large)).toBe(true);
  });

  it.each(['its row', 'the picker'])(
    'keeps no parts of an upload that has failed, after %s is closed',
    async (what) => {
      let sent = 0;
      service().proxy = ({ method }, response) => {
        if (method !== 'PATCH' || (sent += 1) !== 2) return false;
        response.writeHead(400, { 'content-type': 'text/html' }).end('<title>Under maintenance</title>');
        return true;
      };
      const parts = (): Promise<string[]> => readdir(service().at('state', 'tus')).catch(() => []);
      const before = await parts();
      await writeFile(service().at('large.txt'), Buffer.alloc(17 * 2 ** 20, 'a line of text\n'));
      const picker = await service().open();
      await picker.upload(service().at('large.txt'));
      await picker.first('.uploads .failure');
      expect((await parts()).length).toBeGreaterThan(before.length);
      await (what === 'its row' ? picker.click('.uploads .failure .icon-only') : picker.press('Escape'));
      await picker.eventually(parts).toEqual(before);
    },
  );

  test('keeps presses, keys and scrolling from dialogs of the page behind it', async () => {
    for (let index = 0; index < 80; index += 1)
      await writeFile(service().inPhotos(`${String(index)}.txt`), '');
    const picker = await service().open();
    // As Radix, and what is made of it: nothing outside of the dialog scrolls, and a press there closes it, as
    // does Escape.
    await picker.page.evaluate(() => {
      const close = (): string => (document.title = 'closed');
      document.addEventListener('wheel', (event) => event.preventDefault(), { passive: false });
      document.addEventListener('pointerdown', close);
      document.addEventListener('keydown', (event) => event.key === 'Escape' && close(), { capture: true });
      // As in Firefox, where each of them leaves shadow roots.
      window.KeyboardEvent = class extends KeyboardEvent {
        constructor(type: string, init?: KeyboardEventInit) {
          super(type, { ...init, composed: true });
        }
      };
    });
    const scroller = await picker.first('.scroller');
    await scroller.hover();
    await picker.page.mouse.wheel({ deltaY: 400 });
    await picker.eventually(() => scroller.evaluate(({ scrollTop }) => scrollTop)).toBeGreaterThan(0);
    await scroller.click();
    await (await picker.first('input[type="search"]')).focus();
    await picker.page.keyboard.type('one');
    await picker.eventually(() => picker.texts('.count')).toEqual(['1 result']);
    await picker.press('Escape');
    await picker.eventually(() => picker.texts('.count')).toEqual(['84 items']);
    await picker.press('Escape');
    await picker.eventually(() => picker.all('.picker')).toEqual([]);
    expect(await picker.page.title()).toBe('Page');
  });

  test('opens a menu when the button is released that was pressed: Firefox would close it then', async () => {
    const picker = await service().open();
    const cell = await picker.cell('two.jpg');
    // Firefox on Linux and macOS reports the menu when the button is pressed.
    await cell.evaluate((target) => {
      const init = { bubbles: true, cancelable: true, composed: true, buttons: 2 };
      target.dispatchEvent(new PointerEvent('contextmenu', init));
    });
    expect(await picker.all('[role="menuitem"]')).toEqual([]);
    await cell.evaluate((target) =>
      target.dispatchEvent(new MouseEvent('mouseup', { bubbles: true, composed: true })),
    );
    await picker.eventually(() => picker.texts('[role="menuitem"]')).toContain('Rename');
  });

  it('refuses before it sends what the folder does not take', async () => {
    await writeFile(service().at('program.exe'), 'x');
    const picker = await service().open();
    service().requests = [];
    const field = (await picker.first('input[type="file"]')) as ElementHandle<HTMLInputElement>;
    await field.uploadFile(service().at('program.exe'));
    await picker.says('program.exe: files of this type are not allowed here.');
    expect(service().requests.filter((action) => action.startsWith('fileUpload'))).toEqual([]);
  });

  it('takes only pictures where the page wants pictures', async () => {
    await writeFile(service().at('paper.pdf'), '%PDF-1.4\n%%EOF');
    await writeFile(service().at('cat.jpg'), await jpeg(32, 24));
    const picker = await service().open({ types: 'image' });
    const [chooser] = await Promise.all([picker.page.waitForFileChooser(), picker.tool('upload')]);
    await chooser.cancel();
    const field = await picker.first('input[type="file"]');
    expect(await field.evaluate((input) => input.getAttribute('accept'))).toBe('image/*');
    await picker.drop(service().at('paper.pdf'), service().at('cat.jpg'));
    await picker.says('paper.pdf: files of this type are not allowed here.');
    await picker.cell('cat.jpg');
    expect(await service().namesIn()).not.toContain('paper.pdf');
  });

  test('asks for a name in a frame that may not submit forms', async () => {
    service().pageHeaders = { 'content-security-policy': 'sandbox allow-scripts allow-same-origin' };
    const picker = await service().open();
    await picker.tool('newFolder');
    await picker.press('Enter');
    expect(await picker.texts('dialog h2')).toEqual(['New folder']);
    await picker.answer('summer');
    await picker.onFile('summer');
  });

  it('says what is wrong when something else answers, and goes on when the connector is back', async () => {
    service().proxy = (request, response) => {
      request.resume();
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
      return true;
    };
    const picker = await service().open();
    await picker.eventually(() => picker.texts('.state p')).toEqual(['The server answered: 502 Bad Gateway']);
    service().proxy = undefined;
    await (await picker.first('.state button')).evaluate((button) => button.click());
    await picker.eventually(() => picker.names()).toEqual(['closed', 'pets', 'one.jpg', 'two.jpg']);
  });

  it('works where the window is narrow: folders behind a button, a menu on each entry', async () => {
    const picker = await service().open({}, { width: 390, height: 844, isMobile: true, hasTouch: true });
    const drawer = await picker.first('nav.folders');
    expect(await drawer.isVisible()).toBe(false);
    await (await picker.first('.fold')).tap();
    expect(await drawer.isVisible()).toBe(true);
    const menus = await picker.all('.cell .item-menu');
    await menus.at(-1)?.tap();
    await picker.eventually(() => picker.texts('[role="menuitem"]')).toContain('Rename');
    await picker.press('Escape');
    expect(await picker.page.evaluate(() => document.documentElement.scrollWidth <= 390)).toBe(true);
  });

  test('leaves the page behind where it is, which telephones load anew when they pull it down', async () => {
    const picker = await service().open();
    const { page } = picker;
    await page.evaluate(() => (document.body.style.height = '5000px'));
    const scrollAt = async (x: number, y: number): Promise<void> => {
      await page.mouse.move(x, y);
      const wheel = page.evaluate(() => new Promise((resolve) => addEventListener('wheel', resolve, true)));
      await page.mouse.wheel({ deltaY: 500 });
      await wheel;
      for (let frames = 0; frames < 3; frames += 1)
        await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    };
    const scrollOver = async (selector: string): Promise<void> => {
      const box = await (await picker.first(selector)).boundingBox();
      await scrollAt((box?.x ?? 0) + 10, (box?.y ?? 0) + 10);
    };
    await scrollOver('.scroller');
    await scrollOver('.foot');
    // Beside the dialog.
    await scrollAt(5, 5);
    await picker.tool('newFolder');
    await scrollOver('dialog.dialog');
    await scrollAt(5, 5);
    expect(await page.evaluate(() => scrollY)).toBe(0);
  });

  test('inserts the file that was pressed first where the list moves below more tools', async () => {
    const picker = await service().open({}, { width: 390, height: 844 });
    const file = await picker.cell('one.jpg');
    // The tools come with the rights of the folder, perhaps after the list, and move it.
    await picker.first('[data-deed="upload"]:not([hidden])');
    await picker.page.setViewport({ width: 390, height: 700 });
    await picker.eventually(() => picker.page.evaluate('innerHeight')).toBe(700);
    // A list that is lower is drawn before the next frame, with the same cells.
    await picker.page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
    expect(await file.evaluate(({ isConnected }) => isConnected)).toBe(true);
    await file.click({ count: 2, offset: { x: 60, y: 20 } });
    await picker
      .eventually(() => picker.page.evaluate('window.picked?.map(({ name }) => name)'))
      .toEqual(['one.jpg']);
  });

  test('inserts nothing by a double click beside the files, whatever was pressed before', async () => {
    const picker = await service().open();
    await (await picker.cell('one.jpg')).click();
    const box = await (await picker.first('.grid')).boundingBox();
    const [right, top] = [(box?.x ?? 0) + (box?.width ?? 0), box?.y ?? 0];
    await picker.page.mouse.click(right - 5, top + 20, { count: 2 });
    await (await picker.cell('two.jpg')).click({ count: 2 });
    await picker
      .eventually(() => picker.page.evaluate('window.picked?.map(({ name }) => name)'))
      .toEqual(['two.jpg']);
  });

  test('is not touched by rules of the page for all elements of a kind', async () => {
    const picker = await service().open();
    await picker.press('Escape');
    await picker.page.addStyleTag({
      content: 'div { text-transform: uppercase } body > div { display: none }',
    });
    await picker.press('Enter');
    const name = await (await picker.cell('one.jpg')).$('.name');
    expect(await name?.isVisible()).toBe(true);
    expect(await name?.evaluate((element) => getComputedStyle(element).textTransform)).toBe('none');
  });

  test('works on a page of Prototype.js or MooTools, which replace functions of the language', async () => {
    const picker = await service().open();
    await picker.press('Escape');
    // As Prototype 1.7.3 and MooTools 1.4.5 with the code for older versions do.
    await picker.page.evaluate(`{
      delete Array.prototype.entries;
      Array.from = (list) => Array.prototype.slice.call(list);
      Function.prototype.bind = function (that, given) {
        const own = this;
        return function () { return own.apply(that, given === undefined ? arguments : [given]); };
      };
      window.Event = class {};
    }`);
    await picker.page.focus('#browse');
    await picker.press('Enter');
    await picker.eventually(() => picker.names()).toEqual(['closed', 'pets', 'one.jpg', 'two.jpg']);
    await picker.press('End', 'Shift+ArrowLeft');
    await picker.tool('remove');
    await picker.first('dialog [type="submit"]');
    await picker.press('Enter');
    await picker.says('2 items were deleted.');
    expect(await service().namesIn()).toEqual(['closed', 'pets']);
    await writeFile(service().at('gr\u00fc\u00dfe.txt'), Buffer.alloc(9 * 2 ** 20));
    await picker.upload(service().at('gr\u00fc\u00dfe.txt'));
    await picker.says('gr\u00fc\u00dfe.txt was uploaded.');
    await picker.press('Escape');
    await picker.page.evaluate('void fill()');
    await picker.focused(() => picker.isOnEntry());
    await picker.press('End', 'Enter');
    await picker
      .eventually(() => picker.page.$eval('#field', (field) => (field as HTMLInputElement).value))
      .toMatch(/\.txt$/u);
  });

  test('shows all of its parts in a window that is low, such as that of a telephone on its side', async () => {
    const picker = await service().open({}, { width: 667, height: 280 });
    await picker.page.mouse.move(300, 40);
    await picker.page.mouse.wheel({ deltaY: 300 });
    const end = async (): Promise<number> =>
      (await picker.first('.foot .primary')).evaluate((insert) => insert.getBoundingClientRect().bottom);
    await picker.eventually(end).toBeLessThanOrEqual(280 - 16);
  });
});
