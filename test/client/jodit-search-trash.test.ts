import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'puppeteer-core';
import { afterAll, describe, expect, test } from 'vitest';
import { startDemo } from '../../demo/start-demo.ts';
import { chromium, needsChromium } from './chromium.ts';
import { eventually, useClient } from './client.ts';
import { EditorPage } from './editor-page.ts';
import { jpeg, writeFiles, type Files } from './pictures.ts';

/** Small files with numbers in their names. */
const reports = (folder: string, count: number): Files =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `${folder}report ${String(index).padStart(3, '0')}.txt`,
      'x',
    ]),
  );

const field = '.jodit-dialog .jodit-toolbar-content_filter input';
const toggle = '.stowage-trash-button';

/** What the test lets the page's requests wait for. */
interface HeldWindow extends Window {
  held?: { readonly aborted: () => boolean };
  release?: () => void;
}

/** Marks in texts that keep names of both directions apart. */
const plain = (text: string): string => text.replaceAll(/[\u2068\u2069]/gu, '');

const found = (page: Page): Promise<string[]> =>
  page
    .$$eval('.jodit-file-browser-files__item', (tiles) =>
      tiles.map((tile) => {
        const where = tile.querySelector('[class$="-info-where"]')?.textContent ?? 'no folder';
        return `${tile.getAttribute('data-name') ?? ''} in ${where}`;
      }),
    )
    .then((texts) => texts.map(plain));

const focused = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const { activeElement } = document;
    return (
      activeElement?.getAttribute('data-name') ??
      activeElement?.getAttribute('aria-label') ??
      activeElement?.textContent ??
      ''
    );
  });

/** Rows of the trash: name, folder, and the buttons' names for screen readers. */
const trashed = (page: Page): Promise<string[]> =>
  page
    .$$eval('.stowage-trash tbody tr', (rows) =>
      rows.map((row) =>
        ['th bdi', '.stowage-trash__where', '.stowage-trash__size', '.stowage-trash__who']
          .map((part) => row.querySelector(part)?.textContent ?? '')
          .join(' | '),
      ),
    )
    .then((texts) => texts.map(plain));

const restore = (page: Page, name: string): Promise<void> =>
  page.locator(`.stowage-trash button[aria-label="Restore ${name}"]`).click();

