import { createRequire } from 'node:module';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page, Viewport } from 'puppeteer-core';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import type { PickerPage } from './picker-page.ts';
import { usePickerService } from './picker-service.ts';
import { jpeg } from './pictures.ts';

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** A folder for a picture of every state, to be looked at; none are kept without it. */
const screens = process.env['SCREENS'];

interface Look {
  readonly viewport?: Viewport;
  readonly options?: Readonly<Record<string, unknown>>;
  /** What axe checks: another theme differs in its colours alone, and other sizes of a window only in what fits into it. */
  readonly rules: 'all' | 'of colours' | 'others' | 'none';
}

const wide: Viewport = { width: 1200, height: 800 };
const looks: Readonly<Record<string, Look>> = {
  light: { options: { theme: 'light' }, rules: 'all' },
  dark: { options: { theme: 'dark' }, rules: 'of colours' },
  'right to left': { options: { theme: 'light', language: 'ar' }, rules: 'others' },
  'right to left and narrow': {
    options: { language: 'ar' },
    viewport: { width: 390, height: 844 },
    rules: 'none',
  },
  medium: { viewport: { width: 800, height: 700 }, rules: 'none' },
  narrow: { viewport: { width: 390, height: 844, hasTouch: true, isMobile: true }, rules: 'all' },
  'dark and narrow': {
    options: { theme: 'dark', language: 'de' },
    viewport: { width: 390, height: 844 },
    rules: 'none',
  },
  // As a browser whose pages are drawn at 200 %.
  enlarged: { viewport: { width: 600, height: 400, deviceScaleFactor: 2 }, rules: 'none' },
};

