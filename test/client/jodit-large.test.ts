import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import { eventually, inShadow } from './client.ts';
import type { EditorPage } from './editor-page.ts';
import { type JoinedPage, joinPage } from './joined-page.ts';
import { writeFiles } from './pictures.ts';

describe.skipIf(chromium === undefined)(`Large files in Jodit${needsChromium}`, () => {
  let folder: string;
  let joined: JoinedPage;
  let editor: EditorPage;
  const large = randomBytes(18_000_000);

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'stowage-large-'));
    await writeFiles(folder, { 'large.zip': large, 'small.zip': 'small', 'other.zip': 'other' });
    joined = await joinPage({ 'box/': '' }, (root) => ({
      maxUploadFileSize: '50mb',
      extensions: ['zip'],
      tus: { directory: path.join(folder, 'parts') },
      sources: { photos: { title: 'Photos', root, serve: 'public' } },
    }));
    editor = await joined.visit();
  });
  afterAll(async () => {
    await joined.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    await editor.page.reload();
    await editor.page.waitForSelector('body.ready');
    joined.uploads.length = 0;
  });

  const drop = (...names: string[]): Promise<void> =>
    editor.drop('.jodit-wysiwyg', ...names.map((name) => path.join(folder, name)));

  test('go in parts, and on by themselves when answers are lost', async () => {
    joined.loseAnswers(2);
    await drop('large.zip', 'small.zip');
    const stored = async (): Promise<string[]> =>
      (await readdir(joined.photos)).filter((name) => name.endsWith('.zip')).sort();
    await eventually(stored).toEqual(['large.zip', 'small.zip']);
    await eventually(() => editor.html()).toMatch(/large\.zip.*small\.zip/su);
    expect((await readFile(path.join(joined.photos, 'large.zip'))).equals(large)).toBe(true);
    await rm(path.join(joined.photos, 'large.zip'));
    await rm(path.join(joined.photos, 'small.zip'));
    const count = (method: string): number => joined.uploads.filter((one) => one === method).length;
    expect(count('POST')).toBe(1);
    // A browser may ask once more by itself.
    expect(count('HEAD')).toBeGreaterThan(0);
    expect(await editor.page.$$('>>> .uploads li')).toHaveLength(0);
  });

  test('belong to an editor: its window of files closes with it, and puts nothing into another', async () => {
    const picker = await editor.browse();
    const broken: unknown[] = [];
    editor.page.on('pageerror', (error) => broken.push(error));
    await editor.page.evaluate('editor.destruct()');
    await eventually(() => picker.all('.picker')).toEqual([]);
    await editor.page.evaluate("fetch('/connector/ping')");
    expect(broken).toEqual([]);
  });

  test('let small ones come into the text beside one that fails, and that one when it is tried again', async () => {
    let isDown = true;
    joined.putInFront(({ action, body }, response) => {
      if (!isDown || action !== 'fileUpload' || !body.includes('small.zip')) return false;
      isDown = false;
      response.writeHead(502, { 'content-type': 'text/html' }).end('<title>Bad gateway</title>');
      return true;
    });
    await drop('small.zip', 'other.zip');
    await eventually(() => editor.html()).toContain('other.zip');
    expect(await editor.html()).not.toContain('small.zip');
    await (await inShadow(editor.page, '.uploads .failure button')).evaluate((button) => button.click());
    await eventually(() => editor.html()).toMatch(/<a href="[^"]*\/small\.zip">small\.zip<\/a>/u);
    joined.putInFront();
    for (const name of ['small.zip', 'other.zip']) await rm(path.join(joined.photos, name));
  });

  test('leave nothing when they are cancelled', async () => {
    await editor.slowDown(200_000);
    await drop('large.zip');
    await eventually(() => joined.uploads).toContain('PATCH');
    await (await inShadow(editor.page, '.uploads li:last-child button')).evaluate((button) => button.click());
    await eventually(() => joined.uploads).toContain('DELETE');
    await editor.slowDown(-1);
    const names = (): Promise<string[]> => readdir(path.join(folder, 'parts'), { recursive: true });
    await eventually(async () => (await names()).filter((name) => name.endsWith('bytes'))).toEqual([]);
    expect(await readdir(joined.photos)).not.toContain('large.zip');
  });

  test('leave the small ones of their form stored when they are cancelled, and say so', async () => {
    await editor.slowDown(200_000);
    await drop('small.zip', 'large.zip');
    await eventually(() => joined.uploads).toContain('PATCH');
    await (await inShadow(editor.page, '.uploads li:last-child button')).evaluate((button) => button.click());
    await eventually(() => editor.messages()).toContain(
      'info: The upload of large.zip was cancelled. Nothing of it was stored.',
    );
    await editor.slowDown(-1);
    await eventually(() => editor.html()).toContain('small.zip');
    expect(await readdir(joined.photos)).toContain('small.zip');
  });
});
