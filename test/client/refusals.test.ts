import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import { eventually, useClient } from './client.ts';
import { jpeg, png, writeFiles } from './pictures.ts';

const photos = async () => ({
  'open.jpg': await jpeg(),
  'archive/old.jpg': await jpeg(80, 80),
  'archive/older/': '',
});

describe.skipIf(chromium === undefined)(`Refusals seen with the real client${needsChromium}`, () => {
  const client = useClient({ stock: true, photos, config: { maxUploadFileSize: '200kb' } });
  const inPhotos = (...parts: string[]): string => path.join(client().dataDir, 'photos', ...parts);
  const complaint = async (): Promise<string> => {
    const { editor } = client();
    await eventually(() => editor.messages()).toContainEqual(expect.stringMatching(/^error: /u));
    return (await editor.messages()).join('\n');
  };
  /** Sentences of the connector, not the bare phrases of HTTP, and nothing of the machine. */
  const expectReadable = (text: string): void => {
    expect(text).toMatch(/^error: .*\w+ \w+.*\.$/u);
    expect(text).not.toMatch(/^error: (Error: )?(Forbidden|Bad Request|Connection error|Not Found)$/u);
    expect(text).not.toContain(client().dataDir);
  };

  test('offers no changes in a closed folder, and says why one is refused', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.enter('archive');
    await eventually(() => editor.names()).toEqual(['old.jpg']);
    await (await editor.tile('old.jpg')).click();
    for (const tool of ['upload input', 'remove', 'edit'])
      await eventually(async () => [tool, await editor.canUse(tool)]).toEqual([tool, false]);
    await eventually(() => editor.folders()).toEqual(['..', 'older']);
    expect(await editor.page.$$('.jodit-file-browser-tree button')).toHaveLength(0);
    // The client offers nothing that is denied; a page that was opened before the rule came still asks.
    await editor.page.evaluate(() => {
      const { Jodit } = window as unknown as {
        Jodit: { instances: { editor: { filebrowser: FileBrowser } } };
      };
      interface FileBrowser {
        dataProvider: { fileRemove(path: string, name: string, source: string): Promise<unknown> };
        status(message: unknown): void;
      }
      const browser = Jodit.instances.editor.filebrowser;
      browser.dataProvider.fileRemove('archive', 'old.jpg', 'photos').catch((error) => {
        browser.status(error);
      });
    });
    expectReadable(await complaint());
    expect((await stat(inPhotos('archive', 'old.jpg'))).size).toBeGreaterThan(0);
  });

  test('says why nothing can be moved into a closed folder', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.drag(await editor.tile('open.jpg'), await editor.folder('archive'));
    expectReadable(await complaint());
    expect(await readdir(inPhotos())).toContain('open.jpg');
    expect(await readdir(inPhotos('archive'))).not.toContain('open.jpg');
  });

  test('says that a closed folder cannot be removed', async () => {
    const { editor } = client();
    await editor.openFiles();
    await editor.markOf('archive', 'remove');
    await editor.agree();
    expectReadable(await complaint());
    expect(await readdir(inPhotos('archive'))).toContain('old.jpg');
  });

  test('says that a type of file is not allowed, and stores none of the files of that form', async () => {
    const { editor, desktop } = client();
    await writeFiles(desktop, {
      'page.html': '<script>alert(1)</script>',
      'harmless.png': await png(20, 20),
    });
    await editor.openFiles();
    await editor.upload(path.join(desktop, 'harmless.png'), path.join(desktop, 'page.html'));
    const text = await complaint();
    expectReadable(text);
    expect(text).toMatch(/not allowed/iu);
    expect(await readdir(inPhotos())).not.toEqual(expect.arrayContaining(['harmless.png']));
    expect(await readdir(inPhotos())).not.toEqual(expect.arrayContaining(['page.html']));
  });

  test('says that a file is too large', async () => {
    const { editor, desktop } = client();
    await writeFiles(desktop, { 'noise.bmp': Buffer.alloc(300 * 1024, 'BM') });
    await editor.openFiles();
    await editor.upload(path.join(desktop, 'noise.bmp'));
    const text = await complaint();
    expectReadable(text);
    expect(text).toContain('The file "noise.bmp" is too large: at most 200KB are allowed.');
  });

  test('says in the text why a dropped file was refused', async () => {
    const { editor, desktop } = client();
    await writeFiles(desktop, { 'program.exe': 'MZ' });
    await editor.drop('.jodit-wysiwyg h2', path.join(desktop, 'program.exe'));
    const text = await complaint();
    expectReadable(text);
    expect(text).toMatch(/not allowed/iu);
  });

  test('says that a name is taken', async () => {
    const { editor } = client();
    await writeFiles(inPhotos(), { 'second.jpg': await jpeg(30, 30) });
    await editor.openFiles();
    await editor.menu('open.jpg', 'Rename');
    await editor.answer('second');
    const text = await complaint();
    expectReadable(text);
    expect(text).toMatch(/exists/iu);
  });
});
