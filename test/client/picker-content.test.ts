import { readFile, rm, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import type { FileChooser } from 'puppeteer-core';
import sharp from 'sharp';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import type { PickerPage } from './picker-page.ts';
import { usePickerService } from './picker-service.ts';
import { jpeg } from './pictures.ts';

it('the picker with the texts of one language has at most 36 KB', async () => {
  const script = await readFile('packages/browser/dist/picker.global.js');
  expect(gzipSync(script, { level: 9 }).length).toBeLessThanOrEqual(36 * 1024);
});

it('a range of entries is chosen without selecting text in Safari, which has only the prefixed property', async () => {
  const script = await readFile('packages/browser/dist/picker.global.js', 'utf8');
  expect(script).toContain('-webkit-user-select:none');
});

describe.skipIf(chromium === undefined)(
  `what the picker does to the content of files${needsChromium}`,
  () => {
    // Before the connector is made: it keeps the clock that it finds.
    const time = Date.now.bind(Date);
    const clock = vi.spyOn(Date, 'now');
    const uses = [
      { title: 'The harbour <b>in winter</b>', url: '/pages/harbour' },
      { title: 'A trap', url: 'javascript:alert(1)' },
    ];
    const findUses = ({ path }: { readonly path: string }) => (path.endsWith('shown.jpg') ? uses : []);
    const service = usePickerService({}, { findUses });
    afterAll(() => clock.mockRestore());

    /** Presses "Replace content" and gives the browser a file. */
    const replace = async (picker: PickerPage, file: string): Promise<FileChooser> => {
      const [chooser] = await Promise.all([picker.page.waitForFileChooser(), picker.tool('replace')]);
      await chooser.accept([file]);
      return chooser;
    };
    const widthOf = async (name: string): Promise<number> =>
      (await sharp(await readFile(service().inPhotos(name))).metadata()).width;

    it('replaces the content of a file under its link, and takes that back', async () => {
      await writeFile(service().at('new.jpg'), await jpeg(123, 45));
      const picker = await service().open();
      await picker.choose('two.jpg');
      const chooser = await replace(picker, service().at('new.jpg'));
      expect(chooser.isMultiple()).toBe(false);
      await picker.says('The content of two.jpg was replaced.');
      expect(await service().namesIn()).toEqual(['closed', 'one.jpg', 'pets', 'two.jpg']);
      expect(await widthOf('two.jpg')).toBe(123);
      await picker.eventually(() => picker.texts('.cell .fact')).toContain('123 × 45');
      await picker.undo();
      await picker.eventually(() => picker.texts('.cell .fact')).toContain('320 × 240');
      expect(await widthOf('two.jpg')).toBe(320);
      // The button for uploads takes several files again.
      const [uploads] = await Promise.all([picker.page.waitForFileChooser(), picker.tool('upload')]);
      expect(uploads.isMultiple()).toBe(true);
      await uploads.cancel();
    });

    it('names the pages that show a file before it is removed, renamed, moved or replaced', async () => {
      await writeFile(service().inPhotos('shown.jpg'), await jpeg(50, 40));
      await writeFile(service().at('new.jpg'), await jpeg(123, 45));
      const picker = await service().open();
      const isNamed = async (title: string): Promise<void> => {
        await picker.eventually(() => picker.texts('dialog h2')).toEqual([title]);
        await picker.eventually(() => picker.texts('dialog .note p')).toEqual(['Shown on 2 pages:']);
        expect(await picker.texts('dialog .note li')).toEqual(uses.map((use) => use.title));
        // Links of scripts are text.
        const links = await picker.page.$$eval('>>> dialog .note a', (all) => all.map(({ href }) => href));
        expect(links).toEqual([`${service().url}/pages/harbour`]);
      };
      const close = async (): Promise<void> => {
        await picker.press('Escape');
        await picker.eventually(() => picker.all('dialog.dialog')).toEqual([]);
      };
      await picker.choose('shown.jpg');
      await picker.tool('remove');
      await isNamed('Delete shown.jpg?');
      await close();
      await picker.tool('rename');
      await isNamed('Rename: shown.jpg');
      await close();
      await picker.tool('move');
      await isNamed('Move shown.jpg to');
      await close();
      await replace(picker, service().at('new.jpg'));
      await isNamed('Replace content… shown.jpg');
      await close();
      expect(await widthOf('shown.jpg')).toBe(50);

      // What nothing shows is not asked about. A cut has no window of its own, so the pages are named when it is pasted.
      await picker.tabTo('shown.jpg');
      await picker.press('Control+x');
      await picker.says('shown.jpg is ready to be moved.');
      await picker.enter('pets');
      await picker.press('Control+v');
      await isNamed('Move shown.jpg to');
      expect(await service().namesIn('pets')).toEqual([]);
      await picker.press('Enter');
      await picker.says('shown.jpg was moved to pets.');
      expect(await service().namesIn('pets')).toEqual(['shown.jpg']);
      await picker.choose('shown.jpg');
      await replace(picker, service().at('new.jpg'));
      await isNamed('Replace content… shown.jpg');
      await picker.press('Enter');
      await picker.says('The content of shown.jpg was replaced.');
      expect((await sharp(await readFile(service().inPhotos('pets', 'shown.jpg'))).metadata()).width).toBe(
        123,
      );
    });

    it('names the pages that show a file though the others are not there any more', async () => {
      const gone = ['a.jpg', 'b.jpg', 'c.jpg', 'd.jpg'];
      for (const name of [...gone, 'shown.jpg'])
        await writeFile(service().inPhotos(name), await jpeg(50, 40));
      const picker = await service().open();
      await picker.choose(...gone, 'shown.jpg');
      for (const name of gone) await rm(service().inPhotos(name));
      await picker.tool('remove');
      await picker.eventually(() => picker.texts('dialog .note p')).toEqual(['Shown on 2 pages:']);
    });

    it('stores pasted pictures under names of their own, and names that say something as they are', async () => {
      const picker = await service().open();
      const bytes = (await jpeg(20, 10)).toString('base64');
      // Firefox reports a paste outside of text fields at the body.
      for (const [name, type, target] of [
        ['image.png', 'image/png', '.grid'],
        ['boat.jpg', 'image/jpeg', 'body'],
      ] as const)
        await (
          await picker.first(target)
        ).evaluate(
          (list, content, file, mime) => {
            const clipboardData = new DataTransfer();
            const all = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
            clipboardData.items.add(new File([all], file, { type: mime }));
            const paste = { clipboardData, bubbles: true, cancelable: true, composed: true };
            list.dispatchEvent(new ClipboardEvent('paste', paste));
          },
          ...([bytes, name, type] as const),
        );
      const pasted = /^image-\d{4}-\d\d-\d\d-\d{6}\.(?:png|jpg)$/u;
      await picker
        .eventually(() => service().namesIn())
        .toEqual(['boat.jpg', 'closed', expect.stringMatching(pasted), 'one.jpg', 'pets', 'two.jpg']);
    });

    it('leaves a text to the field that it is pasted into, where a picture of it lies beside', async () => {
      const picker = await service().open();
      await picker.first('[data-deed="upload"]:not([hidden])');
      const field = await picker.first('input[type="search"]');
      const isTaken = await field.evaluate((target) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData('text/plain', 'boats');
        clipboardData.items.add(new File(['cells'], 'image.png', { type: 'image/png' }));
        const paste = { clipboardData, bubbles: true, cancelable: true, composed: true };
        return !target.dispatchEvent(new ClipboardEvent('paste', paste));
      });
      expect(isTaken).toBe(false);
      expect(await picker.all('.uploads li')).toEqual([]);
    });

    it('keeps the old content when the new one is of another kind, and can be given another', async () => {
      await writeFile(service().at('letter.txt'), 'Dear reader');
      const picker = await service().open();
      await picker.choose('two.jpg');
      await replace(picker, service().at('letter.txt'));
      await picker
        .eventually(() => picker.texts('.uploads .failure .line'))
        .toEqual([expect.stringContaining('letter.txt was not uploaded.')]);
      await picker.click('.uploads [aria-label="Close"]');
      await picker.eventually(() => picker.all('.uploads li')).toEqual([]);
      expect(await widthOf('two.jpg')).toBe(320);
      expect(await picker.texts('.notice.success')).toEqual([]);
    });

    it('inserts a signed link that lives as long as one that is made now', async () => {
      await writeFile(service().at('papers', 'plan.jpg'), await jpeg(40, 30));
      const picker = await service().open({ sources: ['papers'] });
      const later = time() + 3_600_000;
      clock.mockImplementation(() => time() + 3_600_000);
      await picker.press('Enter');
      await picker.eventually(() => picker.page.evaluate('window.picked')).toBeDefined();
      const [{ url }] = (await picker.page.evaluate('window.picked')) as [{ url: string }];
      const expires = Number(new URL(url, service().url).searchParams.get('expires')) * 1000;
      // Links are good for an hour, and made anew twenty times in it.
      expect(expires).toBeGreaterThan(later + 0.9 * 3_600_000);
      expect((await fetch(new URL(url, service().url))).status).toBe(200);
    });

    it('writes words about a picture and what matters in it, and inserts its alternative text', async () => {
      const picker = await service().open();
      await picker.choose('two.jpg');
      await picker.tool('details');
      const write = async (label: string, text: string): Promise<void> => {
        await picker.tabTo(label);
        await picker.page.keyboard.type(text);
      };
      await write('What it shows', 'Two boats <b>at sea</b>');
      await write('Caption', 'Off the coast');
      await write('Tags', 'boats, sea');
      const stage = await picker.first('.stage');
      const { width = 0, height = 0 } = (await stage.boundingBox()) ?? {};
      await stage.click({ offset: { x: width / 4, y: height / 2 } });
      const numbers = async (): Promise<number[]> => {
        const fields = await picker.all('fieldset input');
        return Promise.all(
          fields.map((field) => field.evaluate((input) => Number((input as HTMLInputElement).value))),
        );
      };
      const [across = 0] = await numbers();
      expect(Math.abs(across - 25)).toBeLessThan(1);
      await (await picker.all('fieldset input'))[1]?.click({ count: 3 });
      await picker.page.keyboard.type('60');
      await picker.press('Enter');
      await picker.says('The details of two.jpg were saved.');
      await picker.eventually(() => picker.all('dialog.dialog')).toEqual([]);

      // They are shown, and nothing is sent when nothing is changed.
      await picker.tool('details');
      await picker.first('dialog textarea');
      const texts = (await picker.all('dialog .field :is(input, textarea)')).map((field) =>
        field.evaluate((input) => (input as HTMLInputElement).value),
      );
      const expected = ['Two boats <b>at sea</b>', '', 'Off the coast', '', 'boats, sea'];
      expect(await Promise.all(texts)).toEqual(expected);
      expect(await numbers()).toEqual([across, 60]);
      service().requests = [];
      await picker.click('dialog [type="submit"]');
      await picker.eventually(() => picker.all('dialog.dialog')).toEqual([]);
      expect(service().requests).toEqual([]);

      await picker.click('.foot .primary');
      const about = { caption: 'Off the coast', tags: ['boats', 'sea'], focalPoint: { y: 0.6 } };
      await picker
        .eventually(() => picker.page.evaluate('window.picked'))
        .toMatchObject([{ alt: 'Two boats <b>at sea</b>', about }]);
    });

    it('keeps a focal point that is finer than its fields show', async () => {
      const words = new URLSearchParams({ source: 'photos', name: 'two.jpg' });
      for (const [key, value] of [
        ['x', '0.12345'],
        ['y', '0.333'],
      ] as const)
        words.set(`focalPoint[${key}]`, value);
      await fetch(new URL('/connector/fileDescribe', service().url), { method: 'POST', body: words });
      const picker = await service().open();
      await picker.choose('two.jpg');
      await picker.tool('details');
      const across = await picker.first('dialog fieldset input');
      expect(await across.evaluate((input) => (input as HTMLInputElement).value)).toBe('12.3');
      service().requests = [];
      await picker.click('dialog.dialog [type="submit"]');
      await picker.eventually(() => picker.all('dialog.dialog')).toEqual([]);
      expect(service().requests).toEqual([]);
    });

    it('empties words, and takes that back', async () => {
      const picker = await service().open();
      await picker.choose('two.jpg');
      const about = async (): Promise<unknown> => {
        const query = 'source=photos&mods[details]=true&mods[filterWord]=two';
        const answer = await fetch(new URL(`/connector/files?${query}`, service().url));
        const { data } = (await answer.json()) as { data: { sources: { files: { about?: object }[] }[] } };
        return data.sources[0]?.files[0]?.about ?? {};
      };
      const write = async (text: string): Promise<void> => {
        await picker.tool('details');
        await picker.first('dialog fieldset');
        for (const field of await picker.all('dialog :is(.field, fieldset) :is(input, textarea)')) {
          await field.click({ count: 3 });
          await (text === '' ? picker.press('Backspace') : picker.page.keyboard.type(text));
        }
        await picker.click('dialog [type="submit"]');
        await picker.says('The details of two.jpg were saved.');
        await picker.eventually(() => picker.all('dialog.dialog')).toEqual([]);
      };
      const [text, focalPoint] = ['20', { x: 0.2, y: 0.2 }];
      const all = { alt: text, title: text, caption: text, credit: text, tags: [text], focalPoint };
      await write('20');
      expect(await about()).toEqual(all);
      await picker.click('.notice [aria-label="Close"]');
      await picker.eventually(() => picker.texts('.notice')).toEqual([]);
      await write('');
      expect(await about()).toEqual({});
      await picker.click('.notice .offer');
      await picker.says('Undone.');
      expect(await about()).toEqual(all);
    });
  },
);
