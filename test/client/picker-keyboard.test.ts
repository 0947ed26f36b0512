import { readdir, readFile, writeFile } from 'node:fs/promises';
import type { SerializedAXNode } from 'puppeteer-core';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { chromium, keepDownloads, needsChromium } from './chromium.ts';
import { usePickerService } from './picker-service.ts';
import { jpeg } from './pictures.ts';

describe.skipIf(chromium === undefined)(`the picker by the keyboard alone${needsChromium}`, () => {
  const service = usePickerService();

  const sizeOf = async (name: string): Promise<readonly [number, number]> => {
    const {
      width,
      height,
      orientation = 1,
    } = await sharp(await readFile(service().inPhotos(name))).metadata();
    return orientation > 4 ? [height, width] : [width, height];
  };

  it('does every task, from opening to closing', async () => {
    const picker = await service().open();
    const { page } = picker;
    const titles = () => picker.eventually(() => picker.texts('dialog h2'));
    const files = () => picker.eventually(() => service().namesIn());
    const goTo = async (name: string): Promise<void> => {
      await picker.cell(name);
      await picker.tabInto('[role="grid"]');
      await picker.press('Home');
      for (let steps = 0; steps < 20 && !(await picker.focus()).startsWith(name); steps += 1)
        await picker.press('ArrowRight');
      await picker.onFile(name);
    };
    const undo = async (): Promise<void> => {
      await picker.press('Control+z');
      await picker.says('Undone.');
    };

    // The tree, the way to the folder, and the keys of the list lead through folders.
    await picker.tabInto('[role="tree"]');
    await picker.focused((name) => name === 'Photos');
    await picker.press('ArrowRight', 'ArrowDown');
    await picker.focused((name) => name === 'pets');
    await picker.press('Enter');
    await picker.eventually(() => picker.way()).toEqual(['Photos', 'pets']);
    await picker.tabTo('Folder above');
    await picker.press('Enter');
    await picker.eventually(() => picker.way()).toEqual(['Photos']);
    await picker.focused(() => picker.isOnEntry());
    await goTo('pets');
    await picker.press('Enter');
    await picker.eventually(() => picker.way()).toEqual(['Photos', 'pets']);
    await picker.press('Backspace');
    await picker.focused(() => picker.isOnEntry());

    // Search, order and view.
    await picker.tabTo('Search');
    await page.keyboard.type('two');
    await picker.eventually(() => picker.names()).toEqual(['two.jpg']);
    await picker.press('Escape');
    await picker.eventually(() => picker.names()).toHaveLength(4);
    await picker.tabInto('select[part="sort"]');
    await picker.press('ArrowDown');
    await picker.eventually(() => picker.names()).toEqual(['pets', 'closed', 'two.jpg', 'one.jpg']);
    await picker.press('ArrowUp');
    await picker.eventually(() => picker.names()).toEqual(['closed', 'pets', 'one.jpg', 'two.jpg']);
    await picker.toolByKeys('List');
    expect(await picker.all('.as-list')).toHaveLength(1);
    await picker.toolByKeys('Tiles');

    // New folder and upload.
    await picker.toolByKeys('New folder');
    await titles().toEqual(['New folder']);
    await page.keyboard.type('summer');
    await picker.press('Enter');
    await picker.onFile('summer');
    await writeFile(service().at('three.jpg'), await jpeg(60, 40));
    const chooser = page.waitForFileChooser();
    await picker.toolByKeys('Upload');
    await (await chooser).accept([service().at('three.jpg')]);
    await picker.onFile('three.jpg');
    await files().toContain('three.jpg');

    // Rename, move and copy by menu, remove; each is taken back.
    await picker.press('F2');
    await titles().toEqual(['Rename: three.jpg']);
    await page.keyboard.type('3');
    await picker.press('Enter');
    await picker.onFile('3.jpg');
    await undo();
    await files().toContain('three.jpg');
    await goTo('three.jpg');
    await picker.menuByKeys('Move to…');
    await titles().toEqual(['Move three.jpg to']);
    // The way there unfolds.
    await picker
      .eventually(() => picker.all('dialog [role="treeitem"][aria-label="summer"]'))
      .toHaveLength(1);
    await picker.tabInto('[role="tree"]');
    for (let steps = 0; steps < 9 && (await picker.focus()) !== 'summer'; steps += 1)
      await picker.press('ArrowDown');
    await picker.press('Enter');
    await picker.tabTo('Choose this folder');
    await picker.press('Enter');
    await picker.says('three.jpg was moved to summer.');
    expect(await service().namesIn('summer')).toEqual(['three.jpg']);
    await undo();
    await files().toContain('three.jpg');
    await goTo('three.jpg');
    await picker.menuByKeys('Copy to…');
    await titles().toEqual(['Copy three.jpg to']);
    await picker.tabInto('[role="tree"]');
    await picker.press('End', 'ArrowUp', 'Enter');
    await picker.tabTo('Choose this folder');
    await picker.press('Enter');
    await picker.says('three.jpg was copied to Papers.');
    expect(await readdir(service().at('papers'))).toContain('three.jpg');
    await undo();
    await picker.eventually(() => readdir(service().at('papers'))).not.toContain('three.jpg');
    await goTo('three.jpg');
    await picker.press('Delete');
    await titles().toEqual(['Delete three.jpg?']);
    await picker.press('Enter');
    await picker.says('three.jpg was deleted.');
    await undo();
    await files().toContain('three.jpg');

    // Several are chosen and removed, and one comes back from the trash.
    await goTo('three.jpg');
    await picker.press(' ', 'Shift+ArrowRight');
    await picker.eventually(() => picker.texts('.chosen')).toEqual(['2 items selected']);
    await picker.toolByKeys('Delete');
    await titles().toEqual(['Delete 2 items?']);
    await picker.press('Enter');
    await files().toEqual(['closed', 'one.jpg', 'pets', 'summer']);
    // The button that was pressed is gone, and its focus in the list.
    await picker.focused(() => picker.isOnEntry());
    await picker.toolByKeys('Trash');
    await titles().toEqual(['Trash of Photos']);
    await picker.tabTo('Restore: two.jpg');
    await picker.press('Enter');
    await files().toContain('two.jpg');
    await picker.press('Escape');
    await picker.eventually(() => picker.names()).toContain('two.jpg');

    // Crop, resize and turn by numbers.
    await goTo('one.jpg');
    await picker.menuByKeys('Edit image');
    await titles().toEqual(['Edit one.jpg']);
    for (const [field, value] of [
      ['Width', '320'],
      ['Height', '160'],
    ] as const) {
      await picker.tabTo(field);
      await page.keyboard.type(value);
    }
    await picker.press('Enter');
    await picker.says('one.jpg was changed.');
    expect(await sizeOf('one.jpg')).toEqual([320, 160]);
    await undo();
    await picker.eventually(() => picker.texts('.fact')).toContain('640 × 480');
    await goTo('one.jpg');
    await picker.menuByKeys('Edit image');
    await picker.tabTo('Resize');
    await picker.press('Enter');
    await picker.tabTo('Width');
    await page.keyboard.type('160');
    await picker.press('Enter');
    // The list is loaded again then, and moves the focus to the picture.
    await picker.eventually(() => picker.texts('.fact')).toContain('160 × 120');
    expect(await sizeOf('one.jpg')).toEqual([160, 120]);
    await picker.focused(() => picker.isOnEntry());
    await goTo('one.jpg');
    await picker.menuByKeys('Turn right');
    await picker.eventually(() => picker.texts('.fact')).toContain('120 × 160');
    expect(await sizeOf('one.jpg')).toEqual([120, 160]);

    // Details, and an archive of several.
    await goTo('one.jpg');
    await picker.menuByKeys('Details');
    await titles().toEqual(['one.jpg']);
    await picker.press('Escape');
    await picker.onFile('one.jpg');
    await keepDownloads(picker.page, service().at('downloads'));
    await picker.press('Control+a');
    await picker.eventually(() => picker.texts('.chosen')).toEqual(['5 items selected']);
    await picker.toolByKeys('Download');
    const downloads = (): Promise<string[]> => readdir(service().at('downloads')).catch(() => []);
    await picker.eventually(async () => (await downloads()).some((name) => name.endsWith('.zip'))).toBe(true);

    // Several are inserted; the focus goes back to what has opened the picker.
    await goTo('one.jpg');
    await picker.press('Shift+ArrowRight');
    await picker.tabTo('Insert');
    await picker.press('Enter');
    await picker
      .eventually(() => page.evaluate('window.picked?.map(({ name }) => name)'))
      .toEqual(['one.jpg', 'two.jpg']);
    expect(await picker.focus()).toBe('Browse');
    await picker.press('Enter');
    await picker.focused(() => picker.isOnEntry());
    await picker.press('Escape');
    await picker.eventually(() => page.evaluate('window.picked')).toEqual([]);
    expect(await picker.focus()).toBe('Browse');
  });

  it('opens the folders of a narrow window, and folds them again', async () => {
    const picker = await service().open({}, { width: 390, height: 844 });
    await picker.tabTo('Show folders');
    await picker.press('Enter');
    await picker.focused((name) => name === 'Photos');
    await picker.press('Escape');
    expect(await picker.focus()).toBe('Show folders');
    await picker.press('Enter', 'ArrowDown');
    await picker.focused((name) => name === 'closed');
    await picker.press('Enter');
    await picker.eventually(() => picker.way()).toEqual(['Photos', 'closed']);
    await picker.onFile('kept.jpg');
    expect(await (await picker.first('nav.folders')).isVisible()).toBe(false);
  });

  it('names a question for readers of screens, also above another window', async () => {
    const picker = await service().open();
    await picker.press('End', 'Meta+Backspace');
    await picker.first('dialog h2');
    await picker.press('Enter');
    await picker.says('two.jpg was deleted.');
    await picker.tool('trash');
    await picker.click('[aria-label="Delete for good: two.jpg"]');
    await picker.eventually(() => picker.texts('dialog h2')).toContain('Delete two.jpg for good?');
    const tree = await picker.page.accessibility.snapshot();
    const names = (nodes: readonly SerializedAXNode[]): string[] =>
      nodes.flatMap(({ role, name = '', children = [] }) => [
        ...(role === 'dialog' ? [name] : []),
        ...names(children),
      ]);
    expect(names(tree === null ? [] : [tree]).at(-1)).toContain('Delete');
    expect(names(tree === null ? [] : [tree]).at(-1)).toContain('two.jpg');
  });

  it('leaves the focus where it is when a press hits no control', async () => {
    const picker = await service().open();
    const entry = await picker.focus();
    await (await picker.first('.count')).click();
    expect(await picker.focus()).toBe(entry);
    await picker.press('F2');
    await (await picker.first('dialog.dialog h2')).click();
    await picker.press('Escape');
    await picker.eventually(() => picker.all('dialog.dialog')).toEqual([]);
    expect(await picker.focus()).toBe(entry);
    // With it, Safari and Firefox move the focus to the first control.
    const root = await (await picker.first('.picker')).evaluateHandle((element) => element.getRootNode());
    expect(await root.evaluate((node) => (node as ShadowRoot).delegatesFocus)).toBe(false);
  });

  it('leaves the focus where a click has put it that closes a menu', async () => {
    const picker = await service().open();
    await picker.press('ContextMenu');
    await picker.first('[role="menuitem"]');
    const search = await picker.first('input[type="search"]');
    await search.click();
    await picker.eventually(() => picker.all('[role="menuitem"]')).toEqual([]);
    await picker.page.keyboard.type('two');
    expect(await search.evaluate((field) => (field as HTMLInputElement).value)).toBe('two');
  });
});
