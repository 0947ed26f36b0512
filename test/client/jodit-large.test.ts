import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { chromium, needsChromium } from './chromium.ts';
import { eventually } from './client.ts';
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
    await writeFiles(folder, { 'large.zip': large, 'small.zip': 'small' });
    joined = await joinPage({ 'box/': '' }, (root) => ({
      maxUploadFileSize: '50mb',
      extensions: ['zip'],
      tus: { directory: path.join(folder, 'parts') },
      sources: { photos: { title: 'Photos', root, serve: 'public' } },
    }));
    editor = await joined.visit({ connection: { resumable: { from: 1_000_000 } } });
  });
  afterAll(async () => {
    await joined.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    await editor.page.reload();
    await editor.page.waitForSelector('body.ready');
    await editor.openFiles();
    joined.uploads.length = 0;
  });

  test('go in parts, and on by themselves when answers are lost', async () => {
    await editor.enter('box');
    joined.loseAnswers(2);
    await editor.upload(path.join(folder, 'large.zip'), path.join(folder, 'small.zip'));
    const stored = (): Promise<string[]> => readdir(path.join(joined.photos, 'box'));
    await eventually(stored).toEqual(['large.zip', 'small.zip']);
    await eventually(() => editor.names()).toEqual(expect.arrayContaining(['large.zip', 'small.zip']));
    expect((await readFile(path.join(joined.photos, 'box/large.zip'))).equals(large)).toBe(true);
    const count = (method: string): number => joined.uploads.filter((one) => one === method).length;
    expect([count('OPTIONS'), count('POST')]).toEqual([1, 1]);
    // A browser may ask once more by itself.
    expect(count('HEAD')).toBeGreaterThan(0);
    expect(await editor.page.$$('.stowage-upload')).toHaveLength(0);
  });

  test('leave nothing when they are cancelled', async () => {
    await editor.slowDown(200_000);
    await editor.upload(path.join(folder, 'large.zip'));
    await eventually(() => joined.uploads).toContain('PATCH');
    await editor.page.locator('.stowage-upload__cancel').click();
    await eventually(() => joined.uploads).toContain('DELETE');
    await editor.slowDown(-1);
    const names = (): Promise<string[]> => readdir(path.join(folder, 'parts'), { recursive: true });
    await eventually(async () => (await names()).filter((name) => name.endsWith('bytes'))).toEqual([]);
    expect(await readdir(joined.photos)).not.toContain('large.zip');
  });

  test('leave the small ones of their form stored when they are cancelled, and say so', async () => {
    await editor.slowDown(200_000);
    await editor.upload(path.join(folder, 'large.zip'), path.join(folder, 'small.zip'));
    await eventually(() => joined.uploads).toContain('PATCH');
    await editor.page.locator('.stowage-upload__cancel').click();
    await eventually(() => editor.messages()).toContain(
      'info: The upload was cancelled. Files that had arrived by then stay stored.',
    );
    await editor.slowDown(-1);
    await eventually(() => editor.names()).toContain('small.zip');
    expect((await editor.messages()).join()).not.toContain('Nothing was stored');
    expect(await readdir(joined.photos)).toContain('small.zip');
  });
});
