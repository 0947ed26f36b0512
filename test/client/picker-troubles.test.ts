import { mkdir, rm, writeFile } from 'node:fs/promises';
import type { HTTPRequest } from 'puppeteer-core';
import { HttpError } from 'stowage';
import { beforeEach, describe, expect, it } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import type { PickerPage } from './picker-page.ts';
import { usePickerService } from './picker-service.ts';
import { jpeg } from './pictures.ts';

describe.skipIf(chromium === undefined)(`the picker when something goes wrong${needsChromium}`, () => {
  let isLoggedIn = true;
  const service = usePickerService(
    {},
    {
      checkAuthentication: () => {
        if (!isLoggedIn) throw new HttpError(401, 'Please log in.');
        return 'editor';
      },
    },
  );
  beforeEach(() => {
    isLoggedIn = true;
  });

  /** Answers to this action never come, until the test ends. */
  const hold = (action: string): void => {
    service().proxy = (request) => {
      if (request.url !== `/connector/${action}`) return false;
      request.resume();
      return true;
    };
  };
  /** A gateway answers this action, until the test ends. */
  const fail = (action: string): void => {
    service().proxy = (request, response) => {
      if (request.url !== `/connector/${action}`) return false;
      response.writeHead(503, { 'content-type': 'text/html' }).end('<title>Site in maintenance</title>');
      return true;
    };
  };
  const state = (picker: PickerPage) => picker.eventually(() => picker.texts('.state:not([hidden]) p'));
  const names = (picker: PickerPage) => picker.eventually(() => picker.names());
  const rename = async (picker: PickerPage, name: string): Promise<void> => {
    await picker.press('End', 'F2');
    await picker.first('dialog h2');
    await picker.page.keyboard.type(name);
    await picker.press('Enter');
    await picker.eventually(() => picker.all('dialog.dialog')).toEqual([]);
  };

  it('is offline, and shows by itself what was wanted when the connection is back', async () => {
    await writeFile(service().inPhotos('pets', 'cat.jpg'), await jpeg(40, 30));
    const picker = await service().open();
    await picker.page.setOfflineMode(true);
    await picker.says('You are offline.');
    await picker.press('ArrowRight', 'Enter');
    await state(picker).toEqual(['The file service cannot be reached. Check your connection and try again.']);
    await writeFile(service().at('new.jpg'), await jpeg(40, 30));
    await picker.upload(service().at('new.jpg'));
    await picker
      .eventually(() => picker.texts('.uploads .line'))
      .toEqual([
        'new.jpg was not uploaded. The file service cannot be reached. Check your connection and try again.',
      ]);
    await (await picker.first('.notice [aria-label="Close"]')).focus();
    await picker.page.setOfflineMode(false);
    await names(picker).toEqual(['cat.jpg']);
    // From the message, which is gone.
    await picker.onFile('cat.jpg');
    expect(await picker.texts('.notice')).toEqual([]);
    await picker.tabTo('Try again');
    await picker.press('Enter');
    await names(picker).toEqual(['cat.jpg', 'new.jpg']);
    expect(await service().namesIn('pets')).toEqual(['cat.jpg', 'new.jpg']);
  });

  it('sends the files of a drop that come while the connector cannot be reached, without a key for each', async () => {
    const picker = await service().open();
    const wanted = Array.from({ length: 9 }, (_, index) => `new-${String(index)}.txt`);
    for (const name of wanted) await writeFile(service().at(name), name);
    let refused = 0;
    service().proxy = (request, response) => {
      const isDown = refused < 9;
      if (isDown) refused += 1;
      if (isDown) request.socket.destroy();
      return isDown || response.destroyed;
    };
    await picker.drop(...wanted.map((name) => service().at(name)));
    await picker.says('9 files were uploaded.');
    expect(await service().namesIn()).toEqual(expect.arrayContaining(wanted));
  });

  it('says that a login has ended, and goes on after a new one', async () => {
    const picker = await service().open();
    isLoggedIn = false;
    await rename(picker, 'second');
    await picker.says('Please log in.');
    await names(picker).toEqual(['closed', 'pets', 'one.jpg', 'two.jpg']);
    await picker.press('Home', 'ArrowRight', 'Enter');
    await state(picker).toEqual(['Please log in.']);
    isLoggedIn = true;
    await picker.tabTo('Try again');
    await picker.press('Enter');
    await state(picker).toEqual(['This folder is empty. Drop files here, or choose Upload.']);
    await picker.press('Backspace');
    await picker.focused(() => picker.isOnEntry());
    await rename(picker, 'second');
    await picker.says('two.jpg is called second.jpg now.');
    expect(await service().namesIn()).toContain('second.jpg');
  });

  it('still says that a change has had no answer when the list is there again', async () => {
    const picker = await service().open();
    service().proxy = (request, response) => {
      if (request.url !== '/connector/folderCreate') return false;
      response.destroy();
      return true;
    };
    await picker.tool('newFolder');
    await picker.first('dialog h2');
    await writeFile(service().inPhotos('three.jpg'), await jpeg(40, 30));
    await picker.answer('summer');
    await names(picker).toContain('three.jpg');
    await picker.says('The file service cannot be reached.');
  });

  it.each(['permissions', 'folders'])(
    'says that %s had no answer where the list had one, and asks again',
    async (action) => {
      await mkdir(service().inPhotos('pets', 'cats'));
      const picker = await service().open();
      fail(action);
      const failing = service().proxy;
      const lists: (() => Promise<void>)[] = [];
      service().proxy = (request, response) => {
        if (request.url !== '/connector/files') return failing?.(request, response) ?? false;
        lists.push(() => service().pass(request, response));
        return true;
      };
      await (await picker.cell('pets')).click({ count: 2 });
      await picker.says('The server answered: 503 Service Unavailable');
      await lists[0]?.();
      await names(picker).toEqual(['cats']);
      expect(await picker.texts('.notice')).toHaveLength(1);
      service().proxy = undefined;
      await picker.click('.notice .offer');
      await picker.eventually(() => picker.folders()).toContain('cats');
      await picker.first('[data-deed="upload"]:not([hidden])');
      expect(await picker.texts('.notice')).toEqual([]);
    },
  );

  it('says nothing where a role may not ask for its rights', async () => {
    const picker = await service().open();
    service().proxy = (request, response) => {
      if (request.url !== '/connector/permissions') return false;
      const data = { code: 403, error: 'FORBIDDEN', messages: ['This is not allowed.'] };
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ success: false, data }));
      return true;
    };
    await Promise.all([
      picker.page.waitForResponse((response) => response.url().endsWith('/permissions')),
      picker.enter('pets'),
    ]);
    expect(await picker.texts('.notice')).toEqual([]);
  });

  it('leaves a folder whose answer never comes', async () => {
    await writeFile(service().inPhotos('pets', 'cat.jpg'), await jpeg(40, 30));
    const picker = await service().open();
    hold('files');
    await picker.press('ArrowRight', 'Enter');
    await state(picker).toEqual(['Loading…']);
    service().proxy = undefined;
    await picker.press('Backspace');
    await names(picker).toEqual(['closed', 'pets', 'one.jpg', 'two.jpg']);
    await picker.focused(() => picker.isOnEntry());
  });

  it.each([
    ['JSON that is cut off', '{"success":true,"data":{"sources":[{"name":"pho'],
    ['JSON of another program', '{"success":true,"data":{"code":220}}'],
    ['a page', '<!doctype html><title>Site in maintenance</title>'],
  ])('says that a listing is %s, and can be used again', async (_, body) => {
    await writeFile(service().inPhotos('pets', 'cat.jpg'), await jpeg(40, 30));
    const picker = await service().open();
    service().proxy = (request, response) => {
      if (request.url !== '/connector/files') return false;
      const type = body.startsWith('{') ? 'application/json' : 'text/html';
      response.writeHead(200, { 'content-type': type }).end(body);
      return true;
    };
    await picker.press('ArrowRight', 'Enter');
    const said = body.startsWith('{')
      ? 'The response of the server cannot be read.'
      : 'The server answered: Site in maintenance';
    await state(picker).toEqual([said]);
    service().proxy = undefined;
    await picker.tabTo('Try again');
    await picker.press('Enter');
    await names(picker).toEqual(['cat.jpg']);
    await picker.onFile('cat.jpg');
  });

  it('stops to wait for the answer to a change, and shows what has become of it', async () => {
    const picker = await service().open();
    // As in Safari 26 after a garbage collection: it forgets such a signal unless it has a listener.
    await picker.page.evaluate(() => {
      const any = AbortSignal.any.bind(AbortSignal);
      AbortSignal.any = (signals) => {
        const kept = any(signals);
        const forgotten = new AbortController();
        const add = forgotten.signal.addEventListener.bind(forgotten.signal);
        forgotten.signal.addEventListener = (...listener: Parameters<typeof add>) => {
          kept.addEventListener('abort', () => forgotten.abort(kept.reason));
          add(...listener);
        };
        return forgotten.signal;
      };
    });
    hold('fileRename');
    await rename(picker, 'second');
    await picker.eventually(() => picker.texts('.uploads .line')).toEqual(['The server is still working…']);
    await picker.press('Home');
    await picker.tabInto('.uploads');
    await picker.press('Enter');
    await picker.says('Waiting was stopped. The server may have finished the task.');
    await names(picker).toEqual(['closed', 'pets', 'one.jpg', 'two.jpg']);
    expect(await picker.all('.uploads li')).toEqual([]);
    await picker.focused(() => picker.isOnEntry());
    service().proxy = undefined;
    await rename(picker, 'second');
    await picker.says('two.jpg is called second.jpg now.');
  });

  it('removes nothing more when a person has stopped to wait', async () => {
    await Promise.all(
      Array.from({ length: 101 }, (_, index) =>
        writeFile(service().inPhotos('pets', `${String(index)}.txt`), 'text'),
      ),
    );
    const picker = await service().open();
    await picker.enter('pets');
    await picker.cell('0.txt');
    hold('fileRemove');
    await picker.press('Control+a', 'Delete');
    await picker.eventually(() => picker.texts('dialog h2')).toEqual(['Delete 101 items?']);
    await picker.press('Enter');
    await picker.eventually(() => picker.texts('.uploads .line')).toEqual(['The server is still working…']);
    await picker.click('.uploads [aria-label="Cancel"]');
    await picker.says('Waiting was stopped. The server may have finished the task.');
    expect(service().requests.filter((action) => action === 'fileRemove')).toHaveLength(1);
  });

  it('does not say that a copy is taken back which is still there', async () => {
    const picker = await service().open();
    await picker.choose('two.jpg');
    await picker.press('Control+c');
    await picker.says('two.jpg is ready to be copied.');
    await picker.enter('pets');
    await picker.press('Control+v');
    await picker.says('two.jpg was copied to pets.');
    fail('fileRemove');
    await picker.click('.notice .offer');
    await picker.says('The server answered: 503 Service Unavailable');
    expect((await picker.texts('.notice')).join()).not.toContain('Undone.');
    expect(await service().namesIn('pets')).toEqual(['two.jpg']);
  });

  it('brings back the others where one that was deleted does not come back', async () => {
    const picker = await service().open();
    await picker.choose('one.jpg', 'two.jpg');
    await picker.press('Delete');
    await picker.eventually(() => picker.texts('dialog h2')).toEqual(['Delete 2 items?']);
    await picker.press('Enter');
    await picker.says('2 items were deleted.');
    // Another person has restored it before.
    service().proxy = (request, response) => {
      if (request.url !== '/connector/trashRestore') return false;
      service().proxy = undefined;
      const data = { code: 404, error: 'NOT_FOUND', messages: ['The item was not found.'] };
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ success: false, data }));
      return true;
    };
    await picker.click('.notice .offer');
    await picker.says('The item was not found.');
    await names(picker).toEqual(['closed', 'pets', 'two.jpg']);
  });

  it('says why a search has failed, and searches again', async () => {
    const picker = await service().open();
    fail('filesSearch');
    await (await picker.first('input[type="search"]')).focus();
    // In one event: between typed letters a search could begin and end.
    await picker.page.keyboard.sendCharacter('two');
    await state(picker).toEqual(['The server answered: 503 Service Unavailable']);
    service().proxy = undefined;
    await picker.tabTo('Try again');
    await picker.press('Enter');
    await names(picker).toEqual(['two.jpg']);
    expect(await picker.texts('.count')).toEqual(['1 result']);
    // The whole result stays the whole one when it cannot be loaded again.
    fail('filesSearch');
    await picker.page.evaluate("dispatchEvent(new Event('online'))");
    await picker.says('The server answered: 503 Service Unavailable');
    service().proxy = undefined;
    await picker.choose('two.jpg');
    await picker.page.waitForNetworkIdle({ idleTime: 100 });
    expect(await picker.names()).toEqual(['two.jpg']);
  });

  it('does not ask without an end for a folder that is listed and not found', async () => {
    const picker = await service().open();
    let asked = 0;
    await picker.page.setRequestInterception(true);
    picker.page.on('request', (request) => {
      const isPets = request.url().endsWith('/folders') && /\bpets\b/u.test(request.postData() ?? '');
      asked += isPets ? 1 : 0;
      const data = { code: 404, error: 'NOT_FOUND', messages: ['The folder was not found.'] };
      const body = JSON.stringify({ success: false, data });
      if (isPets) void request.respond({ status: 404, contentType: 'application/json', body });
      else void request.continue();
    });
    await picker.choose('two.jpg');
    await picker.tool('move');
    await (await picker.first('dialog [role="treeitem"][aria-label="pets"] > .branch')).click();
    await picker.eventually(() => picker.texts('dialog .failure')).toEqual(['The folder was not found.']);
    expect(asked).toBe(2);
  });

  it('shows what has changed meanwhile when a person comes back to the page, and inserts nothing that is gone', async () => {
    const picker = await service().open();
    await picker.choose('two.jpg');
    await rm(service().inPhotos('two.jpg'));
    await writeFile(service().inPhotos('three.jpg'), await jpeg(40, 30));
    // Pages of a headless browser are never hidden.
    await picker.page.evaluate(() =>
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true })),
    );
    await names(picker).toEqual(['closed', 'pets', 'one.jpg', 'three.jpg']);
    expect(await picker.texts('.chosen')).toEqual(['']);
  });

  it('shows what has changed in another window beside this one when a person comes back', async () => {
    const picker = await service().open();
    await rm(service().inPhotos('two.jpg'));
    // Pages of a headless browser never lose the focus.
    await picker.page.evaluate(() => dispatchEvent(new Event('focus')));
    await names(picker).toEqual(['closed', 'pets', 'one.jpg']);
  });

  it('shows the entries where a person has scrolled while they are loaded again, and when that fails', async () => {
    const many = Array.from({ length: 600 }, (_, index) => `${String(index).padStart(3, '0')}.txt`);
    await Promise.all(many.map((name) => writeFile(service().at('many', name), '')));
    const picker = await service().open({ sources: ['many'] });
    for (const place of [0.25, 0.5, 0.75]) {
      const scroller = await picker.first('.scroller');
      await scroller.evaluate((list, part) => (list.scrollTop = list.scrollHeight * part), place);
      await picker.cell(many[Math.ceil(599 * place)] ?? '');
    }
    await picker.press('End');
    await picker.onFile('599.txt');
    fail('files');
    await picker.page.evaluate(() =>
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true })),
    );
    await picker.says('The server answered: 503 Service Unavailable');
    expect((await picker.names()).at(-1)).toBe('599.txt');
    expect(await picker.all('.cell.waiting')).toEqual([]);
  });

  it('keeps the focus on an entry far from where a person has scrolled when the list comes anew', async () => {
    const many = Array.from({ length: 600 }, (_, index) => `${String(index).padStart(3, '0')}.txt`);
    await Promise.all(many.map((name) => writeFile(service().at('many', name), '')));
    const picker = await service().open({ sources: ['many'] });
    for (const place of [0.25, 0.5, 0.75, 1]) {
      const scroller = await picker.first('.scroller');
      await scroller.evaluate((list, part) => (list.scrollTop = list.scrollHeight * part), place);
      await picker.cell(many[Math.ceil(599 * place)] ?? '');
    }
    await rm(service().at('many', '599.txt'));
    await picker.page.evaluate(() =>
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true })),
    );
    await picker.eventually(() => picker.texts('.count')).toEqual(['599 items']);
    await picker.onFile('000.txt');
  });

  it('leads to the nearest folder that exists when another has removed what was open', async () => {
    await mkdir(service().inPhotos('pets', 'cats', 'young'), { recursive: true });
    const picker = await service().open();
    await picker.enter('pets');
    await picker.enter('cats');
    await rm(service().inPhotos('pets'), { recursive: true });
    await (await picker.cell('young')).click({ count: 2 });
    await names(picker).toEqual(['closed', 'one.jpg', 'two.jpg']);
    await picker.says('The folder Photos / pets / cats / young does not exist any more.');
    expect(await picker.texts('.notice')).toHaveLength(1);
    expect(await picker.way()).toEqual(['Photos']);
    await picker.eventually(() => picker.folders()).toEqual(['closed']);
    await picker.focused(() => picker.isOnEntry());
  });

  it('takes no focus from a menu when the list comes late', async () => {
    const picker = await service().open();
    const held: HTTPRequest[] = [];
    await picker.page.setRequestInterception(true);
    picker.page.on('request', (request) => {
      if (request.url().endsWith('/files')) held.push(request);
      else void request.continue();
    });
    await rename(picker, 'second');
    await picker.says('two.jpg is called second.jpg now.');
    await picker.press('Home', 'ContextMenu');
    await picker.focused((text) => text === 'Open');
    await picker.eventually(() => held.length).toBeGreaterThan(0);
    for (const request of held) await request.continue();
    await names(picker).toContain('second.jpg');
    expect(await picker.focus()).toBe('Open');
    await picker.press('Enter');
    await picker.eventually(() => picker.way()).toEqual(['Photos', 'closed']);
  });

  it('shows that another has removed a file', async () => {
    const picker = await service().open();
    await rm(service().inPhotos('two.jpg'));
    await rename(picker, 'second');
    await picker.says('The file or folder was not found.');
    await names(picker).toEqual(['closed', 'pets', 'one.jpg']);
    await picker.focused(() => picker.isOnEntry());
    expect(await picker.texts('.chosen')).toEqual(['']);
  });
});
