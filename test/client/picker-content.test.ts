import { readFile, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import type { FileChooser } from 'puppeteer-core';
import sharp from 'sharp';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import type { PickerPage } from './picker-page.ts';
import { usePickerService } from './picker-service.ts';
import { jpeg } from './pictures.ts';

it('the picker with the texts of one language has at most 35 KB', async () => {
  const script = await readFile('packages/browser/dist/picker.global.js');
  expect(gzipSync(script, { level: 9 }).length).toBeLessThanOrEqual(35 * 1024);
});

describe.skipIf(chromium === undefined)(
  `what the picker does to the content of files${needsChromium}`,
  () => {
    // Before the connector is made: it keeps the clock that it finds.
    const time = Date.now.bind(Date);
    const clock = vi.spyOn(Date, 'now');
    const service = usePickerService();
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
  },
);
