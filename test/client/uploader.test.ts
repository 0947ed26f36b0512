import { mkdir, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import { usePickerService } from './picker-service.ts';

/** A clock for the page: `pass` lets the time limits of all requests pass. */
const clock = `
  const { setTimeout: set, clearTimeout: clear } = window;
  const limits = (window.limits = new Map());
  window.setTimeout = (run, milliseconds) => {
    const timer = set(run, milliseconds);
    if (milliseconds === 90_000) limits.set(timer, run);
    return timer;
  };
  window.clearTimeout = (timer) => {
    limits.delete(timer);
    clear(timer);
  };
  window.pass = () => limits.forEach((run) => run());
`;

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

  it.each([
    [
      'Safari, which sends a removed file empty',
      "Blob.prototype.arrayBuffer = () => Promise.reject(new Error('NotFoundError'))",
    ],
    [
      'Firefox, which sends the remaining parts from a changed file',
      "window.asked === 4 && (window.content = new Blob(['b'.repeat(bytes)]))",
    ],
  ])('stores nothing in place of a chosen file in %s', async (_, change) => {
    const bytes = 9 * 2 ** 20;
    const file = `await (() => {
      const bytes = ${String(bytes)};
      window.content = new Blob(['a'.repeat(bytes)]);
      const file = new File([content], 'big.txt');
      file.slice = (...range) => content.slice(...range);
      sessionStorage.setItem('stowage-part-bytes', bytes / 2);
      window.change = () => ${change};
      return file;
    })()`;
    // The third request sends the first part.
    const headers = `headers: () => {
      window.asked = (window.asked ?? 0) + 1;
      window.change?.();
      return {};
    }`;
    expect(await upload(file, headers)).toBe(
      'The file cannot be read. It may have been changed or removed since it was chosen.',
    );
    expect(await service().namesIn()).not.toContain('big.txt');
  });

  it.each([
    [
      'that the storage is full',
      500,
      {
        success: false,
        data: { code: 500, error: 'STORAGE_FULL', messages: ['The storage has no room left.'] },
      },
      'The storage has no room left.',
    ],
    ['that no byte of a part arrives', 204, undefined, 'The response of the server cannot be read.'],
  ])('says at once %s, instead of sending it again and again', async (_, status, answer, message) => {
    let parts = 0;
    service().proxy = (request, response) => {
      if (request.method !== 'PATCH') return false;
      parts += 1;
      request.resume().on('end', () => {
        response.writeHead(status, { 'upload-offset': '0', 'content-type': 'application/json' });
        response.end(answer && JSON.stringify(answer));
      });
      return true;
    };
    const bytes = String(9 * 2 ** 20);
    expect(await upload(`new File([new Uint8Array(${bytes})], 'big.txt')`, '')).toBe(message);
    expect(parts).toBe(1);
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

  it.each([
    ['a part', 9 * 2 ** 20, ({ method }: IncomingMessage) => method === 'PATCH'],
    ['a form', 9, ({ url }: IncomingMessage) => url === '/connector/fileUpload'],
  ])('sends a file again where %s hangs without an error', async (_, bytes, isHanging) => {
    const { page } = await service().open();
    await page.evaluate(clock);
    const hanging = new Promise<void>((resolve) => {
      service().proxy = (request) => {
        if (!isHanging(request)) return false;
        service().proxy = undefined;
        resolve();
        return true;
      };
    });
    const uploaded = page.evaluate(`import('/editors.js').then(({ createUploader }) =>
      createUploader({ url: '/connector' })(new File([new Uint8Array(${String(bytes)})], 'notes.txt')))`);
    await hanging;
    await page.waitForFunction('limits.size > 0');
    await page.evaluate('pass()');
    expect(await uploaded).toMatchObject({ name: 'notes.txt', bytes });
    expect((await stat(service().inPhotos('notes.txt'))).size).toBe(bytes);
    expect(await page.evaluate('limits.size')).toBe(0);
  });

  it('sends a file for as long as that takes where a service worker hides its progress', async () => {
    const { page } = await service().open();
    await page.evaluate(`navigator.serviceWorker.register('/worker.js')
      .then(() => navigator.serviceWorker.ready)`);
    await page.reload();
    await page.evaluate(clock);
    let forms = 0;
    let goOn: (() => void) | undefined;
    const arrived = new Promise<void>((resolve) => {
      service().proxy = (request, response) => {
        if (request.url !== '/connector/fileUpload') return false;
        forms += 1;
        goOn = () => void service().pass(request, response);
        resolve();
        return true;
      };
    });
    const uploaded = page.evaluate(`import('/editors.js').then(({ createUploader }) =>
      createUploader({ url: '/connector' })(new File(['Dear reader'], 'letter.txt')))`);
    await arrived;
    await page.evaluate('pass()');
    goOn?.();
    expect(await uploaded).toMatchObject({ name: 'letter.txt' });
    expect(forms).toBe(1);
  });

  it('gives links that lead to the connector from a page whose base is elsewhere', async () => {
    const { page } = await service().open();
    const link = await page.evaluate(`import('/editors.js').then(async ({ createUploader }) => {
      const upload = createUploader({ url: new URL('/connector', location.origin) });
      document.head.append(Object.assign(document.createElement('base'), { href: 'http://127.0.0.1:1/' }));
      const { url } = await upload(new File(['Dear reader'], 'letter.txt'));
      return new URL(url, document.baseURI).href;
    })`);
    expect(link).toBe(`${service().url}/connector/file/photos/letter.txt`);
  });

  it('closes the window of files with its editor, and inserts nothing more', async () => {
    const { page } = await service().open();
    const inserted = page.evaluate(`import('/editors.js').then(async ({ connectFiles }) => {
      const inserted = [];
      const ending = new AbortController();
      const options = { url: '/connector', signal: ending.signal, onError: (message) => inserted.push(message) };
      const { browse, store } = connectFiles(options, (files) => inserted.push(...files));
      const browsing = browse();
      ending.abort();
      await browsing;
      await store([new File(['Dear reader'], 'letter.txt')]);
      return inserted;
    })`);
    expect(await inserted).toEqual([]);
    expect(await service().namesIn()).not.toContain('letter.txt');
  });

  it('says in the language of the page why the connector refuses a file', async () => {
    const inGerman = "language: undefined, path: (document.documentElement.lang = 'de', 'closed')";
    expect(await upload("new File(['Dear reader'], 'letter.txt')", inGerman)).toBe('Zugriff verweigert.');
  });
});

describe.skipIf(chromium === undefined)(`createUploader without uploads in parts${needsChromium}`, () => {
  const service = usePickerService({ tus: { enabled: false } });

  it('gives the service any time to store a form whose bytes have arrived', async () => {
    const { page } = await service().open();
    await page.evaluate(clock);
    const sent = new Promise<ServerResponse>((resolve) => {
      service().proxy = (request, response) => {
        if (request.url !== '/connector/fileUpload') return false;
        request.resume().on('end', () => resolve(response));
        return true;
      };
    });
    const uploaded = page.evaluate(`import('/editors.js').then(({ createUploader }) =>
      createUploader({ url: '/connector' })(new File(['Dear reader'], 'letter.txt')).catch(({ message }) => message))`);
    const response = await sent;
    await expect.poll(() => page.evaluate('limits.size')).toBe(0);
    const data = { code: 500, error: 'STORAGE_FULL', messages: ['The storage has no room left.'] };
    response.writeHead(500, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ success: false, data }));
    expect(await uploaded).toBe('The storage has no room left.');
  });
});
