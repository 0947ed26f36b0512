import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { AccessRule } from 'stowage';
import { describe, expect, it } from 'vitest';
import { quarters } from '../pictures/pictures.ts';
import { startService } from '../protocol/service.ts';
import { json, multipart, type Door } from './doors.ts';
import type { Parameters } from './requests.ts';
import { asking, startWithRules } from './stage.ts';

/** Stands in every file: whoever reads it has got through. */
const CANARY = 'the canary sings';

describe('links in answers', () => {
  /** All that looks like a link to a served file, wherever it stands in an answer. */
  const linksIn = (value: unknown): readonly string[] => {
    if (typeof value === 'string') return value.includes('/file/') && value !== '/file/files/' ? [value] : [];
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(linksIn) : [];
  };

  const open = async (rules: readonly AccessRule[], serve: string): Promise<readonly string[]> => {
    const service = await startWithRules({
      signingSecret: 'k'.repeat(40),
      imagePresets: { card: { width: 10 } },
      sources: { files: { baseurl: undefined, serve } },
    });
    const picture = Buffer.from(await quarters(90, 40).png().toBuffer());
    await service.source('files').put({ 'a.png': picture, 'b.txt': CANARY, 'f/': '' });
    const mods = { details: 'true', variants: 'true', withFolders: 'true' };
    const asked: readonly (readonly [string, Door, Parameters])[] = [
      ['files', json, { mods }],
      ['files', json, { responseType: 'froala' }],
      ['files', json, { responseType: 'suneditor' }],
      ['filesSearch', json, { query: 'a', mods: { details: 'true' } }],
      ['filesSearch', json, { query: 'b' }],
      ['fileUpload', multipart(picture), {}],
      ...['ckeditor', 'tinymce', 'editorjs', 'froala', 'suneditor', 'easymde', 'trumbowyg', 'url'].map(
        (responseType) => ['fileUpload', multipart(picture), { responseType }] as const,
      ),
      ['fileReplace', multipart(picture), { name: 'a.png' }],
      ['imageResize', json, { name: 'a.png', newname: 'r.png', box: { w: '5', h: '5' } }],
      ['imageCrop', json, { name: 'a.png', newname: 'c.png', box: { x: '0', y: '0', w: '5', h: '5' } }],
      ['imageRotate', json, { name: 'a.png', newname: 't.png', angle: '90' }],
      ['imageSave', multipart(picture), { newname: 's.png' }],
      ['generateDocx', json, { html: '<p>x</p>', name: 'made.docx' }],
    ];
    const opened: string[] = [];
    for (const [action, send, fields] of asked) {
      const answer = await send(`${service.url}/${action}`, asking(rules), fields);
      const body = (await answer.json()) as object;
      expect([action, answer.status], JSON.stringify(body)).toEqual([action, 200]);
      for (const link of linksIn(body)) {
        // With the rights of whoever asks, where those count.
        const { status, headers } = await fetch(new URL(link, service.url), { headers: asking(rules) });
        if (status === 200 && !/\/(?:file-\w+|folder)~\w+\.svg/u.test(link))
          opened.push(`${action} ${link.split('?')[0] ?? ''} ${headers.get('content-type') ?? ''}`);
        else expect([200, 403, 404]).toContain(status);
      }
    }
    return opened;
  };

  it('of signed sources all work', async () => {
    const opened = await open([], 'signed');
    const actionsWithLinks = new Set(opened.map((line) => line.split(' ')[0]));
    expect([...actionsWithLinks].sort()).toEqual([
      'fileReplace',
      'fileUpload',
      'files',
      'filesSearch',
      'generateDocx',
      'imageCrop',
      'imageResize',
      'imageRotate',
      'imageSave',
    ]);
    expect(opened.filter((line) => line.startsWith('files '))).toHaveLength(8);
    // CKEditor gets three: the picture twice, and its variant.
    expect(opened.filter((line) => line.startsWith('fileUpload '))).toHaveLength(11);
  });

  it.each(['signed', 'protected'])(
    'of %s sources open nothing that the reader may not have',
    async (serve) => {
      expect(await open([{ FILE_DOWNLOAD: false }], serve)).toEqual([]);
      const withoutVariants = await open([{ IMAGE_VARIANT: false }], serve);
      expect(withoutVariants.filter((line) => line.includes('/card/'))).toEqual([]);
      expect(withoutVariants.length).toBeGreaterThan(0);
    },
  );

  it('of protected sources open by the rules of the requester, wherever the link comes from', async () => {
    const service = await startWithRules({
      imagePresets: { card: { width: 10 } },
      sources: { files: { baseurl: undefined, serve: 'protected' } },
    });
    await service.source('files').put({ 'd/a.png': await quarters().png().toBuffer() });
    const follow = async (link: string, rules: readonly AccessRule[]): Promise<number> =>
      (await fetch(`${service.url}/file/files/d/${link}`, { headers: asking(rules) })).status;
    const links = ['a.png', '_thumbs/a.png', '_thumbs/card/a.png'];
    const opened = (rules: readonly AccessRule[]): Promise<readonly number[]> =>
      Promise.all(links.map((link) => follow(link, rules)));
    expect(await opened([])).toEqual([200, 200, 200]);
    expect(await opened([{ path: '/d', IMAGE_VARIANT: false }])).toEqual([200, 200, 403]);
    expect(await opened([{ path: '/d', FILE_DOWNLOAD: false }])).toEqual([403, 403, 403]);
    expect(await opened([{ extensions: 'png', READ: false }])).toEqual([403, 403, 403]);
  });

  it('show denied files by the icons of their kinds', async () => {
    const service = await startService({
      signingSecret: 'k'.repeat(40),
      accessControl: [{ extensions: 'png', FILE_DOWNLOAD: false }],
      sources: { files: { baseurl: undefined, serve: 'signed' } },
    });
    await service.source('files').put({ 'a.png': await quarters().png().toBuffer(), 'b.txt': 'b' });
    const { data } = await service.call('files', { 'mods[sortBy]': 'name-asc' });
    const [source] = data['sources'] as { files: readonly Record<string, unknown>[] }[];
    const [denied, allowed] = source?.files ?? [];
    expect(denied).toMatchObject({
      file: 'a.png',
      thumb: expect.stringContaining('/_thumbs/file-png~') as string,
    });
    expect(denied?.['fileIsAbsolute']).toBeUndefined();
    const icon = await fetch(new URL(String(denied?.['thumb']), service.url));
    expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    expect((await fetch(new URL(String(allowed?.['file']), service.url))).status).toBe(200);
  });
});

