import type { Browser, Page } from 'puppeteer-core';
import { PATIENCE } from '../client/chromium.ts';
import { EditorPage, type ShownPicture } from '../client/editor-page.ts';
import { PickerPage } from '../client/picker-page.ts';

/** Somebody who opens a page of the documents in a browser of their own, and uses it by mouse. */
export class Visitor {
  readonly page: Page;
  readonly editor: EditorPage;
  readonly picker: PickerPage;

  private constructor(page: Page) {
    this.page = page;
    this.editor = new EditorPage(page);
    this.picker = new PickerPage(page);
  }

  static async open(browser: Browser, url: string): Promise<Visitor> {
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    await page.setViewport({ width: 1280, height: 900 });
    await page.goto(url);
    return new Visitor(page);
  }

  async logIn(user: string): Promise<void> {
    await this.page.locator('input[name=user]').fill(user);
    await this.page.locator('input[name=password]').fill(`secret of ${user}`);
    await Promise.all([this.page.waitForNavigation(), this.page.locator('button').click()]);
  }

  /** Opens the picker as one does who has found the button for pictures. */
  async openFiles(): Promise<void> {
    await this.page.locator('.jodit-toolbar-button_image button').click();
    await this.page.locator(`::-p-xpath(//button[normalize-space()='Browse'])`).click();
    await this.picker.opened();
  }

  /** The pictures of the picker that have loaded. */
  async seen(): Promise<readonly string[]> {
    const shown = await this.picker.thumbnails();
    return shown.filter(({ width }) => width > 0).map(({ name }) => name);
  }

  /** Puts a picture into the text. */
  async insert(name: string): Promise<void> {
    await (await this.picker.cell(name)).click({ count: 2 });
  }

  picturesInText(): Promise<readonly ShownPicture[]> {
    return this.editor.picturesInText();
  }

  async leave(): Promise<void> {
    await this.page.browserContext().close();
  }
}
