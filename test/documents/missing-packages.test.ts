import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installBare, type BareInstall } from '../package/bare-install.ts';

/** Asks for both documents, a listing and the like, sends a HEIC picture with a text, and tells statuses and messages. */
const SCRIPT = `
  import { readFileSync } from 'node:fs';
  import { createApp } from 'stowage';
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const source = { title: 'files', baseurl: 'http://files.example/', storageAdapter: 'memory', uploadImages: {} };
  const app = createApp({ sources: { files: source } }, {}, { logger: quiet });
  const answers = {};
  for (const action of ['generatePdf', 'generateDocx', 'files', 'folderCreate?name=a', 'permissions']) {
    const join = action.includes('?') ? '&' : '?';
    const response = await app.fetch(new Request('http://x/' + action + join + 'html=text'));
    const type = response.headers.get('content-type');
    const messages = type.includes('json') ? ((await response.json()).data.messages ?? []) : [];
    answers[action.replace(/\\?.*/, '')] = [response.status, messages.join()];
  }
  const form = new FormData();
  form.append('files[0]', new Blob([readFileSync(process.env.PICTURE)]), 'a.heic');
  form.append('files[1]', new Blob(['words']), 'b.txt');
  const response = await app.fetch(new Request('http://x/fileUpload', { method: 'POST', body: form }));
  answers.heic = [response.status, (await response.json()).data.messages.join()];
  await app.close();
  console.log(JSON.stringify(answers));`;

/** Lists files before and after the package that counts requests is installed. */
const LATER = `
  import { symlinkSync } from 'node:fs';
  import { createApp } from 'stowage';
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const sources = { files: { title: 'files', baseurl: 'http://files.example/', storageAdapter: 'memory' } };
  const app = createApp({ sources, rateLimits: { listings: { requests: 9, seconds: 9 } } }, {}, { logger: quiet });
  const list = async () => (await app.fetch(new Request('http://x/files'))).status;
  const statuses = [await list()];
  symlinkSync(process.env.PACKAGE, 'node_modules/rate-limiter-flexible');
  statuses.push(await list(), await list());
  await app.close();
  console.log(JSON.stringify(statuses));`;

const PICTURE = fileURLToPath(new URL('../pictures/heic/photo.heic', import.meta.url));

let bareInstall: BareInstall;

const ask = async (environment: Record<string, string> = {}): Promise<Record<string, [number, string]>> => {
  const { stdout } = await bareInstall.run({ PICTURE, ...environment });
  return JSON.parse(stdout) as Record<string, [number, string]>;
};

describe('optional packages that are not installed', { timeout: 90_000 }, () => {
  beforeAll(async () => {
    bareInstall = await installBare(SCRIPT);
  });
  afterAll(() => bareInstall?.remove());

  it('answer 501 with their names, one after the other, while everything else works', async () => {
    const bare = await ask();
    expect(bare['generatePdf']).toEqual([
      501,
      'Making PDF files needs the npm package "puppeteer-core", which is not installed here.',
    ]);
    expect(bare['generateDocx']).toEqual([
      501,
      'Making DOCX files needs the npm packages "docx" and "parse5", which are not installed here.',
    ]);
    for (const action of ['files', 'folderCreate', 'permissions'])
      expect(bare[action]).toEqual([200, expect.anything()]);

    expect(bare['heic']).toEqual([
      501,
      'Reading HEIC pictures needs the npm package "heic-decode", which is not installed here.,' +
        'Nothing was uploaded because of "a.heic".',
    ]);

    await bareInstall.link('docx');
    expect((await ask())['generateDocx']).toEqual([
      501,
      'Making DOCX files needs the npm package "parse5", which is not installed here.',
    ]);

    await bareInstall.link('parse5');
    await bareInstall.link('heic-decode');
    await bareInstall.link('puppeteer-core');
    const complete = await ask({ STOWAGE_CHROMIUM: join(bareInstall.folder, 'no-browser') });
    expect(complete['generateDocx']).toEqual([200, '']);
    expect(complete['heic']).toEqual([200, 'The file "a.jpg" was uploaded.,The file "b.txt" was uploaded.']);
    expect(complete['generatePdf']?.[0]).toBe(501);
    expect(complete['generatePdf']?.[1]).toContain('Chromium');
    expect(complete['generatePdf']?.[1]).not.toContain(bareInstall.folder);
  });

  it('are loaded again after a failure, without a restart', async () => {
    const later = await installBare(LATER);
    const PACKAGE = fileURLToPath(new URL('../../node_modules/rate-limiter-flexible', import.meta.url));
    const { stdout } = await later.run({ PACKAGE }).finally((): unknown => later.remove());
    expect(JSON.parse(stdout)).toEqual([501, 200, 200]);
  });
});