it('thumbnails of the command line open only for roles that may read their pictures', async () => {
  const service = await startWithRules({ sources: { files: { baseurl: undefined, serve: 'protected' } } });
  const picture = await quarters(600, 300).png().toBuffer();
  await service.source('files').put({ 'd/a.png': picture, 'd/b.txt': CANARY });
  const { root } = service.source('files');
  const config = join(service.outside.root, 'stowage.json');
  await writeFile(
    config,
    JSON.stringify({ sources: { files: { title: 'Files', root, serve: 'protected' } } }),
  );
  const program = join(import.meta.dirname, '../../packages/stowage/dist/cli.js');
  const before = await service.source('files').paths();
  const run = (...words: readonly string[]) =>
    promisify(execFile)(process.execPath, [program, ...words, '--config', config]);
  await run('thumbs', 'files');
  expect(await service.source('files').paths()).toEqual(
    [...before, 'd/_thumbs/', 'd/_thumbs/a.png'].toSorted(),
  );
  expect(await service.source('files').bytes('d/a.png')).toEqual(picture);
  const follow = async (rules: readonly AccessRule[]): Promise<number> =>
    (await fetch(`${service.url}/file/files/d/_thumbs/a.png`, { headers: asking(rules) })).status;
  expect(await follow([])).toBe(200);
  expect(await follow([{ path: '/d/a.png', FILE_DOWNLOAD: false }])).toBe(403);
  expect(await follow([{ path: '/d', READ: false }])).toBe(403);
  // What it tries leaves nothing.
  await run('doctor').catch(() => undefined);
  expect(await service.source('files').paths()).toHaveLength(before.length + 2);
});