describe.skipIf(chromium === undefined)(`Search and trash in Jodit's file browser${needsChromium}`, () => {
  let base = '';
  const at = (...parts: string[]): string => path.join(base, ...parts);

  const client = useClient({
    config: async () => {
      base = await mkdtemp(path.join(tmpdir(), 'stowage-sources-'));
      await Promise.all([
        writeFiles(at('photos'), {
          ...reports('archive/', 120),
          'harbour.jpg': await jpeg(90, 60),
          'trip/harbour.jpg': await jpeg(80, 60),
          'trip/day one/harbour at night.jpg': await jpeg(70, 60),
          'trip/hare.jpg': await jpeg(60, 60),
          'gone/lost.jpg': await jpeg(50, 50),
          'edit me.jpg': await jpeg(400, 300),
        }),
        writeFiles(at('documents'), { ...reports('', 120), 'notes on the harbour.txt': 'x' }),
        writeFiles(at('team'), { ...reports('a/b/', 120), 'harbour/list.txt': 'x', 'team.jpg': 'x' }),
      ]);
      const trash = { retentionDays: 30, keepReplaced: true };
      const source = (name: string) =>
        ({ root: at(name), title: name.toUpperCase(), serve: 'public' }) as const;
      return {
        accessControl: [],
        sources: {
          photos: { ...source('photos'), trash },
          documents: source('documents'),
          team: { ...source('team'), trash },
        },
      };
    },
    hooks: { checkAuthentication: () => ({ role: 'editor', subject: 'maria' }) },
  });
  afterAll(() => rm(base, { recursive: true, force: true }));

  test('searches all sources while the person types, and shows the newest answer alone', async () => {
    const { editor } = client();
    const { page } = editor;
    await editor.openFiles();
    expect(await page.$eval(field, (input) => input.getAttribute('aria-label'))).toBe('Search');
    await page.evaluate(() => {
      const window_ = window as HeldWindow;
      const send = window.fetch.bind(window);
      // The answer to "har" comes whatever has become of its request, and late.
      window.fetch = async (input, init) => {
        const query = init?.body instanceof FormData ? init.body.get('query') : null;
        if (query !== 'har') return send(input, init);
        const { signal } = init ?? {};
        window_.held = { aborted: () => signal?.aborted === true };
        const answer = await send(input, { ...init, signal: null });
        await new Promise<void>((resolve) => (window_.release = resolve));
        return answer;
      };
    });
    await page.type(field, 'har');
    await page.waitForFunction(() => (window as HeldWindow).release !== undefined);
    await page.type(field, 'bour');
    const all = [
      'harbour at night.jpg in PHOTOS / trip / day one',
      'harbour.jpg in PHOTOS',
      'harbour.jpg in PHOTOS / trip',
      'notes on the harbour.txt in DOCUMENTS',
    ];
    await eventually(async () => (await found(page)).sort()).toEqual(all);
    expect(await page.evaluate(() => (window as HeldWindow).held?.aborted())).toBe(true);
    await page.evaluate(() => (window as HeldWindow).release?.());
    expect(
      await page.$$eval('.stowage-search__folder', (folders) => folders.map((one) => one.textContent)),
    ).toEqual([expect.stringMatching(/TEAM.*harbour/u)]);
    expect(await page.$eval('.stowage-browser > [role=status]', (live) => live.textContent)).toBe(
      '5 results',
    );
    const thumbnails = await editor.thumbnails();
    expect(thumbnails.filter(({ width }) => width > 0)).toHaveLength(4);
    expect((await found(page)).sort()).toEqual(all);

    await page.click(field, { count: 3 });
    await page.type(field, 'rep');
    await eventually(async () => (await found(page)).length).toBe(60);
    await page.locator('.stowage-search__more').click();
    await eventually(async () => (await found(page)).length).toBeGreaterThan(60);
    await page.click(field, { count: 3 });
    await page.type(field, 'zzz');
    await eventually(() => page.$eval('.stowage-search__count', (text) => text.textContent)).toBe(
      'Nothing found for "zzz".',
    );
    await page.keyboard.press('Escape');
    await eventually(async () => (await editor.names()).includes('edit me.jpg')).toBe(true);
    expect(await page.$eval(field, (input) => input.value)).toBe('');
  });

  test('is searched by keyboard alone: to the folder of a file, and into the text', async () => {
    const { editor } = client();
    const { page } = editor;
    const { keyboard } = page;
    await editor.openFiles();
    await (await page.waitForSelector('.jodit-file-browser-files [tabindex="0"]'))?.focus();
    await keyboard.press('/');
    await keyboard.type('harbour jpg');
    await keyboard.press('Enter');
    await eventually(() => focused(page)).toMatch(/^harbour/u);
    await keyboard.press('End');
    const wanted = (await found(page)).at(-1) ?? '';
    await keyboard.down('Control');
    await keyboard.press('Enter');
    await keyboard.up('Control');
    const [name = '', folder = ''] = wanted.split(' in ');
    const line = (): Promise<string[]> =>
      page.$$eval('.stowage-folder > *', (parts) => parts.map((part) => part.textContent));
    await eventually(line).toEqual(folder.split(' / '));
    await eventually(() => found(page)).toContain(`${name} in no folder`);
    await eventually(() => focused(page)).toBe(name);
    expect(await page.$$('.jodit-file-browser-files [aria-selected=true]')).toHaveLength(1);
    await keyboard.press('/');
    await keyboard.type('report 001');
    await eventually(async () => (await found(page)).length).toBe(3);
    await page.select('.stowage-search__scope', 'here');
    await eventually(() => page.$eval('.stowage-search__count', (text) => text.textContent)).toBe(
      'Nothing found for "report 001".',
    );
    await page.click(field, { count: 3 });
    await keyboard.type('night');
    await keyboard.press('ArrowDown');
    await eventually(() => focused(page)).toBe('harbour at night.jpg');
    await keyboard.press('Escape');
    await eventually(() => focused(page)).toBe('Search');
    await keyboard.type('night');
    await keyboard.press('Enter');
    await eventually(() => focused(page)).toBe('harbour at night.jpg');
    await keyboard.press('Enter');
    await eventually(() => editor.html()).toContain(
      '<img src="/file/photos/trip/day%20one/harbour%20at%20night.jpg" width="70" height="60">',
    );
  });

  test('removes what was found, lists it, and brings it back, into a folder that is gone or under another name', async () => {
    const { editor } = client();
    const { page } = editor;
    await editor.openFiles();
    await page.type(field, 'harbour.jpg');
    await eventually(async () => (await found(page)).length).toBe(2);
    const inTrip = await page.$('.jodit-file-browser-files__item[data-path="trip/"]');
    await inTrip?.click({ button: 'right' });
    await page
      .locator(`::-p-xpath(//*[contains(@class,'jodit-context-menu')]//button[normalize-space()='Delete'])`)
      .click();
    await editor.agree();
    await eventually(() => readdir(at('photos', 'trip'))).not.toContain('harbour.jpg');
    expect(await readdir(at('photos'))).toContain('harbour.jpg');
    await editor.press('End the search');
    await eventually(async () => (await editor.names()).includes('edit me.jpg')).toBe(true);
    const bytes = await readFile(at('photos', 'gone', 'lost.jpg'));
    await editor.enter('gone');
    await eventually(() => editor.names()).toEqual(['lost.jpg']);
    await (await editor.tile('lost.jpg')).click();
    await editor.tool('remove');
    await editor.agree();
    await eventually(() => editor.names()).toEqual([]);
    await rm(at('photos', 'gone'), { recursive: true });
    await page.focus(toggle);
    await page.keyboard.press('Enter');
    await eventually(() => trashed(page)).toEqual([
      expect.stringMatching(/^lost\.jpg \| PHOTOS \/ gone \| \d+ bytes \| maria$/u),
      expect.stringMatching(/^harbour\.jpg \| PHOTOS \/ trip \| \d+ bytes \| maria$/u),
    ]);
    await eventually(() => focused(page)).toBe('Restore lost.jpg');
    // Of the sources that have a trash.
    expect(await page.$$eval('.stowage-trash option', (all) => all.map((one) => one.textContent))).toEqual([
      'All sources',
      'PHOTOS',
      'TEAM',
    ]);
    await page.keyboard.press('Enter');
    await eventually(() => editor.messages()).toContainEqual(
      expect.stringMatching(/lost\.jpg is back in .*gone/u),
    );
    expect(await readFile(at('photos', 'gone', 'lost.jpg'))).toEqual(bytes);
    expect(await focused(page)).toBe('Restore harbour.jpg');
    await writeFile(at('photos', 'trip', 'harbour.jpg'), bytes);
    await restore(page, 'harbour.jpg');
    await eventually(() => editor.messages()).toContainEqual(expect.stringContaining('harbour (1).jpg now'));
    expect(await readdir(at('photos', 'trip'))).toEqual(
      expect.arrayContaining(['harbour.jpg', 'harbour (1).jpg']),
    );
    await eventually(() => page.$eval('.stowage-trash [role=status]', (text) => text.textContent)).toBe(
      'The trash is empty.',
    );
    await page.keyboard.press('Escape');
    expect(await focused(page)).toBe('Trash');
    expect(await page.$eval('.stowage-trash', (view) => (view as HTMLElement).hidden)).toBe(true);
  });

  test('asks before something goes for good, and names it', async () => {
    const { editor } = client();
    const { page } = editor;
    await editor.openFiles();
    for (const folder of ['gone', 'archive']) {
      await editor.markOf(folder, 'remove');
      await editor.agree();
      await eventually(() => editor.folders()).not.toContain(folder);
    }
    const { keyboard } = page;
    await page.focus(toggle);
    await keyboard.press('Enter');
    await eventually(async () => (await trashed(page)).length).toBe(2);
    await eventually(() => focused(page)).toBe('Restore archive');
    // The newest is the first.
    await keyboard.press('ArrowDown');
    expect(await focused(page)).toBe('Restore gone');
    await keyboard.press('Delete');
    await page.waitForSelector('.stowage-question');
    expect(await page.$eval('.stowage-question', (box) => (box as HTMLElement).innerText)).toMatch(
      /Delete this for good\?[\s\S]*gone$/u,
    );
    await keyboard.press('Escape');
    await page.waitForSelector('.stowage-question', { hidden: true });
    expect(await trashed(page)).toHaveLength(2);
    await eventually(() => focused(page)).toBe('Restore gone');
    await keyboard.press('Tab');
    expect(await focused(page)).toBe('Delete gone for good');
    await keyboard.press('Enter');
    await page.waitForSelector('.stowage-question');
    await keyboard.press('Enter');
    await eventually(async () => (await trashed(page)).length).toBe(1);
    await eventually(() => focused(page)).toMatch(/archive/u);
    await page.locator('.stowage-trash__empty').click();
    expect(await page.$eval('.stowage-question', (box) => box.textContent)).toContain('PHOTOS and TEAM');
    await editor.agree();
    await eventually(() => editor.messages()).toContain('success: 1 item was deleted for good.');
    expect(await readdir(at('photos', '.stowage-trash'))).toEqual([]);
  });

  test.each([
    [
      'a new size',
      async (editor: EditorPage) => {
        await editor.menu('edit me.jpg', 'Edit');
        await editor.resizeTo(200);
        await editor.press('Save');
      },
    ],
    [
      'a crop',
      async (editor: EditorPage) => {
        await editor.menu('edit me.jpg', 'Edit');
        await editor.openCrop();
        await editor.press('Save');
      },
    ],
    ['a turn', (editor: EditorPage) => editor.menu('edit me.jpg', 'Turn left')],
  ])('takes back %s of a picture, also while the trash is shown', async (_what, change) => {
    const { editor } = client();
    const { page } = editor;
    const before = await readFile(at('photos', 'edit me.jpg'));
    await editor.openFiles();
    await change(editor);
    const undo = '.stowage-notice__action';
    await page.waitForSelector(undo);
    expect(await readFile(at('photos', 'edit me.jpg'))).not.toEqual(before);
    await page.click(toggle);
    const earlier = expect.stringMatching(/^edit me\.jpg \| PHOTOS/u) as string;
    await eventually(async () => (await trashed(page))[0]).toEqual(earlier);
    const idOf = () => page.$eval('.stowage-trash time', (time) => time.dateTime);
    const replaced = await idOf();
    await page.click(undo);
    await eventually(() => editor.messages()).toContain('success: The image is as it was before.');
    expect(await readFile(at('photos', 'edit me.jpg'))).toEqual(before);
    // What the change had made is there now, in place of what it had replaced.
    await eventually(idOf).not.toBe(replaced);
    expect(await page.$$('.stowage-trash__earlier')).toHaveLength(0);
  });

  test('takes a removal back while the trash is shown, and shows that', async () => {
    const { editor } = client();
    const { page } = editor;
    await editor.openFiles();
    await (await editor.tile('edit me.jpg')).click();
    await editor.tool('remove');
    await editor.agree();
    await page.waitForSelector('.stowage-notice__action');
    await page.click(toggle);
    const isThere = async (): Promise<boolean> =>
      (await trashed(page)).some((row) => row.startsWith('edit me.jpg'));
    const count = async (): Promise<number> =>
      (await trashed(page)).filter((row) => row.startsWith('edit me.jpg')).length;
    await eventually(isThere).toBe(true);
    const shown = await count();
    await page.click('.stowage-notice__action');
    await eventually(count).toBe(shown - 1);
    expect(await readdir(at('photos'))).toContain('edit me.jpg');
  });

  test('shows neither where the connector offers neither, and filters the open folder', async () => {
    const { editor } = client();
    const dataDir = at('other');
    await writeFiles(path.join(dataDir, 'photos'), {
      'one.jpg': await jpeg(40, 40),
      'two.jpg': await jpeg(41, 40),
    });
    await writeFiles(path.join(dataDir, 'documents'), {});
    const demo = await startDemo({
      connectorPort: 0,
      pagePort: 0,
      dataDir,
      config: {
        accessControl: [{ FILES_SEARCH: false }],
        sources: { photos: { title: 'Photos', root: path.join(dataDir, 'photos'), serve: 'public' } },
      },
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    });
    const errors: string[] = [];
    const page = await editor.page.browserContext().newPage();
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.location().url?.endsWith('mountain-dawn.jpg'))
        errors.push(message.text());
    });
    await page.goto(demo.pageUrl);
    await page.waitForSelector('.state.ready');
    const other = new EditorPage(page);
    await other.openFiles();
    await eventually(async () => (await other.names()).sort()).toEqual(['one.jpg', 'two.jpg']);
    expect(await page.$eval(toggle, (button) => button.checkVisibility())).toBe(false);
    expect(await page.$eval(field, (input) => input.getAttribute('aria-label'))).toBe('Filter');
    await page.type(field, 'two');
    await eventually(() => other.names()).toEqual(['two.jpg']);
    await page.keyboard.press('Escape');
    await eventually(async () => (await other.names()).sort()).toEqual(['one.jpg', 'two.jpg']);
    expect(errors).toEqual([]);
    await page.close();
    await demo.close();
  });

  test('is written from right to left in Arabic', async () => {
    const { editor } = client();
    const { page } = editor;
    await page.evaluateOnNewDocument(() =>
      document.addEventListener('readystatechange', () => {
        document.documentElement.lang = 'ar';
        document.documentElement.dir = 'rtl';
      }),
    );
    await page.reload();
    await page.waitForSelector('.state.ready');
    await editor.openFiles();
    await page.type(field, 'harbour');
    await eventually(() => page.$eval('.stowage-search__count', (text) => text.textContent)).toMatch(
      /نتائج/u,
    );
    // In this direction the next one is to the left.
    await page.focus(field);
    await page.keyboard.press('ArrowDown');
    const focusedTile = () =>
      page.$$eval('.jodit-file-browser-files__item', (tiles) => {
        const index = tiles.findIndex((tile) => tile === document.activeElement);
        return { index, left: tiles[index]?.getBoundingClientRect().left ?? 0 };
      });
    await eventually(async () => (await focusedTile()).index).toBe(0);
    const first = await focusedTile();
    await page.keyboard.press('ArrowLeft');
    const second = await focusedTile();
    expect(second.index).toBe(1);
    expect(second.left).toBeLessThan(first.left);
    await page.focus(toggle);
    await page.keyboard.press('Enter');
    await eventually(() => page.$eval('.stowage-trash__count', (text) => text.textContent)).not.toBe('');
    const left = (selector: string): Promise<number> =>
      page.$eval(selector, (element) => element.getBoundingClientRect().left);
    expect(await left('.stowage-trash__back')).toBeGreaterThan(await left('.stowage-trash__count'));
    expect(await page.$eval('.stowage-trash', (view) => getComputedStyle(view).direction)).toBe('rtl');
  });
});
