import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chromium, keepDownloads, needsChromium } from './chromium.ts';
import type { PickerPage } from './picker-page.ts';
import { usePickerService } from './picker-service.ts';
import { jpeg } from './pictures.ts';

describe.skipIf(chromium === undefined)(`names and folders of the picker${needsChromium}`, () => {
  const service = usePickerService();

  const renameTo = async (picker: PickerPage, name: string): Promise<void> => {
    await picker.press('End');
    await picker.onFile('two.jpg');
    await picker.press('F2');
    await picker.answer(name);
  };

  it('takes back the rename of a file that keeps its extension, and leaves what has the typed name', async () => {
    await mkdir(service().inPhotos('second'));
    const picker = await service().open();
    await renameTo(picker, 'second');
    await picker.says('two.jpg is called second.jpg now.');
    await picker.onFile('second.jpg');
    await picker.undo();
    expect(await service().namesIn()).toEqual(['closed', 'one.jpg', 'pets', 'second', 'two.jpg']);
  });

  it('offers no undo where the connector may have stored another name', async () => {
    const picker = await service().open();
    await renameTo(picker, 'a:b');
    await picker.says('two.jpg is called a:b now.');
    await picker.eventually(() => picker.names()).toEqual(['closed', 'pets', 'a_b.jpg', 'one.jpg']);
    expect(await picker.texts('.notice .offer')).toEqual([]);
  });

  it('stores dropped files and folders, also one whose name the connector changes', async () => {
    const folder = service().at('desktop', 'what? now: "this"');
    await mkdir(join(folder, 'inner'), { recursive: true });
    await writeFile(join(folder, 'inner', 'cat.txt'), 'cat');
    // What systems put into folders is left there without a word.
    for (const name of ['.DS_Store', '._cat.txt', 'Thumbs.db', 'desktop.ini'])
      await writeFile(join(folder, 'inner', name), 'x');
    const dog = service().at('desktop', 'dog.txt');
    await writeFile(dog, 'dog');
    const picker = await service().open();
    const stored = async (): Promise<string[]> =>
      (await readdir(service().inPhotos('what_ now_ _this_', 'inner')).catch(() => [])).sort();
    // The second time the folders are there already.
    for (const [cats, dogs] of [
      [['cat.txt'], ['dog.txt']],
      [
        ['cat-1.txt', 'cat.txt'],
        ['dog-1.txt', 'dog.txt'],
      ],
    ]) {
      await picker.drop(folder, dog);
      await picker.eventually(stored).toEqual(cats);
      await picker
        .eventually(async () => (await service().namesIn()).filter((name) => name.startsWith('dog')))
        .toEqual(dogs);
      await picker.says('2 files were uploaded.');
      expect(await picker.texts('.notice.failure')).toEqual([]);
    }
  });

  it('shows dropped folders, and stores empty ones too', async () => {
    const desktop = (...names: string[]): string => service().at('desktop', ...names);
    for (const name of ['album/empty', 'album/full', 'bare?'])
      await mkdir(desktop(...name.split('/')), { recursive: true });
    await writeFile(desktop('album', 'full', 'cat.txt'), 'cat');
    const picker = await service().open();
    await picker.drop(desktop('album'));
    await picker.says('cat.txt was uploaded.');
    await picker.cell('album');
    expect(await service().namesIn('album')).toEqual(['empty', 'full']);
    await picker.drop(desktop('bare?'));
    await picker.says('The folder bare_ was created.');
    await picker.cell('bare_');
    expect(await service().namesIn('bare_')).toEqual([]);
  });

  it('stores what can be read of a drop, and names the rest', async () => {
    const picker = await service().open();
    await picker.first('[data-deed="upload"]:not([hidden])');
    // A file of a folder that is removed, or belongs to somebody else, while the drop is read; beside it, as Safari has
    // them, a file that a script has made.
    await picker.page.evaluate(`{
      const entryOf = (name, file) => ({ name, isFile: true, isDirectory: false, file });
      const fails = (_taken, failed) => failed(new DOMException('It is gone.', 'NotFoundError'));
      const inside = [[entryOf('lost.txt', fails), entryOf('kept.txt', (taken) => taken(new File(['kept'], 'kept.txt')))], []];
      const trip = { name: 'trip', isFile: false, isDirectory: true,
        createReader: () => ({ readEntries: (taken) => taken(inside.shift()) }) };
      const items = [
        { kind: 'file', webkitGetAsEntry: () => trip, getAsFile: () => null },
        { kind: 'file', webkitGetAsEntry: () => entryOf('made.txt', fails), getAsFile: () => new File(['made'], 'made.txt') },
        { kind: 'string', webkitGetAsEntry: () => null, getAsFile: () => null },
      ];
      const event = new DragEvent('drop', { bubbles: true, composed: true, cancelable: true });
      Object.defineProperty(event, 'dataTransfer', { value: { types: ['Files'], items, files: [] } });
      const shadow = [...document.querySelectorAll('div')].find((host) => host.shadowRoot).shadowRoot;
      shadow.querySelector('stowage-picker').shadowRoot.querySelector('.scroller').dispatchEvent(event);
    }`);
    await picker.says('lost.txt was not uploaded.');
    await picker.says('2 files were uploaded.');
    expect(await service().namesIn('trip')).toEqual(['kept.txt']);
    expect(await service().namesIn()).toContain('made.txt');
  });

  it('stores the other files of a dropped folder where the name of one folder is refused', async () => {
    const trip = service().at('desktop', 'trip');
    for (const name of ['_thumbs', 'inner']) {
      await mkdir(join(trip, name), { recursive: true });
      await writeFile(join(trip, name, 'cat.txt'), 'cat');
    }
    const picker = await service().open();
    await picker.drop(trip);
    await picker.says('cat.txt was uploaded.');
    await picker.says('_thumbs was not uploaded. This name is reserved.');
    expect(await readdir(service().inPhotos('trip', 'inner'))).toEqual(['cat.txt']);
  });

  it('lets no file fall that nothing takes: the browser would open it in place of the page', async () => {
    const picker = await service().open();
    await picker.enter('closed');
    await picker.cell('kept.jpg');
    await picker.eventually(() => picker.offered()).not.toContain('upload');
    for (const selector of ['.scroller', 'dialog']) {
      const element = await picker.first(selector);
      const held = await element.evaluate((target) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(['cat'], 'cat.txt'));
        const over = { dataTransfer, bubbles: true, cancelable: true, composed: true };
        return {
          isTaken: !target.dispatchEvent(new DragEvent('dragover', over)),
          as: dataTransfer.dropEffect,
        };
      });
      expect(held).toEqual({ isTaken: true, as: 'none' });
    }
  });

  it('inserts the file that was opened, whatever else is chosen, where one alone can be inserted', async () => {
    const picker = await service().open();
    await picker.press('Escape');
    const value = () => picker.page.$eval('#field', (field) => (field as HTMLInputElement).value);
    await picker.page.evaluate('void window.fill()');
    await picker.choose('one.jpg', 'two.jpg');
    await picker.press('Enter');
    await picker.eventually(value).toBe('/connector/file/photos/two.jpg');
    await picker.page.evaluate('void window.fill()');
    await picker.choose('one.jpg', 'two.jpg');
    await (await picker.cell('two.jpg')).click({ button: 'right' });
    await picker.menuByKeys('Insert');
    await picker.eventually(value).toBe('/connector/file/photos/two.jpg');
  });

  it('downloads what a search has found in several folders from each of them', async () => {
    await mkdir(service().inPhotos('pets', 'old'));
    for (const [size, ...names] of [
      [11, 'pets', 'one of pets.jpg'],
      [12, 'pets', 'old', 'one.jpg'],
      [13, 'pets', 'old', 'one more.jpg'],
    ] as const)
      await writeFile(service().inPhotos(...names), await jpeg(size, 9));
    const picker = await service().open();
    await mkdir(service().at('downloads'));
    await keepDownloads(picker.page, service().at('downloads'));
    await (await picker.first('input[type="search"]')).focus();
    await picker.page.keyboard.type('one');
    await picker.eventually(() => picker.texts('.count')).toEqual(['4 results']);
    await (await picker.cell('one.jpg')).click();
    await picker.press('Control+a');
    await picker.tool('download');
    await picker
      .eventually(async () => (await readdir(service().at('downloads'))).sort())
      .toEqual(['old.zip', 'one of pets.jpg', 'one.jpg']);
  });
});
