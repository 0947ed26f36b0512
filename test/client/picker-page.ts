import type { ElementHandle, Page } from 'puppeteer-core';
import { expect } from 'vitest';
import { PATIENCE } from './chromium.ts';
import { firstInShadow, readInShadow } from './shadow.ts';

/** Without the marks that keep names of both directions apart. */
const plain = (text: string): string => text.replaceAll(/[\u2066-\u2069]/gu, '');

/** A page with an open picker, seen and used as a person does. Every method waits until what it needs is there. */
export class PickerPage {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** Waits until the picker has listed its first folder. */
  async opened(): Promise<void> {
    await this.first('.picker');
    await this.first('.cell:not(.waiting), .state:not([hidden]) p');
    await this.eventually(async () => (await this.texts('.state:not([hidden])')).includes('Loading…')).toBe(
      false,
    );
  }

  eventually<Value>(read: () => Value | Promise<Value>) {
    return expect.poll(read, { timeout: PATIENCE, interval: 30 });
  }

  all(selector: string): Promise<ElementHandle[]> {
    return this.page.$$(`>>> ${selector}`);
  }

  async texts(selector: string): Promise<string[]> {
    const read = (found: Element[]): string[] => found.map(({ textContent }) => textContent);
    return (await readInShadow(this.page, selector, read)).map(plain);
  }

  /** Waits for an element: the first one, or the one with a `.name`. */
  async first(selector: string, name?: string): Promise<ElementHandle<HTMLElement>> {
    // Waiting for a selector looks again when the page changes; it does not hear of changes inside of shadow roots.
    let found: ElementHandle<HTMLElement> | undefined;
    await this.eventually(async () => {
      found = await firstInShadow(this.page, selector, name);
      return found !== undefined;
    }).toBe(true);
    if (found === undefined) throw new Error(`${name ?? selector} is not there.`);
    return found;
  }

  /** Clicks without moving the pointer: what is covered by a message is reached too. */
  async click(selector: string): Promise<void> {
    await (await this.first(selector)).evaluate((element) => element.click());
  }

  names(): Promise<string[]> {
    return this.texts('.cell .name');
  }

  /** The names of the folders in the tree, as far as they are seen. */
  folders(): Promise<string[]> {
    return this.texts('.tree [role="group"]:not([hidden]) > [role="treeitem"] > .branch > .name');
  }

  way(): Promise<string[]> {
    return this.texts('.step');
  }

  cell(name: string): Promise<ElementHandle<HTMLElement>> {
    return this.first('.cell', name);
  }

  async branch(name: string): Promise<ElementHandle> {
    return this.first(`[role="treeitem"][aria-label="${name}"] > .branch`);
  }

  /** Opens a folder of the list. */
  async enter(name: string): Promise<void> {
    await (await this.cell(name)).click({ count: 2 });
    await this.eventually(async () => (await this.way()).at(-1)).toBe(name);
    await this.opened();
  }

  /** Chooses these entries and no others. */
  async choose(...names: string[]): Promise<void> {
    const [first = '', ...others] = names;
    await (await this.cell(first)).click();
    await this.page.keyboard.down('Control');
    for (const name of others) await (await this.cell(name)).click();
    await this.page.keyboard.up('Control');
  }

  /** Presses a button of the toolbar. */
  async tool(deed: string): Promise<void> {
    await this.first(`[data-deed="${deed}"]:not([hidden])`);
    await this.click(`[data-deed="${deed}"]`);
  }

  /** The names of what the toolbar offers. */
  offered(): Promise<string[]> {
    return readInShadow(this.page, '[data-deed]:not([hidden])', (found) =>
      found.map((button) => button.getAttribute('data-deed') ?? ''),
    );
  }

  /** Types an answer into the window that asks for a name. */
  async answer(text: string): Promise<void> {
    const field = await this.first('dialog.dialog input[type="text"]');
    await field.click({ count: 3 });
    await this.page.keyboard.type(text);
    await this.press('Enter');
  }

  async upload(...files: string[]): Promise<void> {
    const field = (await this.page.waitForSelector('>>> input[type="file"]', {
      hidden: true,
    })) as ElementHandle<HTMLInputElement>;
    await field.uploadFile(...files);
  }

  /** The name of what has the focus. */
  async focus(): Promise<string> {
    return plain(
      await this.page.evaluate(() => {
        let active = document.activeElement;
        while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
        const { labels } = (active ?? {}) as Partial<HTMLInputElement>;
        const label = labels?.[0]?.textContent;
        return active?.getAttribute('aria-label') ?? label ?? active?.textContent ?? '';
      }),
    );
  }

  async focused(test: (text: string) => boolean | Promise<boolean>): Promise<void> {
    await this.eventually(async () => test(await this.focus())).toBe(true);
  }

  onFile(name: string): Promise<void> {
    return this.focused((text) => text.startsWith(name));
  }