/** What axe finds on a page that is serious. */
const violations = (page: Page, rules: 'all' | 'of colours' | 'others'): Promise<string[]> =>
  page.evaluate(async (which) => {
    const { axe: checker } = window as unknown as {
      axe: {
        run(
          options: object,
        ): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
      };
    };
    const options = {
      ...(which === 'of colours' ? { runOnly: ['color-contrast'] } : {}),
      ...(which === 'others' ? { rules: { 'color-contrast': { enabled: false } } } : {}),
      // What is found is enough: without the elements that pass.
      resultTypes: ['violations'],
    };
    const { violations } = await checker.run(options);
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' ')}`);
  }, rules);

describe.skipIf(chromium === undefined)(`the looks of the picker${needsChromium}`, () => {
  const service = usePickerService();

  /** Axe finds nothing serious, and nothing is wider than the window. */
  const check = async (
    { page }: PickerPage,
    look: string,
    state: string,
    rules: Look['rules'],
  ): Promise<void> => {
    if (screens !== undefined) {
      await mkdir(screens, { recursive: true });
      const file = `${look}-${state}`.replaceAll(' ', '_');
      await page.screenshot({ path: `${path.join(screens, file)}.png` });
    }
    if (rules !== 'none') expect(await violations(page, rules), state).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), state).toBe(true);
    // Browsers with visible scrollbars would show one below the picker.
    const excess = await page.evaluate(() => {
      const host = [...document.body.children].find(({ shadowRoot }) => shadowRoot !== null);
      const { scrollWidth = 0, clientWidth = 0 } = host?.shadowRoot?.querySelector('dialog') ?? {};
      return scrollWidth - clientWidth;
    });
    expect(excess, state).toBe(0);
  };

  it('keeps its buttons out of the areas of a telephone that are covered', async () => {
    const phone: Viewport = { width: 390, height: 844, hasTouch: true, isMobile: true };
    const picker = await service().open({}, phone);
    const session = await picker.page.createCDPSession();
    const box = async (selector: string) => {
      const { x, y, height } = (await (await picker.first(selector)).boundingBox()) ?? {
        x: 0,
        y: 0,
        height: 0,
      };
      return { left: x, top: y, bottom: y + height };
    };
    const cover = (insets: object) => session.send('Emulation.setSafeAreaInsetsOverride', { insets });
    await cover({ top: 47, bottom: 34 });
    expect(await box('.head')).toMatchObject({ left: 0, top: 47 });
    expect(await box('.foot')).toMatchObject({ bottom: 810 });
    await picker.page.setViewport({ ...phone, width: 844, height: 390 });
    await cover({ left: 59, right: 59 });
    expect(await box('.head')).toMatchObject({ left: 59 });
  });

  it.each(Object.entries(looks))(
    '%s: every state fits into the window, and passes the checks of this look',
    async (look, { viewport = wide, options = {}, rules }) => {
      const long = 'a very long name of a picture that nobody has shortened before it was uploaded.jpg';
      for (const [index, name] of ['beach.jpg', 'صورة.jpg', long, 'zebra.jpg'].entries())
        await writeFile(service().inPhotos(name), await jpeg(400 + 40 * index, 300, '#2e86c1'));
      await writeFile(service().inPhotos('letter.txt'), 'Dear reader');
      const picker = await service().open(options, viewport);
      if (rules !== 'none') await picker.page.addScriptTag({ path: axe });
      await picker.thumbnails();
      const state = (name: string): Promise<void> => check(picker, look, name, rules);
      const leave = async (): Promise<void> => {
        await picker.press('Escape');
        await picker.eventually(() => picker.all('dialog.dialog')).toEqual([]);
      };
      await state('folder');
      await (await picker.cell('beach.jpg')).focus();
      await picker.press(' ');
      await state('selection');
      await picker.click('[data-view="list"]');
      await state('list');
      // Sizes stand below each other, and the buttons at the end of the window.
      const ends = (selector: string): Promise<number[]> =>
        picker.page.$$eval(`>>> ${selector}`, (all) => all.map((one) => one.getBoundingClientRect().right));
      expect(new Set(await ends('.cell .size')).size).toBe(1);
      const [edge = 0, insert = 0] = [...(await ends('.foot')), ...(await ends('.foot .primary'))];
      if (options['language'] !== 'ar') expect(edge - insert).toBe(12);
      await picker.click('[data-view="tiles"]');
      await (await picker.cell('beach.jpg')).focus();
      await picker.press('ContextMenu');
      await picker.first('[role="menuitem"]');
      await state('menu');
      await picker.press('Escape');
      for (const deed of ['newFolder', 'rename', 'move', 'details', 'edit', 'remove']) {
        await picker.tool(deed);
        await picker.first('dialog h2');
        await state(deed);
        if (deed === 'edit') {
          await picker.click('[data-mode="resize"]');
          await state('resize');
        }
        if (deed !== 'remove') await leave();
      }
      await picker.press('Enter');
      await picker.first('.notice .offer');
      await state('undo');
      await picker.tool('trash');
      await picker.first('tbody tr');
      await state('trash');
      await leave();
      await writeFile(service().at('program.exe'), 'MZ');
      await writeFile(service().at('held.txt'), 'x');
      service().proxy = (request) => /fileUpload|tus/u.test(request.url ?? '') && request.method === 'POST';
      await picker.upload(service().at('program.exe'), service().at('held.txt'));
      await picker.first('.notice.failure');
      await picker.first('.uploads li');
      await state('uploads');
      await (await picker.first('input[type="search"]')).focus();
      await picker.page.keyboard.type('zebra');
      await picker.eventually(() => picker.names()).toEqual(['zebra.jpg']);
      await state('search');
      await picker.page.keyboard.type('s and lions');
      await picker.eventually(() => picker.names()).toEqual([]);
      await state('nothing found');
      await picker.press('Escape');
      if (await (await picker.first('.fold')).isVisible()) {
        await picker.click('.fold');
        await state('folders');
        await picker.press('Escape');
      }
      await (await picker.cell('pets')).focus();
      await picker.press('Enter');
      await picker.eventually(() => picker.way()).toEqual(['Photos', 'pets']);
      await picker.first('.state:not([hidden])');
      await state('empty');
    },
  );

  it('tells what is chosen in high contrast, where backgrounds are not drawn', async () => {
    const picker = await service().open();
    const session = await picker.page.createCDPSession();
    await session.send('Emulation.setEmulatedMedia', {
      features: [{ name: 'forced-colors', value: 'active' }],
    });
    await picker.press('End', ' ', 'ArrowLeft');
    /** Whether something is drawn in the middle of the mark of an entry. */
    const isMarked = async (name: string): Promise<boolean> => {
      const mark = await (await picker.cell(name)).$('.check');
      const middle = { left: 7, top: 7, width: 10, height: 10 };
      const drawn = await sharp(await mark?.screenshot())
        .extract(middle)
        .toBuffer();
      const { channels } = await sharp(drawn).stats();
      return channels.some(({ stdev }) => stdev > 1);
    };
    expect(await isMarked('two.jpg')).toBe(true);
    expect(await isMarked('one.jpg')).toBe(false);
    const borders = (selector: string): Promise<string[]> =>
      picker.page.$$eval(`>>> ${selector}`, (all) => all.map((one) => getComputedStyle(one).borderTopWidth));
    expect(await borders('[data-view]')).toEqual(['3px', '1px']);
    expect(new Set(await borders('[role="treeitem"]'))).toEqual(new Set(['3px', '0px']));
  });

  it('has fields that a telephone does not enlarge with the page when they get the focus', async () => {
    const picker = await service().open({}, { width: 390, height: 844, hasTouch: true, isMobile: true });
    await picker.tool('newFolder');
    await picker.first('dialog input');
    const sizes = await picker.page.$$eval('>>> .picker :is(input:not([type="file"]), select)', (all) =>
      all.map((one) => getComputedStyle(one).fontSize),
    );
    expect(new Set(sizes)).toEqual(new Set(['16px']));
  });
});
