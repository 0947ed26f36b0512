import path from 'node:path';
import type { ElementHandle, Page } from 'puppeteer-core';
import { PickerPage } from './picker-page.ts';
import { readInShadow } from './shadow.ts';

const item = '.jodit-file-browser-files__item';
const folder = '.jodit-file-browser-tree__item';

/** A picture as the browser shows it: its address and how many pixels came through. */
export interface ShownPicture {
  readonly name: string;
  readonly url: string;
  readonly width: number;
  readonly height: number;
}

/**
 * The page with the editor, seen and used as a person does. Every method waits until what it needs is there.
 */
export class EditorPage {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** Opens the file browser of stock Jodit with the button of the page. */
  async openFiles(): Promise<void> {
    await this.page.locator('#browse').click();
    await this.page.locator('.jodit-file-browser-tree_loading_false .jodit-file-browser-tree__item').wait();
    await this.settled();
    // Jodit shows what it knows from before first, and draws all of it anew when the answers have come: what is
    // pressed meanwhile is gone before the button is released. The network says less: of requests that Jodit
    // aborts, the end is not always told.
    await this.page.evaluate(
      (pause) =>
        new Promise<void>((resolve) => {
          let timer = setTimeout(resolve, pause);
          new MutationObserver(() => {
            clearTimeout(timer);
            timer = setTimeout(resolve, pause);
          }).observe(document.body, { childList: true, subtree: true });
        }),
      400,
    );
  }

  /** Opens the picker with the button of the page. */
  async browse(): Promise<PickerPage> {
    await this.page.locator('#browse').click();
    const picker = new PickerPage(this.page);
    await picker.opened();
    return picker;
  }

  /** Waits until the file browser has loaded its list. */
  async settled(): Promise<void> {
    await this.page.locator('.jodit-file-browser-files_loading_false').wait();
  }

  /** Names of the listed files, in the order shown. */
  names(): Promise<string[]> {
    return this.page.$$eval(item, (tiles) => tiles.map((tile) => tile.getAttribute('data-name') ?? ''));
  }

  /** Names of the folders in the tree, in the order shown. */
  folders(): Promise<string[]> {
    return this.page.$$eval(folder, (rows) => rows.map((row) => row.getAttribute('data-name') ?? ''));
  }

  /** The headings of the tree: one for each source. */
  sources(): Promise<string[]> {
    return this.page.$$eval('.jodit-file-browser-tree__source-title', (titles) =>
      titles.map((title) => title.textContent),
    );
  }

  /** The tile of a file. */
  tile(name: string): Promise<ElementHandle> {
    return this.#found(`${item}[data-name="${name}"]`);
  }

  /** The row of a folder in the tree. */
  folder(name: string): Promise<ElementHandle> {
    return this.#found(`${folder}[data-name="${name}"]`);
  }

  async enter(name: string): Promise<void> {
    await this.page.locator(`${folder}[data-name="${name}"]`).click();
  }

  /** Presses the pencil or the cross beside a folder. */
  async markOf(folderName: string, mark: 'rename' | 'remove'): Promise<void> {
    const row = await this.folder(folderName);
    await row.hover();
    const button = await row.$(`.jodit-ui-button_${mark}`);
    if (button === null) throw new Error(`The folder ${folderName} has no mark ${mark}.`);
    await button.click();
  }

  /** Presses a button of the file browser's toolbar, or of one of its dialogs. */
  async press(button: string): Promise<void> {
    await this.page
      .locator(`::-p-xpath(//*[contains(@class,'jodit-dialog')]//button[normalize-space()='${button}'])`)
      .click();
  }

  async tool(name: string): Promise<void> {
    await this.page.locator(`.jodit-dialog .jodit-toolbar-button_${name} button`).click();
  }

  /** Whether a tool of the file browser is there and enabled. */
  async canUse(name: string): Promise<boolean> {
    const [button, input = ''] = name.split(' ');
    const found = await this.page.$(`.jodit-dialog [class*="_${button ?? ''}"] ${input || 'button'}`);
    return (await found?.evaluate((element) => !(element as HTMLButtonElement).disabled)) ?? false;
  }

  /** Drags one thing onto another with the mouse. */
  async drag(what: ElementHandle, onto: ElementHandle): Promise<void> {
    const started = await this.#next(what, 'dragstart');
    const over = await this.#next(onto, 'dragover');
    await what.hover();
    await this.page.mouse.down();
    await onto.hover();
    // By the first movement the browser has only begun to drag, in its own time; what is let go before that falls nowhere.
    await started();
    await onto.hover();
    await over();
    await this.page.mouse.up();
  }