  /** Whether an entry of the list has the focus. */
  isOnEntry(): Promise<boolean> {
    return this.page.evaluate(() => {
      let active = document.activeElement;
      while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
      return active?.classList.contains('cell') === true && !active.classList.contains('waiting');
    });
  }

  /** Presses keys one after the other; `Control+x` is one. */
  async press(...keys: string[]): Promise<void> {
    for (const key of keys) {
      const parts = key.split('+');
      const last = parts.pop() ?? '';
      for (const part of parts) await this.page.keyboard.down(part as 'Control');
      await this.page.keyboard.press(last as 'Enter');
      for (const part of parts) await this.page.keyboard.up(part as 'Control');
    }
  }

  async says(text: string): Promise<void> {
    await this.eventually(async () => (await this.texts('.notice')).join('\n')).toContain(text);
  }

  /** Goes on by Tab until something of this name has the focus. */
  async tabTo(name: string): Promise<void> {
    for (let steps = 0; steps < 60; steps += 1) {
      if ((await this.focus()).startsWith(name)) return;
      await this.press('Tab');
    }
    const messages = (await this.texts('.notice')).join('; ');
    throw new Error(`Tab does not lead to ${name}, only to ${await this.focus()}; messages: ${messages}`);
  }

  /** Goes on by Tab until something inside of the selector has the focus. */
  async tabInto(selector: string): Promise<void> {
    const isInside = (): Promise<boolean> =>
      this.page.evaluate((wanted) => {
        let active = document.activeElement;
        while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
        return active?.closest(wanted) !== null;
      }, selector);
    for (let steps = 0; steps < 60; steps += 1) {
      if (await isInside()) return;
      await this.press('Tab');
    }
    throw new Error(`Tab does not lead into ${selector}.`);
  }

  /** Goes to a button of the toolbar by keys, and presses it. */
  async toolByKeys(label: string): Promise<void> {
    await this.tabInto('[role="toolbar"] button');
    for (let steps = 0; steps < 20 && (await this.focus()) !== label; steps += 1)
      await this.press('ArrowRight');
    expect(await this.focus()).toBe(label);
    await this.press('Enter');
  }

  /** Opens the menu of the entry that has the focus by keys, and chooses from it. */
  async menuByKeys(label: string): Promise<void> {
    await this.press('ContextMenu');
    await this.eventually(() => this.texts('[role="menuitem"]')).toContain(label);
    for (let steps = 0; steps < 20 && (await this.focus()) !== label; steps += 1)
      await this.press('ArrowDown');
    await this.press('Enter');
  }

  async undo(): Promise<void> {
    await this.tabTo('Undo');
    await this.press('Enter');
    await this.says('Undone.');
  }

  /** Drops files and folders of the disk onto the list. */
  async drop(...files: string[]): Promise<void> {
    await this.first('[data-deed="upload"]:not([hidden])');
    const box = await (await this.first('.scroller')).boundingBox();
    if (box === null) throw new Error('The list is not seen.');
    const session = await this.page.createCDPSession();
    const [x, y] = [box.x + box.width / 2, box.y + box.height - 20];
    const data = { items: [], files, dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
      await session.send('Input.dispatchDragEvent', { type, x, y, data });
  }

  /** The thumbnails that are seen, loaded. */
  thumbnails(): Promise<
    { readonly name: string; readonly url: string; readonly width: number; readonly height: number }[]
  > {
    return readInShadow(this.page, '.cell', (found) =>
      Promise.all(
        found.map(async (cell) => {
          const image = cell.querySelector('img');
          if (image !== null && !image.complete)
            await new Promise((resolve) => {
              image.addEventListener('load', resolve);
              image.addEventListener('error', resolve);
            });
          return {
            name: cell.querySelector('.name')?.textContent ?? '',
            url: image?.src ?? '',
            width: image?.naturalWidth ?? 0,
            height: image?.naturalHeight ?? 0,
          };
        }),
      ),
    );
  }

  /** Drags one thing onto another with the mouse. `over` is called while it is held there. */
  async drag(what: ElementHandle, onto: ElementHandle, over?: () => Promise<void>): Promise<void> {
    const started = await next(what, 'dragstart');
    const held = await next(onto, 'dragover');
    await what.hover();
    await this.page.mouse.down();
    await onto.hover();
    // By the first movement the browser has only begun to drag, in its own time; what is let go before that falls nowhere.
    await started();
    await onto.hover();
    await held();
    await over?.();
    await this.page.mouse.up();
  }
}

/** Listens from now on; what it returns resolves when the event has come. */
const next = async (element: ElementHandle, event: string): Promise<() => Promise<unknown>> => {
  const heard = await element.evaluateHandle((target, name) => {
    const seen = new Promise<void>((resolve) =>
      target.addEventListener(name, () => resolve(), { once: true }),
    );
    return { seen };
  }, event);
  return () => heard.evaluate(({ seen }) => seen);
};
