import { mkdir, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import type { HTTPRequest } from 'puppeteer-core';
import { describe, expect, it } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import type { PickerPage } from './picker-page.ts';
import { usePickerService } from './picker-service.ts';
import { jpeg } from './pictures.ts';

describe.skipIf(chromium === undefined)(`the picker and answers that come late${needsChromium}`, () => {
  const service = usePickerService();

  /** The answers to an action, from now on kept back. */
  const hold = (action: string): ServerResponse[] => {
    const held: ServerResponse[] = [];
    service().proxy = (request, response) => {
      if (request.url !== `/connector/${action}`) return false;
      request.resume();
      held.push(response);
      return true;
    };
    return held;
  };
  const answer = (response: ServerResponse | undefined, data: object): void => {
    response?.writeHead(200, { 'content-type': 'application/json' });
    response?.end(JSON.stringify({ success: true, data: { code: 220, ...data } }));
  };
  const isBackOnline = (picker: PickerPage) => picker.page.evaluate("dispatchEvent(new Event('online'))");
  const marked = (picker: PickerPage) => picker.texts('[role="treeitem"][aria-selected="true"] .name');

  it('marks the open folder in the tree, not one that was left before', async () => {
    await mkdir(service().inPhotos('pets', 'cats'));
    const picker = await service().open();
    await picker.eventually(() => picker.folders()).toEqual(['closed', 'pets']);
    const held = hold('folders');
    await picker.enter('pets');
    await picker.enter('cats');
    await picker.press('Backspace');
    await picker.eventually(() => picker.way()).toEqual(['Photos', 'pets']);
    await picker.press('Backspace');
    await picker.eventually(() => picker.way()).toEqual(['Photos']);
    for (const response of held)
      answer(response, { sources: [{ name: 'photos', title: 'Photos', path: 'pets', folders: ['cats'] }] });
    await picker.eventually(() => picker.folders()).toEqual(['closed', 'pets', 'cats']);
    expect(await marked(picker)).toEqual(['Photos']);
    expect(held).toHaveLength(1);
  });

  it('keeps the focus in the tree, and what is open there, when its folders come anew', async () => {
    await mkdir(service().inPhotos('pets', 'cats'));
    const picker = await service().open();
    await picker.tabInto('.tree');
    await picker.press('ArrowDown', 'ArrowDown', 'ArrowRight');
    await picker.eventually(() => picker.folders()).toEqual(['closed', 'pets', 'cats']);
    await mkdir(service().inPhotos('summer'));
    await isBackOnline(picker);
    await picker.eventually(() => picker.folders()).toEqual(['closed', 'pets', 'cats', 'summer']);
    expect(await picker.focus()).toBe('pets');
  });

  it('leaves folded what was folded when the folders of the tree come anew, and still marks the open one', async () => {
    await mkdir(service().inPhotos('pets', 'cats'));
    await writeFile(service().inPhotos('pets', 'cats', 'tom.jpg'), await jpeg(40, 30));
    const picker = await service().open();
    await picker.enter('pets');
    await picker.enter('cats');
    await picker.eventually(() => picker.folders()).toEqual(['closed', 'pets', 'cats']);
    await picker.tabInto('.tree');
    await picker.press('ArrowUp', 'ArrowLeft');
    await mkdir(service().inPhotos('pets', 'cats', 'young'));
    await isBackOnline(picker);
    await picker.eventually(() => picker.all('[aria-label="cats"][aria-expanded="true"]')).toHaveLength(1);
    const folded = '[aria-label="pets"][aria-expanded="false"]';
    expect(await picker.all(folded)).toHaveLength(1);
    await picker.drag(await picker.cell('tom.jpg'), await picker.branch('pets'));
    await picker.says('tom.jpg was moved');
    expect(await picker.all(folded)).toHaveLength(1);
    await (await picker.first('[aria-label="pets"] .twist')).click();
    await picker.eventually(() => picker.folders()).toEqual(['closed', 'pets', 'cats', 'young']);
    expect(await marked(picker)).toEqual(['cats']);
  });

  it('keeps showing what a search has found while it begins anew, as often as it must', async () => {
    const picker = await service().open();
    await (await picker.first('input[type="search"]')).focus();
    await picker.page.keyboard.type('jpg');
    await picker.eventually(() => picker.texts('.count')).toEqual(['3 results']);
    const names = await picker.names();
    const held = hold('filesSearch');
    for (const times of [1, 2]) {
      await isBackOnline(picker);
      await picker.eventually(() => held.length).toBe(times);
    }
    await picker.choose('two.jpg');
    expect(await picker.names()).toEqual(names);
    answer(held[1], { items: [] });
    await picker.eventually(() => picker.texts('.count')).toEqual(['0 results']);
  });

  it('says nothing of a search that another replaces, whatever the fetch of the page makes of it', async () => {
    const picker = await service().open();
    await picker.press('Escape');
    await picker.eventually(() => picker.all('.picker')).toEqual([]);
    await picker.page.evaluate(`window.more = {
      fetch: (...given) => fetch(...given).catch(() => { throw new TypeError('No response.'); }),
    }`);
    await picker.press('Enter');
    await picker.cell('one.jpg');
    const held = hold('filesSearch');
    await (await picker.first('input[type="search"]')).focus();
    for (const [index, letter] of ['o', 'n'].entries()) {
      await picker.page.keyboard.type(letter);
      await picker.eventually(() => held.length).toBe(index + 1);
    }
    expect(await picker.texts('.state:not([hidden])')).toEqual(['Loading…']);
  });

  it('uploads nothing of a dropped folder after the picker is closed', async () => {
    await mkdir(service().at('desktop', 'trip'), { recursive: true });
    await writeFile(service().at('desktop', 'trip', 'cat.txt'), 'cat');
    const picker = await service().open();
    const held = hold('folderCreate');
    await picker.drop(service().at('desktop', 'trip'));
    await picker.eventually(() => held.length).toBe(1);
    await picker.press('Escape');
    await picker.focused((text) => text === 'Close');
    await picker.press('Enter');
    await picker.eventually(() => picker.page.evaluate('window.picked')).toEqual([]);
    answer(held[0], { messages: [] });
    await picker.page.evaluate(
      "fetch('/connector/ping', { method: 'POST' }).then(() => fetch('/connector/ping'))",
    );
    expect(service().requests.filter((action) => action === 'fileUpload')).toEqual([]);
  });

  it('picks nothing after the element has left the page', async () => {
    await writeFile(service().at('papers', 'letter.txt'), 'Dear reader');
    const picker = await service().open();
    await picker.press('Escape');
    await picker.page.evaluate(`{
      const element = Object.assign(document.createElement('stowage-picker'), { options: { url: '/connector', sources: ['papers'] } });
      element.addEventListener('pick', () => (window.wasPicked = true));
      document.body.append(element);
    }`);
    const cell = await picker.cell('letter.txt');
    const held = hold('files');
    await cell.click({ count: 2 });
    await picker.eventually(() => held.length).toBe(1);
    await picker.page.evaluate("document.querySelector('stowage-picker').remove()");
    answer(held[0], { sources: [] });
    await picker.page.evaluate(
      "fetch('/connector/ping', { method: 'POST' }).then(() => fetch('/connector/ping'))",
    );
    expect(await picker.page.evaluate('window.wasPicked')).toBeUndefined();
  });

  it('tells of words that were not saved after their window was closed', async () => {
    const picker = await service().open();
    const held = hold('fileDescribe');
    await picker.choose('two.jpg');
    await picker.tool('details');
    await picker.tabTo('Caption');
    await picker.page.keyboard.type('Off the coast');
    await picker.click('dialog.dialog [type="submit"]');
    await picker.eventually(() => held.length).toBe(1);
    await picker.press('Escape');
    await picker.eventually(() => picker.all('dialog.dialog')).toEqual([]);
    held[0]?.writeHead(503, { 'content-type': 'text/html' }).end('<title>Site in maintenance</title>');
    await picker.says('The server answered: 503 Service Unavailable');
  });

  it('asks once for more of the trash, however often that is pressed', async () => {
    const picker = await service().open();
    const held = hold('trashList');
    await picker.tool('trash');
    await picker.eventually(() => held.length).toBe(1);
    const items = Array.from({ length: 100 }, (_, index) => ({
      ...{ id: String(index), source: 'photos', path: '', name: `${String(index)}.txt`, kind: 'file' },
      ...{ bytes: 1, removedAt: '2026-01-01T00:00:00.000Z', replaced: false },
    }));
    answer(held[0], { items });
    const rows = () => picker.eventually(async () => (await picker.all('tbody tr')).length);
    await rows().toBe(100);
    await (
      await picker.first('dialog.dialog footer button:not([hidden])')
    ).evaluate((button) => {
      for (let times = 0; times < 2; times += 1) button.click();
    });
    await picker.eventually(() => held.length).toBeGreaterThan(1);
    for (const response of held.slice(1)) answer(response, { items: items.slice(0, 1) });
    await rows().toBe(101);
    expect(held).toHaveLength(2);
  });

  it('leaves the focus on the page where a person writes when an upload ends', async () => {
    await writeFile(service().at('new.jpg'), await jpeg(40, 30));
    const picker = await service().open();
    await picker.press('Escape');
    await picker.page.evaluate(
      "document.body.append(Object.assign(document.createElement('stowage-picker'), { options: { url: '/connector' } }))",
    );
    await picker.cell('one.jpg');
    const held: HTTPRequest[] = [];
    await picker.page.setRequestInterception(true);
    picker.page.on('request', (request) => {
      if (request.url().endsWith('/files')) held.push(request);
      else void request.continue();
    });
    await picker.upload(service().at('new.jpg'));
    await picker.says('new.jpg was uploaded.');
    await picker.page.focus('#field');
    await picker.eventually(() => held.length).toBeGreaterThan(0);
    for (const request of held) await request.continue();
    await picker.eventually(() => picker.names()).toContain('new.jpg');
    expect(await picker.focus()).toBe('Address');
  });

  it('asks before its end would cancel uploads, and then sends none of the files that wait', async () => {
    const picker = await service().open();
    const wanted = Array.from({ length: 5 }, (_, index) => service().at(`new-${String(index)}.txt`));
    for (const file of wanted) await writeFile(file, 'A text');
    const held = hold('fileUpload');
    await picker.drop(...wanted);
    await picker.eventually(() => held.length).toBe(3);
    // A browser asks the page once, until the user does something else.
    for (let times = 0; times < 3; times += 1) {
      await picker.press('Escape');
      await picker.focused((text) => text === 'Close');
      await picker.press('Escape');
      await picker.eventually(() => picker.all('dialog.dialog')).toEqual([]);
    }
    expect(await picker.all('.uploads li')).toHaveLength(5);
    const leaves = (): Promise<boolean> =>
      picker.page.evaluate(() => dispatchEvent(new Event('beforeunload', { cancelable: true })));
    expect(await leaves()).toBe(false);
    await (await picker.cell('one.jpg')).click({ count: 2 });
    await picker.focused((text) => text === 'Close');
    expect(await picker.page.evaluate('window.picked')).toBeUndefined();
    await picker.press('Enter');
    await picker
      .eventually(() => picker.page.evaluate('window.picked?.map(({ name }) => name)'))
      .toEqual(['one.jpg']);
    await picker.page.evaluate(
      "fetch('/connector/ping', { method: 'POST' }).then(() => fetch('/connector/ping'))",
    );
    expect(held).toHaveLength(3);
    expect(await leaves()).toBe(true);
  });

  it('closes its window by the signal of the page', async () => {
    const picker = await service().open();
    await picker.press('Escape');
    await picker.eventually(() => picker.all('.picker')).toEqual([]);
    const picked = picker.page.evaluate(`import('/picker.js').then(({ pickFiles }) => {
      window.ending = new AbortController();
      return pickFiles({ url: '/connector' }, { signal: window.ending.signal });
    })`);
    await picker.cell('one.jpg');
    await picker.page.evaluate('window.ending.abort()');
    expect(await picked).toEqual([]);
    expect(await picker.all('.picker')).toEqual([]);
    expect(await picker.focus()).toBe('Browse');
  });
});