  /** Listens from now on; what it returns resolves when the event has come. */
  async #next(element: ElementHandle, event: string): Promise<() => Promise<unknown>> {
    const heard = await element.evaluateHandle((target, name) => {
      const seen = new Promise<void>((resolve) =>
        target.addEventListener(name, () => resolve(), { once: true }),
      );
      return { seen };
    }, event);
    return () => heard.evaluate(({ seen }) => seen);
  }

  /** Picks an entry of the menu that a right click on a file opens. */
  async menu(fileName: string, entry: string): Promise<void> {
    await (await this.tile(fileName)).click({ button: 'right' });
    await this.page
      .locator(`::-p-xpath(//*[contains(@class,'jodit-context-menu')]//button[normalize-space()='${entry}'])`)
      .click();
  }

  /** Types an answer into the dialog that asks for a name. */
  async answer(text: string): Promise<void> {
    await this.page.locator('.jodit-dialog_prompt input').fill(text);
    await this.page.keyboard.press('Enter');
    await this.page.waitForSelector('.jodit-dialog_prompt', { hidden: true });
  }

  /** Says yes to the dialog that asks whether one is sure. */
  async agree(): Promise<void> {
    await this.page.locator('.jodit-dialog__footer .jodit-ui-button_ok').click();
  }

  /** Texts of the messages on the screen, with their kind: `error: …`. */
  messages(): Promise<string[]> {
    return readInShadow(this.page, '.notice, .jodit-ui-message', (boxes) =>
      boxes.map((box) => {
        const kind = /failure|error/u.test(box.className) ? 'error' : 'info';
        const text = box.querySelector('span')?.textContent ?? box.textContent;
        return `${kind}: ${text.replaceAll(/[\u2066-\u2069]/gu, '')}`;
      }),
    );
  }

  /** Chooses files in the file browser's upload button. */
  async upload(...files: string[]): Promise<void> {
    const input = await this.page.waitForSelector(
      '.jodit-dialog .jodit-toolbar-content_upload input[type=file]',
    );
    await (input as ElementHandle<HTMLInputElement>).uploadFile(...files);
  }

  /** Drops files from the desktop onto the middle of an element. */
  async drop(selector: string, ...files: string[]): Promise<void> {
    const target = await this.#found(selector);
    const box = await target.boundingBox();
    if (box === null) throw new Error(`${selector} is not on the screen.`);
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const session = await this.page.createCDPSession();
    const data = { items: [], files: files.map((file) => path.resolve(file)), dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
      await session.send('Input.dispatchDragEvent', { type, x, y, data });
    }
    await session.detach();
  }

  /** Types a width into the picture editor; the height follows. */
  async resizeTo(width: number): Promise<void> {
    await this.page.locator('.jodit-image-editor__area_resize img').wait();
    const input = await this.#found('.jodit-image-editor [data-ref="widthInput"]');
    await input.click({ count: 3 });
    await input.type(String(width));
    await this.page.waitForFunction(
      (wanted) =>
        document.querySelector<HTMLElement>('.jodit-image-editor__area_resize img')?.offsetWidth === wanted,
      {},
      width,
    );
  }

  /** Turns to the crop tab of the picture editor. */
  async openCrop(): Promise<void> {
    await this.page.locator('.jodit-image-editor__area_resize img').wait();
    await this.page
      .locator('.jodit-image-editor [data-area="crop"] .jodit-image-editor__slider-title')
      .click();
    await this.page.waitForFunction(() =>
      /^[1-9]/u.test(document.querySelector('.jodit-image-editor__sizes')?.textContent ?? ''),
    );
  }

  /** Replaces the text. */
  async write(html: string): Promise<void> {
    await this.page.evaluate((value) => {
      const { Jodit } = window as unknown as { Jodit: { instances: { editor: { value: string } } } };
      Jodit.instances.editor.value = value;
    }, html);
  }

  /** The text as the page would save it. */
  html(): Promise<string> {
    return this.page.evaluate(() => {
      const { Jodit } = window as unknown as { Jodit: { instances: { editor: { value: string } } } };
      return Jodit.instances.editor.value;
    });
  }

  /** Lets the page send no more than this many bytes a second; -1: no limit. */
  async slowDown(uploadThroughput: number): Promise<void> {
    const session = await this.page.createCDPSession();
    const conditions = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput };
    await session.send('Network.emulateNetworkConditions', conditions);
  }

  /**
   * Opens the picture of the text in the picture editor: a double click for its properties, then the crop
   * sign.
   */
  async openPictureEditor(): Promise<void> {
    await this.page.locator('.jodit-wysiwyg img').click({ count: 2 });
    await this.page.locator('.jodit-dialog [data-ref="editImage"]').click();
  }

  /** The text of the dialog that tells something. */
  alert(): Promise<string> {
    return this.page.$$eval('.jodit-dialog_alert', (boxes) => boxes.map((box) => box.textContent).join(' '));
  }

  /** The thumbnails of the listed files, each brought into view and loaded. */
  async thumbnails(): Promise<ShownPicture[]> {
    return this.page.$$eval(`${item} img`, (images) =>
      Promise.all(
        images.map(async (image) => {
          image.scrollIntoView();
          if (!image.complete) {
            await new Promise((resolve) => {
              image.addEventListener('load', resolve);
              image.addEventListener('error', resolve);
            });
          }
          return { name: image.alt, url: image.src, width: image.naturalWidth, height: image.naturalHeight };
        }),
      ),
    );
  }

  /** The pictures in the text of the editor that have loaded, with the sizes of what is at their `src`. */
  async picturesInText(): Promise<ShownPicture[]> {
    return this.page.$$eval('.jodit-wysiwyg img', (images) =>
      Promise.all(
        images
          .filter((image) => image.complete && image.naturalWidth > 0)
          .map(async ({ src: url }) => {
            // With a `srcset`, which comes later, the natural size is that of the chosen picture by its density.
            const own = new Image();
            own.src = url;
            await own.decode();
            return {
              name: decodeURIComponent(url.split('/').at(-1) ?? ''),
              url,
              width: own.naturalWidth,
              height: own.naturalHeight,
            };
          }),
      ),
    );
  }

  async #found(selector: string): Promise<ElementHandle> {
    const found = await this.page.waitForSelector(selector, { visible: true });
    if (found === null) throw new Error(`There is no ${selector}.`);
    return found;
  }
}
