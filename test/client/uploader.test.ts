import { mkdir, stat } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import { usePickerService } from './picker-service.ts';

describe.skipIf(chromium === undefined)(`createUploader on a page${needsChromium}`, () => {
  const service = usePickerService({
    accessControl: [
      { role: '*', path: '/closed', CHANGE: false },
      { role: '*', path: '/inbox', FILES: false },
    ],
  });

  /** Uploads with these options, as expressions of the page. Returns the name of the file, or what a person reads. */
  const upload = async (file: string, options: string): Promise<unknown> => {
    const { page } = await service().open();
    return page.evaluate(`import('/editors.js').then(async ({ createUploader }) => {
      const upload = createUploader({ url: '/connector', ${options} });
      return upload(${file}).then(({ name }) => name, ({ message }) => message);
    })`);
  };

  it('goes on with a large file when the page could not fetch its headers for a moment', async () => {
    // The third request sends the bytes.
    const headers = `headers: async () => {
      window.asked = (window.asked ?? 0) + 1;
      if (window.asked === 3) await fetch('http://127.0.0.1:1/token');
      return {};
    }`;
    const bytes = 9 * 2 ** 20;
    expect(await upload(`new File([new Uint8Array(${String(bytes)})], 'big.txt')`, headers)).toBe('big.txt');
    expect((await stat(service().inPhotos('big.txt'))).size).toBe(bytes);
  });

  it('says at once that a file was removed from the disk since it was chosen', async () => {
    const removed = `await navigator.storage.getDirectory().then(async (folder) => {
      const handle = await folder.getFileHandle('letter.txt', { create: true });
      const writable = await handle.createWritable();
      await writable.write('Dear reader');
      await writable.close();
      const file = await handle.getFile();
      await folder.removeEntry('letter.txt');
      return file;
    })`;
    expect(await upload(removed, '')).toBe(
      'The file cannot be read. It may have been changed or removed since it was chosen.',
    );
    expect(service().requests.filter((action) => action.startsWith('tus'))).toEqual([]);
  });

  it('stores a file where the connection was cut, also in a folder that may not be listed', async () => {
    await mkdir(service().inPhotos('inbox'));
    service().proxy = (request, response) => {
      if (request.url !== '/connector/fileUpload') return false;
      response.destroy();
      return true;
    };
    expect(await upload("new File(['Dear reader'], 'letter.txt')", "path: 'inbox'")).toBe('letter.txt');
    expect(await service().namesIn('inbox')).toEqual(['letter.txt']);
  });

  it('says in the language of the page why the connector refuses a file', async () => {
    const inGerman = "language: undefined, path: (document.documentElement.lang = 'de', 'closed')";
    expect(await upload("new File(['Dear reader'], 'letter.txt')", inGerman)).toBe('Zugriff verweigert.');
  });
});
